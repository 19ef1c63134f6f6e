/** Keys and denied JWTs of a file of limits, through real processes. */
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import { hashKey } from "../../../shared/domain/make-managed-key.js";
import { makeSite } from "../../support/processes/processes.js";
import { chat, cli, closed, hexOf, masterKey } from "./key-site.js";

t.test("a file of limits brings keys along, by the socket and by the admin API", async (t) => {
  const site = makeSite(t, closed);
  await site.startDaemon();
  const { ready: url } = await site.startProxy();
  const remote = ["--url", url, "--key-file", "master.key"];
  writeFileSync(join(site.directory, "master.key"), masterKey);
  const bearerOf = (key: string): { readonly authorization: string } => ({
    authorization: `Bearer ${key}`,
  });
  const [first, second] = ["sk-1234567890abcdefghijkl", "sk-zyxwvutsrqponmlkjihgfe"] as const;
  const write = (...lines: readonly string[]): void =>
    writeFileSync(join(site.directory, "limits.yaml"), `${lines.join("\n")}\n`);
  const apply = (...flags: string[]): ReturnType<typeof cli> =>
    cli(site, "limits", "apply", "limits.yaml", "--yes", "--prune", ...flags);

  write("keys:", `  - { name: CI, user_path: /team, hash: "${hexOf(first)}" }`);
  t.match(await apply(), { stdout: /^\+ +key +user_path +\/team +- +CI$[^]*^applied: 1 added$/m });
  t.same(await chat(url, bearerOf(first)), [200, "100"]);
  const exported = await cli(site, "limits", "export", "--keys");
  t.match(exported.stdout, /^keys:\n {2}- name: CI\n {4}user_path: \/team\n/m);
  t.match(exported.stdout, hashKey(first));
  t.same(await cli(site, "limits", "export", "--keys", ...remote), exported);
  t.notMatch((await cli(site, "limits", "export")).stdout, /keys|denied_jwts/, "only if asked");
  t.match(
    (await cli(site, "limits", "export", "--keys", "--json")).stdout,
    `"keys":[{"name":"CI","user_path":"/team","redacted_value":"…","hash":"${hashKey(first)}"}]`,
  );

  write(
    "keys:",
    `  - { name: CI, user_path: /team, models: [sim-slow], hash: "${hexOf(first)}" }`,
    `  - { user_path: /team/b, redacted_value: sk-zyx…, hash: "${hashKey(second)}" }`,
    "denied_jwts: [{ sub: ann, issuer: a, expires_at: 2030-01-01T00:00:00Z }]",
  );
  const dry = await apply("--dry-run", ...remote);
  t.match(dry.stdout, /^~ +key +user_path +\/team +- +key_1 CI, models \(none\) -> sim-slow$/m);
  t.match(dry.stdout, /^\+ +key +user_path +\/team\/b +- +sk-zyx…$/m);
  t.match(dry.stdout, /^\+ +denied_jwt +sub +ann +- +issuer a, until 2030-01-01T00:00:00Z$/m);
  await apply(...remote);
  t.same(await chat(url, bearerOf(first)), [403, null]);
  t.same(await chat(url, bearerOf(second)), [200, "100"]);

  // One bad entry, and nothing of the file is done.
  write("rate_limits: {}", "keys:", `  - { user_path: /team, hash: "${hexOf(masterKey)}" }`);
  await t.rejects(apply(...remote), {
    message: /limits\.yaml:3:\d+: keys\[0\]: hash must not be that of the master key/,
  });
  t.same(await chat(url, bearerOf(second)), [200, "100"]);

  const issue = ["keys", "issue", "--role", "operator"];
  writeFileSync(join(site.directory, "role.key"), (await cli(site, ...issue)).stdout);
  const asOperator = ["--url", url, "--key-file", "role.key"];
  for (const rest of [
    ["export", "--keys"],
    ["apply", "limits.yaml", "--dry-run"],
  ])
    await t.rejects(cli(site, "limits", ...rest, ...asOperator), {
      message: /keys and denied_jwts need the role admin for \/: this is operator of \//,
    });

  write("keys: []", "denied_jwts: []");
  t.match(await apply(), { stdout: /^applied: 3 removed$/m });
  t.same(await chat(url, bearerOf(second)), [401, null]);
  t.match((await cli(site, "keys", "list")).stdout, /operator/, "keys of administration stay");
  write("keys:", `  - { hash: "${hexOf(second)}", user_path: /team }`);
  await apply();
  await cli(site, "keys", "deactivate", "key_4");
  await t.rejects(apply(), { message: /nothing was changed: key_4 is deactivated/ });

  // A leaked secret that a rotation has ended stays out, whatever a stale file says.
  const leaked = "sk-a-leaked-secret-of-the-team";
  write("keys:", `  - { hash: "${hexOf(leaked)}", user_path: /team }`);
  await apply();
  await cli(site, "keys", "rotate", "key_5", "--overlap", "0");
  await t.rejects(apply(), { message: /nothing was changed: key_5 .*rotated/ });
  t.same(await chat(url, bearerOf(leaked)), [401, null]);
});
