/**
 * The compact form of a rule variable: `rpm=100, tpm=50000; concurrent=8` (SPEC "Configuration
 * forms of rules", CONTRACT section 9). Which subject the limits are for isn't known here.
 */
import { show } from "../../checked.js";
import type { Limit } from "./limit-fields.js";
import { readPairs } from "./limit-form.js";

type Dimension = "maxRequests" | "maxTokens";

const compactKeys: ReadonlyMap<
  string,
  { readonly periodSeconds: number; readonly dimension: Dimension }
> = new Map([
  ["rpm", { periodSeconds: 60, dimension: "maxRequests" }],
  ["tpm", { periodSeconds: 60, dimension: "maxTokens" }],
  ["rph", { periodSeconds: 3600, dimension: "maxRequests" }],
  ["tph", { periodSeconds: 3600, dimension: "maxTokens" }],
  ["rpd", { periodSeconds: 86_400, dimension: "maxRequests" }],
  ["tpd", { periodSeconds: 86_400, dimension: "maxTokens" }],
  ["concurrent", { periodSeconds: 0, dimension: "maxRequests" }],
]);

/**
 * Parses a compact list. The last of a repeated name wins; request and token caps of one period
 * make one limit; limits come shortest period first. A blank text has none. Problems name
 * `variable`.
 */
export function parseCompactLimits(
  text: string,
  variable: string,
  problems: string[],
): readonly Limit[] {
  const byPeriod = new Map<number, { maxRequests: number | null; maxTokens: number | null }>();
  for (const { name, value } of readPairs(
    text,
    { variable, example: "rpm=100", known: [...compactKeys.keys()] },
    problems,
  )) {
    const key = compactKeys.get(name)!;
    const cap = parseCap(value);
    if (typeof cap === "string") {
      problems.push(`${variable}: ${name} ${cap}`);
      continue;
    }
    const caps = byPeriod.get(key.periodSeconds) ?? { maxRequests: null, maxTokens: null };
    caps[key.dimension] = cap;
    byPeriod.set(key.periodSeconds, caps);
  }
  return [...byPeriod]
    .sort(([a], [b]) => a - b)
    .map(([periodSeconds, caps]) => ({ periodSeconds, ...caps }));
}

/** The cap, or what is wrong with it. */
function parseCap(text: string): number | string {
  const value = /^-?\d+$/.test(text) ? Number(text) : NaN;
  if (value <= 0) return `must be greater than 0, not ${show(text)}`;
  if (!Number.isSafeInteger(value))
    return `must be an integer from 1 to ${Number.MAX_SAFE_INTEGER}, not ${show(text)}`;
  return value;
}
