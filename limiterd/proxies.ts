/**
 * The proxies that the daemon knows, across their connections and its own restarts: which of them
 * must be written, and what of each. Nothing here is of a single connection.
 */
import { isCount } from "../shared/checked.js";
import type { KnownProxy } from "./peer.js";
import type { Change } from "./store/store.js";

export interface Proxies {
  readonly all: ReadonlyMap<string, KnownProxy>;
  get(id: string, nowMs: number): KnownProxy;
  restore(id: string, stored: StoredProxy): KnownProxy;
  markDirty(proxy: KnownProxy): void;
  takeDirty(): KnownProxy[];
  /** Forgets those that were last seen before `beforeMs`; returns their ids. */
  forget(beforeMs: number): string[];
}

export function createProxies(): Proxies {
  const all = new Map<string, KnownProxy>();
  let dirty: KnownProxy[] = [];

  function add(id: string, settledSeq: number, seenAtMs: number): KnownProxy {
    const proxy: KnownProxy = {
      id,
      settledSeq,
      durableSeq: settledSeq,
      peer: null,
      ackSeq: 0,
      seenAtMs,
      dirty: false,
      recounted: new Map(),
    };
    all.set(id, proxy);
    return proxy;
  }

  return {
    all,
    get: (id, nowMs) => all.get(id) ?? add(id, 0, nowMs),
    restore: (id, stored) => add(id, stored.settledSeq, stored.seenAtMs),
    markDirty(proxy) {
      if (proxy.dirty) return;
      proxy.dirty = true;
      dirty.push(proxy);
    },
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

/** `proxies`: [settledSeq, connected, seenAtMs] by proxy id. */
interface StoredProxy {
  readonly settledSeq: number;
  /** Whether it was connected when this was written, so that a restarted daemon waits for it. */
  readonly connected: boolean;
  readonly seenAtMs: number;
}

/** Writes a proxy as it is now. */
export function proxyChange({ id, settledSeq, peer }: KnownProxy, nowMs: number): Change {
  return { table: "proxies", key: id, value: [settledSeq, peer !== null, nowMs] };
}

/** Null for what `proxyChange` never wrote. */
export function proxyFromStored(value: readonly unknown[]): StoredProxy | null {
  const [settledSeq, connected, seenAtMs] = value;
  return isCount(settledSeq) && typeof connected === "boolean" && isCount(seenAtMs)
    ? { settledSeq, connected, seenAtMs }
    : null;
}
