/**
 * Admissions and reroutes that the daemon has been asked for: who waits for the answer and until
 * when, and who went on, or was turned away, without it while it may still come. What an answer
 * does is the limiter client's.
 */

import { assert } from "../../shared/assert.js";
import { admissionsWaitingMax } from "../../shared/bounds.js";
import { IdMap } from "../../shared/id-map.js";
import type {
  Admitted,
  Claimed,
  Denied,
  Exceeded,
  Refused,
  Target,
  ToDaemon,
} from "../../shared/wire/message.js";
import { unlimitedLsn } from "../../shared/wire/unlimited-lsn.js";
import type { Admission, AdmissionOutcome } from "./limiter.js";

export interface Asking {
  readonly caller: Claimed;
  readonly targets: readonly Target[];
  /** The admission whose target failed; null for a request that isn't admitted yet. */
  readonly rerouted: Admission | null;
  readonly submission: boolean;
  readonly startedMonoMs: number;
}

export interface Question extends Asking {
  readonly deadlineMonoMs: number;
  readonly resolve: (outcome: AdmissionOutcome) => void;
}

/** A question whose answer came too late, or comes yet. */
export interface LateQuestion {
  readonly question: Question;
  /** Who went on without the answer; null when nobody did. */
  readonly admission: Admission | null;
}

export interface PendingAdmissions {
  /** How many wait. */
  readonly size: number;
  /** Who waits, in the order of asking. */
  waiting(): readonly (readonly [id: number, question: Question])[];
  add(id: number, question: Question): void;
  /** Takes who waits for this answer. */
  take(id: number): Question | undefined;
  takeLate(id: number): LateQuestion | undefined;
  /**
   * Keeps in mind what became of a question that nobody waits for any more; false when there is no
   * room.
   */
  addLate(id: number, late: LateQuestion): boolean;
  /** Those whose deadline has passed, taken out. */
  expired(nowMonoMs: number): readonly (readonly [id: number, question: Question])[];
  /**
   * No answer comes any more to what was asked; returns who went on without one. Who waits is asked
   * for again.
   */
  lost(): readonly Admission[];
}

export function createPendingAdmissions(): PendingAdmissions {
  const waiting = new IdMap<Question>();
  const late = new Map<number, LateQuestion>();

  return {
    get size() {
      return waiting.size;
    },
    waiting: () => waiting.entries(),
    add: (id, question) => waiting.set(id, question),
    take: (id) => waiting.take(id),
    takeLate(id) {
      const known = late.get(id);
      late.delete(id);
      return known;
    },
    addLate(id, known) {
      if (late.size >= admissionsWaitingMax) return false;
      late.set(id, known);
      return true;
    },
    expired(now) {
      const gone = waiting.entries().filter(([, { deadlineMonoMs }]) => deadlineMonoMs <= now);
      for (const [id] of gone) waiting.take(id);
      return gone;
    },
    lost() {
      const went: Admission[] = [];
      for (const { question, admission } of late.values())
        if (admission !== null && question.rerouted === null) went.push(admission);
      late.clear();
      return went;
    },
  };
}

/** The admission that the daemon granted, or the one that it rerouted. */
export function granted(
  { caller, targets, rerouted, submission, startedMonoMs }: Question,
  { id, target: index, admittedAtMs, lsn, key }: Admitted,
): Admission {
  const target = targets[index];
  assert(target !== undefined, "the daemon chose one of the targets");
  if (rerouted !== null)
    return Object.assign(rerouted, { target, targetAtMs: admittedAtMs, targetLsn: lsn });
  const userPath = key?.userPath ?? caller.userPath;
  const keyId = key?.keyId ?? "";
  if (submission)
    return {
      lease: id,
      admittedAtMs,
      lsn,
      userPath,
      keyId,
      target: null,
      targetAtMs: 0,
      targetLsn: 0,
      submission,
      startedMonoMs,
      settled: false,
    };
  return {
    lease: id,
    admittedAtMs,
    lsn,
    userPath,
    keyId,
    target,
    targetAtMs: admittedAtMs,
    targetLsn: lsn,
    submission,
    startedMonoMs,
    settled: false,
  };
}

/**
 * The admission of a request that goes to its first target unasked. `lsn`: 0, or `unlimitedLsn`
 * when there is no rule.
 */
export function failOpenAdmission(
  { caller, targets, rerouted, submission, startedMonoMs }: Asking,
  lsn: number,
): Admission {
  const target = submission ? null : targets[0]!;
  if (rerouted !== null)
    return Object.assign(rerouted, {
      target,
      targetAtMs: 0,
      targetLsn: rerouted.lsn === unlimitedLsn ? unlimitedLsn : 0,
    });
  return {
    lease: 0,
    admittedAtMs: 0,
    lsn,
    userPath: caller.userPath,
    keyId: "",
    target,
    targetAtMs: 0,
    targetLsn: target === null ? 0 : lsn,
    submission,
    startedMonoMs,
    settled: false,
  };
}

/** What became of an admission that was not granted. */
export function rejected(message: Refused | Exceeded | Denied): AdmissionOutcome {
  switch (message.kind) {
    case "refused":
      return { kind: "refused", id: message.id, breach: message, key: message.key };
    case "exceeded":
      return {
        kind: "exceeded",
        id: message.id,
        breach: message,
        headers: message.headers,
        key: message.key,
      };
    case "denied":
      return { kind: "denied" };
  }
}

/** How a question is put. */
export function questionMessage(
  id: number,
  { caller, targets, rerouted, submission }: Question,
): ToDaemon {
  return rerouted === null
    ? {
        kind: "admit",
        id,
        userPath: caller.userPath,
        credential: caller.credential,
        targets,
        submission,
      }
    : { kind: "reroute", id, lease: rerouted.lease, targets };
}

/** Stands for the target of a request that has been answered without one. */
export const nobody: Target = { provider: "none", model: "none" };
