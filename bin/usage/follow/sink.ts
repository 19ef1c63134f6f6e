/** Where followed records go: the port that each destination implements. */
import type { ExportedRecord } from "../../../shared/export/exported-record.js";

/** Records of one page, in their order. */
export interface Batch {
  /** The cursor behind which they are; null: they are the first. */
  readonly after: string | null;
  /** The cursor behind them. */
  readonly next: string;
  /** Of the store, with which their ids are unique over all hosts. */
  readonly storeId: string;
  /** The name of the machine. */
  readonly host: string;
  readonly records: readonly ExportedRecord[];
  /** Commits whose records were removed before they were read. */
  readonly missedCommits: number;
}

/** How far the destination has got. */
export interface SinkPlace {
  /** Null: nothing was handed on. */
  readonly cursor: string | null;
  /** How many records the next batch must have: it is sent again as it was; null: any number. */
  readonly repeat: number | null;
}

export interface Sink {
  /** `storeIds`: of the store, the newest first. Rejects with `SinkError`, as `take`. */
  open(storeIds: readonly string[]): Promise<SinkPlace>;
  /**
   * Resolves when the batch is safe and the cursor behind it is noted. `moved`: another follower
   * has gone on from there, and nothing was done.
   */
  take(batch: Batch): Promise<"taken" | "moved">;
  close(): Promise<void>;
}

/** Why a destination didn't take a batch. */
export class SinkError extends Error {
  override name = "SinkError";
  /** Whether it is worth trying again without a change by anybody. */
  readonly isPassing: boolean;
  /** How long the destination wants to be left alone; null: it hasn't said. */
  readonly retryAfterMs: number | null;

  constructor(
    message: string,
    {
      isPassing,
      retryAfterMs = null,
      cause,
    }: {
      readonly isPassing: boolean;
      readonly retryAfterMs?: number | null;
      readonly cause?: unknown;
    },
  ) {
    super(message, { cause });
    this.isPassing = isPassing;
    this.retryAfterMs = retryAfterMs;
  }
}

/** Records as lines of NDJSON: the fields of an export, and whose record each is. */
export function recordLines({ records, storeId, host }: Batch): string {
  return records
    .map((record) => `${JSON.stringify({ store_id: storeId, host, ...record })}\n`)
    .join("");
}
