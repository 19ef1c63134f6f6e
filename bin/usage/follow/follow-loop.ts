/**
 * Passes the records of a store on, page by page, until it is stopped or, with `once`, until no
 * records are left. After a temporary failure it retries from the destination's own cursor, so that
 * no record is missing, and none is duplicated if the destination can detect that.
 */
import type { AdminClient } from "../../session/with-daemon.js";
import { type FollowedPage, readFollowedPage } from "./followed-page.js";
import type { Sink } from "./sink.js";

interface FollowOptions {
  readonly sink: Sink;
  /** The name under which the daemon reports this follower's progress. */
  readonly name: string;
  readonly from: "start" | "now";
  /** The maximum number of records per page. */
  readonly batchMax: number;
  /** Ends once all existing records have been passed on. */
  readonly once: boolean;
  /** Replaces the machine's name; null to use the daemon's. */
  readonly host: string | null;
  isStopping(): boolean;
  /** Waits, at most until it is stopped. */
  pause(ms: number): Promise<void>;
  /** Called with each page after it was passed on. */
  onPage(page: FollowedPage): void;
  /** Reports something that needs the operator's attention. */
  onNotice(notice: string): void;
}

/** The polling interval while there are no new records. */
const idleMs = 1000;

/**
 * Resolves when it is stopped, or has passed on all with `once`. Rejects with a permanent failure.
 */
export async function followRecords(
  client: Pick<AdminClient, "call">,
  options: FollowOptions,
): Promise<void> {
  const { sink, name, from, batchMax, once, isStopping, pause, onPage } = options;
  const { store_ids: storeIds } = await readFollowedPage(client, {
    after: null,
    from: "now",
    limit: 1,
    follower: null,
  });
  let { cursor, repeat } = await sink.open(storeIds);
  while (!isStopping()) {
    const limit = repeat ?? batchMax;
    const page = await readFollowedPage(client, { after: cursor, from, limit, follower: name });
    reportGaps(page, options);
    if (page.next !== cursor) {
      const result = await sink.take({
        after: cursor,
        next: page.next,
        storeId: page.store_id,
        host: options.host ?? page.host,
        records: page.records,
        missedCommits: page.missed_commits,
      });
      if (result === "moved") {
        ({ cursor, repeat } = await sink.open(storeIds));
        continue;
      }
      cursor = page.next;
      repeat = null;
    }
    onPage(page);
    if (page.more) continue;
    if (once) {
      // Otherwise the daemon would report a follower that falls behind.
      await readFollowedPage(client, {
        after: cursor,
        from,
        limit: 1,
        follower: name,
        finished: true,
      });
      return;
    }
    await pause(idleMs);
  }
}

function reportGaps(page: FollowedPage, { onNotice }: FollowOptions): void {
  if (page.is_other_store)
    onNotice("the cursor is of another store: all records of this one are handed on");
  if (page.missed_commits > 0)
    onNotice(
      `the records of ${page.missed_commits} commits, at least one each, were removed before they were read (usage.retention_days, usage.max_store_bytes): they are missing`,
    );
}

/** The pause before the first retry; doubled up to a maximum. */
const firstRetryMs = 1000;
const longestRetryMs = 60_000;
/** The longest Retry-After of a destination that is honoured. */
const retryAfterMaxMs = 600_000;

/**
 * The pause before a retry. It doubles with each consecutive failure (`failures` is 1 for the
 * first), and is at least the destination's Retry-After. `spread`, from 0 to 1, keeps many hosts
 * from retrying simultaneously.
 */
export function retryPauseMs(
  failures: number,
  retryAfterMs: number | null,
  spread: number,
): number {
  const longest = Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(failures - 1, 10));
  return Math.max(longest * (0.5 + spread / 2), Math.min(retryAfterMs ?? 0, retryAfterMaxMs));
}
