/** What tells one configuration from another, and tells no secret. */
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { configHash } from "../../proxy/digests.js";
import { loadConfig } from "../../shared/config/load-config.js";

const directory = mkdtempSync(join(tmpdir(), "sluice-hash-"));
t.teardown(() => rmSync(directory, { recursive: true }));

function hashOf(text: string): string {
  const file = join(directory, "sluice.yaml");
  writeFileSync(file, text);
  const loaded = loadConfig({ env: { SLUICE_CONFIG: file }, cwd: directory, uid: 1000 });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  return configHash(loaded.config);
}

const whole = (
  key: string,
  { network = "10.0.0.0/8", requests = 3, tokens = 9, header = "x-a" } = {},
): string => `
server: { master_key: ${key}, trusted_proxies: ["${network}", "fd00::/8"] }
providers: { openai: { type: openai, api_key: ${key}, forward_headers: [${header}] } }
metrics: { token: ${key} }
rate_limits:
  user_paths:
    - { path: /a, limits: [{ period: day, max_requests: ${requests}, max_tokens: ${tokens} }] }
`;

t.test("the same configuration has the same hash, another has another", async (t) => {
  const key = "a-secret-of-some-length-1";
  const first = hashOf(whole(key));
  t.match(first, /^[0-9a-f]{12}$/);
  t.equal(hashOf(whole(key)), first);
  const others = [{ network: "10.0.0.0/16" }, { requests: 4 }, { tokens: 10 }, { header: "x-b" }];
  for (const other of others) t.not(hashOf(whole(key, other)), first, JSON.stringify(other));
  t.equal(hashOf(whole("a-secret-of-some-length-2")), first, "it tells no secret");
});
