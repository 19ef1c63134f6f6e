/**
 * `usage.show_ancestors: false` where a request isn't one answer: realtime sessions, WebSockets of
 * the Responses API, and batches, through real processes. Every figure of a limit above ends in
 * 017; every limit of the caller's own in 033.
 */
import assert from "node:assert/strict";
import { once } from "node:events";
import type { IncomingMessage } from "node:http";
import t, { type Test } from "tap";
import { WebSocket } from "ws";
import { agesSeconds } from "../../support/ages.js";
import { until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import {
  type ReceivedRequest,
  replyJson,
  startPassthroughProvider,
} from "../../support/providers/passthrough-provider.js";
import { serveRealtime } from "../../support/providers/realtime-upstream.js";

const upstream = await startPassthroughProvider();
t.teardown(() => upstream.close());
serveRealtime(upstream);
let made = 0;
upstream.answer = (received: ReceivedRequest): void => {
  const { method = "", url = "" } = received.request;
  void received.body.then((body) => {
    if (url.endsWith("/responses")) return answerStreamed(received);
    if (url.endsWith("/content")) return received.response.end(line.repeat(40));
    if (method === "POST" && url.endsWith("/files"))
      return replyJson(received, { id: `file-${++made}`, object: "file", purpose: "batch" });
    if (method === "POST")
      return replyJson(received, { id: `batch_${++made}`, object: "batch", status: "validating" });
    return replyJson(received, {
      id: url.split("/").at(-1),
      object: "file",
      purpose: "batch",
      body,
    });
  });
};
const line = `${JSON.stringify({ custom_id: "1", body: { model: "gpt-b", input: "word ".repeat(30) } })}\n`;

function answerStreamed({ response }: ReceivedRequest): void {
  const usage = { input_tokens: 900, output_tokens: 300, total_tokens: 1200 };
  const answer = { id: `resp_${++made}`, object: "response", status: "completed", output: [] };
  const event = { type: "response.completed", response: { ...answer, usage } };
  response.writeHead(200, { "content-type": "text/event-stream" });
  response.end(`event: response.completed\ndata: ${JSON.stringify(event)}\n\n`);
}

const master = "master-key-of-the-test";
const site = makeSite(
  t,
  `
usage: { show_ancestors: false }
server: { master_key: ${master}, passthrough: all }
providers:
  test: { type: openai, base_url: "${upstream.origin}/v1", api_key: none, models: [gpt-realtime, gpt-capped, gpt-5], retries: 0 }
prices: { "test/*": { input: 1, output: 10 } }
rate_limits:
  models: [{ model: test/gpt-capped, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1 }] }]
  user_paths:
    - { path: /, limits: [{ period_seconds: ${agesSeconds}, max_requests: 100017, max_tokens: 200017 }] }
    - { path: /full, limits: [{ period_seconds: ${agesSeconds}, max_tokens: 1017 }] }
    - { path: /busy, limits: [{ period: concurrent, max_requests: 1 }] }
    - { path: /none, limits: [{ period: day, max_requests: 0, models: [gpt-realtime, gpt-5] }] }
    - { path: /batch, limits: [{ period: concurrent, max_enqueued_tokens: 1017 }] }
    - { path: /own/a, limits: [{ period_seconds: ${agesSeconds}, max_requests: 500033 }] }
    - { path: /full/a, limits: [{ period_seconds: ${agesSeconds}, max_requests: 500033 }] }
budgets:
  user_paths:
    - { path: /, limits: [{ period_seconds: ${agesSeconds}, amount: 700017 }] }
    - { path: /spent, limits: [{ period_seconds: ${agesSeconds}, amount: 0.000017 }] }
`,
);
await site.startDaemon();
const url = (await site.startProxy()).ready;

async function issue(path: string): Promise<string> {
  const answer = await fetch(`${url}/admin/auth-keys`, {
    method: "POST",
    headers: { authorization: `Bearer ${master}` },
    body: JSON.stringify({ name: "of the test", user_path: path }),
  });
  assert.equal(answer.status, 201);
  return ((await answer.json()) as { readonly value: string }).value;
}

interface Opened {
  /** The answer to the handshake. */
  readonly status: number;
  readonly headers: string;
  /** Of a refusal. */
  readonly text: string;
  readonly socket: WebSocket;
}

async function open(path: string, token: string): Promise<Opened> {
  const socket = new WebSocket(`${url.replace("http", "ws")}${path}`, {
    headers: { authorization: `Bearer ${token}` },
  });
  socket.on("error", () => {});
  const opened = once(socket, "open").catch(() => {});
  const [answer, isRefused] = await new Promise<[IncomingMessage, boolean]>((resolve) => {
    socket.once("upgrade", (response) => resolve([response, false]));
    socket.once("unexpected-response", (_request, response) => resolve([response, true]));
  });
  let text = "";
  if (isRefused) for await (const piece of answer.setEncoding("utf8")) text += piece as string;
  else await opened;
  return { status: answer.statusCode!, headers: limitsIn(answer.rawHeaders), text, socket };
}

function limitsIn(rawHeaders: readonly string[]): string {
  const shown: string[] = [];
  for (let i = 0; i + 1 < rawHeaders.length; i += 2)
    if (!/^(?:date|x-request-id|content-length|sec-websocket)/i.test(rawHeaders[i]!))
      shown.push(`${rawHeaders[i]}: ${rawHeaders[i + 1]}`);
  return shown.join("\n");
}

/** Caps of limits above, and what few requests leave of them. */
const figure = /017\b|\b[1-46-9]000[01]\d\b|\b[1-8]?999\d\d\b/;

function holdsNoFigure(t: Test, shown: readonly string[], what: string): void {
  const text = shown
    .join("\n")
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z|\b(?:req|resp|batch|file)[_-][\w-]+/g, "");
  t.notMatch(text, figure, what);
  t.notMatch(text, /for \/(?:full|busy|none|spent)\b(?!\/a)/, `${what}: no limit above is named`);
}

/** The events of a socket up to one of these types. */
async function ask(socket: WebSocket, event: object, last: RegExp): Promise<string> {
  const events: string[] = [];
  const ended = new Promise<void>((resolve) => {
    const take = (message: Buffer): void => {
      events.push(message.toString());
      if (!last.test(message.toString())) return;
      socket.off("message", take);
      resolve();
    };
    socket.on("message", take);
  });
  socket.send(JSON.stringify(event));
  await ended;
  return events.join("\n");
}

const talk = { type: "response.create" };
const talked = /"response\.done"/;

t.test("a realtime session has the headers of the caller's own limits alone", async (t) => {
  for (const path of ["/v1/realtime", "/p/test/v1/realtime"]) {
    for (const [place, own] of [
      ["/own/a", /x-ratelimit-limit-requests: 500033/],
      ["/bare/a", /^(?!.*x-ratelimit)/s],
    ] as const) {
      const session = await open(`${path}?model=gpt-realtime`, await issue(place));
      t.equal(session.status, 101, session.text);
      t.match(session.headers, own, `${path} of ${place}`);
      const events = await ask(session.socket, talk, talked);
      holdsNoFigure(t, [session.headers, events], `${path} of ${place}`);
      session.socket.close();
    }
  }
});

t.test("a refused realtime session hears of no limit above", async (t) => {
  for (const path of ["/v1/realtime", "/p/test/v1/realtime"]) {
    const key = await issue("/busy/a");
    const held = await open(`${path}?model=gpt-realtime`, key);
    t.equal(held.status, 101);
    const refused = await open(`${path}?model=gpt-realtime`, key);
    t.match(refused, { status: 429, text: "a limit above /busy/a is reached" });
    holdsNoFigure(t, [refused.headers, refused.text], `${path}: slots`);
    held.socket.close();
    await until(
      async () => {
        const answer = await fetch(`${url}/admin/in-flight`, {
          headers: { authorization: `Bearer ${master}` },
        });
        return (await answer.json()) as { readonly in_flight: readonly unknown[] };
      },
      ({ in_flight }) => in_flight.length === 0,
    );
  }
  const capped = await issue("/other/a");
  (await open("/v1/realtime?model=gpt-capped", capped)).socket.close();
  for (const [key, model, words] of [
    [capped, "gpt-capped", "a limit above /other/a is reached"],
    [await issue("/none/a"), "gpt-realtime", "above /none/a"],
  ] as const) {
    const refused = await open(`/v1/realtime?model=${model}`, key);
    t.match(refused.text, words);
    holdsNoFigure(t, [refused.headers, refused.text], words);
  }
});

t.test("a session that uses up a limit above goes on, and the next is refused", async (t) => {
  for (const [path, words] of [
    ["/full/a", "a limit above /full/a is reached"],
    ["/spent/a", "a budget above /spent/a is used up"],
  ] as const) {
    const key = await issue(path);
    const session = await open("/v1/realtime?model=gpt-realtime", key);
    const events: string[] = [];
    // Each of these responses has 15 tokens.
    for (let i = 0; i < 70; i++) events.push(await ask(session.socket, talk, talked));
    session.socket.close();
    const refused = await until(
      async () => {
        const next = await open("/v1/realtime?model=gpt-realtime", key);
        next.socket.close();
        return next;
      },
      ({ status }) => status === 429,
    );
    t.match(refused.text, words);
    holdsNoFigure(t, [...events, refused.headers, refused.text], path);
  }
});

t.test("a turn of a Responses WebSocket that is refused names no limit above", async (t) => {
  for (const [path, words] of [
    ["/full/b", "a limit above /full/b is reached"],
    ["/none/b", "above /none/b"],
    ["/spent/b", "a budget above /spent/b is used up"],
  ] as const) {
    const { socket, headers, status, text } = await open("/v1/responses", await issue(path));
    t.equal(status, 101, text);
    const turn = { type: "response.create", model: "test/gpt-5", input: "Hello!", store: false };
    const events: string[] = [];
    for (let i = 0; i < 3; i++)
      events.push(await ask(socket, turn, /"type":"(?:error|response\.(?:completed|failed))"/));
    t.match(events.at(-1), words);
    holdsNoFigure(t, [headers, ...events], path);
    socket.close();
  }
});

async function post(
  path: string,
  token: string,
  body: object | FormData,
): Promise<[string, string]> {
  const isForm = body instanceof FormData;
  const answer = await fetch(url + path, {
    method: "POST",
    headers: {
      authorization: `Bearer ${token}`,
      ...(isForm ? {} : { "content-type": "application/json" }),
    },
    body: isForm ? body : JSON.stringify(body),
  });
  const raw = [...answer.headers].flat();
  return [`${answer.status} ${await answer.text()}`, limitsIn(raw)];
}

async function submit(token: string): Promise<[string, string]> {
  const form = new FormData();
  form.set("purpose", "batch");
  form.set("file", new Blob([line.repeat(40)]), "in.jsonl");
  const [uploaded] = await post("/v1/files", token, form);
  const input_file_id = /"id":"([\w-]+)"/.exec(uploaded)?.[1];
  return post("/v1/batches", token, {
    ...{ input_file_id, endpoint: "/v1/responses", completion_window: "24h" },
  });
}

t.test("a batch, and one that is refused, tell of no limit above", async (t) => {
  const own = await submit(await issue("/own/a"));
  t.match(own[0], /^200 /);
  t.match(own[1], /x-ratelimit-limit-requests: 500033/);
  holdsNoFigure(t, own, "a batch");
  for (const [path, words] of [
    ["/batch/a", "a limit of enqueued tokens above /batch/a is reached"],
    ["/full/a", "a limit above /full/a is reached"],
    ["/spent/a", "a budget above /spent/a is used up"],
  ] as const) {
    const answer = await submit(await issue(path));
    t.match(answer[0], words);
    holdsNoFigure(t, answer, `a batch of ${path}`);
  }
});
