/** Every file that a setting names is looked for. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { unreadableFiles } from "../../../bin/session/unreadable-files.js";
import { filePath } from "../../../shared/config/kinds/text-kinds.js";
import { jwtSettings } from "../../../shared/config/settings/jwt-settings.js";
import { providerSettings } from "../../../shared/config/settings/provider-settings.js";
import { settings } from "../../../shared/config/settings/settings.js";
import { accepted } from "../../shared/config/resolve-sample.js";
import { exactly } from "../../support/patterns/exactly.js";

/** What Sluice itself makes. */
const own = [
  "limiter.socket",
  "limiter.admin_socket",
  "limiter.data_dir",
  "limiter.spool_dir",
  "price_list_file",
];

const named = (directory: string): string => `
server:
  host: 127.0.0.1
  master_key_file: ${directory}/master_key_file
  tls: { cert_file: ${directory}/cert_file, key_file: ${directory}/key_file, client_ca_file: ${directory}/client_ca_file }
metrics: { token_file: ${directory}/token_file }
tracing: { endpoint: "http://localhost:4318", headers_file: ${directory}/headers_file }
admin:
  oidc:
    issuer: https://login.example.com
    client_id: sluice
    client_secret_file: ${directory}/client_secret_file
    roles: [{ claim: groups, value: a, role: admin }]
tools:
  web_search: { provider: brave, api_key_file: ${directory}/api_key_file }
cluster:
  url: valkeys://localhost
  password_file: ${directory}/password_file
  ca_file: ${directory}/ca_file
  sentinel_master: m
  sentinel_password_file: ${directory}/sentinel_password_file
providers:
  mine: { base_url: "https://localhost/v1", api_key_file: ${directory}/api_key_file, ca_file: ${directory}/ca_file, proxy_file: ${directory}/proxy_file, models: ["*"] }
jwt:
  - { issuer: a, audience: x, jwks_file: ${directory}/jwks_file, user_path: p }
  - { issuer: b, audience: x, secret_file: ${directory}/secret_file, user_path: p }
`;

t.test(
  "each file that a setting names and that is missing is named with its setting",
  async (t) => {
    const names = [
      ...Object.values(settings).flatMap(({ kind, path }) => (isPath(kind) ? [path] : [])),
      ...fieldsOf(providerSettings).map((name) => `providers.mine.${name}`),
      ...fieldsOf(jwtSettings).map((name) => `the ${name} of the issuer `),
    ].filter((name) => !own.includes(name));
    t.ok(names.length >= 8, names.join());
    const directory = t.testdir();
    const warnings = unreadableFiles(accepted(named(directory)).config);
    for (const name of names) {
      const found = warnings.filter((warning) => warning.startsWith(name));
      t.equal(found.length, 1, name);
      t.match(found[0], /^.* can't be read, and .* until it can: no such file or directory: \/.*$/);
    }
    t.equal(warnings.length, names.length);
    for (const name of ["master_key_file", "token_file", "password_file", "ca_file"])
      writeFileSync(join(directory, name), "");
    for (const name of [
      "api_key_file",
      "cert_file",
      "client_ca_file",
      "client_secret_file",
      "headers_file",
      "jwks_file",
      "key_file",
      "proxy_file",
      "secret_file",
      "sentinel_password_file",
    ])
      writeFileSync(join(directory, name), "");
    t.same(unreadableFiles(accepted(named(directory)).config), []);
  },
);

t.test("so are files of one key of several, and of a header", async (t) => {
  const missing = `${t.testdir()}/missing`;
  const provider = `{ base_url: "https://localhost/v1", models: ["*"], api_keys: [a, { key_file: ${missing} }], headers: { X-Key: { file: ${missing} } } }`;
  const { config } = accepted(`server: { host: 127.0.0.1 }\nproviders: { mine: ${provider} }\n`);
  t.match(
    unreadableFiles(config),
    exactly([
      /^providers\.mine\.api_keys\[1\]\.key_file can't be read, and that key isn't used until it can: no such file or directory: \//,
      /^providers\.mine\.headers\.X-Key\.file can't be read, and no proxy starts until it can: no such file or directory: \//,
    ]),
  );
});

t.test("a file that only the proxy's unit can name isn't looked for", async (t) => {
  const file = "${CREDENTIALS_DIRECTORY}/key";
  const { config } = accepted(`server: { host: 127.0.0.1, master_key_file: "${file}" }\n`);
  t.same(unreadableFiles(config), []);
});

function isPath(kind: unknown): boolean {
  return kind === filePath;
}

function fieldsOf(table: Readonly<Record<string, { readonly kind: unknown }>>): string[] {
  return Object.entries(table).flatMap(([name, { kind }]) => (isPath(kind) ? [name] : []));
}
