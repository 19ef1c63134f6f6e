import t from "tap";
import { SocketLine } from "../../../../proxy/limiter/spool/delivery-line.js";
import { wireVersion } from "../../../../shared/version.js";
import { encodeFrame } from "../../../../shared/wire/codec.js";
import type { ToDaemon } from "../../../../shared/wire/message-to-daemon.js";
import { asFrame, listenForSettles, welcome } from "./settle-listener.js";
import { someSettle } from "./some-settle.js";

const hello: ToDaemon = {
  kind: "hello",
  id: 1,
  wireVersion,
  role: "proxy",
  proxyId: "stopped",
  leases: [],
  more: false,
};

const endless = 2 ** 30;

t.test(
  "what is sent before there is a connection arrives, and answers come in order",
  async (t) => {
    const at = await listenForSettles(t, ({ kind, seq }, peer) =>
      peer.send(asFrame(kind === "settle" ? { kind: "settled", seq: seq! } : welcome(4))),
    );
    const line = new SocketLine(at, endless);
    t.teardown(() => line.close());
    line.send(hello);
    line.send(someSettle(5));
    t.match(await line.next(), { kind: "welcome", settledSeq: 4 });
    line.send(someSettle(6));
    t.same(await line.next(), { kind: "settled", seq: 5 });
    t.same(await line.next(), { kind: "settled", seq: 6 });
    t.same(
      at.heard.map(({ kind }) => kind),
      ["hello", "settle", "settle"],
      "each once",
    );
    const waiting = line.next();
    line.close();
    t.equal(await waiting, null);
    t.equal(await line.next(), null);
  },
);

t.test("what came before the end is read before it", async (t) => {
  const at = await listenForSettles(t, (_, peer) => {
    peer.send(asFrame({ kind: "settled", seq: 1 }));
    peer.send(asFrame({ kind: "settled", seq: 2 }));
    peer.close();
  });
  const line = new SocketLine(at, endless);
  t.teardown(() => line.close());
  line.send(hello);
  t.same(await line.next(), { kind: "settled", seq: 1 });
  t.same(await line.next(), { kind: "settled", seq: 2 });
  t.equal(await line.next(), null);
});

t.test("what a later release may say is passed over, and garbage ends the line", async (t) => {
  for (const [bytes, expected] of [
    [encodeFrame(["event", "moonrise", 1]), { kind: "settled", seq: 9 }],
    [encodeFrame(["sonnet", 1, 2]), { kind: "settled", seq: 9 }],
    [Buffer.from([0, 0, 0, 2, 0xc1, 0xc1]), null],
  ] as const) {
    const at = await listenForSettles(t, (_, peer) => {
      peer.send(bytes);
      peer.send(asFrame({ kind: "settled", seq: 9 }));
    });
    const line = new SocketLine(at, endless);
    line.send(hello);
    t.same(await line.next(), expected);
    line.close();
  }
});

t.test("if no daemon listens, the delivery connection is lost immediately", async (t) => {
  const at = await listenForSettles(t, () => {});
  const line = new SocketLine({ path: `${at.path}.none`, adminPath: at.adminPath });
  line.send(hello);
  t.equal(await line.next(), null);
  t.equal(await line.next(), null);
});

t.test("a daemon that says nothing loses the line", async (t) => {
  const line = new SocketLine(await listenForSettles(t, () => {}), 20);
  line.send(hello);
  t.equal(await line.next(), null);
});

t.test("closing a delivery connection doesn't wait, and the daemon sees its end", async (t) => {
  const at = await listenForSettles(t, (_, peer) => peer.send(asFrame(welcome(0))));
  const line = new SocketLine(at, endless);
  line.send(hello);
  await line.next();
  const closed = at.closed();
  line.close();
  t.equal(await Promise.race([line.next(), Promise.resolve("it waits")]), null);
  await closed;
});

t.test("messages that come together are read one by one", async (t) => {
  const settled = [1, 2, 3].map((seq) => asFrame({ kind: "settled", seq }));
  const at = await listenForSettles(t, (_, peer) => peer.send(Buffer.concat(settled)));
  const line = new SocketLine(at, endless);
  t.teardown(() => line.close());
  line.send(hello);
  for (const seq of [1, 2, 3]) t.same(await line.next(), { kind: "settled", seq });
});

t.test("each word of the daemon gives it the whole time again, until the end", async (t) => {
  const at = await listenForSettles(t, (_, peer) => peer.send(asFrame(welcome(0))));
  const timers: { readonly run: () => void; readonly ms: number; refreshed: number }[] = [];
  const cleared: unknown[] = [];
  const { setTimeout: setTimer, clearTimeout: clearTimer } = globalThis;
  globalThis.setTimeout = ((run: () => void, ms: number) => {
    const timer = { run, ms, refreshed: 0, refresh: () => timer.refreshed++ };
    timers.push(timer);
    return timer;
  }) as unknown as typeof setTimeout;
  const line = new SocketLine(at);
  globalThis.setTimeout = setTimer;
  const timer = timers.find(({ ms }) => ms === 10_000)!;
  line.send(hello);
  await line.next();
  t.equal(timer.refreshed, 1);
  line.send(hello);
  await line.next();
  t.equal(timer.refreshed, 2);
  const waiting = line.next();
  globalThis.clearTimeout = ((one: unknown) => void cleared.push(one)) as typeof clearTimeout;
  timer.run();
  globalThis.clearTimeout = clearTimer;
  t.equal(await waiting, null);
  t.ok(cleared.includes(timer), "no process waits for a line that has ended");
});
