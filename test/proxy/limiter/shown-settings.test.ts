import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { withSecrets } from "../../../proxy/auth/secret-files.js";
import { shownProxySettings } from "../../../proxy/limiter/shown-settings.js";
import type { Config } from "../../../shared/config/config.js";
import { never } from "../../../shared/config/kinds/value-kind.js";
import { resolveConfig } from "../../../shared/config/resolve/resolve-config.js";
import { jwtSettings } from "../../../shared/config/settings/jwt-settings.js";
import { providerSettings } from "../../../shared/config/settings/provider-settings.js";
import { settings } from "../../../shared/config/settings/settings.js";
import { secretMark } from "../../../shared/secret-mark.js";
import {
  reportedSettingsBytesMax,
  type ShownSetting,
} from "../../../shared/wire/settings-report.js";
import { exactly } from "../../support/patterns/exactly.js";

const directory = mkdtempSync(join(tmpdir(), "sluice-shown-settings-"));
t.teardown(() => rmSync(directory, { recursive: true }));

function configOf(text: string, flags = {}): Config {
  const file = { path: join(directory, "sluice.yaml"), text };
  const built = resolveConfig({ file, flags, env: {}, cwd: directory, uid: 0 });
  if (!built.ok) throw new Error(built.problems.map(({ message }) => message).join("\n"));
  return built.config;
}

const shownOf = (text: string, flags = {}) => shownProxySettings(configOf(text, flags), secretMark);
const found = (shown: readonly ShownSetting[], name: string) =>
  shown.find((setting) => setting.name === name);

/** Each secret, and the setting that shows that it changed. */
const secrets = {
  MASTER: "setting server.master_key",
  METRICS: "setting metrics.token",
  COLLECTOR: "setting tracing.headers",
  OIDC: "setting admin.oidc.client_secret",
  REDIRECT: "setting admin.oidc.redirect_url",
  SEARCH: "setting tools.web_search.api_key",
  ISSUER: "issuer office",
  JWKS: "issuer https://login.example/tenant",
  ISSUER_QUERY: "issuer https://login.example/tenant",
  ISSUER_FILE: "issuer filed",
  KEY: "provider one",
  HEADER: "provider one",
  HEADER_FILE: "provider one",
  EGRESS: "provider one",
  EGRESS_FILE: "provider two",
  KEY_OF_TWO: "provider two",
  COMMAND: "provider three",
  BASE_PATH: "provider three",
  FIELD: "provider three",
  MCP: "mcp server mcp:tools",
} as const;
type Secret = keyof typeof secrets;

const textOf = (name: Secret, changed: Secret | null): string =>
  `hunter-${name.toLowerCase()}-${name === changed ? "2" : "1"}-0123456789-0123456789`;

/** Every kind of secret that the proxy's settings may have. */
async function everySecret(changed: Secret | null): Promise<Config> {
  for (const name of ["ISSUER_FILE", "HEADER_FILE"] as const)
    writeFileSync(join(directory, name), textOf(name, changed));
  writeFileSync(join(directory, "EGRESS_FILE"), `http://u:${textOf("EGRESS_FILE", changed)}@proxy`);
  const text = `
server: { master_key: "\${MASTER}", public_url: https://gateway.example }
metrics: { token: "\${METRICS}" }
tracing: { endpoint: "https://collector.example", headers: "x-key=\${COLLECTOR}" }
admin:
  oidc:
    issuer: https://login.example/
    client_id: sluice
    client_secret: "\${OIDC}"
    redirect_url: "https://gateway.example/\${REDIRECT}/callback"
    roles: [{ claim: groups, value: platform, role: admin }]
tools: { web_search: { provider: brave, api_key: "\${SEARCH}" } }
jwt:
  - { issuer: office, audience: sluice, secret: "\${ISSUER}", user_path: "/{sub}" }
  - issuer: "https://login.example/tenant?x=\${ISSUER_QUERY}"
    audience: sluice
    jwks_url: "https://keys.example/jwks?x=\${JWKS}"
    user_path: "/{sub}"
  - { issuer: filed, audience: sluice, secret_file: ISSUER_FILE, user_path: "/{sub}" }
providers:
  one:
    type: openai
    base_url: https://one.example/v1
    api_key: "\${KEY}"
    headers: { x-plain: "\${HEADER}", x-filed: { file: HEADER_FILE } }
    proxy: "http://user:\${EGRESS}@proxy.example:3128"
  two:
    type: openai
    base_url: https://two.example/v1
    api_keys: [{ key: "\${KEY_OF_TWO}", weight: 2 }, { key: plain-key-of-two }]
    proxy_file: EGRESS_FILE
  three:
    type: openai
    base_url: "https://three.example/\${BASE_PATH}"
    api_key_command: "print \${COMMAND}"
    per_model: [{ models: ["*"], set: { metadata: { team: "\${FIELD}" } } }]
mcp_servers: { tools: { url: https://tools.example/mcp, api_key: "\${MCP}" } }
`;
  const filled = text.replace(/\$\{(\w+)\}/g, (_, name) => textOf(name as Secret, changed));
  return withSecrets(configOf(filled));
}

t.test("no secret is shown, and a change of each one is", async (t) => {
  const before = shownProxySettings(await everySecret(null), secretMark);
  t.notMatch(JSON.stringify(before), /hunter|plain-key-of-two/);
  for (const [secret, name] of Object.entries(secrets) as [Secret, string][]) {
    const after = shownProxySettings(await everySecret(secret), secretMark);
    t.notMatch(JSON.stringify(after), /hunter|plain-key-of-two/);
    t.same(
      after.filter((setting, i) => JSON.stringify(setting) !== JSON.stringify(before[i])),
      [{ ...found(before, name), mark: found(after, name)?.mark }],
      secret,
    );
  }
});

t.test("every kind of secret is in that configuration, or isn't the proxy's", async (t) => {
  const isSecret = ([, { kind }]: [string, { readonly kind: { readonly quotable: unknown } }]) =>
    kind.quotable === never;
  t.same(
    Object.values(settings)
      .filter((setting) => isSecret(["", setting]))
      .map(({ path }) => path)
      .filter((path) => !Object.values<string>(secrets).includes(`setting ${path}`)),
    ["cluster.password"],
  );
  t.same(
    Object.entries(providerSettings)
      .filter(isSecret)
      .map(([name]) => name),
    ["api_key", "api_keys", "headers"],
  );
  t.same(
    Object.entries(jwtSettings)
      .filter(isSecret)
      .map(([name]) => name),
    ["secret"],
  );
});

t.test("settings are shown as the file has them", async (t) => {
  const shown = shownOf(`
server: { port: 9000, drain_seconds: 20 }
providers: { one: { type: openai, base_url: "https://one.example/v1", retries: 3, models: [a, b] } }
virtual_models: { smart: { strategy: failover, targets: [{ model: one/a }, { model: one/b }] } }
aliases: { fast: one/a }
prices:
  one/a: { input: 2.5, output: 10, per_request: 0.005, service_tiers: { flex: 0.5 }, hours: { "16:30-00:30": 0.5 } }
`);
  t.match(found(shown, "setting server.port"), { value: "9000", mark: "" });
  t.match(found(shown, "setting server.drain_seconds"), { value: "20 seconds" });
  t.match(found(shown, "provider one")?.value, {
    ...{ type: "openai", base_url: "https://one.example", retries: 3, models: exactly(["a", "b"]) },
    first_byte_timeout_ms: 600_000,
  });
  t.match(found(shown, "virtual model smart")?.value, {
    strategy: "failover",
    targets: exactly([{ provider: "one", model: "a", weight: 1 }, { model: "b" }]),
  });
  t.same(found(shown, "alias fast")?.value, { provider: "one", model: "a" });
  t.match(found(shown, "price one/a")?.value, {
    ...{ input: 2.5, output: 10, per_request: 0.005, service_tiers: { flex: { input: 0.5 } } },
    hours: exactly([{ fromMinute: 990, toMinute: 30, factor: 0.5 }]),
  });
  t.notOk(
    shown.some(({ name }) => /^setting (?:limiter|audit|rate_limits)\./.test(name)),
    "what the daemon has",
  );
  t.same(found(shownOf("", { port: "9001" }), "setting server.port")?.value, null, "a flag's");
});

t.test("a large configuration fits, and a change in it still shows", async (t) => {
  const large = (price: number) =>
    shownOf(
      `prices:\n${Array.from({ length: 5_000 }, (_, i) => `  p/model-${i}: { input: ${i === 4_999 ? price : 1}, output: 2 }\n`).join("")}`,
    );
  const shown = large(1);
  t.ok(JSON.stringify(shown).length < reportedSettingsBytesMax * 1.5);
  t.match(found(shown, "every price")?.value, { entries: 5_000 });
  t.not(found(large(3), "every price")?.mark, found(shown, "every price")?.mark);
  const models = (last: string) =>
    found(
      shownOf(
        `providers: { p: { type: openai, base_url: "https://p.example/v1", models: [${"model-with-a-long-name, ".repeat(100)}${last}] } }`,
      ),
      "provider p",
    );
  t.match(models("a")?.value, { models: /^\(\d+ characters\)$/ });
  t.not(models("a")?.mark, models("b")?.mark);
});
