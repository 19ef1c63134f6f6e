import { readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { run } from "../command-session.js";

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
