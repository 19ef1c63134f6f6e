/**
 * What the request handlers of the proxy share, made once in `main.ts`. What belongs to one request
 * is in `request-context.ts` and `request-record.ts`.
 */
import type { Config, ProviderConfig } from "../shared/config/config.js";
import type { NewKey } from "../shared/domain/key-secret.js";
import type { Log } from "../shared/log.js";
import type { Credentials } from "./auth/authenticate.js";
import type { RewriterChoice } from "./body/rewriters/rewrite-request.js";
import type { ResponseCaching } from "./handlers/cache/response-cache.js";
import type { Spool } from "./http/upload.js";
import type { Limiter } from "./limiter/limiter.js";
import type { ModelCatalog } from "./routing/model-catalog.js";
import type { TargetOrder } from "./routing/order-targets.js";
import type { PriceTable } from "./routing/price-table.js";
import type { OpenSessions } from "./upstream/passthrough/open-sessions.js";
import type { PassthroughUpstream } from "./upstream/passthrough/passthrough-upstream.js";
import type { Upstream } from "./upstream/upstream.js";

export interface Gateway {
  readonly config: Config;
  readonly log: Log;
  readonly credentials: Credentials;
  readonly limiter: Limiter;
  /** By provider instance name. */
  readonly upstreams: ReadonlyMap<string, Upstream>;
  /** By provider instance name; the simulator has none. */
  readonly passthroughUpstreams: ReadonlyMap<string, PassthroughUpstream>;
  readonly targetOrder: TargetOrder;
  readonly models: ModelCatalog;
  readonly prices: PriceTable;
  /** Null: the cache is off. */
  readonly responseCache: ResponseCaching | null;
  readonly rewriters: RewriterChoice;
  /** By instance name. */
  readonly providers: ReadonlyMap<string, ProviderConfig>;
  readonly sessions: OpenSessions;
  /** Whether the proxy is on its way out. */
  readonly stopping: () => boolean;
  readonly monoMs: () => number;
  /** Makes a managed key. */
  readonly newKey: () => NewKey;
  /** Wall time: for what today is. */
  readonly nowMs: () => number;
  readonly isUtf8: (bytes: Buffer) => boolean;
  readonly newSpool: () => Promise<Spool>;
}
