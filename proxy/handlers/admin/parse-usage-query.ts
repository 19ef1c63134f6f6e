/**
 * The query parameters of GET /v1/usage (docs/reference/http-api.md, "Usage"), checked in a fixed
 * order: the answer is the first problem.
 */

import { usageDaysMax } from "../../../shared/bounds.js";
import { type Checked, show } from "../../../shared/checked.js";
import { type Failure, invalid, plainFailure } from "../../../shared/error-code.js";
import { dayMs, dayOf, parseDay } from "../../../shared/time.js";
import { type Grouping, groupings } from "../../../shared/wire/admin-op.js";
import { queryParameters } from "../../http/query-parameters.js";

export type UsageQuery =
  | {
      readonly ok: true;
      /** Days in UTC, both included. */
      readonly startDate: string;
      readonly endDate: string;
    }
  | { readonly ok: false; readonly failure: Failure };

const daysDefault = 30;

/** The window of a query (without its question mark); `nowMs` gives today's date. */
export function parseUsageQuery(query: string, nowMs: number): UsageQuery {
  const parameters = queryParameters(query);
  if (isRepeated(parameters, "days")) return repeatedParameter("days");
  const rawDays = parameters.get("days");
  const days =
    rawDays === null
      ? daysDefault
      : /^\d+$/.test(rawDays)
        ? Math.min(Number(rawDays), usageDaysMax)
        : 0;
  if (days === 0)
    return wrongQuery(`days must be an integer greater than 0, not ${show(rawDays)}`, "days");
  const start = dateOf("start_date", parameters);
  if (start !== null && typeof start !== "number") return start;
  const end = dateOf("end_date", parameters);
  if (end !== null && typeof end !== "number") return end;
  const today = Math.floor(nowMs / dayMs) * dayMs;
  const endMs = end ?? today;
  const startMs = start ?? endMs - ((end === null ? days : daysDefault) - 1) * dayMs;
  const [startDate, endDate] = [dayOf(startMs), dayOf(endMs)];
  if (startMs > endMs)
    return wrongQuery(
      `start_date must not be after end_date: ${startDate} is after ${endDate}`,
      "start_date",
    );
  const span = (endMs - startMs) / dayMs + 1;
  if (span > usageDaysMax)
    return wrongQuery(
      `start_date and end_date must span at most ${usageDaysMax} days, not ${span}`,
      "start_date",
    );
  return { ok: true, startDate, endDate };
}

/**
 * `by` of a query: how usage is grouped; null without groups. Keys, labels and sessions are
 * visible to operators only, since a path has several callers.
 */
export function parseGroups(query: string, isOperator: boolean): Checked<Grouping | null> {
  const parameters = queryParameters(query);
  const raw = parameters.get("by");
  if (raw === null) return { ok: true, value: null };
  const by = isRepeated(parameters, "by")
    ? undefined
    : groupings.find((candidate) => candidate === raw);
  if (by === undefined)
    return {
      ok: false,
      failure: invalid(`by must be one of ${groupings.join(", ")}, not ${show(raw)}`, "by"),
    };
  if ((by === "key" || by === "label" || by === "session") && !isOperator)
    return {
      ok: false,
      failure: plainFailure(403, "permission_error", `by=${by} needs the master key`),
    };
  return { ok: true, value: by };
}

function dateOf(name: string, parameters: URLSearchParams): number | null | UsageQuery {
  if (isRepeated(parameters, name)) return repeatedParameter(name);
  const raw = parameters.get(name);
  if (raw === null) return null;
  // There is no year 0, and earlier days can't be written in this form.
  return (
    (raw.startsWith("0000") ? null : parseDay(raw)) ??
    wrongQuery(`${name} must be a date such as 2026-01-31, not ${show(raw)}`, name)
  );
}

function isRepeated(parameters: URLSearchParams, name: string): boolean {
  return parameters.getAll(name).length > 1;
}

function repeatedParameter(name: string): UsageQuery {
  return wrongQuery(`${name} is given more than once`, name);
}

function wrongQuery(message: string, param: string): UsageQuery {
  return { ok: false, failure: invalid(message, param) };
}
