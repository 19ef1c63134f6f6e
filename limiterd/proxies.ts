/**
 * The known proxies, across connections and restarts, and which of them must be written. Not here:
 * the state of a single connection (`peer.ts`).
 */
import { isCount } from "../shared/checked.js";
import type { KnownProxy, Recounted, RecountedAttempt } from "./peer.js";
import type { Change } from "./store/store.js";
import type { Contributor } from "./store/writer.js";
import { UnreadVerdicts } from "./unread-verdicts.js";

/**
 * Contributes to each batch the leases that were counted again in it, and the verdicts that may be
 * unread.
 */
export interface Proxies extends Contributor {
  readonly all: ReadonlyMap<string, KnownProxy>;
  get(id: string, nowMs: number): KnownProxy;
  restore(id: string, stored: StoredProxy): KnownProxy;
  markDirty(proxy: KnownProxy): void;
  /** Marks that leases of it were counted again in the open batch. */
  markRecounted(proxy: KnownProxy): void;
  /** Marks that its unread verdicts differ from the store. */
  markUnread(proxy: KnownProxy): void;
  takeDirty(): KnownProxy[];
  /** Removes proxies last seen before `beforeMs`; returns their ids. */
  forget(beforeMs: number): string[];
}

export function createProxies(): Proxies {
  const all = new Map<string, KnownProxy>();
  let dirty: KnownProxy[] = [];
  const recounted = new Set<KnownProxy>();
  const unread = new Set<KnownProxy>();

  function add(
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
      dirty: false,
      recounted: new Map(recounted),
      unread: new UnreadVerdicts(),
    };
    all.set(id, proxy);
    return proxy;
  }

  return {
    all,
    get: (id, nowMs) => all.get(id) ?? add(id, { settledSeq: 0, seenAtMs: nowMs, recounted: [] }),
    restore: add,
    markDirty(proxy) {
      if (proxy.dirty) return;
      proxy.dirty = true;
      dirty.push(proxy);
    },
    markRecounted: (proxy) => void recounted.add(proxy),
    markUnread: (proxy) => void unread.add(proxy),
    changes() {
      const changes = [...recounted].map((proxy) => proxyChange(proxy, proxy.seenAtMs));
      for (const proxy of unread) changes.push(unreadChange(proxy));
      recounted.clear();
      unread.clear();
      return changes;
    },
    committed() {},
    takeDirty() {
      const taken = dirty;
      dirty = [];
      for (const proxy of taken) proxy.dirty = false;
      return taken;
    },
    forget(beforeMs) {
      const forgotten: string[] = [];
      for (const proxy of all.values()) {
        if (proxy.peer !== null || proxy.seenAtMs >= beforeMs) continue;
        all.delete(proxy.id);
        forgotten.push(proxy.id);
      }
      return forgotten;
    },
  };
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
  /** As [lease, path, …attempts], an attempt as [provider, model, lsn]. */
  readonly recounted: readonly (readonly [lease: number, Recounted])[];
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
  const recounted: (readonly [number, Recounted])[] = [];
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
