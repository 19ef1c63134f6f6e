import t from "tap";
import { saturatedMsMax } from "../../../limiterd/bounds.js";
import { UpstreamBook } from "../../../limiterd/upstream/upstream-book.js";
import type { ReportedLimit, UpstreamPolicy } from "../../../shared/domain/upstream-limits.js";
import type { Reported } from "../../../shared/wire/message-to-daemon.js";
import { createRandom } from "../../sim/random.js";
import { exactly } from "../../support/patterns/exactly.js";

const target = { provider: "openai", model: "gpt-4o" };
const avoid: UpstreamPolicy = { mode: "avoid", trustsLimits: true, adaptive: null };

function limit(name: string, remaining: number, resetMs: number | null, cap = 500): ReportedLimit {
  return { name, limit: cap, remaining, resetMs };
}

/** A book with one provider, and what happens to its target. */
function bookOf(policy: UpstreamPolicy = avoid) {
  const book = new UpstreamBook(new Map([["openai", policy]]));
  const clock = { nowMs: 1_767_225_600_000 };
  const known = () => book.targetOf(target, clock.nowMs)!;
  return {
    book,
    clock,
    /** A request that was sent `agoMs` before; an answer without limits unless they are given. */
    report(more: Partial<Reported> = {}, startedAgoMs = 10) {
      const base = { kind: "reported" as const, target, startedAgoMs, status: 200, limits: [] };
      book.report({ ...base, ...more }, clock.nowMs);
    },
    wait: () => known().breach(clock.nowMs)?.waitSeconds ?? 0,
    breach: () => known().breach(clock.nowMs),
    begin() {
      known().counter.inFlight++;
      known().noteAdmission(clock.nowMs);
    },
    end: () => void known().counter.inFlight--,
    item: () => book.list(clock.nowMs).upstream_limits[0]!,
  };
}

t.test("a 429 keeps requests away until the time that it names", async (t) => {
  const { report, wait, breach, clock } = bookOf();
  t.equal(wait(), 0);
  report({ status: 429, waitMs: 2500, limits: [limit("requests", 0, 60_000)] });
  t.equal(wait(), 3);
  t.match(breach(), { dimension: "upstream", cap: 500, limitName: "requests" });
  clock.nowMs += 2499;
  t.equal(wait(), 1);
  clock.nowMs += 1;
  t.equal(wait(), 0);
});

t.test(
  "a 429 without a wait goes by the reset of its exhausted limit, or says nothing",
  async (t) => {
    const first = bookOf();
    const limits = [limit("requests", 7, 90_000), limit("tokens", 0, 4000)];
    first.report({ status: 429, limits });
    t.equal(first.wait(), 4);
    const second = bookOf();
    second.report({ status: 429, limits: [limit("requests", 7, 90_000)] });
    t.equal(second.wait(), 0);
    t.equal(second.item().refusals, 1);
  },
);

t.test("an answer that has used up a limit saturates its target until the reset", async (t) => {
  const { report, wait, clock } = bookOf();
  report({ limits: [limit("requests", 0, 20_000), limit("input_tokens", 0, 5000)] });
  t.equal(wait(), 20);
  clock.nowMs += 20_000;
  t.equal(wait(), 0);
});

t.test("limits of a priority tier, and those without a reset, saturate nothing", async (t) => {
  const { report, wait } = bookOf();
  report({
    limits: [
      limit("priority_input_tokens", 0, 20_000),
      limit("fast_output_tokens", 0, 20_000),
      limit("tokens_usage_based", 0, 20_000),
      limit("requests_minute", 0, null),
    ],
  });
  t.equal(wait(), 0);
});

t.test("no report keeps requests away for longer than an hour", async (t) => {
  const { report, wait } = bookOf();
  report({ status: 429, waitMs: 31 * 86_400_000 });
  t.equal(wait(), saturatedMsMax / 1000);
});

t.test("after the reset one request tries the target, then all follow", async (t) => {
  const { report, wait, begin, clock } = bookOf();
  report({ status: 429, waitMs: 5000 });
  clock.nowMs += 5000;
  begin();
  t.equal(wait(), 1, "one is trying");
  clock.nowMs += 100;
  report();
  t.equal(wait(), 0);
});

t.test(
  "a try that is refused saturates the target again, one that ends lets another try",
  async (t) => {
    const { report, wait, begin, end, clock } = bookOf();
    report({ status: 429, waitMs: 5000 });
    clock.nowMs += 5000;
    begin();
    end();
    t.equal(wait(), 0, "its client left");
    begin();
    clock.nowMs += 100;
    report({ status: 429, waitMs: 7000 });
    end();
    t.equal(wait(), 7);
  },
);

t.test("a try without an answer holds the others back no longer than the wait was", async (t) => {
  for (const [waitMs, heldMs] of [
    [3000, 3000],
    [3_000_000, 10_000],
  ] as const) {
    const { report, wait, begin, clock } = bookOf();
    report({ status: 429, waitMs });
    clock.nowMs += waitMs;
    begin();
    clock.nowMs += heldMs - 1;
    t.equal(wait(), 1);
    clock.nowMs += 1;
    t.equal(wait(), 0);
  }
});

t.test("the report of an older request changes nothing, whenever it arrives", async (t) => {
  const { report, wait, item } = bookOf();
  report({ limits: [limit("requests", 400, 20_000)] }, 100);
  report({ status: 429, waitMs: 60_000, limits: [limit("requests", 0, 60_000)] }, 5000);
  t.equal(wait(), 0);
  t.equal(item().limits[0]!.remaining, 400);
  report({ status: 429, waitMs: 60_000 }, 50);
  report({}, 5000);
  t.equal(wait(), 60, "an older answer ends no saturation");
  report({}, 10);
  t.equal(wait(), 0, "a newer one does");
});

t.test("a provider that always reports an exhausted limit costs one reset", async (t) => {
  const { report, wait, begin, end, clock } = bookOf();
  const lie = { limits: [limit("requests", 0, 30_000)] };
  report(lie);
  t.equal(wait(), 30);
  clock.nowMs += 30_000;
  begin();
  clock.nowMs += 200;
  report(lie);
  end();
  t.equal(wait(), 0);
  report(lie);
  t.equal(wait(), 0);
  report({ status: 429, waitMs: 1000 }, 5);
  t.equal(wait(), 1, "a 429 is no lie");
  clock.nowMs += 1000;
  report(lie);
  t.equal(wait(), 30, "and shows that there is a limit");
});

t.test("limits that take turns at being exhausted cost two resets", async (t) => {
  const { report, wait, begin, end, clock } = bookOf();
  const waits: number[] = [];
  for (const name of ["requests", "tokens", "requests", "tokens", "requests"]) {
    begin();
    report({ limits: [limit(name, 0, 2000)] });
    end();
    waits.push(wait());
    clock.nowMs += 2000;
  }
  t.same(waits, [2, 2, 0, 0, 0]);
});

t.test("a limit of one request is exhausted by each, which is no lie", async (t) => {
  const { report, wait, begin, end, clock } = bookOf();
  const honest = { limits: [limit("requests", 0, 2000, 1)] };
  for (let i = 0; i < 3; i++) {
    begin();
    report(honest);
    end();
    t.equal(wait(), 2);
    clock.nowMs += 2000;
    t.equal(wait(), 0);
  }
});

t.test("without trust only a 429 counts, and observe and off refuse nothing", async (t) => {
  const distrusting = bookOf({ ...avoid, trustsLimits: false });
  distrusting.report({ limits: [limit("requests", 0, 30_000)] });
  t.equal(distrusting.wait(), 0);
  distrusting.report({ status: 429, waitMs: 4000 }, 5);
  t.equal(distrusting.wait(), 4);
  for (const mode of ["observe", "off"] as const) {
    const { book, report, clock } = bookOf({ ...avoid, mode });
    report({ status: 429, waitMs: 4000, limits: [limit("requests", 0, 30_000)] });
    t.equal(book.isJudging, false);
    t.equal(book.targetOf(target, clock.nowMs), null);
    t.equal(book.list(clock.nowMs).upstream_limits.length, mode === "off" ? 0 : 1);
  }
});

t.test("a wall clock that steps lengthens no saturation", async (t) => {
  const { report, wait, clock } = bookOf();
  report({ status: 429, waitMs: 10_000 });
  clock.nowMs -= 3_600_000;
  t.equal(wait(), 10);
  clock.nowMs += 10_000;
  t.equal(wait(), 0);
});

t.test("a reset that is over shows a full limit again", async (t) => {
  const { report, item, clock } = bookOf({ ...avoid, mode: "observe" });
  report({ limits: [limit("requests", 3, 20_000), limit("tokens", 9, null)] });
  t.match(
    item().limits,
    exactly([
      { name: "requests", limit: 500, remaining: 3, resets_in_seconds: 20 },
      { name: "tokens", remaining: 9, resets_in_seconds: null },
    ]),
  );
  clock.nowMs += 20_001;
  t.match(item().limits[0], { remaining: 500, resets_in_seconds: 0 });
});

t.test("adaptive concurrency refuses what is beyond the cap", async (t) => {
  const adaptive = { min: 2, max: 8 };
  const { breach, begin, end, item } = bookOf({ ...avoid, mode: "off", adaptive });
  begin();
  t.equal(breach(), null);
  begin();
  t.match(breach(), { dimension: "adaptive", cap: 2, waitSeconds: 1 });
  t.match(item(), { in_flight: 2, adaptive: { min: 2, max: 8, cap: 2, slowdown: 1 } });
  end();
  t.equal(breach(), null);
});

t.test("the number of targets is bounded: idle ones are forgotten", async (t) => {
  const { book, clock } = bookOf();
  for (let i = 0; i < 5000; i++) book.targetOf({ provider: "openai", model: `m${i}` }, clock.nowMs);
  t.equal(book.list(clock.nowMs).upstream_limits.length, 2048);
});

/**
 * Draws reports that lie, arrive out of order and come late, clock steps and requests, and checks
 * the invariants against a model that keeps all that was said.
 */
t.test("whatever is reported, no target is kept from requests beyond what was said", async (t) => {
  for (let seed = 1; seed <= 300; seed++) {
    const random = createRandom(seed);
    const { report, wait, begin, end, clock } = bookOf();
    /** The time that passed, whatever the clock says. */
    let trueMs = 0;
    let inFlight = 0;
    let tries = 0;
    /** What was said last by the newest request. */
    let newest = { startedMs: -Infinity, untilMs: 0, saidMs: 0 };
    for (let i = 0; i < 200; i++) {
      const passedMs = Math.floor(random.next() * 4000);
      trueMs += passedMs;
      clock.nowMs += passedMs;
      if (random.next() < 0.05) {
        // A busy daemon reads its clock shortly before and after the step.
        wait();
        clock.nowMs -= Math.floor(random.next() * 100_000);
        wait();
      }
      const what = random.next();
      if (what < 0.4) {
        const startedAgoMs = Math.floor(random.next() * 6000);
        const startedMs = trueMs - startedAgoMs;
        const waitMs = Math.floor(random.next() ** 4 * 10_000_000);
        const refuses = random.next() < 0.3;
        const lies = random.next() < 0.3;
        const limits = lies ? [limit("requests", 0, waitMs)] : [];
        const wall = refuses ? { status: 429, waitMs, limits } : { status: 200, limits };
        report(wall, startedAgoMs);
        if (startedMs >= newest.startedMs)
          newest = {
            startedMs,
            untilMs: refuses || lies ? trueMs + Math.min(waitMs, saturatedMsMax) : trueMs,
            saidMs: trueMs,
          };
      } else if (what < 0.8) {
        const seconds = wait();
        if (trueMs >= newest.untilMs && seconds > 0) {
          // Only a try may hold others back, and for ten seconds at most.
          if (tries === 0 || seconds !== 1)
            return void t.fail(`seed ${seed}, step ${i}: ${seconds} s`);
        }
        if (trueMs + seconds * 1000 > Math.max(newest.untilMs, trueMs) + 1000)
          return void t.fail(`seed ${seed}, step ${i}: longer than was said`);
        if (seconds === 0) {
          begin();
          inFlight++;
          tries++;
        }
      } else if (inFlight > 0) {
        end();
        inFlight--;
      }
    }
    clock.nowMs += saturatedMsMax + 10_000;
    if (wait() !== 0) return void t.fail(`seed ${seed}: ${wait()} s after an hour`);
  }
  t.pass();
});
