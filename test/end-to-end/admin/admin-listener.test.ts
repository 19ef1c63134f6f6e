/** /admin and the dashboard on a port of their own, through real processes. */
import { createServer } from "node:net";
import t from "tap";
import { chat } from "../../support/client.js";
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
  t.equal(await statusOf(`${adminUrl}/admin/status`), 401);
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
  await proxy.kill("SIGTERM");
  t.equal(proxy.child.exitCode, 0, "both end");
});

t.test("a port that is taken is told, and neither is opened", async (t) => {
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
    t.equal(await statusOf(`${adminUrl}/admin/status`, { headers }), 403, JSON.stringify(headers));
  const beyond = makeSite(t, "server: { admin: { port: 0, host: 0.0.0.0 } }");
  await beyond.startDaemon();
  await t.rejects(beyond.startProxy(), /server\.admin\.host 0\.0\.0\.0 is not loopback/);
});
