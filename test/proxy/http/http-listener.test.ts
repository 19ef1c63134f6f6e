import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import net from "node:net";
import { join } from "node:path";
import t, { type Test } from "tap";
import { bindSocket } from "../../../bin/supervisor/reload/bind-socket.js";
import { ConnectionRoom } from "../../../proxy/capacity/connection-room.js";
import { MemoryLedger } from "../../../proxy/capacity/memory-ledger.js";
import { Lingering, lingeringBounds } from "../../../proxy/http/drain/lingering.js";
import type { Exchange } from "../../../proxy/http/exchange.js";
import {
  type HttpListener,
  type ListenerTls,
  listenHttp,
} from "../../../proxy/http/http-listener.js";
import { headerBytesMax, refuseUnreadable } from "../../../proxy/http/refuse-unreadable.js";
import { beginsPerTurn, requestIdCharsMax } from "../../../shared/bounds.js";

const text = ["content-type", "text/plain"];

interface ListenerTimes {
  readonly headersMs: number;
  readonly requestMs: number;
  readonly everyMs: number;
}

interface Listening {
  readonly listener: HttpListener;
  readonly url: string;
  readonly port: number;
  /** Resolved with the next exchange that isn't taken yet. */
  next(): Promise<Exchange>;
}

/** A listener whose requests are answered by `handle`, or else handed to the test. */
async function listening(
  t: Test,
  {
    handle,
    stalledClientMs = 60_000,
    timeouts,
    connections = new ConnectionRoom(10_000),
    memory = new MemoryLedger(1e9),
    listen = { host: "127.0.0.1", port: 0 },
    tls = null,
  }: {
    handle?: (exchange: Exchange) => void;
    stalledClientMs?: number;
    timeouts?: ListenerTimes;
    connections?: ConnectionRoom<net.Socket>;
    memory?: MemoryLedger;
    listen?: { host: string; port: number } | { fd: number };
    tls?: ListenerTls | null;
  } = {},
): Promise<Listening> {
  const arrived: Exchange[] = [];
  const waiting: ((exchange: Exchange) => void)[] = [];
  const listener = await listenHttp({
    listen,
    connections,
    memory,
    stalledClientMs,
    tls,
    ...(timeouts === undefined ? {} : { timeouts }),
    handle:
      handle ??
      ((exchange) => {
        const wanted = waiting.shift();
        if (wanted === undefined) arrived.push(exchange);
        else wanted(exchange);
      }),
  });
  t.teardown(() => listener.close({ idleMs: 0, runningMs: 0 }));
  return {
    listener,
    url: listener.url,
    port: Number(new URL(listener.url).port),
    next: () => {
      const exchange = arrived.shift();
      return exchange === undefined
        ? new Promise((resolve) => waiting.push(resolve))
        : Promise.resolve(exchange);
    },
  };
}

/** A connection on which a test writes what it likes. */
class RawClient {
  readonly socket: net.Socket;
  received = "";
  closed = false;
  #changed: (() => void)[] = [];

  constructor(t: Test, port: number) {
    this.socket = net.connect(port, "127.0.0.1");
    this.socket.on("data", (bytes: Buffer) => {
      this.received += bytes.toString("latin1");
      this.#change();
    });
    this.socket.on("error", () => {});
    this.socket.on("close", () => {
      this.closed = true;
      this.#change();
    });
    t.teardown(() => void this.socket.destroy());
  }

  send(...lines: readonly string[]): this {
    this.socket.write(`${lines.join("\r\n")}\r\n\r\n`);
    return this;
  }

  async until(holds: () => boolean): Promise<void> {
    while (!holds()) await new Promise<void>((resolve) => this.#changed.push(resolve));
  }

  /** The complete response, once the server has closed. */
  async response(): Promise<string> {
    await this.until(() => this.closed);
    return this.received;
  }

  #change(): void {
    for (const run of this.#changed.splice(0)) run();
  }
}

/** Looks again whenever something has happened. */
async function until(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setImmediate(resolve));
}

/** Answers with what became of the body. */
async function tellBody(exchange: Exchange, bytesMax: number): Promise<void> {
  const body = await exchange.readBody(bytesMax);
  if (body.ok) exchange.reply(200, text, `read ${body.bytes.length}`, "utf8");
  else exchange.reply(body.reason === "too_large" ? 413 : 400, text, body.reason, "utf8");
}

t.test("a request is read as it was sent, and its reply is sent as given", async (t) => {
  const { url, next } = await listening(t);
  const responding = fetch(`${url}/v1/models?after=a%20b`, {
    method: "PUT",
    headers: { "X-Custom": "Value", accept: "a" },
    body: "größe 🙂",
  });
  const exchange = await next();
  t.same(
    [
      exchange.method,
      exchange.path,
      exchange.header("x-custom"),
      exchange.header("absent"),
      exchange.hasBegun,
      exchange.gone,
    ],
    ["PUT", "/v1/models", "Value", undefined, false, false],
  );
  t.ok(exchange.rawHeaders.includes("X-Custom") || exchange.rawHeaders.includes("x-custom"));
  t.same(await exchange.readBody(1000), { ok: true, bytes: Buffer.from("größe 🙂") });
  exchange.reply(
    201,
    ["content-type", "text/plain; charset=utf-8", "X-One", "1"],
    "schön 🙂",
    "utf8",
  );
  const response = await responding;
  t.same(
    [
      response.status,
      response.headers.get("x-one"),
      response.headers.get("content-length"),
      await response.text(),
    ],
    [201, "1", "11", "schön 🙂"],
  );
  t.equal(exchange.hasBegun, true);
});

t.test("a Latin-1 reply is one byte for each character", async (t) => {
  const bytes = Buffer.from(Array.from({ length: 256 }, (_, i) => i));
  const { url } = await listening(t, {
    handle: (exchange) => exchange.reply(200, text, bytes.toString("latin1"), "latin1"),
  });
  t.ok(Buffer.from(await (await fetch(url)).arrayBuffer()).equals(bytes));
});

t.test("headers that are repeated are joined as HTTP says", async (t) => {
  const { port, next } = await listening(t);
  new RawClient(t, port).send(
    "GET /a?b?c HTTP/1.1",
    "Host: a",
    "X-Tag: 1",
    "x-tag: 2",
    "Set-Cookie: a=1",
    "Set-Cookie: b=2",
  );
  const exchange = await next();
  t.same(
    [exchange.path, exchange.header("x-tag"), exchange.header("set-cookie")],
    ["/a", "1, 2", "a=1, b=2"],
  );
  t.same(exchange.rawHeaders, [
    "Host",
    "a",
    "X-Tag",
    "1",
    "x-tag",
    "2",
    "Set-Cookie",
    "a=1",
    "Set-Cookie",
    "b=2",
  ]);
  exchange.cut();
});

t.test(
  "a valid request id of the caller's is kept, otherwise a new unique one is made",
  async (t) => {
    const { port, next } = await listening(t);
    const idOf = async (...headers: readonly string[]): Promise<string> => {
      const client = new RawClient(t, port).send("GET / HTTP/1.1", "Host: a", ...headers);
      const exchange = await next();
      client.socket.destroy();
      return exchange.id;
    };
    for (const sane of ["abc", "req-1", "A.b_c:d/e+f=g@h", "x".repeat(requestIdCharsMax), "0"])
      t.equal(await idOf(`X-Request-ID: ${sane}`), sane);
    const made = new Set<string>();
    for (const other of [
      [],
      ["X-Request-ID:"],
      ["X-Request-ID: a b"],
      [`X-Request-ID: ${"x".repeat(requestIdCharsMax + 1)}`],
      ["X-Request-ID: <script>"],
      ['X-Request-ID: a"b'],
      ["X-Request-ID: caf\u00e9"],
      ["X-Request-ID: a", "X-Request-ID: b"],
      ["X-Request-ID: a,b"],
    ]) {
      const id = await idOf(...other);
      t.match(id, /^req_[\w-]{22}$/, JSON.stringify(other));
      made.add(id);
    }
    t.equal(made.size, 9);
  },
);

t.test(
  "a body of just the bound is read, in one piece, in many, and without a length",
  async (t) => {
    const { url, port } = await listening(t, {
      handle: (exchange) => void tellBody(exchange, 1000),
    });
    t.equal(
      await (await fetch(url, { method: "POST", body: "x".repeat(1000) })).text(),
      "read 1000",
    );
    t.equal(await (await fetch(url, { method: "POST", body: "" })).text(), "read 0");
    t.equal(await (await fetch(url)).text(), "read 0", "no body at all");
    const chunks = new RawClient(t, port).send(
      "POST / HTTP/1.1",
      "Host: a",
      "Connection: close",
      "Transfer-Encoding: chunked",
    );
    for (let i = 0; i < 10; i++) chunks.socket.write(`64\r\n${"x".repeat(100)}\r\n`);
    chunks.socket.write("0\r\n\r\n");
    t.match(await chunks.response(), /read 1000$/);
  },
);

t.test(
  "a body with too large a declared length is refused before it is read, and the connection ends with the answer",
  async (t) => {
    const { port } = await listening(t, { handle: (exchange) => void tellBody(exchange, 1000) });
    const client = new RawClient(t, port).send(
      "POST / HTTP/1.1",
      "Host: a",
      "Content-Length: 1001",
    );
    const response = await client.response();
    t.match(response, /^HTTP\/1\.1 413 /);
    t.match(response, /\r\nconnection: close\r\n/i);
    t.match(response, /too_large$/);
  },
);

t.test(
  "a body that turns out too large is refused immediately, and the connection ends with the answer",
  async (t) => {
    const { port } = await listening(t, { handle: (exchange) => void tellBody(exchange, 1000) });
    const client = new RawClient(t, port).send(
      "POST / HTTP/1.1",
      "Host: a",
      "Transfer-Encoding: chunked",
    );
    for (let i = 0; i < 11; i++) client.socket.write(`64\r\n${"x".repeat(100)}\r\n`);
    const response = await client.response();
    t.match(response, /^HTTP\/1\.1 413 /);
    t.match(response, /\r\nconnection: close\r\n/i);
  },
);

t.test(
  "a client that writes a large body to its end before it reads gets its 413 too",
  async (t) => {
    const { port } = await listening(t, { handle: (exchange) => void tellBody(exchange, 1000) });
    const client = new RawClient(t, port);
    client.socket.pause();
    const bytes = 20_000_000;
    client.send("POST / HTTP/1.1", "Host: a", "Connection: close", `Content-Length: ${bytes}`);
    const written = await new Promise<string>((resolve) =>
      client.socket.write(Buffer.alloc(bytes), (error) =>
        resolve((error as NodeJS.ErrnoException | null)?.code ?? "written"),
      ),
    );
    t.equal(
      written,
      "written",
      "as clients do that don't read while they write: Python's, for one",
    );
    client.socket.resume();
    t.match(await client.response(), /^HTTP\/1\.1 413 /);
  },
);

t.test("HEAD gets the headers of the answer and no body", async (t) => {
  const { url } = await listening(t, {
    handle: (exchange) => exchange.reply(200, text, "hello", "utf8"),
  });
  const response = await fetch(url, { method: "HEAD" });
  t.same(
    [response.status, response.headers.get("content-length"), await response.text()],
    [200, "5", ""],
  );
});

t.test("headers beyond the bound are refused, and the handler isn't called", async (t) => {
  let handled = 0;
  const { port } = await listening(t, { handle: () => void handled++ });
  const client = new RawClient(t, port).send(
    "GET / HTTP/1.1",
    "Host: a",
    `X-Large: ${"x".repeat(headerBytesMax + 1024)}`,
  );
  t.match(await client.response(), /^HTTP\/1\.1 431 /);
  t.equal(handled, 0);
});

t.test("what isn't HTTP is refused and closed", async (t) => {
  const { port } = await listening(t);
  const client = new RawClient(t, port);
  client.socket.write("\u0000\u0001 garbage\r\n\r\n");
  t.match(await client.response(), /^HTTP\/1\.1 400 /);
});

t.test("every response has a request id and an envelope, even without a handler", async (t) => {
  let handled = 0;
  const { port } = await listening(t, {
    handle: (exchange) => exchange.reply(200, ["connection", "close"], String(++handled), "utf8"),
  });
  const table = [
    [
      "headers too large",
      `GET / HTTP/1.1\r\nHost: a\r\nX-Large: ${"x".repeat(headerBytesMax + 1024)}\r\n\r\n`,
      431,
    ],
    ["no HTTP", "garbage\r\n\r\n", 400],
    ["no host", "GET /health HTTP/1.1\r\n\r\n", 400],
    ["no host, and a body", "POST /v1/embeddings HTTP/1.1\r\nContent-Length: 2\r\n\r\n{}", 400],
    [
      "another expectation",
      "POST /v1/embeddings HTTP/1.1\r\nHost: a\r\nExpect: 200-maybe\r\nContent-Length: 2\r\n\r\n{}",
      417,
    ],
    [
      "a proxy is asked for",
      "CONNECT example.com:443 HTTP/1.1\r\nHost: example.com:443\r\n\r\n",
      501,
    ],
  ] as const;
  for (const [name, request, status] of table) {
    const client = new RawClient(t, port);
    client.socket.write(request);
    const response = await client.response();
    t.ok(response.startsWith(`HTTP/1.1 ${status} `), name);
    t.match(response, /\r\nx-request-id: \S+\r\n/i, name);
    t.match(
      response,
      /\r\n\r\n\{"error":\{"type":"invalid_request_error","message":"[^"]+","code":null,"param":(?:null|"Host")\}\}$/,
      name,
    );
  }
  t.equal(handled, 0);
  const old = new RawClient(t, port);
  old.socket.write("GET / HTTP/1.0\r\n\r\n");
  t.match(await old.response(), /^HTTP\/1\.1 200 [^]*1$/, "HTTP/1.0 may do without a host");
});

t.test(
  "a client that is refused and never closes its half of the connection holds no socket",
  async (t) => {
    const server = net.createServer({ allowHalfOpen: true });
    t.teardown(() => void server.close());
    await once(server.listen(0, "127.0.0.1"), "listening");
    const client = net.connect({
      port: (server.address() as net.AddressInfo).port,
      host: "127.0.0.1",
      allowHalfOpen: true,
    });
    t.teardown(() => void client.destroy());
    const [served] = (await once(server, "connection")) as [net.Socket];
    const closed = once(served, "close");
    refuseUnreadable(
      new Error("an error of Node's parser"),
      served,
      new Lingering({ ...lingeringBounds, ms: 100 }),
    );
    const [answer] = (await once(client, "data")) as [Buffer];
    t.match(answer.toString(), /^HTTP\/1\.1 400 /);
    await closed;
    t.equal(client.writableEnded, false);
  },
);

t.test("requests of one client share its connection until the listener closes", async (t) => {
  const { listener, port, next } = await listening(t);
  const client = new RawClient(t, port);
  for (let i = 1; i <= 3; i++) {
    client.send("GET / HTTP/1.1", "Host: a");
    (await next()).reply(200, text, `answer ${i}`, "utf8");
    await client.until(() => client.received.endsWith(`answer ${i}`));
  }
  t.equal(client.closed, false);
  const closed = listener.close({ idleMs: 0, runningMs: 60_000 });
  await client.until(() => client.closed);
  await closed;
  await t.rejects(fetch(listener.url), "nothing listens any more");
});

t.test("with a successor, an idle connection's next answer has Connection: close", async (t) => {
  const { listener, port, next } = await listening(t);
  const [idle, running] = [new RawClient(t, port), new RawClient(t, port)];
  idle.send("GET / HTTP/1.1", "Host: a");
  (await next()).reply(200, text, "one", "utf8");
  await idle.until(() => idle.received.endsWith("one"));
  running.send("GET / HTTP/1.1", "Host: a");
  const exchange = await next();
  const closed = listener.close({ idleMs: 60_000, runningMs: 60_000 });
  exchange.begin(200, text);
  exchange.end();
  t.match(await running.response(), /connection: close/i, "and what ran is told, too");
  await t.rejects(fetch(listener.url), "nothing listens any more");
  t.notOk(idle.closed);
  t.notMatch(idle.received, /connection: close/i);
  idle.send("GET / HTTP/1.1", "Host: a");
  (await next()).reply(200, text, "two", "utf8");
  t.match(await idle.response(), /connection: close[^]*two$/i);
  await closed;
});

t.test("of two closes the quicker one holds", async (t) => {
  const { listener, port, next } = await listening(t);
  const [idle, running] = [new RawClient(t, port), new RawClient(t, port)];
  await once(idle.socket, "connect");
  running.send("GET / HTTP/1.1", "Host: a");
  const exchange = await next();
  const first = listener.close({ idleMs: 60_000, runningMs: 60_000 });
  t.notOk(exchange.isCutByStop);
  await listener.close({ idleMs: 0, runningMs: 0 });
  await first;
  t.ok(exchange.isCutByStop);
  await idle.until(() => idle.closed);
});

t.test("pipelined requests that have begun are answered before a connection closes", async (t) => {
  const { listener, port, next } = await listening(t);
  const client = new RawClient(t, port);
  client.send("GET /1 HTTP/1.1", "Host: a");
  client.send("GET /2 HTTP/1.1", "Host: a");
  const [first, second] = [await next(), await next()];
  const closed = listener.close({ idleMs: 60_000, runningMs: 60_000 });
  first.reply(200, text, "first", "utf8");
  await client.until(() => client.received.endsWith("first"));
  second.reply(200, text, "second", "utf8");
  t.match(await client.response(), /first[^]*connection: close[^]*second$/i);
  await closed;
});

t.test("behind an answer that is the last of its connection nothing is a request", async (t) => {
  const later = "POST /later HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\nabc";
  const length = (head: string): string => `POST /1 HTTP/1.1\r\nHost: a\r\n${head}\r\n\r\n`;
  const open = length("Content-Length: 100000");
  const expecting = length("Expect: 100-continue\r\nContent-Length: 5");
  const body = "x".repeat(100_000);
  const table: readonly (readonly [name: string, first: string, rest: string])[] = [
    ["at once", `${open}${body}${later}`, ""],
    ["with the rest of its body", open, `${body}${later}`],
    ["an expectation", open, `${body}${later.replace("Host", "Expect: 100-continue\r\nHost")}`],
    ["a handshake", open, `${body}${handshake.join("\r\n")}\r\n\r\n`],
    ["CONNECT", open, `${body}CONNECT a:1 HTTP/1.1\r\nHost: a\r\n\r\n`],
    ["what can't be read", open, `${body}\0\r\n\r\n`],
    ["chunked", `${length("Transfer-Encoding: chunked")}1\r\na\r\n0\r\n\r\n${later}`, ""],
    ["body that nobody waited for", expecting, `hello${later}`],
    ["unknown expectation", `${length("Expect: a")}${later}`, ""],
    ["no host", `${length("").replace("Host: a", "A: a")}${later}`, ""],
  ];
  for (const [name, first, rest] of table) {
    const paths: string[] = [];
    const handle = (exchange: Exchange): void => {
      paths.push(exchange.path);
      exchange.reply(401, text, "no", "utf8");
    };
    const { port } = await listening(t, { handle });
    const client = new RawClient(t, port);
    client.socket.write(first);
    if (rest !== "") {
      await client.until(() => client.received.endsWith("no"));
      client.socket.write(rest);
    }
    const answer = await client.response();
    t.match(answer, /^HTTP\/1\.1 4\d\d [^]*connection: close/i, name);
    t.equal(answer.split("HTTP/1.1").length, 2, name);
    t.notOk(paths.includes("/later"), name);
    t.notOk(paths.includes("/v1/realtime"), name);
  }
});

t.test("nor does what follows disturb the answers that its connection waits for", async (t) => {
  const get = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n";
  const table: readonly (readonly [name: string, sent: string, statuses: readonly string[]])[] = [
    ["what can't be read", get, ["200"]],
    ["the client's own last request", get.replace("Host", "Connection: close\r\nHost"), ["200"]],
    ["a handshake too early", `${get}${handshake.join("\r\n")}\r\n\r\n`, ["200", "400"]],
  ];
  for (const [name, sent, statuses] of table) {
    const { port, next } = await listening(t);
    const client = new RawClient(t, port);
    client.socket.write(`${sent}\u0081\u0085frames${get}`);
    const exchange = await next();
    // Not before all of it was looked at.
    await new Promise((resolve) => setImmediate(resolve));
    exchange.reply(200, text, "answer", "utf8");
    const received = await client.response();
    t.same(
      Array.from(received.matchAll(/HTTP\/1\.1 (\d+)/g), ([, status]) => status),
      statuses,
      name,
    );
    t.match(received, /connection: close/i, name);
  }
});

t.test("a connection ends with a stream behind which something can't be read", async (t) => {
  const { port, next } = await listening(t);
  const client = new RawClient(t, port).send("GET / HTTP/1.1", "Host: a");
  const exchange = await next();
  exchange.begin(200, text);
  exchange.write(Buffer.from("begun, "));
  await client.until(() => client.received.includes("begun"));
  client.socket.write("\0\0\r\n\r\n");
  // The echo of the server's own turn: it has looked at those bytes.
  const other = new RawClient(t, port).send("GET /other HTTP/1.1", "Host: a");
  (await next()).reply(200, text, "other", "utf8");
  await other.until(() => other.received.endsWith("other"));
  exchange.write(Buffer.from("ended"));
  exchange.end();
  const received = await client.response();
  t.match(received, /^HTTP\/1\.1 200 [^]*begun, [^]*ended\r\n0\r\n\r\n$/);
});

t.test("a client that leaves behind what can't be read is gone", async (t) => {
  const get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  for (const sent of [
    `${get}GET /half HT`,
    `${get}\0\0\r\n\r\n`,
    `${get.replace("Host", "Connection: close\r\nHost")}more`,
  ]) {
    const { port, next } = await listening(t);
    const client = new RawClient(t, port);
    client.socket.write(sent);
    const exchange = await next();
    const gone = new Promise<void>((resolve) => exchange.onGone(resolve));
    client.socket.end();
    await gone;
    t.equal(await client.response(), "", sent);
  }
});

t.test("a refusal of what follows isn't taken for the answer to a request before it", async (t) => {
  const first = "GET /1 HTTP/1.1\r\nHost: a\r\n\r\n";
  const post = "POST /2 HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n";
  const table: readonly (readonly [name: string, second: string])[] = [
    ["a body that comes late", post],
    ["a body that can't be read", `${post}x\r\n`],
  ];
  for (const [name, second] of table) {
    const handle = (exchange: Exchange): void => {
      if (exchange.path === "/2") exchange.awaitBody(20, () => {});
    };
    const { port } = await listening(t, { handle });
    const client = new RawClient(t, port);
    client.socket.write(first + second);
    t.equal(await client.response(), "", name);
  }
});

t.test("of requests that arrive together after a close one is answered", async (t) => {
  const { listener, port, next } = await listening(t);
  const client = new RawClient(t, port).send("GET /first HTTP/1.1", "Host: a");
  const first = await next();
  const closing = listener.close({ idleMs: 0, runningMs: 60_000 });
  client.send("GET /second HTTP/1.1", "Host: a", "", "GET /third HTTP/1.1", "Host: a");
  const second = await next();
  const third = next().then(() => t.fail("it isn't served: nobody could be answered"));
  first.reply(200, text, "first", "utf8");
  second.reply(200, text, "second", "utf8");
  t.match(await client.response(), /first[^]*connection: close[^]*second$/i);
  await closing;
  await Promise.race([third, new Promise((resolve) => setImmediate(resolve))]);
});

t.test("a connection without any request doesn't delay a close", async (t) => {
  const { listener, port } = await listening(t);
  const client = new RawClient(t, port);
  await once(client.socket, "connect");
  await listener.close({ idleMs: 0, runningMs: 60_000 });
  await client.until(() => client.closed);
});

t.test("a close lets a request in flight end, and its connection with it", async (t) => {
  const { listener, port, next } = await listening(t);
  const client = new RawClient(t, port).send("GET / HTTP/1.1", "Host: a");
  const exchange = await next();
  let closed = false;
  const closing = listener.close({ idleMs: 0, runningMs: 60_000 }).then(() => (closed = true));
  exchange.begin(200, text);
  exchange.write(Buffer.from("one"));
  await client.until(() => client.received.includes("one"));
  t.equal(closed, false);
  exchange.write(Buffer.from("two"));
  exchange.end();
  await closing;
  await client.until(() => client.closed);
  t.match(client.received, /one[^]*two/);
});

t.test(
  "a request on an open connection after a close is answered, with the header that it is the last",
  async (t) => {
    const { listener, port, next } = await listening(t);
    const client = new RawClient(t, port).send("GET /first HTTP/1.1", "Host: a");
    const first = await next();
    const closing = listener.close({ idleMs: 0, runningMs: 60_000 });
    client.send("GET /second HTTP/1.1", "Host: a");
    const second = await next();
    first.reply(200, text, "first", "utf8");
    second.reply(200, text, "second", "utf8");
    await closing;
    t.match(await client.response(), /first[^]*connection: close[^]*second/i);
  },
);

t.test(
  "a request that outlasts the grace of a close is cut, and the close ends once it has been notified",
  async (t) => {
    const { listener, port, next } = await listening(t);
    const client = new RawClient(t, port).send("GET / HTTP/1.1", "Host: a");
    const exchange = await next();
    let notified = 0;
    const gone = new Promise<void>((resolve) =>
      exchange.onGone(() => {
        notified++;
        resolve();
      }),
    );
    exchange.begin(200, text);
    exchange.write(Buffer.from("one"));
    await listener.close({ idleMs: 0, runningMs: 20 });
    t.equal(notified, 1, "so that it is settled before the proxy leaves");
    await gone;
    await client.until(() => client.closed);
    t.same([exchange.gone, exchange.isCutByStop], [true, true]);
  },
);

t.test("a stop ends a stream with an error in its dialect, and cuts what has none", async (t) => {
  const { listener, port, next } = await listening(t);
  const events = "text/event-stream";
  const stopping = /the gateway is stopping/;
  const cases = [
    ["/v1/chat/completions", events, "data: 1\n\n", /data: \{"error":\{.*stopping.*\}\n\n\r\n$/],
    ["/v1/completions", events, ": alive\n\n", stopping],
    ["/v1/messages", events, "", /event: error\ndata: \{"type":"error","error":\{.*stopping/],
    ["/v1/responses", events, "\n\n", /event: error\n.*stopping.*\n\nevent: response.failed\n/],
    ["/v1beta/models/m:streamGenerateContent", events, "data: 1\r\n\r\n", /"code":503,.*stopping/],
    ["/p/openai/v1/chat/completions", events, "data: 1\n\n", stopping],
    ["/v1/chat/completions", events, "data: 1", null],
    ["/v1/chat/completions", "application/json", "{\n\n", null],
    ["/v1/audio/speech", events, "data: 1\n\n", stopping],
    ["/v1/images/edits", events, "data: 1\n\n", stopping],
    ["/p/google/v1beta/models/m:streamGenerateContent", events, "\n\n", /"code":503,.*stopping/],
    ["/mcp/tool", events, "data: 1\n\n", /\ndata: \{"jsonrpc":"2.0","id":7,"error":.*stopping/],
    ["/mcp/notifications", events, "data: 1\n\n", null],
    ["/v1/files", events, "data: 1\n\n", null],
  ] as const;
  const clients: RawClient[] = [];
  const gone: Promise<void>[] = [];
  for (const [path, type, written] of cases) {
    const client = new RawClient(t, port).send(`GET ${path} HTTP/1.1`, "Host: a");
    const exchange = await next();
    if (path === "/mcp/tool") exchange.rpcId = 7;
    gone.push(new Promise((resolve) => exchange.onGone(resolve)));
    exchange.begin(200, ["content-type", type]);
    if (written !== "") exchange.write(Buffer.from(written));
    await client.until(() => client.received.includes(written || "\r\n\r\n"));
    clients.push(client);
  }
  await listener.close({ idleMs: 0, runningMs: 0 });
  await Promise.all(gone);
  for (const [i, [path, , , expected]] of cases.entries()) {
    const client = clients[i]!;
    await client.until(() => client.closed);
    if (expected === null) t.notMatch(client.received, stopping, path);
    else t.match(client.received, expected, path);
    t.notMatch(client.received, /\r\n0\r\n\r\n$/, "its body has no end");
  }
});

t.test(
  "a stop answers what has no answer yet with a 503, and its handler is notified",
  async (t) => {
    const { listener, port, next } = await listening(t);
    const cases = [
      [
        "/v1/chat/completions",
        /\{"error":\{"type":"internal_error","message":"the gateway is stopp/,
      ],
      [
        "/v1/messages",
        /\{"type":"error","error":\{"type":"api_error","message":"the gateway is sto/,
      ],
      ["/v1beta/models/m:generateContent", /"code":503,"message":"the gateway.*"UNAVAILABLE"/],
      ["/mcp/server", /\{"jsonrpc":"2.0","id":null,"error":\{"code":-32603,"message":"the gatew/],
      ["/admin/keys", /"message":"the gateway is stopping.*"status_code":503/],
    ] as const;
    const clients: RawClient[] = [];
    const exchanges: Exchange[] = [];
    const gone: Promise<void>[] = [];
    for (const [path] of cases) {
      clients.push(new RawClient(t, port).send(`GET ${path} HTTP/1.1`, "Host: a"));
      const exchange = await next();
      exchanges.push(exchange);
      gone.push(new Promise((resolve) => exchange.onGone(resolve)));
    }
    const closing = listener.close({ idleMs: 0, runningMs: 0 });
    for (const exchange of exchanges) {
      t.same([exchange.gone, exchange.isCutByStop, exchange.hasBegun], [true, true, true]);
      // The provider answers now.
      exchange.begin(200, text);
      exchange.write(Buffer.from("late"));
      exchange.end();
      exchange.reply(200, text, "late", "utf8");
    }
    await closing;
    await Promise.all(gone);
    for (const [i, [path, expected]] of cases.entries()) {
      const client = clients[i]!;
      await client.until(() => client.closed);
      t.match(client.received, /^HTTP\/1.1 503 [^]*\r\nretry-after: 1\r\n/i, path);
      t.match(client.received, /\r\nconnection: close\r\n/i, path);
      t.match(client.received, expected, path);
      t.notMatch(client.received, "late", path);
    }
  },
);

t.test("a client that leaves is reported once, at any stage of the request", async (t) => {
  const { port, next } = await listening(t);
  const stages: readonly (readonly [name: string, run: (exchange: Exchange) => void])[] = [
    ["before the answer", () => {}],
    [
      "in the middle of it",
      (exchange) => {
        exchange.begin(200, text);
        exchange.write(Buffer.from("one"));
      },
    ],
    ["after the head", (exchange) => exchange.begin(200, text)],
  ];
  for (const [name, run] of stages) {
    const client = new RawClient(t, port).send("GET / HTTP/1.1", "Host: a");
    const exchange = await next();
    let notified = 0;
    const gone = new Promise<void>((resolve) =>
      exchange.onGone(() => {
        notified++;
        resolve();
      }),
    );
    run(exchange);
    client.socket.destroy();
    await gone;
    t.equal(exchange.gone, true, name);
    exchange.reply(200, text, "unread", "utf8");
    exchange.cut();
    await new Promise((resolve) => setImmediate(resolve));
    t.equal(notified, 1, name);
  }
});

t.test("writing to a client that has left does no harm", async (t) => {
  const { port, next } = await listening(t, { stalledClientMs: 500 });
  const client = new RawClient(t, port).send("GET / HTTP/1.1", "Host: a");
  const exchange = await next();
  const gone = new Promise<void>((resolve) => exchange.onGone(resolve));
  exchange.begin(200, text);
  client.socket.destroy();
  await gone;
  const timers = (): number =>
    process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const before = timers();
  exchange.write(Buffer.from("one"));
  exchange.end();
  await new Promise((resolve) => setImmediate(resolve));
  t.equal(exchange.gone, true);
  t.equal(timers(), before, "and nothing waits for that client to read");
});

t.test("a client that has its complete response isn't reported as gone", async (t) => {
  const { url, port, next } = await listening(t);
  const notified: string[] = [];
  for (const how of ["reply", "stream"] as const) {
    const client = new RawClient(t, port).send("GET / HTTP/1.1", "Host: a", "Connection: close");
    const exchange = await next();
    exchange.onGone(() => notified.push(how));
    if (how === "reply") exchange.reply(200, text, "all", "utf8");
    else {
      exchange.begin(200, text);
      exchange.write(Buffer.from("all"));
      exchange.end();
    }
    t.match(await client.response(), /all/);
  }
  const kept = httpRequest(url, { method: "GET" }).end();
  (await next()).reply(200, text, "all", "utf8");
  await once(kept, "response");
  t.same(notified, []);
});

t.test("a client that leaves in the middle of its body gives a body that is gone", async (t) => {
  const { port, next } = await listening(t);
  const client = new RawClient(t, port).send("POST / HTTP/1.1", "Host: a", "Content-Length: 100");
  client.socket.write("only some");
  const exchange = await next();
  const body = exchange.readBody(1000);
  client.socket.destroy();
  t.same(await body, { ok: false, reason: "gone" });
});

t.test("a body for which there is no memory is refused, and its connection ends", async (t) => {
  const memory = new MemoryLedger(1000);
  const { port, next } = await listening(t, { memory });
  const other = new RawClient(t, port).send("POST / HTTP/1.1", "Host: a", "Content-Length: 900");
  other.socket.write("x".repeat(200));
  const held = await next();
  const reading = held.readBody(10_000);
  await until(() => memory.held > 0);
  for (const length of ["Content-Length: 800", "Transfer-Encoding: chunked"]) {
    const client = new RawClient(t, port).send("POST / HTTP/1.1", "Host: a", length);
    client.socket.write(length.includes("800") ? "x".repeat(700) : `400\r\n${"x".repeat(1024)}`);
    const exchange = await next();
    await tellBody(exchange, 10_000);
    exchange.memory.onHandlerEnd();
    t.match(await client.response(), /connection: close[^]*no_memory$/i);
  }
  other.socket.write("x".repeat(700));
  t.match(await reading, { ok: true }, "the one that was first gets what it needs");
  held.reply(200, text, "all", "utf8");
  await other.until(() => other.received.endsWith("all"));
  t.equal(memory.held, 900, "held as long as its handler runs");
  held.memory.onHandlerEnd();
  t.equal(memory.held, 0);
});

t.test("what a request holds is given back however it ends", async (t) => {
  const memory = new MemoryLedger(10_000);
  const { port, next } = await listening(t, { memory });
  const post = ["POST / HTTP/1.1", "Host: a", "Content-Length: 5"];
  const read = async (exchange: Exchange): Promise<void> => {
    await exchange.readBody(100);
    exchange.memory.take(10);
    exchange.memory.onHandlerEnd();
  };
  const answered = new RawClient(t, port).send(...post, "", "hello");
  const first = await next();
  await read(first);
  t.equal(memory.held, 15);
  first.reply(200, text, "all", "utf8");
  await answered.until(() => answered.received.endsWith("all"));
  await until(() => memory.held === 0);
  const leaving = new RawClient(t, port).send(...post, "", "hello");
  await read(await next());
  leaving.socket.destroy();
  await until(() => memory.held === 0);
  // The second of these waits behind the first, and never has a socket.
  const pipelined = new RawClient(t, port).send(
    ...post,
    "",
    `hello${post.join("\r\n")}`,
    "",
    "hello",
  );
  for (const exchange of [await next(), await next()]) await read(exchange);
  t.equal(memory.held, 30);
  pipelined.socket.destroy();
  await until(() => memory.held === 0);
});

t.test("a body that is awaited, and doesn't come in time, gets 408", async (t) => {
  const { port, next } = await listening(t);
  const post = ["POST / HTTP/1.1", "Host: a", "Content-Length: 5"];
  const slow = new RawClient(t, port).send(...post);
  const exchange = await next();
  const over = new Promise<void>((resolve) => exchange.awaitBody(20, resolve));
  const body = exchange.readBody(100);
  t.match(await slow.response(), /^HTTP\/1.1 408 .*connection: close/s);
  await over;
  t.same(await body, { ok: false, reason: "gone" });
  const quick = new RawClient(t, port).send(...post, "", "hello");
  const second = await next();
  const arrived = new Promise<void>((resolve) => second.awaitBody(20, resolve));
  await tellBody(second, 100);
  await arrived;
  await quick.until(() => quick.received.endsWith("read 5"));
});

t.test(
  "a stream's head doesn't wait for its first byte, and its pieces don't wait for each other",
  async (t) => {
    const { port, next } = await listening(t);
    const client = new RawClient(t, port).send("GET / HTTP/1.1", "Host: a");
    const exchange = await next();
    exchange.begin(200, ["content-type", "text/event-stream", "X-One", "1"]);
    t.equal(exchange.hasBegun, true);
    await client.until(() => /\r\nX-One: 1\r\n[^]*\r\n\r\n$/.test(client.received));
    t.match(client.received, /transfer-encoding: chunked/i);
    for (const piece of ["one", "two"]) {
      exchange.write(Buffer.from(piece));
      await client.until(() => client.received.includes(piece));
    }
    exchange.end();
    await client.until(() => client.received.endsWith("0\r\n\r\n"));
  },
);

t.test("a response that is cut is seen as cut", async (t) => {
  const { url, next } = await listening(t);
  const responding = fetch(url);
  const exchange = await next();
  exchange.begin(200, text);
  exchange.write(Buffer.from("one"));
  const response = await responding;
  exchange.cut();
  await t.rejects(response.text());
});

t.test(
  "a client that reads slowly is waited for, and one drain follows when it has caught up",
  async (t) => {
    const { port, next } = await listening(t);
    const client = new RawClient(t, port).send("GET / HTTP/1.1", "Host: a");
    client.socket.pause();
    const exchange = await next();
    exchange.begin(200, text);
    const piece = Buffer.alloc(1024 * 1024, "x");
    let drains = 0;
    for (let round = 1; round <= 2; round++) {
      client.socket.pause();
      while (exchange.write(piece));
      const drained = new Promise<void>((resolve) =>
        exchange.onDrain(() => {
          drains++;
          resolve();
        }),
      );
      exchange.onDrain(() => {
        drains += 100;
      });
      client.socket.resume();
      await drained;
      t.equal(drains, round, "once each time");
    }
    exchange.end();
    await client.until(() => client.received.endsWith("0\r\n\r\n"));
  },
);

t.test(
  "a client that stops reading is cut after a timeout, whether its response is complete by then or not",
  async (t) => {
    const large = Buffer.alloc(32 * 1024 * 1024, "x");
    const responses: readonly (readonly [name: string, respond: (exchange: Exchange) => void])[] = [
      [
        "a stream that goes on",
        (exchange) => {
          exchange.begin(200, text);
          exchange.write(large);
        },
      ],
      [
        "a stream that has ended",
        (exchange) => {
          exchange.begin(200, text);
          exchange.write(large);
          exchange.end();
        },
      ],
      [
        "a whole reply",
        (exchange) => exchange.reply(200, text, large.toString("latin1"), "latin1"),
      ],
    ];
    for (const [name, respond] of responses) {
      const { port, next } = await listening(t, { stalledClientMs: 50 });
      const client = new RawClient(t, port).send("GET / HTTP/1.1", "Host: a");
      client.socket.pause();
      const exchange = await next();
      exchange.onGone(() => {});
      respond(exchange);
      await until(() => exchange.gone);
      t.pass(name);
      client.socket.destroy();
    }
  },
);

t.test("answers that a client doesn't read hold none of its requests for ever", async (t) => {
  const get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
  const short = "x".repeat(100);
  const long = "x".repeat(20 * 1024 * 1024);
  await t.test("short ones, of which a few bytes are left", async (t) => {
    const connections = new ConnectionRoom<net.Socket>(100);
    const handle = (exchange: Exchange): void => exchange.reply(200, text, short, "utf8");
    const { port } = await listening(t, { stalledClientMs: 50, connections, handle });
    const client = new RawClient(t, port);
    client.socket.pause();
    await until(() => connections.open === 1);
    const [served] = connections.all();
    while (served!.writableLength === 0) {
      client.socket.write(get.repeat(20));
      await new Promise((resolve) => setImmediate(resolve));
    }
    t.ok(served!.writableLength < 64 * 1024);
    await until(() => connections.open === 0);
    t.equal(connections.requests, 0);
  });
  await t.test("a long one behind others", async (t) => {
    const connections = new ConnectionRoom<net.Socket>(100);
    const { port, next } = await listening(t, { stalledClientMs: 50, connections });
    const client = new RawClient(t, port);
    client.socket.pause();
    client.socket.write(get.repeat(2));
    const [first, second] = [await next(), await next()];
    second.reply(200, text, long, "latin1");
    // It can't be read yet, so that isn't what is waited for.
    await new Promise((resolve) => setTimeout(resolve, 120));
    t.equal(connections.open, 1);
    first.reply(200, text, short, "latin1");
    await until(() => connections.open === 0);
    t.equal(connections.requests, 0);
  });
});

t.test("a short reply is read without a timer", async (t) => {
  const { port, next } = await listening(t);
  const client = new RawClient(t, port).send("GET / HTTP/1.1", "Host: a");
  const exchange = await next();
  const timers = (): number =>
    process.getActiveResourcesInfo().filter((name) => name === "Timeout").length;
  const before = timers();
  exchange.reply(200, text, "x".repeat(16 * 1024), "latin1");
  t.ok(timers() <= before);
  await client.until(() => client.received.endsWith("x"));
});

t.test("a repeated header is recognized as such, in whatever case", async (t) => {
  const { port, next } = await listening(t);
  new RawClient(t, port).send("GET / HTTP/1.1", "Host: a", "X-Tag: 1", "x-tag: 2", "X-One: a, b");
  const exchange = await next();
  t.same(
    [exchange.isRepeated("x-tag"), exchange.isRepeated("x-one"), exchange.isRepeated("absent")],
    [true, false, false],
  );
  exchange.cut();
});

t.test("a client that pipelines and leaves is gone for every one of its requests", async (t) => {
  const { port, next } = await listening(t);
  const client = new RawClient(t, port);
  client.socket.write("GET /1 HTTP/1.1\r\nHost: a\r\n\r\n".repeat(3));
  const exchanges = [await next(), await next(), await next()];
  const gone = exchanges.map(
    (exchange) => new Promise<void>((resolve) => exchange.onGone(resolve)),
  );
  exchanges[1]!.begin(200, text);
  client.socket.destroy();
  await Promise.all(gone);
  t.ok(exchanges.every((exchange) => exchange.gone));
});

t.test(
  "a client that sends its header or its body too slowly gets a 408, whether or not the body is read",
  async (t) => {
    const { port, next } = await listening(t, {
      timeouts: { headersMs: 50, requestMs: 100, everyMs: 20 },
    });
    const slowHeader = new RawClient(t, port);
    slowHeader.socket.write("GET / HTTP/1.1\r\nHost: a\r\nX-A: ");
    t.match(
      await slowHeader.response(),
      /^HTTP\/1\.1 408 Request Timeout\r\n[^]*the request did not come in time/,
    );
    const slowBody = new RawClient(t, port);
    slowBody.socket.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nsome");
    const exchange = await next();
    const read = (async () => {
      for await (const piece of exchange.readPieces(1000)) t.equal(piece.toString(), "some");
    })();
    await t.rejects(read, { name: "UploadGone" });
    t.match(await slowBody.response(), /^HTTP\/1\.1 408 /);
    const answered = new RawClient(t, port);
    answered.socket.write("POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 100\r\n\r\nsome");
    const other = await next();
    other.begin(200, text);
    other.write(Buffer.from("half an answer"));
    t.notMatch(await answered.response(), /408/, "nothing is put into an answer that has begun");
  },
);

t.test(
  "a body that is refused while it is read in pieces is discarded, and its answer doesn't wait",
  async (t) => {
    const { port, next } = await listening(t);
    const client = new RawClient(t, port).send(
      "POST / HTTP/1.1",
      "Host: a",
      "Content-Length: 8",
      "",
      "in-pieces".slice(0, 4),
    );
    const exchange = await next();
    for await (const piece of exchange.readPieces(1000)) {
      t.ok(piece.length > 0);
      break;
    }
    exchange.reply(429, text, "no", "utf8");
    // Turns, not time: waiting for more of the body would take tens of thousands.
    let turns = 0;
    await until(() => client.received.endsWith("no") || ++turns > 2000);
    t.match(client.received, /no$/, "it isn't waited for");
  },
);

/** The head of a WebSocket's handshake. */
const handshake = [
  "GET /v1/realtime?model=m HTTP/1.1",
  "Host: a",
  "Connection: Upgrade",
  "Upgrade: websocket",
];

t.test("a handshake that is refused gets a plain answer, and its connection ends", async (t) => {
  const { port, next } = await listening(t);
  const client = new RawClient(t, port).send(...handshake);
  const exchange = await next();
  t.ok(exchange.webSocket);
  t.equal(exchange.path, "/v1/realtime");
  exchange.reply(429, text, "no", "utf8");
  t.match(await client.response(), /^HTTP\/1\.1 429 [^]*connection: close[^]*\r\n\r\nno$/i);
});

t.test(
  "a handshake that is pipelined behind other requests is refused in its turn, and what follows is no request",
  async (t) => {
    const { port, next } = await listening(t);
    const client = new RawClient(t, port);
    const get = ["GET /first HTTP/1.1", "Host: a"].join("\r\n");
    client.socket.write(
      `${get}\r\n\r\n${get}\r\n\r\n${handshake.join("\r\n")}\r\n\r\n${get}\r\n\r\n`,
    );
    const exchanges = [await next(), await next()];
    for (const exchange of exchanges.reverse()) exchange.reply(200, text, "answer", "utf8");
    const received = await client.response();
    t.same(received.match(/HTTP\/1.1 \d+/g), ["HTTP/1.1 200", "HTTP/1.1 200", "HTTP/1.1 400"]);
    t.match(received, /before earlier requests are answered/);
  },
);

t.test(
  "a client that leaves before its tunnel is open is reported, and an error of its socket is ignored",
  async (t) => {
    const { port, next } = await listening(t);
    for (const leave of [
      (socket: net.Socket) => void socket.end(),
      (socket: net.Socket) => void socket.resetAndDestroy(),
    ]) {
      const client = new RawClient(t, port).send(...handshake);
      const exchange = await next();
      const gone = new Promise<void>((resolve) => exchange.onGone(resolve));
      leave(client.socket);
      await gone;
      t.ok(exchange.gone);
      exchange.reply(200, text, "too late", "utf8");
    }
  },
);

t.test(
  "bytes that arrive before a tunnel is open aren't lost, and no more than a bound of them are read",
  async (t) => {
    const { port, next } = await listening(t);
    const client = new RawClient(t, port);
    client.socket.write(`${handshake.join("\r\n")}\r\n\r\nearly `);
    const exchange = await next();
    client.socket.write("later ");
    const flood = Buffer.alloc(8 * 1024 * 1024, "x");
    client.socket.write(flood);
    const { socket } = exchange.webSocket!;
    while (!socket.isPaused()) await new Promise((resolve) => setImmediate(resolve));
    t.ok(client.socket.writableLength > 0, "the rest waits with the client");
    exchange.webSocket!.takeOver();
    const pieces: Buffer[] = [];
    let bytes = 0;
    socket.on("data", (piece: Buffer) => {
      pieces.push(piece);
      bytes += piece.length;
      if (bytes >= flood.length + 12) socket.end("good bye");
    });
    socket.resume();
    t.equal(await client.response(), "good bye");
    t.equal(Buffer.concat(pieces).toString("latin1", 0, 16), "early later xxxx");
  },
);

t.test("tunnels are cut with everything else when the grace of a stop is over", async (t) => {
  const { listener, port, next } = await listening(t);
  const client = new RawClient(t, port).send(...handshake);
  const exchange = await next();
  exchange.webSocket!.takeOver();
  await listener.close({ idleMs: 0, runningMs: 20 });
  await client.until(() => client.closed);
  t.ok(exchange.isCutByStop);
});

t.test("an address that is taken is refused with the operating system's reason", async (t) => {
  const { port } = await listening(t);
  await t.rejects(
    listenHttp({
      listen: { host: "127.0.0.1", port },
      connections: new ConnectionRoom(1),
      memory: new MemoryLedger(1),
      stalledClientMs: 1000,
      handle: () => {},
    }),
    { code: "EADDRINUSE" },
  );
});

t.test("the listener says where it listens, on IPv6 in brackets", async (t) => {
  const { url } = await listening(t);
  t.match(url, /^http:\/\/127\.0\.0\.1:\d+$/);
  const six = await listenHttp({
    listen: { host: "::1", port: 0 },
    connections: new ConnectionRoom(1),
    memory: new MemoryLedger(1),
    stalledClientMs: 1000,
    handle: () => {},
  }).catch(() => null);
  if (six === null) return t.comment("this machine has no IPv6");
  t.match(six.url, /^http:\/\/\[::1\]:\d+$/);
  await six.close({ idleMs: 0, runningMs: 0 });
});

t.test(
  "near the bound the connection that has been idle longest makes room, and none that is at work",
  async (t) => {
    const connections = new ConnectionRoom<net.Socket>(8);
    const { port, next } = await listening(t, { connections });
    const working = new RawClient(t, port).send("GET /work HTTP/1.1", "Host: x");
    const request = await next();
    // One that has had its answer, one whose head never ends, and those that send nothing.
    const answered = new RawClient(t, port).send("GET /once HTTP/1.1", "Host: x");
    (await next()).reply(200, text, "once", "utf8");
    await answered.until(() => answered.received.endsWith("once"));
    const halting = new RawClient(t, port);
    halting.socket.write("GET /slow HTTP/1.1\r\nHo");
    const silent: RawClient[] = [];
    for (let i = 0; i < 30; i++) {
      const client = new RawClient(t, port);
      silent.push(client);
      await once(client.socket, "connect");
    }
    const probe = new RawClient(t, port).send("GET /ready HTTP/1.1", "Host: x");
    (await next()).reply(200, text, "ready", "utf8");
    await probe.until(() => probe.received.endsWith("ready"));
    for (const closed of [answered, halting, ...silent.slice(0, 20)]) await closed.response();
    t.notOk(working.closed);
    t.ok(connections.open <= 8 + 4, `${connections.open} are open`);
    request.reply(200, text, "done", "utf8");
    await working.until(() => working.received.endsWith("done"));
    t.equal(connections.requests, 0);
  },
);

t.test("a request counts until its answer is complete, a tunnel until it is closed", async (t) => {
  const connections = new ConnectionRoom<net.Socket>(2);
  const { port, next } = await listening(t, { connections });
  const client = new RawClient(t, port)
    .send("GET /1 HTTP/1.1", "Host: x")
    .send("GET /2 HTTP/1.1", "Host: x");
  const first = await next();
  const second = await next();
  t.same([connections.open, connections.requests, connections.isFull], [1, 2, false]);
  const tunnel = new RawClient(t, port).send(
    "GET /v1/realtime HTTP/1.1",
    "Host: x",
    "Connection: Upgrade",
    "Upgrade: websocket",
    "Sec-WebSocket-Version: 13",
    "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
  );
  await next();
  t.ok(connections.isFull);
  first.reply(200, text, "1", "utf8");
  second.reply(200, text, "two", "utf8");
  await client.until(() => client.received.endsWith("two"));
  tunnel.socket.destroy();
  client.socket.destroy();
  while (connections.open > 0) await new Promise((resolve) => setImmediate(resolve));
  t.equal(connections.requests, 0);
});

/** Opens 600 connections at once, prints how many the kernel took, and ends. */
const openMany = `
const net = require("node:net");
let taken = 0;
for (let i = 0; i < 600; i++)
  net.connect(Number(process.argv[1]), "127.0.0.1", () => {
    if (++taken === 600) finish();
  }).on("error", () => {});
setTimeout(finish, 5000);
function finish() {
  process.stdout.write(String(taken));
  process.exit();
}
`;

for (const [where, bind] of [
  ["a socket of its own", () => null],
  ["a socket that is handed over", () => bindSocket("127.0.0.1", 0)],
] as const)
  t.test(`while a proxy is busy, ${where} keeps more connections than Node asks for`, async (t) => {
    const bound = await bind();
    t.teardown(() => bound?.close());
    const { port } = await listening(t, bound === null ? {} : { listen: { fd: bound.fd } });
    // Nobody accepts meanwhile.
    const opened = spawnSync(process.execPath, ["--eval", openMany, String(port)]);
    t.equal(opened.stdout.toString(), "600");
  });

const postHead = ["POST / HTTP/1.1", "Host: a"];

t.test("a client that waits with its body gets 100 Continue once the body is read", async (t) => {
  const { port, next } = await listening(t);
  const expecting = [...postHead, "Expect: 100-continue", "Content-Length: 5"];
  const go = "HTTP/1.1 100 Continue\r\n\r\n";
  const wholly = (exchange: Exchange): Promise<void> => tellBody(exchange, 100);
  const piecewise = async (exchange: Exchange): Promise<void> => {
    let bytes = 0;
    for await (const piece of exchange.readPieces(100)) bytes += piece.length;
    exchange.reply(200, text, `read ${bytes}`, "utf8");
  };
  for (const read of [wholly, piecewise]) {
    const client = new RawClient(t, port).send(...expecting);
    const exchange = await next();
    t.equal(client.received, "");
    const over = read(exchange);
    await client.until(() => client.received === go);
    client.socket.write("hello");
    await over;
    await client.until(() => client.received.endsWith("read 5"));
    t.equal(client.received.split("HTTP/1.1").length, 3, "it is told once");
    client.send(...postHead, "Content-Length: 0");
    const following = await next();
    following.reply(200, text, "and on", "utf8");
    await client.until(() => client.received.endsWith("and on"));
  }
});

t.test("a client that waits with an unwanted body gets no 100 Continue", async (t) => {
  const table: readonly (readonly [name: string, header: string, (of: Exchange) => unknown])[] = [
    [
      "it is refused without a look",
      "Content-Length: 5",
      (exchange) => exchange.reply(401, text, "no", "utf8"),
    ],
    ["it announces too much", "Content-Length: 101", (exchange) => tellBody(exchange, 100)],
    [
      "it announces too much for who reads in pieces",
      "Content-Length: 101",
      async (exchange) => {
        const pieces = exchange.readPieces(100)[Symbol.asyncIterator]();
        await t.rejects(pieces.next(), { name: "UploadTooLarge" });
        exchange.reply(413, text, "too_large", "utf8");
      },
    ],
    [
      "nobody can decode it",
      "Content-Encoding: x\r\nContent-Length: 5",
      (exchange) => tellBody(exchange, 100),
    ],
    [
      "in chunks",
      "Transfer-Encoding: chunked",
      (exchange) => exchange.reply(401, text, "no", "utf8"),
    ],
  ];
  const { port, next } = await listening(t);
  for (const [name, header, answer] of table) {
    const client = new RawClient(t, port).send(...postHead, "Expect: 100-continue", header);
    await answer(await next());
    await client.until(() => client.received.includes("\r\n\r\n"));
    t.match(client.received, /^HTTP\/1\.1 4\d\d /, name);
    t.match(client.received, /\r\nconnection: close\r\n/i, "what follows may be the body or not");
    client.socket.end();
    t.notMatch(await client.response(), / 100 /, name);
  }
});

type Framing = readonly (readonly [name: string, begin: string, fill: string])[];

/** Sends bodies whose framing never ends; returns the answers, and how much was sent for each. */
async function endlessFraming(
  t: Test,
  table: Framing,
  { timeouts, memory }: { timeouts?: ListenerTimes; memory: MemoryLedger },
): Promise<readonly { readonly name: string; readonly answer: string; readonly sent: number }[]> {
  const { port, next } = await listening(t, {
    memory,
    ...(timeouts === undefined ? {} : { timeouts }),
  });
  return Promise.all(
    table.map(async ([name, begin, fill]) => {
      const client = new RawClient(t, port).send(...postHead, "Transfer-Encoding: chunked");
      const exchange = await next();
      const read = exchange.readBody(1e9);
      client.socket.write(begin);
      const piece = fill.repeat(1024);
      let sent = 0;
      while (client.received === "" && !client.closed) {
        await new Promise<unknown>((resolve) => client.socket.write(piece, resolve));
        sent += piece.length;
      }
      client.socket.end();
      t.match(await read, { ok: false, reason: "gone" }, name);
      exchange.memory.onHandlerEnd();
      return { name, answer: client.received, sent };
    }),
  );
}

t.test("extensions of chunks, and trailers, are bounded as a header is", async (t) => {
  const memory = new MemoryLedger(1e9);
  const table = [
    ["an extension", "1;", "a"],
    ["its value", "1;a=", "a"],
    ["its quoted value", '1;a="', "a"],
    ["extensions", "1", ";a=b"],
    ["an extension of the last chunk", "0;", "a"],
    ["a trailer's name", "0\r\n", "a"],
    ["a trailer", "0\r\na: ", "a"],
    ["trailers", "0\r\n", "a: b\r\n"],
  ] as const;
  for (const { name, answer, sent } of await endlessFraming(t, table, { memory })) {
    const refused = name.includes("trailer")
      ? /^HTTP\/1\.1 431 [^]*the header is larger than 32768 bytes/
      : /^HTTP\/1\.1 413 [^]*the extensions of a chunk are larger than 16384 bytes/;
    t.match(answer, refused, name);
    // What the kernel has taken before the answer is sent, too.
    t.ok(sent <= 16 * 1024 * 1024, `${name}: after ${sent} bytes`);
  }
  await until(() => memory.held === 0);
});

t.test("framing that isn't counted ends with the time of the request", async (t) => {
  const memory = new MemoryLedger(1e9);
  const table = [
    ["zeros before a size", "", "0"],
    ["an extension of each chunk", "", "1;abcdef\r\nx\r\n"],
  ] as const;
  const timeouts = { headersMs: 200, requestMs: 200, everyMs: 20 };
  for (const { name, answer } of await endlessFraming(t, table, { timeouts, memory }))
    t.match(answer, /^HTTP\/1\.1 408 /, name);
  await until(() => memory.held === 0);
});

t.test("a burst of requests on kept connections begins in slices, in several turns", async (t) => {
  let turn = 0;
  let isOver = false;
  const count = (): void => {
    turn++;
    if (!isOver) setImmediate(count);
  };
  const begun = new Map<number, number>();
  const exchanges: Exchange[] = [];
  const { port } = await listening(t, {
    handle(exchange) {
      begun.set(turn, (begun.get(turn) ?? 0) + 1);
      exchanges.push(exchange);
    },
  });
  const clients = Array.from({ length: 200 }, () => new RawClient(t, port));
  const answerAll = async (reply: string): Promise<void> => {
    for (const client of clients) client.send("GET /v1/models HTTP/1.1", "host: a");
    await until(() => exchanges.length === clients.length);
    for (const exchange of exchanges.splice(0)) exchange.reply(200, text, reply, "utf8");
    await Promise.all(clients.map((client) => client.until(() => client.received.endsWith(reply))));
  };
  // Node accepts one connection in a turn.
  await answerAll("first");
  begun.clear();
  count();
  await answerAll("second");
  isOver = true;
  // The first few, a slice, and the next slice at the end of the turn.
  const most = Math.max(...begun.values());
  t.ok(most <= 3 * beginsPerTurn, `${most} began in one turn`);
});

t.test("a client that doesn't finish its TLS handshake is disconnected", async (t) => {
  const directory = t.testdir();
  const [key, cert] = [join(directory, "key.pem"), join(directory, "cert.pem")];
  const words = `req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=localhost -keyout ${key} -out ${cert}`;
  if (spawnSync("openssl", words.split(" "), { stdio: "ignore" }).status !== 0) {
    t.comment("needs openssl");
    return;
  }
  const context = { key: readFileSync(key), cert: readFileSync(cert) };
  const connections = new ConnectionRoom<net.Socket>(100);
  const { port } = await listening(t, {
    connections,
    timeouts: { headersMs: 50, requestMs: 100, everyMs: 20 },
    tls: {
      files: { context, onRenewed: () => {}, stop: () => {} },
      needsCertificate: false,
      pathOf: () => null,
    },
  });
  // Nothing, and the beginning of a ClientHello.
  for (const begun of [[], [0x16, 3, 1, 2, 0, 1, 0, 1, 252, 3, 3]]) {
    const socket = net.connect(port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write(Buffer.from(begun));
    socket.resume();
    await once(socket, "close");
  }
  // The other side's event comes in a turn of its own.
  for (let turn = 0; turn < 1000 && connections.open > 0; turn++)
    await new Promise((resolve) => setTimeout(resolve, 5));
  t.equal(connections.open, 0);
});
