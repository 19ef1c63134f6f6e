/** The calendar as people read it, by text and day by day: for tests of what computes it. */
import type { ResetAnchors } from "../../shared/domain/reset-anchors.js";

/** The calendar by text: a day exists when its date survives being parsed and printed. */
function dayExists(date: string): boolean {
  const ms = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(date);
}

function two(value: number): string {
  return String(value).padStart(2, "0");
}

/**
 * All starts of a period's kind, in seconds as a budget has it, around a moment, found by looking
 * at every day: slow, and without arithmetic on lengths.
 */
export function startsAround(periodSeconds: number, anchors: ResetAnchors, atMs: number): number[] {
  const starts: number[] = [];
  for (let days = -70; days <= 70; days++) {
    const date = new Date(atMs + days * 86_400_000).toISOString().slice(0, 10);
    const weekday = new Date(`${date}T00:00:00Z`).getUTCDay();
    const [year, month, day] = date.split("-").map(Number) as [number, number, number];
    const isLast = !dayExists(`${year}-${two(month)}-${two(day + 1)}`);
    if (periodSeconds === 3600)
      for (let hour = 0; hour < 24; hour++) starts.push(Date.parse(`${date}T${two(hour)}:00:00Z`));
    if (periodSeconds === 86_400)
      starts.push(
        Date.parse(
          `${date}T${two(anchors.daily_reset_hour)}:${two(anchors.daily_reset_minute)}:00Z`,
        ),
      );
    if (periodSeconds === 604_800 && weekday === anchors.weekly_reset_weekday)
      starts.push(
        Date.parse(
          `${date}T${two(anchors.weekly_reset_hour)}:${two(anchors.weekly_reset_minute)}:00Z`,
        ),
      );
    const isAnchorDay =
      day === anchors.monthly_reset_day || (isLast && day < anchors.monthly_reset_day);
    if (periodSeconds === 2_592_000 && isAnchorDay)
      starts.push(
        Date.parse(
          `${date}T${two(anchors.monthly_reset_hour)}:${two(anchors.monthly_reset_minute)}:00Z`,
        ),
      );
  }
  return starts;
}
