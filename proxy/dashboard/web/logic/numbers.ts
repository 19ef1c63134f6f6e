/**
 * Numbers for people: counts, dollars, shares, times. The form doesn't depend on the browser's
 * language, like the gateway's own texts. Pure.
 */

import { formatPercent } from "../../../../shared/text/percent.js";

const grouped = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });
const oneDigit = new Intl.NumberFormat("en-US", { maximumFractionDigits: 1 });

/** 12,345 */
export function formatCount(count: number): string {
  return grouped.format(count);
}

/** 980, 12.3 k, 4.1 M: for narrow places. */
export function formatShort(count: number): string {
  for (const [unit, size] of [
    ["G", 1e9],
    ["M", 1e6],
    ["k", 1e4],
  ] as const)
    if (Math.abs(count) >= size)
      return `${oneDigit.format(count / (unit === "k" ? 1e3 : size))} ${unit}`;
  return Number.isInteger(count) ? grouped.format(count) : oneDigit.format(count);
}

/** Two decimals, more if the amount would be rounded to 0. */
export function formatMoney(usd: number): string {
  const size = Math.abs(usd);
  const digits = size === 0 || size >= 0.995 ? 2 : size >= 0.0095 ? 3 : size >= 0.000095 ? 5 : 8;
  const text = size.toLocaleString("en-US", {
    minimumFractionDigits: 2,
    maximumFractionDigits: digits,
  });
  return `${usd < 0 ? "−" : ""}$${text}`;
}

/** The message of a refusal with a currency sign, which the API's fixed text lacks. */
export function withCurrency(message: string): string {
  return message.replace(
    /: spent (\d\S*) of (\d[^\s;]*)(?=$|; )/,
    (_, spent, amount) => `: spent ${formatMoney(Number(spent))} of ${formatMoney(Number(amount))}`,
  );
}

/** +12%, −5%, ×20; "new" if there was nothing before, empty below half a percent. */
export function formatChange(now: number, before: number): string {
  if (now === before) return "";
  if (before === 0) return "new";
  const percent = Math.round((now / before - 1) * 100);
  if (percent === 0) return "";
  if (percent >= 1000) return `×${grouped.format(now / before)}`;
  return `${percent < 0 ? "−" : "+"}${formatPercent(Math.abs(percent) / 100)}`;
}

/** 42 s, 3 min, 5 h 12 min, 2 d 4 h: two units at most. */
export function formatDuration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600)
    return joinUnits(Math.floor(whole / 60), "min", whole < 600 ? whole % 60 : 0, "s");
  if (whole < 86_400)
    return joinUnits(Math.floor(whole / 3600), "h", Math.floor((whole % 3600) / 60), "min");
  return joinUnits(Math.floor(whole / 86_400), "d", Math.floor((whole % 86_400) / 3600), "h");
}

/** 42 s, 3 min, 5 h, 2 d: one unit, for columns of ages. */
export function formatAge(seconds: number): string {
  return formatDuration(seconds).replace(/^(\d+ \w+) .*/, "$1");
}

function joinUnits(large: number, unit: string, small: number, smallUnit: string): string {
  return small === 0 ? `${large} ${unit}` : `${large} ${unit} ${small} ${smallUnit}`;
}

/** Seconds from one moment to another, both RFC 3339. */
export function secondsBetween(from: string, to: string): number {
  return (Date.parse(to) - Date.parse(from)) / 1000;
}

/** 2026-11-23 14:05 UTC */
export function formatMoment(moment: string): string {
  return `${moment.slice(0, 10)} ${moment.slice(11, 16)} UTC`;
}

/** 14:05:09 UTC */
export function formatTime(moment: string): string {
  return `${moment.slice(11, 19)} UTC`;
}

/** 14:05:09 UTC on the day `today`, 2026-11-23 14:05 UTC on others. */
export function formatWhen(moment: string, today: string): string {
  return moment.startsWith(today) ? formatTime(moment) : formatMoment(moment);
}

/** 512 B, 12.3 kB, 4.1 MB: powers of 1000. */
export function formatBytes(bytes: number): string {
  for (const [unit, size] of [
    ["GB", 1e9],
    ["MB", 1e6],
    ["kB", 1e3],
  ] as const)
    if (bytes >= size) return `${oneDigit.format(bytes / size)} ${unit}`;
  return `${bytes} B`;
}
