import t from "tap";
import {
  keepReconciliation,
  listReconciliations,
  parseReconciliationQuery,
} from "../../../limiterd/usage/reconciliations.js";
import {
  parseReconciliation,
  type ReconciliationPage,
} from "../../../shared/api/reconciliation-item.js";
import { reconciliationBytesMax, reconciliationsMax } from "../../../shared/bounds.js";
import { createMemoryStore } from "../../support/memory-store.js";
import { exactly } from "../../support/patterns/exactly.js";
import { reconciliation } from "./reconciliation.js";

function listed(
  store: ReturnType<typeof createMemoryStore>,
  body: object | null = null,
): ReconciliationPage {
  const query = parseReconciliationQuery(body);
  if (!query.ok) throw new Error(query.failure.message);
  return listReconciliations(store, query.value, 5_000);
}

t.test("the newest results are kept, and listed newest first, by provider and page", async (t) => {
  const store = createMemoryStore();
  for (let key = 1; key <= reconciliationsMax + 2; key++) {
    const provider = key % 2 === 0 ? "openai" : "anthropic";
    const result = reconciliation({ provider });
    await store.commit(keepReconciliation(store, result, { key, nowMs: key }));
  }
  const first = listed(store, { limit: 2 });
  const newest = reconciliationsMax + 2;
  t.same(
    first.reconciliations.map(({ id, provider }) => [id, provider]),
    [
      [String(newest), "openai"],
      [String(newest - 1), "anthropic"],
    ],
  );
  t.match(listed(store, { limit: 1, after: first.next }), {
    reconciliations: exactly([{ id: String(newest - 2), time: "1970-01-01T00:00:00.750Z" }]),
  });
  const turn = { reconciliations: exactly([]), next: String(newest - 9) };
  t.match(listed(store, { provider: "nobody" }), turn, "a turn examines ten");
  const ids: string[] = [];
  for (let after: string | null = null; ; ) {
    const page = listed(store, { provider: "anthropic", after });
    ids.push(...page.reconciliations.map(({ id }) => id));
    after = page.next;
    if (after === null) break;
  }
  t.same([ids.length, ids.at(-1)], [reconciliationsMax / 2, "3"], "the oldest two are gone");
});

t.test("each wrong field of a result is named, with what was expected", async (t) => {
  const model = { project: null, model: "m", recorded_usd: "1", billed_usd: "1", causes: {} };
  const quantity = { model: "m", tier: "standard", kind: "input", recorded: 1, billed: null };
  const line = { text: "a fee", billed_usd: "1" };
  const whole = reconciliation({
    ...{ models: [model], quantities: [quantity], unknown_lines: [line] },
    ...{ prices: ["prices:"], notes: ["a note"] },
  });
  t.same(parseReconciliation(whole), { ok: true, value: whole });
  const wrong: readonly (readonly [field: string, value: unknown, message: RegExp])[] = [
    ["provider", "", /^provider must be a text without control characters, not ""$/],
    ["provider", "a\nb", /^provider must be a text without control characters, not "a\\nb"$/],
    ["source", "a\tb", /^source must be a text without control characters, not "a\\tb"$/],
    [
      "start_date",
      "2026-01-08",
      /^start_date must not be after end_date, "2026-01-07", but is "2026-01-08"$/,
    ],
    [
      "gap_percent",
      1e308,
      /^gap_percent must be a number from 0 to 1000000000000000, not 1e\+308$/,
    ],
    [
      "start_date",
      "2026-02-30",
      /^start_date must be a date such as 2026-02-01, not "2026-02-30"$/,
    ],
    ["recorded_usd", 1, /^recorded_usd must be dollars as a decimal text, not 1$/],
    ["gap_percent", "5", /^gap_percent must be a number from 0 to 1000000000000000, not "5"$/],
    ["causes", { other: "1" }, /^causes.other is not a known cause: expected past_sluice,/],
    ["causes", { tier: "1,5" }, /^causes.tier must be dollars as a decimal text, not "1,5"$/],
    ["prices", [1], /^prices must be a list of texts, not \[1\]$/],
    ["models", {}, /^models must be a list, not \{\}$/],
    ["models", [1], /^models\[0\] must be a JSON object, not 1$/],
    ["models", [{ ...model, model: null }], /^models\[0\].model must be a text, not null$/],
    ["quantities", [{ ...quantity, x: 1 }], /^unknown field quantities\[0\].x/],
    [
      "quantities",
      [{ ...quantity, billed: "1" }],
      /^quantities\[0\].billed must be a number from 0 to 1000000000000000 or null/,
    ],
    ["unknown_lines", [{ text: 1 }], /^unknown_lines\[0\].text must be a text, not 1$/],
    ["days", [], /^unknown field days/],
  ];
  for (const [field, value, message] of wrong) {
    const read = parseReconciliation({ ...whole, [field]: value });
    t.match(read, { ok: false, failure: { message } }, field);
  }
  const long = parseReconciliation({ ...whole, notes: ["x".repeat(reconciliationBytesMax)] });
  t.match(long, {
    ok: false,
    failure: { message: /^the body must have at most 15360 bytes, not/ },
  });
  t.match(parseReconciliation(null), { ok: false });
});

t.test("a wrong query is refused", async (t) => {
  for (const body of [{ provider: 1 }, { after: "x" }, { limit: 0 }, { other: 1 }])
    t.match(parseReconciliationQuery(body), { ok: false }, JSON.stringify(body));
});
