/**
 * The hours within which a rule applies (docs/limit-options.md): days of the week, and a time of
 * the day in a time zone. They are part of the rule's identity, so that rules for day and night can
 * coexist. Pure.
 */
import { asObject, bad, type Checked, good, isAbsent, show } from "../checked.js";
import { firstChange, type OffsetAt, parseTimeZone, type TimeZones } from "./time-zone.js";

const weekdays = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;
type Weekday = (typeof weekdays)[number];

/**
 * `mon,tue,wed,thu,fri 09:00-17:00 Europe/Berlin`: the days in order. The same hours have the same
 * text however they were written.
 */
export type RuleHours = string;

/** As bodies and list items have them. `from` later than `to`: until that time of the next day. */
export interface WhenField {
  readonly days: readonly Weekday[];
  readonly from: string;
  /** `24:00` is the end of the day. */
  readonly to: string;
  readonly time_zone: string;
}

const timeOfDay = /^(?:(?:[01]\d|2[0-3]):[0-5]\d|24:00)$/;

/** Checks `when`; undefined if it is absent. */
export function parseWhen(raw: unknown, param: string): Checked<RuleHours | undefined> {
  if (isAbsent(raw)) return good(undefined);
  const fieldNames = ["days", "from", "to", "time_zone"];
  const fields = asObject(raw, fieldNames, { prefix: `${param}.`, nullable: fieldNames.slice(1) });
  if (!fields.ok)
    return typeof raw === "object" && !Array.isArray(raw)
      ? fields
      : bad(
          `${param} must be a mapping of days, from, to and time_zone, such as {days: [mon, tue], from: "09:00", to: "17:00"}, not ${show(raw)}`,
          param,
        );
  const days = parseDays(fields.value["days"], `${param}.days`);
  if (!days.ok) return days;
  const { from: rawFrom, to: rawTo, time_zone: rawZone } = fields.value;
  const from = rawFrom ?? "00:00";
  const to = rawTo ?? "24:00";
  if (typeof from !== "string" || !timeOfDay.test(from) || from === "24:00")
    return bad(`${param}.from must be a time such as 09:00, not ${show(from)}`, `${param}.from`);
  if (typeof to !== "string" || !timeOfDay.test(to))
    return bad(`${param}.to must be a time such as 17:30 or 24:00, not ${show(to)}`, `${param}.to`);
  if (from === to)
    return bad(
      `${param}.to must differ from ${param}.from, not be ${show(to)} too: for whole days leave both out`,
      `${param}.to`,
    );
  const timeZone = parseTimeZone(rawZone ?? "UTC", `${param}.time_zone`);
  if (!timeZone.ok) return timeZone;
  if (days.value.length === weekdays.length && from === "00:00" && to === "24:00")
    return bad(`${param} covers the whole week: leave it out`, param);
  return good(`${days.value.join(",")} ${from}-${to} ${timeZone.value}`);
}

function parseDays(raw: unknown, param: string): Checked<readonly Weekday[]> {
  if (isAbsent(raw)) return good(weekdays);
  const days = Array.isArray(raw) ? (raw as unknown[]) : [];
  const unknown = days.find((day) => weekdays.every((candidate) => candidate !== day));
  return days.length === 0 || unknown !== undefined
    ? bad(`${param} must be a list of ${weekdays.join(", ")}, not ${show(unknown ?? raw)}`, param)
    : good(weekdays.filter((day) => days.includes(day)));
}

/** The field of a list item or a body: absent without hours. */
export function whenField(hours: RuleHours | undefined): { readonly when?: WhenField } {
  if (hours === undefined) return {};
  const [days = "", times = "", time_zone = ""] = hours.split(" ");
  const [from = "", to = ""] = times.split("-");
  return { when: { days: days.split(",") as Weekday[], from, to, time_zone } };
}

/** The hours of a list item's `when`. */
export function hoursOf(when: unknown): RuleHours | undefined {
  const parsed = parseWhen(when, "when");
  return parsed.ok ? parsed.value : undefined;
}

/** Whether a value from the store is what `parseWhen` returns. */
export function isRuleHours(value: unknown): value is RuleHours {
  return typeof value === "string" && hoursOf(whenField(value).when) !== undefined;
}

/**
 * Parses a typed text into the field: `mon-fri 09:00-17:00 Europe/Berlin`, in any order; parts may
 * be missing. Returns any other text unchanged.
 */
export function whenOfText(text: string): Record<string, unknown> | string {
  const when: Record<string, unknown> = {};
  for (const word of text.trim().split(/\s+/)) {
    const times = /^(\d\d:\d\d)-(\d\d:\d\d)$/.exec(word);
    const days = daysOfText(word.toLowerCase());
    if (times !== null) {
      when["from"] = times[1];
      when["to"] = times[2];
    } else if (days !== null) when["days"] = days;
    else if (when["time_zone"] === undefined && word !== "") when["time_zone"] = word;
    else return text;
  }
  return when;
}

/** `mon-fri`, `sat,sun`, `fri-mon`. */
function daysOfText(word: string): readonly string[] | null {
  const days: string[] = [];
  for (const piece of word.split(",")) {
    const [first, last = first] = piece.split("-");
    const [from, to] = [first, last].map((day) => weekdays.indexOf(day as Weekday));
    if (from === undefined || to === undefined || from === -1 || to === -1) return null;
    for (let day = from; ; day = (day + 1) % 7) {
      days.push(weekdays[day]!);
      if (day === to) break;
    }
  }
  return days;
}

/** The text that `whenOfText` reads, shorter than the hours themselves. */
export function textOfWhen({ days, from, to, time_zone: zone }: WhenField): string {
  const indexes = days.map((day) => weekdays.indexOf(day));
  const isRun = indexes.every((day, i) => day === indexes[0]! + i);
  const daysText = isRun && days.length > 2 ? `${days[0]}-${days.at(-1)}` : days.join(",");
  return `${daysText} ${from}-${to} ${zone}`;
}

const minuteMs = 60_000;
const dayMinutes = 1440;

/** Tests whether a moment is within the hours. */
export class ActiveHours {
  readonly #days: ReadonlySet<number>;
  readonly #from: number;
  readonly #to: number;
  readonly #offsetAt: OffsetAt;
  /** The last tested minute: clocks change only at full minutes. */
  #minute = Number.NaN;
  #isActive = false;

  constructor(hours: RuleHours, zones: TimeZones) {
    const { days, from, to, time_zone: zone } = whenField(hours).when!;
    this.#days = new Set(days.map((day) => weekdays.indexOf(day)));
    this.#from = minuteOf(from);
    this.#to = minuteOf(to);
    this.#offsetAt = zones.offsetsOf(zone);
  }

  isActiveAt(ms: number): boolean {
    const minute = Math.floor(ms / minuteMs);
    if (minute !== this.#minute) {
      this.#minute = minute;
      this.#isActive = this.#covers(Math.floor((ms + this.#offsetAt(ms)) / minuteMs));
    }
    return this.#isActive;
  }

  /** `local`: in minutes since the epoch, whose weekday was a Thursday. */
  #covers(local: number): boolean {
    const day = Math.floor(local / dayMinutes);
    const time = local - day * dayMinutes;
    const isOn = (day: number): boolean => this.#days.has((((day + 3) % 7) + 7) % 7);
    if (this.#from < this.#to) return isOn(day) && time >= this.#from && time < this.#to;
    return (isOn(day) && time >= this.#from) || (isOn(day - 1) && time < this.#to);
  }

  /** The end of the hours that `ms` is within. */
  endAfter(ms: number): number {
    let atMs = ms;
    while (this.isActiveAt(atMs)) {
      const offsetMs = this.#offsetAt(atMs);
      const local = (atMs + offsetMs) / minuteMs;
      const day = Math.floor(local / dayMinutes) * dayMinutes;
      const next = local < day + this.#to ? day + this.#to : day + dayMinutes;
      const nextMs = next * minuteMs - offsetMs;
      atMs =
        this.#offsetAt(nextMs) === offsetMs ? nextMs : firstChange(atMs, nextMs, this.#offsetAt);
    }
    return atMs;
  }
}

function minuteOf(time: string): number {
  const [hour, minute] = time.split(":").map(Number) as [number, number];
  return hour * 60 + minute;
}
