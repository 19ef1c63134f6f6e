/**
 * Advice on numbers in informal notation: `200k`, `1,000`, `32MB`, `30s`, `$50`. They aren't
 * accepted: a wrongly guessed unit would be a wrong limit.
 */

const numberWithUnit = /^\$? ?(\d[\d,_]*(?:\.\d+)?) ?([a-zµ$]*)$/i;

const factors: Readonly<Record<string, number>> = {
  k: 1e3,
  m: 1e6,
  b: 1e9,
  g: 1e9,
  kb: 1024,
  kib: 1024,
  mb: 1024 ** 2,
  mib: 1024 ** 2,
  gb: 1024 ** 3,
  gib: 1024 ** 3,
};

const unitsAlone: ReadonlySet<string> = new Set(["", "usd", "$"]);

/** The seconds of a unit of time. */
const lengths: Readonly<Record<string, number>> = { s: 1, m: 60, min: 60, h: 3600, d: 86_400 };
const timeUnits: Readonly<Record<string, number>> = {
  ...lengths,
  ...{ ms: 0.001, sec: 1, secs: 1, second: 1, seconds: 1, mins: 60, minutes: 60 },
  ...{ hours: 3600, day: 86_400, days: 86_400, w: 604_800, weeks: 604_800 },
};
/** The seconds of the units that settings are in. */
const settingUnits: Readonly<Record<string, number>> = {
  milliseconds: 0.001,
  seconds: 1,
  days: 86_400,
};

/**
 * `: write 200000`, or nothing for any other text. `unit`: of the setting, if it has one.
 */
export function numberAdvice(raw: unknown, unit?: string): string {
  const [, digits, suffix = ""] =
    typeof raw === "string" ? (numberWithUnit.exec(raw.trim()) ?? []) : [];
  // A valid number is wrong for another reason.
  if (digits === undefined || (suffix === "" && /^\d+$/.test(digits) && !/^\$/.test(raw as string)))
    return "";
  const unitName = suffix.toLowerCase();
  const inSeconds = settingUnits[unit ?? ""];
  const time = inSeconds === undefined ? undefined : timeUnits[unitName];
  const factor = unitsAlone.has(unitName)
    ? 1
    : time === undefined
      ? factors[unitName]
      : time / inSeconds!;
  const value = Number((withPoint(digits) * (factor ?? Number.NaN)).toPrecision(12));
  return Number.isFinite(value) && String(value) !== String(raw).trim() ? `: write ${value}` : "";
}

/** `1,000` and `1_000` are a thousand, `12,50` is twelve and a half. */
function withPoint(digits: string): number {
  return /^\d+,\d{1,2}$/.test(digits)
    ? Number(digits.replace(",", "."))
    : Number(digits.replaceAll(/[,_]/g, ""));
}

const longer: Readonly<Record<string, number>> = {
  week: 604_800,
  weekly: 604_800,
  month: 2_592_000,
  monthly: 2_592_000,
};

/** Advice for a period such as `1m` or `monthly` that has no name of its own. */
export function periodAdvice(raw: unknown, field: string): string {
  const text = typeof raw === "string" ? raw.trim().toLowerCase() : "";
  const [, count, unit = ""] = /^(\d{1,6})\s*([a-z]+)$/.exec(text) ?? [];
  const length = lengths[unit] ?? lengths[unit.replace(/(?:ute|our|ay|ec|econd)?s?$/, "")];
  const seconds = count === undefined ? longer[text] : Number(count) * (length ?? Number.NaN);
  return seconds !== undefined && Number.isFinite(seconds) ? `: write ${seconds} as ${field}` : "";
}
