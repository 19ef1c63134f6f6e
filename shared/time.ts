/** Timestamps of the API: RFC 3339 in UTC. Reads no clock. */
import { isCount } from "./checked.js";

/** The end of the year 9999, the last moment that a timestamp can express. */
export const lastMs = 253_402_300_799_999;

/** Whether a value from outside is a moment that a timestamp can express, in ms since the epoch. */
export function isMoment(value: unknown): value is number {
  return isCount(value) && value <= lastMs;
}

/** With milliseconds, for example for `server_time`. */
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
