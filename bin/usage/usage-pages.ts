/**
 * Usage records out of the daemon, page by page in the order of recording: no more than a page is
 * in memory.
 */
import { exportedRecordsMax } from "../../shared/bounds.js";
import type { DaemonClient } from "../../shared/wire/daemon-client.js";
import { answered } from "../session/answered.js";
import { isUsageRecord, type UsageRecord } from "./usage-record.js";
import { unreadableAnswer } from "./usage-summary.js";
import type { OpenWindow } from "./usage-window.js";

/** Which records. */
export interface UsageQuery extends OpenWindow {
  /** A normal user path: the records at it and below. */
  readonly userPath: string;
}

export interface UsagePage {
  readonly records: readonly UsageRecord[];
  /** The share of the way that lies behind, 0 to 1. */
  readonly progress: number;
}

/**
 * All pages; each is asked for when the one before was consumed. Throws `CommandFailure` and
 * `DaemonError`.
 */
export async function* usagePages(
  client: DaemonClient,
  { userPath, startDate, endDate }: UsageQuery,
): AsyncGenerator<UsagePage> {
  const query = {
    user_path: userPath,
    ...(startDate === null ? {} : { start_date: startDate }),
    ...(endDate === null ? {} : { end_date: endDate }),
    limit: exportedRecordsMax,
  };
  for (let after: string | null = null; ; ) {
    const { next, ...page } = pageFrom(
      answered(await client.call("usage.export", { ...query, after })),
    );
    yield page;
    if (next === null) return;
    if (next === after) throw unreadableAnswer("usage records");
    after = next;
  }
}

function pageFrom(body: unknown): UsagePage & { readonly next: string | null } {
  const { records, next, progress } = (body ?? {}) as Readonly<Record<string, unknown>>;
  if (
    !Array.isArray(records) ||
    !records.every(isUsageRecord) ||
    !(next === null || typeof next === "string") ||
    typeof progress !== "number"
  )
    throw unreadableAnswer("usage records");
  return { records, next, progress };
}
