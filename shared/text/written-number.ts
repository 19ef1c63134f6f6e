/**
 * Advice on numbers in informal notation: `200k`, `1,000`, `32MB`, `30s`, `$50`. They aren't
 * accepted: a wrongly guessed unit would be a wrong limit.
 */

const written = /^\$? ?(\d[\d,_]*(?:\.\d+)?) ?([a-zµ$]*)$/i;

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

const unitsAlone: ReadonlySet<string> = new Set(["", "s", "sec", "seconds", "ms", "usd", "$"]);

/** `: write 200000`, or nothing for any other text. */
export function numberAdvice(raw: unknown): string {
  const [, digits, unit = ""] = typeof raw === "string" ? (written.exec(raw.trim()) ?? []) : [];
  if (digits === undefined) return "";
  const factor = unitsAlone.has(unit.toLowerCase()) ? 1 : factors[unit.toLowerCase()];
  const value = Number(digits.replaceAll(/[,_]/g, "")) * (factor ?? Number.NaN);
  return Number.isFinite(value) && String(value) !== String(raw).trim() ? `: write ${value}` : "";
}

const lengths: Readonly<Record<string, number>> = { s: 1, m: 60, min: 60, h: 3600, d: 86_400 };
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
