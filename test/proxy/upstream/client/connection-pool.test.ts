/** Which connections calls get, what is sent on them, and when they close: over loopback. */
import { createServer, type Socket } from "node:net";
import { setImmediate as nextTurn } from "node:timers/promises";
import t, { type Test } from "tap";
import type { CallHandler } from "../../../../proxy/upstream/client/connection.js";
import {
  type CallOptions,
  ConnectionPool,
} from "../../../../proxy/upstream/client/connection-pool.js";
import type { ProviderConfig } from "../../../../shared/config/config.js";
import { isCollected } from "../../../support/memory/is-collected.js";
import { providerConfig } from "../../../support/provider-config.js";

const answer = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}";

interface Provider {
  readonly pool: ConnectionPool;
  /** What each connection has received. */
  readonly received: string[];
  readonly sockets: Socket[];
}

/** A provider that calls `serve` for whatever arrives. */
async function startProvider(
  t: Test,
  serve: (socket: Socket, text: string) => void,
  over: Partial<ProviderConfig> = {},
): Promise<Provider> {
  const received: string[] = [];
  const sockets: Socket[] = [];
  const server = createServer((socket) => {
    const at = sockets.push(socket) - 1;
    received.push("");
    socket.on("error", () => {});
    socket.on("data", (bytes: Buffer) => {
      const text = bytes.toString("latin1");
      received[at] += text;
      serve(socket, text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as { port: number };
  const config = providerConfig({ name: "x", baseUrl: `http://127.0.0.1:${port}/v1`, ...over });
  const pool = new ConnectionPool(config, { proxy: null, secureContext: null }, (error) => error);
  t.teardown(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await pool.close();
  });
  return { pool, received, sockets };
}

class RecordedCall implements CallHandler {
  connection: CallHandler["connection"] = null;
  isWanted = true;
  isSent = false;
  isPaused = false;
  body = "";
  resume = (): void => {};
  settle: (outcome: string) => void = () => {};
  readonly outcome = new Promise<string>((resolve) => {
    this.settle = resolve;
  });
  heard = (): void => {};
  leave: (() => void) | null = null;

  onQueued(leave: () => void): void {
    this.leave = leave;
  }
  onConnect(): boolean {
    this.leave = null;
    return this.isWanted;
  }
  onBodySent(): void {}
  onRequestSent(): void {
    this.isSent = true;
  }
  onHeaders(_status: number, _rawHeaders: string[], resume: () => void): boolean {
    this.resume = resume;
    this.heard();
    return !this.isPaused;
  }
  onData(chunk: Buffer): boolean {
    this.body += chunk.toString("latin1");
    return !this.isPaused;
  }
  onComplete(): void {
    this.settle(`ended ${this.body}`);
  }
  onError(error: Error): void {
    this.settle(error.message);
  }
}

function send(pool: ConnectionPool, over: Partial<CallOptions> = {}): RecordedCall {
  const call = new RecordedCall();
  pool.dispatch(
    { method: "POST", path: "/x", headers: [], body: Buffer.from("{}"), ...over },
    call,
  );
  return call;
}

const untilClosed = (socket: Socket): Promise<void> =>
  socket.destroyed
    ? Promise.resolve()
    : new Promise((resolve) => void socket.once("close", () => resolve()));

t.test("a body of any kind is sent with its length, or in chunks without one", async (t) => {
  let wanted = 0;
  const { pool, received } = await startProvider(
    t,
    (socket) => {
      if (received.join("").length >= wanted) socket.write(answer);
    },
    { connectionsMax: 1 },
  );
  const long = Buffer.alloc(300_000, "a");
  async function* later(): AsyncGenerator<Buffer> {
    for (const piece of ["ab", "", "c"]) {
      await nextTurn();
      yield Buffer.from(piece);
    }
  }
  const head = (method: string, isKept = true): string =>
    `${method} /x HTTP/1.1\r\nhost: 127.0.0.1:${pool.host.split(":")[1]}\r\nconnection: ${isKept ? "keep-alive" : "close"}\r\n`;
  const table: readonly (readonly [over: Partial<CallOptions>, sent: string])[] = [
    [{ body: Buffer.from("\u00e9") }, `${head("POST")}content-length: 2\r\n\r\n\u00c3\u00a9`],
    [{ body: null }, `${head("POST")}content-length: 0\r\n\r\n`],
    [{ body: long }, `${head("POST")}content-length: 300000\r\n\r\n${long}`],
    [{ method: "GET", body: null }, `${head("GET")}\r\n`],
    [
      { headers: ["content-length", "300003"], body: [Buffer.from("abc"), long] },
      `${head("POST")}content-length: 300003\r\n\r\nabc${long}`,
    ],
    [
      { headers: ["content-length", "3"], body: later() },
      `${head("POST")}content-length: 3\r\n\r\nabc`,
    ],
    [
      { body: later() },
      `${head("POST")}transfer-encoding: chunked\r\n\r\n2\r\nab\r\n1\r\nc\r\n0\r\n\r\n`,
    ],
    [{ body: [] }, `${head("POST")}transfer-encoding: chunked\r\n\r\n0\r\n\r\n`],
    [{ headers: ["content-length", "0"], body: [] }, `${head("POST")}content-length: 0\r\n\r\n`],
    [{ method: "DELETE" }, `${head("DELETE")}content-length: 2\r\n\r\n{}`],
    [{ method: "HEAD", body: null }, `${head("HEAD", false)}\r\n`],
  ];
  let all = "";
  for (const [over, sent] of table) {
    all += sent;
    wanted = all.length;
    const call = send(pool, over);
    t.match(await call.outcome, /^ended/, sent.slice(0, 20));
    t.ok(call.isSent);
  }
  t.ok(received.join("") === all, "as it was written");
  // A server may take the body of a DELETE for another request.
  t.equal(received.length, 2);
});

t.test("a body that isn't as long as its header says ends its call", async (t) => {
  const { pool } = await startProvider(t, () => {});
  async function* failing(): AsyncGenerator<Buffer> {
    yield Buffer.from("a");
    throw new Error("the client left");
  }
  for (const [length, body, reason] of [
    ["3", Buffer.from("ab"), "2 bytes of 3"],
    ["3", [Buffer.from("ab")], "2 bytes of 3"],
    ["1", [Buffer.from("ab")], "more than 1 bytes"],
    ["3", failing(), "the client left"],
  ] as const)
    t.equal(await send(pool, { headers: ["content-length", length], body }).outcome, reason);
  t.match(await send(pool, { headers: ["a", "b\r\nc: d"] }).outcome, /invalid a header/);
});

t.test(
  "calls beyond the maximum wait in their order, and those that left aren't sent",
  async (t) => {
    const open: Socket[] = [];
    const { pool, received } = await startProvider(t, (socket) => void open.push(socket), {
      connectionsMax: 2,
    });
    const until = async (count: number): Promise<void> => {
      while (open.length < count) await nextTurn();
    };
    const calls = ["/1", "/2", "/3", "/4", "/5"].map((path) => send(pool, { path }));
    calls[3]!.isWanted = false;
    await until(2);
    for (let i = 0; i < 5; i++) await nextTurn();
    t.equal(open.length, 2);
    open[0]!.write(answer);
    await until(3);
    // A connection that breaks makes room as well.
    open[1]!.destroy();
    await until(4);
    for (const socket of open.slice(2)) socket.write(answer);
    const outcomes = await Promise.all([0, 1, 2, 4].map((i) => calls[i]!.outcome));
    t.equal(outcomes.filter((outcome) => outcome === "ended {}").length, 3);
    t.notMatch(received.join(""), /POST \/4 /);
    t.equal(received.length, 3);
  },
);

t.test(
  "a queue that never empties keeps neither calls that were sent nor those that left",
  async (t) => {
    const open: Socket[] = [];
    const { pool } = await startProvider(t, (socket) => void open.push(socket), {
      connectionsMax: 1,
    });
    const queued = (): [RecordedCall, WeakRef<object>] => {
      const body = Buffer.alloc(100_000);
      return [send(pool, { body }), new WeakRef(body)];
    };
    const first = send(pool);
    const [second, secondBody] = queued();
    const [third, thirdBody] = queued();
    const fourth = send(pool);
    third.leave!();
    third.leave = null;
    t.ok(await isCollected(thirdBody), "it left");
    while (open.length < 1) await nextTurn();
    open[0]!.write(answer);
    t.equal(await first.outcome, "ended {}");
    while (!second.isSent || open.length < 2) await nextTurn();
    t.ok(await isCollected(secondBody), "it was sent");
    open[0]!.write(answer);
    t.equal(await second.outcome, "ended {}");
    while (!fourth.isSent) await nextTurn();
    open[0]!.write(answer);
    t.equal(await fourth.outcome, "ended {}");
  },
);

t.test("no call is sent on a connection whose end has arrived", async (t) => {
  const { pool, sockets } = await startProvider(t, (socket) => void socket.write(answer));
  const idle = Array.from({ length: 400 }, () => send(pool));
  await Promise.all(idle.map(({ outcome }) => outcome));
  t.equal(sockets.length, 400);
  for (const socket of sockets) socket.end();
  // Ends are handled a hundred a turn: the others are still waiting for theirs.
  for (let i = 0; i < 3; i++) await nextTurn();
  const calls = Array.from({ length: 50 }, () => send(pool).outcome);
  t.same([...new Set(await Promise.all(calls))], ["ended {}"]);
});

t.test("a waiting call doesn't get a connection that closes with its answer", async (t) => {
  const { pool, sockets } = await startProvider(t, (socket) => void socket.end(answer), {
    connectionsMax: 2,
  });
  const calls = Array.from({ length: 50 }, () => send(pool).outcome);
  t.same([...new Set(await Promise.all(calls))], ["ended {}"]);
  t.equal(sockets.length, 50);
});

t.test("bytes that nobody asked for close the connection, and answer no call", async (t) => {
  let extra = "";
  const { pool, sockets } = await startProvider(t, (socket) => void socket.write(answer + extra));
  t.equal(await send(pool).outcome, "ended {}");
  sockets[0]!.write(answer.replace("{}", "[]"));
  await untilClosed(sockets[0]!);
  extra = answer.replace("{}", "[]");
  t.equal(await send(pool).outcome, "ended {}");
  t.equal(await send(pool).outcome, "ended {}");
  t.equal(sockets.length, 3);
});

t.test("an idle connection closes after its time, or before the provider's", async (t) => {
  let reply = answer;
  const { pool, sockets } = await startProvider(t, (socket) => void socket.write(reply), {
    keepAliveMs: 50,
  });
  await send(pool).outcome;
  await untilClosed(sockets[0]!);
  reply = answer.replace("\r\n\r\n", "\r\nkeep-alive: timeout=2\r\n\r\n");
  await send(pool).outcome;
  await untilClosed(sockets[1]!);
  reply = answer.replace("\r\n\r\n", "\r\nKeep-Alive: max=9, timeout=9\r\n\r\n");
  for (let i = 0; i < 3; i++) await send(pool).outcome;
  t.equal(sockets.length, 3);
});

t.test(
  "an answer that comes before the body was sent ends the call and the connection",
  async (t) => {
    let isReturned = false;
    async function* endless(): AsyncGenerator<Buffer> {
      try {
        for (;;) {
          yield Buffer.from("a");
          await nextTurn();
        }
      } finally {
        isReturned = true;
      }
    }
    const { pool, sockets } = await startProvider(t, (socket) => void socket.write(answer));
    const call = send(pool, { body: endless() });
    t.equal(await call.outcome, "ended {}");
    t.notOk(call.isSent);
    await untilClosed(sockets[0]!);
    while (!isReturned) await nextTurn();
  },
);

t.test("an early answer is read though the provider closed and a write failed", async (t) => {
  const refusal = "HTTP/1.1 413 Too Large\r\ncontent-length: 2\r\n\r\n{}";
  for (const isChunked of [true, false]) {
    let goOn = (): void => {};
    const refused = new Promise<void>((resolve) => (goOn = resolve));
    const { pool } = await startProvider(t, (socket) => {
      socket.write(refusal);
      socket.destroy();
      // In the same turn: the next writes come before the answer is read.
      goOn();
    });
    async function* body(): AsyncGenerator<Buffer> {
      yield Buffer.alloc(100);
      await refused;
      for (let i = 0; i < 9; i++) yield Buffer.alloc(100);
    }
    const headers = isChunked ? [] : ["content-length", "1000"];
    t.equal(await send(pool, { body: body(), headers }).outcome, "ended {}");
  }
});

t.test("a paused answer waits, also for its end when the provider has closed", async (t) => {
  const closing = answer.replace("\r\n\r\n", "\r\nconnection: close\r\n\r\n");
  for (const [reply, isClosed] of [
    [answer, false],
    [closing, true],
    ["HTTP/1.1 200 OK\r\n\r\n{}", true],
    ["HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n1\r\n{\r\n1\r\n}\r\n0\r\n\r\n", false],
  ] as const) {
    const { pool, sockets } = await startProvider(t, (socket) =>
      isClosed ? void socket.end(reply) : void socket.write(reply),
    );
    const call = send(pool);
    call.isPaused = true;
    await new Promise<void>((resolve) => {
      call.heard = resolve;
    });
    for (let i = 0; i < 5; i++) await nextTurn();
    t.equal(call.body, "");
    call.resume();
    for (let i = 0; i < 5; i++) await nextTurn();
    call.isPaused = false;
    call.resume();
    t.equal(await call.outcome, "ended {}");
    t.equal(sockets.length, 1);
  }
});

t.test("calls leave nothing on a connection, and closing the pool ends all of them", async (t) => {
  const { pool, sockets } = await startProvider(
    t,
    (socket, text) => {
      if (text.includes(" /x ")) socket.write(answer);
    },
    { connectionsMax: 1 },
  );
  const first = send(pool, {
    body: [Buffer.alloc(20_000)],
    headers: ["content-length", "20000"],
  });
  await first.outcome;
  const listeners = (): string =>
    JSON.stringify(
      first
        .connection!.socket!.eventNames()
        .map((name) => [String(name), first.connection!.socket!.listenerCount(name)]),
    );
  await send(pool).outcome;
  const before = listeners();
  for (let i = 0; i < 30; i++)
    await send(pool, i % 2 === 0 ? {} : { body: [Buffer.alloc(9)] }).outcome;
  t.equal(listeners(), before);
  t.equal(sockets.length, 1);
  const open = send(pool, { path: "/open" });
  const waiting = send(pool);
  while (!open.isSent) await nextTurn();
  await pool.close();
  t.equal(await open.outcome, "the connection was closed");
  t.equal(await waiting.outcome, "the connections are closed");
  t.equal(await send(pool).outcome, "the connections are closed");
  await untilClosed(sockets[0]!);
});
