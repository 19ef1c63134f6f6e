/** What one proxy knows of its providers, as GET /admin/providers shows it. */
import type { Affinity, Strategy } from "../config/config.js";
import type { ProviderType } from "../config/provider-type.js";
import type { Operation } from "../operation.js";
import type { TargetItem } from "./gateway-status.js";
import type { Timed } from "./list-page.js";

/** US dollars per million tokens; null: tokens of that kind have no price. */
export interface PriceItem {
  readonly input: number | null;
  readonly output: number | null;
  readonly cached_input: number | null;
  readonly cache_write_input: number | null;
  /** US dollars for each request. */
  readonly per_request: number;
  /** Whether larger inputs have other rates. */
  readonly tiered: boolean;
}

interface ProviderModel {
  readonly id: string;
  /** The price now in force; null: unpriced. */
  readonly price: PriceItem | null;
}

export interface ProviderItem {
  readonly name: string;
  readonly type: ProviderType;
  /** Where it is reached, with its port if that isn't the usual one; null for a simulator. */
  readonly host: string | null;
  /** Where its key comes from, never what it is. */
  readonly key_source: "none" | "key" | "keys" | "file" | "command";
  readonly operations: readonly Operation[];
  /** `configured`, `any` for every id, or `listed` by the provider itself. */
  readonly models_from: "configured" | "any" | "listed";
  /** When it last listed them, with milliseconds; null: never, or it isn't asked. */
  readonly models_learned_at: string | null;
  /** How many models are known. */
  readonly models_total: number;
  /** At most 200 of them. */
  readonly models: readonly ProviderModel[];
  /** When an attempt last succeeded, with milliseconds; null: not since this proxy's start. */
  readonly last_success_at: string | null;
  /** The last attempt that failed; null: none since this proxy's start. */
  readonly last_failure: {
    readonly at: string;
    readonly model: string;
    readonly reason: string;
  } | null;
  /** Its targets that have failed since their last answer. */
  readonly failing: readonly TargetItem[];
}

interface VirtualModelItem {
  readonly name: string;
  readonly strategy: Strategy;
  readonly affinity: Affinity | null;
  /** `provider/model` with its weight. */
  readonly targets: readonly { readonly target: string; readonly weight: number }[];
}

interface AliasItem {
  /** A name, or how names begin, with an asterisk behind it. */
  readonly name: string;
  /** A virtual model, `provider/model`, or `provider/*` for the model that is asked for. */
  readonly target: string;
}

export interface ProviderList extends Timed {
  /** In the order of the configuration. */
  readonly providers: readonly ProviderItem[];
  readonly virtual_models: readonly VirtualModelItem[];
  readonly aliases: readonly AliasItem[];
}
