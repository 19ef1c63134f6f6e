import type { Reconciliation } from "../../../shared/api/reconciliation-item.js";

/** A result of `sluice reconcile` with the given fields. */
export function reconciliation(fields: Partial<Reconciliation> = {}): Reconciliation {
  return {
    ...{ provider: "openai", source: "exported" },
    ...{ start_date: "2026-01-01", end_date: "2026-01-07" },
    ...{ recorded_usd: "1", billed_usd: "1.05", difference_usd: "0.05", gap_usd: "0.05" },
    ...{ gap_percent: 4.77, causes: { stale_price: "0.05" } },
    ...{ models: [], quantities: [], unknown_lines: [], prices: [], notes: [] },
    ...fields,
  };
}
