import fc from "fast-check";
import t from "tap";
import { admit } from "../../../../limiterd/rules/admit.js";
import { Replay, TimeQueue } from "../../../../limiterd/rules/back-tests/replay.js";
import type { PastRequest } from "../../../../limiterd/rules/back-tests/replayed-rule.js";
import { charge } from "../../../../limiterd/rules/charge.js";
import { judge } from "../../../../limiterd/rules/judge.js";
import { RuleBook } from "../../../../limiterd/rules/rule-book.js";
import { freeSlots } from "../../../../limiterd/rules/slots.js";
import type { RuleDefinition } from "../../../../shared/domain/rule.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { now, ruleWith } from "../../book-of.js";

const names = {
  hashKey: [1, 2],
  providers: new Map([["openai", { type: "openai", sameModel: [], movingAlias: null } as const]]),
} as const;
const minute = 60_000;

function request(changes: Partial<PastRequest> & { readonly startMs: number }): PastRequest {
  return {
    endMs: changes.startMs + 1000,
    userPath: "/team/app",
    target: { provider: "openai", model: "gpt-4o" },
    tokens: 10,
    kind: "request",
    ...changes,
  };
}

/** Records come in the order in which requests ended. */
function replayed(
  rule: RuleDefinition,
  requests: readonly PastRequest[],
  options: { readonly heldMax?: number; readonly fromMs?: number } = {},
): Replay {
  const replay = new Replay(rule, names, { fromMs: now, ...options });
  for (const each of [...requests].sort((a, b) => a.endMs - b.endMs)) replay.add(each);
  while (replay.held > 0) replay.playNext();
  return replay;
}

/**
 * The same by a plain list of all events, each judged by the daemon's own `judge`: what the rule
 * would have refused, as moments.
 */
function judged(rule: RuleDefinition, requests: readonly PastRequest[]): number[] {
  const book = new RuleBook(names.hashKey, names.providers);
  book.put(rule, { source: "manual", nowMs: now, lsn: 1 });
  const refused: number[] = [];
  const events = requests.flatMap((each, number) => [
    { atMs: each.startMs, isStart: true, number, each },
    { atMs: each.endMs, isStart: false, number, each },
  ]);
  events.sort(
    (a, b) =>
      a.atMs - b.atMs || Number(a.isStart) - Number(b.isStart) || a.each.endMs - b.each.endMs,
  );
  const held = new Map<number, ReturnType<RuleBook["matchPath"]>>();
  for (const { atMs, isStart, number, each } of events) {
    const options = { nowMs: atMs, tokensEnforced: true };
    const asked = { userPath: each.userPath, targets: [each.target], submission: false };
    if (!isStart) {
      const counters = held.get(number);
      if (counters === undefined) continue;
      freeSlots(counters);
      charge(book, counters, { atMs, requests: 0, tokens: each.tokens }, atMs);
    } else if (judge(book, asked, options).kind === "refused") refused.push(atMs);
    else {
      const verdict = admit(book, asked, options);
      if (verdict.kind === "admitted") held.set(number, [...verdict.counters]);
    }
  }
  return refused;
}

const paths = ["/team", "/team/app", "/team/app/x", "/team/b", "/other"];
const anyRequests = fc
  .array(
    fc.record({
      after: fc.nat(20_000),
      takes: fc.oneof(fc.nat(2000), fc.integer({ min: 1, max: 200_000 })),
      userPath: fc.constantFrom(...paths),
      tokens: fc.nat(50),
    }),
    { maxLength: 80 },
  )
  .map((list) => {
    let startMs = now;
    return list.map(({ after, takes, ...rest }) => {
      startMs += after + 1;
      return request({ ...rest, startMs, endMs: startMs + takes + 1 });
    });
  });
const anyRule = fc.oneof(
  ...[60, 300].map((seconds) =>
    fc
      .record({
        perChild: fc.boolean(),
        requests: fc.integer({ min: 1, max: 8 }),
        tokens: fc.integer({ min: 1, max: 100 }),
      })
      .map((caps) => ruleWith("user_path", "/team", seconds, caps)),
  ),
  fc.integer({ min: 1, max: 4 }).map((cap) => ruleWith("user_path", "/", 0, { requests: cap })),
  fc
    .integer({ min: 1, max: 20 })
    .map((cap) => ruleWith("model", "openai/gpt-4o", 60, { requests: cap })),
);

t.test("a replay refuses exactly what the daemon's own judge refuses", async (t) => {
  let refusals = 0;
  fc.assert(
    fc.property(anyRule, anyRequests, (rule, requests) => {
      const { sums, late } = replayed(rule, requests);
      const expected = judged(rule, requests);
      refusals += expected.length;
      const moment = (ms = Number.NaN): string | null =>
        Number.isNaN(ms) ? null : new Date(ms).toISOString();
      const { refused, first_refused_at: first, last_refused_at: last } = sums.sums;
      return (
        late === 0 &&
        refused === expected.length &&
        first === moment(expected[0]) &&
        last === moment(expected.at(-1))
      );
    }),
    { numRuns: 300 },
  );
  t.ok(refusals > 100, "and that was often");
});

t.test("the lowest caps refuse nothing, and one less refuses something", async (t) => {
  let tried = 0;
  fc.assert(
    fc.property(anyRule, anyRequests, (rule, requests) => {
      const { max_requests, max_tokens } = replayed(rule, requests).sums.sums.lowest_caps;
      const refusedBy = (maxRequests: number | null, maxTokens: number | null): number =>
        replayed({ ...rule, maxRequests, maxTokens }, requests).sums.sums.refused;
      if (max_requests === undefined) return true;
      const tokens = max_tokens ?? null;
      if (refusedBy(max_requests, tokens) > 0) return false;
      tried++;
      return (
        (max_requests === 1 || refusedBy(max_requests - 1, tokens) > 0) &&
        (tokens === null || tokens === 1 || refusedBy(max_requests, tokens - 1) > 0)
      );
    }),
    { numRuns: 200 },
  );
  t.ok(tried > 100);
});

t.test("what on_exhausted lets go on isn't refused", async (t) => {
  const perMinute = ruleWith("user_path", "/team", 60, { requests: 2 });
  const requests = [1, 2, 3, 4].map((second) => request({ startMs: now + second * 1000 }));
  const use = { use: "cheap" };
  const ofModel = { ...ruleWith("model", "gpt-4o", 60, { tokens: 15 }), onExhausted: use };
  const tested = (rule: RuleDefinition): unknown => {
    const { refused, went_on: wentOn, lowest_caps: lowest } = replayed(rule, requests).sums.sums;
    return { refused, wentOn, lowest };
  };
  const all = { refused: 0, wentOn: 2, lowest: { max_requests: 4 } };
  t.same(tested({ ...perMinute, onExhausted: "warn" }), all);
  t.same(tested({ ...perMinute, onExhausted: use }), all, "a rule for all models counts it all");
  t.same(tested(perMinute), { ...all, refused: 2, wentOn: undefined });
  const byModel = { refused: 0, wentOn: 2, lowest: { max_tokens: 31 } };
  t.same(tested(ofModel), byModel, "one for a model doesn't count what goes to another");
  const banned = { ...perMinute, maxRequests: 0, models: "gpt-4o" };
  t.match(tested(banned), { refused: 4, wentOn: undefined });
});

t.test("what a replay tells", async (t) => {
  const perMinute = ruleWith("user_path", "/team", 60, { requests: 2 });
  const at = (...seconds: readonly number[]): PastRequest[] =>
    seconds.map((second) => request({ startMs: now + second * 1000 }));
  t.match(
    replayed(perMinute, at(1, 2, 3, 4, 200)).sums.sums,
    exactly({
      requests: 5,
      refused: 2,
      refused_for: { requests: 2, tokens: 0, concurrent: 0, children: 0, banned: 0 },
      first_refused_at: new Date(now + 3000).toISOString(),
      last_refused_at: new Date(now + 4000).toISOString(),
      days: [{ date: "2026-01-01", requests: 5, refused: 2 }],
      paths: [{ user_path: "/team/app", refused: 2 }],
      lowest_caps: { max_requests: 4 },
    }),
  );
  t.match(
    replayed(perMinute, at(-2, -1, 1, 2)).sums.sums,
    { requests: 2, refused: 2 },
    "what was before the range has used some of it",
  );
  t.match(replayed(perMinute, []).sums.sums, { requests: 0, refused: 0, lowest_caps: {} });
  const gauge = ruleWith("provider", "openai", 0, { requests: 1 });
  const long = request({ startMs: now, endMs: now + minute, userPath: "/a/b" });
  t.match(
    replayed(gauge, [long, ...at(1, 61)]).sums.sums,
    exactly({
      requests: 3,
      refused_for: { concurrent: 1 },
      paths: [{ user_path: "/team", refused: 1 }],
      lowest_caps: { max_requests: 2 },
    }),
  );
});

t.test("a submission holds no slot and is one request of its path", async (t) => {
  const batch = request({ startMs: now, endMs: now + minute, kind: "submission" });
  const later = request({ startMs: now + 1000 });
  const ofPath = ruleWith("user_path", "/team", 60, { requests: 1 });
  const gauge = ruleWith("user_path", "/team", 0, { requests: 1 });
  t.match(replayed(ofPath, [batch, later]).sums.sums, { requests: 2, refused: 1 });
  t.match(replayed(gauge, [batch, later]).sums.sums, { requests: 2, refused: 0 });
  const ofProvider = ruleWith("provider", "openai", 60, { requests: 1 });
  t.match(replayed(ofProvider, [batch, later]).sums.sums, { requests: 1, refused: 0 });
});

t.test("a part of a session has tokens, and is no request", async (t) => {
  const rule = ruleWith("user_path", "/team", 60, { tokens: 10 });
  const part = request({ startMs: now, endMs: now + 500, kind: "part" });
  const later = request({ startMs: now + 1000 });
  t.match(replayed(rule, [part, later]).sums.sums, { requests: 1, refused_for: { tokens: 1 } });
});

t.test("a record that comes too late counts where it was, and isn't judged", async (t) => {
  const rule = ruleWith("user_path", "/team", 300, { requests: 3 });
  const starts = [1, 2, 3, 4, 5].map((second) => now + second * 1000);
  const early = request({ startMs: now + 500, endMs: now + 20_000 });
  const { sums, late } = replayed(rule, [...starts.map((startMs) => request({ startMs })), early], {
    heldMax: 2,
  });
  t.equal(late, 1);
  t.match(sums.sums, { requests: 5, refused: 2 }, "those before it were judged without it");
  const last = request({ startMs: now + 30_000 });
  t.match(
    replayed(rule, [...starts.slice(0, 2).map((startMs) => request({ startMs })), early, last], {
      heldMax: 1,
    }).sums.sums,
    { requests: 3, refused: 1 },
    "the one behind it meets it",
  );
});

t.test("what was added comes out by its time, and at the same time in its order", async () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat(20), { nil: null })), (steps) => {
      const queue = new TimeQueue<number>();
      let waiting: { readonly atMs: number; readonly item: number }[] = [];
      steps.forEach((atMs, item) => {
        if (atMs !== null) {
          queue.add(atMs, item);
          waiting = [...waiting, { atMs, item }].sort((a, b) => a.atMs - b.atMs || a.item - b.item);
          return;
        }
        const [first, ...rest] = waiting;
        waiting = rest;
        if (queue.firstMs !== (first?.atMs ?? Number.POSITIVE_INFINITY)) throw new Error("time");
        if (queue.take() !== first?.item) throw new Error("item");
      });
      return queue.size === waiting.length;
    }),
  );
});
