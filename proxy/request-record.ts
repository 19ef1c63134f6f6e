/**
 * What one request leaves behind: its log line, and what the usage record takes from the way the
 * request went. Handlers fill it; nothing here decides anything.
 */
import type { PicoUsd } from "../shared/domain/money.js";
import type { Target } from "../shared/wire/message.js";
import type { Forwarded } from "./upstream/forwarded.js";
import type { Usage } from "./usage/read-usage.js";

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
