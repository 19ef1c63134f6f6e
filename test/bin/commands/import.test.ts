import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { run } from "../command-session.js";
import { newApiExport, oneApiExport } from "../import/one-api-exports.js";

t.test("a configuration of LiteLLM becomes one that config check accepts", async (t) => {
  const cwd = t.testdir({
    "config.yaml":
      "model_list:\n  - model_name: a\n    litellm_params: { model: groq/llama, api_key: k }\n" +
      "litellm_settings: { callbacks: [x] }\n",
    "broken.yaml": "a: [",
  });
  const printed = await run(["import", "litellm", "config.yaml"], { cwd });
  t.match(printed, {
    exitCode: 0,
    out: /^# Made from/,
    err: /^note: litellm_settings.callbacks: /,
  });
  t.match(printed.out, /^# - litellm_settings.callbacks/m);
  const written = await run(["import", "litellm", "config.yaml", "--output", "sluice.yaml"], {
    cwd,
  });
  t.match(written, { exitCode: 0, out: "", err: /^written: sluice.yaml$/m });
  t.equal(readFileSync(join(cwd, "sluice.yaml"), "utf8").trimEnd(), printed.out);
  t.equal(statSync(join(cwd, "sluice.yaml")).mode & 0o777, 0o600);
  t.match(await run(["config", "check"], { cwd }), { exitCode: 0, out: /^ok: / });
  t.match(await run(["import", "litellm", "config.yaml", "--output", "sluice.yaml"], { cwd }), {
    exitCode: 1,
    err: /there already/,
  });
  for (const [flags, err] of [
    [[], /config.yaml or --keys is required/],
    [["config.yaml", "--apply"], /--apply needs --keys/],
    [["broken.yaml"], /broken.yaml:1: /],
    [["none.yaml"], /can't be read/],
    [["--keys", "config.yaml"], /must be JSON or CSV/],
  ] as const)
    t.match(await run(["import", "litellm", ...flags], { cwd }), { exitCode: 2, out: "", err });
});

t.test("an export of one-api or new-api becomes a configuration that is accepted", async (t) => {
  const cwd = t.testdir({ partial: { "channels.json": "" }, wrong: { "channels.csv": "a,b\n" } });
  for (const [program, directory] of [
    ["one-api", oneApiExport],
    ["new-api", newApiExport],
  ] as const) {
    const file = `${program}.yaml`;
    const made = await run(["import", program, directory, "--output", file], { cwd });
    t.match(made, { exitCode: 0, err: /^note: [^]*^written: /m });
    t.notMatch(made.err, /to mend/);
    const env = { SLUICE_MASTER_KEY: "a-key-for-this-test", SLUICE_CONFIG: file };
    t.match(await run(["config", "check"], { cwd, env }), { exitCode: 0, out: /^ok: / });
    const keys = await run(["import", program, directory, "--keys"], { cwd });
    t.match(keys, { exitCode: 0, out: /^sluice budgets set \/\w+\/ann /, err: /^note: token 1 / });
  }
  for (const [words, err] of [
    [["one-api", newApiExport], /has tables of new-api: sluice import new-api/],
    [["one-api", "partial"], /partial\/tokens.json isn't there, nor as .csv or .tsv/],
    [["new-api", "wrong"], /wrong\/channels.csv must be JSON, CSV or TSV with a column model_mapp/],
    [["new-api", newApiExport, "--apply"], /--apply needs --keys/],
  ] as const)
    t.match(await run(["import", ...words], { cwd }), { exitCode: 2, out: "", err });
});
