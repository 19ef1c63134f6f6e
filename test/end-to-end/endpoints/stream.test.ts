/**
 * Streams through real processes: at once, unchanged, cancelled with the client, cut with the
 * provider.
 */

import { once } from "node:events";
import { connect } from "node:net";
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { chat, ruleNow, until } from "../../support/client.js";
import { exactly } from "../../support/patterns/exactly.js";
import { makeSite } from "../../support/processes/processes.js";
import {
  beginStream,
  chunk,
  type ReceivedCall,
  startScriptedUpstream,
  usageChunk,
} from "../../support/providers/scripted-upstream.js";

const upstream = await startScriptedUpstream();
t.teardown(() => upstream.close());
const site = makeSite(
  t,
  `
server: { stalled_client_seconds: 1, drain_seconds: 0 }
providers:
  test: { type: openai, base_url: "${upstream.baseUrl}", api_key: secret-of-the-provider, models: ["*"], first_byte_timeout_ms: 500, idle_timeout_ms: 500 }
  nowhere: { type: openai, base_url: "http://127.0.0.1:1/v1", api_key: none, models: ["*"] }
rate_limits:
  user_paths:
    - { path: /, limits: [{ period_seconds: ${agesSeconds}, max_requests: 100000, max_tokens: 100000000 }, { period: concurrent, max_requests: 50 }] }
`,
);
await site.startDaemon();
const proxy = await site.startProxy();
const url = proxy.ready;

const atRest = () =>
  until(
    () => ruleNow(url, "/", 0),
    (rule) => rule.in_flight === 0,
  );
const tokens = async () => (await ruleNow(url, "/", agesSeconds)).tokens_used;

t.test("the first byte leaves before the second arrives", async (t) => {
  const called = upstream.nextCall();
  upstream.answer = () => {};
  const answering = chat(url, { stream: true });
  const call = await called;
  const to = beginStream(call);
  const response = await answering;
  t.equal(
    response.headers.get("content-type"),
    "text/event-stream",
    "the head comes before any byte",
  );
  const reader = response.body!.getReader();
  for (const byte of `${chunk("é")}data: x`) {
    to.write(byte);
    const { value } = await reader.read();
    t.equal(Buffer.from(value!).toString(), byte);
  }
  const end = "\n\ndata: [DONE]\n\n";
  to.end(end);
  t.equal(Buffer.from((await reader.read()).value!).toString(), end);
  t.ok((await reader.read()).done);
});

t.test(
  "usage is asked for, charged, and its chunk kept from a client who didn't ask",
  async (t) => {
    upstream.answer = (call) =>
      void beginStream(call).end(
        `${chunk("hello")}${chunk("", "stop")}${usageChunk(123)}data: [DONE]\n\n`,
      );
    const before = await tokens();
    const text = await (await chat(url, { stream: true })).text();
    t.equal(text, `${chunk("hello")}${chunk("", "stop")}data: [DONE]\n\n`);
    t.match(JSON.parse(upstream.calls.at(-1)!.body), {
      model: "model",
      stream: true,
      stream_options: { include_usage: true },
    });
    await until(tokens, (now) => now === before + 123);
    const asked = await (
      await chat(url, { stream: true, stream_options: { include_usage: true } })
    ).text();
    t.equal(asked, `${chunk("hello")}${chunk("", "stop")}${usageChunk(123)}data: [DONE]\n\n`);
  },
);

t.test("the caller's credentials stay here, the provider's don't come back", async (t) => {
  upstream.answer = (call) =>
    void call.response
      .writeHead(200, {
        "content-type": "application/json",
        "set-cookie": "a=b",
        "x-ratelimit-limit-requests": "7",
      })
      .end("{}");
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { authorization: "Bearer of-the-caller", "x-api-key": "k", cookie: "c=d" },
    body: '{"model":"test/m","messages":[]}',
  });
  const { headers } = upstream.calls.at(-1)!;
  t.equal(headers.authorization, "Bearer secret-of-the-provider");
  t.notOk(headers["x-api-key"] ?? headers.cookie ?? headers["x-sluice-user-path"]);
  t.notOk(response.headers.get("set-cookie"));
  t.equal(response.headers.get("x-ratelimit-limit-requests"), "100000", "the limits are ours");
  t.notMatch(proxy.output(), /secret-of-the-provider|of-the-caller/);
});

t.test("a client that leaves takes its upstream with it, and what it saw is charged", async (t) => {
  const before = await tokens();
  const called = upstream.nextCall();
  upstream.answer = (call) => void beginStream(call).write(chunk("some words that were seen"));
  const leaving = new AbortController();
  const response = await chat(url, { stream: true }, leaving.signal);
  await response.body!.getReader().read();
  leaving.abort();
  await (await called).abandoned;
  await atRest();
  t.ok((await tokens()) > before, "an estimate of what was seen");
  await proxy.printed(/"outcome":"client_gone".*"estimated":true/);
});

t.test("a provider that dies in mid-stream cuts the client's response", async (t) => {
  upstream.answer = (call) => {
    beginStream(call).write(chunk("half"), () => call.response.destroy());
  };
  const response = await chat(url, { stream: true });
  await t.rejects(response.text());
  await atRest();
});

t.test("a provider that can't be reached is 502, a silent one 504", async (t) => {
  const unreachable = await chat(url, { model: "nowhere/m" });
  t.equal(unreachable.status, 502);
  t.match(await unreachable.json(), {
    error: {
      type: "provider_error",
      code: "provider_unavailable",
      param: null,
      provider: "nowhere",
    },
  });
  t.ok(
    unreachable.headers.get("x-ratelimit-remaining-requests"),
    "limit headers are on every admitted answer",
  );
  upstream.answer = () => {};
  const silent = await chat(url);
  t.equal(silent.status, 504);
  t.match(await silent.json(), { error: { type: "provider_error", provider: "test" } });
  await atRest();
});

t.test("errors of the provider pass in the envelope, with its status and name", async (t) => {
  const table = [
    {
      status: 401,
      body: { error: { message: "bad key", code: "invalid_api_key", param: null } },
      type: "provider_error",
      code: "provider_credentials",
      answered: 502,
    },
    {
      status: 400,
      body: { error: { message: "no", code: null, param: "messages" } },
      type: "invalid_request_error",
      param: "messages",
    },
    {
      status: 429,
      body: { error: { message: "slow down", code: "rate" } },
      type: "rate_limit_error",
      code: "rate",
    },
    { status: 500, body: "<html>oops</html>", type: "provider_error", code: null },
    {
      status: 200,
      body: { error: { message: "overloaded" } },
      type: "provider_error",
      answered: 502,
    },
  ];
  const echo = {
    error: { message: "wrong key secret-of-the-provider", code: "secret-of-the-provider" },
  };
  upstream.answer = (call) =>
    void call.response
      .writeHead(401, { "content-type": "application/json" })
      .end(JSON.stringify(echo));
  t.match(
    await (await chat(url)).json(),
    { error: { message: "wrong key [redacted]", code: "provider_credentials" } },
    "a credential that the provider echoes stays here",
  );
  const content = "I was called with secret-of-the-provider";
  const message = { choices: [{ message: { role: "assistant", content } }], usage: null };
  upstream.answer = (call) =>
    void call.response
      .writeHead(200, {
        "content-type": "application/json",
        "x-echo": "Bearer secret-of-the-provider",
      })
      .end(JSON.stringify(message));
  const echoed = await chat(url);
  t.equal(echoed.headers.get("x-echo"), "Bearer [redacted]************", "nor in a header");
  t.match(
    await echoed.json(),
    exactly({ choices: [{ message: { content: "I was called with [redacted]************" } }] }),
    "nor in a success",
  );
  upstream.answer = ({ response }) => {
    response.writeHead(200, { "content-type": "text/event-stream" });
    response.write('data: {"choices":[{"delta":{"content":"with secret-of');
    response.end('-the-provider"}}]}\n\ndata: [DONE]\n\n');
  };
  t.match(
    await (await chat(url, { stream: true })).text(),
    /"content":"with \[redacted\]\*{12}"/,
    "nor in a stream, wherever it is cut",
  );
  for (const { status, body, type, code = null, param = null, answered = status } of table) {
    upstream.answer = (call) =>
      void call.response
        .writeHead(status, { "content-type": "application/json", "retry-after": "7" })
        .end(typeof body === "string" ? body : JSON.stringify(body));
    const response = await chat(url);
    t.equal(response.status, answered);
    t.match(await response.json(), { error: { type, code, param, provider: "test" } });
    t.equal(response.headers.get("retry-after"), status === 401 ? null : "7");
    t.ok(response.headers.get("x-request-id"));
  }
});

t.test(
  "a client that stops reading is held back, then cut, and its slot is given back",
  async (t) => {
    let written = 0;
    upstream.answer = (call) => {
      const to = beginStream(call);
      const event = chunk("x".repeat(60_000));
      const more = (): void => {
        while (to.write(event)) written += event.length;
        written += event.length;
        to.once("drain", more);
      };
      more();
    };
    const called = upstream.nextCall();
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    const body = '{"model":"test/m","messages":[],"stream":true}';
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: ${body.length}\r\n\r\n${body}`,
    );
    socket.pause();
    await (await called).abandoned;
    t.ok(written < 32 * 1024 * 1024, `the provider was held back at ${written} bytes`);
    socket.on("error", () => {});
    socket.resume();
    await once(socket, "close");
    await atRest();
  },
);

t.test(
  "a client that pipelines and leaves gives every slot back, also those of requests that never got the socket",
  async () => {
    upstream.answer = (call) => {
      const to = beginStream(call);
      const more = (): void => {
        while (to.write(chunk("x".repeat(60_000))));
        to.once("drain", more);
      };
      more();
    };
    const socket = connect(Number(new URL(url).port), "127.0.0.1");
    const body = '{"model":"test/m","messages":[],"stream":true}';
    const before = upstream.calls.length;
    socket.write(
      `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\ncontent-length: ${body.length}\r\n\r\n${body}`.repeat(
        3,
      ),
    );
    socket.pause();
    await until(
      async () => upstream.calls.length,
      (now) => now >= before + 2,
    );
    socket.destroy();
    await atRest();
  },
);

/** How a request ends whose client does this at that phase; null: none has begun. */
const ends = {
  connected: { resets: null, halfCloses: null, stops: null, trickles: "complete" },
  head: { resets: null, halfCloses: null, stops: null, trickles: "complete" },
  body: {
    resets: "client_gone",
    halfCloses: "client_gone",
    stops: "client_gone",
    trickles: "complete",
  },
  waiting: {
    resets: "client_gone",
    halfCloses: "complete",
    stops: "complete",
    trickles: "complete",
  },
  streaming: {
    resets: "client_gone",
    halfCloses: "complete",
    stops: "complete",
    trickles: "complete",
  },
  over: { resets: "complete", halfCloses: "complete", stops: "complete", trickles: "complete" },
} as const;
type Phase = keyof typeof ends;
const deeds = ["resets", "halfCloses", "stops", "trickles"] as const;

/** One client, up to its phase. */
class PhasedClient {
  readonly #socket = connect({
    port: Number(new URL(url).port),
    host: "127.0.0.1",
    allowHalfOpen: true,
  });
  readonly #bytes: string;
  readonly #sent: number;
  #received = "";

  constructor(cell: string, phase: Phase) {
    const body = JSON.stringify({ model: "test/m", messages: [], stream: true, user: cell });
    const head = `POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1\r\nx-request-id: cell:${cell}\r\ncontent-length: ${body.length}\r\n\r\n`;
    this.#bytes = head + body;
    this.#sent =
      { connected: 0, head: 40, body: head.length + 9 }[phase as string] ?? this.#bytes.length;
    this.#socket.on("error", () => {});
    this.#socket.on("data", (piece: Buffer) => (this.#received += piece.toString("latin1")));
    this.#socket.write(this.#bytes.slice(0, this.#sent));
  }

  async received(text: string): Promise<void> {
    while (!this.#received.includes(text)) await once(this.#socket, "data");
  }

  async connected(): Promise<void> {
    if (this.#socket.connecting) await once(this.#socket, "connect");
  }

  async does(deed: (typeof deeds)[number]): Promise<void> {
    if (deed === "resets") return void this.#socket.resetAndDestroy();
    if (deed === "halfCloses") return void this.#socket.end();
    if (deed === "stops") return void this.#socket.pause();
    for (const byte of this.#bytes.slice(this.#sent))
      await new Promise<unknown>((resolve) => this.#socket.write(byte, resolve));
  }

  leave(): void {
    this.#socket.destroy();
  }
}

t.test(
  "whatever a client does at whichever phase of its request, that is counted once, and its slot is free",
  async (t) => {
    const before = await ruleNow(url, "/", agesSeconds);
    const called = new Map<string, (call: ReceivedCall) => void>();
    const done = new Map<string, Promise<void>>();
    upstream.answer = (call) => {
      const { user: cell } = JSON.parse(call.body) as { user: string };
      called.get(cell)?.(call);
      const end = (): void => void call.response.end(`${usageChunk(10)}data: [DONE]\n\n`);
      if (cell.startsWith("waiting"))
        return void done.get(cell)?.then(() => {
          if (cell !== "waiting-resets") beginStream(call).write(chunk("first"), end);
        });
      beginStream(call).write(chunk("first"));
      if (!cell.startsWith("streaming")) end();
      else if (cell !== "streaming-resets") void done.get(cell)?.then(end);
    };
    const clients = await Promise.all(
      (Object.keys(ends) as Phase[]).flatMap((phase) =>
        deeds.map(async (deed) => {
          const cell = `${phase}-${deed}`;
          const arrived = new Promise<ReceivedCall>((resolve) => called.set(cell, resolve));
          let isDone = (): void => {};
          done.set(cell, new Promise((resolve) => (isDone = resolve)));
          const client = new PhasedClient(cell, phase);
          await client.connected();
          if (phase === "waiting") await arrived;
          if (phase === "streaming") await client.received("first");
          if (phase === "over") await client.received("\r\n0\r\n\r\n");
          await client.does(deed);
          isDone();
          if (deed === "resets" && (phase === "waiting" || phase === "streaming"))
            await (await arrived).abandoned;
          return client;
        }),
      ),
    );
    const outcomes = (): Record<string, unknown> => {
      const found: Record<string, unknown> = {};
      for (const line of proxy
        .output()
        .split("\n")
        .filter((text) => text.includes('"cell:'))) {
        const { request_id: id, outcome } = JSON.parse(line) as Record<string, string>;
        const cell = id!.slice("cell:".length);
        found[cell] = cell in found ? "twice" : outcome;
      }
      return found;
    };
    const expected = Object.fromEntries(
      (Object.keys(ends) as Phase[]).flatMap((phase) =>
        deeds
          .filter((deed) => ends[phase][deed] !== null)
          .map((deed) => [`${phase}-${deed}`, ends[phase][deed]]),
      ),
    );
    const isThere = (cell: string) => async (): Promise<boolean> => cell in outcomes();
    for (const cell of Object.keys(expected))
      if (cell !== "body-stops") await until(isThere(cell), Boolean);
    for (const client of clients) client.leave();
    await until(isThere("body-stops"), Boolean);
    await atRest();
    t.strictSame(outcomes(), expected);
    const after = await ruleNow(url, "/", agesSeconds);
    t.equal(after.requests_used - before.requests_used, 15, "those whose body has come");
    t.ok(after.tokens_used - before.tokens_used >= 130, "and what the 13 complete ones used");
  },
);

t.test("a stream that a stopping proxy cuts is its own doing, and charged", async (t) => {
  const stopping = await site.startProxy();
  const called = upstream.nextCall();
  upstream.answer = (call) => void beginStream(call).write(chunk("some words that were seen"));
  const before = await tokens();
  const reader = (await chat(stopping.ready, { stream: true })).body!.getReader();
  await reader.read();
  await called;
  const last = reader.read();
  await stopping.kill("SIGTERM");
  const { value } = await last;
  t.match(Buffer.from(value!).toString(), /^data: \{"error":\{.*the gateway is stopping.*\n\n$/);
  await t.rejects(reader.read());
  t.match(stopping.output(), /"status":599,"outcome":"shutdown".*"estimated":true/);
  t.notMatch(stopping.output(), "client_gone");
  await until(tokens, (now) => now > before);
});
