import t from "tap";
import { simulate } from "./simulate.js";
import { World } from "./world.js";

/** Seed 68 is one of those in which admissions that come too late are withdrawn. */
const seeds = [...Array.from({ length: 40 }, (_, i) => i + 1), 68];

t.test(
  "whatever goes wrong, every invariant holds after each event, and at rest everything adds up",
  async (t) => {
    const tally = new Map<string, number>();
    for (const seed of seeds) {
      const { violation, lines, tally: ofSeed } = await simulate(seed);
      t.equal(violation, null, `seed ${seed}; replay it with: npm run heavy -- sim --seed ${seed}`);
      if (violation !== null) t.comment(lines.join("\n"));
      for (const [kind, times] of ofSeed) tally.set(kind, (tally.get(kind) ?? 0) + times);
    }
    const expected = [
      "admitted, exact",
      "refused, exact",
      "bytes split",
      "bytes lost",
      "socket stalled",
      "connection reset",
      "daemon killed",
      "daemon sent SIGTERM",
      "daemon paused",
      "proxy killed",
      "proxy paused",
      "commit slow",
      "commit failed",
      "commit failed and is there",
      "disk broken",
      "daemon killed, disk broken at its start",
      "clock stepped",
      "lease reported again",
      "settle repeated",
      "request reported again after a crash",
      "request unavailable",
      "progress",
      "reroute admitted, exact",
      "reroute refused, exact",
      "lease reported again between two targets",
      "late admission withdrawn",
      "late target withdrawn",
      "hello of version 1 refused",
      "proxy settles alone",
      "proxy sent SIGTERM",
      "left settles delivered",
      "request without a verdict reported",
      "unread verdict taken back",
      "question of a connection that was left",
      "served by another model",
      "exhausted and not refused",
      "waits",
      "waits again",
      "admitted after a wait",
      "refused after a wait",
      "request left",
    ];
    t.same(
      expected.filter((kind) => !tally.has(kind)),
      [],
      "and all of this has happened",
    );
  },
);

t.test("the same seed gives the same trace, another seed another one", async (t) => {
  const [first, again, other] = [await simulate(7), await simulate(7), await simulate(8)];
  t.ok(first.events > 500, "something has happened");
  t.same(
    [again.traceHash, again.events, again.lines],
    [first.traceHash, first.events, first.lines],
  );
  t.not(other.traceHash, first.traceHash);
});

t.test("a pause that ends early leaves its process's events in their order", async (t) => {
  const world = new World(1);
  const paused = world.process("paused");
  const seen: (readonly [what: string, atMs: number])[] = [];
  const see = (what: string) => (): void => void seen.push([what, world.nowMs]);
  world.pause(paused, 100);
  world.after(0, paused, see("first"));
  world.after(5, paused, see("second"));
  world.after(10, null, () => world.resume(paused));
  world.after(20, paused, see("third"));
  await world.run(200, () => {});
  t.same(seen, [
    ["first", 10],
    ["second", 10],
    ["third", 20],
  ]);
});
