/**
 * Reads the sums by origin (`rollup-keys.ts`): under which key, and by which name, models were
 * asked for at a path and below it. There is one such sum for each path alone, none for its
 * ancestors, so a report adds them up. In slices; between two of them the daemon does its other
 * work.
 */
import { dayMs, dayOf, parseDay } from "../../shared/utc-day.js";
import type { Rollup } from "./rollup.js";
import { isAtOrBelow, type Origin, originIn, originsUnder } from "./rollup-keys.js";
import type { RollupView } from "./rollups.js";
import type { UsageWindow } from "./usage-query.js";
import { readRange, readUnstored, type UsageReader } from "./usage-reader.js";

/** Hands over every sum of the window. Rejects with `StoreUnreadableError`. */
export async function readOrigins(
  reader: UsageReader,
  view: RollupView,
  { userPath, fromDay, toDay }: UsageWindow,
  each: (origin: Origin, sum: Rollup) => void,
): Promise<void> {
  const early = new Set<string>();
  await readUnstored(reader, view, (key, sum) => {
    const origin = originIn(key);
    if (origin === null || origin.day < fromDay || origin.day > toDay) return;
    if (!isAtOrBelow(origin.userPath, userPath)) return;
    early.add(key);
    each(origin, sum);
  });
  const last = parseDay(toDay)!;
  for (let ms = parseDay(fromDay)!; ms <= last; ms += dayMs) {
    for (const range of originsUnder(dayOf(ms), userPath))
      await readRange(reader, { ...range, view }, (key, sum) => {
        const origin = early.has(key) ? null : originIn(key);
        if (origin !== null) each(origin, sum);
      });
    await reader.yieldToEventLoop();
  }
}
