/** Days in UTC as `YYYY-MM-DD`, the dates of usage. No clock is read here. */

export const dayMs = 86_400_000;

/** The day of a moment. */
export function dayOf(ms: number): string {
  return new Date(ms).toISOString().slice(0, 10);
}

/** Each day from one to another, both included; none if one of them is no day. */
export function daysBetween(first: string, last: string): readonly string[] {
  const days: string[] = [];
  const lastMs = Date.parse(last);
  for (let ms = Date.parse(first); ms <= lastMs; ms += dayMs) days.push(dayOf(ms));
  return days;
}

/** The first moment of a day, or null for what is no date: 2026-02-30 isn't. */
export function parseDay(text: string): number | null {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return null;
  const ms = Date.parse(`${text}T00:00:00Z`);
  return Number.isNaN(ms) || dayOf(ms) !== text ? null : ms;
}
