/**
 * Responses in the background, through real processes: the provider's ledger is what is charged,
 * once, whoever asks for a response and however often, also over restarts; and what nobody asks for
 * is looked up.
 */
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import t from "tap";
import { unlistedModelsMax } from "../../../shared/bounds.js";
import { connectDaemon } from "../../../shared/wire/daemon-client.js";
import { agesSeconds } from "../../support/ages.js";
import { admin, until } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";

type Json = Readonly<Record<string, unknown>>;

/** What the provider keeps, by id. */
const kept = new Map<string, { status: string; usage: Json | null }>();
/** At which of the providers, by the first part of its path. */
const places = new Map<string, string>();
const placeOf = (url = ""): string => url.split("/")[1]!;
const asked: string[] = [];
const urls: string[] = [];
let made = 0;

const server = createServer((request, response) => {
  const pieces: Buffer[] = [];
  request.on("data", (piece: Buffer) => pieces.push(piece));
  request.on("end", () => answer(request, response, Buffer.concat(pieces).toString()));
});

function answer({ method, url }: IncomingMessage, response: ServerResponse, body: string): void {
  if (url?.startsWith("/sick/") === true) return void response.writeHead(503).end();
  const [, id, cancels] = /\/responses\/(resp_\d+)(\/cancel)?/.exec(decodeURIComponent(url!)) ?? [];
  const send = (status: number, value: unknown): void =>
    void response
      .writeHead(status, { "content-type": "application/json" })
      .end(JSON.stringify(value));
  if (url!.endsWith("/embeddings"))
    return send(200, { object: "list", data: [], usage: { prompt_tokens: 1, total_tokens: 1 } });
  if (id === undefined) {
    const name = `resp_${++made}`;
    const queued = { status: "queued", usage: null };
    kept.set(name, queued);
    places.set(name, placeOf(url));
    if (!body.includes('"stream":true')) return send(200, responseOf(name, queued));
    response.writeHead(200, { "content-type": "text/event-stream" });
    const created = { type: "response.created", response: responseOf(name, queued) };
    return void response.write(`event: response.created\ndata: ${JSON.stringify(created)}\n\n`);
  }
  asked.push(`${method} ${id}`);
  urls.push(url ?? "");
  const found = places.get(id) === placeOf(url) ? kept.get(id) : undefined;
  if (found === undefined) return send(404, { error: { message: "no such response" } });
  if (method === "DELETE") {
    kept.delete(id);
    return send(200, { id, object: "response", deleted: true });
  }
  if (cancels !== undefined) found.status = "cancelled";
  if (url!.includes("stream=true")) {
    const completed = { type: "response.completed", response: responseOf(id, found) };
    response.writeHead(200, { "content-type": "text/event-stream" });
    return void response.end(
      `event: response.output_text.delta\ndata: {"type":"response.output_text.delta","delta":"x"}\n\nevent: response.completed\ndata: ${JSON.stringify(completed)}\n\n`,
    );
  }
  send(200, responseOf(id, found));
}

function responseOf(id: string, { status, usage }: { status: string; usage: Json | null }): Json {
  return { id, object: "response", background: true, model: "m-2026", status, output: [], usage };
}

const usageOf = (input: number, output: number): Json => ({
  input_tokens: input,
  output_tokens: output,
  total_tokens: input + output,
});

server.listen(0, "127.0.0.1");
await once(server, "listening");
t.teardown(() => {
  server.closeAllConnections();
  server.close();
});
const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
const configured = (usage: string): string => `
limiter: { deadline_ms: 30000 }
server: { passthrough: all }
usage: { ${usage} }
providers:
  test: { type: openai, base_url: "${origin}/v1", api_key: none, models: ["*"] }
prices:
  test/m: { input: 2, output: 10 }
rate_limits:
  models: [{ model: test/unlisted, limits: [{ period_seconds: ${agesSeconds}, max_tokens: 1000 }] }]
  user_paths: [{ path: /, limits: [{ period_seconds: ${agesSeconds}, max_tokens: 100000000 }] }]
budgets:
  user_paths: [{ path: /, limits: [{ period_seconds: ${agesSeconds}, amount: 1000 }] }]
`;
const site = makeSite(t, configured("background_lookup_seconds: 0"));
let daemon = await site.startDaemon();
let proxy = await site.startProxy();

const at = (path: string): { headers: Record<string, string> } => ({
  headers: { "x-sluice-user-path": path, "content-type": "application/json" },
});

async function submit(path: string, changes: Json = {}, url = proxy.ready): Promise<string> {
  const response = await fetch(`${url}/v1/responses`, {
    method: "POST",
    ...at(path),
    body: JSON.stringify({ model: "test/m", input: "hello", background: true, ...changes }),
  });
  t.equal(response.status, 200);
  return ((await response.json()) as { id: string }).id;
}

async function done(id: string, usage: Json | null, status = "completed"): Promise<void> {
  kept.set(id, { status, usage });
}

const get = async (id: string, path: string, query = ""): Promise<string> =>
  (await fetch(`${proxy.ready}/v1/responses/${id}${query}`, at(path))).text();

interface Status {
  readonly usage: Json;
  readonly budgets: readonly { spent: number }[];
  readonly rate_limits: readonly { tokens_used: number }[];
}

const status = async (path: string, url = proxy.ready): Promise<Status> =>
  (await (await fetch(`${url}/v1/usage`, at(path))).json()) as Status;

const settled = (path: string, total: number, url = proxy.ready): Promise<Status> =>
  until(
    () => status(path, url),
    ({ usage }) => usage["total_tokens"] === total,
  );

const known = { total_requests: 1, unknown_calls: undefined, unpriced_requests: 0 };

t.test("the first answer that shows the usage settles it, and no other does", async (t) => {
  const id = await submit("/get");
  const before = await status("/get");
  t.match(before.usage, { total_requests: 1, unknown_calls: 1, total_output_tokens: 0 });
  const spent = before.budgets[0]!.spent;
  await get(id, "/get");
  t.same((await status("/get")).usage, before.usage, "it isn't done");
  await done(id, usageOf(1000, 500));
  await Promise.all([get(id, "/get"), get(id, "/get"), get(id, "/get")]);
  await get(id, "/get");
  const after = await settled("/get", 1500);
  t.match(after.usage, {
    ...known,
    total_input_tokens: 1000,
    total_output_tokens: 500,
    total_cost: 0.007,
  });
  t.equal(after.budgets[0]!.spent, 0.007);
  t.ok(spent > 0 && spent < 0.007);
});

t.test("as do a stream that is resumed, a cancellation, and passthrough", async (t) => {
  const encoded = (id: string): string =>
    `${proxy.ready}/p/test/v1/%72esponses/${id.replace("_", "%5F")}`;
  for (const [path, ask] of [
    ["/resumed", (id: string) => get(id, "/resumed", "?stream=true&starting_after=3")],
    [
      "/cancelled",
      (id: string) =>
        fetch(`${proxy.ready}/v1/responses/${id}/cancel`, { method: "POST", ...at("/cancelled") }),
    ],
    ["/p", (id: string) => fetch(`${proxy.ready}/p/test/v1/responses/${id}`, at("/p"))],
    ["/p-encoded", (id: string) => fetch(encoded(id), at("/p-encoded"))],
    ["/p-deleted", (id: string) => fetch(encoded(id), { method: "DELETE", ...at("/p-deleted") })],
    [
      "/deleted",
      (id: string) =>
        fetch(`${proxy.ready}/v1/responses/${id}`, { method: "DELETE", ...at("/deleted") }),
    ],
  ] as const) {
    const id = await submit(path);
    await done(id, usageOf(10, 40));
    for (let i = 0; i < 2; i++) await ask(id);
    t.match((await settled(path, 50)).usage, { total_output_tokens: 40 }, path);
  }
});

t.test("also one that was submitted by passthrough, or whose stream was cut", async (t) => {
  const response = await fetch(`${proxy.ready}/p/test/v1/responses`, {
    method: "POST",
    ...at("/passed"),
    body: JSON.stringify({ model: "m", input: "hello", background: true }),
  });
  const { id } = (await response.json()) as { id: string };
  await done(id, usageOf(10, 60));
  await get(id, "/passed");
  t.match((await settled("/passed", 70)).usage, known);
  const leaving = new AbortController();
  const stream = await fetch(`${proxy.ready}/v1/responses`, {
    method: "POST",
    ...at("/cut"),
    body: JSON.stringify({ model: "test/m", input: "hello", background: true, stream: true }),
    signal: leaving.signal,
  });
  await stream.body!.getReader().read();
  const cut = `resp_${made}`;
  leaving.abort();
  await until(
    () => status("/cut"),
    ({ usage }) => usage["unknown_calls"] === 1,
  );
  await done(cut, usageOf(10, 70));
  await get(cut, "/cut");
  t.match((await settled("/cut", 80)).usage, known);
});

t.test("what was estimated too high is taken back; what stays unknown isn't", async (t) => {
  const high = await submit("/high", { input: "x".repeat(4000) });
  await done(high, usageOf(300, 20), "cancelled");
  await get(high, "/high");
  t.match((await settled("/high", 320)).usage, { ...known, total_cost: 0.0008 });
  const failed = await submit("/failed");
  const before = (await status("/failed")).usage;
  await done(failed, null, "failed");
  await get(failed, "/failed");
  await done(failed, usageOf(1, 1));
  await get(failed, "/failed");
  t.same((await status("/failed")).usage, before);
});

t.test("under its own name, however many models callers have named", async (t) => {
  const embed = (i: number): Promise<unknown> =>
    fetch(`${proxy.ready}/v1/embeddings`, {
      method: "POST",
      ...at("/names"),
      body: JSON.stringify({ model: `test/name-${i}`, input: "hello" }),
    }).then((response) => response.text());
  for (let i = 0; i <= unlistedModelsMax; i++) await embed(i);
  const id = await submit("/named", { model: "test/unlisted" });
  await done(id, usageOf(10, 40));
  await get(id, "/named");
  await settled("/named", 50);
  const groups = await (await fetch(`${proxy.ready}/v1/usage?by=model`, at("/named"))).json();
  t.match(groups, { groups: exactly([{ key: "test/unlisted", total_tokens: 50 }]) });
  const { rate_limits: rules } = (await (
    await fetch(`${proxy.ready}/admin/rate-limits`)
  ).json()) as { rate_limits: Json[] };
  t.match(
    rules.find(({ scope }) => scope === "model"),
    { tokens_used: 50 },
  );
});

t.test("once, whatever is killed in between", async (t) => {
  const id = await submit("/killed");
  const path = "/killed";
  const isWaitedFor = (): Promise<Status> =>
    until(
      () => status(path),
      ({ usage }) => usage["unknown_calls"] === 1,
    );
  await isWaitedFor();
  await daemon.kill("SIGKILL");
  daemon = await site.startDaemon();
  await isWaitedFor();
  await proxy.kill("SIGKILL");
  proxy = await site.startProxy();
  await isWaitedFor();
  await done(id, usageOf(100, 200));
  await get(id, path);
  await settled(path, 300);
  await daemon.kill("SIGKILL");
  daemon = await site.startDaemon();
  await get(id, path);
  t.match((await settled(path, 300)).usage, { ...known, total_cost: 0.0022 });
  const client = await connectDaemon({ socketPath: site.socket });
  const records = await client.call("usage.export", { user_path: path });
  client.close();
  if (!records.ok) throw new Error(records.failure.message);
  const parts = [
    { status: 200, estimated: true, output_tokens: 0 },
    { status: 102, estimated: true, output_tokens: 0 },
    { status: 102, estimated: false, total_tokens: 300, tokens_at_most: null },
  ];
  t.match((records.body as { records: Json[] }).records, exactly(parts));
});

t.test("an unfetched response is looked up until it is known, gone, or too old", async (t) => {
  const other = makeSite(
    t,
    configured("background_lookup_seconds: 0.3, background_wait_seconds: 5, background_max: 3"),
  );
  await other.startDaemon();
  const { ready: url } = await other.startProxy();
  const seen = await submit("/seen", {}, url);
  const gone = await submit("/gone", {}, url);
  const never = await submit("/never", {}, url);
  const beyond = await submit("/beyond", {}, url);
  await done(seen, usageOf(20, 30));
  kept.delete(gone);
  await settled("/seen", 50, url);
  await until(
    async () => asked.filter((call) => call === `GET ${never}`).length,
    (count) => count >= 3,
  );
  t.ok(asked.includes(`GET ${gone}`));
  t.equal(asked.filter((call) => call === `GET ${beyond}`).length, 0, "there were three already");
  const { body } = await until(
    () => admin(url, "GET /status"),
    ({ body }) => body["pending_responses"] === 1,
  );
  t.match(body, { pending_responses_left_out: 1 });
  const metrics = await (await fetch(`${url}/metrics/limiter`)).text();
  t.match(metrics, /^sluice_limiter_pending_responses 1$/m);
  t.match(metrics, /^sluice_limiter_pending_responses_left_out_total 1$/m);
  await until(
    () => admin(url, "GET /status"),
    ({ body }) => body["pending_responses"] === 0,
  );
  await done(never, usageOf(20, 30));
  const asksFor = (id: string): number => asked.filter((call) => call === `GET ${id}`).length;
  const count = asksFor(never);
  const later = await submit("/later", {}, url);
  await until(
    async () => asksFor(later),
    (asks) => asks >= 3,
  );
  t.equal(asksFor(never), count, "it isn't looked up any more, while a later one is");
  for (const path of ["/gone", "/never", "/beyond"])
    t.match((await status(path, url)).usage, { unknown_calls: 1 }, path);
});

t.test(
  "it is of who submitted it: other tenants, Azure, failover, a key that is deleted",
  async (t) => {
    const master = "sk-background-0123456789abcdef";
    const own = makeSite(
      t,
      `
limiter: { deadline_ms: 30000 }
usage: { background_lookup_seconds: 0 }
providers:
  sick: { type: openai, base_url: "${origin}/sick/v1", api_key: none, models: [m], retries: 0 }
  test: { type: openai, base_url: "${origin}/v1", api_key: none, models: [m] }
  azure: { type: azure, base_url: "${origin}/openai", api_key: none, api_version: "2025-04-01-preview", models: [d] }
virtual_models:
  smart: { strategy: failover, targets: [{ model: sick/m }, { model: test/m }] }
prices:
  "test/*": { input: 2, output: 10 }
  "azure/*": { input: 2, output: 10 }
`,
      { SLUICE_MASTER_KEY: master },
    );
    await own.startDaemon();
    const { ready: url } = await own.startProxy();
    const byMaster = { authorization: `Bearer ${master}` };
    const issue = async (
      path: string,
    ): Promise<{ id: string; headers: Record<string, string> }> => {
      const { body } = await admin(url, "POST /auth-keys", { user_path: path }, byMaster);
      const authorization = `Bearer ${String(body["value"])}`;
      return {
        id: String(body["id"]),
        headers: { authorization, "content-type": "application/json" },
      };
    };
    const otherKey = await issue("/stranger");
    const ask = (id: string, headers: Record<string, string>, method = "GET", rest = "") =>
      fetch(`${url}/v1/responses/${id}${rest}`, { method, headers });
    const usageOfPath = async (path: string): Promise<Json> =>
      (await admin(url, `GET /usage?user_path=${path}&by=model`, undefined, byMaster)).body;
    for (const [name, model, maker] of [
      ["plain", "test/m", "test/m"],
      ["azure", "azure/d", "azure/d"],
      ["failover", "smart", "test/m"],
    ] as const) {
      const path = `/${name}`;
      const key = await issue(path);
      const submitted = await fetch(`${url}/v1/responses`, {
        method: "POST",
        headers: key.headers,
        body: JSON.stringify({ model, input: "hello", background: true }),
      });
      t.equal(submitted.status, 200, name);
      const { id } = (await submitted.json()) as { id: string };
      await done(id, usageOf(100, 200));
      const before = await usageOfPath(path);
      const calls = asked.length;
      for (const [method, rest] of [
        ["GET", ""],
        ["GET", "?stream=true"],
        ["POST", "/cancel"],
        ["DELETE", ""],
      ] as const)
        t.equal((await ask(id, otherKey.headers, method, rest)).status, 404, `${name} ${method}`);
      t.equal(asked.length, calls, "the provider isn't asked");
      t.same(before["usage"], (await usageOfPath(path))["usage"], "and nothing is settled");
      await fetch(`${url}/admin/auth-keys/${key.id}/deactivate`, {
        method: "POST",
        headers: byMaster,
      });
      await fetch(`${url}/admin/auth-keys/${key.id}`, { method: "DELETE", headers: byMaster });
      t.equal((await ask(id, key.headers)).status, 401, `${name}: the key is gone`);
      for (let i = 0; i < 2; i++) t.equal((await ask(id, byMaster)).status, 200);
      const after = await until(
        () => usageOfPath(path),
        ({ usage }) => (usage as Json)["total_tokens"] === 300,
      );
      t.match(after["usage"], {
        total_requests: 1,
        unknown_calls: undefined,
        unpriced_requests: 0,
      });
      t.match(after["groups"], exactly([{ key: maker, requests: 1, total_tokens: 300 }]), name);
      const byKey = await admin(url, `GET /usage?user_path=${path}&by=key`, undefined, byMaster);
      t.match(byKey.body["groups"], exactly([{ key: key.id, requests: 1, total_tokens: 300 }]));
    }
    t.ok(urls.some((asked) => /^\/openai\/responses\/resp_\d+\?api-version=/.test(asked)));
    t.match((await usageOfPath("/stranger"))["usage"], { total_tokens: 0 });
  },
);
