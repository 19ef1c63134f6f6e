/**
 * Passthrough through real processes and http-proxy: what the provider sees, what the client gets,
 * what is charged, and what becomes of either's death.
 */

import { once } from "node:events";
import { request as httpRequest } from "node:http";
import { connect } from "node:net";
import t from "tap";
import { agesSeconds } from "../../support/ages.js";
import { ruleNow, until } from "../../support/client.js";
import { makeSite } from "../../support/processes/processes.js";
import {
  replyJson,
  startPassthroughProvider,
} from "../../support/providers/passthrough-provider.js";

const upstream = await startPassthroughProvider();
t.teardown(() => upstream.close());
const site = makeSite(
  t,
  `
server: { stalled_client_seconds: 1, max_upload_bytes: 4194304 }
providers:
  test: { type: openai, base_url: "${upstream.origin}/v1", api_key: secret-of-the-provider, models: ["*"], forward_headers: [x-own], first_byte_timeout_ms: 500, idle_timeout_ms: 500 }
  claude: { type: anthropic, base_url: "${upstream.origin}/v1", api_key: secret-of-claude, models: ["*"] }
  nowhere: { type: openai, base_url: "http://127.0.0.1:1/v1", api_key: none, models: ["*"] }
  sim: { type: simulator }
prices: { test/priced: { input: 1, output: 10 } }
rate_limits:
  user_paths:
    - { path: /, limits: [{ period_seconds: ${agesSeconds}, max_requests: 100000, max_tokens: 100000000 }, { period: concurrent, max_requests: 50 }] }
    - { path: /full, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1 }] }
  providers:
    - { name: test, limits: [{ period_seconds: ${agesSeconds}, max_requests: 100000, max_tokens: 100000000 }] }
  models:
    - { model: test/scarce, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1 }] }
    - { model: test/priced, limits: [{ period_seconds: ${agesSeconds}, max_requests: 1000, max_tokens: 100000 }] }
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
const counted = (subject: string) => ruleNow(url, subject, agesSeconds);
const json = { "content-type": "application/json" };
const post = (path: string, body: unknown, headers: Record<string, string> = {}) =>
  fetch(url + path, {
    method: "POST",
    headers: { ...json, ...headers },
    body: typeof body === "string" ? body : JSON.stringify(body),
  });

t.test(
  "a path of the provider's is passed with method, query, headers and body, and the credentials exchanged",
  async (t) => {
    for (const method of ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]) {
      const body =
        method === "GET" || method === "OPTIONS" ? undefined : `{"any": "body of ${method}"}`;
      const response = await fetch(`${url}/p/test/v1/things/a%2Fb?x=1&key=of-the-caller&y=`, {
        method,
        headers: {
          authorization: "Bearer of-the-caller",
          "x-api-key": "of-the-caller",
          "api-key": "of-the-caller",
          "x-goog-api-key": "of-the-caller",
          cookie: "c=of-the-caller",
          "x-sluice-user-path": "/team",
          "x-own": "kept",
          "x-auth-request-access-token": "of-the-caller",
          "x-real-ip": "10.0.0.1",
          "openai-beta": "assistants=v2",
        },
        ...(body === undefined ? {} : { body }),
      });
      t.equal(response.status, 200, method);
      t.equal(response.headers.get("x-sluice-target"), "test/-");
      t.ok(response.headers.get("x-request-id"));
      const { request, body: sent } = upstream.received.at(-1)!;
      t.equal(request.method, method);
      t.equal(request.url, "/v1/things/a%2Fb?x=1&y=");
      t.equal(await sent, body ?? "");
      t.match(request.headers, {
        authorization: "Bearer secret-of-the-provider",
        "x-own": "kept",
        "openai-beta": "assistants=v2",
        host: new URL(upstream.origin).host,
      });
      t.notMatch(JSON.stringify(request.rawHeaders), /of-the-caller|user-path/i);
      t.equal(request.headers["accept-encoding"], "identity");
    }
    const head = await fetch(`${url}/p/test/v1/things`, { method: "HEAD" });
    t.equal(head.status, 200);
    t.equal(upstream.received.at(-1)!.request.method, "HEAD");
  },
);

t.test("each type of provider is shown its key in its own header", async (t) => {
  await post("/p/claude/v1/messages", { model: "m", messages: [] });
  const { headers } = upstream.received.at(-1)!.request;
  t.equal(headers["x-api-key"], "secret-of-claude");
  t.equal(headers.authorization, undefined);
});

t.test("connections to the provider are kept alive", async (t) => {
  const before = upstream.connections();
  for (let i = 0; i < 10; i++) await (await post("/p/test/v1/things", {})).text();
  t.ok(
    upstream.connections() - before <= 1,
    `${upstream.connections() - before} new connections for 10 requests`,
  );
});

t.test("the answer passes as it is: status, headers, bytes; errors too", async (t) => {
  const table = [
    { status: 200, headers: { "content-type": "application/json" }, body: '{"any": 1 }' },
    {
      status: 201,
      headers: { "content-type": "application/json", location: "/v1/things/1" },
      body: "{}",
    },
    {
      status: 400,
      headers: { "content-type": "application/json" },
      body: '{"error":{"message":"of theirs"}}',
    },
    {
      status: 429,
      headers: { "content-type": "text/plain", "retry-after": "7" },
      body: "slow down",
    },
    { status: 503, headers: { "content-type": "text/html" }, body: "<html>no</html>" },
    {
      status: 200,
      headers: { "content-type": "application/octet-stream", "content-encoding": "gzip" },
      body: "\u001f\u008bno gzip",
    },
  ] as const;
  for (const { status, headers, body } of table) {
    upstream.answer = ({ response }) =>
      void response
        .writeHead(status, { ...headers, "set-cookie": "a=b", "x-theirs": "1" })
        .end(Buffer.from(body, "latin1"));
    const response = await new Promise<{
      status: number | undefined;
      headers: Record<string, unknown>;
      body: string;
    }>((resolve, reject) => {
      const asked = httpRequest(`${url}/p/test/v1/any`, { method: "POST" }, async (answer) => {
        let text = "";
        answer
          .setEncoding("latin1")
          .on("data", (piece: string) => (text += piece))
          .on("end", () =>
            resolve({ status: answer.statusCode, headers: answer.headers, body: text }),
          );
      });
      asked.on("error", reject).end();
    });
    t.equal(response.status, status);
    t.match(response.headers, { ...headers, "x-theirs": "1" });
    t.equal(response.headers["set-cookie"], undefined);
    t.equal(response.body, body);
  }
  upstream.answer = ({ response }) =>
    void response
      .writeHead(401, json)
      .end('{"error":{"message":"wrong key secret-of-the-provider"}}');
  t.equal(
    await (await post("/p/test/v1/any", {})).text(),
    '{"error":{"message":"wrong key [redacted]************"}}',
    "but for our key, if it echoes that",
  );
  upstream.answer = ({ response }) =>
    void response
      .writeHead(200, { "content-type": "text/plain", "x-key": "secret-of-the-provider" })
      .end("a success with secret-of-the-provider");
  const echoed = await post("/p/test/v1/any", {});
  t.equal(echoed.headers.get("x-key"), "[redacted]************");
  t.equal(await echoed.text(), "a success with [redacted]************");
});

t.test("the provider's own limits take the place of ours", async (t) => {
  upstream.answer = (received) => replyJson(received, {});
  t.equal((await post("/p/test/v1/any", {})).headers.get("x-ratelimit-limit-requests"), "100000");
  upstream.answer = (received) => replyJson(received, {}, { "x-ratelimit-limit-tokens": "7" });
  const { headers } = await post("/p/test/v1/any", {});
  t.equal(headers.get("x-ratelimit-limit-tokens"), "7");
  t.equal(headers.get("x-ratelimit-limit-requests"), null);
});

t.test(
  "usage is charged to path, provider and the model that the body names, in both dialects, streams too",
  async (t) => {
    const openai = { usage: { prompt_tokens: 30, completion_tokens: 4, total_tokens: 34 } };
    const anthropic = {
      type: "message",
      usage: { input_tokens: 30, output_tokens: 4, cache_read_input_tokens: 0 },
    };
    const events = {
      openai: `${[{ choices: [{ delta: { content: "hi" } }] }, { choices: [], ...openai }]
        .map((event) => `data: ${JSON.stringify(event)}\n\n`)
        .join("")}data: [DONE]\n\n`,
      anthropic: [
        { type: "message_start", message: { usage: { input_tokens: 30, output_tokens: 1 } } },
        { type: "content_block_delta", delta: { type: "text_delta", text: "hi" } },
        { type: "message_delta", usage: { output_tokens: 4 } },
      ]
        .map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
        .join(""),
    };
    const table = [
      ["/v1/chat/completions", "application/json", JSON.stringify(openai)],
      ["/v1/messages", "application/json", JSON.stringify(anthropic)],
      ["/v1/anything/else", "application/json", JSON.stringify(openai)],
      ["/v1/chat/completions", "text/event-stream", events.openai],
      ["/v1/messages", "text/event-stream", events.anthropic],
      ["/v1/anything/else", "text/event-stream", events.openai],
    ] as const;
    for (const [path, contentType, answer] of table) {
      upstream.answer = ({ response }) =>
        void response.writeHead(200, { "content-type": contentType }).end(answer);
      const before = {
        path: (await counted("/")).tokens_used,
        provider: (await counted("test")).tokens_used,
        model: (await counted("test/priced")).tokens_used,
      };
      const response = await post(`/p/test${path}`, {
        messages: [{ role: "user", content: '{"model": "no"}' }],
        model: "priced",
      });
      t.equal(await response.text(), answer, `${path} ${contentType}`);
      t.equal(response.headers.get("x-sluice-target"), "test/priced");
      const after = {
        path: (await counted("/")).tokens_used,
        provider: (await counted("test")).tokens_used,
        model: (await counted("test/priced")).tokens_used,
      };
      t.same(
        after,
        { path: before.path + 34, provider: before.provider + 34, model: before.model + 34 },
        `${path} ${contentType}`,
      );
    }
    await proxy.printed(
      /"path":"\/p\/test\/v1\/chat\/completions".*"target":"test\/priced".*"tokens":34.*"cost_usd":0.00007/,
    );
  },
);

t.test(
  "an answer without usage is estimated for a known call, else not charged; a plain fetch is never charged",
  async (t) => {
    upstream.answer = (received) => replyJson(received, { choices: [] });
    const used = async (ask: () => Promise<Response>): Promise<number> => {
      const before = (await counted("/")).tokens_used;
      await (await ask()).text();
      return (await counted("/")).tokens_used - before;
    };
    t.ok((await used(() => post("/p/test/v1/chat/completions", { model: "m" }))) > 0);
    t.equal(await used(() => post("/p/test/v1/files", {})), 0);
    upstream.answer = (received) => replyJson(received, { usage: { total_tokens: 1000 } });
    t.equal(await used(() => fetch(`${url}/p/test/v1/responses/resp_1`)), 0);
  },
);

t.test(
  "all rules hold: an exhausted path or model answers with its wait; the provider isn't called",
  async (t) => {
    upstream.answer = (received) => replyJson(received, {});
    t.equal((await post("/p/test/v1/any", {}, { "x-sluice-user-path": "/full" })).status, 200);
    t.equal((await post("/p/test/v1/any", { model: "scarce" })).status, 200);
    const calls = upstream.received.length;
    const refused = await post("/p/test/v1/any", {}, { "x-sluice-user-path": "/full" });
    t.equal(refused.status, 429);
    t.ok(Number(refused.headers.get("retry-after")) > 0);
    t.match(await refused.json(), {
      error: {
        type: "rate_limit_error",
        code: "rate_limit_exceeded",
        message: /for \/full: \d+s request limit of 1 reached/,
      },
    });
    t.match(await (await post("/p/test/v1/any", { model: "scarce" })).json(), {
      error: { message: /for model test\/scarce/ },
    });
    t.equal((await post("/p/test/v1/any", { model: "other" })).status, 200);
    t.equal(upstream.received.length, calls + 1);
  },
);

t.test(
  "what can't be passed is refused in our shape: unknown provider, simulator, dead provider, silent provider, too large",
  async (t) => {
    t.match(await (await fetch(`${url}/p/nobody/v1/models`)).json(), {
      error: { type: "not_found_error", message: 'no provider "nobody" is configured' },
    });
    const simulated = await fetch(`${url}/p/sim/v1/models`);
    t.equal(simulated.status, 400);
    t.match(await simulated.json(), { error: { message: /sim is a simulator/ } });
    const dead = await fetch(`${url}/p/nowhere/v1/models`);
    t.equal(dead.status, 502);
    t.match(await dead.json(), { error: { code: "provider_unavailable", provider: "nowhere" } });
    t.ok(dead.headers.get("x-ratelimit-limit-requests"));
    upstream.answer = () => {};
    const silent = await fetch(`${url}/p/test/v1/models`);
    t.equal(silent.status, 504);
    t.match(await silent.json(), { error: { provider: "test" } });
    upstream.answer = (received) =>
      void received.body.then(
        () => replyJson(received, {}),
        () => {},
      );
    const large = await post("/p/test/v1/files", "x".repeat(4_194_305));
    t.equal(large.status, 413);
    t.match(await large.json(), { error: { code: "request_too_large" } });
    await atRest();
  },
);

t.test("bodies pass piece by piece both ways, and are never waited for", async (t) => {
  upstream.answer = ({ request, response }) => {
    response.writeHead(200, { "content-type": "application/octet-stream" }).flushHeaders();
    request.pipe(response);
  };
  const asked = httpRequest(`${url}/p/test/v1/echo`, {
    method: "POST",
    headers: { "content-type": "application/octet-stream" },
  });
  asked.flushHeaders();
  const [answer] = (await once(asked, "response")) as [import("node:http").IncomingMessage];
  for (const piece of ["one", "two", "three"]) {
    asked.write(piece);
    const [bytes] = (await once(answer, "data")) as [Buffer];
    t.equal(bytes.toString(), piece);
  }
  asked.end();
  answer.resume();
  await once(answer, "end");
  await atRest();
});

t.test("a small JSON body is waited for, and passes byte for byte", async (t) => {
  const called = upstream.next();
  upstream.answer = ({ response }) => void response.end("{}");
  const body = '{ "some" :"text" }';
  const asked = httpRequest(`${url}/p/test/v1/any`, {
    method: "POST",
    headers: { "content-type": "application/json", "content-length": body.length },
  });
  asked.write(body.slice(0, 5));
  setImmediate(() => asked.end(body.slice(5)));
  const [answer] = (await once(asked, "response")) as [import("node:http").IncomingMessage];
  answer.resume();
  const received = await called;
  t.equal(received.request.headers["content-length"], String(body.length));
  t.equal(await received.body, body);
  await atRest();
});

t.test(
  "a client that leaves takes its request to the provider with it, in whatever moment",
  async (t) => {
    const moments = {
      "while it sends its body": async () => {
        const called = upstream.next();
        upstream.answer = () => {};
        const asked = httpRequest(`${url}/p/test/v1/any`, {
          method: "POST",
          headers: { "content-type": "application/octet-stream", "content-length": "100" },
        });
        asked.on("error", () => {});
        asked.write("some");
        const received = await called;
        asked.destroy();
        return received;
      },
      "while it waits": async () => {
        const called = upstream.next();
        upstream.answer = () => {};
        const leaving = new AbortController();
        fetch(`${url}/p/test/v1/any`, { signal: leaving.signal }).catch(() => {});
        const received = await called;
        leaving.abort();
        return received;
      },
      "within the answer": async () => {
        const called = upstream.next();
        upstream.answer = ({ response }) =>
          void response
            .writeHead(200, { "content-type": "text/event-stream" })
            .write("data: 1\n\n");
        const leaving = new AbortController();
        const response = await fetch(`${url}/p/test/v1/any`, { signal: leaving.signal });
        await response.body!.getReader().read();
        leaving.abort();
        return called;
      },
    };
    for (const [moment, leave] of Object.entries(moments)) {
      const received = await leave();
      await received.abandoned;
      t.pass(moment);
      await atRest();
    }
  },
);

t.test(
  "when a provider dies the client gets an error before the answer, a cut within it",
  async (t) => {
    upstream.answer = ({ request }) => void request.socket.destroy();
    const early = await fetch(`${url}/p/test/v1/any`);
    t.equal(early.status, 502);
    t.match(await early.json(), { error: { code: "provider_unavailable" } });
    for (const headers of [{}, { "content-length": "100" }]) {
      upstream.answer = ({ request, response }) =>
        void response
          .writeHead(200, { "content-type": "text/plain", ...headers })
          .write("half", () => request.socket.destroy());
      await t.rejects((await fetch(`${url}/p/test/v1/any`)).text());
    }
    t.notMatch(proxy.output(), /nothing for 500 ms/, "at once, and not when a deadline has passed");
    upstream.answer = ({ response }) =>
      void response.writeHead(200, { "content-type": "text/event-stream" }).write("data: 1\n\n");
    await t.rejects(
      (await fetch(`${url}/p/test/v1/any`)).text(),
      "silence within an answer is a cut too",
    );
    upstream.answer = ({ request }) =>
      void request.socket.end(
        "HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n",
      );
    t.equal(
      (await fetch(`${url}/p/test/v1/any`)).status,
      502,
      "and so is a protocol that wasn't requested",
    );
    await atRest();
  },
);

t.test("a client that doesn't read holds its provider back, and is cut in the end", async (t) => {
  let written = 0;
  const called = upstream.next();
  upstream.answer = ({ response }) => {
    response.writeHead(200, { "content-type": "application/octet-stream" });
    const write = (): void => {
      while (!response.destroyed && response.write(Buffer.alloc(65_536))) written += 65_536;
    };
    response.on("drain", write);
    write();
  };
  const socket = connect(Number(new URL(url).port), "127.0.0.1", () =>
    socket.write("GET /p/test/v1/any HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n"),
  );
  socket.pause();
  await (await called).abandoned;
  t.ok(written < 64 * 1024 * 1024, `${written} bytes were taken`);
  await atRest();
});
