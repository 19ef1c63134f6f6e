import t from "tap";
import { run } from "../command-session.js";

t.test("an unknown word is answered with the likely one", async (t) => {
  for (const [line, meant] of [
    ["limits set /a --rmp 5", "--rpm"],
    ["lmits", "limits"],
    ["apply limits.yaml", "limits apply"],
    ["rotate key_1", "keys rotate"],
    ["config init", "sluice init"],
    ["config check sluice.yaml", "--config sluice.yaml"],
    ["up a/b.yml", "--config a/b.yml"],
    ["--config c.yaml lmits", "limits"],
    ["--config=c.yaml limits sat /team", "set"],
    ["--socket s --config c.yaml up d.yaml", "--config d.yaml"],
  ] as const) {
    const { exitCode, err } = await run(line.split(" "));
    t.equal(exitCode, 2, line);
    t.ok(err.endsWith(`(Did you mean ${meant}?)`), `${line}: ${err}`);
  }
});

t.test("a command has the names that other programs give it", async (t) => {
  for (const [line, usage] of [
    ["rules add", "sluice limits set"],
    ["limits rm", "sluice limits delete"],
    ["key ls", "sluice keys list"],
    ["keys create", "sluice keys issue"],
    ["keys revoke", "sluice keys deactivate"],
    ["config validate", "sluice config check"],
    ["providers test", "sluice providers check"],
    ["limits import", "sluice limits apply"],
    ["logs", "sluice tail"],
    ["start", "sluice up"],
  ] as const) {
    const { exitCode, out } = await run([...line.split(" "), "--help"]);
    t.equal(exitCode, 0, line);
    t.ok(out.includes(`Usage: ${usage} `), line);
  }
});

t.test("an unknown command that would stop Sluice names what does", async (t) => {
  for (const line of ["stop", "down", "--config c.yaml stop"])
    t.same(await run(line.split(" ")), {
      exitCode: 2,
      out: "",
      err: `error: unknown command '${line.split(" ").at(-1)}' (sluice up ends by Ctrl-C or SIGTERM, the services by systemctl stop sluice.target)`,
    });
});

t.test("a word like no other has no hint", async (t) => {
  for (const line of ["frobnicate", "limits set /a --frobnicate 1", "limits toString"])
    t.notMatch((await run(line.split(" "))).err, "Did you mean", line);
});

t.test("every way to ask for help works, and an unknown command is an error", async (t) => {
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
    ["limits help lst", "error: unknown command 'lst' (Did you mean one of list, ls?)"],
    ["help limits frobnicate", "error: unknown command 'frobnicate'"],
    ["--config c.yaml help lmits", "error: unknown command 'lmits' (Did you mean limits?)"],
    [
      "--config=c.yaml limits lst --help",
      "error: unknown command 'lst' (Did you mean one of list, ls?)",
    ],
    ["lmits -h", "error: unknown command 'lmits' (Did you mean limits?)"],
  ] as const)
    t.same(await run(line.split(" ")), { exitCode: 2, out: "", err }, line);
  const set = await run(["limits", "set", "help", "--rpm", "1", "--socket", "/nowhere/x"]);
  t.notMatch(set.out, usage, "an argument may have that name");
});
