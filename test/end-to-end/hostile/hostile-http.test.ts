/**
 * Bytes that mean harm, on a real proxy before a real provider: what each is answered, and what the
 * provider sees of it.
 */

import { once } from "node:events";
import { connect } from "node:net";
import t from "tap";
import { answerHeadBytesMax } from "../../../proxy/bounds.js";
import { agesSeconds } from "../../support/ages.js";
import { ruleNow, until } from "../../support/client.js";
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
/** Where no request may be led. */
const evil = await startPassthroughProvider();
t.teardown(() => evil.close());
const site = makeSite(
  t,
  `
providers: { test: { type: openai, base_url: "${upstream.origin}/v1", api_key: secret-of-the-provider, models: ["*"] } }
rate_limits: { user_paths: [{ path: /, limits: [{ period_seconds: ${agesSeconds}, max_requests: 100000 }, { period: concurrent, max_requests: 50 }] }] }
`,
);
await site.startDaemon();
const proxy = await site.startProxy();
const url = proxy.ready;
const port = Number(new URL(url).port);

const upstreamAnswers = (received: ReceivedRequest): void =>
  void received.body.then(
    (body) =>
      replyJson(received, { method: received.request.method, url: received.request.url, body }),
    () => {},
  );
upstream.answer = upstreamAnswers;
const requests = async () => (await ruleNow(url, "/", agesSeconds)).requests_used;

/** All that the proxy says to these bytes before it closes the connection. */
async function exchange(bytes: string): Promise<string> {
  const socket = connect(port, "127.0.0.1");
  let received = "";
  socket.on("data", (piece: Buffer) => (received += piece.toString("latin1")));
  socket.on("error", () => {});
  socket.on("end", () => socket.end());
  socket.write(Buffer.from(bytes, "latin1"));
  await once(socket, "close");
  return received;
}

const statusOf = (received: string): number =>
  Number(/^HTTP\/1\.1 (\d{3}) /.exec(received)?.[1] ?? 0);
const post = (...headers: readonly string[]): string =>
  `POST /p/test/v1/any HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n${headers.map((header) => `${header}\r\n`).join("")}\r\n`;
const get = (target: string, ...headers: readonly string[]): string =>
  `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n${headers.map((header) => `${header}\r\n`).join("")}\r\n`;
const chunked = "Transfer-Encoding: chunked";

t.test(
  "requests whose length can be read in two ways are refused, and nothing of them is counted or passed on",
  async (t) => {
    const before = { received: upstream.received.length, requests: await requests() };
    const table: Readonly<Record<string, string>> = {
      "a length and chunks": `${post("Content-Length: 5", chunked)}0\r\n\r\n`,
      "chunks and a length": `${post(chunked, "Content-Length: 5")}0\r\n\r\n`,
      "two lengths": `${post("Content-Length: 5", "Content-Length: 6")}abcdef`,
      "the same length twice": `${post("Content-Length: 5", "Content-Length: 5")}abcde`,
      "a list of lengths": `${post("Content-Length: 5, 5")}abcde`,
      "a signed length": `${post("Content-Length: +5")}abcde`,
      "a hexadecimal length": `${post("Content-Length: 0x5")}abcde`,
      "a space before the colon": `${post("Content-Length : 5")}abcde`,
      "a length beyond numbers": `${post("Content-Length: 99999999999999999999")}abcde`,
      "chunks that aren't last": `${post("Transfer-Encoding: chunked, identity")}0\r\n\r\n`,
      "chunks twice": `${post(chunked, chunked)}0\r\n\r\n`,
      "a control character in the coding": `${post("Transfer-Encoding: \u000bchunked")}0\r\n\r\n`,
      "a folded header": post("X-A: 1", " continued"),
      "a folded coding": `${post("Transfer-Encoding:", " chunked")}0\r\n\r\n`,
      "lines that end in LF alone": post().replaceAll("\r\n", "\n"),
      "one line that ends in LF alone": post("X-A: 1\nX-B: 2"),
      "a bare CR": post("X-A: 1\rX-B: 2"),
      "a NUL": post("X-A: 1\u00002"),
      "a header without a colon": post("X-A"),
      "a space in a name": post("X A: 1"),
      "HTTP/2": "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      "another version": get("/p/test/x").replace("HTTP/1.1", "HTTP/1.2"),
      "a space in the target": get("/p/test/x y"),
      "a byte that is no ASCII in the target": get("/p/test/\u00e9"),
      "an unknown method": get("/p/test/x").replace("GET", "STEAL"),
      "no host": "GET /p/test/x HTTP/1.1\r\nConnection: close\r\n\r\n",
      "two hosts": get("/p/test/x", "Host: 127.0.0.1"),
      "two hosts that differ": get("/p/test/x", "HOST: localhost"),
      "two hosts and an absolute target": get("http://127.0.0.1/p/test/x", "Host: 127.0.0.1"),
      ...Object.fromEntries(
        ["a b", "a/b", "u@a", "a, b", "a:b", "[::1", "[x]", "\u00e9", "a:1:2", "http://a"].map(
          (host) => [`host ${host}`, get("/p/test/x").replace("Host: 127.0.0.1", `Host: ${host}`)],
        ),
      ),
      "credentials in an absolute target": get("http://u:p@127.0.0.1/p/test/x"),
      "an absolute target without a host": get("http:///p/test/x"),
      "an asterisk": get("*"),
      "a coding in HTTP/1.0": `${post(chunked).replace("HTTP/1.1", "HTTP/1.0")}0\r\n\r\n`,
      "a coding and a length in HTTP/1.0": `${post(chunked, "Content-Length: 5").replace("HTTP/1.1", "HTTP/1.0")}0\r\n\r\n`,
      "a coding in HTTP/1.0 that is kept alive": `${post(chunked).replace("HTTP/1.1", "HTTP/1.0").replace("close", "keep-alive")}0\r\n\r\n`,
    };
    for (const [name, bytes] of Object.entries(table))
      t.equal(statusOf(await exchange(bytes)), 400, name);
    const everywhere = [
      "/p/test/x",
      "/v1/chat/completions",
      "/v1/messages/count_tokens",
      "/health",
    ];
    for (const coding of ["gzip, chunked", "identity, chunked", ", chunked", "xchunked", ""])
      for (const path of everywhere) {
        const bytes = post(`Transfer-Encoding: ${coding}`).replace("/p/test/v1/any", path);
        // Without its wish to close: what follows must not be read.
        const keep = bytes.replace("Connection: close\r\n", "");
        const received = await exchange(`${keep}0\r\n\r\n${get("/p/test/never")}`);
        const statuses = received.match(/HTTP\/1\.1 \d+/g) ?? [];
        // Node 24's parser itself refuses one that is empty.
        const refusals = coding === "" ? ["HTTP/1.1 400", "HTTP/1.1 501"] : ["HTTP/1.1 501"];
        t.ok(statuses.length === 1 && refusals.includes(statuses[0]!), `${coding} at ${path}`);
      }
    for (const version of ["HTTP/0.9", "HTTP/2.0"])
      t.equal(statusOf(await exchange(get("/p/test/x").replace("HTTP/1.1", version))), 505);
    t.equal(statusOf(await exchange("GET /p/test/x\r\n\r\n")), 505, "no version");
    for (const expected of ["foo", "100-continue, foo", "100-continue=1"]) {
      const bytes = post("Content-Length: 5", `Expect: ${expected}`);
      t.equal(statusOf(await exchange(`${bytes}abcde`)), 417, expected);
    }
    t.same({ received: upstream.received.length, requests: await requests() }, before);
  },
);

t.test("chunks of a wrong size end the request on both sides, and free its slot", async (t) => {
  const bodies: Readonly<Record<string, string>> = {
    "a hexadecimal mark": "0x5\r\nabcde\r\n0\r\n\r\n",
    "a negative size": "-1\r\nabcde\r\n0\r\n\r\n",
    "a size beyond numbers": "FFFFFFFFFFFFFFFFF\r\nabcde\r\n0\r\n\r\n",
    "a size that ends in LF alone": "5\nabcde\r\n0\r\n\r\n",
    "more than announced": "5\r\nabcdefg\r\n0\r\n\r\n",
    "an open quote in an extension": '5;a="x\r\nabcde\r\n0\r\n\r\n',
    "a length in the trailer": "5\r\nabcde\r\n0\r\nContent-Length: 3\r\n\r\n",
  };
  for (const [name, body] of Object.entries(bodies)) {
    t.equal(statusOf(await exchange(post(chunked) + body)), 400, name);
    await until(
      () => ruleNow(url, "/", 0),
      ({ in_flight }) => in_flight === 0,
    );
  }
});

t.test(
  "what is a body to us is a body to the provider, whatever the method, and its framing is ours",
  async (t) => {
    const smuggled = "GET /smuggled HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n";
    for (const method of ["DELETE", "OPTIONS", "GET", "POST"]) {
      const before = upstream.received.length;
      const received = await exchange(
        `${method} /p/test/v1/any HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close, transfer-encoding, content-length, x-named\r\nX-Named: 1\r\n${chunked}\r\n\r\n${smuggled.length.toString(16)}\r\n${smuggled}\r\n0\r\n\r\n`,
      );
      t.equal(statusOf(received), 200, method);
      t.match(received, JSON.stringify(smuggled).slice(1, -1));
      t.equal(upstream.received.length, before + 1);
      const { request } = upstream.received.at(-1)!;
      t.equal(request.headers["transfer-encoding"], "chunked");
      t.notOk(request.headers["content-length"] ?? request.headers["x-named"]);
      t.equal(request.headers.authorization, "Bearer secret-of-the-provider");
    }
    await exchange(get("/p/test/v1/any", "Connection: authorization, host"));
    t.match(upstream.received.at(-1)!.request.headers, {
      authorization: "Bearer secret-of-the-provider",
      host: new URL(upstream.origin).host,
    });
  },
);

t.test("no path leads to another host, or out of its own", async (t) => {
  const host = new URL(evil.origin).host;
  const table: Readonly<Record<string, number>> = {
    [`http://${host}/`]: 302,
    [`http://${host}/p/${host}/`]: 404,
    "http://evil.example/p/test/v1/models": 403,
    [`//${host}/p/test/v1/models`]: 404,
    "/p": 404,
    "/p/": 404,
    "/p//test/v1/models": 404,
    [`/p/${host}/`]: 404,
    [`/p/http:%2f%2f${host}/`]: 404,
    [`/p/test@${host}/v1`]: 404,
    [`/p/test:80@${host}/v1`]: 404,
    "/p/%74est/v1": 404,
    "/p/../admin/rate-limits": 404,
    "/p/test/../../admin": 400,
    "/p/test/v1/..": 400,
    "/p/test/./v1": 400,
    "/p/test/%2e%2e/v1": 400,
    "/p/test/%2E./v1": 400,
    "/p/test/v1%2f..%2f..": 400,
    "/p/test/..%2fv1": 400,
    "/p/test/..%5cv1": 400,
    "/p/test/..\\v1": 400,
    "/p/test/%252e%252e/v1": 400,
    "/p/test/%25252e%25252e/v1": 400,
    "/p/test/..;/v1": 400,
    [`/p/test//${host}/`]: 400,
    [`/p/test/%2f${host}/`]: 400,
    [`/p/test/http://${host}/`]: 400,
    [`/p/test/http:/${host}/`]: 400,
    "/p/test/v1/%0d%0aX-Evil:%201": 400,
    "/p/test/v1/%00": 400,
    "/p/test/v1/%zz": 400,
    "/p/test/v1#fragment": 400,
    "/p/test/v1?a#fragment": 400,
    "/p/test/<v1>": 400,
  };
  const before = upstream.received.length;
  for (const [target, status] of Object.entries(table))
    t.equal(statusOf(await exchange(get(target))), status, target);
  t.equal(upstream.received.length, before);
  // In absolute form, as to a proxy, they go to the provider of the path, and nowhere else.
  for (const target of [
    `http://${host}/p/test/v1/absolute`,
    "HTTP://localhost:80/p/test/v1/absolute",
    "https://[::1]/p/test/v1/absolute",
  ]) {
    const sent = get(target).replace("Host: 127.0.0.1", "Host: evil.example");
    t.equal(statusOf(await exchange(sent)), 200, target);
    t.equal(upstream.received.at(-1)!.request.url, "/v1/absolute");
    t.equal(upstream.received.at(-1)!.request.headers.host, new URL(upstream.origin).host);
  }
  t.equal(statusOf(await exchange(get("http://127.0.0.1?x"))), 302);
  // These go where all others go: they are paths, and no more.
  for (const path of [
    `/@${host}/`,
    `/v1/things/a%2Fb`,
    `/v1/${host}:80`,
    "/v1/a..b/...",
    "/v1/models/org%2Fmodel",
  ]) {
    t.equal(statusOf(await exchange(get(`/p/test${path}`))), 200, path);
    t.equal(upstream.received.at(-1)!.request.url, path);
    t.equal(upstream.received.at(-1)!.request.headers.host, new URL(upstream.origin).host);
  }
  t.equal(evil.connections(), 0);
});

t.test(
  "headers can't be injected: neither into a request to the provider nor into an answer",
  async (t) => {
    const received = await exchange(
      get(
        "/p/test/v1/any?a=%0d%0aX-Evil:%201",
        "X-Request-ID: a%0d%0aX-Evil: 1",
        "X-Forwarded-For: 1.2.3.4",
        "Proxy-Authorization: Basic x",
        "Forwarded: for=1.2.3.4",
      ),
    );
    t.equal(statusOf(received), 200);
    t.notMatch(received.split("\r\n\r\n")[0]!, /evil/i);
    const { request } = upstream.received.at(-1)!;
    t.equal(request.url, "/v1/any?a=%0d%0aX-Evil:%201");
    t.same(
      Object.keys(request.headers).filter((name) => /evil|forwarded|proxy|request-id/.test(name)),
      [],
    );
    upstream.answer = ({ request }) =>
      void request.socket.end("HTTP/1.1 200 OK\r\nx-a: 1\nx-evil: 2\r\ncontent-length: 0\r\n\r\n");
    t.equal(
      statusOf(await exchange(get("/p/test/v1/any"))),
      502,
      "a provider's head that is no HTTP",
    );
    upstream.answer = ({ request }) =>
      void request.socket.end(
        `HTTP/1.1 200 OK\r\nx-a: ${"a".repeat(answerHeadBytesMax)}\r\ncontent-length: 0\r\n\r\n`,
      );
    t.equal(statusOf(await exchange(get("/p/test/v1/any"))), 502, "and one that is too large");
    upstream.answer = ({ request }) =>
      void request.socket.end(
        "HTTP/1.1 200 OK\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
      );
    t.equal(statusOf(await exchange(get("/p/test/v1/any"))), 502, "and one with two lengths");
    upstream.answer = upstreamAnswers;
  },
);

t.test("methods: TRACE is no method here, CONNECT is no tunnel", async (t) => {
  const traced = await exchange(get("/p/test/v1/any").replace("GET", "TRACE"));
  t.equal(statusOf(traced), 405);
  t.match(traced, /\r\nallow: GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS\r\n/);
  const connectTo = `CONNECT ${new URL(evil.origin).host} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
  const statuses = async (bytes: string): Promise<readonly string[] | null> =>
    (await exchange(bytes)).match(/HTTP\/1\.1 \d+/g);
  t.same(await statuses(connectTo), ["HTTP/1.1 501"]);
  t.same(await statuses(`${connectTo}${get("/p/test/v1/tunnelled")}`), ["HTTP/1.1 501"]);
  t.same(
    await statuses(get("/p/test/v1/any").replace("Connection: close\r\n", "") + connectTo),
    ["HTTP/1.1 200", "HTTP/1.1 501"],
    "the answer before it isn't lost",
  );
  t.notOk(upstream.received.some(({ request }) => request.url === "/v1/tunnelled"));
  for (const target of ["*", "http://127.0.0.1"]) {
    const options = await exchange(get(target).replace("GET", "OPTIONS"));
    t.equal(statusOf(options), 204, target);
    t.match(options, /\r\nallow: GET, HEAD, POST, /i);
  }
  t.equal(evil.connections(), 0);
});

t.test("headers beyond the bound are 431, and so is a target", async (t) => {
  t.equal(statusOf(await exchange(get("/p/test/v1/any", `X-A: ${"a".repeat(40_000)}`))), 431);
  t.equal(statusOf(await exchange(get(`/p/test/${"a".repeat(40_000)}`))), 431);
});

t.test(
  "an upgrade to anything but a WebSocket is ignored, and so is one where there is none, or with a body",
  async (t) => {
    const upgrade = (protocol: string, ...headers: readonly string[]): readonly string[] => [
      `Upgrade: ${protocol}`,
      ...headers,
    ];
    const asked = (bytes: string): string =>
      bytes.replace("Connection: close", "Connection: close, upgrade");
    t.equal(
      statusOf(
        await exchange(
          asked(
            get("/p/test/v1/any", ...upgrade("h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA")),
          ),
        ),
      ),
      200,
    );
    t.equal(upstream.received.at(-1)!.request.headers.upgrade, undefined);
    const chat = '{"model":"test/m","messages":[]}';
    t.equal(
      statusOf(
        await exchange(
          `${asked(post(...upgrade("h2c"), `Content-Length: ${chat.length}`)).replace("/p/test/v1/any", "/v1/chat/completions")}${chat}`,
        ),
      ),
      200,
      "with its body read: the Java client begins like this",
    );
    t.equal(statusOf(await exchange(asked(get("/v1/models", ...upgrade("websocket"))))), 200);
    t.equal(
      statusOf(
        await exchange(
          asked(get("/v1/realtime?model=m", ...upgrade("websocket", "Content-Length: 5"))) +
            "abcde",
        ),
      ),
      426,
    );
    t.equal(
      statusOf(await exchange(asked(post(...upgrade("websocket"), "Content-Length: 0")))),
      200,
    );
  },
);

t.test(
  "requests in one go are answered one after the other, and what follows a broken one isn't read",
  async (t) => {
    const keep = (path: string): string =>
      `GET /p/test/v1/${path} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
    const received = await exchange(`${keep("one")}${keep("two")}${get("/p/test/v1/three")}`);
    t.same(
      [...received.matchAll(/"url":"\/v1\/(\w+)"/g)].map(([, path]) => path),
      ["one", "two", "three"],
    );
    for (const bytes of [
      `${keep("one")}BROKEN\r\n\r\n${keep("never")}`,
      `${get("/p/test/v1/last")}${keep("never")}`,
    ])
      t.same((await exchange(bytes)).match(/HTTP\/1\.1 \d+/g), ["HTTP/1.1 200"]);
    t.notOk(upstream.received.some(({ request }) => request.url === "/v1/never"));
    await until(
      () => ruleNow(url, "/", 0),
      ({ in_flight }) => in_flight === 0,
    );
  },
);

t.test("a body that stops is ended with its client; the proxy still serves", async (t) => {
  const called = upstream.next();
  const socket = connect(port, "127.0.0.1", () =>
    socket.write(`${post("Content-Length: 100")}only some`),
  );
  const received = await called;
  socket.destroy();
  await t.rejects(received.body);
  await until(
    () => ruleNow(url, "/", 0),
    ({ in_flight }) => in_flight === 0,
  );
  t.equal((await fetch(`${url}/p/test/v1/any`)).status, 200);
  t.notMatch(proxy.output(), /secret-of-the-provider|unhandled|assertion|warning/i);
});

t.test("a model whose name isn't UTF-8 is refused, wherever it is named", async (t) => {
  const before = { received: upstream.received.length, requests: await requests() };
  const json = (path: string, body: string): string =>
    post(`Content-Length: ${body.length}`, "Content-Type: application/json").replace(
      "/p/test/v1/any",
      path,
    ) + body;
  // Not begun, cut, overlong, and half of a pair.
  for (const bytes of [
    "\xff",
    "\x80",
    "\xc3",
    "\xc0\xaf",
    "\xe0\x80\xaf",
    "\xed\xa0\x80",
    "\xf5\x80\x80\x80",
  ]) {
    const coded = [...bytes].map((byte) => `%${byte.charCodeAt(0).toString(16)}`).join("");
    const messages = '"messages":[]';
    const contents = '{"contents":[]}';
    const form = `--b\r\ncontent-disposition: form-data; name="model"\r\n\r\nm${bytes}\r\n--b--\r\n`;
    const table: Readonly<Record<string, string>> = {
      body: json("/p/test/v1/chat/completions", `{"model":"m${bytes}",${messages}}`),
      "body of any path": json("/p/test/v1/any", `{"model":"m${bytes}"}`),
      form: json("/p/test/v1/audio/transcriptions", form).replace(
        "application/json",
        "multipart/form-data; boundary=b",
      ),
      "path of Google": json(`/p/test/v1beta/models/m${coded}:generateContent`, contents),
      "path of Google, encoded twice": json(
        `/p/test/v1beta/models/m${coded.replaceAll("%", "%25")}:generateContent`,
        contents,
      ),
      "path of Azure": json(
        `/p/test/openai/deployments/m${coded}/chat/completions`,
        `{${messages}}`,
      ),
      query: json(`/p/test/v1/any?model=m${coded}`, "{}"),
      "chat completions": json("/v1/chat/completions", `{"model":"test/m${bytes}",${messages}}`),
      messages: json("/v1/messages", `{"model":"test/m${bytes}",${messages}}`),
      responses: json("/v1/responses", `{"model":"test/m${bytes}","input":"x"}`),
      embeddings: json("/v1/embeddings", `{"model":"test/m${bytes}","input":"x"}`),
      count_tokens: json("/v1/messages/count_tokens", `{"model":"test/m${bytes}",${messages}}`),
      "Gemini's API": json(`/v1beta/models/m${coded}:generateContent`, contents),
      "a count of Gemini's API": json(`/v1beta/models/m${coded}:countTokens`, contents),
      "Azure's API": json(`/openai/deployments/m${coded}/chat/completions`, `{${messages}}`),
      transcriptions: json("/v1/audio/transcriptions", form).replace(
        "application/json",
        "multipart/form-data; boundary=b",
      ),
    };
    for (const [name, request] of Object.entries(table)) {
      const received = await exchange(request);
      t.equal(statusOf(received), 400, `${coded} in ${name}: ${received.slice(-150)}`);
    }
  }
  t.same({ received: upstream.received.length, requests: await requests() }, before);
});
