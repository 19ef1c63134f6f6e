/**
 * What a checked configuration holds, after file, environment and flags are merged (CONTRACT
 * section 9). Both processes read the same one and take their part.
 */
import type { BudgetDefinition } from "../domain/budget.js";
import type { Price } from "../domain/price.js";
import type { RuleDefinition } from "../domain/rule.js";
import type { LogLevel } from "../log.js";
import type { Operation } from "../operation.js";
import type { CredentialHeader, MaxTokensField, ProviderType } from "./provider-type.js";

export type FailureMode = "closed" | "open";

export interface ProviderConfig {
  /** The instance name: what rules, qualified model ids and logs call it. */
  readonly name: string;
  readonly type: ProviderType;
  /** What can be asked of it. */
  readonly operations: ReadonlySet<Operation>;
  /**
   * Without a trailing slash; `/chat/completions` and its like are appended. Empty for the
   * simulator.
   */
  readonly baseUrl: string;
  /** Null: no credential is sent. */
  readonly apiKey: string | null;
  readonly credentialHeader: CredentialHeader;
  /** Azure's dated version; null: none is named. */
  readonly apiVersion: string | null;
  /** Whether it takes `stream_options`; one that doesn't tells the usage of a stream unasked. */
  readonly takesStreamOptions: boolean;
  /**
   * The field of a chat completion in which it wants the limit on output tokens, for what is
   * translated.
   */
  readonly maxTokensField: MaxTokensField;
  /** Where its dialect requires a limit on output tokens and the caller gave none. */
  readonly maxTokensDefault: number;
  /** Null: ask the provider's `/models`. `*` takes any id. */
  readonly models: readonly string[] | null;
  readonly connectTimeoutMs: number;
  readonly firstByteTimeoutMs: number;
  readonly idleTimeoutMs: number;
  readonly connectionsMax: number;
}

export type Strategy = "round_robin" | "cost" | "failover";

export interface VirtualModelConfig {
  readonly source: string;
  readonly strategy: Strategy;
  readonly targets: readonly {
    readonly provider: string;
    readonly model: string;
    readonly weight: number;
  }[];
}

/** A price that the operator gives; it wins over the price list. */
export interface PriceConfig {
  readonly provider: string;
  /** Null: every model of the provider that has no price of its own here. */
  readonly model: string | null;
  readonly price: Price;
}

/** Who may sign tokens for callers (CONTRACT section 2). */
export interface JwtIssuerConfig {
  readonly issuer: string;
  /** A token's `aud` must hold one of these. */
  readonly audience: readonly string[];
  readonly algorithms: readonly string[];
  readonly keys:
    | { readonly kind: "file"; readonly path: string }
    | { readonly kind: "url"; readonly url: string }
    | { readonly kind: "secret"; readonly secret: string };
  /** A claim's name, or a path with claims in braces. */
  readonly userPath: string;
}

/** The rewriters that the proxy has; `proxy/body/rewriters/` holds what each does. */
export type RewriterName = "collapse_white_space" | "minify_tool_json" | "drop_duplicate_system";

/** What is taken out of prompts before they go to a provider, for which paths and models. */
export interface RewriterConfig {
  readonly name: RewriterName;
  /** Normal ones, with all below them; null: every path. */
  readonly paths: readonly string[] | null;
  /** In lower case, `provider/id` or `id`; null: every model. */
  readonly models: readonly string[] | null;
}

export interface Config {
  /** The file that was read, or null for the built-in default. */
  readonly file: string | null;
  readonly server: {
    readonly host: string;
    readonly port: number;
    readonly masterKey: string | null;
    readonly allowOpen: boolean;
    /** Whether there is /p/{provider}/…. */
    readonly passthrough: boolean;
    /** Lower case, as Node reports header names. */
    readonly userPathHeader: string;
    readonly bodyBytesMax: number;
    readonly uploadBytesMax: number;
    /** How long a stopping proxy lets requests finish. */
    readonly drainMs: number;
    /** How long a client may leave a response unread. */
    readonly stalledClientMs: number;
    /** Whether the body of a 429 carries the request id, as its header always does. */
    readonly requestIdInRefusals: boolean;
  };
  readonly limiter: {
    readonly socket: string;
    readonly socketGroupAccess: boolean;
    readonly dataDir: string;
    readonly failureMode: FailureMode;
    /** How long an admission may take before the failure mode applies. */
    readonly deadlineMs: number;
  };
  readonly providers: readonly ProviderConfig[];
  readonly virtualModels: readonly VirtualModelConfig[];
  readonly prices: readonly PriceConfig[];
  readonly jwtIssuers: readonly JwtIssuerConfig[];
  /** Null: off. */
  readonly cache: {
    readonly ttlMs: number;
    readonly entriesMax: number;
    readonly bytesMax: number;
    readonly entryBytesMax: number;
    /** Whether what one user path asked may answer another. */
    readonly shareAcrossPaths: boolean;
  } | null;
  /** In the order in which they are applied. */
  readonly rewriters: readonly RewriterConfig[];
  readonly usageEnabled: boolean;
  readonly usageRetentionDays: number;
  readonly quotaTemplatesEntitled: boolean;
  readonly rateLimits: {
    readonly enabled: boolean;
    /** 0: no periodic write. */
    readonly flushIntervalMs: number;
    /** Unique by `ruleId`. */
    readonly rules: readonly RuleDefinition[];
  };
  readonly budgets: {
    readonly enabled: boolean;
    /** Unique by `budgetId`. */
    readonly budgets: readonly BudgetDefinition[];
  };
  readonly logLevel: LogLevel;
}
