/**
 * Fetches usage records from the daemon page by page, in the order of recording: no more than one
 * page is in memory.
 */
import { exportedRecordsMax } from "../../shared/bounds.js";
import { isObject } from "../../shared/checked.js";
import { type ExportedRecord, isExportedRecord } from "../../shared/export/exported-record.js";
import { bodyOrThrow, unreadableAnswer } from "../session/daemon-answer.js";
import { rangeQuery } from "../session/range-flags.js";
import type { AdminClient } from "../session/with-daemon.js";
import type { OpenWindow } from "./window-flags.js";

/** Which records to export. */
export interface UsageQuery extends OpenWindow {
  /** A normalized user path: selects its records and those below it. */
  readonly userPath: string;
}

export interface UsagePage {
  readonly records: readonly ExportedRecord[];
  /** The exported share, from 0 to 1. */
  readonly progress: number;
  /** Whether several hosts share their usage, and these are the records of one. */
  readonly isOfOneHost?: boolean;
}

/**
 * All pages; each is requested after the one before was consumed. Throws `CommandFailure` and
 * `DaemonError`.
 */
export async function* usagePages(
  client: AdminClient,
  { userPath, startDate, endDate, range }: UsageQuery,
): AsyncGenerator<UsagePage> {
  const query = {
    user_path: userPath,
    ...(startDate === null ? {} : { start_date: startDate }),
    ...(endDate === null ? {} : { end_date: endDate }),
    ...(range === undefined ? {} : rangeQuery(range, ["start", "end"])),
    limit: exportedRecordsMax,
  };
  for (let after: string | null = null; ; ) {
    const { next, ...page } = pageFrom(
      bodyOrThrow(await client.call("usage.export", { ...query, after })),
    );
    yield page;
    if (next === null) return;
    if (next === after) throw unreadableAnswer("usage records");
    after = next;
  }
}

function pageFrom(body: unknown): UsagePage & { readonly next: string | null } {
  const { records, next, progress, scope } = isObject(body) ? body : {};
  if (
    !Array.isArray(records) ||
    !records.every(isExportedRecord) ||
    !(next === null || typeof next === "string") ||
    typeof progress !== "number"
  )
    throw unreadableAnswer("usage records");
  return { records, next, progress, isOfOneHost: scope === "this_host" };
}
