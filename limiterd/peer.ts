/**
 * The state of a connection, of its leases, and of a proxy across connections. Only types:
 * `handlers/connection.ts` makes peers, `proxies.ts` keeps the proxies.
 */
import type { Target } from "../shared/domain/target-name.js";
import type { IdMap } from "../shared/id-map.js";
import type { OneAtATime } from "../shared/one-at-a-time.js";
import type { FromDaemon } from "../shared/wire/message-from-daemon.js";
import type { Lease, Role } from "../shared/wire/message-to-daemon.js";
import type { Counter } from "./counters/counter.js";
import type { UnreadVerdicts } from "./unread-verdicts.js";

/** One connection. */
export interface PeerState {
  readonly connectedAtMs: number;
  /** Whether it connected to the socket for administration. */
  readonly mayAdminister: boolean;
  /** When it last requested an operation; before the first, when it connected. */
  askedAtMs: number;
  readonly send: (message: FromDaemon) => void;
  /**
   * For large messages, which don't delay verdicts. `then` runs with the time once the peer has
   * room for the next message, unless the peer disconnects first.
   */
  readonly sendBulk: (message: FromDaemon, then: (nowMs: number) => void) => void;
  readonly close: () => void;
  /**
   * Null until its last hello. `settler`: a proxy of another wire version, from which the daemon
   * accepts only settles.
   */
  role: Role | "settler" | null;
  /** Known from the hello on; 0 before. */
  wireVersion: number;
  proxy: KnownProxy | null;
  /** Whether it was welcomed; before that it may not ask for admissions. */
  welcomed: boolean;
  /**
   * The proxy's number of this connection; 0: the proxy hasn't reported which verdicts it has read.
   */
  connection: number;
  /** The number of admitting verdicts sent to it. */
  granted: number;
  /** The ids of admissions and reroutes that wait for other hosts' counts. */
  readonly parked: Set<number>;
  /** The id of its last hello: later connections of a proxy have larger ones. */
  helloId: number;
  /** Its targets with an open circuit, a sentence each, as last reported. */
  openTargets: readonly string[];
  /** Its read-only admin operations, one at a time. */
  readonly reads: OneAtATime;
  /** Its leases, with the counters that each holds. */
  readonly leases: IdMap<HeldLease>;
}

/**
 * A lease in the daemon. Its target is the admitted one; a proxy that stopped waiting for the
 * verdict may have used another target.
 */
export interface HeldLease extends Omit<Lease, "lease"> {
  /**
   * The counters of its target, if it has one, then of its user path. A submission has only the
   * counters that counted it, and holds no slot.
   */
  readonly counters: readonly Counter[];
  /** The rule book's version at the match: while it is unchanged, the same counters are charged. */
  readonly bookVersion: number;
}

/** A proxy that has connected before, connected now or not. */
export interface KnownProxy {
  readonly id: string;
  /** The number of the last applied settle; repeated settles have this number or a lower one. */
  settledSeq: number;
  /** The number of the last durable settle, which the next welcome reports. */
  durableSeq: number;
  /** Its settles up to this number are durable. */
  readonly onDurable: (seq: number) => void;
  /**
   * Its current connection; null without one. Acknowledgements are sent there, and it may request
   * admissions only there.
   */
  peer: PeerState | null;
  /** The number that the next acknowledgement will report; 0 for none. */
  ackSeq: number;
  seenAtMs: number;
  dirty: boolean;
  /**
   * Leases of earlier epochs that were counted again after a hello. Stored with the proxy, so that
   * no later epoch counts them once more.
   */
  readonly recounted: Map<number, Recounted>;
  /** Its verdicts that may be unread; written with each batch that counts one of its admissions. */
  readonly unread: UnreadVerdicts;
}

export interface RecountedAttempt {
  readonly target: Target;
  readonly lsn: number;
}

/** The parts of a lease that were counted again. */
export interface Recounted {
  /** Its request, at the user path. */
  readonly path: boolean;
  /** Its attempts at targets, with their log sequence numbers. */
  readonly attempts: readonly RecountedAttempt[];
}
