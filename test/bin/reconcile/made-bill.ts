/** Usage and bills made for tests of the comparison. */
import { type Pico, readAmount } from "../../../bin/reconcile/amount.js";
import {
  type BillItem,
  type BillRow,
  type Kind,
  kindNames,
  type Quantities,
} from "../../../bin/reconcile/bill.js";
import type { UsageRow } from "../../../bin/reconcile/our-usage.js";

export const day = "2026-11-20";
export const everyKind: ReadonlySet<Kind> = new Set(kindNames);

export function usd(text: string): Pico {
  return readAmount(text)!.pico;
}

interface MadeUsage {
  readonly day?: string;
  readonly project?: string;
  readonly model?: string;
  readonly tier?: string;
  readonly region?: string;
  readonly requests?: number;
  readonly quantities: Quantities;
  readonly unpriced?: Quantities;
  readonly estimated?: Quantities;
  readonly estimateRoom?: number;
  readonly lostRequests?: number;
  /** US dollars. */
  readonly costs?: Readonly<Partial<Record<"input" | "output" | "units" | "tools", string>>>;
}

export function usageOf(made: MadeUsage): UsageRow {
  const { costs = {} } = made;
  return {
    day: made.day ?? day,
    project: made.project ?? null,
    model: made.model ?? "model",
    tier: made.tier ?? "standard",
    region: made.region ?? "",
    requests: made.requests ?? 1,
    quantities: made.quantities,
    unpriced: made.unpriced ?? {},
    estimated: made.estimated ?? {},
    estimateRoom: made.estimateRoom ?? 0,
    lostRequests: made.lostRequests ?? 0,
    costs: {
      input: usd(costs.input ?? "0"),
      output: usd(costs.output ?? "0"),
      units: usd(costs.units ?? "0"),
      tools: usd(costs.tools ?? "0"),
    },
  };
}

/** Rows of one model and tier: quantity and amount by item. */
export function billOf(
  items: Readonly<
    Partial<Record<BillItem, readonly [quantity: number | null, amount: string | null]>>
  >,
  place: Readonly<Partial<Pick<BillRow, "day" | "model" | "tier" | "region">>> = {},
): readonly BillRow[] {
  return Object.entries(items).map(([item, [quantity, amount]]) => ({
    day,
    model: "model",
    tier: "standard",
    region: "",
    project: null,
    ...place,
    item: item as BillItem,
    quantity,
    amount: amount === null ? null : usd(amount),
    text: item,
  }));
}
