/**
 * The circuit breakers of this proxy (docs/reference/http-api.md, "A target that keeps failing"):
 * one for each target that has failed since its last answer. Healthy targets cost nothing.
 *
 * A breaker refuses no request. Targets with an open circuit are skipped while another target is
 * healthy; if none is, all are tried, beginning with the one that may recover first.
 */
import type { ProviderConfig } from "../../shared/config/config.js";
import { type Target, targetName } from "../../shared/domain/target-name.js";
import { breakerOpenMsMax, breakersMax } from "../bounds.js";
import type { ForwardResult } from "../upstream/forwarded.js";

export interface HealthPorts {
  readonly monoMs: () => number;
  /** Wall time, for people. */
  readonly nowMs: () => number;
  readonly configOf: (
    target: Target,
  ) => Pick<ProviderConfig, "breakerFailures" | "breakerOpenMs" | "upstreamLimits">;
  onOpened(target: Target, why: string, openMs: number): void;
  onClosed(target: Target): void;
  /** Runs when a provider refuses Sluice's key or account, after a time without such refusals. */
  onRefused(target: Target, why: string): void;
}

/** The targets of a request. */
interface Candidates {
  /** The targets for the admission, best first. */
  readonly targets: readonly Target[];
  /** All of them, for a failover. */
  readonly all: readonly Target[];
}

/** The result of an attempt. */
type Attempt = Pick<ForwardResult, "failed" | "outcome" | "note">;

/** The result of a passthrough request or a session, where failures aren't classified. */
type DirectAttempt = Pick<ForwardResult, "outcome" | "note" | "status" | "executed">;

interface FailingTarget {
  readonly target: Target;
  readonly state: "failing" | "open";
  readonly failures: number;
  /** Why the last attempt failed. */
  readonly why: string;
  /** The time until the next request may try it; 0 unless open. */
  readonly retryInMs: number;
}

/** The last attempts at a provider and their outcomes; null if there was none. */
interface LastAttempts {
  answeredAtMs: number | null;
  failure: { readonly atMs: number; readonly model: string; readonly why: string } | null;
}

interface Failing {
  readonly target: Target;
  readonly breaker: CircuitBreaker;
  isRefused: boolean;
  why: string;
}

export class TargetHealth {
  readonly #ports: HealthPorts;
  /** Targets that failed since their last answer, by name. */
  readonly #failing = new Map<string, Failing>();
  /** By provider name. */
  readonly #lastAttempts = new Map<string, LastAttempts>();

  constructor(ports: HealthPorts) {
    this.#ports = ports;
  }

  /** Chooses targets for a request, which may become the probe of an open circuit. */
  candidates(targets: readonly Target[]): Candidates {
    if (this.#failing.size === 0 || targets.length === 1) return { targets, all: targets };
    const nowMs = this.#ports.monoMs();
    const healthy: Target[] = [];
    const open: { readonly target: Target; readonly untilMs: number }[] = [];
    for (const target of targets) {
      const breaker = this.#failing.get(targetName(target))?.breaker;
      // A later target gets the request only if the earlier ones can't.
      if (breaker === undefined || breaker.admits(nowMs, healthy.length === 0))
        healthy.push(target);
      else open.push({ target, untilMs: breaker.untilMs });
    }
    if (open.length === 0) return { targets, all: targets };
    const last = open.sort((a, b) => a.untilMs - b.untilMs).map(({ target }) => target);
    const all = [...healthy, ...last];
    return { targets: healthy.length === 0 ? all : healthy, all };
  }

  /** Targets with closed circuits first; claims no probe. */
  healthyFirst(targets: readonly Target[]): readonly Target[] {
    if (this.#failing.size === 0) return targets;
    const nowMs = this.#ports.monoMs();
    const isSkipped = (target: Target): boolean =>
      this.#failing.get(targetName(target))?.breaker.admits(nowMs, false) === false;
    return [...targets.filter((target) => !isSkipped(target)), ...targets.filter(isSkipped)];
  }

  /** Whether the circuit of a target is open. */
  isOpen(target: Target): boolean {
    return this.#failing.get(targetName(target))?.breaker.isClosed === false;
  }

  note(target: Target, startedMonoMs: number, attempt: Attempt): void {
    const verdict = verdictOf(attempt);
    if (verdict !== null) this.#noteLast(target, verdict, attempt);
    if (verdict === "failed" && this.#isAvoided(target, attempt)) return;
    if (verdict === "failed") this.#noteFailure(target, startedMonoMs, attempt);
    else if (verdict === "answered" && this.#failing.size > 0)
      this.#noteAnswer(target, startedMonoMs);
  }

  /**
   * Whether the daemon already keeps requests from a target because of a 429 that names its wait.
   */
  #isAvoided(target: Target, { failed }: Attempt): boolean {
    return (
      failed?.status === 429 &&
      failed.retryAfterMs !== null &&
      this.#ports.configOf(target).upstreamLimits.mode === "avoid"
    );
  }

  #noteLast(
    { provider, model }: Target,
    verdict: "failed" | "answered",
    { failed, note }: Attempt,
  ): void {
    let last = this.#lastAttempts.get(provider);
    if (last === undefined) {
      last = { answeredAtMs: null, failure: null };
      this.#lastAttempts.set(provider, last);
    }
    const atMs = this.#ports.nowMs();
    if (verdict === "answered") last.answeredAtMs = atMs;
    else last.failure = { atMs, model, why: failed?.why ?? note ?? "" };
  }

  /** The last attempts at a provider since the proxy started. */
  lastOf(provider: string): Readonly<LastAttempts> {
    return this.#lastAttempts.get(provider) ?? { answeredAtMs: null, failure: null };
  }

  /**
   * Call it only for requests that models execute: otherwise a caller who chooses the path could
   * open a circuit.
   */
  noteDirect(target: Target, startedMonoMs: number, attempt: DirectAttempt): void {
    const { outcome, note, status, executed } = attempt;
    const isFailed = !executed || status >= 500 || status === 429;
    if (outcome === "upstream_cut" || (outcome === "upstream_error" && isFailed)) {
      const failed = { failed: null, outcome, note: note ?? String(status) };
      this.#noteLast(target, "failed", failed);
      this.#noteFailure(target, startedMonoMs, failed);
    } else if (outcome === "complete") this.noteAnswered(target, startedMonoMs);
  }

  /** Notes that a target began to answer a long attempt. */
  noteAnswered(target: Target, startedMonoMs: number): void {
    this.#noteLast(target, "answered", { failed: null, outcome: "complete", note: null });
    if (this.#failing.size > 0) this.#noteAnswer(target, startedMonoMs);
  }

  #noteFailure(target: Target, startedMs: number, { failed, note }: Attempt): void {
    const name = targetName(target);
    let failing = this.#failing.get(name);
    if (failing === undefined) {
      if (this.#failing.size >= breakersMax) this.#forgetOldest();
      failing = { target, breaker: new CircuitBreaker(), isRefused: false, why: "" };
      this.#failing.set(name, failing);
    }
    failing.why = failed?.why ?? note ?? "";
    if (failed?.refusesCredentials === true && !failing.isRefused) {
      failing.isRefused = true;
      this.#ports.onRefused(target, note ?? failed.why);
    }
    const { breaker } = failing;
    const nowMs = this.#ports.monoMs();
    const waitMs = failed?.retryAfterMs ?? 0;
    const { breakerFailures: failuresMax, breakerOpenMs: openMs } = this.#ports.configOf(target);
    if (breaker.fail({ startedMs, nowMs, waitMs }, { failuresMax, openMs }))
      this.#ports.onOpened(target, failing.why, breaker.untilMs - nowMs);
  }

  #forgetOldest(): void {
    for (const name of this.#failing.keys()) {
      this.#failing.delete(name);
      return;
    }
  }

  #noteAnswer(target: Target, startedMs: number): void {
    const name = targetName(target);
    const breaker = this.#failing.get(name)?.breaker;
    if (breaker?.provesRecovery(startedMs) !== true) return;
    this.#failing.delete(name);
    if (!breaker.isClosed) this.#ports.onClosed(target);
  }

  /** The number of failing targets, and of open circuits. */
  counts(): { readonly failing: number; readonly open: number } {
    let open = 0;
    for (const { breaker } of this.#failing.values()) if (!breaker.isClosed) open++;
    return { failing: this.#failing.size, open };
  }

  report(): readonly FailingTarget[] {
    const nowMs = this.#ports.monoMs();
    return [...this.#failing.values()].map(({ target, breaker, why }) => ({
      target,
      why,
      state: breaker.isClosed ? "failing" : "open",
      failures: breaker.failures,
      retryInMs: breaker.isClosed ? 0 : Math.max(0, breaker.untilMs - nowMs),
    }));
  }
}

/**
 * Whether an attempt counts as a success or a failure of its target; null if it counts as neither,
 * such as for missing models and mistakes of callers.
 */
function verdictOf({ failed, outcome }: Attempt): "failed" | "answered" | null {
  if (failed !== null) {
    const { isAnswered, refusesCredentials, status } = failed;
    return !isAnswered || refusesCredentials || status >= 500 || status === 429 ? "failed" : null;
  }
  if (outcome === "upstream_cut") return "failed";
  return outcome === "complete" || outcome === "upstream_error" ? "answered" : null;
}

interface BreakerSettings {
  /** Failures in a row that open it; 0: it never opens. */
  readonly failuresMax: number;
  /** For how long it opens at first. */
  readonly openMs: number;
}

/** An attempt at the target that has failed. */
interface FailedAttempt {
  readonly startedMs: number;
  readonly nowMs: number;
  /** For how long the target requests a pause; 0 if it doesn't. */
  readonly waitMs: number;
}

/**
 * A closed breaker admits all requests and counts consecutive failures. An open one admits none
 * until a time; after that it admits one, the probe, which closes the breaker or opens it for twice
 * as long.
 *
 * A probe needs no end: admitting it keeps the breaker open for another period. If the probe never
 * ends, the next one is admitted after that.
 */
export class CircuitBreaker {
  #failures = 0;
  /** For how long it has opened; 0 if it is closed. */
  #openMs = 0;
  #openedMs = 0;
  #untilMs = 0;
  /** When the last probe was admitted; Infinity if none was since it opened. */
  #probeMs = Infinity;

  /** Consecutive failures. */
  get failures(): number {
    return this.#failures;
  }

  /** When the next request may try the target; 0: it is closed. */
  get untilMs(): number {
    return this.#untilMs;
  }

  get isClosed(): boolean {
    return this.#openMs === 0;
  }

  /**
   * Whether a request may try the target. `take`: the request will, as the probe if the breaker is
   * open.
   */
  admits(nowMs: number, take: boolean): boolean {
    if (this.isClosed) return true;
    if (nowMs < this.#untilMs) return false;
    if (take) {
      this.#probeMs = nowMs;
      this.#untilMs = nowMs + this.#openMs;
    }
    return true;
  }

  /**
   * Returns whether this failure opens the circuit. While it is open, only the probe's failure
   * counts: other attempts began earlier, or had no other target.
   */
  fail(attempt: FailedAttempt, { failuresMax, openMs }: BreakerSettings): boolean {
    this.#failures++;
    if (!this.isClosed) {
      if (attempt.startedMs >= this.#probeMs) this.#open(this.#openMs * 2, attempt);
      return false;
    }
    if (failuresMax === 0 || this.#failures < failuresMax) return false;
    this.#open(openMs, attempt);
    return true;
  }

  #open(openMs: number, { nowMs, waitMs }: FailedAttempt): void {
    this.#openMs = Math.min(openMs, breakerOpenMsMax);
    this.#openedMs = nowMs;
    this.#untilMs = nowMs + Math.min(Math.max(this.#openMs, waitMs), breakerOpenMsMax);
    this.#probeMs = Infinity;
  }

  /**
   * Whether an answer shows that the target works again. An answer to an attempt that began before
   * the opening doesn't.
   */
  provesRecovery(startedMs: number): boolean {
    return this.isClosed || startedMs >= this.#openedMs;
  }
}
