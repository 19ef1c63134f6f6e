/** Deliveries to the daemon's real steps, which end at any moment and are begun again. */
import t from "tap";
import { deliverSettles } from "../../../../proxy/limiter/spool/deliver-settles.js";
import { settlesUnacknowledgedMax } from "../../../../shared/bounds.js";
import type { FromDaemon } from "../../../../shared/wire/message-from-daemon.js";
import type { Settle, ToDaemon } from "../../../../shared/wire/message-to-daemon.js";
import {
  counts,
  pathRule,
  startDaemon,
  type TestDaemon,
} from "../../../limiterd/in-memory-daemon.js";
import { someSettle } from "./some-settle.js";

const rule = pathRule("/team", 86_400, { requests: 1e9, tokens: 1e9 });
/** An hour after midnight. */
const nowMs = 1_767_229_200_000;
const mayContinue = () => Promise.resolve(true);

/** A line to the daemon that is lost once so many settles have been read. */
function lineTo(daemon: TestDaemon, settlesRead = Number.POSITIVE_INFINITY) {
  const peer = daemon.connect();
  const sent: ToDaemon[] = [];
  let taken = 0;
  return {
    sent,
    send(message: ToDaemon): void {
      sent.push(message);
      if (message.kind !== "settle" || settlesRead-- > 0)
        t.ok(peer.send(message), "it keeps to the grammar");
    },
    async next(): Promise<FromDaemon | null> {
      if (taken === peer.received.length) await daemon.commit();
      if (settlesRead < 0 || taken === peer.received.length) return null;
      return peer.received[taken++]!;
    },
    close: () => peer.close(),
  };
}

function left(count: number, from = 1) {
  const settles: Settle[] = Array.from({ length: count }, (_, i) => someSettle(from + i));
  return { head: { proxyId: "stopped", writtenAtMs: nowMs, sentAtMs: 0 }, settles };
}

t.test("on a line that is lost nothing more is sent", async (t) => {
  const clock = { nowMs: () => nowMs, mayContinue };
  for (const answers of [0, 1]) {
    const sent: ToDaemon[] = [];
    let left_ = answers;
    const line = {
      send: (message: ToDaemon) => void sent.push(message),
      next: () =>
        Promise.resolve(
          left_-- > 0 ? ({ kind: "welcome", settledSeq: 0 } as unknown as FromDaemon) : null,
        ),
      close: () => {},
    };
    t.equal(await deliverSettles(left(settlesUnacknowledgedMax + 5), line, clock), false);
    t.equal(sent.length, 1 + answers * settlesUnacknowledgedMax);
  }
});

t.test("they are durable once the daemon says so of the last of them", async (t) => {
  const clock = { nowMs: () => nowMs, mayContinue };
  const settled = (seq: number): FromDaemon => ({ kind: "settled", seq });
  const other = { ...settled(9), kind: "notice" } as unknown as FromDaemon;
  for (const [count, durable, answers, expected] of [
    [0, 0, [], true],
    [3, 3, [], true],
    [3, 0, [settled(3)], true],
    [3, 0, [settled(4)], true],
    [3, 0, [settled(1), settled(2)], false],
    [3, 0, [other], false],
    [3, 0, [other, settled(2), settled(3)], true],
  ] as const) {
    const said = [{ kind: "welcome", settledSeq: durable } as FromDaemon, ...answers].values();
    const line = { send: () => {}, next: async () => said.next().value ?? null };
    const what = JSON.stringify([count, durable, ...answers]);
    t.equal(await deliverSettles(left(count), line, clock), expected, what);
  }
});

t.test("a delivery that ends anywhere is begun again, and each settle counts once", async (t) => {
  const all = left(7);
  for (let read = 0; read <= 7; read++) {
    const daemon = startDaemon([rule], { nowMs });
    const clock = { nowMs: () => daemon.nowMs, mayContinue };
    const first = lineTo(daemon, read);
    t.equal(await deliverSettles(all, first, clock), read === 7);
    first.close();
    await daemon.commit();
    const second = lineTo(daemon);
    t.equal(await deliverSettles(all, second, clock), true);
    t.equal(second.sent.length, 1 + 7 - read, "what is durable isn't sent again");
    t.same(counts(daemon, rule), { requests: 7, tokens: 70, inFlight: 0 });
  }
});

t.test(
  "what the proxy had delivered itself, acknowledged or not, isn't counted again",
  async (t) => {
    const daemon = startDaemon([rule], { nowMs });
    const itself = daemon.proxy("stopped");
    for (const { seq } of left(5).settles) itself.send(someSettle(seq));
    itself.close();
    const line = lineTo(daemon);
    t.ok(await deliverSettles(left(9), line, { nowMs: () => daemon.nowMs, mayContinue }));
    t.same(counts(daemon, rule), { requests: 9, tokens: 90, inFlight: 0 });
    // Two that deliver at once: the acknowledgements are the last one's that said hello.
    const [one, two] = [lineTo(daemon), lineTo(daemon)];
    const clock = { nowMs: () => daemon.nowMs, mayContinue };
    const ended = await Promise.all([
      deliverSettles(left(20), one, clock),
      deliverSettles(left(20), two, clock),
    ]);
    t.ok(ended.includes(true));
    t.same(counts(daemon, rule), { requests: 20, tokens: 200, inFlight: 0 });
  },
);

t.test("it goes in windows, and ends when its file has been taken by another proxy", async (t) => {
  const daemon = startDaemon([rule], { nowMs });
  const window = settlesUnacknowledgedMax;
  const ended = lineTo(daemon);
  let asked = 0;
  const twice = () => Promise.resolve(++asked < 2);
  t.notOk(
    await deliverSettles(left(3 * window), ended, {
      nowMs: () => daemon.nowMs,
      mayContinue: twice,
    }),
  );
  t.equal(ended.sent.length, 1 + 2 * window);
  ended.close();
  t.ok(
    await deliverSettles(left(3 * window), lineTo(daemon), {
      nowMs: () => daemon.nowMs,
      mayContinue,
    }),
  );
  t.same(counts(daemon, rule).requests, 3 * window);
});

t.test("a settle counts when it ended, not when it is delivered", async (t) => {
  const daemon = startDaemon([rule], { nowMs });
  const line = lineTo(daemon);
  const settles = [someSettle(1, { targetStartedAgoMs: 1_500 }), someSettle(2)];
  const head = { proxyId: "stopped", writtenAtMs: daemon.nowMs - 90_000, sentAtMs: 0 };
  t.ok(
    await deliverSettles({ head, settles }, line, {
      nowMs: () => daemon.nowMs,
      mayContinue,
    }),
  );
  t.match(line.sent[1], {
    startedAgoMs: 92_000,
    endedAgoMs: 91_000,
    targetStartedAgoMs: 91_500,
  });
  t.match(line.sent[2], { startedAgoMs: 92_000, targetStartedAgoMs: undefined });
  const ahead = { ...head, proxyId: "other", writtenAtMs: daemon.nowMs + 90_000 };
  const again = lineTo(daemon);
  t.ok(
    await deliverSettles({ head: ahead, settles }, again, {
      nowMs: () => daemon.nowMs,
      mayContinue,
    }),
  );
  t.match(again.sent[1], { startedAgoMs: 2_000, endedAgoMs: 1_000 }, "the clock has stepped back");
});

t.test("a daemon of another release takes them too", async (t) => {
  const daemon = startDaemon([rule], { nowMs, versions: { oldest: 900, newest: 901 } });
  for (const sent of [4, 4]) {
    const line = lineTo(daemon);
    t.ok(await deliverSettles(left(4), line, { nowMs: () => daemon.nowMs, mayContinue }));
    t.equal(line.sent.length, 1 + sent, "it doesn't say what it has");
    line.close();
  }
  t.same(counts(daemon, rule), { requests: 4, tokens: 40, inFlight: 0 });
});
