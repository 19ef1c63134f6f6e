/** The types of a checked configuration. Each process loads all of it and uses its part. */

import type { ModelPatterns } from "../access/allowed-models.js";
import type { ClusterPart } from "../cluster/cluster-config.js";
import type { BudgetDefinition, UnpricedChoice } from "../domain/budget.js";
import type { LimitPlaces, RuleDefinition } from "../domain/rule.js";
import type { Target } from "../domain/target-name.js";
import type { TokenWeights } from "../domain/token-weights.js";
import type { UpstreamPolicy } from "../domain/upstream-limits.js";
import type { LogLevel } from "../log.js";
import type { TelemetryConfig } from "../metrics/telemetry-config.js";
import type { Operation } from "../operation.js";
import type { ChatTraits, ResponsesTraits } from "./host-traits.js";
import type { WaitOfPath } from "./kinds/list-kinds.js";
import type { ModelOverrides } from "./model-overrides.js";
import type { OwnModelTraits } from "./model-traits.js";
import type {
  CacheMode,
  CredentialHeader,
  HeaderFile,
  NativeMode,
  PassthroughAccess,
  ProviderType,
  TranslationMode,
  WeightedKey,
  WeightedKeyFile,
} from "./provider-type.js";
import type { OidcConfig } from "./resolve/oidc.js";
import type { TlsConfig } from "./resolve/tls.js";
import type { ChangeFields, PriceFields, TierFields } from "./settings/price-settings.js";
import type { SettingValuesOf } from "./settings/setting.js";
import type {
  limiterSettings,
  SettingValues,
  serverSettings,
  usageSettings,
} from "./settings/settings.js";
import type { WebSearchConfig } from "./web-search.js";

export type FailureMode = SettingValues["failureMode"];

export interface ProviderConfig {
  /** The instance name, which rules, qualified model ids and logs use. */
  readonly name: string;
  readonly type: ProviderType;
  /** The operations that it offers. */
  readonly operations: ReadonlySet<Operation>;
  /** Without a trailing slash; paths are appended. Empty for the simulator. */
  readonly baseUrl: string;
  /** Null if no credential is sent. */
  readonly apiKey: string | null;
  /** Several weighted keys instead of `apiKey`; null if there is only one key or none. */
  readonly apiKeys: readonly (WeightedKey | WeightedKeyFile)[] | null;
  /** A file with the key, an absolute path; null if the key is elsewhere. */
  readonly apiKeyFile: string | null;
  /** A command that prints the key; null if the key is elsewhere. */
  readonly apiKeyCommand: string | null;
  readonly credentialHeader: CredentialHeader;
  /** Sent with every request: flat names and values. */
  readonly headers: readonly string[];
  /** Further headers, with values that a proxy reads from files when it starts. */
  readonly headerFiles: readonly HeaderFile[];
  readonly account: string;
  /** Azure's dated version; null if none is sent. */
  readonly apiVersion: string | null;
  /** The features that its chat completions, and its Responses API if it has one, accept. */
  readonly chat: ChatTraits;
  readonly responses: ResponsesTraits;
  /** The operator's traits of its models and their requests; the first matching entry applies. */
  readonly modelTraits: readonly OwnModelTraits[];
  readonly perModel: readonly ModelOverrides[];
  /**
   * Whether a translation drops fields that the provider's dialect lacks, or refuses the request.
   */
  readonly translation: TranslationMode;
  /** Whether requests that aren't translated are adapted to what the provider refuses. */
  readonly nativeRequests: NativeMode;
  /** Whether translated requests to Anthropic's API get breakpoints of its prompt cache. */
  readonly cache: CacheMode;
  /** The limit on output tokens if the dialect requires one and the caller sets none. */
  readonly maxTokensDefault: number;
  /** Null if the provider's `/models` lists them. `*` allows any id. */
  readonly models: readonly string[] | null;
  /** Null to use `server.passthrough`. */
  readonly passthrough: PassthroughAccess | null;
  /** Headers forwarded to this provider in addition to the usual ones; in lower case. */
  readonly forwardHeaders: readonly string[];
  readonly connectTimeoutMs: number;
  readonly firstByteTimeoutMs: number;
  readonly idleTimeoutMs: number;
  /** How long an idle connection is kept, unless the provider announces its own timeout. */
  readonly keepAliveMs: number;
  readonly connectionsMax: number;
  /** The URL of its outbound proxy, or the absolute path of a file with the URL. */
  readonly proxy: string | null;
  readonly proxyFile: string | null;
  /** Additional trusted certificates, an absolute path. */
  readonly caFile: string | null;
  /** How often a failed request is retried at the same target. */
  readonly retries: number;
  /** A request isn't retried if the provider asks for a longer wait. */
  readonly retryWaitMaxMs: number;
  /** Consecutive failures of a target that open its circuit; 0 to never open it. */
  readonly breakerFailures: number;
  /** How long the circuit first stays open. */
  readonly breakerOpenMs: number;
  /** How the limits that it reports are used. */
  readonly upstreamLimits: UpstreamPolicy;
}

export type Strategy = "round_robin" | "cost" | "latency" | "least_busy" | "failover";

/**
 * Which requests of one conversation stay at the same target. `session`: those that name their
 * session, if the targets belong to several accounts.
 */
export type Affinity = "none" | "session" | "conversation";

export interface VirtualModelConfig {
  readonly source: string;
  readonly strategy: Strategy;
  /** Absent for `session`. */
  readonly affinity?: Affinity;
  readonly targets: readonly {
    readonly provider: string;
    readonly model: string;
    readonly weight: number;
  }[];
}

/** Another name for a model, or for all models with a common prefix. */
export interface AliasConfig {
  /** As configured: a name, or a prefix and an asterisk. */
  readonly name: string;
  /** A virtual model or a provider's model; `model` is null for the requested one. */
  readonly to:
    | { readonly kind: "virtual"; readonly source: string }
    | { readonly kind: "target"; readonly provider: string; readonly model: string | null };
}

/**
 * A price set by the operator, which overrides the price list. `price-at.ts` resolves it to rates.
 */
export interface PriceConfig {
  /** `*` for models of all providers that have no other price. */
  readonly provider: string;
  /**
   * A model's id, or a pattern in which `*` is any characters. Null for every model of the provider
   * without a price of its own here.
   */
  readonly model: string | null;
  /** The price with the rates that this one leaves out; null if none. */
  readonly extends: "list" | Target | null;
  readonly fields: PriceFields;
  readonly tiers: readonly TierFields[];
  /** In order of time. */
  readonly changes: readonly ChangeFields[];
}

/** An issuer whose tokens authenticate callers (docs/authentication.md). */
export interface JwtIssuerConfig {
  readonly issuer: string;
  /** A token's `aud` must contain one of these. */
  readonly audience: readonly string[];
  readonly algorithms: readonly string[];
  readonly keys:
    | { readonly kind: "file" | "secret-file"; readonly path: string }
    | { readonly kind: "url"; readonly url: string; readonly proxy: string | null }
    | { readonly kind: "secret"; readonly secret: string };
  /** The name of a claim, or a path with claims in braces. */
  readonly userPath: string;
  /** The models that its callers may use; null for any. */
  readonly models: ModelPatterns | null;
  /** The claim that lists the models that its caller may use; null if no claim does. */
  readonly modelsClaim: string | null;
}

/** A destination of alerts, and which alerts it receives (docs/alerts.md). */
export interface AlertConfig {
  /** A digest of the URL, which names the destination between daemon and proxy. */
  readonly id: string;
  readonly url: string;
  /** Used shares of a limit, ascending. */
  readonly at: readonly number[];
  readonly forecast: boolean;
  /** Whether rate limits are reported too. */
  readonly rateLimits: boolean;
  readonly format: "json" | "slack";
  /** Null if nothing is signed, or the secret is in a file. */
  readonly secret: string | null;
  readonly secretFile: string | null;
  /** The outbound proxy; null: direct. */
  readonly proxy: string | null;
}

/** The rewriters of the proxy; `proxy/body/rewriters/` implements them. */
export type RewriterName = "collapse_white_space" | "minify_tool_json" | "drop_duplicate_system";

/** A rewriter, which shortens prompts before they are sent, and where it applies. */
interface RewriterConfig {
  readonly name: RewriterName;
  /** Normalized paths, each including all paths below it; null for every path. */
  readonly paths: readonly string[] | null;
  /** In lower case, `provider/id` or `id`; null for every model. */
  readonly models: readonly string[] | null;
}

/** A scalar setting in force. */
export interface EffectiveSetting {
  /** Its path in the file, such as `server.port`. */
  readonly path: string;
  /** As given, or the default; for a secret `set` or `not set`. */
  readonly value: string;
  readonly source: "flag" | "variable" | "file" | "default";
  /** The name of the flag or variable; otherwise null. */
  readonly name: string | null;
  readonly unit: string | null;
  readonly secret: boolean;
  /** One sentence. */
  readonly meaning: string;
}

type ServerValues = SettingValuesOf<typeof serverSettings>;
type LimiterValues = SettingValuesOf<typeof limiterSettings>;
type UsageValues = Omit<
  SettingValuesOf<typeof usageSettings>,
  "backgroundLookMs" | "backgroundWaitMs" | "backgroundMax"
>;
/** Absolute paths. Their defaults depend on the user and on each other. */
export type DerivedPath = "socket" | "adminSocket" | "dataDir" | "spoolDir";

export interface Config extends TelemetryConfig, ClusterPart, UsageValues {
  /** The file that was loaded, or null for the built-in default. */
  readonly file: string | null;
  readonly server: Omit<ServerValues, "adminHost" | "adminPort"> & {
    /** Null for plain HTTP. */
    readonly tls: TlsConfig | null;
    /** The address of /admin and the dashboard; null to serve them with everything else. */
    readonly admin: { readonly host: string; readonly port: number } | null;
  };
  readonly limiter: Omit<LimiterValues, DerivedPath> & Readonly<Record<DerivedPath, string>>;
  readonly providers: readonly ProviderConfig[];
  /** MCP servers as providers without models; the name begins with `mcp:`. */
  readonly mcpServers: readonly ProviderConfig[];
  readonly virtualModels: readonly VirtualModelConfig[];
  /** Unique by name, ignoring case. */
  readonly aliases: readonly AliasConfig[];
  readonly prices: readonly PriceConfig[];
  /** The price list that `sluice prices update` writes; null for the one that is shipped. */
  readonly priceListFile: string | null;
  readonly jwtIssuers: readonly JwtIssuerConfig[];
  readonly alerts: readonly AlertConfig[];
  /** Null if the cache is off. */
  readonly cache: {
    readonly ttlMs: number;
    readonly entriesMax: number;
    readonly bytesMax: number;
    readonly entryBytesMax: number;
    /** Whether an answer to one user path may be used for another. */
    readonly shareAcrossPaths: boolean;
  } | null;
  /** Null if Sluice runs no web searches. */
  readonly webSearch: WebSearchConfig | null;
  /** Null if OpenID Connect is off. */
  readonly oidc: OidcConfig | null;
  /** In the order in which they are applied. */
  readonly rewriters: readonly RewriterConfig[];
  /** The first entry with the caller's path applies. */
  readonly background: BackgroundConfig;
  readonly quotaTemplatesEntitled: boolean;
  readonly rateLimits: LimitPlaces & {
    readonly enabled: boolean;
    /** 0: no periodic write. */
    readonly flushIntervalMs: number;
    /** For rules without weights of their own; null: each token counts as one. */
    readonly tokenWeights: TokenWeights | null;
    /** Unique by `ruleId`. */
    readonly rules: readonly RuleDefinition[];
  };
  readonly budgets: LimitPlaces & {
    readonly enabled: boolean;
    /** Whether callers under a budget may use models without a price. */
    readonly unpriced: UnpricedChoice;
    /** Unique by `budgetId`. */
    readonly budgets: readonly BudgetDefinition[];
  };
  /** Null if no request may wait for room under its limits. */
  readonly waiting: Waiting | null;
  readonly logLevel: LogLevel;
  /** The scalar settings, for people. */
  readonly settings: readonly EffectiveSetting[];
}

export interface Waiting extends WaitLimits {
  /** How often a client gets its place while its stream waits; 0 for never. */
  readonly keepAliveMs: number;
}

/** How long requests may wait for room instead of being refused. */
export interface WaitLimits {
  readonly maxMs: number;
  /** For clients that don't request a wait. */
  readonly defaultMs: number;
  /** Limits of single paths; the longest path that contains the caller's applies. */
  readonly paths: readonly WaitOfPath[];
}

/** How Sluice polls for the usage of background responses. */
export interface BackgroundConfig {
  /** The polling interval of one response; 0 to not poll. */
  readonly lookMs: number;
  readonly waitMs: number;
  /** Responses that are polled at the same time. */
  readonly max: number;
}
