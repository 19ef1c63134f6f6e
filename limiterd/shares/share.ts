/**
 * This host's share of one counter that all hosts count in: what the engine has granted to it, what
 * it has used of that, and what the others count. Verdicts are made here, on units that are granted
 * already, so that no view of the others has to be fresh. The arithmetic of a window is in
 * `counters/window.ts`.
 */
import type { Rule } from "../counters/counter.js";
import {
  type CounterShare,
  type Window,
  waitForRequests,
  waitForTokens,
} from "../counters/window.js";
import type { ClusterTurn } from "./cluster-turn.js";
import { farTokensFreshMs, tokensFreshMs } from "./share-bounds.js";
import { SyncedShare } from "./synced-share.js";

interface SharePorts {
  readonly turn: ClusterTurn<Share>;
  /** The engine is to be asked soon. */
  readonly need: (share: Share) => void;
  readonly generation: number;
}

export class Share extends SyncedShare implements CounterShare {
  readonly #turn: ClusterTurn<Share>;
  readonly #need: (share: Share) => void;

  constructor(
    counter: { readonly rule: Rule; readonly child: string },
    own: Window,
    ports: SharePorts,
  ) {
    super(counter, own, ports);
    this.#turn = ports.turn;
    this.#need = ports.need;
  }

  /** Whether the engine hasn't said just now what it has. */
  get isUnknown(): boolean {
    return !this.isFresh || this.settlingMs > 0;
  }

  /** What decides instead of the engine: the failure mode, or nothing while it can be asked. */
  get #mode(): ClusterTurn["failureMode"] | null {
    const { away, purpose, failureMode } = this.#turn;
    if (away || this.isAway) return failureMode;
    // What other hosts have told the engine since it lost its data is worth an answer.
    if (this.settlingMs > 0) return purpose !== "ask" || this.isFresh ? failureMode : null;
    return purpose === "decide" && !this.isFresh ? failureMode : null;
  }

  /**
   * Whether what others have used is heeded although the failure mode decides: the engine answers,
   * and what it has lost is known here, or told to it again by and by.
   */
  get #recalls(): boolean {
    return this.settlingMs > 0 && !this.#turn.away && !this.isAway;
  }

  waitOfRequests(own: Window, cap: number, nowMs: number): number {
    const { periodMs } = this.rule;
    this.look();
    if (!this.isLowered && this.units.has(this.#turn.monoMs)) return 0;
    const mode = this.#mode;
    const isFree = mode === "open" || mode === "local";
    const alone = mode === "local" ? waitForRequests(own, periodMs, nowMs, this.#localCap(cap)) : 0;
    if (isFree && !this.#recalls) return alone;
    const view = this.view(own, 0, nowMs);
    const waitSeconds = waitForRequests(view.window, periodMs, view.nowMs, cap);
    return isFree ? Math.max(alone, waitSeconds) : this.#orLack(waitSeconds);
  }

  waitOfTokens(own: Window, cap: number, nowMs: number): number {
    const { periodMs } = this.rule;
    this.look();
    const view = this.view(own, 0, nowMs);
    const waitSeconds = waitForTokens(view.window, periodMs, view.nowMs, cap);
    // Others can't take back what they have charged: this is so however old it is.
    if (waitSeconds > 0) return waitSeconds;
    const freshMs = this.tokens.isFar ? farTokensFreshMs : tokensFreshMs;
    if (this.units.ageMs(this.#turn.monoMs) <= freshMs) return 0;
    const mode = this.#mode;
    if (mode === "open") return 0;
    if (mode === "local") return waitForTokens(own, periodMs, nowMs, this.#localCap(cap));
    return this.#orLack(0);
  }

  isFull(inFlight: number, cap: number): boolean {
    this.look();
    if (!this.isLowered && this.slots.has(inFlight, this.#turn.monoMs)) return false;
    const mode = this.#mode;
    const isFree = mode === "open" || mode === "local";
    const isFullAlone = mode === "local" && inFlight >= this.#localCap(cap);
    if (isFree && !this.#recalls) return isFullAlone;
    const isFullForAll = this.slots.counted(inFlight) >= cap;
    return isFree ? isFullAlone || isFullForAll : this.#orLack(isFullForAll ? 1 : 0) > 0;
  }

  /** Without a unit: there may be room, or some again, and the engine is to be asked. */
  #orLack(waitSeconds: number): number {
    const { purpose, lacking } = this.#turn;
    if (purpose === "look") return waitSeconds;
    if (waitSeconds === 0 || !this.isFresh) lacking.push(this);
    return Math.max(1, waitSeconds);
  }

  /** What this host may use alone. */
  #localCap(cap: number): number {
    return Math.max(1, Math.floor(cap / this.#turn.hosts));
  }

  look(): void {
    if (this.#turn.purpose === "look" && !this.isFresh) this.#turn.looked.add(this);
  }

  counted(own: Window): void {
    const { monoMs, lsn } = this.#turn;
    this.schedule.used(monoMs);
    this.demand.used();
    if (this.rule.periodMs === 0) return;
    this.units.use(own, monoMs, lsn);
    if ((this.units.isLow || this.demand.isSurprising) && this.canAsk) this.#need(this);
  }

  charged(tokens: number): void {
    this.news.charged(tokens);
  }

  changed(): void {
    this.news.changed();
  }

  withdrawn(lsn: number): void {
    this.units.takeBack(lsn);
  }
}
