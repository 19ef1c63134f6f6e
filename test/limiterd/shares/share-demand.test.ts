import t from "tap";
import { ShareDemand } from "../../../limiterd/shares/share-demand.js";

/** Used evenly, and asked about each second; returns what is to be held after each question. */
function askedEachSecond(
  demand: ShareDemand,
  {
    perSecond,
    left,
    seconds,
    hosts = 2,
    periodMs = 3_600_000,
  }: {
    perSecond: number;
    left: number;
    seconds: number;
    hosts?: number;
    periodMs?: number;
  },
): number[] {
  return Array.from({ length: seconds }, (_, second) => {
    for (let i = 0; i < perSecond; i++) demand.used();
    return demand.ahead((second + 1) * 1000, { left, hosts, periodMs });
  });
}

t.test(
  "what is asked for ahead: more and more seconds of it, where few will miss it",
  async (t) => {
    const table = [
      { name: "far", perSecond: 10, left: 100_000, held: [10, 40, 50, 50, 50] },
      { name: "a sixteenth of all hosts", perSecond: 10, left: 640, held: [10, 20, 20, 20, 20] },
      { name: "near", perSecond: 10, left: 319, held: [10, 10, 10, 10, 10] },
      { name: "very near", perSecond: 10, left: 20, held: [5, 5, 5, 5, 5] },
      { name: "full", perSecond: 10, left: 0, held: [0, 0, 0, 0, 0] },
      { name: "a short window", perSecond: 10, left: 1e6, periodMs: 2000, held: Array(5).fill(10) },
      { name: "slots", perSecond: 10, left: 64, periodMs: 0, held: [2, 2, 2, 2, 2] },
    ];
    for (const { name, held, ...use } of table)
      t.same(askedEachSecond(new ShareDemand(0), { seconds: 5, ...use }), held, name);
  },
);

t.test("far from a cap all hosts hold a sixteenth of what is left at most", async (t) => {
  for (let i = 0; i < 2000; i++) {
    const [perSecond, left] = [Math.floor(Math.random() * 300), Math.floor(Math.random() * 20_000)];
    const hosts = 1 + Math.floor(Math.random() * 10);
    const demand = new ShareDemand(0);
    const use = { perSecond, left, hosts, seconds: 1 + Math.floor(Math.random() * 6) };
    const held = askedEachSecond(demand, use).at(-1)!;
    const most = demand.isFew ? left / 16 : Math.min(left / 2, perSecond * hosts);
    if (held * hosts > most) t.fail(JSON.stringify({ ...use, held }));
  }
});

t.test("units are kept for as long as a pause may be chance", async (t) => {
  for (const [perSecond, left, idleMs] of [
    [100, 1e6, 200],
    [10, 1e6, 800],
    [1, 1e6, 5000],
    [1, 10, 200],
  ] as const) {
    const demand = new ShareDemand(0);
    askedEachSecond(demand, { perSecond, left, seconds: 3 });
    t.equal(demand.idleMs, idleMs, `${perSecond}/s of ${left}`);
  }
});

t.test("what was never expected is noticed, far from the cap alone", async (t) => {
  for (const [left, isSurprising] of [
    [1e6, true],
    [100, false],
  ] as const) {
    const demand = new ShareDemand(0);
    askedEachSecond(demand, { perSecond: 10, left, seconds: 3 });
    for (let i = 0; i < 2 * 50 + 16; i++) demand.used();
    t.notOk(demand.isSurprising);
    demand.used();
    t.equal(demand.isSurprising, isSurprising);
    demand.clear(4000);
    t.notOk(demand.isSurprising);
  }
});
