/**
 * The last refusals, so that a 429 can be explained by its request id. The daemon knows what it refused
 * and why; the proxy tells afterwards which request that was. Only in memory: a restart forgets them.
 */
import { refusalBytesMax, refusalsMax } from "../shared/bounds.js";
import { utf8Bytes } from "../shared/user-path.js";
import type { Breach, Target } from "../shared/wire/message.js";

export interface Refusal {
  readonly atMs: number;
  readonly proxyId: string;
  /** The id of the `admit` that was refused. */
  readonly admitId: number;
  readonly userPath: string;
  /** In the order in which they were judged; those beyond the bound in bytes are left out. */
  readonly targets: readonly Target[];
  readonly targetsLeftOut: number;
  readonly breach: Breach;
  /** Null until the proxy has told it. */
  requestId: string | null;
  /** The model as it was asked for, a virtual one or not. */
  model: string | null;
}

export interface Refusals {
  /** How many are kept. */
  readonly max: number;
  /** Keeps a refusal; beyond the bound the oldest goes. */
  add(refused: Pick<Refusal, "atMs" | "proxyId" | "admitId" | "userPath" | "targets" | "breach">): void;
  /** Which request a refusal answered; nothing when it has gone already. */
  name(proxyId: string, admitId: number, request: { readonly requestId: string; readonly model: string }): void;
  /** The latest refusal with this request id: callers may choose their ids, so it needn't be the only one. */
  find(requestId: string): Refusal | null;
}

/** Keeps the last `max` refusals. */
export function createRefusals(max = refusalsMax): Refusals {
  const ring: Refusal[] = [];
  let oldest = 0;
  /** Those that wait for their request id, by proxy and admission. */
  const unnamed = new Map<string, Map<number, Refusal>>();
  const byRequestId = new Map<string, Refusal>();

  function takeUnnamed(proxyId: string, admitId: number): Refusal | null {
    const ofProxy = unnamed.get(proxyId);
    const refusal = ofProxy?.get(admitId);
    if (ofProxy === undefined || refusal === undefined) return null;
    ofProxy.delete(admitId);
    if (ofProxy.size === 0) unnamed.delete(proxyId);
    return refusal;
  }

  function forget(refusal: Refusal): void {
    const { requestId, proxyId, admitId } = refusal;
    if (requestId === null) {
      // A proxy that reconnected may have asked again under the same id: then the entry is the later refusal's.
      if (unnamed.get(proxyId)?.get(admitId) === refusal) takeUnnamed(proxyId, admitId);
    } else if (byRequestId.get(requestId) === refusal) byRequestId.delete(requestId);
  }

  return {
    max,
    add({ targets, ...refused }) {
      const kept = withinBytes(targets, refusalBytesMax);
      const refusal: Refusal = { ...refused, targets: kept, targetsLeftOut: targets.length - kept.length, requestId: null, model: null };
      if (ring.length < max) ring.push(refusal);
      else {
        forget(ring[oldest]!);
        ring[oldest] = refusal;
        oldest = (oldest + 1) % max;
      }
      const ofProxy = unnamed.get(refusal.proxyId);
      if (ofProxy === undefined) unnamed.set(refusal.proxyId, new Map([[refusal.admitId, refusal]]));
      else ofProxy.set(refusal.admitId, refusal);
    },
    name(proxyId, admitId, { requestId, model }) {
      const refusal = takeUnnamed(proxyId, admitId);
      if (refusal === null) return;
      refusal.requestId = requestId;
      refusal.model = model;
      byRequestId.set(requestId, refusal);
    },
    find: (requestId) => byRequestId.get(requestId) ?? null,
  };
}

/** The first targets that fit, at least one. */
function withinBytes(targets: readonly Target[], bytesMax: number): readonly Target[] {
  let bytes = 0;
  for (const [i, { provider, model }] of targets.entries()) {
    bytes += utf8Bytes(provider) + utf8Bytes(model);
    if (i > 0 && bytes > bytesMax) return targets.slice(0, i);
  }
  return targets;
}
