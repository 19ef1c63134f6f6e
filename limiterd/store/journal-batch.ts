/**
 * The journal as the store keeps it: what each batch has settled and counted, until the windows
 * that it moved are written. When batches are written and removed is in `writer.ts`; what is
 * counted is declared in `counters/counted-log.ts`.
 */
import { isCount } from "../../shared/checked.js";

/** The settles of a batch that isn't committed yet: how many, and of each proxy the last one. */
export class BatchSettles {
  size = 0;
  /** By who is told: a proxy that was forgotten may still be here beside its new self. */
  readonly #last = new Map<(seq: number) => void, { readonly proxyId: string; seq: number }>();

  /** `onDurable`, one function for each proxy, gets the number of its last one. */
  add(proxyId: string, seq: number, onDurable: (seq: number) => void): void {
    this.size++;
    const last = this.#last.get(onDurable);
    if (last === undefined) this.#last.set(onDurable, { proxyId, seq });
    else last.seq = seq;
  }

  /** The last number of each proxy. */
  last(): ReadonlyMap<string, number> {
    return new Map(Array.from(this.#last.values(), ({ proxyId, seq }) => [proxyId, seq]));
  }

  /** The batch is committed. */
  tellDurable(): void {
    for (const [onDurable, { seq }] of this.#last) onDurable(seq);
  }
}

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
