/** The port to the destination of followed records, which each kind implements. */
import type { ExportedRecord } from "../../../shared/export/exported-record.js";

/** The records of one page, in order. */
export interface Batch {
  /** The cursor before its first record; null for the first batch. */
  readonly after: string | null;
  /** The cursor after its last record. */
  readonly next: string;
  /** The store's id: record ids are unique together with it over all hosts. */
  readonly storeId: string;
  /** The name of the machine. */
  readonly host: string;
  readonly records: readonly ExportedRecord[];
  /** Commits whose records were deleted before they were read. */
  readonly missedCommits: number;
}

/** The progress of the destination. */
export interface SinkPlace {
  /** Null if it has no records yet. */
  readonly cursor: string | null;
  /**
   * The size of a batch that must be repeated unchanged; null if the next batch may have any size.
   */
  readonly repeat: number | null;
}

export interface Sink {
  /** `storeIds`: the ids of the store, newest first. Rejects with `SinkError`, as `take` does. */
  open(storeIds: readonly string[]): Promise<SinkPlace>;
  /**
   * Resolves once the batch and the cursor after it are safe. `moved`: another follower has
   * advanced the cursor, and nothing was written.
   */
  take(batch: Batch): Promise<"taken" | "moved">;
  close(): Promise<void>;
}

/** Why a destination didn't accept a batch. */
export class SinkError extends Error {
  override name = "SinkError";
  /** Whether a retry may succeed without any intervention. */
  readonly isPassing: boolean;
  /** The pause that the destination asks for; null if it doesn't. */
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

/** Records as lines of NDJSON: the fields of an export, with store and host. */
export function recordLines({ records, storeId, host }: Batch): string {
  return records
    .map((record) => `${JSON.stringify({ store_id: storeId, host, ...record })}\n`)
    .join("");
}
