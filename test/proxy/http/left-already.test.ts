/** A client that has left before the proxy asks whether it will: of it no event tells any more. */
import net from "node:net";
import t, { type Test } from "tap";
import { ConnectionRoom } from "../../../proxy/capacity/connection-room.js";
import { MemoryLedger } from "../../../proxy/capacity/memory-ledger.js";
import type { Exchange } from "../../../proxy/http/exchange.js";
import { listenHttp } from "../../../proxy/http/http-listener.js";
import { FakeExchange } from "../fake-exchange.js";

const aTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** An exchange and its client's connection. */
async function exchangeOf(
  t: Test,
  request: string,
): Promise<{ readonly exchange: Exchange; readonly client: net.Socket }> {
  let arrived = (_: Exchange): void => {};
  const arriving = new Promise<Exchange>((resolve) => (arrived = resolve));
  const listener = await listenHttp({
    listen: { host: "127.0.0.1", port: 0 },
    connections: new ConnectionRoom(10),
    memory: new MemoryLedger(1e6),
    stalledClientMs: 60_000,
    handle: arrived,
  });
  t.teardown(() => listener.close({ idleMs: 0, runningMs: 0 }));
  const client = net.connect(Number(new URL(listener.url).port), "127.0.0.1");
  client.on("error", () => {});
  t.teardown(() => void client.destroy());
  client.write(request);
  return { exchange: await arriving, client };
}

const get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const post = "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody";

/** With an exchange whose client has left, and with all events of that past. */
async function left(t: Test, request = get): Promise<Exchange> {
  const { exchange, client } = await exchangeOf(t, request);
  client.resetAndDestroy();
  while (!exchange.gone) await aTurn();
  for (let turns = 0; turns < 5; turns++) await aTurn();
  return exchange;
}

function leftWithoutSocket(): Exchange {
  const exchange = new FakeExchange();
  exchange.leave();
  return exchange;
}

t.test(
  "a callback registered after the client has left runs once, and not before the call returns",
  async (t) => {
    const exchanges = { node: await left(t), fake: leftWithoutSocket() };
    for (const [name, exchange] of Object.entries(exchanges)) {
      const calls: string[] = [];
      exchange.onGone(() => calls.push("first"));
      t.same(calls, [], name);
      for (let turns = 0; turns < 5; turns++) await aTurn();
      t.same(calls, ["first"], name);
      exchange.onGone(() => calls.push("second"));
      for (let turns = 0; turns < 5; turns++) await aTurn();
      t.same(calls, ["first", "second"], `${name}: each who asks`);
    }
  },
);

t.test("of two callbacks registered in one turn the later one runs", async (t) => {
  const exchange = await left(t);
  const calls: string[] = [];
  exchange.onGone(() => calls.push("first"));
  exchange.onGone(() => calls.push("second"));
  for (let turns = 0; turns < 5; turns++) await aTurn();
  t.same(calls, ["second"]);
});

t.test(
  "a listener that replaces another one in the turn of the disconnect is the only one called",
  async (t) => {
    const { exchange, client } = await exchangeOf(t, get);
    const calls: string[] = [];
    exchange.onGone(() => calls.push("first"));
    exchange.cut();
    t.equal(exchange.gone, true);
    exchange.onGone(() => calls.push("second"));
    while (calls.length === 0) await aTurn();
    for (let turns = 0; turns < 5; turns++) await aTurn();
    t.same(calls, ["second"]);
    client.destroy();
  },
);

t.test("a client that has its whole answer and then leaves isn't reported", async (t) => {
  const { exchange, client } = await exchangeOf(t, get);
  exchange.reply(200, [], "all", "utf8");
  client.resetAndDestroy();
  while (!exchange.gone) await aTurn();
  exchange.onGone(() => t.fail("it was complete"));
  for (let turns = 0; turns < 5; turns++) await aTurn();
});

t.test("the body of a client that has left is gone, and isn't waited for", async (t) => {
  const exchange = await left(t, post);
  t.match(await exchange.readBody(100), { ok: false, reason: "gone" });
  let over = 0;
  (await left(t, post)).awaitBody(60_000, () => over++);
  t.equal(over, 1);
});
