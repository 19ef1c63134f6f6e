/**
 * A configuration file of valid shape, the result of `parse-shape.ts`. `../limits/` and
 * `../resolve/` check whether its values fit together. Invalid values are already reported and left
 * out, so that the rest can be checked, too.
 */
import type { BudgetScope } from "../../domain/budget.js";
import type { Scope } from "../../domain/rule.js";
import type { Affinity, Strategy } from "../config.js";
import type { DeclaredLimits } from "../limits/limit-form.js";
import type { AlertFields } from "../settings/alert-settings.js";
import type { JwtFields } from "../settings/jwt-settings.js";
import type { McpFields } from "../settings/mcp-settings.js";
import type { ModelTraitsFields, PerModelFields } from "../settings/model-traits-settings.js";
import type { ChangeFields, PriceFields, TierFields } from "../settings/price-settings.js";
import type { ProviderFields } from "../settings/provider-settings.js";
import type { RewriterFields } from "../settings/rewriter-settings.js";

/** The fields of a mapping; undefined if the value was wrong. */
export type ReadFields<T> = { readonly [K in keyof T]: T[K] | undefined };

/** The fields, or null if one of them was wrong. */
export function validFields<T extends object>(fields: ReadFields<T>): T | null {
  return Object.values(fields).includes(undefined) ? null : (fields as T);
}

export interface DeclaredProvider {
  readonly path: string;
  readonly name: string;
  /** Null if it wasn't a mapping; likewise below. */
  readonly fields: ReadFields<ProviderFields> | null;
  readonly modelTraits: readonly { readonly fields: ReadFields<ModelTraitsFields> | null }[];
  readonly perModel: readonly { readonly fields: ReadFields<PerModelFields> | null }[];
}

export interface DeclaredMcpServer {
  readonly path: string;
  readonly name: string;
  readonly fields: ReadFields<McpFields> | null;
}

export interface DeclaredTarget {
  readonly path: string;
  /** `provider/model`, as written. */
  readonly model: string;
  readonly weight: number;
}

export interface DeclaredVirtualModel {
  readonly path: string;
  readonly source: string;
  readonly strategy: Strategy | null;
  readonly affinity: Affinity;
  readonly targets: readonly DeclaredTarget[];
}

export interface DeclaredAlias {
  readonly path: string;
  readonly name: string;
  /** As written in the file. */
  readonly target: string;
}

export interface DeclaredPrice {
  readonly path: string;
  /** `provider/model` or `provider/*`, as written. */
  readonly name: string;
  readonly fields: ReadFields<PriceFields> | null;
  readonly tiers: readonly {
    readonly path: string;
    readonly fields: ReadFields<TierFields> | null;
  }[];
  readonly changes: readonly {
    readonly path: string;
    readonly fields: ReadFields<ChangeFields> | null;
  }[];
}

export interface DeclaredIssuer {
  readonly path: string;
  readonly fields: ReadFields<JwtFields> | null;
}

export interface DeclaredAlert {
  readonly path: string;
  readonly fields: ReadFields<AlertFields> | null;
}

interface DeclaredRewriter {
  readonly fields: ReadFields<RewriterFields> | null;
}

export interface ConfigFile {
  /** The raw values of the scalar settings, by their paths. */
  readonly settings: ReadonlyMap<string, unknown>;
  readonly providers: readonly DeclaredProvider[];
  readonly mcpServers: readonly DeclaredMcpServer[];
  readonly virtualModels: readonly DeclaredVirtualModel[];
  readonly aliases: readonly DeclaredAlias[];
  readonly rules: readonly DeclaredLimits<Scope>[];
  readonly budgets: readonly DeclaredLimits<BudgetScope>[];
  readonly prices: readonly DeclaredPrice[];
  readonly issuers: readonly DeclaredIssuer[];
  readonly rewriters: readonly DeclaredRewriter[];
  readonly alerts: readonly DeclaredAlert[];
}
