/**
 * Hands the records of a store on, page by page, until it is told to stop or, once, until there are
 * no more. What fails for a while is tried again from the destination's own cursor, so that nothing
 * is left out, and nothing is there twice where the destination can tell.
 */
import type { AdminClient } from "../../session/with-daemon.js";
import { type FollowedPage, readFollowed } from "./followed-page.js";
import type { Sink } from "./sink.js";

interface FollowOptions {
  readonly sink: Sink;
  /** The name under which the daemon tells how far this follower is. */
  readonly name: string;
  readonly from: "start" | "now";
  /** Records of a page, at most. */
  readonly batchMax: number;
  /** Ends when all that there is has been handed on. */
  readonly once: boolean;
  /** In place of the machine's name; null: as the daemon says. */
  readonly host: string | null;
  isStopping(): boolean;
  /** Waits, or until it is told to stop. */
  pause(ms: number): Promise<void>;
  /** Called with each page, once it is handed on. */
  onPage(page: FollowedPage): void;
  /** Something that somebody should know. */
  onNotice(notice: string): void;
}

/** How often the daemon is asked when there is nothing new. */
const idleMs = 1000;

/** Resolved: it was told to stop, or there was no more. Rejects with whatever failed. */
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
    tellOf(page, options);
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

function tellOf(page: FollowedPage, { onNotice }: FollowOptions): void {
  if (page.is_other_store)
    onNotice("the cursor is of another store: all records of this one are handed on");
  if (page.missed_commits > 0)
    onNotice(
      `the records of ${page.missed_commits} commits, at least one each, were removed before they were read (usage.retention_days, usage.max_store_bytes): they are missing`,
    );
}
