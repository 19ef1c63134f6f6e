/**
 * What the proxy asks when a request wants to go to a target, or to another one: the message that
 * asks it, and the admission or the refusal that comes of it. Pure; who waits for the verdict is in
 * `pending-admissions.ts`.
 */
import { isKeyHash } from "../../../shared/domain/managed-key.js";
import type { Target } from "../../../shared/domain/target-name.js";
import type {
  Admitted,
  Denied,
  Exceeded,
  Refused,
} from "../../../shared/wire/message-from-daemon.js";
import {
  type Claimed,
  type ToDaemon,
  unlimitedLsn,
} from "../../../shared/wire/message-to-daemon.js";
import { assertLimiter } from "../broken-limiter-state.js";
import type { Admission, AdmissionOutcome } from "../limiter.js";

export interface AdmissionRequest {
  readonly caller: Claimed;
  /** As in `Admit`: none for a judgement alone, whose admission says only that nothing refuses. */
  readonly targets: readonly Target[];
  /** The admission whose target failed; null for a request that isn't admitted yet. */
  readonly rerouted: Admission | null;
  readonly submission: boolean;
  readonly startedMonoMs: number;
  /** As in `Admit`. */
  readonly modelNames?: readonly string[] | undefined;
}

/** `read`: how many verdicts that admit have come on this connection; undefined: it isn't told. */
export function admissionMessage(
  id: number,
  { caller, targets, rerouted, submission, modelNames }: AdmissionRequest,
  read: number | undefined,
): ToDaemon {
  return rerouted === null
    ? {
        kind: "admit",
        id,
        userPath: caller.userPath,
        credential: caller.credential,
        targets,
        submission,
        read,
        // Only a key has a list there.
        modelNames: isKeyHash(caller.credential) ? modelNames : undefined,
      }
    : { kind: "reroute", id, lease: rerouted.lease, targets, read };
}

/** The admission that the daemon granted, or the one that it rerouted. */
export function grantedAdmission(
  { caller, targets, rerouted, submission, startedMonoMs }: AdmissionRequest,
  { id, target: index, admittedAtMs, lsn, key }: Admitted,
): Admission {
  const target = targets[index];
  assertLimiter(target !== undefined, "the daemon chose one of the targets");
  if (rerouted !== null)
    return Object.assign(rerouted, {
      target,
      targetAtMs: admittedAtMs,
      targetStartedMonoMs: undefined,
      targetLsn: lsn,
    });
  return {
    lease: id,
    admittedAtMs,
    lsn,
    userPath: key?.userPath ?? caller.userPath,
    keyId: key?.keyId ?? "",
    target: submission ? null : target,
    targetAtMs: submission ? 0 : admittedAtMs,
    targetLsn: submission ? 0 : lsn,
    submission,
    startedMonoMs,
    settled: false,
  };
}

/**
 * The admission of a request that goes to its first target without a verdict. `lsn`: 0, or
 * `unlimitedLsn` when there is no rule.
 */
export function failOpenAdmission(
  { caller, targets, rerouted, submission, startedMonoMs }: AdmissionRequest,
  lsn: number,
): Admission {
  const target = submission ? null : (targets[0] ?? null);
  if (rerouted !== null)
    return Object.assign(rerouted, {
      target,
      targetAtMs: 0,
      targetStartedMonoMs: startedMonoMs,
      targetLsn: rerouted.lsn === unlimitedLsn ? unlimitedLsn : lsn,
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

/** The outcome of a request that the daemon didn't admit. */
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
      return { kind: "denied", ended: message.ended };
  }
}
