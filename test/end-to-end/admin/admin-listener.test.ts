/** /admin and the dashboard on a port of their own, through real processes. */
import { createServer } from "node:net";
import t, { type Test } from "tap";
import { chat } from "../../support/client.js";
import { parseMetrics } from "../../support/parse-metrics.js";
import { makeSite, type Part } from "../../support/processes/processes.js";

const masterKey = "master-key-of-the-test";
const byMaster = { authorization: `Bearer ${masterKey}` };
const yaml = `
server: { master_key: "\${MASTER}", admin: { port: 0 }, max_connections: 2 }
providers: { sim: { type: simulator } }
`;

/** From the log: a proxy tells both of its addresses. */
async function adminUrlOf(proxy: Part): Promise<string> {
  await proxy.printed(/"admin_url":"[^"]+"/);
  return /"admin_url":"([^"]+)"/.exec(proxy.output())![1]!;
}

const statusOf = async (url: string, init?: RequestInit): Promise<number> => {
  const { status, body } = await fetch(url, init);
  await body?.cancel();
  return status;
};

/** What Prometheus gets after a request, in either format. */
async function scrapes(t: Test, url: string): Promise<void> {
  const answered = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: byMaster,
    body: JSON.stringify({ model: "sim-fast", messages: [] }),
  });
  await answered.arrayBuffer();
  for (const accept of ["text/plain", "application/openmetrics-text"]) {
    const isOpen = accept !== "text/plain";
    const read = async (path: string): Promise<ReturnType<typeof parseMetrics>> => {
      const scrape = await fetch(url + path, { headers: { ...byMaster, accept } });
      t.match(scrape.headers.get("content-type"), new RegExp(`^${accept}; version=`));
      return parseMetrics(await scrape.text(), isOpen);
    };
    const suffix = isOpen ? "" : "_total";
    const ofProxy = await read("/metrics");
    const [counted] = ofProxy.get(`sluice_requests${suffix}`)!.samples;
    t.same(counted!.labels, {
      endpoint: "chat_completions",
      provider: "sim",
      model: "sim-fast",
      code: "200",
      stream: "false",
    });
    t.equal(ofProxy.get("sluice_limiter_reachable")!.samples[0]!.value, 1);
    for (const name of ["process_resident_memory_bytes", "nodejs_eventloop_lag_seconds"])
      t.ok(ofProxy.has(name), name);
    const ofLimiter = await read("/metrics/limiter");
    t.equal(ofLimiter.get("sluice_limiter_proxies")!.samples[0]!.value, 1);
    t.ok(ofLimiter.get("sluice_limiter_commit_seconds")!.samples.at(-1)!.value > 0);
  }
}

t.test("each port serves its half, and knows nothing of the other", async (t) => {
  const site = makeSite(t, yaml, { MASTER: masterKey });
  await site.startDaemon();
  const proxy = await site.startProxy();
  const adminUrl = await adminUrlOf(proxy);
  t.not(adminUrl, proxy.ready);
  const table: readonly (readonly [path: string, models: number, admin: number])[] = [
    ["/v1/models", 200, 404],
    ["/p/sim/v1/models", 400, 404],
    ["/v1/usage", 200, 200],
    ["/openapi.json", 200, 200],
    ["/health", 200, 200],
    ["/ready", 200, 200],
    ["/metrics", 200, 200],
    ["/metrics/limiter", 200, 200],
    ["/admin/status", 404, 200],
    ["/admin/rate-limits", 404, 200],
    ["/dashboard/", 404, 200],
    ["/dashboard/session", 404, 200],
    ["/admin/nothing", 404, 404],
  ];
  for (const [path, models, admin] of table) {
    if (models !== 400)
      t.equal(await statusOf(proxy.ready + path, { headers: byMaster }), models, path);
    t.equal(await statusOf(adminUrl + path, { headers: byMaster }), admin, `${path}, admin`);
  }
  for (const path of ["/admin/status", "/metrics", "/metrics/limiter"])
    t.equal(await statusOf(`${adminUrl}${path}`), 401, path);
  const posted = { method: "POST", headers: byMaster, body: "{}" };
  t.equal(await statusOf(`${adminUrl}/v1/chat/completions`, posted), 404);
  t.equal(await statusOf(`${proxy.ready}/admin/rate-limits/reset`, posted), 404);
  const signIn = await fetch(`${adminUrl}/dashboard/session`, {
    method: "POST",
    headers: { origin: adminUrl, "content-type": "application/json" },
    body: JSON.stringify({ key: masterKey }),
  });
  t.equal(signIn.status, 204);
  const cookie = signIn.headers.get("set-cookie")!.split(";")[0]!;
  t.equal(await statusOf(`${adminUrl}/admin/status`, { headers: { cookie } }), 200);
  t.equal(await statusOf(`${adminUrl}/v1/usage`, { headers: { cookie } }), 200);
  // Browsers send a host's cookies to each of its ports.
  t.equal(await statusOf(`${proxy.ready}/v1/usage`, { headers: { cookie } }), 401);
  await scrapes(t, proxy.ready);
  await proxy.kill("SIGTERM");
  t.equal(proxy.child.exitCode, 0, "both end");
});

t.test("the port of metrics serves them and the probes, and nothing else", async (t) => {
  const site = makeSite(t, `${yaml}metrics: { port: 0, token: "token-of-the-scrapes-1" }\n`, {
    MASTER: masterKey,
  });
  await site.startDaemon();
  const proxy = await site.startProxy();
  await proxy.printed(/"metrics_url":"[^"]+"/);
  const url = /"metrics_url":"([^"]+)"/.exec(proxy.output())![1]!;
  const byToken = { authorization: "Bearer token-of-the-scrapes-1" };
  for (const path of ["/metrics", "/metrics/limiter"]) {
    t.equal(await statusOf(url + path, { headers: byToken }), 200, path);
    t.equal(await statusOf(url + path), 401, `${path} without a token`);
    t.equal(await statusOf(proxy.ready + path, { headers: byToken }), 200, `${path} elsewhere`);
  }
  for (const path of ["/health", "/ready"]) t.equal(await statusOf(url + path), 200, path);
  for (const path of ["/v1/models", "/v1/usage", "/admin/status", "/dashboard/", "/openapi.json"])
    t.equal(await statusOf(url + path, { headers: byMaster }), 404, path);
  const beyond = makeSite(t, "metrics: { port: 0, host: 0.0.0.0 }");
  await beyond.startDaemon();
  await t.rejects(beyond.startProxy(), /metrics\.host 0\.0\.0\.0 is not loopback/);
});

t.test("a port that is taken is reported, and neither port is opened", async (t) => {
  const taken = createServer();
  await new Promise<void>((resolve) => taken.listen(0, "127.0.0.1", resolve));
  t.teardown(() => void taken.close());
  const { port } = taken.address() as { port: number };
  const site = makeSite(t, "providers: { sim: { type: simulator } }", {
    SLUICE_ADMIN_PORT: String(port),
  });
  await site.startDaemon();
  await t.rejects(site.startProxy(), new RegExp(String(port)));
});

t.test("an open gateway's admin port is for this host's own pages alone", async (t) => {
  const site = makeSite(t, "server: { admin: { port: 0 } }");
  await site.startDaemon();
  const proxy = await site.startProxy();
  const adminUrl = await adminUrlOf(proxy);
  t.equal((await chat(proxy.ready, { model: "sim-fast" })).status, 200);
  t.equal(await statusOf(`${adminUrl}/admin/status`), 200);
  for (const headers of [
    { origin: proxy.ready },
    { origin: "https://evil.example" },
    { "sec-fetch-site": "cross-site" },
  ])
    for (const path of ["/admin/status", "/metrics", "/metrics/limiter"])
      t.equal(
        await statusOf(adminUrl + path, { headers }),
        403,
        `${path} ${JSON.stringify(headers)}`,
      );
  for (const url of [proxy.ready, adminUrl]) {
    t.equal(await statusOf(`${url}/metrics`), 200);
    const headers = { origin: "https://evil.example" };
    t.equal(await statusOf(`${url}/metrics`, { headers }), 403);
  }
  const beyond = makeSite(t, "server: { admin: { port: 0, host: 0.0.0.0 } }");
  await beyond.startDaemon();
  await t.rejects(beyond.startProxy(), /server\.admin\.host 0\.0\.0\.0 is not loopback/);
});
