import t from "tap";
import { settleFacts } from "../../../limiterd/rules/settle-facts.js";
import { tokensPerResponseMax } from "../../../shared/bounds.js";
import { uncountedLsn, unlimitedLsn } from "../../../shared/wire/message-to-daemon.js";
import { settleOf } from "../in-memory-daemon.js";

const lease = {
  lease: 7,
  userPath: "/team",
  admittedAtMs: 50,
  lsn: 9,
  target: { provider: "p", model: "m" },
  targetAtMs: 60,
  targetLsn: 10,
  submission: false,
};

type Sent = Partial<ReturnType<typeof settleOf>>;

/** What is known of a settle that arrives at the moment 100. */
const factsOf = (
  sent: Sent,
  { rateLimitsEnabled = true, usageEnabled = true, sinceMs = 0, nowMs = 100 } = {},
) => {
  const message = { ...settleOf(lease, 1, 40), ...sent };
  const arrived = { proxy: {} as never, message, held: undefined };
  const options = { settings: { rateLimitsEnabled, usageEnabled }, book: { sinceMs } };
  return settleFacts(options, arrived, nowMs);
};

t.test("what was admitted has the numbers and moments of its admission", (t) => {
  t.same(factsOf({ startedAgoMs: 80, endedAgoMs: 20 }), {
    lsn: 9,
    requestAtMs: 50,
    targetLsn: 10,
    targetAtMs: 60,
    endedAtMs: 80,
    tokens: 40,
  });
  t.end();
});

t.test("what wasn't is known by when it began, and no moment is before the first", (t) => {
  const unasked = { lsn: 0, targetLsn: 0 };
  t.match(factsOf({ ...unasked, startedAgoMs: 80 }), { requestAtMs: 20, targetAtMs: 20 });
  t.match(factsOf({ ...unasked, startedAgoMs: 80, targetStartedAgoMs: 30 }), {
    requestAtMs: 20,
    targetAtMs: 70,
  });
  t.match(factsOf({ ...unasked, startedAgoMs: 200, targetStartedAgoMs: 200, endedAgoMs: 200 }), {
    requestAtMs: 0,
    targetAtMs: 0,
    endedAtMs: 0,
  });
  t.end();
});

t.test("what began before all rules is counted by none, unless the clock is behind them", (t) => {
  const unlimited = { lsn: unlimitedLsn, targetLsn: unlimitedLsn, startedAgoMs: 50 };
  for (const [sinceMs, lsn] of [
    [49, 0],
    [50, 0],
    [51, uncountedLsn],
    [100, uncountedLsn],
    [101, 0],
  ] as const)
    t.match(factsOf(unlimited, { sinceMs }), { lsn, targetLsn: lsn }, String(sinceMs));
  t.end();
});

t.test("tokens are cut at a bound, and count while rules and usage are on", (t) => {
  const most = 2 * tokensPerResponseMax;
  t.equal(factsOf({ tokens: most }).tokens, most);
  t.equal(factsOf({ tokens: most + 1 }).tokens, most);
  t.equal(factsOf({}, { usageEnabled: false }).tokens, 0);
  t.match(factsOf({}, { rateLimitsEnabled: false }), {
    tokens: 0,
    lsn: uncountedLsn,
    targetLsn: uncountedLsn,
  });
  t.end();
});
