/**
 * What the daemon knows of each proxy across its connections: the last settle that was applied, and
 * which requests of an earlier daemon's life it has counted again. What a connection holds is in
 * `state.ts`.
 */
import type { Target } from "../shared/wire/message.js";
import type { PeerState } from "./state.js";
import type { StoredProxy } from "./store/store.js";

export interface Proxy {
  readonly id: string;
  /** The last settle that was applied: a repeat has a number at or below it. */
  settledSeq: number;
  /** The last settle that is durable, which is what a reconnecting proxy is told. */
  durableSeq: number;
  /** The connection that said hello last, or null when it is gone: acknowledgements go there. */
  peer: PeerState | null;
  /** The settle up to which an acknowledgement is about to leave, 0 for none. */
  ackSeq: number;
  seenAtMs: number;
  dirty: boolean;
  /**
   * Leases from before a restart that were counted into the restored windows when they were told,
   * each with the target that they had then.
   */
  readonly recounted: Map<number, Target | null>;
}

export interface Proxies {
  readonly all: ReadonlyMap<string, Proxy>;
  get(id: string, nowMs: number): Proxy;
  restore(id: string, stored: StoredProxy): Proxy;
  markDirty(proxy: Proxy): void;
  takeDirty(): Proxy[];
  /** Forgets those that were last seen before `beforeMs`; returns their ids. */
  forget(beforeMs: number): string[];
}

export function createProxies(): Proxies {
  const all = new Map<string, Proxy>();
  let dirty: Proxy[] = [];

  function add(id: string, settledSeq: number, seenAtMs: number): Proxy {
    const proxy: Proxy = {
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
