/**
 * Time zones by their IANA names, and the instants at which their clocks show a time. Local times
 * are numbers: the milliseconds at which a clock in UTC shows the same. Pure.
 */
import { bad, type Checked, good, show } from "../checked.js";

/** How far the clocks of a zone are ahead of UTC at an instant, both in milliseconds. */
export type OffsetAt = (ms: number) => number;

/** Checks the name of a zone, which is returned in its usual case. */
export function parseTimeZone(value: unknown, param: string): Checked<string> {
  const name = typeof value === "string" ? value.trim() : "";
  const zone = /^[a-z]/i.test(name) ? knownZone(name) : null;
  return zone === null
    ? bad(
        `${param} must be the IANA name of a time zone such as Europe/Berlin, not ${show(value)}`,
        param,
      )
    : good(zone);
}

/** Null if there is no such zone. Aliases such as US/Eastern stay as they are. */
function knownZone(name: string): string | null {
  try {
    const { timeZone } = new Intl.DateTimeFormat("en-US", { timeZone: name }).resolvedOptions();
    return timeZone.toLowerCase() === name.toLowerCase() ? timeZone : name;
  } catch (error) {
    if (error instanceof RangeError) return null;
    throw error;
  }
}

const noOffset: OffsetAt = () => 0;

/** The offsets of a zone. A call takes some microseconds, so keep what is computed from it. */
export function offsetsOf(timeZone: string): OffsetAt {
  if (timeZone === "UTC") return noOffset;
  const format = new Intl.DateTimeFormat("en-US", {
    timeZone,
    hourCycle: "h23",
    year: "numeric",
    month: "numeric",
    day: "numeric",
    hour: "numeric",
    minute: "numeric",
    second: "numeric",
  });
  return (ms) => {
    const wholeMs = Math.floor(ms / 1000) * 1000;
    const [month, day, year, hour, minute, second] = format
      .format(wholeMs)
      .match(/\d+/g)!
      .map(Number) as [number, number, number, number, number, number];
    return Date.UTC(year, month - 1, day, hour, minute, second) - wholeMs;
  };
}

/** The offsets of the zones that are in use. */
export class TimeZones {
  readonly #offsets = new Map<string, OffsetAt>();

  offsetsOf(timeZone: string): OffsetAt {
    let offsets = this.#offsets.get(timeZone);
    if (offsets === undefined) {
      offsets = offsetsOf(timeZone);
      this.#offsets.set(timeZone, offsets);
    }
    return offsets;
  }
}

/** More than any offset from UTC. */
const offsetMaxMs = 16 * 3_600_000;

/**
 * The first instant at which the clocks show a local time; if they skip it, the instant at which
 * they skip it.
 */
export function instantOf(localMs: number, offsetAt: OffsetAt): number {
  for (let fromMs = localMs - offsetMaxMs; ; ) {
    const offsetMs = offsetAt(fromMs);
    const atMs = localMs - offsetMs;
    if (atMs <= fromMs) return fromMs;
    if (offsetAt(atMs) === offsetMs) return atMs;
    fromMs = firstChange(fromMs, atMs, offsetAt);
  }
}

/** The first instant after `fromMs`, up to `toMs`, with another offset; `toMs` has another. */
export function firstChange(fromMs: number, toMs: number, offsetAt: OffsetAt): number {
  const offsetMs = offsetAt(fromMs);
  let [before, after] = [fromMs, toMs];
  while (after - before > 1000) {
    const middle = before + Math.floor((after - before) / 2000) * 1000;
    if (offsetAt(middle) === offsetMs) before = middle;
    else after = middle;
  }
  return after;
}
