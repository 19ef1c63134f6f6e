/**
 * The journal as the store keeps it: what each batch has settled and counted, until the windows
 * that it moved are written. When batches are written and removed is in `writer.ts`; what is
 * counted is declared in `counters/counted-log.ts`.
 */
import { isCount } from "../../shared/checked.js";

interface JournalBatch {
  /** The number of each proxy's last settle. */
  readonly settled: ReadonlyMap<string, number>;
  readonly counted: readonly unknown[];
}

/** `journal`: [[proxyId, seq, proxyId, seq, …], counted] by log sequence number. */
export function batchToStored({ settled, counted }: JournalBatch): readonly unknown[] {
  return [[...settled].flat(), counted];
}

/** Null for what `batchToStored` never made; `counted` is unchecked. */
export function batchFromStored(value: readonly unknown[]): JournalBatch | null {
  const [settles, counted] = value;
  if (!Array.isArray(settles) || settles.length % 2 !== 0 || !Array.isArray(counted)) return null;
  const settled = new Map<string, number>();
  for (let i = 0; i < settles.length; i += 2) {
    const [proxyId, seq] = settles.slice(i, i + 2) as unknown[];
    if (typeof proxyId !== "string" || !isCount(seq)) return null;
    settled.set(proxyId, seq);
  }
  return { settled, counted };
}
