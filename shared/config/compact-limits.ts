/**
 * The compact form of a rule variable: `rpm=100, tpm=50000; concurrent=8` (SPEC "Configuration forms
 * of rules", CONTRACT section 9). Which subject the limits are for isn't known here.
 */
import { show } from "../rule.js";
import { nameHint } from "./closest-name.js";
import type { Limit } from "./limit-fields.js";

type Dimension = "maxRequests" | "maxTokens";

const compactKeys: ReadonlyMap<string, { readonly periodSeconds: number; readonly dimension: Dimension }> = new Map([
  ["rpm", { periodSeconds: 60, dimension: "maxRequests" }],
  ["tpm", { periodSeconds: 60, dimension: "maxTokens" }],
  ["rph", { periodSeconds: 3600, dimension: "maxRequests" }],
  ["tph", { periodSeconds: 3600, dimension: "maxTokens" }],
  ["rpd", { periodSeconds: 86_400, dimension: "maxRequests" }],
  ["tpd", { periodSeconds: 86_400, dimension: "maxTokens" }],
  ["concurrent", { periodSeconds: 0, dimension: "maxRequests" }],
]);

/**
 * Parses a compact list. Pairs are separated by commas, semicolons or newlines; `name=value` and
 * `name:value` are the same; names come in any case; the last of a repeated name wins. Request and
 * token caps of one period make one limit; limits come shortest period first. A blank text has none.
 * Problems name `variable`.
 */
export function parseCompactLimits(text: string, variable: string, problems: string[]): readonly Limit[] {
  const byPeriod = new Map<number, { maxRequests: number | null; maxTokens: number | null }>();
  for (const piece of text.split(/[,;\n]/)) {
    const pair = piece.trim();
    if (pair === "") continue;
    const separator = pair.search(/[=:]/);
    if (separator < 0) {
      problems.push(`${variable} must hold pairs such as rpm=100, not ${show(pair)}`);
      continue;
    }
    const name = pair.slice(0, separator).trim();
    const key = compactKeys.get(name.toLowerCase());
    if (key === undefined) {
      problems.push(`${variable} holds the unknown key ${show(name)}${nameHint(name, [...compactKeys.keys()])}`);
      continue;
    }
    const cap = parseCap(pair.slice(separator + 1).trim());
    if (typeof cap === "string") {
      problems.push(`${variable}: ${name.toLowerCase()} ${cap}`);
      continue;
    }
    const caps = byPeriod.get(key.periodSeconds) ?? { maxRequests: null, maxTokens: null };
    caps[key.dimension] = cap;
    byPeriod.set(key.periodSeconds, caps);
  }
  return [...byPeriod].sort(([a], [b]) => a - b).map(([periodSeconds, caps]) => ({ periodSeconds, ...caps }));
}

/** The cap, or what is wrong with it. */
function parseCap(text: string): number | string {
  const value = /^-?\d+$/.test(text) ? Number(text) : NaN;
  if (value <= 0) return `must be greater than 0, not ${show(text)}`;
  if (!Number.isSafeInteger(value)) return `must be an integer from 1 to ${Number.MAX_SAFE_INTEGER}, not ${show(text)}`;
  return value;
}
