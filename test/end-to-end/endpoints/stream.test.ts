/**
 * Streams through real processes: at once, unchanged, cancelled with the client, cut with the
 * provider.
 */

import { once } from "node:events";
import { connect } from "node:net";
import t from "tap";
import { chat, ruleNow, until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import {
  beginStream,
  chunk,
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
    - { path: /, limits: [{ period: day, max_requests: 100000, max_tokens: 100000000 }, { period: concurrent, max_requests: 50 }] }
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
const tokens = async () => (await ruleNow(url, "/", 86_400)).tokens_used;

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
  to.end();
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
    { choices: [{ message: { content: "I was called with [redacted]************" } }] },
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

t.test("a stream that a stopping proxy cuts is its own doing, and charged", async (t) => {
  const stopping = await site.startProxy();
  const called = upstream.nextCall();
  upstream.answer = (call) => void beginStream(call).write(chunk("some words that were seen"));
  const before = await tokens();
  const reader = (await chat(stopping.ready, { stream: true })).body!.getReader();
  await reader.read();
  await called;
  await stopping.kill("SIGTERM");
  await t.rejects(reader.read());
  t.match(stopping.output(), /"status":599,"outcome":"shutdown".*"estimated":true/);
  t.notMatch(stopping.output(), "client_gone");
  await until(tokens, (now) => now > before);
});
