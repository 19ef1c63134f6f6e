import { join } from "node:path";
import t from "tap";
import {
  bannerText,
  exampleModel,
  readyText,
  startingText,
} from "../../../bin/supervisor/ready-text.js";
import type { Config } from "../../../shared/config/config.js";
import { loadConfig } from "../../../shared/config/load-config.js";

const configWith = (env: Readonly<Record<string, string>>): Config => {
  const loaded = loadConfig({ env, cwd: "/nowhere", uid: 1000 });
  if (!loaded.ok) throw new Error(loaded.problems.map(({ message }) => message).join("; "));
  return loaded.config;
};
const simulator = configWith({});
const url = "http://127.0.0.1:8080";

t.test("the banner names the version and where the configuration is from", async (t) => {
  t.match(
    bannerText(simulator),
    /^sluice \d+\.\d+\.\d+\nconfiguration: built-in default \(no file found\)$/,
  );
  t.match(
    bannerText({ ...simulator, file: "/etc/sluice/sluice.yaml" }),
    /configuration: \/etc\/sluice\/sluice\.yaml$/,
  );
});

t.test("a long start says what is read, a short one nothing", async (t) => {
  const { rateLimits, budgets } = simulator;
  const [rule] = configWith({ SET_RATE_LIMIT_: "rpm=5" }).rateLimits.rules;
  const rules = Array.from({ length: 10_000 }, () => rule!);
  const many = { budgets, rateLimits: { ...rateLimits, rules } };
  t.equal(startingText(many, 4), "starting:      10,000 rules, 0 budgets, 4 s so far");
  t.equal(startingText(simulator, 4), null);
});

t.test(
  "the built-in default prints a request to try, and notes that it is open and a simulator",
  async (t) => {
    const text = readyText({ url: `${url}/`, admin: url, open: true, config: simulator });
    t.match(
      text,
      `  curl ${url}/v1/chat/completions -H 'Content-Type: application/json' -d '{"model":"sim-fast","messages":[{"role":"user","content":"Hello!"}]}'\n`,
    );
    t.same(text.split("\n").slice(0, 2), [
      `ready:         ${url}`,
      `dashboard:     ${url}/dashboard/`,
    ]);
    t.match(text, /^Note: the provider simulator is a simulator: /m);
    t.match(text, /^Note: the gateway is open/m);
  },
);

t.test(
  "with a master key the request carries it by the variable's name, never by its value",
  async (t) => {
    const config = configWith({ SLUICE_MASTER_KEY: "sk-secret-master-key" });
    const providers = [
      {
        ...config.providers[0]!,
        name: "openai",
        type: "openai",
        apiKey: "sk-other-secret",
        models: ["gpt-4o"],
      },
    ] as const;
    const text = readyText({ url, admin: url, open: false, config: { ...config, providers } });
    t.match(text, ` -H "Authorization: Bearer $SLUICE_MASTER_KEY" `);
    t.notMatch(text, /secret/);
    t.notMatch(text, /Note:/);
  },
);

t.test("a master key that the shell may not have is named with its place", async (t) => {
  const directory = t.testdir({
    "inline.yaml": "server: { master_key: sk-secret-master-key }",
    "file.yaml": "server: { master_key_file: its key }",
    "its key": "sk-secret-master-key",
  });
  const textOf = (name: string, env: Readonly<Record<string, string>> = {}): string => {
    const file = join(directory, name);
    const loaded = loadConfig({ env: { ...env, SLUICE_CONFIG: file }, cwd: "/nowhere", uid: 1000 });
    if (!loaded.ok) throw new Error(loaded.problems.map(({ message }) => message).join("; "));
    return readyText({ url, admin: url, open: false, config: loaded.config });
  };
  const inline = `Try it, once SLUICE_MASTER_KEY is the server.master_key of ${directory}/inline.yaml:`;
  t.match(textOf("inline.yaml"), `\n${inline}\n`);
  t.notMatch(textOf("inline.yaml"), /secret/);
  t.match(textOf("inline.yaml", { SLUICE_MASTER_KEY: "sk-another-master-key" }), "\nTry it:\n");
  t.match(textOf("file.yaml"), ` -H "Authorization: Bearer $(cat '${directory}/its key')" `);
  t.match(textOf("file.yaml"), "\nTry it:\n");
});

t.test("with JWT issuers only, the request has a token", async (t) => {
  const issuer = {
    issuer: "me",
    audience: ["sluice"],
    algorithms: ["RS256"],
    userPath: "team",
    models: null,
    modelsClaim: null,
    keys: { kind: "file", path: "/keys" },
  } as const;
  t.match(
    readyText({ url, admin: url, open: false, config: { ...simulator, jwtIssuers: [issuer] } }),
    ` -H "Authorization: Bearer $TOKEN" `,
  );
});

t.test("where only managed keys open the gateway, the request has one", async (t) => {
  t.match(
    readyText({ url, admin: url, open: false, config: simulator }),
    ` -H "Authorization: Bearer $SLUICE_KEY" `,
  );
});

t.test("the example is the first model that the configuration names", async (t) => {
  const [provider] = simulator.providers;
  const named = (models: readonly string[] | null): Config["providers"][number] => ({
    ...provider!,
    type: "openai",
    models,
  });
  const virtual = [{ source: "smart", strategy: "failover", targets: [] }] as const;
  t.equal(exampleModel(simulator), "sim-fast");
  t.equal(
    exampleModel({ ...simulator, providers: [named(["*"]), named(["gpt-4o", "o3"])] }),
    "gpt-4o",
  );
  t.equal(
    exampleModel({ ...simulator, providers: [named(null)], virtualModels: virtual }),
    "smart",
  );
  t.equal(exampleModel({ ...simulator, providers: [named(null)] }), null);
});

t.test("a quote in a model's name doesn't end the shell's", async (t) => {
  const config = { ...simulator, providers: [{ ...simulator.providers[0]!, models: ["it's"] }] };
  t.match(readyText({ url, admin: url, open: false, config }), `{"model":"it'\\''s",`);
});
