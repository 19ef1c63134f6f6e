import { once } from "node:events";
import http from "node:http";
import net from "node:net";
import t, { type Test } from "tap";
import { ConnectionRoom } from "../../../../proxy/capacity/connection-room.js";
import { MemoryLedger } from "../../../../proxy/capacity/memory-ledger.js";
import {
  Lingering,
  type LingeringBounds,
  lingeringBounds,
} from "../../../../proxy/http/drain/lingering.js";
import type { Exchange } from "../../../../proxy/http/exchange.js";
import { type HttpListener, listenHttp } from "../../../../proxy/http/http-listener.js";

const text = ["content-type", "text/plain"];
const mib = 1024 * 1024;

interface Listening {
  readonly listener: HttpListener;
  readonly url: string;
  readonly connections: ConnectionRoom<net.Socket>;
}

async function listening(
  t: Test,
  handle: (exchange: Exchange) => void,
  bounds: Partial<LingeringBounds> = {},
): Promise<Listening> {
  const connections = new ConnectionRoom<net.Socket>(100);
  const listener = await listenHttp({
    listen: { host: "127.0.0.1", port: 0 },
    connections,
    memory: new MemoryLedger(1e9),
    stalledClientMs: 60_000,
    lingering: { ...lingeringBounds, ...bounds },
    handle,
  });
  t.teardown(() => listener.close({ idleMs: 0, runningMs: 0 }));
  return { listener, url: listener.url, connections };
}

/** Refuses at once, after a part of the body, or once the body is too large. */
const refusals: Readonly<Record<string, (exchange: Exchange) => unknown>> = {
  "at once": (exchange) => exchange.reply(401, text, "no", "utf8"),
  "as too large": async (exchange) => {
    const read = await exchange.readBody(mib);
    exchange.reply(413, text, read.ok ? "read" : read.reason, "utf8");
  },
  "in the middle": async (exchange) => {
    for await (const _ of exchange.readPieces(100 * mib)) break;
    exchange.reply(429, text, "no", "utf8");
  },
  "by a stream": async (exchange) => {
    for await (const _ of exchange.readPieces(100 * mib)) break;
    exchange.begin(502, text);
    exchange.write(Buffer.from("half, "));
    exchange.end();
  },
};

/** A client that sends all of its body before it reads, slowly. */
async function sendAll(url: string, isChunked: boolean): Promise<string> {
  const socket = net.connect(Number(new URL(url).port), "127.0.0.1");
  await once(socket, "connect");
  const piece = Buffer.alloc(mib, "a");
  const length = isChunked ? "Transfer-Encoding: chunked" : `Content-Length: ${8 * mib}`;
  socket.write(`POST / HTTP/1.1\r\nHost: a\r\n${length}\r\n\r\n`);
  for (let sent = 0; sent < 8; sent++) {
    if (isChunked) socket.write(`${mib.toString(16)}\r\n`);
    if (!socket.write(piece)) await once(socket, "drain");
    if (isChunked) socket.write("\r\n");
  }
  if (isChunked) socket.write("0\r\n\r\n");
  let received = "";
  for await (const bytes of socket as AsyncIterable<Buffer>) received += bytes.toString("latin1");
  return received;
}

t.test("a client that sends its whole body before it reads gets the answer", async (t) => {
  for (const [when, refuse] of Object.entries(refusals)) {
    const { url } = await listening(t, (exchange) => void refuse(exchange));
    for (const isChunked of [false, true]) {
      const answer = await sendAll(url, isChunked);
      t.match(answer, /^HTTP\/1\.1 (401|413|429|502) [^]*connection: close/i, when);
    }
  }
});

t.test("clients of Node get the answer while they still send", async (t) => {
  for (const [when, refuse] of Object.entries(refusals)) {
    const { url } = await listening(t, (exchange) => void refuse(exchange));
    for (const isChunked of [false, true]) {
      const request = http.request(url, { method: "POST" });
      if (!isChunked) request.setHeader("content-length", 20 * mib);
      request.end(Buffer.alloc(20 * mib));
      const [response] = (await once(request, "response")) as [http.IncomingMessage];
      let body = "";
      for await (const bytes of response) body += String(bytes);
      // It still sends when the listener closes.
      request.on("error", () => {});
      t.match(body, /^(no|too_large|half, )$/, when);
      if (isChunked) continue;
      const fetched = await fetch(url, { method: "POST", body: Buffer.alloc(20 * mib) });
      t.equal(await fetched.text(), body, when);
    }
  }
});

const endless = "POST / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n";

/** What a client that never ends receives, until it is cut off. */
function sendForEver(t: Test, url: string, first = endless): Promise<string> {
  const socket = net.connect({ port: Number(new URL(url).port), allowHalfOpen: true });
  t.teardown(() => void socket.destroy());
  let received = "";
  socket.write(first);
  socket.on("data", (bytes: Buffer) => {
    received += bytes.toString("latin1");
  });
  const more = setInterval(() => socket.write("1\r\na\r\n"), 5);
  socket.on("error", () => {});
  return new Promise((resolve) =>
    socket.on("close", () => {
      clearInterval(more);
      resolve(received);
    }),
  );
}

t.test("a client that never ends is cut off after a time, and holds no request", async (t) => {
  const refuse = refusals["at once"]!;
  const { url, connections } = await listening(t, (exchange) => void refuse(exchange), { ms: 200 });
  const cut = sendForEver(t, url);
  while (connections.open === 0) await new Promise((resolve) => setImmediate(resolve));
  t.match(await cut, /^HTTP\/1\.1 401 /);
  t.same([connections.open, connections.requests], [0, 0]);
});

t.test("it is cut off after so many bytes", async (t) => {
  const refuse = refusals["at once"]!;
  const bounds = { bytesMax: 3, ms: 3_600_000 };
  const { url } = await listening(t, (exchange) => void refuse(exchange), bounds);
  t.match(await sendForEver(t, url), /^HTTP\/1\.1 401 /);
});

t.test("of many such clients the last ones are cut off immediately", async (t) => {
  const refuse = refusals["at once"]!;
  const bounds = { connectionsMax: 1, ms: 3_600_000 };
  const { url, connections } = await listening(t, (exchange) => void refuse(exchange), bounds);
  const first = sendForEver(t, url);
  while (connections.open === 0) await new Promise((resolve) => setImmediate(resolve));
  await sendForEver(t, url);
  t.equal(connections.open, 1);
  connections.closeIdle(1);
  t.match(await first, /^HTTP\/1\.1 401 /, "and near the bound of connections it makes room");
});

t.test(
  "what its client doesn't read is waited for, with no more listeners each time",
  async (t) => {
    const server = net.createServer().listen(0, "127.0.0.1");
    await once(server, "listening");
    const client = net.connect((server.address() as net.AddressInfo).port, "127.0.0.1");
    const [socket] = (await once(server, "connection")) as [net.Socket];
    t.teardown(() => {
      client.destroy();
      socket.destroy();
      server.close();
    });
    socket.write(Buffer.alloc(32 * mib));
    const lingering = new Lingering({ ...lingeringBounds, ms: 3_600_000 });
    lingering.begin(socket);
    const listeners = socket.listenerCount("finish");
    for (let i = 0; i < 20; i++) lingering.end();
    t.equal(socket.listenerCount("finish"), listeners);
    t.notOk(socket.destroyed);
    let received = 0;
    for await (const bytes of client as AsyncIterable<Buffer>) received += bytes.length;
    t.equal(received, 32 * mib, "and once it reads, it gets all");
  },
);

t.test("a server that ends waits no longer for them than for idle connections", async (t) => {
  let isRefused = false;
  const refuse = (exchange: Exchange): void => {
    exchange.reply(401, text, "no", "utf8");
    isRefused = true;
  };
  const { listener, url } = await listening(t, refuse, { ms: 3_600_000 });
  const answer = sendForEver(t, url);
  while (!isRefused) await new Promise((resolve) => setImmediate(resolve));
  await listener.close({ idleMs: 0, runningMs: 3_600_000 });
  t.match(await answer, /^HTTP\/1\.1 401 /);
});

t.test("what is no request is answered once, though more of it comes", async (t) => {
  const { url } = await listening(t, () => t.fail("nothing is a request"), { ms: 200 });
  const header = `GET / HTTP/1.1\r\nHost: a\r\nX: ${"x".repeat(100_000)}\r\n`;
  const answer = await sendForEver(t, url, header);
  t.match(answer, /^HTTP\/1\.1 431 /);
  t.equal(answer.split("HTTP/1.1").length, 2);
});

t.test("hundreds of requests on one connection watch it with one listener", async (t) => {
  const exchanges: Exchange[] = [];
  const gone: number[] = [];
  const { url, connections } = await listening(t, (exchange) => {
    const at = exchanges.push(exchange);
    exchange.onGone(() => void gone.push(at));
  });
  const socket = net.connect(Number(new URL(url).port), "127.0.0.1");
  const count = 300;
  socket.write("GET / HTTP/1.1\r\nHost: a\r\n\r\n".repeat(count));
  while (exchanges.length < count) await new Promise((resolve) => setImmediate(resolve));
  const [served] = connections.all();
  t.ok(served!.listenerCount("close") < 10, `${served!.listenerCount("close")} listeners`);
  for (const exchange of exchanges.slice(0, 100)) exchange.reply(200, text, "a", "utf8");
  socket.destroy();
  while (gone.length < count - 100) await new Promise((resolve) => setImmediate(resolve));
  t.equal(gone.length, count - 100, "and each that isn't answered knows when it closes");
  const { length } = served!.listeners("finish");
  t.ok(length < 10, `${length} listeners for its end`);
});
