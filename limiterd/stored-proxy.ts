/** Proxies as the store keeps them: `proxies`, [settledSeq, connected, seenAtMs] by proxy id. */
import { isCount } from "../shared/assert.js";
import type { KnownProxy } from "./peer.js";
import type { Change } from "./store/store.js";

export interface StoredProxy {
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
