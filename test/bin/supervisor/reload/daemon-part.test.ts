import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import t from "tap";
import {
  daemonNeedsRestart,
  fixedSettings,
} from "../../../../bin/supervisor/reload/daemon-part.js";
import type { Config } from "../../../../shared/config/config.js";
import { loadConfig } from "../../../../shared/config/load-config.js";
import { root } from "../../../tidy/source-tree.js";

function configOf(env: Record<string, string>): Config {
  const loaded = loadConfig({ env, cwd: "/nowhere", uid: 1000 });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  return loaded.config;
}

const before = configOf({ OPENAI_API_KEY: "one" });

t.test("the daemon is started again for what it uses, and for nothing else", async (t) => {
  const table = [
    [{ OPENAI_API_KEY: "one" }, false],
    [{ OPENAI_API_KEY: "two" }, false],
    [{ OPENAI_API_KEY: "one", SLUICE_MASTER_KEY: "a-master-key-of-32-characters-ab" }, false],
    [{ OPENAI_API_KEY: "one", PORT: "81" }, false],
    [{ OPENAI_API_KEY: "one", LOG_LEVEL: "warn" }, true],
    [{ OPENAI_API_KEY: "one", ANTHROPIC_API_KEY: "b" }, true],
    [{ OPENAI_API_KEY: "one", USAGE_ENABLED: "false" }, true],
    [{ OPENAI_API_KEY: "one", SLUICE_MAX_STORE_BYTES: "1000000000" }, true],
    [{ OPENAI_API_KEY: "one", SLUICE_CLUSTER_URL: "valkey://127.0.0.1" }, true],
  ] as const;
  for (const [env, needed] of table)
    t.equal(daemonNeedsRestart(before, configOf(env)), needed, JSON.stringify(env));
  const providers = before.providers.map((provider) => ({
    ...provider,
    upstreamLimits: { ...provider.upstreamLimits, changed: true },
  }));
  t.ok(daemonNeedsRestart(before, { ...before, providers }), "limits of providers");
  const background = { ...before.background, max: 7 };
  t.ok(daemonNeedsRestart(before, { ...before, background }));
});

t.test("whatever the daemon reads of the configuration starts it again", async (t) => {
  const read = new Set<string>();
  for (const file of readdirSync(join(root, "limiterd"), { recursive: true, encoding: "utf8" })) {
    if (!file.endsWith(".ts")) continue;
    const text = readFileSync(join(root, "limiterd", file), "utf8");
    for (const [, key = ""] of text.matchAll(/\bconfig\.(\w+)/g)) read.add(key);
    for (const [, keys = ""] of text.matchAll(/const \{([^}]+)\} = config;/g))
      for (const [key] of keys.matchAll(/\w+/g)) read.add(key);
  }
  // The file's name is for messages, and the audit log shows the other values as settings.
  const shown = ["file", "settings"];
  const keys = Object.keys(before).filter((key) => read.has(key) && !shown.includes(key));
  t.ok(keys.length >= 10, keys.join(" "));
  for (const key of keys) {
    const changed = { providers: [], mcpServers: [{ name: "new" }] }[key];
    const value = changed ?? { changed: key };
    t.ok(daemonNeedsRestart(before, { ...before, [key]: value }), key);
  }
});

t.test("where the processes meet can't be changed by a reload", async (t) => {
  t.same(fixedSettings(before, configOf({ PORT: "81" })), []);
  t.same(fixedSettings(before, configOf({ SLUICE_SOCKET: "/run/x.sock" })), [
    "limiter.socket",
    "limiter.admin_socket",
  ]);
  t.same(fixedSettings(before, configOf({ SLUICE_DATA_DIR: "/x" })), [
    "limiter.data_dir",
    "limiter.spool_dir",
  ]);
});
