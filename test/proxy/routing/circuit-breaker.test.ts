import fc from "fast-check";
import t from "tap";
import { breakerOpenMsMax } from "../../../proxy/bounds.js";
import { CircuitBreaker } from "../../../proxy/routing/target-health.js";

const settings = { failuresMax: 3, openMs: 1000 };

/** A breaker that failed so often in a row, at time 0. */
function after(failures: number): CircuitBreaker {
  const breaker = new CircuitBreaker();
  for (let i = 0; i < failures; i++) breaker.fail({ startedMs: 0, nowMs: 0, waitMs: 0 }, settings);
  return breaker;
}

t.test("it opens at so many failures in a row, and says so once", async (t) => {
  const breaker = after(2);
  t.equal(breaker.isClosed, true);
  t.ok(breaker.admits(5, true));
  t.equal(breaker.untilMs, 0, "a closed one keeps nobody waiting, whoever it let through");
  t.equal(breaker.fail({ startedMs: 0, nowMs: 0, waitMs: 0 }, settings), true);
  t.equal(breaker.fail({ startedMs: 0, nowMs: 0, waitMs: 0 }, settings), false);
  t.equal(breaker.failures, 4);
  t.notOk(breaker.admits(999, true));
  t.equal(after(3).admits(1000, false), true);
  const never = new CircuitBreaker();
  for (let i = 0; i < 100; i++)
    never.fail({ startedMs: 0, nowMs: 0, waitMs: 0 }, { ...settings, failuresMax: 0 });
  t.ok(never.isClosed, "0 never opens it");
});

t.test("after its time one request may try, and each failed probe doubles the time", async (t) => {
  const breaker = after(3);
  t.ok(breaker.admits(1000, false), "to look is not to take");
  t.ok(breaker.admits(1000, true));
  t.notOk(breaker.admits(1000, true), "the probe is taken");
  t.notOk(breaker.admits(1999, true));
  t.ok(breaker.admits(2000, true), "it may have been lost: the next one");
  breaker.fail({ startedMs: 900, nowMs: 2100, waitMs: 0 }, settings);
  t.equal(breaker.untilMs, 3000, "what began before the probe says nothing");
  breaker.fail({ startedMs: 2000, nowMs: 2100, waitMs: 0 }, settings);
  t.equal(breaker.untilMs, 4100);
  breaker.fail({ startedMs: 3000, nowMs: 3100, waitMs: 0 }, settings);
  t.equal(breaker.untilMs, 4100, "nor does what had no other target");
});

t.test("a provider that wants more time gets it, within the bound", async (t) => {
  for (const [waitMs, untilMs] of [
    [500, 1000],
    [7000, 7000],
    [Infinity, breakerOpenMsMax],
  ] as const) {
    const breaker = after(2);
    breaker.fail({ startedMs: 0, nowMs: 0, waitMs }, settings);
    t.equal(breaker.untilMs, untilMs);
  }
});

t.test("an answer proves a target well unless it began before the target failed", async (t) => {
  const breaker = new CircuitBreaker();
  for (let i = 0; i < 3; i++) breaker.fail({ startedMs: 0, nowMs: 500, waitMs: 0 }, settings);
  t.notOk(breaker.provesRecovery(499));
  t.ok(breaker.provesRecovery(500));
  t.ok(after(2).provesRecovery(-1), "a closed one always");
});

t.test(
  "on any course of events it lets one request per period pass, and never locks",
  async (t) => {
    const steps = fc.array(
      fc.record({
        passMs: fc.nat(3000),
        does: fc.constantFrom("asks", "fails", "fails late"),
        waitMs: fc.constantFrom(0, 0, 5000),
      }),
      { minLength: 1, maxLength: 80 },
    );
    const settingsOf = fc.record({
      failuresMax: fc.integer({ min: 1, max: 5 }),
      openMs: fc.integer({ min: 100, max: 300_000 }),
    });
    fc.assert(
      fc.property(steps, settingsOf, (run, given) => {
        const breaker = new CircuitBreaker();
        let nowMs = 0;
        let failures = 0;
        let lastAdmittedMs = -Infinity;
        let opened = 0;
        for (const { passMs, does, waitMs } of run) {
          nowMs += passMs;
          if (does === "asks") {
            const wasOpen = !breaker.isClosed;
            const admitted = breaker.admits(nowMs, true);
            if (!wasOpen && !admitted) return false;
            if (wasOpen && admitted) {
              if (nowMs - lastAdmittedMs < given.openMs) return false;
              lastAdmittedMs = nowMs;
            }
          } else {
            failures++;
            const startedMs = does === "fails" ? nowMs : nowMs - 4000;
            if (breaker.fail({ startedMs, nowMs, waitMs }, given)) opened++;
          }
          if (breaker.failures !== failures) return false;
          if (breaker.isClosed !== failures < given.failuresMax) return false;
          if (opened !== (breaker.isClosed ? 0 : 1)) return false;
          if (breaker.untilMs - nowMs > breakerOpenMsMax) return false;
        }
        return breaker.admits(nowMs + breakerOpenMsMax, true);
      }),
      { numRuns: 500 },
    );
    t.pass();
  },
);
