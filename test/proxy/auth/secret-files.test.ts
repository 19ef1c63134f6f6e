import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { withSecrets } from "../../../proxy/auth/secret-files.js";
import { isUnlocked } from "../../../shared/config/open-gateway.js";
import { accepted, refused } from "../../shared/config/resolve-sample.js";

const directory = mkdtempSync(join(tmpdir(), "sluice-secrets-"));
t.teardown(() => rmSync(directory, { recursive: true, force: true }));
const secret = "0123456789abcdef0123456789abcdef";
const path = (name: string): string => join(directory, name);
writeFileSync(path("key"), " mk-1\n");
writeFileSync(path("secret"), `${secret}\n`);
writeFileSync(path("empty"), " \n");
writeFileSync(path("two"), "mk 1\n");
writeFileSync(path("lines"), "a\nb: c\n");

const issuer = (file: string): string =>
  `jwt: [{ issuer: a, audience: x, secret_file: "${file}", user_path: "/u/{sub}" }]\n`;

t.test("a proxy reads the master key and the secrets of issuers from their files", async (t) => {
  const { config } = accepted(
    `server: { master_key_file: ${path("key")} }\n${issuer(path("secret"))}`,
  );
  const { server, jwtIssuers } = await withSecrets(config);
  t.equal(server.masterKey, "mk-1");
  t.same(jwtIssuers[0]!.keys, { kind: "secret", secret });
});

t.test(
  "a proxy reads the token for scrapes from its file, and doesn't start without it",
  async (t) => {
    const { config } = accepted(`metrics: { token_file: ${path("key")} }\n`);
    t.equal((await withSecrets(config)).metrics.token, "mk-1");
    const missing = accepted(`metrics: { token_file: ${path("none")} }\n`).config;
    const message = /^metrics\.token_file can't be read: .*none \(ENOENT\)$/;
    await t.rejects(withSecrets(missing), { name: "SecretFileError", message });
  },
);

t.test("a proxy reads the headers for a collector from their file", async (t) => {
  writeFileSync(path("headers"), "x-api-key=a%20b,\n");
  const { config } = accepted(`tracing: { headers_file: ${path("headers")} }\n`);
  t.equal((await withSecrets(config)).tracing.headers, "x-api-key=a%20b,");
  const wrong = accepted(`tracing: { headers_file: ${path("two")} }\n`).config;
  await t.rejects(withSecrets(wrong), { message: /headers_file, .*, must be name=value/ });
});

t.test("a proxy reads headers of providers from their files", async (t) => {
  const provider = (file: string): string =>
    `providers: { openai: { headers: { x-a: b, x-org: { file: "${path(file)}" } } } }\n`;
  const headers = async (file: string): Promise<readonly string[]> =>
    (await withSecrets(accepted(provider(file)).config)).providers[0]!.headers;
  t.same(await headers("key"), ["x-a", "b", "x-org", "mk-1"]);
  t.same(await headers("two"), ["x-a", "b", "x-org", "mk 1"]);
  for (const [file, message] of [
    ["none", /^the header x-org of the provider openai can't be read: .*ENOENT/],
    ["empty", /^the header x-org of the provider openai is empty/],
    ["lines", /^the header x-org of the provider openai, .*must be a line/],
  ] as const)
    await t.rejects(headers(file), { name: "SecretFileError", message });
});

t.test("a proxy reads the way to a provider from its file", async (t) => {
  const proxyIn = async (text: string): Promise<string | null> => {
    writeFileSync(path("proxy"), text);
    const provider = `providers: { openai: { proxy_file: "${path("proxy")}" } }\n`;
    const { config } = accepted(provider, { env: { HTTPS_PROXY: "http://other:1" } });
    t.equal(config.providers[0]!.proxy, null);
    return (await withSecrets(config)).providers[0]!.proxy;
  };
  t.equal(await proxyIn("http://u:geheim@p:3128\n"), "http://u:geheim@p:3128/");
  t.equal(await proxyIn("none"), null);
  const wrong = await proxyIn("http://u:geheim@p/x").catch((error: Error) => error.message);
  t.match(wrong, /^providers\.openai\.proxy_file, .* must be an http or https URL of a proxy/);
  t.notMatch(wrong, /geheim/);
  t.same(refused('providers: { openai: { proxy: "http://a:1", proxy_file: /f } }\n'), [
    "providers.openai must have at most one of proxy and proxy_file",
  ]);
});

t.test("what has no files stays as it is", async (t) => {
  const { config } = accepted("server: { master_key: mk }\n");
  t.same(await withSecrets(config), config);
});

t.test("a gateway whose key is in a file isn't open, and doesn't start without it", async (t) => {
  const table = [
    ["none", /^server\.master_key_file can't be read: .*none \(ENOENT\)$/],
    ["${NOPE}", /\(ENOENT, a variable in it isn't set\)$/],
    ["empty", /^server\.master_key_file is empty: /],
    ["two", /^server\.master_key_file, .*, must be a text of visible ASCII characters/],
    [".", /\(EISDIR\)$/],
  ] as const;
  for (const [name, message] of table) {
    const { config } = accepted(`server: { master_key_file: "${directory}/${name}" }\n`);
    t.notOk(isUnlocked(config), name);
    await t.rejects(withSecrets(config), { name: "SecretFileError", message }, name);
  }
  for (const [name, message] of [
    ["none", /^the secret_file of the issuer a can't be read/],
    ["key", /^the secret_file of the issuer a, .*, must be a text of at least 32 characters$/],
  ] as const)
    await t.rejects(withSecrets(accepted(issuer(path(name))).config), { message });
});
