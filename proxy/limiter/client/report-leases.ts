/**
 * The leases that a proxy reports: all of them in the hellos of each connection, and in holds those
 * of requests that run without a verdict (failure mode `open`).
 */
import { frameBytesMaxToDaemon, leasesPerHello, leasesPerPeerMax } from "../../../shared/bounds.js";
import type { Target } from "../../../shared/domain/target-name.js";
import type { IdMap } from "../../../shared/id-map.js";
import { sessionCharsMax } from "../../../shared/wire/execution.js";
import { uncountedLsn } from "../../../shared/wire/lsn.js";
import type { Hello, Lease } from "../../../shared/wire/message-to-daemon.js";
import type { Admission } from "../admission.js";
import type { DaemonConnection } from "../daemon-connection.js";
import { nothingSpent, type SettleOutbox } from "../settle-outbox.js";

/** Numbers and msgpack's own bytes beside the texts of a lease. */
const leaseOverheadBytes = 100;
/** The bytes of a lease's hold on hard caps: four numbers, a key's id and a session. */
const holdingBytes = 120 + sessionCharsMax;

/** One hello, or several if the leases don't fit into one frame; each gets an id of its own. */
export function* helloMessages(
  proxyId: string,
  admissions: readonly Admission[],
  connection: Pick<DaemonConnection, "wireVersion" | "nextId">,
): Generator<Hello, void> {
  let start = 0;
  do {
    const end = start + fittingLeases(admissions, start);
    const leases = admissions.slice(start, end).map(leaseOf);
    start = end;
    const hasMore = start < admissions.length;
    const { wireVersion } = connection;
    const id = connection.nextId();
    yield { kind: "hello", id, wireVersion, role: "proxy", proxyId, leases, more: hasMore };
  } while (start < admissions.length);
}

/** The lease of an admission; the wire takes only the fields of `Lease` from it. */
function leaseOf({ keyId, session, metering, ...lease }: Admission): Lease {
  if (metering === undefined) return lease;
  const { promptTokens, granted, rates } = metering;
  return { ...lease, holding: { promptTokens, output: granted, rates, keyId, session } };
}

/**
 * How many leases from `start` fit into one frame: the daemon would close each connection for a
 * frame that is too large.
 */
export function fittingLeases(
  leases: readonly (Pick<Lease, "userPath" | "target" | "holding"> & Pick<Admission, "metering">)[],
  start: number,
): number {
  let bytes = 0;
  for (let i = 0; start + i < leases.length && i < leasesPerHello; i++) {
    const { userPath, target, holding, metering } = leases[start + i]!;
    if (holding !== undefined || metering !== undefined) bytes += holdingBytes;
    bytes += leaseOverheadBytes + Buffer.byteLength(userPath) + targetBytes(target);
    if (bytes > frameBytesMaxToDaemon - leaseOverheadBytes * 2) return i;
  }
  return leasesPerHello;
}

function targetBytes(target: Target | null): number {
  if (target === null) return 0;
  const { provider, model, tools = [] } = target;
  let bytes = Buffer.byteLength(provider) + Buffer.byteLength(model);
  // A name is up to 1 kB, so its length takes up to 3 bytes.
  for (const tool of tools) bytes += Buffer.byteLength(tool) + 3;
  return bytes;
}

interface UnreportedContext {
  readonly connection: DaemonConnection;
  /** Admissions that aren't settled yet, by lease. */
  readonly held: IdMap<Admission>;
  readonly outbox: SettleOutbox;
  monoMs(): number;
}

/**
 * Requests that run at a target without a verdict, until the daemon has learned of them. As soon as
 * the daemon answers, it gets two reports of each: a lease, in a hello or a hold, which takes the
 * slots; and a settle, which counts the request once, however often the connection breaks. The
 * settle at the end of the request then counts only its tokens.
 */
export class UnreportedAdmissions {
  readonly #context: UnreportedContext;
  /** Usually empty; checked before each call. */
  readonly admissions = new Set<Admission>();

  constructor(context: UnreportedContext) {
    this.#context = context;
  }

  /** Call for a request that goes to its first target, or to another one, without a verdict. */
  add(admission: Admission): void {
    // A submission holds no slot, and without rules there are no counters.
    if (admission.submission || !isUncounted(admission)) return;
    this.admissions.add(admission);
    this.report();
  }

  /** Call when the request has ended: its settle reports all of it. */
  delete(admission: Admission): void {
    this.admissions.delete(admission);
  }

  /** Reports all of them to a daemon that answers again. */
  report(): void {
    const { connection } = this.#context;
    if (this.admissions.size === 0 || !connection.linked || connection.silent) return;
    const leases = this.giveLeases().map(leaseOf);
    for (let start = 0; start < leases.length; ) {
      const end = start + fittingLeases(leases, start);
      connection.send({ kind: "hold", leases: leases.slice(start, end) });
      start = end;
    }
  }

  /** Gives each request a lease, which the caller reports, and counts it by a settle. */
  giveLeases(): readonly Admission[] {
    const { connection, held, outbox } = this.#context;
    const leased: Admission[] = [];
    for (const admission of this.admissions) {
      if (held.size >= leasesPerPeerMax) break;
      this.admissions.delete(admission);
      // Meanwhile it has lost its target, or got one by a verdict.
      if (!isUncounted(admission)) continue;
      const lsn = admission.lsn === 0 ? 0 : uncountedLsn;
      outbox.add("request", { ...admission, lease: 0, lsn }, nothingSpent);
      const lease = admission.lease === 0 ? connection.nextId() : admission.lease;
      const targetLsn = admission.target === null ? 0 : uncountedLsn;
      const countedLsn = admission.lsn === 0 ? uncountedLsn : admission.lsn;
      Object.assign(admission, { lease, lsn: countedLsn, targetLsn });
      held.set(lease, admission);
      leased.push(admission);
    }
    return leased;
  }
}

/** Whether the request, or its target, is counted nowhere yet. */
function isUncounted({ lsn, target, targetLsn }: Admission): boolean {
  return lsn === 0 || (target !== null && targetLsn === 0);
}
