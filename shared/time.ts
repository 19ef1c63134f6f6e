/** Timestamps of the API (RFC 3339) and days of usage (`YYYY-MM-DD`), in UTC. Reads no clock. */
import { isCount } from "./checked.js";

/** The end of the year 9999, the last moment that a timestamp can express. */
export const lastMs = 253_402_300_799_999;

/** Whether a value from outside is a moment that a timestamp can express, in ms since the epoch. */
export function isMoment(value: unknown): value is number {
  return isCount(value) && value <= lastMs;
}

/** A time with milliseconds, for example `server_time`. */
export function formatMillis(ms: number): string {
  return new Date(ms).toISOString();
}

/** In whole seconds. */
export function formatSeconds(ms: number): string {
  return `${new Date(ms).toISOString().slice(0, 19)}Z`;
}

const date = /(\d{4})-(\d\d)-(\d\d)/.source;
const hourAndMinute = /(?:[01]\d|2[0-3]):[0-5]\d/.source;
const timestamp = new RegExp(
  `^${date}T${hourAndMinute}:[0-5]\\d(?:\\.\\d{1,9})?(?:Z|[+-]${hourAndMinute})$`,
  "i",
);

/**
 * An RFC 3339 timestamp as ms since the epoch, truncated to seconds; null for anything else,
 * including February 30.
 */
export function parseTimestamp(text: string): number | null {
  const parts = timestamp.exec(text.trim());
  if (parts === null) return null;
  const [year, month, day] = [Number(parts[1]), Number(parts[2]), Number(parts[3])];
  if (
    month < 1 ||
    month > 12 ||
    day < 1 ||
    day > new Date(Date.UTC(2000 + (year % 400), month, 0)).getUTCDate()
  )
    return null;
  const ms = Date.parse(text.trim().toUpperCase());
  return Number.isSafeInteger(ms) && ms >= 0 ? ms - (ms % 1000) : null;
}

export const dayMs = 86_400_000;

/** The day that contains a moment. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** Each day from `first` to `last`, both included; empty if either isn't a date. */
export function daysBetween(first: string, last: string): readonly string[] {
  const days: string[] = [];
  const lastMs = Date.parse(last);
  for (let ms = Date.parse(first); ms <= lastMs; ms += dayMs) days.push(dayOf(ms));
  return days;
}

/** The first moment of a day; null for a text that isn't a date, such as 2026-02-30. */
export function parseDay(text: string): number | null {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return null;
  const ms = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(ms) || dayOf(ms) !== text ? null : ms;
}
