/** The shares of one rule's counters: of its own, or of those of its children that are in use. */
import type { CounterShare, RuleShares, Window } from "../../counters/window.js";
import type { Share } from "../share.js";

interface SharePorts {
  make(child: string, own: Window): Share;
  generation(): number;
  /** Whether there may be one more. */
  hasRoom(): boolean;
}

export class SharesOfRule implements RuleShares {
  readonly #ports: SharePorts;
  readonly #byChild = new Map<string, Share>();

  constructor(ports: SharePorts) {
    this.#ports = ports;
  }

  of(child: string, own: Window): CounterShare {
    const known = this.#byChild.get(child);
    if (known !== undefined) return known;
    // Of rules' own there are no more than rules.
    if (child !== "" && !this.#ports.hasRoom()) return noRoom;
    const made = this.#ports.make(child, own);
    this.#byChild.set(child, made);
    return made;
  }

  find(child: string): Share | null {
    return this.#byChild.get(child) ?? null;
  }

  delete(child: string): void {
    this.#byChild.delete(child);
  }

  reset(): void {
    for (const share of this.#byChild.values()) share.restart(this.#ports.generation());
  }
}

/** For a counter beyond the bound: it refuses until others are forgotten. */
const noRoom: CounterShare = {
  waitOfRequests: () => 1,
  waitOfTokens: () => 1,
  isFull: () => true,
  counted: () => {},
  withdrawn: () => {},
  charged: () => {},
  changed: () => {},
  look: () => {},
  view: (window, inFlight, nowMs) => ({ window, inFlight, nowMs }),
};
