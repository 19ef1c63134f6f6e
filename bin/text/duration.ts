/** Formats and parses durations for people. Pure. */
import { periodSecondsMax } from "../../shared/bounds.js";

const units: readonly (readonly [seconds: number, name: string])[] = [
  [86_400, "d"],
  [3600, "h"],
  [60, "m"],
  [1, "s"],
];

/** The two largest units: `42s`, `3m 20s`, `2h`, `1d 4h`. Fractions of a second are rounded up. */
export function formatDuration(seconds: number): string {
  let secondsLeft = Math.max(0, Math.ceil(seconds));
  const first = units.findIndex(([unit]) => secondsLeft >= unit);
  if (first === -1) return "0s";
  const parts: string[] = [];
  for (const [unit, name] of units.slice(first, first + 2)) {
    const count = Math.floor(secondsLeft / unit);
    secondsLeft -= count * unit;
    if (count > 0) parts.push(`${count}${name}`);
  }
  return parts.join(" ");
}

const unitSeconds: Readonly<Record<string, number>> = {
  s: 1,
  m: 60,
  h: 3600,
  d: 86_400,
  w: 604_800,
};

/** The seconds of a duration such as 30d; null for anything else. */
export function readDuration(text: string): number | null {
  const parts = /^(\d{1,10})([smhdw])$/.exec(text.trim());
  if (parts === null) return null;
  const seconds = Number(parts[1]) * unitSeconds[parts[2]!]!;
  return seconds >= 1 && seconds <= periodSecondsMax ? seconds : null;
}

/** A time in UTC, shortened: `16:51:20Z` of today, else `2026-11-28 16:51Z`. */
export function shortTime(time: string, nowMs: number): string {
  const today = new Date(nowMs).toISOString().slice(0, 10);
  return time.startsWith(today)
    ? `${time.slice(11, 19)}Z`
    : `${time.slice(0, 10)} ${time.slice(11, 16)}Z`;
}
