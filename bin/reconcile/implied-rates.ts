/** The rates that a bill implies: amount by quantity. Pure. */
import type { Pico, Rate } from "./amount.js";
import { type Kind, kindNames } from "./bill.js";
import type { ComparedCell, Part } from "./cells.js";

/** The rate of a kind on the part's day; a quantity without an amount was free. */
export function rateOfDay({ billed, amounts }: Part, kind: Kind): Rate | null {
  const quantity = billed.get(kind) ?? 0n;
  return quantity > 0n ? { amount: amounts.get(kind) ?? 0n, quantity } : null;
}

/** The rates over all days. */
export class ImpliedRates {
  readonly #cells: readonly ComparedCell[];
  /** By model, tier, region and kind; and by model and kind. */
  readonly #rates = new Map<string, Rate>();

  constructor(cells: readonly ComparedCell[]) {
    this.#cells = cells;
    for (const { model, parts } of cells)
      for (const part of parts.values())
        for (const [kind, amount] of part.amounts) {
          const quantity = part.billed.get(kind) ?? 0n;
          if (quantity <= 0n) continue;
          this.#add(keyOf(model, part, kind), amount, quantity);
          this.#add(`${model}|${kind}`, amount, quantity);
        }
  }

  #add(key: string, amount: Pico, quantity: bigint): void {
    const sum = this.#rates.get(key) ?? { amount: 0n, quantity: 0n };
    this.#rates.set(key, { amount: sum.amount + amount, quantity: sum.quantity + quantity });
  }

  /** In the part's tier and region, else the model's; undefined if the bill implies none. */
  find(model: string, part: Part, kind: Kind): Rate | undefined {
    return this.#rates.get(keyOf(model, part, kind)) ?? this.#rates.get(`${model}|${kind}`);
  }

  /** By model, for the standard tier; without models for which rates are a guess. */
  byModel(): ReadonlyMap<string, ReadonlyMap<Kind, Rate>> {
    const ratesByModel = new Map<string, Map<Kind, Rate>>();
    for (const { model, parts } of this.#cells) {
      if ([...parts.values()].some(({ isTotalDivided }) => isTotalDivided)) continue;
      for (const kind of kindNames) {
        const rate = this.#rates.get(keyOf(model, { tier: "standard", region: "" }, kind));
        if (rate === undefined) continue;
        ratesByModel.set(model, (ratesByModel.get(model) ?? new Map<Kind, Rate>()).set(kind, rate));
      }
    }
    return ratesByModel;
  }
}

function keyOf(model: string, { tier, region }: Pick<Part, "tier" | "region">, kind: Kind): string {
  return `${model}|${tier}|${region}|${kind}`;
}
