import t from "tap";
import {
  asBrokenLimiterState,
  assertLimiter,
  assertRuns,
  BrokenLimiterState,
} from "../../../proxy/limiter/broken-limiter-state.js";

t.test(
  "an exception half-way is broken state, with its cause; broken state stays itself",
  async (t) => {
    const broken = new BrokenLimiterState("so");
    t.equal(asBrokenLimiterState(broken), broken);
    const cause = new TypeError("x is null");
    t.match(asBrokenLimiterState(cause), { name: "BrokenLimiterState", cause });
  },
);

t.test("an admission runs while it has a target and isn't settled", async (t) => {
  const target = { provider: "p", model: "m" };
  assertRuns({ isSettled: false, target });
  t.throws(() => assertRuns({ isSettled: true, target }), BrokenLimiterState);
  t.throws(() => assertRuns({ isSettled: false, target: null }), BrokenLimiterState);
  assertLimiter(true, "so");
  t.throws(() => assertLimiter(false, "so"), { message: "assertion failed: so" });
});
