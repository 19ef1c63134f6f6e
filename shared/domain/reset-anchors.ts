/**
 * The anchors of budget periods: the times at which days, weeks and months of budgets begin, and
 * the time zone of budgets that have none of their own (`docs/budgets.md`). One table: the API, the
 * command line, the store and the docs are held to it.
 */
import { asObject, type Checked, isCount, show } from "../checked.js";
import { invalid } from "../error-code.js";
import { parseTimeZone } from "./time-zone.js";

/** Whole numbers in the bounds of `anchorFields`, under the API's own names. */
export interface ResetAnchors {
  readonly daily_reset_hour: number;
  readonly daily_reset_minute: number;
  readonly weekly_reset_weekday: number;
  readonly weekly_reset_hour: number;
  readonly weekly_reset_minute: number;
  readonly monthly_reset_day: number;
  readonly monthly_reset_hour: number;
  readonly monthly_reset_minute: number;
  /** Absent for UTC. */
  readonly time_zone?: string;
}

export type AnchorField = Exclude<keyof ResetAnchors, "time_zone">;

interface Anchor {
  readonly name: AnchorField;
  readonly min: number;
  readonly max: number;
  readonly fallback: number;
  readonly meaning: string;
}

/** Each anchor with its bounds, default and meaning, in the order in which they are listed. */
export const anchorFields: readonly Anchor[] = [
  {
    name: "daily_reset_hour",
    min: 0,
    max: 23,
    fallback: 0,
    meaning: "hour at which daily budgets begin",
  },
  { name: "daily_reset_minute", min: 0, max: 59, fallback: 0, meaning: "minute of that hour" },
  {
    name: "weekly_reset_weekday",
    min: 0,
    max: 6,
    fallback: 1,
    meaning: "weekday on which weekly budgets begin; 0 is Sunday",
  },
  { name: "weekly_reset_hour", min: 0, max: 23, fallback: 0, meaning: "hour of that day" },
  { name: "weekly_reset_minute", min: 0, max: 59, fallback: 0, meaning: "minute of that hour" },
  {
    name: "monthly_reset_day",
    min: 1,
    max: 31,
    fallback: 1,
    meaning: "day on which monthly budgets begin; in a shorter month its last day",
  },
  { name: "monthly_reset_hour", min: 0, max: 23, fallback: 0, meaning: "hour of that day" },
  { name: "monthly_reset_minute", min: 0, max: 59, fallback: 0, meaning: "minute of that hour" },
];

export const defaultAnchors: ResetAnchors = anchorsOf(anchorFields.map(({ fallback }) => fallback));

/** The anchors from their values in the table's order, and the zone. */
function anchorsOf(values: readonly number[], timeZone = "UTC"): ResetAnchors {
  const anchors = Object.fromEntries(
    anchorFields.map(({ name }, index) => [name, values[index]]),
  ) as unknown as ResetAnchors;
  return timeZone === "UTC" ? anchors : { ...anchors, time_zone: timeZone };
}

/** The values in the table's order, and the zone if it isn't UTC, for the store. */
export function anchorsToStored(anchors: ResetAnchors): readonly (number | string)[] {
  const numbers = anchorFields.map(({ name }) => anchors[name]);
  return anchors.time_zone === undefined ? numbers : [...numbers, anchors.time_zone];
}

/** The anchors of a stored entry; null if it is invalid. */
export function anchorsFromStored(value: readonly unknown[]): ResetAnchors | null {
  const numbers = value.slice(0, anchorFields.length);
  const [zone = "UTC", ...more] = value.slice(anchorFields.length);
  const timeZone = parseTimeZone(zone, "time_zone");
  const isComplete =
    numbers.length === anchorFields.length &&
    anchorFields.every(
      ({ min, max }, index) => isCount(numbers[index], min) && numbers[index] <= max,
    );
  return isComplete && timeZone.ok && more.length === 0
    ? anchorsOf(numbers as readonly number[], timeZone.value)
    : null;
}

/**
 * The body of PUT /admin/budgets/settings, applied to the present anchors: an absent field stays
 * unchanged.
 */
export function parseAnchors(body: unknown, present: ResetAnchors): Checked<ResetAnchors> {
  const fields = asObject(body, [...anchorFields.map(({ name }) => name), "time_zone"]);
  if (!fields.ok) return fields;
  const values: number[] = [];
  for (const { name, min, max } of anchorFields) {
    const value = fields.value[name] ?? present[name];
    if (!isCount(value, min) || value > max)
      return {
        ok: false,
        failure: invalid(
          `${name} must be an integer from ${min} to ${max}, not ${show(value)}`,
          name,
        ),
      };
    values.push(value);
  }
  const timeZone = parseTimeZone(
    fields.value["time_zone"] ?? present.time_zone ?? "UTC",
    "time_zone",
  );
  return timeZone.ok ? { ok: true, value: anchorsOf(values, timeZone.value) } : timeZone;
}
