/**
 * Hands the records of a store on, page by page, until it is stopped or, with `once`, until there
 * are no more. What fails for a while is tried again from the destination's own cursor, so that
 * nothing is left out, and nothing is there twice where the destination can tell.
 */
import type { AdminClient } from "../../session/with-daemon.js";
import { type FollowedPage, readFollowed } from "./followed-page.js";
import type { Sink } from "./sink.js";

interface FollowOptions {
  readonly sink: Sink;
  /** The name under which the daemon reports how far this follower is. */
  readonly name: string;
  readonly from: "start" | "now";
  /** Records of a page, at most. */
  readonly batchMax: number;
  /** Ends when all that there is has been handed on. */
  readonly once: boolean;
  /** In place of the machine's name; null: as the daemon says. */
  readonly host: string | null;
  isStopping(): boolean;
  /** Waits, at most until it is stopped. */
  pause(ms: number): Promise<void>;
  /** Called with each page, once it is handed on. */
  onPage(page: FollowedPage): void;
  /** For the operator's attention. */
  onNotice(notice: string): void;
}

/** How often the daemon is asked when there is nothing new. */
const idleMs = 1000;

/** Resolves when it is stopped, or when there is no more. Rejects with what failed. */
export async function followRecords(
  client: Pick<AdminClient, "call">,
  options: FollowOptions,
): Promise<void> {
  const { sink, name, from, batchMax, once, isStopping, pause, onPage } = options;
  const { store_ids: storeIds } = await readFollowed(client, {
    after: null,
    from: "now",
    limit: 1,
    follower: null,
  });
  let { cursor, repeat } = await sink.open(storeIds);
  while (!isStopping()) {
    const limit = repeat ?? batchMax;
    const page = await readFollowed(client, { after: cursor, from, limit, follower: name });
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
      await readFollowed(client, { after: cursor, from, limit: 1, follower: name, finished: true });
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

/** Before the first retry, and at most. */
const firstRetryMs = 1000;
const longestRetryMs = 60_000;
/** What a destination may ask for at the most. */
const askedMaxMs = 600_000;

/**
 * How long a follower waits before it tries again. Doubles with each failure in a row, from the
 * first on (`failures` is 1), and is at least as long as the destination asked for. `spread`, from
 * 0 to 1, keeps many hosts from coming at once.
 */
export function retryPauseMs(failures: number, askedMs: number | null, spread: number): number {
  const longest = Math.min(longestRetryMs, firstRetryMs * 2 ** Math.min(failures - 1, 10));
  return Math.max(longest * (0.5 + spread / 2), Math.min(askedMs ?? 0, askedMaxMs));
}
