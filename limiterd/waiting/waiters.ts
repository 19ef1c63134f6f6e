/**
 * The requests of this daemon that wait for room: who they are, for how long each may wait, when
 * they are judged again and refused. The order among them is in `wait-queues.ts`, their verdicts in
 * `handlers/handle-admit.ts`.
 */
import type { WaitLimits } from "../../shared/config/config.js";
import { isPathWithin } from "../../shared/domain/user-path.js";
import type { Breach, BudgetBreach } from "../../shared/domain/verdict.js";
import type { Wait } from "../../shared/wire/message-to-daemon.js";
import { judgeAgainMs, judgeAgainSharedMs, positionsPerTick, waitTickMs } from "../bounds.js";
import type { AwaitedAccount } from "../budgets/judge-budgets.js";
import { type Counter, capsOf, shareOf } from "../counters/counter.js";
import type { PeerState } from "../peer.js";
import type { ExceededVerdict } from "../rules/admit.js";
import type { RefusedVerdict, WaitersAhead } from "../rules/judge.js";
import { classOrderOf } from "./class-order.js";
import { type Waiting, type WaitOutcome, type WaitPlace, WaitQueues } from "./wait-queues.js";

/** The verdict after which a request may wait: a rule or a budget refuses it. */
export type RefusedByLimit = RefusedVerdict | Pick<ExceededVerdict, "kind" | "breach">;

/** A request that waits. */
export interface Waiter extends Waiting {
  readonly peer: PeerState;
  /** The id of its admission. */
  readonly id: number;
  readonly userPath: string;
  /** What refused it last. */
  breach: Breach | BudgetBreach;
  /** When its proxy is next told its position, and how often; null: never. */
  readonly positionReports: { readonly everyMs: number; dueMs: number } | null;
  /** Whether its caller is refused now, such as after the end of its key. */
  readonly isDenied: (nowMs: number) => boolean;
  /** Judges it again. `mustDecide`: it can't wait for the counts of other hosts. */
  readonly judge: (waiter: Waiter, nowMs: number, mustDecide: boolean) => WaitOutcome;
  /** Refuses it at its deadline. */
  readonly refuse: (waiter: Waiter, nowMs: number) => void;
}

interface WaiterPorts {
  /** Monotonic milliseconds. */
  monoMs(): number;
  /** Runs `run` once after `ms`. */
  schedule(ms: number, run: () => void): void;
  /** Runs a turn of its own: reads the clock and calls `turn`. */
  readonly inTurn: (turn: (nowMs: number) => void) => void;
}

export class Waiters implements WaitersAhead {
  readonly queues = new WaitQueues<Waiter>();
  readonly #ports: WaiterPorts;
  readonly #byPeer = new Map<PeerState, Map<number, Waiter>>();
  readonly #onFreed = (counter: Counter): void => this.queues.wake(keyOf(counter));
  /** The waiters with `positionReports`, the last reported ones last. */
  readonly #reported = new Set<Waiter>();
  #nextReportMs = Number.POSITIVE_INFINITY;
  #isScheduled = false;
  /** The user path that `behindMs` reads, which `aheadOf` sets. */
  #judgedPath = "/";
  /** When the callers are checked next: a key may expire. */
  #nextCheckMs = 0;
  /** Requests that have waited, since the start. */
  waited = 0;

  constructor(ports: WaiterPorts) {
    this.#ports = ports;
  }

  get size(): number {
    return this.queues.size;
  }

  /**
   * For the judgement of a request with this path; valid until the next call. Returns this object,
   * so that none is made for each request.
   */
  aheadOf(userPath: string): WaitersAhead {
    this.#judgedPath = userPath;
    return this;
  }

  get monoMs(): number {
    return this.#ports.monoMs();
  }

  behindMs(counter: Counter): number {
    const { scope } = counter.rule.definition;
    return this.queues.behindMs(keyOf(counter), this.monoMs, () =>
      classOf({ scope, subject: counter.subject }, this.#judgedPath),
    );
  }

  isBehindAt(account: AwaitedAccount): boolean {
    const { queues, monoMs } = this;
    const classOfJudged = (): string => classOf(account, this.#judgedPath);
    return queues.behindMs(budgetKey(account), monoMs, classOfJudged) > 0;
  }

  /** Where the request that is judged would wait for a counter; null if none do. */
  atEnd(counter: Counter): ReturnType<WaitersAhead["atEnd"]> {
    const { scope } = counter.rule.definition;
    const className = classOf({ scope, subject: counter.subject }, this.#judgedPath);
    return this.queues.atEnd(keyOf(counter), className, this.monoMs);
  }

  find(peer: PeerState, id: number): Waiter | undefined {
    return this.#byPeer.get(peer)?.get(id);
  }

  /** Returns false if too many wait. */
  add(waiter: Waiter, place: WaitPlace): boolean {
    if (!this.queues.add(waiter, place, this.monoMs)) return false;
    const ofPeer = this.#byPeer.get(waiter.peer);
    if (ofPeer === undefined) this.#byPeer.set(waiter.peer, new Map([[waiter.id, waiter]]));
    else ofPeer.set(waiter.id, waiter);
    if (waiter.positionReports !== null) {
      this.#reported.add(waiter);
      this.#nextReportMs = Math.min(this.#nextReportMs, waiter.positionReports.dueMs);
    }
    this.waited++;
    this.#schedule(waitTickMs);
    return true;
  }

  /** Call when a waiting request's client has left, or its deadline has passed. */
  remove(waiter: Waiter): void {
    this.queues.remove(waiter);
    this.answered(waiter);
  }

  /** Call when a waiting request was judged and answered. */
  answered(waiter: Waiter): void {
    const ofPeer = this.#byPeer.get(waiter.peer);
    ofPeer?.delete(waiter.id);
    this.#reported.delete(waiter);
    if (ofPeer?.size === 0) this.#byPeer.delete(waiter.peer);
  }

  /** Forgets the requests of a lost connection: the proxy sends them again on the next one. */
  disconnected(peer: PeerState): void {
    for (const waiter of this.#byPeer.get(peer)?.values() ?? []) {
      this.queues.remove(waiter);
      this.#reported.delete(waiter);
    }
    this.#byPeer.delete(peer);
  }

  /** Call after each message while any request waits: judges in the queues that it woke. */
  afterMessage(nowMs: number): void {
    if (this.queues.isWoken) this.#turn(nowMs);
  }

  /** Call when limits or keys have changed: some requests may have room, or no key any more. */
  definitionsChanged(): void {
    this.#nextCheckMs = 0;
    this.queues.wakeAll();
  }

  /** Judges a request again after the other hosts' counts have arrived. */
  judgeAgain(waiter: Waiter, nowMs: number, mustDecide: boolean): void {
    this.queues.judgeAgain(waiter, this.monoMs, () => waiter.judge(waiter, nowMs, mustDecide));
  }

  /** Where a refused request waits; null: waiting is pointless before its deadline. */
  placeFor(
    verdict: RefusedByLimit,
    { userPath, deadlineMs }: Pick<Waiter, "userPath" | "deadlineMs">,
    nowMs: number,
  ): WaitPlace | null {
    const { breach } = verdict;
    if (breach.dimension === "banned" || breach.dimension === "children") return null;
    const monoMs = this.monoMs;
    const isGauge = breach.dimension === "concurrent" || breach.dimension === "adaptive";
    // Waits are rounded up to whole seconds.
    const notBeforeMs = isGauge ? monoMs : monoMs + (breach.waitSeconds - 1) * 1000;
    const isBehind = verdict.kind === "refused" && verdict.isBehind === true;
    if (!isBehind && notBeforeMs >= deadlineMs) return null;
    const counter = verdict.kind === "refused" ? (verdict.counter ?? null) : null;
    const isShared = counter !== null && shareOf(counter) !== null;
    const latestMs = monoMs + (isShared ? judgeAgainSharedMs : judgeAgainMs);
    const isFreed = isGauge || breach.dimension === "upstream";
    if (counter !== null && isFreed) counter.rule.onFreed = this.#onFreed;
    return {
      key: counter === null ? budgetKey(breach) : keyOf(counter),
      className: classOf(breach, userPath),
      order: () => classOrderOf(counter),
      paceMs: counter === null ? null : configuredPaceMs(counter, nowMs),
      notBeforeMs,
      againMs: isGauge ? latestMs : Math.min(notBeforeMs, latestMs),
    };
  }

  #schedule(ms: number): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    this.#ports.schedule(ms, () => {
      this.#isScheduled = false;
      if (this.size > 0) this.#ports.inTurn((nowMs) => this.#turn(nowMs));
      if (this.monoMs >= this.#nextReportMs) this.#reportPositions();
      if (this.size > 0) this.#schedule(this.queues.isWoken ? 0 : waitTickMs);
    });
  }

  #reportPositions(): void {
    const monoMs = this.monoMs;
    const due = [...this.#reported].filter(
      ({ positionReports }) => positionReports!.dueMs <= monoMs,
    );
    for (const waiter of due.slice(0, positionsPerTick)) {
      const { peer, id } = waiter;
      const reports = waiter.positionReports!;
      reports.dueMs = monoMs + reports.everyMs;
      this.#reported.delete(waiter);
      this.#reported.add(waiter);
      const { position, expectedMs } = this.queues.placeOf(waiter, monoMs)!;
      peer.send({ kind: "queued", id, position, expectedMs: expectedMs ?? undefined });
    }
    this.#nextReportMs = Number.POSITIVE_INFINITY;
    for (const { positionReports } of this.#reported)
      this.#nextReportMs = Math.min(this.#nextReportMs, positionReports!.dueMs);
  }

  #refuseDenied(nowMs: number): void {
    this.#nextCheckMs = this.monoMs + checkEveryMs;
    for (const waiters of this.#byPeer.values())
      for (const waiter of waiters.values()) {
        if (!waiter.isDenied(nowMs)) continue;
        this.queues.remove(waiter);
        waiter.judge(waiter, nowMs, true);
      }
  }

  #turn(nowMs: number): void {
    const monoMs = this.monoMs;
    if (monoMs >= this.#nextCheckMs) this.#refuseDenied(nowMs);
    for (const waiter of this.queues.expired(monoMs)) {
      waiter.refuse(waiter, nowMs);
      this.remove(waiter);
    }
    const hasMore = this.queues.turn(monoMs, (waiter) => waiter.judge(waiter, nowMs, false));
    if (hasMore) this.queues.isWoken = true;
  }
}

/** Interval at which the callers of waiting requests are checked, in ms. */
const checkEveryMs = 1000;

/** A queue's key: that of its counter. */
function keyOf({ rule, child }: Counter): string {
  return `${rule.id}\n${child}`;
}

function budgetKey(breach: AwaitedAccount): string {
  const { scope, subject, periodSeconds, models = "" } = breach;
  return ["budget", scope, subject, periodSeconds, models].join("\n");
}

/** The first segment of the path below the subject; of the whole path for models and providers. */
function classOf(
  { scope, subject }: Pick<Breach | BudgetBreach, "scope" | "subject">,
  userPath: string,
): string {
  const below =
    scope === "user_path" && subject !== "/" && isPathWithin(userPath, subject)
      ? userPath.slice(subject.length + 1)
      : userPath.slice(1);
  const end = below.indexOf("/");
  return end === -1 ? below : below.slice(0, end);
}

/** The expected time between admissions; null if it depends on the requests. */
function configuredPaceMs(counter: Counter, nowMs: number): number | null {
  const { maxRequests } = capsOf(counter, nowMs);
  const { periodMs } = counter.rule;
  return periodMs === 0 || maxRequests === null ? null : periodMs / Math.max(1, maxRequests);
}

/**
 * Whether a request of this path may wait, or wait longer. Its proxy doesn't know what the path
 * allows.
 */
export function mayWait(limits: WaitLimits, userPath: string, wait: Wait | undefined): boolean {
  return wait !== undefined && waitMsOf(limits, userPath, wait) > wait.waitedMs;
}

/** For how long a request of this path may wait in all, in ms. */
export function waitMsOf(limits: WaitLimits, userPath: string, wait: Wait): number {
  let { maxMs, defaultMs } = limits;
  let longest = -1;
  for (const { path, ...own } of limits.paths) {
    if (path.length <= longest || !isPathWithin(userPath, path)) continue;
    longest = path.length;
    ({ maxMs, defaultMs } = own);
  }
  const { askedMs, timeoutMs } = wait;
  return Math.min(askedMs ?? defaultMs, maxMs, timeoutMs ?? Number.POSITIVE_INFINITY);
}
