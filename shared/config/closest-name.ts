/**
 * The hint "did you mean" in messages about unknown names. The caller passes the known names and
 * decides whether an unknown name is an error or a warning.
 */
import { shortLimits } from "../short-limits.js";

/**
 * The most differences of a misspelling: a third of the letters, at most two. More makes another
 * word.
 */
function distanceMax(name: string): number {
  return Math.min(2, Math.floor(name.length / 3));
}

/**
 * The known name that `name` is most likely a misspelling of, or null. Letter case and the choice
 * of `-` or `_` don't count as differences.
 */
export function closestName(name: string, names: readonly string[]): string | null {
  const plainName = foldedName(name);
  let best: string | null = null;
  let bestDistance = distanceMax(name) + 1;
  for (const candidate of names) {
    const distance = editDistance(plainName, foldedName(candidate), bestDistance - 1);
    if (distance < bestDistance) {
      best = candidate;
      bestDistance = distance;
    }
  }
  return best;
}

/**
 * Names of keys in other programs, or that newcomers try. The hint names the first one that is
 * valid at the same place.
 */
const synonyms: Readonly<Record<string, readonly string[]>> = {
  address: ["host", "base_url"],
  api_base: ["base_url"],
  bind: ["host"],
  budget: ["amount", "budgets"],
  completion: ["output"],
  endpoint: ["base_url"],
  fallbacks: ["targets"],
  input_per_million: ["input"],
  interval: ["period"],
  key: ["api_key"],
  limit: ["max_requests", "amount", "rate_limits", "limits"],
  listen: ["host"],
  max_budget: ["amount"],
  model_list: ["providers"],
  name: ["path", "model", "label"],
  output_per_million: ["output"],
  prompt: ["input"],
  requests: ["max_requests"],
  rpm: ["max_requests"],
  secret: ["api_key", "master_key"],
  subject: ["path", "name", "model", "label"],
  token: ["api_key"],
  tokens: ["max_tokens"],
  tpm: ["max_tokens"],
  url: ["base_url"],
  usd: ["amount"],
  user_path: ["path"],
  window: ["period"],
};

/** `; did you mean port?` if a known name is close or a synonym, else nothing. */
export function didYouMean(name: string, names: readonly string[]): string {
  const words = Object.hasOwn(synonyms, foldedName(name)) ? synonyms[foldedName(name)]! : [];
  const close = closestName(name, names) ?? words.find((word) => names.includes(word)) ?? null;
  return close === null ? "" : `; did you mean ${close}?`;
}

/** `; did you mean port?` if a known name is close, else `: expected host, port`. */
export function nameHint(name: string, names: readonly string[]): string {
  const short = Object.hasOwn(shortLimits, foldedName(name))
    ? shortLimits[foldedName(name)]
    : undefined;
  const example = short === undefined ? undefined : `{ period: ${short.period}, ${short.cap}: … }`;
  if (example !== undefined && names.includes("max_requests") && names.includes("period"))
    return `; write ${example}`;
  if (/^(?:limit|budget)_key$/.test(name) && names.includes("period"))
    return "; write its period here, without it";
  if (example !== undefined && names.includes("limits")) return `; write limits: [${example}]`;
  const limited = `user_paths: [{ path: /, limits: [${example}] }]`;
  if (example !== undefined && names.includes("user_paths")) return `; write ${limited}`;
  if (example !== undefined && names.includes("rate_limits"))
    return `; write rate_limits: { ${limited} }`;
  if (example !== undefined && names.includes("base_url"))
    return "; limits of a provider are in rate_limits.providers";
  if (/_cost_per_token$/.test(name) && names.includes("input"))
    return `; write ${name.startsWith("output") ? "output" : "input"}, in US dollars per million tokens`;
  if (/[\u00a0\u200b-\u200f\u2028\u2060\ufeff]/.test(name))
    return "; it has an invisible character, such as a no-break space: write it anew";
  const hint = didYouMean(name, names);
  if (hint !== "" || names.length === 0) return hint;
  return `: expected ${names.join(", ")}`;
}

function foldedName(name: string): string {
  return name.toLowerCase().replaceAll("-", "_");
}

/**
 * The fewest inserted, deleted, replaced or swapped letters between two texts, or Infinity above
 * `max`. Each start compares every environment variable with every known one: most pairs differ in
 * their first letters, where the comparison ends.
 */
function editDistance(a: string, b: string, max: number): number {
  if (Math.abs(a.length - b.length) > max) return Infinity;
  let same = 0;
  while (same < a.length && a[same] === b[same]) same++;
  const restA = a.slice(same);
  const restB = b.slice(same);
  if (restA === "" || restB === "") return Math.max(restA.length, restB.length);
  if (max === 0) return Infinity;
  const further = (skippedA: number, skippedB: number): number => {
    const nextA = restA.slice(skippedA);
    const nextB = restB.slice(skippedB);
    if (max === 1) return nextA === nextB ? 1 : Infinity;
    return 1 + editDistance(nextA, nextB, max - 1);
  };
  const isSwapped = restA[0] === restB[1] && restA[1] === restB[0];
  return Math.min(
    further(1, 1),
    further(1, 0),
    further(0, 1),
    isSwapped ? further(2, 2) : Infinity,
  );
}
