/** The query of GET /admin/usage/follow: a cursor, the number of records, and the follower. */
import { exportedRecordsMax } from "../../shared/bounds.js";
import { asQuery, bad, type Checked, good, isAbsent, show } from "../../shared/checked.js";
import { parseRecordsPage, type RecordPlace } from "../usage/usage-query.js";

/** The place of the first record that wasn't passed on, and the id of its store. */
interface Cursor extends RecordPlace {
  readonly storeId: string;
}

export interface FollowQuery {
  /** Null: begin as `from` says, with the first record or after the last. */
  readonly after: Cursor | null;
  readonly from: "start" | "now";
  readonly limit: number;
  /** The follower's name; null: an anonymous reader, which the status doesn't list. */
  readonly follower: string | null;
  /** Whether the follower has passed on all records and ends. */
  readonly finished: boolean;
}

const fieldsKnown = ["after", "from", "limit", "follower", "finished"];
/** The store's id, and a place as in the cursors of other lists of records. */
const cursorForm = /^([\w-]{1,64})\/(.*)$/;
/** Restricted, because it is a metric's label and a table's key. */
const nameForm = /^[\w.-]{1,64}$/;

export function parseFollowQuery(body: unknown): Checked<FollowQuery> {
  const fields = asQuery(body, fieldsKnown);
  if (!fields.ok) return fields;
  const { after = null, from = "start", limit, follower, finished = false } = fields.value;
  const cursor = typeof after === "string" ? cursorForm.exec(after) : null;
  if (after !== null && cursor === null)
    return bad("after must be the next of the previous page", "after");
  const [, storeId = "", place = null] = cursor ?? [];
  const page = parseRecordsPage({ after: place, limit }, exportedRecordsMax);
  if (!page.ok) return page;
  if (from !== "start" && from !== "now")
    return bad(`from must be start or now, not ${show(from)}`, "from");
  if (!isAbsent(follower) && !(typeof follower === "string" && nameForm.test(follower)))
    return bad(
      `follower must be a name of 1 to 64 letters, digits, -, _ and ., not ${show(follower)}`,
      "follower",
    );
  // A URL query has the texts `true` and `false`.
  if (typeof finished !== "boolean" && finished !== "true" && finished !== "false")
    return bad(`finished must be true or false, not ${show(finished)}`, "finished");
  const { after: position } = page.value;
  return good({
    after: position === null ? null : { storeId, ...position },
    from,
    limit: page.value.limit,
    follower: follower ?? null,
    finished: String(finished) === "true",
  });
}

export function showCursor({ storeId, key, index }: Cursor): string {
  return `${storeId}/${key}.${index}`;
}
