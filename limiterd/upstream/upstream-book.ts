/**
 * What providers report of their own limits, and the targets that get no request because of it
 * (docs/upstream-limits.md). In memory only: a restarted daemon learns it again. A target is
 * saturated until the reset that its provider named, at most an hour. Then one request tries it,
 * the probe; the others follow once the provider answers the probe. The report of a newer request
 * replaces older ones, and an answer to a newer request ends a saturation. So an old or wrong
 * report costs at most one reset.
 */
import type {
  LearnedLimit,
  UpstreamTargetItem,
  UpstreamTargetPage,
} from "../../shared/api/upstream-item.js";
import type { Target } from "../../shared/domain/target-name.js";
import {
  isAdvisory,
  isJudged,
  type ReportedLimit,
  type UpstreamPolicy,
} from "../../shared/domain/upstream-limits.js";
import { formatMillis } from "../../shared/time.js";
import type { Reported } from "../../shared/wire/message-to-daemon.js";
import { probeMsMax, saturatedMsMax, upstreamTargetsMax } from "../bounds.js";
import { Counter, Rule } from "../counters/counter.js";
import { newWindow } from "../counters/window.js";
import { AdaptiveCap } from "./adaptive-cap.js";

/** Why a target gets no request now. `counter` belongs to no rule of the book. */
interface UpstreamBreach {
  readonly counter: Counter;
  readonly dimension: "upstream" | "adaptive";
  /** 0: unknown. */
  readonly cap: number;
  readonly waitSeconds: number;
  readonly limitName?: string;
}

/** The part of the book that a verdict needs. */
export type UpstreamJudging = Pick<UpstreamBook, "targetOf">;

/** A clock that goes on when the wall clock steps back, so that no step lengthens a wait. */
class SteadyClock {
  #ms = 0;
  #wallMs = 0;

  at(wallMs: number): number {
    if (wallMs > this.#wallMs) this.#ms += wallMs - this.#wallMs;
    this.#wallMs = wallMs;
    return this.#ms;
  }
}

interface KnownLimit extends ReportedLimit {
  readonly reportedAtMs: number;
  /** When it resets, on the steady clock; Infinity without a reset. */
  readonly untilMs: number;
}

interface Saturation {
  readonly limit: ReportedLimit | null;
  readonly status: number;
  untilMs: number;
  /** How long other requests wait for the first one after the reset, the probe. */
  readonly probeMs: number;
  /** Until when they wait for the probe; 0 before it is admitted. */
  probingUntilMs: number;
}

export class UpstreamTarget {
  readonly target: Target;
  readonly policy: UpstreamPolicy;
  /** Its requests in flight. */
  readonly counter: Counter;
  readonly adaptive: AdaptiveCap | null;
  readonly #clock: SteadyClock;
  readonly #limits = new Map<string, KnownLimit>();
  #saturation: Saturation | null = null;
  /** When the request of the newest report was sent. */
  #newestMs = -Infinity;
  /**
   * Whether reports of an exhausted limit are ignored, because they were wrong; a 429 ends that.
   */
  #ignoresReports = false;
  /** How often in a row the answer to a probe has reported an exhausted limit. */
  #exhaustedProbes = 0;
  #reportedAtMs = 0;
  refusals = 0;

  constructor(target: Target, policy: UpstreamPolicy, clock: SteadyClock, nowMs: number) {
    this.target = target;
    this.policy = policy;
    this.#clock = clock;
    this.counter = gaugeOf(target, nowMs);
    this.adaptive = policy.adaptive === null ? null : new AdaptiveCap(policy.adaptive);
  }

  /** Whether the target can be forgotten. */
  isIdle(nowMs: number): boolean {
    const isSaturated =
      this.#saturation !== null && this.#saturation.untilMs > this.#clock.at(nowMs);
    return this.counter.inFlight === 0 && !isSaturated;
  }

  /** Why the target gets no request now; null if it gets one. Changes nothing. */
  breach(nowMs: number): UpstreamBreach | null {
    return this.#saturationBreach(this.#clock.at(nowMs)) ?? this.#adaptiveBreach();
  }

  #saturationBreach(atMs: number): UpstreamBreach | null {
    const saturation = this.#saturation;
    if (saturation === null) return null;
    const { counter } = this;
    const { limit } = saturation;
    const isProbed = atMs < saturation.probingUntilMs && counter.inFlight > 0;
    const waitMs = saturation.untilMs - atMs;
    if (waitMs <= 0 && !isProbed) return null;
    return {
      counter,
      dimension: "upstream",
      cap: limit?.limit ?? 0,
      waitSeconds: Math.max(1, Math.ceil(waitMs / 1000)),
      ...(limit === null ? {} : { limitName: limit.name }),
    };
  }

  #adaptiveBreach(): UpstreamBreach | null {
    const { counter, adaptive } = this;
    if (adaptive === null || counter.inFlight < adaptive.cap) return null;
    return { counter, dimension: "adaptive", cap: adaptive.cap, waitSeconds: 1 };
  }

  /** A request was admitted to the target: after a reset, the first one is the probe. */
  noteAdmission(nowMs: number): void {
    const saturation = this.#saturation;
    if (saturation !== null) saturation.probingUntilMs = this.#clock.at(nowMs) + saturation.probeMs;
  }

  report(
    { startedAgoMs, status, limits, waitMs, firstByteMs, size }: Reported,
    nowMs: number,
  ): void {
    const atMs = this.#clock.at(nowMs);
    const startedMs = atMs - startedAgoMs;
    if (status === 429) this.refusals++;
    this.#measure({ startedMs, status, firstByteMs, size }, atMs);
    // A report of an older request is outdated, whenever it arrives.
    if (startedMs < this.#newestMs) return;
    const isAnswer = status < 300;
    if (!isAnswer && status !== 429) return;
    this.#newestMs = startedMs;
    this.#reportedAtMs = nowMs;
    for (const limit of limits) this.#keepLimit(limit, atMs, nowMs);
    if (this.policy.mode === "avoid") this.#learn({ status, limits, waitMs }, atMs);
  }

  #learn(
    { status, limits, waitMs }: Pick<Reported, "status" | "limits" | "waitMs">,
    atMs: number,
  ): void {
    const earlier = this.#saturation;
    this.#saturation = null;
    if (status === 429) {
      this.#ignoresReports = false;
      this.#exhaustedProbes = 0;
      const exhausted = longestReset(limits.filter(({ remaining }) => remaining === 0));
      this.#saturate({ limit: exhausted, status, waitMs: waitMs ?? exhausted?.resetMs ?? 0 }, atMs);
    } else if (this.policy.trustsLimits) this.#readLimits(limits, earlier, atMs);
    // Requests may be waiting for the target.
    if (earlier !== null && this.#saturation === null) this.counter.rule.onFreed?.(this.counter);
  }

  /** Reads the limits of an answer. `earlier`: the saturation that the answer has ended. */
  #readLimits(limits: readonly ReportedLimit[], earlier: Saturation | null, atMs: number): void {
    const exhausted = longestReset(
      limits.filter(({ name, remaining }) => remaining === 0 && !isAdvisory(name)),
    );
    if (exhausted === null) {
      this.#exhaustedProbes = 0;
      return;
    }
    // A probe alone can't use up a limit of several requests, and hardly one of tokens.
    const isProbe = earlier !== null && earlier.status < 300 && (exhausted.limit ?? 2) > 1;
    if (isProbe) this.#exhaustedProbes++;
    if (isProbe && (earlier.limit?.name === exhausted.name || this.#exhaustedProbes > 1))
      this.#ignoresReports = true;
    if (!this.#ignoresReports)
      this.#saturate({ limit: exhausted, status: 200, waitMs: exhausted.resetMs ?? 0 }, atMs);
  }

  #saturate(
    { limit, status, waitMs }: Pick<Saturation, "limit" | "status"> & { readonly waitMs: number },
    atMs: number,
  ): void {
    if (waitMs <= 0) return;
    this.#saturation = {
      limit,
      status,
      untilMs: atMs + Math.min(waitMs, saturatedMsMax),
      probeMs: Math.min(waitMs, probeMsMax),
      probingUntilMs: 0,
    };
  }

  #keepLimit(limit: ReportedLimit, atMs: number, nowMs: number): void {
    const untilMs = limit.resetMs === null ? Infinity : atMs + limit.resetMs;
    this.#limits.delete(limit.name);
    this.#limits.set(limit.name, { ...limit, reportedAtMs: nowMs, untilMs });
    if (this.#limits.size <= knownLimitsMax) return;
    for (const name of this.#limits.keys()) {
      this.#limits.delete(name);
      return;
    }
  }

  #measure(
    {
      startedMs,
      status,
      firstByteMs,
      size = 0,
    }: Pick<Reported, "status" | "firstByteMs" | "size"> & { readonly startedMs: number },
    atMs: number,
  ): void {
    const { adaptive, counter } = this;
    if (adaptive === null) return;
    const { inFlight } = counter;
    if (status < 300 && firstByteMs !== undefined)
      adaptive.noteAnswer({ startedMs, nowMs: atMs, firstByteMs, size, inFlight });
    else if (overloads.has(status)) adaptive.noteOverload(startedMs, atMs);
  }

  item(nowMs: number): UpstreamTargetItem {
    const { target, policy, counter, adaptive, refusals } = this;
    const atMs = this.#clock.at(nowMs);
    const breach = this.#saturationBreach(atMs);
    const isPolicyJudged = isJudged(policy);
    return {
      provider: target.provider,
      model: target.model,
      mode: policy.mode,
      limits: [...this.#limits.values()].map((limit) => shownLimit(limit, atMs)),
      reported_at: this.#reportedAtMs === 0 ? null : formatMillis(this.#reportedAtMs),
      refusals,
      saturated: breach !== null,
      saturated_by: breach?.limitName ?? null,
      retry_after: breach?.waitSeconds ?? 0,
      in_flight: isPolicyJudged ? counter.inFlight : null,
      adaptive:
        adaptive === null || policy.adaptive === null
          ? null
          : {
              ...policy.adaptive,
              cap: adaptive.cap,
              slowdown: Math.round(adaptive.slowdown * 100) / 100,
            },
    };
  }
}

const knownLimitsMax = 32;
/** Statuses by which a target says that it has too much to do. */
const overloads: ReadonlySet<number> = new Set([429, 503, 504, 529]);

/** After its reset a limit is full again, as far as is known. */
function shownLimit(
  { name, limit, remaining, resetMs, reportedAtMs, untilMs }: KnownLimit,
  atMs: number,
): LearnedLimit {
  const isReset = untilMs <= atMs;
  return {
    name,
    limit,
    remaining: isReset ? limit : remaining,
    resets_in_seconds: resetMs === null ? null : Math.max(0, Math.ceil((untilMs - atMs) / 1000)),
    reported_at: formatMillis(reportedAtMs),
  };
}

function longestReset(limits: readonly ReportedLimit[]): ReportedLimit | null {
  let last: ReportedLimit | null = null;
  for (const limit of limits)
    if (last === null || (limit.resetMs ?? 0) > (last.resetMs ?? 0)) last = limit;
  return last;
}

/** A gauge that is counted like one of a concurrency rule, and that no rule lists. */
function gaugeOf({ provider, model }: Target, nowMs: number): Counter {
  const definition = {
    scope: "model" as const,
    subject: `${provider}/${model}`,
    periodSeconds: 0,
    maxRequests: null,
    maxTokens: null,
    perChild: false,
  };
  const fields = {
    definition,
    source: "config" as const,
    createdAtMs: nowMs,
    updatedAtMs: nowMs,
    sinceLsn: 0,
  };
  const childrenOf = (): never => {
    throw new Error("a gauge has no children");
  };
  // A rule on the model may have the definition's own id.
  const id = `upstream ${definition.subject}`;
  const rule = new Rule(fields, { resets: 0, nowMs, childrenOf }, id);
  return new Counter(rule, "", newWindow(0, nowMs));
}

export class UpstreamBook {
  /** Whether a verdict depends on it. */
  readonly isJudging: boolean;
  readonly #policies: ReadonlyMap<string, UpstreamPolicy>;
  readonly #clock = new SteadyClock();
  /** By provider and model. */
  readonly #targets = new Map<string, Map<string, UpstreamTarget>>();
  #size = 0;

  constructor(policies: ReadonlyMap<string, UpstreamPolicy>) {
    this.#policies = policies;
    this.isJudging = [...policies.values()].some(isJudged);
  }

  /** A target whose requests are judged; null for any other, and beyond the bound. */
  targetOf(target: Target, nowMs: number): UpstreamTarget | null {
    const policy = this.#policies.get(target.provider);
    return policy === undefined || !isJudged(policy)
      ? null
      : this.#findOrMake(target, policy, nowMs);
  }

  report(message: Reported, nowMs: number): void {
    const { target } = message;
    const policy = this.#policies.get(target.provider);
    if (policy !== undefined && policy.mode !== "off")
      this.#findOrMake(target, policy, nowMs)?.report(message, nowMs);
    else if (policy !== undefined && policy.adaptive !== null)
      this.#findOrMake(target, policy, nowMs)?.report({ ...message, limits: [] }, nowMs);
  }

  #findOrMake(
    { provider, model }: Target,
    policy: UpstreamPolicy,
    nowMs: number,
  ): UpstreamTarget | null {
    let ofProvider = this.#targets.get(provider);
    if (ofProvider === undefined) {
      ofProvider = new Map();
      this.#targets.set(provider, ofProvider);
    }
    let existing = ofProvider.get(model);
    if (existing !== undefined) return existing;
    if (this.#size >= upstreamTargetsMax && !this.#forgetOne(nowMs)) return null;
    existing = new UpstreamTarget({ provider, model }, policy, this.#clock, nowMs);
    ofProvider.set(model, existing);
    this.#size++;
    return existing;
  }

  #forgetOne(nowMs: number): boolean {
    for (const ofProvider of this.#targets.values())
      for (const [model, entry] of ofProvider)
        if (entry.isIdle(nowMs)) {
          ofProvider.delete(model);
          this.#size--;
          return true;
        }
    return false;
  }

  *#all(): Generator<UpstreamTarget, void> {
    for (const ofProvider of this.#targets.values()) yield* ofProvider.values();
  }

  list(nowMs: number): UpstreamTargetPage {
    const items = [...this.#all()].map((entry) => entry.item(nowMs));
    items.sort((a, b) => compare(a.provider, b.provider) || compare(a.model, b.model));
    return { upstream_limits: items, server_time: formatMillis(nowMs) };
  }
}

function compare(a: string, b: string): number {
  return a === b ? 0 : a < b ? -1 : 1;
}
