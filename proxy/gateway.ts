/**
 * What every request handler of the proxy shares, made once in `main.ts`; and what one request
 * leaves in the log.
 */
import type { Config, ProviderConfig } from "../shared/config/config.js";
import type { NewKey } from "../shared/domain/key-secret.js";
import type { PicoUsd } from "../shared/domain/money.js";
import type { Log } from "../shared/log.js";
import type { Target } from "../shared/wire/message.js";
import type { Credentials } from "./auth/authenticate.js";
import type { RewriterChoice } from "./body/rewriters/rewrite-request.js";
import type { ResponseCaching } from "./handlers/ask-cache.js";
import type { Spool } from "./http/upload.js";
import type { Limiter } from "./limiter/limiter.js";
import type { ModelCatalog } from "./routing/model-catalog.js";
import type { createTargetOrder } from "./routing/order-targets.js";
import type { PriceTable } from "./routing/price-table.js";
import type { Forwarded } from "./upstream/forward.js";
import type { OpenSessions } from "./upstream/passthrough/open-sessions.js";
import type { PassthroughUpstream } from "./upstream/passthrough/passthrough-upstream.js";
import type { Upstream } from "./upstream/upstream.js";
import type { Usage } from "./usage/read-usage.js";

export interface Gateway {
  readonly config: Config;
  readonly log: Log;
  readonly credentials: Credentials;
  readonly limiter: Limiter;
  /** By provider instance name. */
  readonly upstreams: ReadonlyMap<string, Upstream>;
  /** By provider instance name; the simulator has none. */
  readonly passthroughUpstreams: ReadonlyMap<string, PassthroughUpstream>;
  readonly targetOrder: ReturnType<typeof createTargetOrder>;
  readonly models: ModelCatalog;
  readonly prices: PriceTable;
  /** Null: the cache is off. */
  readonly keeping: ResponseCaching | null;
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

export type Outcome =
  | Forwarded["outcome"]
  | "answered"
  | "cache_hit"
  | "refused"
  | "rate_limited"
  | "over_budget"
  | "limiter_unavailable";

/** A target that failed, and why: a status, or what the network said. */
export interface Tried {
  readonly target: Target;
  readonly why: string;
}

/** What the log line of a request says. Filled on the way, written once at the end. */
export class RequestRecord {
  /** Null as long as it isn't known for sure. */
  userPath: string | null = null;
  /** Empty without a managed key. */
  keyId = "";
  model: string | null = null;
  /** Where the answer is from. */
  target: Target | null = null;
  /**
   * The attempts that failed so that another target could answer instead, in order; null when none
   * did, or there was no other.
   */
  tried: Tried[] | null = null;
  /** How many targets it was sent to, when there is `tried`. */
  tries = 0;
  note: string | null = null;
  status = 0;
  outcome: Outcome = "answered";
  usage: Usage | null = null;
  /** Null: not executed, unpriced, or usage is off. */
  cost: PicoUsd | null = null;
  estimated = false;
  /** What rewriters took out of the prompt, at the target that was asked last. */
  savedBytes = 0;
  firstByteMonoMs: number | null = null;
  readonly startedMonoMs: number;

  constructor(startedMonoMs: number) {
    this.startedMonoMs = startedMonoMs;
  }

  /** Who called, once that is sure. */
  identified({ userPath, keyId }: { readonly userPath: string; readonly keyId: string }): void {
    this.userPath = userPath;
    this.keyId = keyId;
  }

  end(status: number, outcome: Outcome): void {
    this.status = status;
    this.outcome = outcome;
  }

  forwarded(what: Forwarded): void {
    this.end(what.status, what.outcome);
    this.usage = what.usage;
    this.estimated = what.estimated;
    this.firstByteMonoMs = what.firstByteMonoMs;
    this.note = what.note;
  }
}
