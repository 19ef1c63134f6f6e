import t from "tap";
import { run } from "../command-session.js";

t.test("a command or flag that has another name here is answered with that name", async (t) => {
  for (const [line, meant] of [
    ["rules", "limits"],
    ["start", "up"],
    ["limits add /team", "set"],
    ["keys revoke key_1", "deactivate"],
    ["keys create", "issue"],
    ["validate", "config check"],
    ["config validate", "check"],
    ["version", "--version"],
    ["limits list --user-path /team", "--path"],
    ["usage --since=2026-01-01", "--from"],
    ["limits set /a --rmp 5", "--rpm"],
    ["lmits", "limits"],
    ["apply limits.yaml", "limits apply"],
    ["limits import x", "apply"],
    ["dump", "limits export"],
  ] as const) {
    const { exitCode, err } = await run(line.split(" "));
    t.equal(exitCode, 2, line);
    t.ok(err.endsWith(`(Did you mean ${meant}?)`), `${line}: ${err}`);
  }
});

t.test("what has no other name is only unknown", async (t) => {
  for (const line of ["frobnicate", "limits set /a --frobnicate 1", "limits toString"])
    t.notMatch((await run(line.split(" "))).err, "Did you mean", line);
});
