/**
 * Admissions and reroutes whose deadline passed before the daemon's verdict, as long as that may
 * still come. By then the request was rejected, or it went to a target without a verdict (failure
 * mode `open`). What the daemon counted for the first is withdrawn; the second adopts the lease.
 */
import { admissionsWaitingMax } from "../../../shared/bounds.js";
import type { Target } from "../../../shared/domain/target-name.js";
import type { IdMap } from "../../../shared/id-map.js";
import type { Admitted } from "../../../shared/wire/message-from-daemon.js";
import type { Admission } from "../limiter.js";
import { nothingSpent, type SettleOutbox } from "../settle-outbox.js";
import type { AdmissionRequest } from "./admission-request.js";

interface LateAdmission {
  readonly request: AdmissionRequest;
  /** Of the request that went to a target without a verdict; null when it was rejected. */
  readonly admission: Admission | null;
}

/** Stands for the target of an admission that is no longer remembered. */
const forgottenTarget: Target = { provider: "none", model: "none" };

export class LateAdmissions {
  readonly #expected = new Map<number, LateAdmission>();
  readonly #held: IdMap<Admission>;
  readonly #outbox: SettleOutbox;
  readonly #monoMs: () => number;

  /** `held`: granted admissions that aren't settled yet, by lease. */
  constructor(held: IdMap<Admission>, outbox: SettleOutbox, monoMs: () => number) {
    this.#held = held;
    this.#outbox = outbox;
    this.#monoMs = monoMs;
  }

  /**
   * Remembers what became of a request whose verdict is late. At the bound it is forgotten: then a
   * late admission is withdrawn, and its request settled as one that the daemon never saw.
   */
  expect(id: number, request: AdmissionRequest, admission: Admission | null): void {
    if (this.#expected.size >= admissionsWaitingMax) return;
    this.#expected.set(id, { request, admission });
    // The lease that the daemon will know it by.
    if (admission !== null && request.rerouted === null) admission.lease = id;
  }

  /**
   * A request that went to a target without this verdict holds the lease from now on. Of one that
   * was rejected, an admission is withdrawn here; a reroute is taken back by the request's own
   * settle, which names no target.
   */
  admitted(message: Admitted): void {
    const late = this.#take(message.id);
    if (late === undefined) return this.#withdraw(message, "/", forgottenTarget);
    const { request, admission } = late;
    const target = request.submission ? null : (request.targets[message.target] ?? forgottenTarget);
    const isReroute = request.rerouted !== null;
    if (admission !== null) this.#adopt(message, admission, { target, isReroute });
    else if (!isReroute) this.#withdraw(message, request.caller.userPath, target);
  }

  /** A request that went to a target without this verdict is counted with its settle. */
  rejected(id: number): void {
    const late = this.#take(id);
    if (late === undefined || late.request.rerouted !== null) return;
    if (late.admission !== null && !late.admission.settled) late.admission.lease = 0;
  }

  /** No verdict comes any more: requests that went to a target are counted with their settles. */
  connectionLost(): void {
    for (const { request, admission } of this.#expected.values())
      if (admission !== null && request.rerouted === null && !admission.settled)
        admission.lease = 0;
    this.#expected.clear();
  }

  #take(id: number): LateAdmission | undefined {
    const late = this.#expected.get(id);
    this.#expected.delete(id);
    return late;
  }

  #adopt(
    { id, admittedAtMs, lsn }: Admitted,
    admission: Admission,
    { target, isReroute }: { readonly target: Target | null; readonly isReroute: boolean },
  ): void {
    // Its settle names this lease, and the daemon gets it after its own verdict: nothing is left to
    // do.
    if (admission.settled) return;
    if (!isReroute) {
      Object.assign(admission, { admittedAtMs, lsn });
      this.#held.set(id, admission);
    }
    if (target !== null && admission.target === target && admission.targetLsn === 0)
      Object.assign(admission, { targetAtMs: admittedAtMs, targetLsn: lsn });
  }

  #withdraw(
    { id, admittedAtMs, lsn, key }: Admitted,
    userPath: string,
    target: Target | null,
  ): void {
    const nowMonoMs = this.#monoMs();
    const lease = {
      lease: id,
      userPath: key?.userPath ?? userPath,
      admittedAtMs,
      lsn,
      target,
      targetAtMs: target === null ? 0 : admittedAtMs,
      targetLsn: target === null ? 0 : lsn,
      startedMonoMs: nowMonoMs,
    };
    this.#outbox.add("withdrawn", lease, nothingSpent, nowMonoMs);
  }
}
