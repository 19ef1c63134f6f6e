/**
 * Admissions and reroutes whose deadline passed before the daemon's verdict, as long as that may
 * still come. By then the request was rejected, or it went to a target without a verdict and is
 * counted there (`unasked-admissions.ts`). So what a late verdict has counted is withdrawn,
 * whatever became of its request.
 */
import { admissionsWaitingMax } from "../../../shared/bounds.js";
import type { Target } from "../../../shared/domain/target-name.js";
import type { Admitted } from "../../../shared/wire/message-from-daemon.js";
import type { Admission } from "../limiter.js";
import { nothingSpent, type SettleOutbox } from "../settle-outbox.js";
import type { AdmissionRequest } from "./admission-request.js";

/** Stands for the target of an admission that is no longer remembered. */
const forgottenTarget: Target = { provider: "none", model: "none" };

export class LateAdmissions {
  readonly #expected = new Map<number, AdmissionRequest>();
  readonly #outbox: SettleOutbox;
  readonly #monoMs: () => number;

  constructor(outbox: SettleOutbox, monoMs: () => number) {
    this.#outbox = outbox;
    this.#monoMs = monoMs;
  }

  /** Remembers a request whose verdict is late; at the bound it is forgotten. */
  expect(id: number, request: AdmissionRequest): void {
    if (this.#expected.size < admissionsWaitingMax) this.#expected.set(id, request);
  }

  admitted(message: Admitted): void {
    const { id, target: index, key } = message;
    const request = this.#expected.get(id);
    this.#expected.delete(id);
    if (request === undefined) return this.#withdraw(message, "/", forgottenTarget);
    const { caller, targets, rerouted, submission } = request;
    const target = submission ? null : (targets[index] ?? forgottenTarget);
    if (rerouted === null) this.#withdraw(message, key?.userPath ?? caller.userPath, target);
    else if (target !== null) this.#withdrawTarget(message, rerouted, target);
  }

  /** Nothing was counted. */
  rejected(id: number): void {
    this.#expected.delete(id);
  }

  /** No verdict comes any more: the daemon takes back what it has counted. */
  connectionLost(): void {
    this.#expected.clear();
  }

  #withdraw({ id, admittedAtMs, lsn }: Admitted, userPath: string, target: Target | null): void {
    const nowMonoMs = this.#monoMs();
    const lease = {
      lease: id,
      userPath,
      admittedAtMs,
      lsn,
      target,
      targetAtMs: target === null ? 0 : admittedAtMs,
      targetLsn: target === null ? 0 : lsn,
      startedMonoMs: nowMonoMs,
    };
    this.#outbox.add("withdrawn", lease, nothingSpent, nowMonoMs);
  }

  /** The target of a reroute; its request goes on, or has ended, elsewhere. */
  #withdrawTarget({ admittedAtMs, lsn }: Admitted, rerouted: Admission, target: Target): void {
    const attempt = { target, targetAtMs: admittedAtMs, targetLsn: lsn };
    const nowMonoMs = this.#monoMs();
    this.#outbox.add("untried", { ...rerouted, ...attempt }, nothingSpent, nowMonoMs);
  }
}
