import t from "tap";
import { likelyMistakes } from "../../../bin/checks/likely-mistakes.js";
import { resolveConfig } from "../../../shared/config/resolve/resolve-config.js";
import { exactly } from "../../support/patterns/exactly.js";

function mistakesIn(text: string): readonly string[] {
  const file = { path: "/etc/sluice/sluice.yaml", text };
  const built = resolveConfig({ file, flags: {}, env: {}, cwd: "/", uid: 0 });
  if (!built.ok) throw new Error(built.problems.map(({ message }) => message).join("\n"));
  return likelyMistakes(built.config);
}

t.test("likely mistakes are reported with their place and without secrets", async (t) => {
  for (const [text, expected] of [
    [
      "providers: { openai: { api_key: k, models: [gpt-4o] } }\nvirtual_models: { smart: { targets: [{ model: openai/gpt-4oo }] } }",
      /^virtual_models\.smart\.targets\[0\]\.model: gpt-4oo isn't among .*; did you mean gpt-4o\?$/,
    ],
    [
      "providers: { openai: { api_key: k, models: [gpt-4o] } }\naliases: { gpt.5: openai/o3 }",
      /^aliases\["gpt\.5"\]: o3 isn't among providers\.openai\.models$/,
    ],
    ["providers: { openai: { api_key: '' } }", /^providers\.openai has no key, .* OPENAI_API_KEY/],
    [
      "providers: { openai: { api_key: sk-ant-hunter2 } }",
      "providers.openai: its key looks like one of anthropic, and goes to openai",
    ],
    [
      "providers: { openai: { api_key: k, base_url: 'https://api.openai.com' } }",
      /did you mean https:\/\/api\.openai\.com\/v1\?$/,
    ],
    [
      "providers: { mine: { type: ollama, base_url: 'http://localhost:11434' } }",
      /did you mean http:\/\/localhost:11434\/v1\?$/,
    ],
    ["server: { master_key: changeme }", /^server\.master_key can be guessed/],
    ["server: { master_key: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa }", /^server\.master_key can be/],
  ] as const) {
    const mistakes = mistakesIn(text);
    t.match(mistakes, exactly([expected]), text);
    t.equal(mistakes.length, 1, text);
    t.notMatch(mistakes.join(), /hunter2|changeme/);
  }
});

t.test("nothing is said about what is as it should be", async (t) => {
  for (const text of [
    "{}",
    "providers: { openai: { api_key: sk-proj-x } }\nvirtual_models: { a: { targets: [{ model: openai/any }] } }",
    "providers: { mine: { base_url: 'http://10.0.0.1:8000/v1' } }",
    "providers: { ollama: {} }",
    "providers: { relay: { api_key: sk-ant-x, base_url: 'https://relay.example/v1' } }",
    "providers: { openai: { api_key: k, models: [GPT-4o, '*'] } }\naliases: { a: openai/o3 }",
    "server: { master_key: 3f1c9a7e5d2b8c4061f2 }",
  ])
    t.same(mistakesIn(text), [], text);
});

t.test("a key whose variable isn't set is said once, with the variable", async (t) => {
  const text =
    "server: { master_key: '${NO_MASTER}' }\nproviders: { openai: { api_key: '${NO_KEY}' } }";
  const file = { path: "/etc/sluice/sluice.yaml", text };
  const of = (env: Readonly<Record<string, string>>) => {
    const built = resolveConfig({ file, flags: {}, env, cwd: "/", uid: 0 });
    if (!built.ok) throw new Error(built.problems.map(({ message }) => message).join("\n"));
    return [...built.unset, ...likelyMistakes(built.config, built.unset)];
  };
  t.same(of({}), [
    "server.master_key needs the environment variable NO_MASTER, which isn't set",
    "providers.openai.api_key needs the environment variable NO_KEY, which isn't set",
  ]);
  t.same(of({ NO_MASTER: "3f1c9a7e5d2b8c4061f2", NO_KEY: "sk-proj-x" }), []);
});
