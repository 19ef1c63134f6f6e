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
    ["logs -f", "tail"],
    ["restart", "reload"],
    ["providers test", "check"],
    ["rotate key_1", "keys rotate"],
    ["config init", "sluice init"],
    ["config check sluice.yaml", "--config sluice.yaml"],
    ["up a/b.yml", "--config a/b.yml"],
    ["--config c.yaml rules", "limits"],
    ["--config=c.yaml limits add /team", "set"],
    ["--socket s --config c.yaml up d.yaml", "--config d.yaml"],
  ] as const) {
    const { exitCode, err } = await run(line.split(" "));
    t.equal(exitCode, 2, line);
    t.ok(err.endsWith(`(Did you mean ${meant}?)`), `${line}: ${err}`);
  }
});

t.test("who looks for a command that stops is told what does", async (t) => {
  for (const line of ["stop", "down", "--config c.yaml stop"])
    t.same(await run(line.split(" ")), {
      exitCode: 2,
      out: "",
      err: `error: unknown command '${line.split(" ").at(-1)}' (sluice up ends by Ctrl-C or SIGTERM, the services by systemctl stop sluice.target)`,
    });
});

t.test("what has no other name is only unknown", async (t) => {
  for (const line of ["frobnicate", "limits set /a --frobnicate 1", "limits toString"])
    t.notMatch((await run(line.split(" "))).err, "Did you mean", line);
});

t.test("help of a command is asked for in any way, and of what is none, it is said", async (t) => {
  const usage = /^Usage: sluice limits set /m;
  for (const line of [
    "limits set --help",
    "help limits set",
    "limits help set",
    "limits set -h",
    "--config c.yaml help limits set",
    "--config c.yaml limits help set",
  ])
    t.match(await run(line.split(" ")), { exitCode: 0, out: usage, err: "" }, line);
  t.match(await run(["help"]), { exitCode: 0, out: /^Usage: sluice \[options\]/m });
  t.match(await run(["help", "limits"]), {
    exitCode: 0,
    out: /^Usage: sluice limits \[options\]/m,
  });
  t.match(await run(["help", "backup", "x"]), { exitCode: 0, out: /^Usage: sluice backup/m });
  for (const [line, err] of [
    ["help lmits", "error: unknown command 'lmits' (Did you mean limits?)"],
    ["lmits set --help", "error: unknown command 'lmits' (Did you mean limits?)"],
    ["limits help lst", "error: unknown command 'lst' (Did you mean list?)"],
    ["help limits frobnicate", "error: unknown command 'frobnicate'"],
    ["--config c.yaml help lmits", "error: unknown command 'lmits' (Did you mean limits?)"],
    ["--config=c.yaml limits lst --help", "error: unknown command 'lst' (Did you mean list?)"],
    ["rules -h", "error: unknown command 'rules' (Did you mean limits?)"],
  ] as const)
    t.same(await run(line.split(" ")), { exitCode: 2, out: "", err }, line);
  const set = await run(["limits", "set", "help", "--rpm", "1", "--socket", "/nowhere/x"]);
  t.notMatch(set.out, usage, "an argument may have that name");
});
