import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t from "tap";
import { startErrorText } from "../../../bin/supervisor/start-error-text.js";
import type { Config } from "../../../shared/config/config.js";
import { loadConfig } from "../../../shared/config/load-config.js";
import { settingText } from "../../../shared/config/setting-text.js";

t.test("a refusal of the operating system has a plain reason, and what to do", async (t) => {
  const failed = (fields: object): Error => Object.assign(new Error("listen E"), fields);
  for (const [fields, text] of [
    [
      { code: "EADDRINUSE", address: "127.0.0.1", port: 8080 },
      /^another program listens on 127\.0\.0\.1 port 8080: stop it, or choose another port$/,
    ],
    [
      { code: "EADDRNOTAVAIL", address: "10.1.1.1", port: 1 },
      /^this host has no address 10\.1\.1\.1/,
    ],
    [{ code: "EACCES", address: "0.0.0.0", port: 80 }, /^permission denied for 0\.0\.0\.0 port 80/],
    [
      { code: "EAI_AGAIN", hostname: "gateway.example" },
      "the host gateway.example has no address: see server.host",
    ],
    [{ code: "EACCES" }, "listen E"],
    [{}, "listen E"],
  ] as const)
    t.match(startErrorText(failed(fields), null), text);
  t.equal(startErrorText("odd", null), "odd");
});

const directory = mkdtempSync(join(tmpdir(), "sluice-start-"));
t.teardown(() => rmSync(directory, { recursive: true }));

function configOf(text: string, env: Readonly<Record<string, string>> = {}): Config {
  const file = join(directory, "sluice.yaml");
  writeFileSync(file, text);
  const loaded = loadConfig({ env: { ...env, SLUICE_CONFIG: file }, cwd: directory, uid: 1000 });
  if (!loaded.ok) throw new Error(JSON.stringify(loaded.problems));
  return loaded.config;
}

t.test("a port that is taken is reported with the setting's source", async (t) => {
  const taken = (port: number, config: Config): string =>
    startErrorText(
      Object.assign(new Error(), { code: "EADDRINUSE", address: "127.0.0.1", port }),
      config,
    );
  const admin = configOf("server: { admin: { port: 9001 } }");
  t.match(taken(9001, admin), /another port: server\.admin\.port is 9001 in .*sluice\.yaml$/);
  t.match(taken(8080, admin), /another port with --port, PORT or server\.port$/);
  const metrics = configOf("metrics: { port: 9464 }");
  t.match(taken(9464, metrics), /: metrics\.port is 9464 in .*sluice\.yaml$/);
  const variables = configOf("server: { port: 1 }", { PORT: "8081", SLUICE_ADMIN_PORT: "9002" });
  t.match(taken(8081, variables), /: PORT is 8081$/);
  t.match(taken(9002, variables), /: SLUICE_ADMIN_PORT is 9002$/);
  t.match(taken(80, configOf("server: { port: 80 }")), /: server\.port is 80 in .*yaml$/);
});

t.test("a setting is named as its source writes it", async (t) => {
  const inFile = configOf("rate_limits: { enabled: false }");
  t.equal(
    settingText(inFile, "rate_limits.enabled"),
    `rate_limits.enabled is false in ${join(directory, "sluice.yaml")}`,
  );
  const byVariable = configOf("rate_limits: { enabled: true }", { RATE_LIMITS_ENABLED: "false" });
  t.equal(settingText(byVariable, "rate_limits.enabled"), "RATE_LIMITS_ENABLED is false");
  t.equal(settingText(inFile, "budgets.enabled"), "budgets.enabled is true by default");
});
