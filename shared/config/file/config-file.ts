/**
 * A configuration file after its shape was checked and before its values are put together: what
 * `parse-shape.ts` makes and the pure files take. What was wrong in it has been told and is left
 * out, so that what is wrong with the rest can be told too.
 */
import type { BudgetScope } from "../../domain/budget.js";
import type { Scope } from "../../domain/rule.js";
import type { Strategy } from "../config.js";
import type { DeclaredLimits } from "../limits/limit-form.js";
import type { JwtFields } from "../settings/jwt-settings.js";
import type { PriceFields, TierFields } from "../settings/price-settings.js";
import type { ProviderFields } from "../settings/provider-settings.js";
import type { RewriterFields } from "../settings/rewriter-settings.js";

/** The fields of a mapping; undefined is one whose value was wrong. */
export type ReadFields<T> = { readonly [K in keyof T]: T[K] | undefined };

/** The fields, if none was wrong. */
export function wholeFields<T extends object>(fields: ReadFields<T>): T | null {
  return Object.values(fields).includes(undefined) ? null : (fields as T);
}

export interface DeclaredProvider {
  readonly at: string;
  readonly name: string;
  /** Null: it was no mapping. So it is below. */
  readonly fields: ReadFields<ProviderFields> | null;
}

export interface DeclaredTarget {
  readonly at: string;
  /** `provider/model`, as it was written. */
  readonly model: string;
  readonly weight: number;
}

export interface DeclaredVirtualModel {
  readonly at: string;
  readonly source: string;
  readonly strategy: Strategy | null;
  readonly targets: readonly DeclaredTarget[];
}

export interface DeclaredPrice {
  readonly at: string;
  /** `provider/model` or `provider/*`, as it was written. */
  readonly name: string;
  readonly fields: ReadFields<PriceFields> | null;
  readonly tiers: readonly {
    readonly at: string;
    readonly fields: ReadFields<TierFields> | null;
  }[];
}

export interface DeclaredIssuer {
  readonly at: string;
  readonly fields: ReadFields<JwtFields> | null;
}

export interface DeclaredRewriter {
  readonly fields: ReadFields<RewriterFields> | null;
}

export interface ConfigFile {
  /** The raw values of the scalar settings, by their paths. */
  readonly settings: ReadonlyMap<string, unknown>;
  readonly providers: readonly DeclaredProvider[];
  readonly virtualModels: readonly DeclaredVirtualModel[];
  readonly rules: readonly DeclaredLimits<Scope>[];
  readonly budgets: readonly DeclaredLimits<BudgetScope>[];
  readonly prices: readonly DeclaredPrice[];
  readonly issuers: readonly DeclaredIssuer[];
  readonly rewriters: readonly DeclaredRewriter[];
}
