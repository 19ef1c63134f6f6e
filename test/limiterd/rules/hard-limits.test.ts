import t from "tap";
import { Held } from "../../../limiterd/counters/held.js";
import {
  allowOutput,
  type Demand,
  giveBack,
  type HardLimit,
  holdOn,
  needOf,
  nothingCharged,
  wantedAtFirst,
  weightsOfCost,
  weightsOfRule,
  withoutTarget,
} from "../../../limiterd/rules/hard-limits.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";

const rates = { input: 3, output: 15 };
const demand = (more: Partial<Demand> = {}): Demand => ({
  ...{ promptTokens: 100, likelyPrompt: more.promptTokens ?? 30, outputMax: null },
  ...{ isStreamed: true, rates },
  ...more,
});
const each = { prompt: 1000, output: 1000, parts: 1000 } as const;
const limit = (left: number, held = new Held()): HardLimit => ({
  ...{ held, child: "", weights: each, cap: 10_000, left, claimed: left },
  source: {} as HardLimit["source"],
});
const holding = (of: Demand, output = 0) => ({
  ...{ demand: of, promptTokensMax: 0, keyId: "", uses: undefined },
  ...{ charged: nothingCharged, output },
});

t.test("a token counts as the dearest of its kinds", async (t) => {
  const rule = (measure: "input_tokens" | "output_tokens" | "cost" | null, tokenWeights = {}) => ({
    measure,
    definition: { tokenWeights } as RuleDefinition,
  });
  t.same(weightsOfRule(rule(null), demand(), null), each);
  t.same(weightsOfRule(rule("input_tokens", { cached: 0.1, cache_write: 1.25 }), demand(), null), {
    ...{ prompt: 1250, output: 0, parts: 1000 },
  });
  t.same(weightsOfRule(rule("output_tokens", { reasoning: 2 }), demand(), null), {
    ...{ prompt: 0, output: 2000, parts: 1000 },
  });
  t.same(weightsOfRule(rule("cost"), demand(), null), { prompt: 3, output: 15, parts: 1 });
  t.same(weightsOfCost(null), { prompt: 0, output: 0, parts: 1 });
  const noneOfItsOwn = { measure: null, definition: {} as RuleDefinition };
  t.match(weightsOfRule(noneOfItsOwn, demand(), { input: 0.5 }), { prompt: 500, output: 1000 });
});

t.test(
  "a request needs its prompt, the likely one if it is alone, and a useful output",
  async (t) => {
    t.equal(needOf({ weights: each, cap: 20_000 }, undefined, 0), 1);
    t.equal(needOf({ weights: each, cap: 20_000 }, demand(), 5), 164);
    t.equal(needOf({ weights: each, cap: 20_000 }, demand(), 0), 94);
    t.equal(needOf({ weights: each, cap: 20_000 }, demand({ outputMax: 3 }), 5), 103);
    t.equal(needOf({ weights: each, cap: 1000 }, demand(), 5), 103, "of a small cap a small part");
    t.equal(needOf({ weights: each, cap: 1 }, demand({ promptTokens: 0, outputMax: 0 }), 5), 1);
  },
);

t.test("a stream gets chunks between two bounds, and at the end what is left", async (t) => {
  const of = demand({ promptTokens: 0 });
  for (const [left, before, wanted, output] of [
    [1_000_000, 0, wantedAtFirst(of), 256],
    [1_000_000, 0, 9000, 4096],
    [50_000, 0, 9000, 999],
    [1000, 0, 9000, 19],
    [1000, 960, 9000, 968],
    [1000, 982, 9000, 990],
    [1000, 990, 9000, 992],
    [1000, 995, 9000, 995],
    [10, 500, 9000, 500],
  ] as const)
    t.equal(
      allowOutput([limit(left)], holding(of, before), wanted).output,
      output,
      `${left} ${before}`,
    );
  const [small, large] = [limit(30), limit(9000)];
  t.same(allowOutput([large, small], holding(of), 100), { output: 8, cap: null, tightest: small });
  t.equal(allowOutput([large, small], holding(of, 30), 100).cap, small);
  t.equal(allowOutput([small], holding(of, 30), 30).cap, null, "it wants no more");
  const bounded = demand({ promptTokens: 0, outputMax: 30 });
  t.equal(allowOutput([small], holding(bounded, 30), 100).cap, null, "it has its own maximum");
});

t.test("what isn't streamed gets its maximum, or a part that locks no cap", async (t) => {
  const others = new Held();
  others.add("", 1);
  const whole = (outputMax: number | null) =>
    demand({ promptTokens: 0, isStreamed: false, outputMax });
  for (const [of, held, output] of [
    [whole(500), new Held(), 500],
    [whole(null), new Held(), 32_768],
    [whole(900_000), new Held(), 500_000],
    [whole(900_000), others, 31_249],
    [whole(0), others, 0],
  ] as const)
    t.equal(allowOutput([limit(1_000_000, held)], holding(of), wantedAtFirst(of)).output, output);
  t.equal(allowOutput([limit(3000, others)], holding(whole(9000)), 9000).output, 2999);
});

t.test("a request holds its prompt and its output, without what was charged", async (t) => {
  const held = new Held();
  const first = holdOn([limit(9000, held)], holding(demand(), 64));
  t.equal(held.of(""), 164 + 8, "what is on its way, too");
  giveBack(first);
  const charged = { before: 10, prompt: 90, output: 20 };
  const later = holdOn([limit(9000, held)], { ...first, charged });
  t.equal(held.of(""), 10 + 34 + 8);
  giveBack(later);
  t.equal(held.of(""), 0);
  t.match(withoutTarget(later), { output: 30, charged: { before: 30, prompt: 0, output: 0 } });
  t.equal(withoutTarget(null), null);
});
