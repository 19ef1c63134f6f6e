/**
 * The flags `--from`, `--to` and `--last`, which mean the same in every command: a date is a day in
 * UTC, as in reports, and both days are included; a time is local unless it names its zone. Now is
 * an argument.
 */
import { dayMs, formatMillis, lastMs, parseDay, parseTimestamp } from "../../shared/time.js";
import { readDuration } from "../text/duration.js";
import type { ArgumentProblem, ParsedArguments } from "./command-failure.js";

/** The flags as typed. */
export interface RangeFlags {
  readonly from?: string;
  readonly to?: string;
  readonly last?: string;
}

/** `beforeMs` isn't included; null: up to now, by the gateway's clock. */
export interface TimeRange {
  readonly fromMs: number;
  readonly beforeMs: number | null;
}

/** What the flags take. */
export const examples = "2026-02-01, 2026-02-01T10:00 or 2026-02-01T10:00Z";

export const fromHelp = `from this day or time on, such as ${examples}`;
export const toHelp = "to the end of this day, or to this time (default: now)";
export const lastHelp = "this time until now, such as 3h";

/** As `rangeFromFlags`; null without the flags. */
export function optionalRange(flags: RangeFlags, nowMs: number): ParsedArguments<TimeRange | null> {
  const { from, to, last } = flags;
  return (from ?? to ?? last) === undefined
    ? { ok: true, value: null }
    : rangeFromFlags(flags, { nowMs, seconds: nowMs / 1000 });
}

/** The range, or all problems. `seconds`: the length of the range without `--from`. */
export function rangeFromFlags(
  flags: RangeFlags,
  { nowMs, seconds }: { readonly nowMs: number; readonly seconds: number },
): ParsedArguments<TimeRange> {
  const problems: ArgumentProblem[] = [];
  const wrong = (param: string, message: string): void => void problems.push({ message, param });
  const last = lastFrom(flags, wrong);
  const from = momentOf("--from", flags.from, wrong);
  const to = momentOf("--to", flags.to, wrong);
  const beforeMs = to?.beforeMs ?? null;
  const endMs = beforeMs ?? nowMs;
  const fromMs = from?.fromMs ?? Math.max(0, endMs - (last ?? seconds) * 1000);
  if (problems.length === 0 && from !== null && fromMs >= endMs)
    wrong(
      "--from",
      to === null
        ? `--from must not be after now, ${formatMillis(nowMs)}, not ${JSON.stringify(flags.from)}`
        : `--from must be before --to: ${flags.from} isn't before ${flags.to}`,
    );
  return problems.length > 0 ? { ok: false, problems } : { ok: true, value: { fromMs, beforeMs } };
}

type Wrong = (param: string, message: string) => void;

/** The seconds of `--last`; null without it. */
function lastFrom({ from, to, last }: RangeFlags, wrong: Wrong): number | null {
  if (last === undefined) return null;
  if (from !== undefined || to !== undefined)
    wrong("--last", "--last can't be combined with --from and --to");
  const seconds = readDuration(last);
  if (seconds === null)
    wrong(
      "--last",
      `--last must be a length of time such as 3h (s, m, h, d or w), not ${JSON.stringify(last)}`,
    );
  return seconds;
}

function momentOf(flag: string, text: string | undefined, wrong: Wrong): Moment | null {
  if (text === undefined) return null;
  const moment = readMoment(text);
  if (moment === null)
    wrong(flag, `${flag} must be a day or a time such as ${examples}, not ${JSON.stringify(text)}`);
  return moment;
}

/** Whether a text has a time of day. */
export function hasTime(text: string | undefined): boolean {
  return text?.includes(":") ?? false;
}

const localTime = /^(\d{4})-(\d\d)-(\d\d)T([01]\d|2[0-3]):([0-5]\d)(?::([0-5]\d))?$/;
const zonedTime = /^(\S+T\d\d:\d\d)(:\d\d(?:\.\d+)?)?(Z|[+-]\d\d:\d\d)$/;

interface Moment {
  readonly fromMs: number;
  readonly beforeMs: number;
}

/** A day, or a moment as an empty range; null for any other text. */
export function readMoment(flagText: string): Moment | null {
  const text = flagText.trim().toUpperCase().replace(" ", "T");
  const day = text.startsWith("0000") ? null : parseDay(text);
  if (day !== null) return { fromMs: day, beforeMs: day + dayMs };
  const [, time, seconds = ":00", zone] = zonedTime.exec(text) ?? [];
  const ms = time === undefined ? localMs(text) : parseTimestamp(`${time}${seconds}${zone}`);
  return ms === null || ms < 0 || ms > lastMs ? null : { fromMs: ms, beforeMs: ms };
}

/** A local time; null if it doesn't exist, as when clocks are put forward. */
function localMs(text: string): number | null {
  const parts = localTime
    .exec(text)
    ?.slice(1)
    .map((part) => Number(part ?? 0));
  if (parts === undefined) return null;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = parts;
  const date = new Date(year, month - 1, day, hour, minute, second);
  const isThere =
    date.getMonth() === month - 1 && date.getDate() === day && date.getHours() === hour;
  return isThere ? date.getTime() : null;
}

/** The range as the parameters of the admin API that have these names. */
export function rangeQuery<From extends string, To extends string>(
  { fromMs, beforeMs }: TimeRange,
  [from, to]: readonly [From, To],
): Partial<Record<From | To, string>> {
  return {
    [from]: formatMillis(fromMs),
    ...(beforeMs === null ? {} : { [to]: formatMillis(beforeMs) }),
  } as Partial<Record<From | To, string>>;
}
