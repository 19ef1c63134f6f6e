/**
 * The state of a connection with its leases, and of a proxy across connections and restarts: which
 * proxies are known, which must be written, and which of their verdicts may be unread.
 * `handlers/connection.ts` makes peers.
 */

import { leasesPerPeerMax } from "../shared/bounds.js";
import { isCount } from "../shared/checked.js";
import type { Target } from "../shared/domain/target-name.js";
import type { IdMap } from "../shared/id-map.js";
import type { OneAtATime } from "../shared/one-at-a-time.js";
import { uncountedLsn } from "../shared/wire/lsn.js";
import type { FromDaemon } from "../shared/wire/message-from-daemon.js";
import type { Lease, Role } from "../shared/wire/message-to-daemon.js";
import type { Counter } from "./counters/counter.js";
import type { LeaseHold } from "./rules/hard-limits.js";
import type { Change } from "./store/store.js";
import type { Contributor } from "./store/writer.js";

/** One connection. */
export interface PeerState {
  readonly connectedAtMs: number;
  /** Whether the peer connected to the socket for administration. */
  readonly mayAdminister: boolean;
  /** When the peer last requested an operation; before its first, when it connected. */
  askedAtMs: number;
  readonly send: (message: FromDaemon) => void;
  /**
   * For large messages, which don't delay verdicts. `then` runs with the time once the peer has
   * room for the next message, unless the peer disconnects first.
   */
  readonly sendBulk: (message: FromDaemon, then: (nowMs: number) => void) => void;
  readonly close: () => void;
  /**
   * Null until the peer's last hello. `settler`: a proxy of another wire version, from which the
   * daemon accepts only settles.
   */
  role: Role | "settler" | null;
  /** Known from the hello on; 0 before. */
  wireVersion: number;
  proxy: KnownProxy | null;
  /** Whether the peer was welcomed; before that it must not ask for admissions. */
  isWelcomed: boolean;
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
  /** The proxy's targets with an open circuit, as it last reported them: one sentence each. */
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
export interface HeldLease extends Omit<Lease, "lease" | "holding"> {
  /**
   * The counters of its target, if it has one, then of its user path. A submission has only the
   * counters that counted it, and holds no slot.
   */
  readonly counters: readonly Counter[];
  /**
   * The rule book's version when the counters were matched: while it is unchanged, they are
   * charged.
   */
  readonly bookVersion: number;
  /** The ids of the shadow rules that would refuse it, and so don't count it. */
  readonly refusedBy?: readonly string[] | undefined;
  /** What it holds of hard caps; null if none counts it. */
  readonly hold: LeaseHold | null;
}

/** A proxy that has connected before, connected now or not. */
export interface KnownProxy {
  readonly id: string;
  /** The number of the last applied settle; repeated settles have this number or a lower one. */
  settledSeq: number;
  /** The number of the last durable settle, which the next welcome reports. */
  durableSeq: number;
  /** Call when its settles up to `seq` are durable. */
  readonly onDurable: (seq: number) => void;
  /**
   * Its current connection; null without one. Acknowledgements are sent there, and it may request
   * admissions only there.
   */
  peer: PeerState | null;
  /** The settle that the next acknowledgement reports; 0 if none is queued. */
  ackSeq: number;
  seenAtMs: number;
  isDirty: boolean;
  /**
   * The parts of leases that were counted again after a crash. They are stored with the proxy, so
   * that no later run of the daemon counts them once more.
   */
  readonly recounted: Map<number, RecountedLease>;
  /** Its verdicts that may be unread; written with each batch that counts one of its admissions. */
  readonly unread: UnreadVerdicts;
  /** Requests of a lost connection that hold something of hard caps, by lease. */
  readonly interrupted: Map<number, InterruptedRequest>;
  /** What running requests hold of hard caps as the store has it, by lease. */
  readonly storedHolds: Map<number, LeaseHold>;
}

/**
 * A request whose connection was lost. It holds what it may have used of hard caps until its proxy
 * reports it again or settles it. If the proxy doesn't reconnect in time, what it holds is charged.
 */
export interface InterruptedRequest {
  readonly lease: HeldLease & { readonly hold: LeaseHold };
  /** When it ended with its proxy: it was charged and holds nothing since then. Null before. */
  readonly endedAtMs: number | null;
}

export interface RecountedAttempt {
  readonly target: Target;
  readonly lsn: number;
}

/** The parts of a lease that were counted again. */
export interface RecountedLease {
  /** Its request, at the user path. */
  readonly path: boolean;
  /** Its attempts at targets, with their log sequence numbers. */
  readonly attempts: readonly RecountedAttempt[];
}

/** The counts of one admitting verdict. */
export interface CountedVerdict {
  /** The number of the proxy's connection, and of the admitting verdict on it; both from 1. */
  readonly connection: number;
  readonly number: number;
  readonly userPath: string;
  /**
   * Whether the path's rules count it; not those of a reroute, which is counted only at its target.
   */
  readonly atPath: boolean;
  /** Null for a submission, which counts only at its path. */
  readonly target: Target | null;
  readonly lsn: number;
  readonly atMs: number;
  /** As in `HeldLease`. */
  readonly refusedBy?: readonly string[] | undefined;
}

/** The number of fields of a verdict in the store. */
const fieldsPerVerdict = 8;
/**
 * Read verdicts are dropped by copying the rest of the list, once at least this many and at least
 * half of the list are read.
 */
const readBeforeCopy = 256;

export class UnreadVerdicts {
  /** In ascending order; those before `#first` are read. */
  #verdicts: CountedVerdict[] = [];
  #first = 0;

  get size(): number {
    return this.#verdicts.length - this.#first;
  }

  /**
   * Adds a verdict. At the bound, drops the oldest one: it stays counted even if the proxy never
   * reads it.
   */
  add(verdict: CountedVerdict): void {
    this.#verdicts.push(verdict);
    if (this.size > leasesPerPeerMax) this.#first++;
  }

  /**
   * Notes that the proxy has read this many verdicts on its current connection. All verdicts here
   * are of that connection.
   */
  acknowledge(read: number): void {
    while (this.size > 0 && this.#verdicts[this.#first]!.number <= read) this.#first++;
    if (this.#first < readBeforeCopy || this.#first < this.size) return;
    this.#verdicts = this.#verdicts.slice(this.#first);
    this.#first = 0;
  }

  /** Removes and returns all verdicts. */
  take(): readonly CountedVerdict[] {
    const verdicts = this.#verdicts.slice(this.#first);
    this.#verdicts = [];
    this.#first = 0;
    return verdicts;
  }

  /**
   * `unread`: the fields of all verdicts, by proxy id. The tools that a request carries follow the
   * model, in a list, and the shadow rules that don't count it follow the path.
   */
  toStored(): readonly unknown[] {
    const fields: unknown[] = [];
    for (let i = this.#first; i < this.#verdicts.length; i++) {
      const verdict = this.#verdicts[i]!;
      const { connection, number, userPath, atPath, target, lsn, atMs, refusedBy } = verdict;
      fields.push(
        connection,
        number,
        refusedBy === undefined ? userPath : [userPath, ...refusedBy],
        atPath,
        target?.provider ?? null,
        target?.tools === undefined ? (target?.model ?? null) : [target.model, ...target.tools],
        lsn,
        atMs,
      );
    }
    return fields;
  }
}

/** Call with each verdict that admits. */
export function noteVerdict(
  proxies: Pick<Proxies, "markUnread">,
  peer: PeerState,
  proxy: KnownProxy,
  counted: Omit<CountedVerdict, "connection" | "number">,
): void {
  const { connection } = peer;
  const number = ++peer.granted;
  // 0: the proxy hasn't reported yet which verdicts it has read.
  if (connection === 0 || counted.lsn === uncountedLsn) return;
  const { userPath, atPath, target, lsn, atMs, refusedBy } = counted;
  proxy.unread.add({ connection, number, userPath, atPath, target, lsn, atMs, refusedBy });
  proxies.markUnread(proxy);
}

/** Returns false if the proxy claims to have read more verdicts than were sent. */
export function acknowledgeVerdicts(
  { connection, granted }: PeerState,
  proxy: KnownProxy,
  read: number,
): boolean {
  if (connection === 0) return true;
  if (read > granted) return false;
  proxy.unread.acknowledge(read);
  return true;
}

/** Null for what `toStored` never made. */
export function verdictsFromStored(fields: readonly unknown[]): CountedVerdict[] | null {
  const verdicts: CountedVerdict[] = [];
  for (let i = 0; i < fields.length; i += fieldsPerVerdict) {
    const [connection, number, counted, atPath, provider, model, lsn, atMs] = fields.slice(
      i,
      i + fieldsPerVerdict,
    );
    const [userPath, ...refusedBy] = Array.isArray(counted) ? (counted as unknown[]) : [counted];
    if (!refusedBy.every((id) => typeof id === "string")) return null;
    if (!isCount(connection, 1) || !isCount(number, 1) || !isCount(lsn) || !isCount(atMs))
      return null;
    if (typeof userPath !== "string" || typeof atPath !== "boolean") return null;
    const target = targetFromStored(provider, model);
    if (target === null && (provider !== null || model !== null)) return null;
    verdicts.push({
      connection,
      number,
      userPath,
      atPath,
      target,
      lsn,
      atMs,
      ...(refusedBy.length === 0 ? {} : { refusedBy }),
    });
  }
  return verdicts;
}

function targetFromStored(provider: unknown, model: unknown): Target | null {
  if (typeof provider !== "string") return null;
  if (typeof model === "string") return { provider, model };
  const [targetModel, ...tools] = Array.isArray(model) ? (model as unknown[]) : [];
  if (typeof targetModel !== "string" || !tools.every((tool) => typeof tool === "string"))
    return null;
  return { provider, model: targetModel, tools };
}

/**
 * Contributes to each batch the leases that were counted again in it, and the verdicts that may be
 * unread.
 */
export class Proxies implements Contributor {
  readonly #all = new Map<string, KnownProxy>();
  readonly all: ReadonlyMap<string, KnownProxy> = this.#all;
  #dirty: KnownProxy[] = [];
  readonly #recounted = new Set<KnownProxy>();
  readonly #unread = new Set<KnownProxy>();

  get(id: string, nowMs: number): KnownProxy {
    return this.#all.get(id) ?? this.restore(id, { settledSeq: 0, seenAtMs: nowMs, recounted: [] });
  }

  restore(
    id: string,
    { settledSeq, seenAtMs, recounted }: Omit<StoredProxy, "connected">,
  ): KnownProxy {
    const proxy: KnownProxy = {
      id,
      settledSeq,
      durableSeq: settledSeq,
      onDurable(seq) {
        proxy.durableSeq = Math.max(proxy.durableSeq, seq);
        acknowledge(proxy, seq);
      },
      peer: null,
      ackSeq: 0,
      seenAtMs,
      isDirty: false,
      recounted: new Map(recounted),
      unread: new UnreadVerdicts(),
      interrupted: new Map(),
      storedHolds: new Map(),
    };
    this.#all.set(id, proxy);
    return proxy;
  }

  markDirty(proxy: KnownProxy): void {
    if (proxy.isDirty) return;
    proxy.isDirty = true;
    this.#dirty.push(proxy);
  }

  /** Marks that leases of it were counted again in the open batch. */
  markRecounted(proxy: KnownProxy): void {
    this.#recounted.add(proxy);
  }

  /** Marks that its unread verdicts differ from the store. */
  markUnread(proxy: KnownProxy): void {
    this.#unread.add(proxy);
  }

  changes(): Change[] {
    const changes = [...this.#recounted].map((proxy) => proxyChange(proxy, proxy.seenAtMs));
    for (const proxy of this.#unread) changes.push(unreadChange(proxy));
    this.#recounted.clear();
    this.#unread.clear();
    return changes;
  }

  takeDirty(): KnownProxy[] {
    const dirty = this.#dirty;
    this.#dirty = [];
    for (const proxy of dirty) proxy.isDirty = false;
    return dirty;
  }

  /** Removes proxies last seen before `beforeMs`; returns their ids. */
  forget(beforeMs: number): string[] {
    const forgotten: string[] = [];
    for (const proxy of this.#all.values()) {
      if (proxy.peer !== null || proxy.seenAtMs >= beforeMs) continue;
      this.#all.delete(proxy.id);
      forgotten.push(proxy.id);
    }
    return forgotten;
  }
}

/** Queues an acknowledgement up to `seq`; all of one commit are sent as one frame. */
export function acknowledge(proxy: KnownProxy, seq: number): void {
  if (seq === 0) return;
  if (proxy.ackSeq === 0)
    queueMicrotask(() => {
      proxy.peer?.send({ kind: "settled", seq: proxy.ackSeq });
      proxy.ackSeq = 0;
    });
  if (seq > proxy.ackSeq) proxy.ackSeq = seq;
}

/** `proxies`: [settledSeq, connected, seenAtMs, recounted] by proxy id. */
interface StoredProxy {
  readonly settledSeq: number;
  /** Whether it was connected at the write: a restarted daemon then waits for it. */
  readonly connected: boolean;
  readonly seenAtMs: number;
  /** Stored as [lease, path, …attempts], an attempt as [provider, model, lsn]. */
  readonly recounted: readonly (readonly [lease: number, RecountedLease])[];
}

/** The change that writes the proxy. */
export function proxyChange(
  { id, settledSeq, peer, recounted }: KnownProxy,
  nowMs: number,
): Change {
  const leases = Array.from(recounted, ([lease, { path, attempts }]) => [
    lease,
    path,
    ...attempts.map(({ target, lsn }) => [target.provider, target.model, lsn]),
  ]);
  return { table: "proxies", key: id, value: [settledSeq, peer !== null, nowMs, leases] };
}

/** The change that writes, or removes, its unread verdicts. */
function unreadChange({ id, unread }: KnownProxy): Change {
  return { table: "unread", key: id, value: unread.size === 0 ? undefined : unread.toStored() };
}

/** Null for what `proxyChange` never wrote. */
export function proxyFromStored(value: readonly unknown[]): StoredProxy | null {
  const [settledSeq, connected, seenAtMs, leases = []] = value;
  if (!isCount(settledSeq) || typeof connected !== "boolean" || !isCount(seenAtMs)) return null;
  if (!Array.isArray(leases)) return null;
  const recounted: (readonly [number, RecountedLease])[] = [];
  for (const item of leases as unknown[]) {
    const [lease, path, ...rest] = Array.isArray(item) ? (item as unknown[]) : [];
    const attempts = rest.map(attemptFromStored).filter((attempt) => attempt !== null);
    if (!isCount(lease) || typeof path !== "boolean" || attempts.length < rest.length) return null;
    recounted.push([lease, { path, attempts }]);
  }
  return { settledSeq, connected, seenAtMs, recounted };
}

function attemptFromStored(item: unknown): RecountedAttempt | null {
  const [provider, model, lsn] = Array.isArray(item) ? (item as unknown[]) : [];
  if (typeof provider !== "string" || typeof model !== "string" || !isCount(lsn)) return null;
  return { target: { provider, model }, lsn };
}
