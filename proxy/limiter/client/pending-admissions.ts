/**
 * Admissions and reroutes that wait for the daemon's verdict. Here each one's promise is resolved:
 * by the verdict, at its deadline by the failure mode, or at once where no verdict is needed. A
 * verdict that comes after the deadline is for `late-admissions.ts`.
 */
import { admissionsWaitingMax } from "../../../shared/bounds.js";
import type { FailureMode } from "../../../shared/config/config.js";
import { IdMap } from "../../../shared/id-map.js";
import type {
  Admitted,
  Denied,
  Exceeded,
  Failed,
  Refused,
} from "../../../shared/wire/message-from-daemon.js";
import {
  type Claimed,
  isUnnumbered,
  type ToDaemon,
  unlimitedLsn,
} from "../../../shared/wire/message-to-daemon.js";
import type { DaemonConnection } from "../daemon-connection.js";
import type { DaemonNotices } from "../daemon-notices.js";
import type { Admission, AdmissionOutcome } from "../limiter.js";
import {
  type AdmissionRequest,
  admissionMessage,
  failOpenAdmission,
  grantedAdmission,
  rejected,
} from "./admission-request.js";
import type { LateAdmissions } from "./late-admissions.js";
import type { ReadVerdicts } from "./read-verdicts.js";
import type { UnaskedAdmissions } from "./unasked-admissions.js";

interface PendingAdmission {
  readonly request: AdmissionRequest;
  readonly deadlineMonoMs: number;
  readonly resolve: (outcome: AdmissionOutcome) => void;
  /** Whether the present daemon was asked, so that its answer may still come. */
  sent: boolean;
}

interface PendingAdmissionsContext {
  readonly connection: DaemonConnection;
  readonly notices: DaemonNotices;
  /** Granted admissions that aren't settled yet, by lease. */
  readonly held: IdMap<Admission>;
  readonly unasked: UnaskedAdmissions;
  readonly late: LateAdmissions;
  readonly read: ReadVerdicts;
  readonly failureMode: FailureMode;
}

export class PendingAdmissions {
  readonly #context: PendingAdmissionsContext;
  readonly #waiting = new IdMap<PendingAdmission>();

  constructor(context: PendingAdmissionsContext) {
    this.#context = context;
  }

  /** How many wait. */
  get size(): number {
    return this.#waiting.size;
  }

  /** Never rejects, resolves within the deadline. */
  ask(request: AdmissionRequest): Promise<AdmissionOutcome> {
    const { connection, notices } = this.#context;
    const { caller, rerouted, startedMonoMs } = request;
    const unlimited = connection.linked && !notices.limited && this.#mayPassUnasked(caller);
    // An admission without a number wasn't asked for, or its verdict is late: the daemon knows of
    // no lease to reroute.
    if (unlimited || (rerouted !== null && isUnnumbered(rerouted.lsn)))
      return Promise.resolve({
        kind: "admitted",
        admission: failOpenAdmission(request, unlimited ? unlimitedLsn : 0),
        headers: null,
      });
    const deadlineMonoMs = connection.deadlineMonoMs(startedMonoMs);
    if (
      connection.silent ||
      deadlineMonoMs <= startedMonoMs ||
      this.#waiting.size >= admissionsWaitingMax
    )
      return Promise.resolve(this.#withoutVerdict(request));
    const id = connection.nextId();
    const sent = connection.linked;
    return new Promise((resolve) => {
      this.#waiting.set(id, { request, deadlineMonoMs, resolve, sent });
      if (sent) connection.send(this.#message(id, request));
    });
  }

  /** What waits, in the order of asking, for a daemon that has just welcomed this proxy. */
  *unsent(): Generator<ToDaemon, void> {
    for (const [id, pending] of this.#waiting.entries()) {
      // It may have reached its deadline since.
      if (this.#waiting.get(id) !== pending) continue;
      pending.sent = true;
      yield this.#message(id, pending.request);
    }
  }

  /** The next daemon is asked all of it anew. */
  connectionLost(): void {
    for (const pending of this.#waiting.values()) pending.sent = false;
  }

  #message(id: number, request: AdmissionRequest): ToDaemon {
    return admissionMessage(id, request, this.#context.read.count);
  }

  admitted(message: Admitted): void {
    this.#context.read.readOne();
    const pending = this.#waiting.take(message.id);
    if (pending === undefined) return this.#context.late.admitted(message);
    if (message.target >= pending.request.targets.length)
      return this.#misunderstood(pending, message);
    const admission = grantedAdmission(pending.request, message);
    this.#context.held.set(admission.lease, admission);
    pending.resolve({ kind: "admitted", admission, headers: message.headers });
  }

  /**
   * The daemon has admitted the request to a target that it doesn't have: no verdict, as far as the
   * request is concerned, and a lease that nobody holds.
   */
  #misunderstood({ request, resolve }: PendingAdmission, message: Admitted): void {
    this.#context.late.expect(message.id, request);
    this.#context.late.admitted(message);
    resolve(this.#withoutVerdict(request));
  }

  /** Its path's rules and budgets let a request pass that isn't read yet. */
  authorized(id: number): void {
    const pending = this.#waiting.take(id);
    if (pending === undefined) return this.#context.late.rejected(id);
    const { request, resolve } = pending;
    if (request.targets.length > 0) return resolve(this.#withoutVerdict(request));
    const admission = failOpenAdmission(request, unlimitedLsn);
    resolve({ kind: "admitted", admission, headers: null });
  }

  rejected(message: Refused | Exceeded | Denied): void {
    const pending = this.#waiting.take(message.id);
    if (pending === undefined) return this.#context.late.rejected(message.id);
    pending.resolve(rejected(message));
  }

  /** The daemon can't take it, whatever the failure mode: it is there, and counts. */
  failed({ id, failure }: Failed): void {
    const pending = this.#waiting.take(id);
    if (pending === undefined) return this.#context.late.rejected(id);
    pending.resolve({ kind: "failed", failure });
  }

  /** Resolves those whose deadline has passed by the failure mode. */
  expire(nowMonoMs: number): void {
    const { connection, late } = this.#context;
    for (const [id, { request, deadlineMonoMs, resolve, sent }] of this.#waiting.entries()) {
      if (deadlineMonoMs > nowMonoMs) continue;
      this.#waiting.take(id);
      if (sent) {
        connection.timedOut(request.startedMonoMs);
        late.expect(id, request);
      }
      resolve(this.#withoutVerdict(request));
    }
  }

  #withoutVerdict(request: AdmissionRequest): AdmissionOutcome {
    const { failureMode, unasked } = this.#context;
    if (failureMode === "closed" || !this.#mayPassUnasked(request.caller))
      return { kind: "unavailable" };
    const admission = failOpenAdmission(request, 0);
    if (request.targets.length > 0) unasked.add(admission);
    return { kind: "admitted", admission, headers: null };
  }

  /** Whether the caller may call, as far as the proxy knows without the daemon. */
  #mayPassUnasked({ credential }: Claimed): boolean {
    return (
      credential === "authenticated" ||
      (credential === "none" && this.#context.notices.keysExist === false)
    );
  }
}
