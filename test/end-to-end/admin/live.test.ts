/** The live stream through real processes: what is told, when it ends, and who may have it. */
import { once } from "node:events";
import { request as httpRequest, type IncomingMessage } from "node:http";
import { connect } from "node:net";
import t, { type Test } from "tap";
import { watchersMax } from "../../../proxy/bounds.js";
import { agesSeconds } from "../../support/ages.js";
import { chat } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite, type Site } from "../../support/processes/processes.js";

const masterKey = "master-key-of-the-test";
const byMaster = { authorization: `Bearer ${masterKey}` };
const yaml = `
server: { master_key: ${masterKey}, drain_seconds: 60 }
providers: { sim: { type: simulator } }
rate_limits: { user_paths: [{ path: /team, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1 }] }] }
`;

interface Event {
  readonly name: string;
  readonly data: Readonly<Record<string, unknown>>;
}

interface Stream {
  readonly status: number;
  readonly headers: IncomingMessage["headers"];
  /** The next event with one of these names; others are passed over. */
  next(...names: readonly string[]): Promise<Event>;
  /** Resolved with whether the response is complete. */
  readonly ended: Promise<boolean>;
  close(): void;
}

function watch(
  url: string,
  { query = "", headers = byMaster }: { query?: string; headers?: Record<string, string> } = {},
): Promise<Stream> {
  return new Promise((resolve, reject) => {
    const asked = httpRequest(`${url}/admin/live${query}`, { headers, agent: false }, (answer) => {
      const events: Event[] = [];
      let text = "";
      let look = (): void => {};
      answer.setEncoding("utf8").on("data", (piece: string) => {
        text += piece;
        const blocks = text.split("\n\n");
        text = blocks.pop()!;
        for (const block of blocks) {
          const name = /^event: (\w+)$/m.exec(block)?.[1];
          if (name !== undefined)
            events.push({ name, data: JSON.parse(/^data: (.*)$/m.exec(block)![1]!) });
        }
        look();
      });
      const ended = new Promise<boolean>((end) => {
        answer.once("close", () => end(answer.complete));
        answer.on("error", () => {});
      });
      resolve({
        status: answer.statusCode!,
        headers: answer.headers,
        ended,
        close: () => asked.destroy(),
        next: (...names) =>
          new Promise((found) => {
            look = () => {
              const at = events.findIndex(({ name }) => names.includes(name));
              if (at < 0) return;
              look = () => {};
              found(events.splice(0, at + 1)[at]!);
            };
            look();
          }),
      });
    });
    asked.on("error", reject).end();
  });
}

async function start(t: Pick<Test, "teardown">): Promise<Site & { readonly url: string }> {
  const site = makeSite(t, yaml);
  await site.startDaemon();
  return { ...site, url: (await site.startProxy()).ready };
}

const site = await start(t);
const { url } = site;
const asTeam = (): Promise<Response> =>
  fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { ...byMaster, "content-type": "application/json", "x-sluice-user-path": "/team" },
    body: JSON.stringify({ model: "sim-fast", messages: [{ role: "user", content: "hi" }] }),
  });

t.test("who watches sees requests, refusals and rules as they happen", async (t) => {
  const stream = await watch(url, { query: "?rules=true&limit=10&search=team" });
  t.equal(stream.status, 200);
  t.match(stream.headers, {
    "content-type": "text/event-stream",
    "cache-control": "no-store",
    "x-accel-buffering": "no",
  });
  const { data } = await stream.next("tick");
  t.match(data, { status: { settled: 0, tokens: 0, cost: 0, refused: 0, in_flight: 0 } });
  t.match(
    (await stream.next("rules")).data,
    exactly({
      whole: true,
      rate_limits: [{ subject: "/team", requests_used: 0 }],
    }),
  );
  t.equal((await asTeam()).status, 200);
  t.match(
    (await stream.next("rules")).data,
    exactly({
      whole: false,
      rate_limits: [{ subject: "/team", requests_used: 1 }],
    }),
  );
  t.equal((await asTeam()).status, 429);
  t.match((await stream.next("refused")).data, {
    user_path: "/team",
    model: "sim-fast",
    message: /limit of 1 reached/,
  });
  let counted: Readonly<Record<string, unknown>>;
  do counted = (await stream.next("tick")).data["status"] as typeof counted;
  while (counted["settled"] === 0);
  t.match(counted, { settled: 1, refused: 1, over_budget: 0 });
  t.ok((counted["tokens"] as number) > 0);
  stream.close();
});

t.test("a role for a subtree watches it, and hears nothing of others", async (t) => {
  const site = makeSite(
    t,
    `
server: { master_key: ${masterKey} }
usage: { show_ancestors: false }
entitlements: [quota_templates]
providers: { sim: { type: simulator } }
rate_limits:
  user_paths:
    - { path: /, limits: [{ period_seconds: ${agesSeconds}, max_requests: 3 }] }
    - { path: /t, per_child: true, limits: [{ period_seconds: ${agesSeconds}, max_requests: 2 }] }
`,
  );
  await site.startDaemon();
  const { ready: url } = await site.startProxy();
  const send = async (path: string): Promise<number> =>
    (
      await fetch(`${url}/v1/chat/completions`, {
        method: "POST",
        headers: { ...byMaster, "content-type": "application/json", "x-sluice-user-path": path },
        body: JSON.stringify({ model: "sim-fast", messages: [{ role: "user", content: "hi" }] }),
      })
    ).status;
  const issued = await fetch(`${url}/admin/auth-keys`, {
    method: "POST",
    headers: byMaster,
    body: JSON.stringify({ role: "viewer", user_path: "/t/acme" }),
  });
  const { value } = (await issued.json()) as { readonly value: string };
  const headers = { authorization: `Bearer ${value}` };
  for (const query of ["?rules=true&user_path=/t/other", "?budgets=true&user_path=/"]) {
    const refused = await watch(url, { query, headers });
    t.equal(refused.status, 403, query);
    refused.close();
  }
  const status = await fetch(`${url}/admin/status`, { headers });
  const { uptime_seconds: _, ...shown } = (await status.json()) as Record<string, unknown>;
  t.match(shown, exactly({ enabled: true, usage_enabled: true, budgets_enabled: true }));
  t.same(Object.keys(shown), ["version", "enabled", "usage_enabled", "budgets_enabled"]);

  const stream = await watch(url, { query: "?rules=true", headers });
  const heard: Event[] = [await stream.next("tick"), await stream.next("rules")];
  t.match(heard[1]!.data, {
    rate_limits: exactly([{ subject: "/t/acme", template: "/t", requests_used: 0 }]),
  });
  for (const [path, code] of [
    ["/t/other", 200],
    ["/t/other", 200],
    ["/t/other", 429],
    ["/t/acme", 200],
    ["/t/acme", 429],
  ] as const)
    t.equal(await send(path), code, path);
  const refused = await stream.next("refused");
  t.match(refused.data, { user_path: "/t/acme", above: "/t/acme" }, "not what the limit above is");
  heard.push(refused, await stream.next("tick"), await stream.next("tick"));
  t.notMatch(JSON.stringify(heard), /other|"admitted"|max_requests":3|limit of 3/);
  stream.close();
});

t.test("one stream has rules and budgets in the order of use", async (t) => {
  const put = await fetch(`${url}/admin/budgets`, {
    method: "PUT",
    headers: byMaster,
    body: JSON.stringify({ user_path: "/team", budget_key: { period: "daily" }, amount: 5 }),
  });
  t.equal(put.status, 200);
  const stream = await watch(url, { query: "?rules=true&budgets=true&order=use&limit=10" });
  t.match(
    await stream.next("rules"),
    exactly({
      data: { whole: true, next: null, rate_limits: [{ subject: "/team", requests_used: 1 }] },
    }),
  );
  t.match(
    await stream.next("budgets"),
    exactly({
      data: { whole: true, next: null, budgets: [{ subject: "/team", spent: 0 }] },
    }),
  );
  stream.close();
  const list = await fetch(`${url}/admin/rate-limits?order=use`, { headers: byMaster });
  const declared_at = /sluice\.yaml: rate_limits\.user_paths\[0\]\.limits\[0\]$/;
  t.match(
    await list.json(),
    exactly({ rate_limits: [{ subject: "/team", source: "config", declared_at }], next: null }),
    "it is a page",
  );
});

t.test("wrong parameters are refused as on the list, and so is who may not see it", async (t) => {
  const refusals: readonly (readonly [string, Record<string, string>, number])[] = [
    ["?rules=true&limit=0", byMaster, 400],
    ["?rules=true&colour=red", byMaster, 400],
    ["?rules=maybe", byMaster, 400],
    ["?rules=true&budgets=yes", byMaster, 400],
    ["?budgets=true&scope=team", byMaster, 400],
    ["?rules=true&order=use&after=x", byMaster, 400],
    ["?limit=5", byMaster, 400],
    ["?rules=true&rules=true", byMaster, 400],
    ["", {}, 401],
    ["", { authorization: "Bearer wrong" }, 401],
    ["", { cookie: `sluice=${"A".repeat(43)}` }, 401],
    ["", { cookie: `sluice=${"A".repeat(43)}`, "sec-fetch-site": "cross-site" }, 403],
  ];
  for (const [query, headers, status] of refusals) {
    const stream = await watch(url, { query, headers });
    t.equal(stream.status, status, `${query} ${JSON.stringify(headers)}`);
    stream.close();
  }
});

t.test("a stream ends with its session", async (t) => {
  const signIn = await fetch(`${url}/dashboard/session`, {
    method: "POST",
    headers: { "content-type": "application/json", origin: url },
    body: JSON.stringify({ key: masterKey }),
  });
  const cookie = signIn.headers.get("set-cookie")!.split(";")[0]!;
  const stream = await watch(url, { headers: { cookie, "sec-fetch-site": "same-origin" } });
  await stream.next("tick");
  const out = await fetch(`${url}/dashboard/session`, {
    method: "DELETE",
    headers: { cookie, origin: url },
  });
  t.equal(out.status, 204);
  await stream.next("ended");
  t.equal(await stream.ended, true);
});

t.test("so many may watch a proxy, and one more when one has left", async (t) => {
  const streams = [];
  for (let i = 0; i < watchersMax; i++) streams.push(await watch(url));
  t.ok(streams.every(({ status }) => status === 200));
  const refused = await watch(url);
  t.match(refused, { status: 503, headers: { "retry-after": "1" } });
  streams[0]!.close();
  await streams[0]!.ended;
  for (;;) {
    const another = await watch(url);
    streams.push(another);
    if (another.status === 200) break;
  }
  await streams.at(-1)!.next("tick");
  for (const stream of streams) stream.close();
});

t.test("connections that are reset before the answer take no places", async (t) => {
  const { hostname, port } = new URL(url);
  const head = `host: a\r\nauthorization: Bearer ${masterKey}\r\n\r\n`;
  const resets = Array.from({ length: 6 * watchersMax }, async (_, i) => {
    const socket = connect(Number(port), hostname).on("error", () => {});
    await once(socket, "connect");
    socket.write(`GET /admin/live${i % 2 === 0 ? "?rules=true" : ""} HTTP/1.1\r\n${head}`, () =>
      socket.resetAndDestroy(),
    );
    await once(socket, "close");
  });
  await Promise.all(resets);
  const streams = [];
  while (streams.length < watchersMax) {
    const stream = await watch(url);
    if (stream.status === 200) streams.push(stream);
  }
  t.match(await streams.at(-1)!.next("tick"), { data: { status: {} } });
  for (const stream of streams) stream.close();
});

t.test("the stream reports the daemon's death and return within two seconds", async (t) => {
  const site = makeSite(t, yaml);
  let daemon = await site.startDaemon();
  const { ready: url } = await site.startProxy();
  const stream = await watch(url);
  await stream.next("tick");
  // The best of several, because other processes only ever make it slower.
  let best = Number.POSITIVE_INFINITY;
  for (let attempt = 0; attempt < 5 && best >= 2000; attempt++) {
    const killedMs = performance.now();
    await daemon.kill("SIGKILL");
    await stream.next("lost");
    best = Math.min(best, performance.now() - killedMs);
    daemon = await site.startDaemon();
    await stream.next("back");
    await stream.next("tick");
  }
  t.ok(best < 2000, `${best} ms`);
  stream.close();
});

t.test("a proxy that stops doesn't wait for who watches", async (t) => {
  const site = makeSite(t, yaml);
  await site.startDaemon();
  const proxy = await site.startProxy();
  const stream = await watch(proxy.ready);
  await stream.next("tick");
  const stoppedMs = performance.now();
  await proxy.kill("SIGTERM");
  t.equal(await stream.ended, true, "the response is complete");
  const ms = performance.now() - stoppedMs;
  t.ok(ms < 10_000, `long before drain_seconds: ${ms} ms`);
});

t.test("an open gateway's stream ends with its first key", async (t) => {
  const site = makeSite(t, "providers: { sim: { type: simulator } }");
  await site.startDaemon();
  const { ready: url } = await site.startProxy();
  const stream = await watch(url, { headers: {} });
  await stream.next("tick");
  t.equal((await chat(url, { model: "sim-fast" })).status, 200);
  await fetch(`${url}/admin/auth-keys`, { method: "POST", body: "{}" });
  await stream.next("ended");
  t.equal(await stream.ended, true);
});
