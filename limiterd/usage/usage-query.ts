/** The bodies of the operations on usage: a user path, days, and what else each takes. */
import { exportedRecordsMax, hourlyDaysMax, usageDaysMax } from "../../shared/bounds.js";
import {
  asQuery,
  bad,
  type Checked,
  good,
  isAbsent,
  isCount,
  isObject,
  show,
} from "../../shared/checked.js";
import { parseUserPath } from "../../shared/domain/limit-key.js";
import { dayMs, dayOf, parseDay } from "../../shared/time.js";
import {
  type Grouping,
  groupings,
  type UsageStep,
  usageSteps,
} from "../../shared/wire/admin-op.js";
import { parseMoment } from "../lists/list-query.js";
import type { Moments } from "./record-days.js";
import type { Days } from "./usage-reader.js";

export interface UsageWindow extends Days {
  readonly userPath: string;
  /** A range with times, which is in these days; absent: all of the days. */
  readonly span?: Span;
}

/** `beforeMs` isn't included. */
interface Span {
  readonly fromMs: number;
  readonly beforeMs: number;
}

/** The moments of a window. */
export function spanOf({ fromDay, toDay, span }: Omit<UsageWindow, "userPath">): Span {
  return span ?? { fromMs: parseDay(fromDay)!, beforeMs: parseDay(toDay)! + dayMs };
}

/** A record's place in the order of recording. */
export interface RecordPlace {
  readonly key: number;
  readonly index: number;
}

/** `beforeMs` is the end of the window, excluded. */
export interface ExportPage extends Moments {
  /** The `next` of the previous page; null for the first page. */
  readonly after: RecordPlace | null;
  readonly userPath: string;
  readonly limit: number;
}

type Fields = Readonly<Record<string, unknown>>;

/** `{user_path, start_date, end_date}`: days in UTC, both included, at most 365. */
export function parseUsageWindow(body: unknown): Checked<UsageWindow> {
  if (!isObject(body)) return bad("the body must be an object", "body");
  const path = parsePath(body);
  if (!path.ok) return path;
  const start = parseDate(body, "start_date");
  if (!start.ok) return start;
  const end = parseDate(body, "end_date");
  if (!end.ok) return end;
  const days = (end.value - start.value) / dayMs + 1;
  if (days < 1 || days > usageDaysMax)
    return bad(
      `start_date and end_date must span 1 to ${usageDaysMax} days, not ${days}`,
      "start_date",
    );
  return good({
    userPath: path.value,
    fromDay: String(body["start_date"]),
    toDay: String(body["end_date"]),
  });
}

/**
 * As `parseUsageWindow`, or `{user_path, start, end?}`: a range with times of at most seven days,
 * because only records have the time of day.
 */
export function parseSummaryWindow(body: unknown, nowMs: number): Checked<UsageWindow> {
  if (!isObject(body) || (isAbsent(body["start"]) && isAbsent(body["end"])))
    return parseUsageWindow(body);
  const path = parsePath(body);
  if (!path.ok) return path;
  const moments = parseMoments(body);
  if (!moments.ok) return moments;
  const { fromMs } = moments.value;
  const beforeMs = moments.value.beforeMs ?? nowMs + 1;
  if (fromMs === null) return bad("start is required beside end", "start");
  if (fromMs >= beforeMs) return bad("start must not be in the future", "start");
  if (beforeMs - fromMs > hourlyDaysMax * dayMs)
    return bad(
      `start and end must be at most ${hourlyDaysMax} days apart: a longer range has start_date and end_date`,
      "start",
    );
  const days = { fromDay: dayOf(fromMs), toDay: dayOf(beforeMs - 1) };
  return good({ userPath: path.value, ...days, span: { fromMs, beforeMs } });
}

/** `by` of a summary; null: no groups. */
export function parseGrouping(body: unknown): Checked<Grouping | null> {
  const by = isObject(body) ? (body["by"] ?? null) : null;
  const grouping = groupings.find((grouping) => grouping === by);
  if (by !== null && grouping === undefined)
    return bad(`by must be one of ${groupings.join(", ")}, not ${show(by)}`, "by");
  return good(grouping ?? null);
}

/** How a summary is split. */
export interface UsageSplit {
  /** Null: no groups. */
  readonly by: Grouping | null;
  /** Null: no course over time. */
  readonly step: UsageStep | null;
}

/** `by` and `step` of a summary of these days. */
export function parseSplit(
  body: unknown,
  { fromDay, toDay, span }: Omit<UsageWindow, "userPath">,
): Checked<UsageSplit> {
  const by = parseGrouping(body);
  if (!by.ok) return by;
  const step = isObject(body) ? (body["step"] ?? null) : null;
  const usageStep = usageSteps.find((name) => name === step) ?? null;
  if (step !== null && usageStep === null)
    return bad(`step must be one of ${usageSteps.join(", ")}, not ${show(step)}`, "step");
  const days = (parseDay(toDay)! - parseDay(fromDay)!) / dayMs + 1;
  if (usageStep === "hour" && span === undefined && days > hourlyDaysMax)
    return bad(`step=hour needs at most ${hourlyDaysMax} days, not ${days}`, "step");
  return good({ by: by.value, step: usageStep });
}

const exportFields = ["after", "limit", "user_path", "start_date", "end_date", "start", "end"];

/** `{after, limit, user_path?}` and the fields of `parseMoments`. */
export function parseExportPage(body: unknown): Checked<ExportPage> {
  const fields = asQuery(body, exportFields);
  if (!fields.ok) return fields;
  const page = parseRecordsPage(fields.value, exportedRecordsMax);
  if (!page.ok) return page;
  const path = parsePath(fields.value);
  if (!path.ok) return path;
  const moments = parseMoments(fields.value);
  if (!moments.ok) return moments;
  return good({ ...page.value, ...moments.value, userPath: path.value });
}

/** `{after?, limit?}` of a page of records, which has at most `max`. */
export function parseRecordsPage(
  body: Fields,
  max: number,
): Checked<Pick<ExportPage, "after" | "limit">> {
  const { after = null, limit = max } = body;
  const place = readPlace(after);
  if (after !== null && place === null)
    return bad("after must be the next of the previous page", "after");
  if (!isCount(limit, 1) || limit > max)
    return bad(`limit must be an integer from 1 to ${max}, not ${show(limit)}`, "limit");
  return good({ after: place, limit });
}

/** The id of a record or a cursor, `key.index`; null for anything else. */
export function readPlace(id: unknown): RecordPlace | null {
  const match = typeof id === "string" ? /^(\d{1,16})\.(\d{1,6})$/.exec(id) : null;
  return match === null ? null : { key: Number(match[1]), index: Number(match[2]) };
}

/** `{start_date?, end_date?}`: days in UTC, both included; or `{start?, end?}`: moments. */
export function parseMoments(body: Fields): Checked<Moments> {
  if (!isAbsent(body["start"]) || !isAbsent(body["end"])) return parseSpan(body);
  const start = isAbsent(body["start_date"]) ? null : parseDate(body, "start_date");
  if (start !== null && !start.ok) return start;
  const end = isAbsent(body["end_date"]) ? null : parseDate(body, "end_date");
  if (end !== null && !end.ok) return end;
  if (start !== null && end !== null && start.value > end.value)
    return bad("start_date must not be after end_date", "start_date");
  return good({
    fromMs: start?.value ?? null,
    beforeMs: end === null ? null : end.value + dayMs,
  });
}

function parseSpan(body: Fields): Checked<Moments> {
  if (!isAbsent(body["start_date"]) || !isAbsent(body["end_date"]))
    return bad("start and end can't be combined with start_date and end_date", "start");
  const from = parseMoment(body["start"], "start");
  if (!from.ok) return from;
  const before = parseMoment(body["end"], "end");
  if (!before.ok) return before;
  const value = { fromMs: from.value, beforeMs: before.value };
  if (value.fromMs !== null && value.beforeMs !== null && value.fromMs >= value.beforeMs)
    return bad("start must be before end", "start");
  return good(value);
}

function parsePath(body: Fields): Checked<string> {
  return parseUserPath(body["user_path"] ?? "/", "user_path");
}

function parseDate(body: Fields, name: string): Checked<number> {
  const raw = body[name];
  const ms = typeof raw === "string" ? parseDay(raw) : null;
  return ms === null
    ? bad(`${name} must be a date such as 2026-01-31, not ${show(raw)}`, name)
    : good(ms);
}
