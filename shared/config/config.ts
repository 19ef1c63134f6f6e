/** The types of a checked configuration. Both processes load all and use what concerns them. */
import type { ModelPatterns } from "../access/allowed-models.js";
import type { WithCluster } from "../cluster/cluster-config.js";
import type { BudgetDefinition } from "../domain/budget.js";
import type { Price } from "../domain/price.js";
import type { LimitPlaces, RuleDefinition } from "../domain/rule.js";
import type { LogLevel } from "../log.js";
import type { TelemetryConfig } from "../metrics/telemetry-config.js";
import type { Operation } from "../operation.js";
import type { ChatTraits, ResponsesTraits } from "./host-traits.js";
import type { ModelOverrides } from "./model-overrides.js";
import type { OwnModelTraits } from "./model-traits.js";
import type {
  CredentialHeader,
  HeaderFile,
  NativeMode,
  PassthroughAccess,
  ProviderType,
  TranslationMode,
  WeightedKey,
  WeightedKeyFile,
} from "./provider-type.js";
import type { SettingValuesOf } from "./settings/setting.js";
import type { limiterSettings, SettingValues, serverSettings } from "./settings/settings.js";

export type FailureMode = SettingValues["failureMode"];

export interface ProviderConfig {
  /** The instance name, which rules, qualified model ids and logs use. */
  readonly name: string;
  readonly type: ProviderType;
  /** The operations that it offers. */
  readonly operations: ReadonlySet<Operation>;
  /** Without a trailing slash; paths are appended. Empty for the simulator. */
  readonly baseUrl: string;
  /** Null to send no credential. */
  readonly apiKey: string | null;
  /** In place of `apiKey`; null: it isn't one of several. */
  readonly apiKeys: readonly (WeightedKey | WeightedKeyFile)[] | null;
  /** A file that holds the key, an absolute path; null: it is elsewhere. */
  readonly apiKeyFile: string | null;
  /** A command that prints the key; null: it is elsewhere. */
  readonly apiKeyCommand: string | null;
  readonly credentialHeader: CredentialHeader;
  /** Sent with every request: flat names and values. */
  readonly headers: readonly string[];
  /** Further ones, which a proxy reads when it starts. */
  readonly headerFiles: readonly HeaderFile[];
  readonly account: string;
  /** Azure's dated version; null to send none. */
  readonly apiVersion: string | null;
  /** What its chat completions take, and what its Responses API, if it offers that. */
  readonly chat: ChatTraits;
  readonly responses: ResponsesTraits;
  /** What the operator says of its models, and wants of requests to them: the first that fits. */
  readonly modelTraits: readonly OwnModelTraits[];
  readonly perModel: readonly ModelOverrides[];
  /** Whether a translation drops what the provider's dialect can't say, or refuses it. */
  readonly translation: TranslationMode;
  /** Whether a request that isn't translated is fitted to what its provider refuses. */
  readonly nativeRequests: NativeMode;
  /** The limit on output tokens if its dialect requires one and the caller sets none. */
  readonly maxTokensDefault: number;
  /** Null: the provider's `/models` lists them. `*` stands for any id. */
  readonly models: readonly string[] | null;
  /** Null: as `server.passthrough` says. */
  readonly passthrough: PassthroughAccess | null;
  /** What the operator adds to the headers that are sent to every provider; in lower case. */
  readonly forwardHeaders: readonly string[];
  readonly connectTimeoutMs: number;
  readonly firstByteTimeoutMs: number;
  readonly idleTimeoutMs: number;
  /** How long an idle connection is kept, unless the provider says for how long it keeps it. */
  readonly keepAliveMs: number;
  readonly connectionsMax: number;
  /** The URL of the proxy that it is reached through, or the absolute path of a file with it. */
  readonly proxy: string | null;
  readonly proxyFile: string | null;
  /** Further certificates that are trusted, an absolute path. */
  readonly caFile: string | null;
  /** How often a request that failed is sent to the same target again. */
  readonly retries: number;
  /** If a provider asks for a longer pause, the request isn't retried. */
  readonly retryWaitMaxMs: number;
  /** Failures of a target in a row that open its circuit; 0: none do. */
  readonly breakerFailures: number;
  /** For how long, at first. */
  readonly breakerOpenMs: number;
}

export type Strategy = "round_robin" | "cost" | "latency" | "least_busy" | "failover";

/** What keeps going to the same target. */
export type Affinity = "conversation";

export interface VirtualModelConfig {
  readonly source: string;
  readonly strategy: Strategy;
  /** Absent: nothing. */
  readonly affinity?: Affinity;
  readonly targets: readonly {
    readonly provider: string;
    readonly model: string;
    readonly weight: number;
  }[];
}

/** Another name for a model, or for all models whose names begin alike. */
export interface AliasConfig {
  /** As configured: a name, or how names begin, with an asterisk behind it. */
  readonly name: string;
  /** A virtual model, or a provider's; `model` null: the one that was asked for. */
  readonly to:
    | { readonly kind: "virtual"; readonly source: string }
    | { readonly kind: "target"; readonly provider: string; readonly model: string | null };
}

/** A price that the operator sets; it overrides the price list. */
export interface PriceConfig {
  readonly provider: string;
  /** Null: every model of the provider without a price of its own here. */
  readonly model: string | null;
  readonly price: Price;
}

/** An issuer whose tokens authenticate callers (docs/authentication.md). */
export interface JwtIssuerConfig {
  readonly issuer: string;
  /** A token's `aud` must hold one of these. */
  readonly audience: readonly string[];
  readonly algorithms: readonly string[];
  readonly keys:
    | { readonly kind: "file" | "secret-file"; readonly path: string }
    | { readonly kind: "url"; readonly url: string; readonly proxy: string | null }
    | { readonly kind: "secret"; readonly secret: string };
  /** A claim's name, or a path with claims in braces. */
  readonly userPath: string;
  /** The models that its callers may use; null: any. */
  readonly models: ModelPatterns | null;
  /** The claim that names models which its caller may use; null: none does. */
  readonly modelsClaim: string | null;
}

/** The rewriters that the proxy has; `proxy/body/rewriters/` holds what each does. */
export type RewriterName = "collapse_white_space" | "minify_tool_json" | "drop_duplicate_system";

/** A rewriter, which shortens prompts before they are sent, and where it applies. */
interface RewriterConfig {
  readonly name: RewriterName;
  /** Normalized paths, with all paths below them; null: every path. */
  readonly paths: readonly string[] | null;
  /** In lower case, `provider/id` or `id`; null: every model. */
  readonly models: readonly string[] | null;
}

/** A scalar setting as it is in force. */
export interface EffectiveSetting {
  /** In the file: `server.port`. */
  readonly path: string;
  /** As it was given, or the default; of a secret `set` or `not set`. */
  readonly value: string;
  readonly source: "flag" | "variable" | "file" | "default";
  /** The flag's or the variable's; else null. */
  readonly name: string | null;
  readonly unit: string | null;
  readonly secret: boolean;
  /** One sentence. */
  readonly meaning: string;
}

type ServerValues = SettingValuesOf<typeof serverSettings>;
type LimiterValues = SettingValuesOf<typeof limiterSettings>;
/** Absolute; without a setting, from the user and from each other. */
export type DerivedPath = "socket" | "adminSocket" | "dataDir" | "spoolDir";

export interface Config extends TelemetryConfig, WithCluster {
  /** The file that was loaded, or null for the built-in default. */
  readonly file: string | null;
  readonly server: Omit<ServerValues, "adminHost" | "adminPort"> & {
    /** Where /admin and the dashboard are served; null: with everything else. */
    readonly admin: { readonly host: string; readonly port: number } | null;
  };
  readonly limiter: Omit<LimiterValues, DerivedPath> & Readonly<Record<DerivedPath, string>>;
  readonly providers: readonly ProviderConfig[];
  readonly virtualModels: readonly VirtualModelConfig[];
  /** Unique by name, without case. */
  readonly aliases: readonly AliasConfig[];
  readonly prices: readonly PriceConfig[];
  readonly jwtIssuers: readonly JwtIssuerConfig[];
  /** Null: off. */
  readonly cache: {
    readonly ttlMs: number;
    readonly entriesMax: number;
    readonly bytesMax: number;
    readonly entryBytesMax: number;
    /** Whether an answer to one user path may be used for another. */
    readonly shareAcrossPaths: boolean;
  } | null;
  /** In the order in which they are applied. */
  readonly rewriters: readonly RewriterConfig[];
  readonly usageEnabled: boolean;
  readonly usageRetentionDays: number;
  readonly background: BackgroundConfig;
  /** What the daemon's store may hold; null: it has no cap. */
  readonly storeBytesMax: number | null;
  readonly quotaTemplatesEntitled: boolean;
  readonly rateLimits: LimitPlaces & {
    readonly enabled: boolean;
    /** 0: no periodic write. */
    readonly flushIntervalMs: number;
    /** Unique by `ruleId`. */
    readonly rules: readonly RuleDefinition[];
  };
  readonly budgets: LimitPlaces & {
    readonly enabled: boolean;
    /** Of models without a price, for callers under a budget. */
    readonly unpriced: "allow" | "refuse";
    /** Unique by `budgetId`. */
    readonly budgets: readonly BudgetDefinition[];
  };
  readonly logLevel: LogLevel;
  /** The scalar settings, for people. */
  readonly settings: readonly EffectiveSetting[];
}

/** How the usage of background responses is waited for. */
export interface BackgroundConfig {
  /** Between two looks at one; 0: none. */
  readonly lookMs: number;
  readonly waitMs: number;
  /** At once. */
  readonly max: number;
}
