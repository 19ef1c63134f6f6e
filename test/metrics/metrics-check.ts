/**
 * `npm run heavy -- metrics-check`: what a real gateway under traffic tells is read by Prometheus
 * itself, and so are the alerts in docs/examples. It needs Debian's package `prometheus`; without
 * it, it says so.
 */
import { execFileSync, spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import t, { type Test } from "tap";
import { agesSeconds } from "../support/ages.js";
import { until } from "../support/client.js";
import { parseMetrics } from "../support/parse-metrics.js";
import { freePort } from "../support/processes/free-port.js";
import { makeSite } from "../support/processes/processes.js";
import { replyCompletion, startScriptedUpstream } from "../support/providers/scripted-upstream.js";
import { root } from "../tidy/source-tree.js";

const token = "token-for-scrapes";
const byMaster = { authorization: "Bearer master-key" };
const examples = join(root, "docs/examples/prometheus");

/** Standard output and error of promtool, which it must end well. */
function promtool(args: readonly string[], input = ""): string {
  return execFileSync("promtool", args, { input, encoding: "utf8", stdio: "pipe", cwd: examples });
}

function isInstalled(program: string): boolean {
  try {
    execFileSync(program, ["--version"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

const missing = isInstalled("promtool")
  ? false
  : "promtool is missing: install Debian's package prometheus";
if (missing !== false) console.log(`metrics-check is skipped: ${missing}`);

const hostile = ['m"quoted"', "m\\back", "m\nline", "é".repeat(40), "other"];

/** Answers, failures, refusals, names that were made up. */
async function makeTraffic(url: string): Promise<void> {
  const ask = async (body: object, headers: Record<string, string> = byMaster): Promise<void> => {
    const answer = await fetch(`${url}/v1/chat/completions`, {
      method: "POST",
      headers,
      body: JSON.stringify({ messages: [{ role: "user", content: "hi" }], ...body }),
    });
    await answer.arrayBuffer();
  };
  for (let i = 0; i < 20; i++) await ask({ model: "sim/sim-fast", stream: i % 2 === 0 });
  for (const model of hostile) await ask({ model: `up/${model}` });
  await ask({ model: "both" });
  await ask({ model: "no/such" });
  await ask({ model: "sim/sim-fast" }, {});
  for (let i = 0; i < 4; i++)
    await ask({ model: "sim/sim-fast" }, { ...byMaster, "x-sluice-user-path": "/tight" });
  await (await fetch(`${url}/v1/models`, { headers: byMaster })).arrayBuffer();
  await (await fetch(`${url}/nowhere`)).arrayBuffer();
}

t.test("what a gateway tells is read by Prometheus", { skip: missing }, async (t) => {
  const upstream = await startScriptedUpstream();
  t.teardown(() => upstream.close());
  upstream.answer = (call) =>
    call.body.includes("failing")
      ? void call.response.writeHead(503).end("{}")
      : replyCompletion(call, 15);
  const site = makeSite(
    t,
    `
server: { master_key: master-key }
metrics: { token: ${token}, user_paths: 2 }
providers:
  sim: { type: simulator }
  up: { type: openai, base_url: "${upstream.baseUrl}", api_key: none, models: ["*"], retries: 0 }
virtual_models: { both: { strategy: failover, targets: [{ model: up/failing }, { model: sim/sim-fast }] } }
rate_limits:
  user_paths:
    - { path: /, limits: [{ period: minute, max_requests: 1000, max_tokens: 100000 }] }
    - { path: /tight, limits: [{ period_seconds: ${agesSeconds}, max_requests: 2 }] }
budgets: { user_paths: [{ path: /, limits: [{ period: daily, amount: 10 }] }] }
`,
  );
  await site.startDaemon();
  const proxy = await site.startProxy();
  await makeTraffic(proxy.ready);
  for (const path of ["/metrics", "/metrics/limiter"]) {
    const headers = { authorization: `Bearer ${token}` };
    const text = await (await fetch(proxy.ready + path, { headers })).text();
    t.ok(parseMetrics(text).size > 15, path);
    t.equal(promtool(["check", "metrics"], text), "", `${path}: promtool finds nothing to say`);
  }
  await t.test("Prometheus scrapes it", async (t) => scrapedByPrometheus(t, proxy.ready));
});

/** In its own format of choice, which is OpenMetrics. */
async function scrapedByPrometheus(t: Test, url: string): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "sluice-prometheus-"));
  const port = await freePort();
  const job = (name: string, path: string): string =>
    `  - { job_name: ${name}, metrics_path: ${path}, scrape_interval: 1s, authorization: { credentials: ${token} }, static_configs: [{ targets: ["${new URL(url).host}"] }] }\n`;
  writeFileSync(
    join(directory, "prometheus.yml"),
    `rule_files: ["${examples}/alerts.yaml"]\nscrape_configs:\n${job("proxy", "/metrics")}${job("limiter", "/metrics/limiter")}`,
  );
  const child = spawn(
    "prometheus",
    [
      `--config.file=${directory}/prometheus.yml`,
      `--storage.tsdb.path=${directory}/data`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: "ignore" },
  );
  const ended = new Promise((resolve) => child.once("exit", resolve));
  t.teardown(async () => {
    child.kill("SIGTERM");
    await ended;
    rmSync(directory, { recursive: true, force: true });
  });
  const query = async (expr: string): Promise<readonly unknown[]> => {
    const asked = `http://127.0.0.1:${port}/api/v1/query?query=${encodeURIComponent(expr)}`;
    const answer = await fetch(asked).catch(() => null);
    if (answer?.ok !== true) return [];
    const body = (await answer.json()) as { data: { result: readonly { value: unknown[] }[] } };
    return body.data.result.map(({ value }) => Number(value[1]));
  };
  await until(
    () => query("up == 1"),
    (targets) => targets.length === 2,
  );
  t.same(await query('sum(sluice_requests_total{model="sim-fast", code="200"})'), [23]);
  t.same(await query("sum(sluice_failovers_total)"), [1]);
  t.same(await query('sum(sluice_refused_total{reason="rate_limit"})'), [2]);
  t.same(await query('max(sluice_rule_limit{subject="/tight"})'), [2]);
  t.same(await query("count(count by (model) (gen_ai_client_token_usage_count))"), [1]);
}

t.test(
  "the alerts are what Prometheus takes, and fire when they should",
  { skip: missing },
  async (t) => {
    t.match(promtool(["check", "rules", "alerts.yaml"]), /SUCCESS/);
    t.match(promtool(["test", "rules", "alerts.test.yaml"]), /SUCCESS/);
  },
);
