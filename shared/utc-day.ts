/** Days in UTC as `YYYY-MM-DD`, the dates of usage. Reads no clock. */

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
