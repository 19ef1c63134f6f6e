/**
 * Requests that run at a target without a verdict (failure mode `open`), until the daemon knows of
 * them: it is told as soon as it answers, in the hello or in a hold, by a lease that holds their
 * slots and by a settle that counts them, once like any settle however often the daemon goes away
 * again. What ends them then counts only what they used.
 */
import { leasesPerPeerMax } from "../../../shared/bounds.js";
import type { IdMap } from "../../../shared/id-map.js";
import { uncountedLsn } from "../../../shared/wire/message-to-daemon.js";
import type { DaemonConnection } from "../daemon-connection.js";
import type { Admission } from "../limiter.js";
import { nothingSpent, type SettleOutbox } from "../settle-outbox.js";
import { fittingLeases, leaseOf } from "./hello-messages.js";

interface UnaskedContext {
  readonly connection: DaemonConnection;
  /** Admissions that aren't settled yet, by lease. */
  readonly held: IdMap<Admission>;
  readonly outbox: SettleOutbox;
  monoMs(): number;
}

export class UnaskedAdmissions {
  readonly #context: UnaskedContext;
  readonly #untold = new Set<Admission>();

  constructor(context: UnaskedContext) {
    this.#context = context;
  }

  /** One that goes to its first target, or to another one, without a verdict. */
  add(admission: Admission): void {
    // A submission holds no slot; without rules nobody counts, or holds anything.
    if (admission.submission || !isUntold(admission)) return;
    this.#untold.add(admission);
    this.tell();
  }

  /** It has ended: its settle tells all. */
  delete(admission: Admission): void {
    this.#untold.delete(admission);
  }

  /** Tells a daemon that answers of all that it doesn't know of. */
  tell(): void {
    const { connection } = this.#context;
    if (this.#untold.size === 0 || !connection.linked || connection.silent) return;
    const leases = this.lease().map(leaseOf);
    for (let at = 0; at < leases.length; ) {
      const end = at + fittingLeases(leases, at);
      connection.send({ kind: "hold", leases: leases.slice(at, end) });
      at = end;
    }
  }

  /** Gives each a lease, which the caller tells the daemon of, and counts it by a settle. */
  lease(): readonly Admission[] {
    const { connection, held, outbox } = this.#context;
    const leased: Admission[] = [];
    for (const admission of this.#untold) {
      if (held.size >= leasesPerPeerMax) break;
      this.#untold.delete(admission);
      // It has no target any more, or one by a verdict.
      if (!isUntold(admission)) continue;
      const lsn = admission.lsn === 0 ? 0 : uncountedLsn;
      outbox.add("request", { ...admission, lease: 0, lsn }, nothingSpent, this.#context.monoMs());
      const lease = admission.lease === 0 ? connection.nextId() : admission.lease;
      const targetLsn = admission.target === null ? 0 : uncountedLsn;
      const counted = admission.lsn === 0 ? uncountedLsn : admission.lsn;
      Object.assign(admission, { lease, lsn: counted, targetLsn });
      held.set(lease, admission);
      leased.push(admission);
    }
    return leased;
  }
}

/** Whether the request, or its target, is counted nowhere yet. */
function isUntold({ lsn, target, targetLsn }: Admission): boolean {
  return lsn === 0 || (target !== null && targetLsn === 0);
}
