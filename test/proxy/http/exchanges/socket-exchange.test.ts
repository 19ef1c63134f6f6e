import t from "tap";
import { MemoryLedger, MemoryShare } from "../../../../proxy/capacity/memory-ledger.js";
import {
  headersOfRequests,
  SocketExchange,
} from "../../../../proxy/http/exchanges/socket-exchange.js";
import { FakeExchange } from "../../fake-exchange.js";

const headers = [
  ...["Connection", "Upgrade", "Upgrade", "websocket", "Sec-WebSocket-Key", "k"],
  ...["Content-Length", "0", "Content-Encoding", "gzip", "Content-Type", "text/plain"],
  ...["Expect", "x", "Idempotency-Key", "i", "X-Request-Id", "r"],
  ...["OpenAI-Beta", "responses_websockets=2026-02-06", "Authorization", "Bearer k"],
];

function make({ memoryMax = 1e6 } = {}) {
  const handshake = new FakeExchange({ method: "GET", path: "/v1/responses", query: "q", headers });
  const ledger = new MemoryLedger(memoryMax);
  const socket = { gone: false };
  const seen: unknown[] = [];
  const exchange = new SocketExchange({
    handshake,
    headers: handshake,
    rawHeaders: headersOfRequests(headers),
    id: "req_1",
    body: Buffer.from("body"),
    memory: new MemoryShare(ledger),
    isGone: () => socket.gone,
    answer: {
      onStream: (chunk) => seen.push(chunk.toString()) > 9,
      onWhole: (status, flat, body) => seen.push([status, flat, body]),
      onDrain: (run) => run(),
      onDone: () => seen.push("done"),
    },
  });
  return { exchange, handshake, ledger, socket, seen };
}

t.test("a request has the headers of the handshake that concern requests", async (t) => {
  t.same(headersOfRequests(headers), [
    ...["content-type", "application/json", "Authorization", "Bearer k"],
  ]);
  t.same(headersOfRequests(["OpenAI-Beta", "other=1"]).slice(2), ["OpenAI-Beta", "other=1"]);
  const { exchange } = make();
  const { method, id, ownId, path, query, remoteAddress, modelInPath, webSocket } = exchange;
  t.same(
    [method, id, ownId, path, query, remoteAddress, modelInPath, webSocket],
    ["POST", "req_1", "req_1", "/v1/responses", "q", "127.0.0.1", null, null],
  );
  t.equal(exchange.header("content-type"), "application/json");
  t.equal(exchange.header("authorization"), "Bearer k");
  for (const name of ["content-length", "content-encoding", "expect", "idempotency-key", "upgrade"])
    t.equal(exchange.header(name), undefined, name);
});

t.test("its body is read within its bound and its memory", async (t) => {
  t.same(await make().exchange.readBody(3), { ok: false, reason: "too_large" });
  const { exchange, ledger } = make();
  t.match(await exchange.readBody(4), { ok: true, bytes: Buffer.from("body") });
  t.equal(ledger.held, 4);
  const gone = make();
  gone.socket.gone = true;
  t.same(await gone.exchange.readBody(4), { ok: false, reason: "gone" });
  const full = make();
  full.ledger.take(full.ledger.max);
  t.same(await full.exchange.readBody(4), { ok: false, reason: "no_memory" });
  for await (const piece of make().exchange.readPieces()) t.equal(piece.toString(), "body");
  await new Promise<void>((resolve) => exchange.awaitBody(0, resolve));
});

t.test("a stream passes in pieces, any other answer as a whole, each ends once", async (t) => {
  const stream = make();
  stream.exchange.begin(200, ["Content-Type", "text/event-stream"]);
  t.ok(stream.exchange.hasBegun);
  t.notOk(stream.exchange.write(Buffer.from("a")), "the client reads too slowly");
  stream.exchange.end();
  stream.exchange.end();
  stream.exchange.cut();
  t.ok(stream.exchange.write(Buffer.from("b")), "after the end nothing is sent");
  t.same(stream.seen, ["a", "done"]);
  const whole = make();
  whole.exchange.begin(400, ["content-type", "text/event-stream"]);
  whole.exchange.write(Buffer.from("a"));
  whole.exchange.write(Buffer.from("b"));
  whole.exchange.end();
  t.same(whole.seen, [[400, ["content-type", "text/event-stream"], "ab"], "done"]);
  const reply = make();
  reply.exchange.reply(404, [], "\xc3\xa9", "latin1");
  reply.exchange.reply(404, [], "twice", "utf8");
  t.same(reply.seen, [[404, [], "é"], "done"]);
  const full = make();
  full.ledger.take(full.ledger.max);
  full.exchange.begin(200, []);
  t.ok(full.exchange.write(Buffer.from("a")));
  t.same(full.seen, ["done"], "without memory for the answer it is cut");
});

t.test("the handler learns once that the client has left, before or after it asks", async (t) => {
  const { exchange, socket, ledger } = make();
  let left = 0;
  await exchange.readBody(4);
  exchange.onGone(() => left++);
  socket.gone = true;
  t.ok(exchange.gone);
  exchange.left();
  exchange.left();
  t.equal(left, 1);
  exchange.onGone(() => left++);
  t.equal(left, 1, "never within the call");
  await Promise.resolve();
  t.equal(left, 2);
  exchange.memory.onHandlerEnd();
  t.equal(ledger.held, 0);
  const done = make();
  done.exchange.onGone(() => left++);
  done.exchange.cut();
  done.socket.gone = true;
  done.exchange.left();
  t.equal(left, 2, "not after the end");
  t.notOk(done.exchange.gone);
});
