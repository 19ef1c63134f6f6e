/**
 * Lists usage records for followers, oldest first, from a cursor on. It lists only records that are
 * on the disk: a crash could lose later ones, and then assign their keys to other records.
 */
import type { FollowedRecords, FollowerItem, RecordItem } from "../../shared/api/record-item.js";
import { recordsPerTurn } from "../../shared/bounds.js";
import { type Checked, good } from "../../shared/checked.js";
import { plainFailure } from "../../shared/error-code.js";
import { Turns } from "../../shared/long-lists.js";
import { formatMillis, formatSeconds } from "../../shared/time.js";
import type { DaemonState } from "../state.js";
import { StoreUnreadableError } from "../store/store.js";
import { storeIdAt } from "../usage/followers/store-ids.js";
import type { RecordPlace } from "../usage/usage-query.js";
import { batchesIn } from "../usage/usage-reader.js";
import { type FollowQuery, showCursor } from "./follow-query.js";
import { recordItem } from "./show-record.js";

/** The cost of finding an entry of the store, in records. */
const recordsPerEntry = 4;

/**
 * One page of records, all with the same store id. A cursor after the last record is refused: then
 * the store was manually replaced by an older one. The promise rejects with `StoreUnreadableError`.
 */
export function followRecords(
  state: DaemonState,
  query: FollowQuery,
  nowMs: number,
): Checked<Promise<FollowedRecords>> {
  const end = committedEnd(state);
  const begin = startPlace(state, query, end);
  if (begin.key > end || (begin.key === end && begin.index > 0)) return beyondTheEnd;
  const { follower: name, finished } = query;
  if (name !== null) state.followers.note({ name, place: begin, askedAtMs: nowMs, finished });
  return good(pageFrom(state, begin, { query, end, nowMs }));
}

async function pageFrom(
  state: DaemonState,
  begin: Begin,
  {
    query,
    end,
    nowMs,
  }: { readonly query: FollowQuery; readonly end: number; readonly nowMs: number },
): Promise<FollowedRecords> {
  const { storeIds, host } = state.followers;
  const missed = query.after === null || begin.isOther ? 0 : missedCommits(state, begin.key, end);
  const { records, next } = await readPage(state, begin, { limit: query.limit, end });
  const unreadMs = unreadSinceMs(state, next);
  return {
    // The id of the page's records; an empty page has the id of its place.
    store_id: storeIdAt(storeIds, next.firstKey).id,
    store_ids: storeIds.map(({ id }) => id).reverse(),
    host,
    records,
    next: showCursor({ storeId: storeIdAt(storeIds, next.key).id, ...next }),
    more: unreadMs !== null,
    lag_seconds: lagSeconds(unreadMs, nowMs),
    missed_commits: missed,
    is_other_store: begin.isOther,
    server_time: formatMillis(nowMs),
  };
}

const beyondTheEnd: Checked<never> = {
  ok: false,
  failure: plainFailure(
    409,
    "invalid_request_error",
    "after is beyond the last record: the store was replaced by an older one. Restore backups with `sluice restore`, which keeps their records apart; to continue here, start with another follower or cursor",
  ),
};

/** The first key that isn't on the disk. */
function committedEnd({ usage }: Pick<DaemonState, "usage">): number {
  return usage.unwritten()[0]?.key ?? usage.lastKey + 1;
}

/**
 * Where a page begins. `isOther`: the cursor is neither of this store nor of one from which it was
 * restored.
 */
interface Begin extends RecordPlace {
  readonly isOther: boolean;
}

function startPlace({ followers }: DaemonState, { after, from }: FollowQuery, end: number): Begin {
  if (after === null) return { key: from === "now" ? end : 0, index: 0, isOther: false };
  const index = followers.storeIds.findIndex(({ id }) => id === after.storeId);
  if (index < 0) return { key: 0, index: 0, isOther: true };
  // If the cursor is beyond the backup from which the store was restored, continue after the
  // backup's records.
  const { firstKey: endOfId = Infinity } = followers.storeIds[index + 1] ?? {};
  return after.key < endOfId
    ? { key: after.key, index: after.index, isOther: false }
    : { key: endOfId, index: 0, isOther: false };
}

/**
 * How many commits were removed before the follower read them. Keys are consecutive, and the oldest
 * are removed first.
 */
function missedCommits({ store }: DaemonState, from: number, end: number): number {
  const [first = end] = store.keys("usage", { from: 0, before: end, limit: 1 }).map(Number);
  return Math.max(0, first - from);
}

/** `firstKey`: the key of the page's first record, or its place if the page is empty. */
async function readPage(
  { store, keys, labelsOf, followers, yieldToEventLoop }: DaemonState,
  begin: RecordPlace,
  { limit, end }: { readonly limit: number; readonly end: number },
): Promise<{
  readonly records: readonly RecordItem[];
  readonly next: RecordPlace & { readonly firstKey: number };
}> {
  const records: RecordItem[] = [];
  let firstKey: number | null = null;
  let endOfId = end;
  const turns = new Turns(recordsPerTurn);
  for (const { key, records: batch } of batchesIn(store, [{ from: begin.key, before: end }])) {
    if (firstKey === null) {
      firstKey = key;
      endOfId = Math.min(
        end,
        followers.storeIds.find((storeId) => storeId.firstKey > key)?.firstKey ?? end,
      );
    }
    if (key >= endOfId) break;
    let index = key === begin.key ? begin.index : 0;
    for (; index < batch.length && records.length < limit; index++)
      records.push(recordItem({ keys, labelsOf }, `${key}.${index}`, batch[index]!));
    if (records.length >= limit) {
      const next = index < batch.length ? { key, index } : { key: key + 1, index: 0 };
      return { records, next: { ...next, firstKey } };
    }
    if (turns.isOver(batch.length + recordsPerEntry)) await yieldToEventLoop();
  }
  return { records, next: { key: endOfId, index: 0, firstKey: firstKey ?? endOfId } };
}

/** When the first record from a place on ended; null if there is none. */
function unreadSinceMs(
  state: Pick<DaemonState, "store" | "usage">,
  { key: from, index }: RecordPlace,
): number | null {
  for (const { key, records } of batchesIn(state.store, [{ from, before: committedEnd(state) }])) {
    const first = records[key === from ? index : 0];
    if (first !== undefined) return first.atMs;
  }
  return null;
}

function lagSeconds(sinceMs: number | null, nowMs: number): number {
  return sinceMs === null ? 0 : Math.max(0, nowMs - sinceMs) / 1000;
}

/** The followers, each with its current lag. */
export function listFollowers(
  state: Pick<DaemonState, "store" | "usage" | "followers">,
  nowMs: number,
): readonly FollowerItem[] {
  return state.followers.all().map(({ name, place, askedAtMs, finished }) => ({
    name,
    lag_seconds: finished ? 0 : knownLagSeconds(state, place, nowMs),
    asked_at: formatSeconds(askedAtMs),
    finished,
  }));
}

/** Null if the store is damaged: reading the records reports it. */
function knownLagSeconds(
  state: Pick<DaemonState, "store" | "usage">,
  place: RecordPlace,
  nowMs: number,
): number | null {
  try {
    return lagSeconds(unreadSinceMs(state, place), nowMs);
  } catch (error) {
    if (error instanceof StoreUnreadableError) return null;
    throw error;
  }
}
