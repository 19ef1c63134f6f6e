/**
 * The events since the last poll, from the newest records and refusals of the daemon. Pure: the
 * cursor marks what was shown, and each poll returns the next cursor.
 */
import type { RecordItem } from "../../shared/api/record-item.js";
import type { RefusalItem } from "../../shared/api/refusal-item.js";

export interface TailCursor {
  /** The newest record; null if there was none. */
  readonly recordId: string | null;
  /** The time of the newest refusal. */
  readonly refusedAt: string;
  /** How many refusals of that time were shown. */
  readonly refusalsThatTime: number;
}

export type TailEvent =
  | { readonly kind: "request"; readonly at: string; readonly record: RecordItem }
  | { readonly kind: "refusal"; readonly at: string; readonly refusal: RefusalItem };

/** The lists, newest first, and whether they continue beyond what was read. */
export interface Newest {
  readonly records: readonly RecordItem[];
  readonly hasMoreRecords: boolean;
  readonly refusals: readonly RefusalItem[];
  readonly hasMoreRefusals: boolean;
}

/**
 * `missed`: events were dropped from the lists before they were read. Events are ordered by time.
 */
export function eventsSince(
  cursor: TailCursor,
  newest: Newest,
): {
  readonly events: readonly TailEvent[];
  readonly hasMissed: boolean;
  readonly next: TailCursor;
} {
  const records = newest.records.filter(({ id }) => isAfter(id, cursor.recordId));
  const newer = newest.refusals.filter(({ refused_at: time }) => time > cursor.refusedAt);
  const sameTime = newest.refusals.filter(({ refused_at: time }) => time === cursor.refusedAt);
  const refusals = [
    ...newer,
    ...sameTime.slice(0, Math.max(0, sameTime.length - cursor.refusalsThatTime)),
  ];
  const events = [
    ...records.map((record): TailEvent => ({ kind: "request", at: record.time, record })),
    ...refusals.map((refusal): TailEvent => ({ kind: "refusal", at: refusal.refused_at, refusal })),
  ]
    .reverse()
    .sort((a, b) => (a.at < b.at ? -1 : a.at > b.at ? 1 : 0));
  const refusedAt = newest.refusals[0]?.refused_at ?? cursor.refusedAt;
  return {
    events,
    hasMissed:
      (newest.hasMoreRecords && records.length === newest.records.length) ||
      (newest.hasMoreRefusals &&
        refusals.length > 0 &&
        (newer.length === 0 || newer.length === newest.refusals.length)),
    next: {
      recordId: newest.records[0]?.id ?? cursor.recordId,
      refusedAt,
      refusalsThatTime: newest.refusals.filter(({ refused_at: time }) => time === refusedAt).length,
    },
  };
}

/** Ids are pairs of numbers. */
function isAfter(id: string, other: string | null): boolean {
  if (other === null) return true;
  const [a = 0, b = 0] = id.split(".").map(Number);
  const [c = 0, d = 0] = other.split(".").map(Number);
  return a > c || (a === c && b > d);
}
