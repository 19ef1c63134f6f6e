/**
 * What the daemon keeps of a connection, of the leases that a connection holds, and of a proxy
 * across its connections. Types alone: `handlers/connection.ts` makes peers, `proxies.ts` keeps the
 * proxies.
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
  /** Whether it came by the socket for administration. */
  readonly mayAdminister: boolean;
  /** When it last asked for an operation; first, when it connected. */
  askedAtMs: number;
  readonly send: (message: FromDaemon) => void;
  /**
   * For a large message: verdicts don't wait behind it. `then` runs once the peer has room for the
   * next, with the time; not if it is gone before.
   */
  readonly sendBulk: (message: FromDaemon, then: (nowMs: number) => void) => void;
  readonly close: () => void;
  /**
   * Null until its last hello has arrived. `settler`: a proxy of a wire version that this daemon
   * doesn't speak; its settles are taken, and nothing else.
   */
  role: Role | "settler" | null;
  /** Of the connection, from its hello on; 0 before. */
  wireVersion: number;
  proxy: KnownProxy | null;
  /** Whether it was welcomed: only then may it ask for admissions. */
  welcomed: boolean;
  /**
   * Which connection of its proxy this is, as that says; 0: it doesn't say what it has read.
   */
  connection: number;
  /** How many verdicts that admit were sent to it. */
  granted: number;
  /** The ids of admissions and reroutes that wait for what other hosts have left. */
  readonly parked: Set<number>;
  /** The id of its last hello: later connections of a proxy have larger ones. */
  helloId: number;
  /** The targets that it leaves alone, a sentence each, as it last said. */
  openTargets: readonly string[];
  /** Admin operations that only read. */
  readonly reads: OneAtATime;
  /** The gauges that each lease holds. */
  readonly leases: IdMap<HeldLease>;
}

/**
 * What the daemon keeps of a lease. Its target is where it was admitted to; a proxy that gave up
 * waiting may have been sent to another target.
 */
export interface HeldLease extends Omit<Lease, "lease"> {
  /**
   * The target's, as long as it has one, then the user path's. For a submission: those that counted
   * it; it holds no slot.
   */
  readonly counters: readonly Counter[];
  /** The rule book's version at the match: until it changes, the same counters are charged. */
  readonly bookVersion: number;
}

/** A proxy that has connected at some time, whether it is connected now or not. */
export interface KnownProxy {
  readonly id: string;
  /** The last settle that was applied: a repeat has a number at or below it. */
  settledSeq: number;
  /** The last settle that is durable: what the welcome of a reconnecting proxy carries. */
  durableSeq: number;
  /** Its settles up to this number are durable. */
  readonly onDurable: (seq: number) => void;
  /**
   * Its present connection, or null when that is gone: acknowledgements go there, and there alone
   * it may ask for admissions.
   */
  peer: PeerState | null;
  /** The settle up to which an acknowledgement is about to leave, 0 for none. */
  ackSeq: number;
  seenAtMs: number;
  dirty: boolean;
  /**
   * Leases of earlier epochs that were counted again when a hello named them. Written with the
   * proxy, so that no later epoch counts them once more.
   */
  readonly recounted: Map<number, Recounted>;
  /** Written with each batch that counts something of it. */
  readonly unread: UnreadVerdicts;
}

export interface RecountedAttempt {
  readonly target: Target;
  readonly lsn: number;
}

/** What was counted again of a lease. */
export interface Recounted {
  /** Its request, at the user path. */
  readonly path: boolean;
  /** Its attempts at targets, with their log sequence numbers. */
  readonly attempts: readonly RecountedAttempt[];
}
