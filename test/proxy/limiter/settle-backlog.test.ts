import { isDeepStrictEqual } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import t from "tap";
import {
  type QueuedSettle,
  SettleBacklog,
  settleMessage,
  settleMessages,
} from "../../../proxy/limiter/settle-outbox.js";
import { settlesKeptAsTheyAre } from "../../../shared/bounds.js";
import { executed } from "../../limiterd/in-memory-daemon.js";

/** No two are alike, and all kinds are among them. Texts are as fresh as those of requests. */
function settle(seq: number): QueuedSettle {
  const fresh = (text: string): string => Buffer.from(text).toString();
  const tools = seq % 43 === 0 ? { tools: [fresh("web_search"), "mcp:github/*"] } : {};
  const target =
    seq % 3 === 0 ? null : { provider: "openai", model: fresh("gpt-4o-mini"), ...tools };
  const cached = seq % 7 === 0;
  const final = !cached && seq % 29 === 0;
  return {
    seq,
    part: cached ? "cached" : final ? "final" : "request",
    lease: cached || final ? 0 : seq * 2,
    userPath: fresh("/team/app/é"),
    admittedAtMs: 1_767_225_600_000 + seq,
    lsn: 1_000_000 + seq,
    target,
    targetAtMs: target === null ? 0 : 1_767_225_600_001 + seq,
    targetLsn: target === null ? 0 : 1_000_001 + seq,
    startedMonoMs: seq + 0.25,
    targetStartedMonoMs: seq % 17 === 0 ? seq + 0.5 : undefined,
    endedMonoMs: seq + 1234.5,
    tokens: seq % 1000,
    estimated: seq % 5 === 0,
    record:
      seq % 11 === 0
        ? null
        : executed({
            requestId: fresh(`0b5b2a5e-0000-4000-8000-${String(seq).padStart(12, "0")}`),
            totalCost: seq % 13 === 0 ? null : 4_000_000_000 + seq,
            inputCost: 3_000_000_000 + seq,
            cacheHit: cached,
            atMost:
              seq % 19 === 0 ? { tokens: 5000, cost: seq % 2 === 0 ? null : 9_000 + seq } : null,
            responseId: seq % 23 === 0 ? fresh(`resp_${seq}`) : "",
            costSource: seq % 3 === 0 ? "list" : undefined,
            priceList: seq % 3 === 0 ? fresh("2026-11-28") : undefined,
            providerRequestId: seq % 2 === 0 ? fresh(`req_${seq}`) : undefined,
            providerKey: seq % 29 === 0 ? fresh("prod") : undefined,
            loop: seq % 31 === 0 ? 7 : undefined,
            batchTokens: seq % 41 === 0 ? 5 : undefined,
            toolCalls: seq % 37 === 0 ? { web_search: 2 } : undefined,
            cutBy: seq % 47 === 0 ? fresh("the day token limit of /team") : undefined,
          }),
  };
}

t.test("each settle comes back as it was, wherever it waits", async (t) => {
  const backlog = new SettleBacklog();
  const last = 2 * settlesKeptAsTheyAre;
  for (let seq = 1; seq <= last; seq++) backlog.add(settle(seq));
  t.same([backlog.firstSeq, backlog.lastSeq, backlog.size], [1, last, last]);
  t.equal([...backlog].length, last);
  const wrong = [...backlog].filter((found, i) => !isDeepStrictEqual(found, settle(i + 1)));
  t.same(wrong, []);
  for (const seq of [1, 128, 129, settlesKeptAsTheyAre + 200, last - 500, last, 5, last])
    t.same(backlog.settleAt(seq), settle(seq));
});

t.test(
  "what is acknowledged is gone, in whatever steps, and what follows is in order",
  async (t) => {
    const backlog = new SettleBacklog();
    let [added, removed] = [0, 0];
    for (const [add, remove] of [
      [3, 0],
      [0, 3],
      [1, 1],
      [127, 100],
      [5000, 1],
      [10, 127],
      [0, 129],
      [3000, 4000],
      [1, 5000],
      [300, 128],
    ] as const) {
      for (let i = 0; i < add; i++) backlog.add(settle(++added));
      removed = Math.min(added, removed + remove);
      backlog.removeUntil(removed);
      t.equal(backlog.size, added - removed);
      t.equal(backlog.firstSeq, removed + 1);
      if (backlog.size === 0) continue;
      t.same(backlog.settleAt(removed + 1), settle(removed + 1));
      t.same(backlog.settleAt(added), settle(added));
    }
    backlog.removeUntil(1);
    t.equal(backlog.firstSeq, removed + 1, "an older acknowledgement brings nothing back");
    backlog.removeUntil(added + 1000);
    t.same([backlog.size, backlog.firstSeq], [0, added + 1], "nor does one of what was never sent");
    t.throws(() => backlog.settleAt(added), /only a settle that waits is read/);
    t.throws(() => backlog.add(settle(added)), /numbered in their order/);
  },
);

t.test("a settle of a long backlog takes some 300 bytes of memory", async (t) => {
  setFlagsFromString("--expose-gc");
  const gc = runInNewContext("gc") as () => void;
  const bytes = (): number => {
    gc();
    gc();
    const { heapUsed, external } = process.memoryUsage();
    return heapUsed + external;
  };
  const before = bytes();
  const backlog = new SettleBacklog();
  for (let seq = 1; seq <= 20_000; seq++) backlog.add(settle(seq));
  const each = (bytes() - before) / backlog.size;
  t.ok(each < 420, `${Math.round(each)} bytes`);
});

t.test("the last one that waits is kept until it is removed itself", async (t) => {
  const backlog = new SettleBacklog();
  for (let seq = 1; seq <= 3; seq++) backlog.add(settle(seq));
  backlog.removeUntil(2);
  t.same([backlog.size, backlog.firstSeq, backlog.settleAt(3)], [1, 3, settle(3)]);
  backlog.removeUntil(3);
  t.same([backlog.size, backlog.firstSeq, [...backlog]], [0, 4, []]);
  backlog.add(settle(4));
  t.same([...backlog], [settle(4)]);
});

t.test("a settle is sent with its times as so long ago, never ahead of now", async (t) => {
  const item = { ...settle(17), startedMonoMs: 1000, targetStartedMonoMs: 1500, endedMonoMs: 2000 };
  const times = (of: QueuedSettle, nowMonoMs: number) => {
    const { startedAgoMs, targetStartedAgoMs, endedAgoMs } = settleMessage(of, nowMonoMs);
    return [startedAgoMs, targetStartedAgoMs, endedAgoMs];
  };
  t.same(times(item, 2000), [1000, 500, 0]);
  t.same(times(item, 2500.4), [1500, 1000, 500]);
  t.same(times(item, 1800), [800, 300, 0], "it ended after now, by a clock that stepped back");
  t.same(times({ ...item, targetStartedMonoMs: undefined }, 2000), [1000, undefined, 0]);
  const { startedMonoMs, targetStartedMonoMs, endedMonoMs, ...rest } = settle(5);
  t.match(settleMessage(settle(5), 6000), { kind: "settle", ...rest });
  const sent = [...settleMessages([settle(1), settle(2)], 6000)];
  t.same(sent, [settleMessage(settle(1), 6000), settleMessage(settle(2), 6000)]);
});
