/**
 * A configuration file after its shape was checked and before its values are put together: what
 * `parse-shape.ts` makes and the pure files take. Fields that were wrong are left out (null); they
 * have been told.
 */
import type { Strategy } from "./config.js";
import type { JwtFields } from "./jwt-settings.js";
import type { PriceFields, TierFields } from "./price-settings.js";
import type { Mapping } from "./read-mapping.js";
import type { ProviderFields } from "./provider-settings.js";
import type { RewriterFields } from "./rewriter-settings.js";

export interface DeclaredProvider {
  readonly at: string;
  readonly name: string;
  readonly fields: ProviderFields | null;
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

/** One entry of `rate_limits.user_paths`, `.providers` or `.models`. */
export interface DeclaredRules {
  readonly at: string;
  readonly scope: "user_path" | "provider" | "model";
  /** The path, provider name or model id as it was written, with the key it stands under. */
  readonly subject: string | null;
  readonly subjectKey: "path" | "name" | "model";
  readonly perChild: boolean;
  readonly limits: readonly { readonly at: string; readonly fields: Mapping }[];
}

/** One entry of `budgets.user_paths` or `.labels`. */
export interface DeclaredBudgets {
  readonly at: string;
  readonly scope: "user_path" | "label";
  /** The path or label as it was written. */
  readonly subject: string | null;
  readonly perChild: boolean;
  readonly limits: readonly { readonly at: string; readonly fields: Mapping }[];
}

export interface DeclaredPrice {
  readonly at: string;
  /** `provider/model` or `provider/*`, as it was written. */
  readonly name: string;
  readonly fields: PriceFields | null;
  readonly tiers: readonly { readonly at: string; readonly fields: TierFields | null }[];
}

export interface DeclaredIssuer {
  readonly at: string;
  readonly fields: JwtFields | null;
}

export interface DeclaredRewriter {
  readonly fields: RewriterFields | null;
}

export interface ConfigFile {
  /** The raw values of the scalar settings, by their paths. */
  readonly settings: ReadonlyMap<string, unknown>;
  readonly providers: readonly DeclaredProvider[];
  readonly virtualModels: readonly DeclaredVirtualModel[];
  readonly rules: readonly DeclaredRules[];
  readonly budgets: readonly DeclaredBudgets[];
  readonly prices: readonly DeclaredPrice[];
  readonly issuers: readonly DeclaredIssuer[];
  readonly rewriters: readonly DeclaredRewriter[];
}
