/** The providers as one proxy knows them, as GET /admin/providers shows them. */
import type { Affinity, Strategy } from "../config/config.js";
import type { ProviderType } from "../config/provider-type.js";
import type { Operation } from "../operation.js";
import type { TargetItem } from "./gateway-status.js";
import type { TimedAnswer } from "./list-page.js";

/** US dollars per million tokens; null if tokens of that kind have no price. */
export interface PriceItem {
  readonly input: number | null;
  readonly output: number | null;
  readonly cached_input: number | null;
  readonly cache_write_input: number | null;
  /** US dollars per request. */
  readonly per_request: number;
  /** Whether larger inputs have different rates. */
  readonly tiered: boolean;
}

interface ProviderModel {
  readonly id: string;
  /** The current price; null if unpriced. */
  readonly price: PriceItem | null;
}

export interface ProviderItem {
  readonly name: string;
  readonly type: ProviderType;
  /** The host, with its port unless that is the default; null for a simulator. */
  readonly host: string | null;
  /** The source of its key, never the key. */
  readonly key_source: "none" | "key" | "keys" | "file" | "command";
  readonly operations: readonly Operation[];
  /** `configured`; `any` for every id; `listed` by the provider itself. */
  readonly models_from: "configured" | "any" | "listed";
  /** When the provider last listed them, with milliseconds; null if it never did. */
  readonly models_learned_at: string | null;
  /** How many models are known. */
  readonly models_total: number;
  /** At most 200 of the models. */
  readonly models: readonly ProviderModel[];
  /**
   * When an attempt last succeeded, with milliseconds; null if none has since the proxy started.
   */
  readonly last_success_at: string | null;
  /** The last failed attempt; null if none has failed since the proxy started. */
  readonly last_failure: {
    readonly at: string;
    readonly model: string;
    readonly reason: string;
  } | null;
  /** Its targets that have failed since their last success. */
  readonly failing: readonly TargetItem[];
}

interface VirtualModelItem {
  readonly name: string;
  readonly strategy: Strategy;
  /** Null for `session`, the default. */
  readonly affinity: Affinity | null;
  /** `provider/model` and its weight. */
  readonly targets: readonly { readonly target: string; readonly weight: number }[];
}

interface AliasItem {
  /** A name, or a prefix and an asterisk. */
  readonly name: string;
  /** A virtual model, `provider/model`, or `provider/*` for the requested model. */
  readonly target: string;
}

export interface ProviderList extends TimedAnswer {
  /** In the order of the configuration file. */
  readonly providers: readonly ProviderItem[];
  readonly virtual_models: readonly VirtualModelItem[];
  readonly aliases: readonly AliasItem[];
}
