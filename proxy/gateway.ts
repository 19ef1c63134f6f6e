/**
 * What the request handlers share; `create-gateway.ts` makes it once. The state of one request is
 * in `request-context.ts` and `request-record.ts`.
 */

import { assert } from "../shared/assert.js";
import type { Config, ProviderConfig } from "../shared/config/config.js";
import type { NewManagedKey } from "../shared/domain/make-managed-key.js";
import type { Target } from "../shared/domain/target-name.js";
import type { Log } from "../shared/log.js";
import type { DaemonAnswer } from "../shared/wire/admin-op.js";
import type { Webhook } from "./alerts/webhook.js";
import type { Credentials } from "./auth/authenticate.js";
import type { OidcProvider } from "./auth/oidc/oidc-provider.js";
import type { SessionKeeping } from "./auth/session/authenticate-session.js";
import type { TrustedPages } from "./auth/web-page.js";
import type { RewriterChoice } from "./body/rewriters/rewrite-request.js";
import type { ConnectionRoom } from "./capacity/connection-room.js";
import type { MemoryLedger } from "./capacity/memory-ledger.js";
import type { OpenFiles } from "./capacity/open-files.js";
import type { SharedReads } from "./capacity/shared-reads.js";
import type { FairTurns, RunningPerCaller } from "./capacity/unlimited-requests.js";
import type { LiveFeed } from "./dashboard/live-feed.js";
import type { LoadDashboard } from "./dashboard/serve-dashboard.js";
import type { ResponseCaching } from "./handlers/cache/response-cache.js";
import type { LoopBreaker } from "./handlers/loop-breaker.js";
import type { LoadOpenapi } from "./handlers/openapi/reply-openapi.js";
import type { TokenRatios } from "./hard-caps/token-ratios.js";
import type { Spool } from "./http/body-spool.js";
import type { PassedHeaders } from "./http/copy-headers.js";
import type { ServedEndpoints, UnlimitedEndpoint } from "./http/match-route.js";
import type { Limiter } from "./limiter/client/limiter-client.js";
import type { Metrics } from "./metrics/metrics.js";
import type { Tracing } from "./metrics/spans/request-trace.js";
import type { TargetPrices } from "./prices/target-prices.js";
import type { LearnedRefusals } from "./routing/learned-refusals.js";
import type { ModelCatalog } from "./routing/model-catalog.js";
import type { SizeOf } from "./routing/model-sizes.js";
import type { TargetOrder } from "./routing/order-targets.js";
import type { RecordedModels } from "./routing/recorded-models.js";
import type { TargetHealth } from "./routing/target-health.js";
import type { TargetLoad } from "./routing/target-load.js";
import type { LimitReports } from "./upstream/limit-reports.js";
import type { OpenSessions } from "./upstream/passthrough/open-sessions.js";
import type { PassthroughUpstream } from "./upstream/passthrough/passthrough-upstream.js";
import type { Upstream } from "./upstream/upstream.js";
import type { WebSearch } from "./web-search/fetch-search.js";

/** A configured provider and its clients. */
export interface Provider {
  readonly config: ProviderConfig;
  /** The caller's headers that are forwarded to it. */
  readonly passed: PassedHeaders;
  readonly upstream: Upstream;
  /** Null for a simulator. */
  readonly passthrough: PassthroughUpstream | null;
}

export interface Capacity {
  readonly connections: Pick<ConnectionRoom<never>, "isFull" | "max" | "open" | "requests">;
  readonly files: Pick<OpenFiles, "isExhausted">;
  readonly memory: Pick<MemoryLedger, "held" | "max">;
  readonly unauthenticated: Pick<MemoryLedger, "take" | "give">;
}

/**
 * The result of reading a batch. `unread`: its usage isn't recorded yet, and its results may
 * contain it.
 */
export type BatchProgress = "running" | "settled" | "unread";

export interface Gateway {
  readonly config: Config;
  readonly log: Log;
  readonly credentials: Credentials;
  readonly pages: TrustedPages;
  readonly sessionKeeping: SessionKeeping;
  readonly liveFeed: LiveFeed;
  /** Null without sign-in by OpenID Connect. */
  readonly oidc: OidcProvider | null;
  /** The endpoints of the listener that received the request. */
  readonly served: ServedEndpoints;
  readonly limiter: Limiter;
  /** By instance name, in the order of the configuration. */
  readonly providers: ReadonlyMap<string, Provider>;
  /** The servers of `/mcp/{server}`, by `mcp:` and the name. */
  readonly mcpServers: ReadonlyMap<string, Provider>;
  readonly targetOrder: TargetOrder;
  readonly targetHealth: TargetHealth;
  readonly refusals: LearnedRefusals;
  readonly limitReports: LimitReports;
  /** Null unless a virtual model is balanced by load or latency. */
  readonly targetLoad: TargetLoad | null;
  readonly models: ModelCatalog;
  readonly sizeOf: SizeOf;
  readonly prices: TargetPrices;
  /** As `prices`, at the time that `nowMs` returns. */
  readonly pricesAt: (nowMs: () => number) => TargetPrices;
  /** Call it when a request has used a target without a price. */
  readonly noticeUnpriced: (target: Target) => void;
  readonly recordedModels: RecordedModels;
  readonly outputRatios: TokenRatios;
  readonly promptRatios: TokenRatios;
  /** The running reads of batches and their results, by provider and id. */
  readonly batchReads: Map<string, Promise<BatchProgress>>;
  readonly metrics: Metrics;
  /** Null when tracing is off. */
  readonly tracing: Tracing | null;
  /** Null when the cache is off. */
  readonly caching: ResponseCaching | null;
  /** Null if Sluice runs no web searches. */
  readonly webSearch: WebSearch | null;
  /** The destinations of alerts. */
  readonly webhooks: readonly Webhook[];
  /** Null without rewriters. */
  readonly rewriters: RewriterChoice | null;
  readonly loops: LoopBreaker;
  readonly sessions: OpenSessions;
  /** The limits of the process: connections, files, memory. */
  readonly capacity: Capacity;
  /** How many requests without an admission each caller may run. */
  readonly runningPerCaller: RunningPerCaller<UnlimitedEndpoint>;
  /** The order in which requests without an admission begin. */
  readonly fairTurns: FairTurns;
  /**
   * The order in which slices of large bodies are read, one per turn, so that a flood of them
   * doesn't delay short requests by more than that.
   */
  readonly bodySlices: FairTurns;
  /** The daemon's answers for GET /v1/usage. */
  readonly usageReads: SharedReads<DaemonAnswer>;
  /** Whether the proxy is shutting down. */
  readonly stopping: () => boolean;
  readonly monoMs: () => number;
  /** Runs once after `ms`; the returned function cancels it. */
  readonly setTimer: (ms: number, run: () => void) => () => void;
  /** From 0 to 1. */
  readonly random: () => number;
  /** Makes a managed key. */
  readonly makeManagedKey: () => NewManagedKey;
  /** Wall time, for dates. */
  readonly nowMs: () => number;
  readonly isUtf8: (bytes: Buffer) => boolean;
  /** The answer to the key of a WebSocket's handshake. */
  readonly webSocketAccept: (key: string) => string;
  /** A random id. */
  readonly newId: () => string;
  readonly newSpool: () => Promise<Spool>;
  readonly loadOpenapi: LoadOpenapi;
  readonly loadDashboard: LoadDashboard;
}

/** The provider of a target. Every target belongs to a configured provider. */
export function providerOf(
  { providers }: Pick<Gateway, "providers">,
  { provider: name }: Target,
): Provider {
  const provider = providers.get(name);
  assert(provider !== undefined, "a target's provider is configured");
  return provider;
}
