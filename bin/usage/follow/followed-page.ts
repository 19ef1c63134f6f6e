/** Reads the daemon's pages of records after a cursor. */
import type { FollowedRecords } from "../../../shared/api/record-item.js";
import { isCount, isObject } from "../../../shared/checked.js";
import { type ExportedRecord, isExportedRecord } from "../../../shared/export/exported-record.js";
import { bodyOrThrow, unreadableAnswer } from "../../session/daemon-answer.js";
import type { AdminClient } from "../../session/with-daemon.js";

export interface FollowedPage
  extends Omit<FollowedRecords, "records" | "server_time" | "store_ids"> {
  readonly records: readonly ExportedRecord[];
  readonly store_ids: readonly string[];
}

interface PageQuestion {
  readonly after: string | null;
  readonly from: "start" | "now";
  readonly limit: number;
  /** Null if the daemon shouldn't report this follower. */
  readonly follower: string | null;
  /** Whether the follower has passed on all and ends. */
  readonly finished?: boolean;
}

/** One page. Throws `CommandFailure` and `DaemonError`. */
export async function readFollowedPage(
  client: Pick<AdminClient, "call">,
  question: PageQuestion,
): Promise<FollowedPage> {
  const body = bodyOrThrow(await client.call("usage.follow", question));
  if (!isFollowedPage(body)) throw unreadableAnswer("usage records");
  return body;
}

function isFollowedPage(body: unknown): body is FollowedPage {
  if (!isObject(body)) return false;
  const { store_id: id, store_ids: ids, host, records, next, more } = body;
  return (
    typeof id === "string" &&
    Array.isArray(ids) &&
    ids.every((id) => typeof id === "string") &&
    typeof host === "string" &&
    Array.isArray(records) &&
    records.every(isExportedRecord) &&
    typeof next === "string" &&
    typeof more === "boolean" &&
    typeof body["lag_seconds"] === "number" &&
    isCount(body["missed_commits"]) &&
    typeof body["is_other_store"] === "boolean"
  );
}
