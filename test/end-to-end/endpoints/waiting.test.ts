/**
 * Requests that wait for room instead of getting 429, through real processes: every endpoint that
 * admits, what the answer says, and every way to end a wait.
 */
import { once } from "node:events";
import t from "tap";
import { WebSocket } from "ws";
import { agesSeconds } from "../../support/ages.js";
import { admin, until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import {
  replyJson,
  startPassthroughProvider,
} from "../../support/providers/passthrough-provider.js";
import { serveRealtime } from "../../support/providers/realtime-upstream.js";

const upstream = await startPassthroughProvider();
t.teardown(() => upstream.close());
const realtime = serveRealtime(upstream);
/** Ends each request that the provider holds. */
const held: (() => void)[] = [];
const answer = {
  id: "chatcmpl-1",
  object: "chat.completion",
  created: 1,
  model: "gpt-test",
  choices: [{ index: 0, message: { role: "assistant", content: "Hi" }, finish_reason: "stop" }],
  usage: { prompt_tokens: 1, completion_tokens: 1, total_tokens: 2 },
};
upstream.answer = (received) => {
  void received.body.then(
    (body) => {
      if (body.includes("hold on")) held.push(() => replyJson(received, answer));
      else replyJson(received, answer);
    },
    () => {},
  );
};

const master = "master-key.of_the-test";
const site = makeSite(
  t,
  `
server: { drain_seconds: 5 }
waiting: { max_seconds: 300, paths: [/default=300:300, /off=0, /short=1] }
providers:
  sim: { type: simulator, models: [sim-test] }
  stub: { type: openai, base_url: "${upstream.origin}/v1", api_key: secret, models: [gpt-test, gpt-realtime], retries: 0 }
mcp_servers:
  tracker: { url: "${upstream.origin}/mcp" }
rate_limits:
  user_paths:
    - { path: /, limits: [{ period_seconds: ${agesSeconds}, max_requests: 100000 }] }
    - { path: /slot, limits: [{ period: concurrent, max_requests: 1 }] }
    - { path: /default, limits: [{ period: concurrent, max_requests: 1 }] }
    - { path: /off, limits: [{ period: concurrent, max_requests: 1 }] }
    - { path: /short, limits: [{ period: concurrent, max_requests: 1 }] }
    - { path: /batch, limits: [{ period_seconds: 3, max_requests: 1 }] }
    - { path: /spent, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1 }] }
`,
  { SLUICE_MASTER_KEY: master },
);
await site.startDaemon();
const proxy = await site.startProxy();
const url = proxy.ready;
const bearer = { authorization: `Bearer ${master}` };
const prefer = { prefer: "respond-async, wait=300" };

interface Answer {
  readonly status: number;
  readonly waitedMs: number | null;
  readonly applied: string | null;
  readonly text: string;
  readonly retryAfter: string | null;
}

async function ask(
  userPath: string,
  [path, body]: readonly [path: string, body: object],
  headers: Record<string, string> = {},
  signal?: AbortSignal,
): Promise<Answer> {
  const response = await fetch(`${url}${path}`, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
      ...bearer,
      "x-sluice-user-path": userPath,
      ...headers,
    },
    body: JSON.stringify(body),
    ...(signal === undefined ? {} : { signal }),
  });
  const text = await response.text();
  const waited = response.headers.get("x-sluice-waited-ms");
  return {
    status: response.status,
    waitedMs: waited === null ? null : Number(waited),
    applied: response.headers.get("preference-applied"),
    text,
    retryAfter: response.headers.get("retry-after"),
  };
}

const messages = [{ role: "user", content: "Hello!" }];
const chat = { model: "sim/sim-test", messages };
const call = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { name: "search" } };
const endpoints: readonly (readonly [path: string, body: object])[] = [
  ["/v1/chat/completions", chat],
  ["/v1/chat/completions", { ...chat, stream: true }],
  ["/v1/messages", { ...chat, max_tokens: 9 }],
  ["/v1/messages", { ...chat, max_tokens: 9, stream: true }],
  ["/v1/responses", { model: "sim/sim-test", input: "Hello!" }],
  ["/v1/responses", { model: "sim/sim-test", input: "Hello!", stream: true }],
  ["/v1beta/models/sim-test:generateContent", { contents: [{ parts: [{ text: "Hi" }] }] }],
  ["/v1beta/models/sim-test:streamGenerateContent", { contents: [{ parts: [{ text: "Hi" }] }] }],
  ["/v1/embeddings", { model: "stub/gpt-test", input: "Hello!" }],
  ["/p/stub/v1/chat/completions", { ...chat, model: "gpt-test" }],
  ["/mcp/tracker", call],
];

/** A request that keeps the slot of a path until it is released. */
async function hold(userPath: string): Promise<{ release(): Promise<void> }> {
  const before = held.length;
  const body = { model: "stub/gpt-test", messages: [{ role: "user", content: "hold on" }] };
  const asked = ask(userPath, ["/v1/chat/completions", body]);
  await until(
    async () => held.length,
    (length) => length > before,
  );
  return {
    async release() {
      held.pop()!();
      t.equal((await asked).status, 200);
    },
  };
}

const waiting = async (userPath: string): Promise<number> => {
  const { body } = await admin(url, "GET /queues", undefined, bearer);
  const { queues } = body as unknown as {
    readonly queues: readonly { readonly subject: string; readonly waiting: number }[];
  };
  return queues.find(({ subject }) => subject === userPath)?.waiting ?? 0;
};
const isWaiting = (userPath: string, count: number): Promise<number> =>
  until(
    () => waiting(userPath),
    (found) => found === count,
  );

t.test("every endpoint waits for a slot, and says how long", async (t) => {
  const holder = await hold("/slot");
  for (const [path, body] of endpoints)
    t.match(await ask("/slot", [path, body]), { status: 429, waitedMs: null }, path);
  const asked = endpoints.map(([path, body]) => ask("/slot", [path, body], prefer));
  const sockets = [
    new WebSocket(`${url.replace("http", "ws")}/v1/realtime?model=stub/gpt-realtime`, {
      headers: { ...bearer, ...prefer, "x-sluice-user-path": "/slot" },
    }),
    new WebSocket(`${url.replace("http", "ws")}/v1/responses`, {
      headers: { ...bearer, ...prefer, "x-sluice-user-path": "/slot" },
    }),
  ] as const;
  const [session, responses] = sockets;
  const peer = realtime.next();
  session.on("open", () => session.close());
  await once(responses, "open");
  const completed = new Promise<void>((resolve) =>
    responses.on("message", (message: Buffer) => {
      if (String(message).includes('"response.completed"')) resolve();
    }),
  );
  responses.send(
    JSON.stringify({ type: "response.create", model: "sim/sim-test", input: "Hello!" }),
  );
  await isWaiting("/slot", endpoints.length + 2);
  const explained = await admin(
    url,
    "POST /explain",
    { user_path: "/slot", model: "sim/sim-test" },
    bearer,
  );
  t.match(explained.body, { verdict: { queue: { position: endpoints.length + 3 } } });
  await holder.release();
  for (const [at, [path]] of endpoints.entries()) {
    const { status, waitedMs, applied } = await asked[at]!;
    t.match({ status, applied }, { status: 200, applied: "wait" }, path);
    t.ok(waitedMs !== null && waitedMs > 0, `${path} ${waitedMs}`);
  }
  await Promise.all([peer, completed]);
  responses.close();
  await isWaiting("/slot", 0);
});

t.test("a batch waits for a window", async (t) => {
  const body = { input_file_id: "file-1", endpoint: "/v1/embeddings", completion_window: "24h" };
  const headers = { ...prefer, "x-sluice-provider": "stub" };
  for (let at = 0; at < 2; at++) {
    const { status } = await ask("/batch", ["/v1/batches", body], headers);
    t.not(status, 429);
  }
});

t.test("clients without the header wait by the default of their path", async (t) => {
  const holder = await hold("/default");
  const asked = ask("/default", endpoints[0]!);
  await isWaiting("/default", 1);
  const sdk = { "x-stainless-timeout": "1" };
  t.match(
    await ask("/default", endpoints[0]!, sdk),
    { status: 429, waitedMs: null },
    "the client would give up before",
  );
  t.match(await ask("/default", endpoints[0]!, { prefer: "wait=0" }), { status: 429 });
  await holder.release();
  const { status, waitedMs, applied } = await asked;
  t.match({ status, applied }, { status: 200, applied: null });
  t.ok(waitedMs !== null);
});

t.test("a wait ends with an honest 429, or isn't begun", async (t) => {
  const holder = await hold("/short");
  const refused = await ask("/short", endpoints[1]!, prefer);
  t.match(refused, { status: 429, applied: "wait", retryAfter: "1" });
  t.ok(refused.waitedMs !== null && refused.waitedMs >= 1000);
  await holder.release();
  const off = await hold("/off");
  t.match(await ask("/off", endpoints[0]!, prefer), { status: 429, waitedMs: null });
  await off.release();
  t.equal((await ask("/spent", endpoints[0]!)).status, 200);
  const pointless = await ask("/spent", endpoints[0]!, prefer);
  t.match(pointless, { status: 429, waitedMs: null });
});

t.test("a client that leaves takes no slot", async (t) => {
  const holder = await hold("/slot");
  const leaving = new AbortController();
  const left = ask("/slot", endpoints[0]!, prefer, leaving.signal).catch(() => "left");
  await isWaiting("/slot", 1);
  const staying = ask("/slot", endpoints[0]!, prefer);
  await isWaiting("/slot", 2);
  leaving.abort();
  t.equal(await left, "left");
  await isWaiting("/slot", 1);
  await holder.release();
  t.equal((await staying).status, 200);
  await proxy.printed(/"queued_ms":\d+/);
});
