/**
 * The counts of one proxy's verdicts that may be unread: those not acknowledged on its current
 * connection, and those left from earlier connections. They are written with the batch that counts
 * them (`proxies.ts`), so that they survive a restart. When the proxy reconnects it reports what it
 * has read (`handlers/take-back-unread.ts`).
 */
import { leasesPerPeerMax } from "../shared/bounds.js";
import { isCount } from "../shared/checked.js";
import type { Target } from "../shared/domain/target-name.js";

/** The counts of one admitting verdict. */
export interface CountedVerdict {
  /** The number of the proxy's connection, and of the admitting verdict on it; both from 1. */
  readonly connection: number;
  readonly number: number;
  /** Null: a reroute, counted only at its target. */
  readonly userPath: string | null;
  /** Null: a submission, counted only at its path. */
  readonly target: Target | null;
  readonly lsn: number;
  readonly atMs: number;
}

/** The number of fields of a verdict in the store. */
const fieldsPerVerdict = 7;
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

  /** At the bound, the oldest is dropped and stays counted. */
  add(verdict: CountedVerdict): void {
    this.#verdicts.push(verdict);
    if (this.size > leasesPerPeerMax) this.#first++;
  }

  /**
   * Notes that the proxy has read this many verdicts on its current connection, the only one with
   * verdicts here.
   */
  acknowledge(read: number): void {
    while (this.size > 0 && this.#verdicts[this.#first]!.number <= read) this.#first++;
    if (this.#first < readBeforeCopy || this.#first < this.size) return;
    this.#verdicts = this.#verdicts.slice(this.#first);
    this.#first = 0;
  }

  /** Removes and returns all verdicts. */
  take(): readonly CountedVerdict[] {
    const taken = this.#verdicts.slice(this.#first);
    this.#verdicts = [];
    this.#first = 0;
    return taken;
  }

  /** `unread`: the fields of all verdicts, by proxy id. */
  toStored(): readonly unknown[] {
    const fields: unknown[] = [];
    for (let i = this.#first; i < this.#verdicts.length; i++) {
      const { connection, number, userPath, target, lsn, atMs } = this.#verdicts[i]!;
      fields.push(
        connection,
        number,
        userPath,
        target?.provider ?? null,
        target?.model ?? null,
        lsn,
        atMs,
      );
    }
    return fields;
  }
}

/** Null for what `toStored` never made. */
export function verdictsFromStored(fields: readonly unknown[]): CountedVerdict[] | null {
  const verdicts: CountedVerdict[] = [];
  for (let i = 0; i < fields.length; i += fieldsPerVerdict) {
    const [connection, number, userPath, provider, model, lsn, atMs] = fields.slice(
      i,
      i + fieldsPerVerdict,
    );
    if (!isCount(connection, 1) || !isCount(number, 1) || !isCount(lsn) || !isCount(atMs))
      return null;
    if (userPath !== null && typeof userPath !== "string") return null;
    const isTarget = typeof provider === "string" && typeof model === "string";
    if (!isTarget && (provider !== null || model !== null)) return null;
    const target = isTarget ? { provider, model } : null;
    verdicts.push({ connection, number, userPath, target, lsn, atMs });
  }
  return verdicts;
}
