/** The session of an agent, as a request names it. */

/** UUIDs have 36 characters, and OpenAI's cache keys at most 64. */
export const sessionCharsMax = 128;

/** Printable ASCII without quotes and backslashes: it needs no escapes in a log line. */
const printable = /^[ !#-[\]-~]+$/;

export function isSession(value: unknown): value is string {
  return typeof value === "string" && value.length <= sessionCharsMax && printable.test(value);
}
