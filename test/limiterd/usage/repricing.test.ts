import fc from "fast-check";
import t from "tap";
import { isAdjustable, parseAdjustments, reprice } from "../../../limiterd/usage/repricing.js";
import { addRollup, emptyRollup, rollupOf } from "../../../limiterd/usage/rollup.js";
import type { UsageRecord } from "../../../limiterd/usage/usage-records.js";
import { sumOfCost } from "../../../shared/domain/money.js";
import { interimStatus } from "../../../shared/wire/execution.js";
import { exactly } from "../../support/patterns/exactly.js";
import { recordOn } from "./usage-fixture.js";

const cost = fc.nat({ max: 10_000 });

t.test("whatever a record costs by and by, its sum is what it costs now, priced once", async () => {
  fc.assert(
    fc.property(
      fc.option(cost),
      fc.array(cost, { minLength: 1, maxLength: 5 }),
      fc.constantFrom(200, interimStatus),
      (first, then, status) => {
        let record: UsageRecord = recordOn("/team", {
          status,
          inputTokens: 5,
          inputCost: first,
          outputCost: first === null ? null : 0,
          totalCost: first,
        });
        const sum = emptyRollup();
        addRollup(sum, rollupOf(record));
        for (const totalCost of then) {
          const costs = { inputCost: totalCost, outputCost: 0, totalCost };
          if (!isAdjustable(record, costs)) continue;
          const place = { key: 7, index: 2, source: "list", list: "2026-11-28" } as const;
          const { repriced, difference } = reprice(record, { ...place, ...costs }, 9);
          if (isAdjustable(repriced, costs) || isAdjustable(difference, costs)) return false;
          addRollup(sum, rollupOf(difference));
          record = repriced;
        }
        const { totalCost: known, unpricedRequests, requests, inputTokens } = sum;
        return (
          JSON.stringify(known) === JSON.stringify(sumOfCost(then.at(-1)!)) &&
          unpricedRequests === 0 &&
          requests === (status === interimStatus ? 0 : 1) &&
          inputTokens === 5
        );
      },
    ),
  );
});

t.test("what the cache answered keeps its cost", async (t) => {
  const record = recordOn("/team", { cacheHit: true });
  t.notOk(isAdjustable(record, { inputCost: 1, outputCost: 2, totalCost: 3 }));
});

t.test("a body that isn't a list of adjustments is refused as a whole", async (t) => {
  const right = ["7.2", 1, 2, 3, "list", "2026-11-28"];
  t.match(
    parseAdjustments({ adjustments: [right, ["1.0", -1, 0, -1, "operator", ""]] }),
    exactly({
      ok: true,
      value: [
        { key: 7, index: 2, totalCost: 3, source: "list" },
        { totalCost: -1, list: "" },
      ],
    }),
  );
  for (const wrong of [
    ...[0, 1, 2, 3, 4, 5].map((i) => right.with(i, "x")),
    right.with(3, 0.5),
    right.with(1, Number.NaN),
    right.slice(0, 5),
    null,
  ])
    t.match(parseAdjustments({ adjustments: [right, wrong] }), { ok: false });
  t.match(parseAdjustments({ adjustments: Array.from({ length: 1001 }, () => right) }), {
    ok: false,
  });
  for (const body of [null, {}, { adjustments: 1 }]) t.match(parseAdjustments(body), { ok: false });
});
