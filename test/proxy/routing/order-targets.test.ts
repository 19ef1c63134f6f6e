import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { createTargetOrder } from "../../../proxy/routing/order-targets.js";
import type { Route, VirtualRoute } from "../../../proxy/routing/resolve-model.js";
import type { Strategy } from "../../../shared/config/config.js";

/** Targets named a, b, c … with these weights. */
function virtual(strategy: Strategy, weights: readonly number[], source = "smart"): VirtualRoute {
  return {
    kind: "virtual",
    source,
    strategy,
    targets: weights.map((weight, i) => ({
      provider: "p",
      model: String.fromCharCode(97 + i),
      weight,
    })),
  };
}

function models(order: readonly { readonly model: string }[]): string {
  return order.map(({ model }) => model).join("");
}

function picks(route: Route, count: number, order = createTargetOrder(() => null)): string[] {
  return Array.from({ length: count }, () => models(order.order(route)));
}

t.test("a direct route has its one target", async (t) => {
  const route: Route = { kind: "direct", targets: [{ provider: "p", model: "m" }] };
  t.equal(createTargetOrder(() => null).order(route), route.targets);
});

t.test("failover and, without prices, cost keep the configured order", async (t) => {
  for (const strategy of ["failover", "cost"] as const)
    t.same(picks(virtual(strategy, [1, 5, 2]), 3), ["abc", "abc", "abc"], strategy);
});

t.test("a peek at the order takes no turn", async (t) => {
  for (const strategy of ["round_robin", "failover", "cost"] as const) {
    const route = virtual(strategy, [2, 1, 3]);
    const order = createTargetOrder(() => null);
    for (let i = 0; i < 12; i++) {
      const seen = [models(order.peek(route)), models(order.peek(route))];
      t.same(seen, Array(2).fill(picks(route, 1, order)[0]), `${strategy} ${i}`);
    }
    t.same(picks(route, 12, order), picks(route, 12), "as without the peek");
  }
});

t.test(
  "cost puts the cheapest first, unpriced ones last, and equals in the configured order",
  async (t) => {
    const prices: Record<string, number> = {};
    const order = createTargetOrder(({ model }) => prices[model] ?? null);
    const route = virtual("cost", [1, 1, 1, 1]);
    const now = (): string | undefined => picks(route, 1, order)[0];
    t.equal(now(), "abcd");
    Object.assign(prices, { b: 3, d: 1 });
    t.equal(now(), "dbac");
    Object.assign(prices, { a: 3, c: 0 });
    t.equal(
      now(),
      "cdab",
      "a price that changes is the one that counts; nothing at all is the cheapest",
    );
  },
);

t.test("round robin takes turns by weight, evenly spread", async (t) => {
  t.same(picks(virtual("round_robin", [1, 1, 1]), 4), ["abc", "bca", "cab", "abc"]);
  t.same(
    picks(virtual("round_robin", [5, 1, 1]), 7).map((order) => order[0]),
    ["a", "a", "b", "a", "c", "a", "a"],
    "nginx's own example",
  );
  t.same(picks(virtual("round_robin", [7]), 2), ["a", "a"]);
});

t.test("after the first comes the heaviest, of equals the next one configured", async (t) => {
  t.same(picks(virtual("round_robin", [1, 3, 2, 2]), 8).sort(), [
    "abcd",
    "bcda",
    "bcda",
    "bcda",
    "cbda",
    "cbda",
    "dbca",
    "dbca",
  ]);
});

t.test("each virtual model has its own turns", async (t) => {
  const order = createTargetOrder(() => null);
  const one = virtual("round_robin", [1, 1], "one");
  const two = virtual("round_robin", [1, 1], "two");
  t.same(
    [models(order.order(one)), models(order.order(two)), models(order.order(one))],
    ["ab", "ab", "ba"],
  );
});

t.test("turns survive a rebuilt catalog, and start over with other targets", async (t) => {
  const order = createTargetOrder(() => null);
  const route = virtual("round_robin", [1, 1]);
  t.equal(models(order.order(route)), "ab");
  t.equal(models(order.order({ ...route })), "ba");
  t.equal(models(order.order(route)), "ab");
  t.equal(models(order.order(virtual("round_robin", [1, 1, 1]))), "abc");
});

t.test(
  "over as many picks as the weights sum to, each target is first as often as it weighs",
  async () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 8 }),
        fc.nat(3),
        (weights, rounds) => {
          const order = createTargetOrder(() => null);
          const route = virtual("round_robin", weights);
          const sum = weights.reduce((a, b) => a + b, 0);
          picks(route, rounds * sum, order);
          const orders = picks(route, sum, order);
          for (let i = 0; i < weights.length; i++)
            assert.equal(
              orders.filter((models) => models.charCodeAt(0) === 97 + i).length,
              weights[i],
            );
          for (const models of orders)
            assert.equal(new Set(models).size, weights.length, "every target stands once");
        },
      ),
    );
  },
);
