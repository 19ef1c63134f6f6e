/**
 * The lists of models that a caller may use (docs/authentication.md, "Models"): patterns from an
 * operator or a token, compared with the names of the requested model. Not here: the names of a
 * requested model (`allowableNames` in `proxy/routing/resolve-model.ts`).
 */
import { bad, type Checked, good, show } from "../checked.js";
import { type Failure, failure } from "../error-code.js";
import { utf8Bytes } from "../text/utf8-bytes.js";

/** Patterns in one list: each request compares its model with all of them. */
export const modelPatternsMax = 64;
/** Bytes of one pattern; all keys are in memory. */
export const modelPatternBytesMax = 256;
/** Model names of one request, sent to the daemon in `Admit`. */
export const modelNamesMax = 5;
/** Patterns that a refusal lists. */
const shownMax = 8;

/**
 * A model's name, or a prefix and an asterisk, in lower case, since letter case doesn't matter. A
 * pattern after `!` excludes models that others allow.
 */
export type ModelPatterns = readonly string[];

const expected =
  "a model's name such as gpt-4o or openai/gpt-4o, how names begin and *, or one of these after !";

/** Checks a list from outside, named `param`. An empty list allows no model. */
export function parseModelPatterns(raw: unknown, param: string): Checked<ModelPatterns> {
  if (!Array.isArray(raw) || raw.length > modelPatternsMax)
    return bad(
      `${param} must be a list of at most ${modelPatternsMax} names of models, not ${
        Array.isArray(raw) ? `one of ${raw.length}` : show(raw)
      }`,
      param,
    );
  const patterns = new Set<string>();
  for (const [i, item] of (raw as unknown[]).entries()) {
    const path = `${param}[${i}]`;
    const pattern = typeof item === "string" ? item.trim().toLowerCase() : "";
    if (!isModelPattern(isExcluding(pattern) ? pattern.slice(1) : pattern))
      return bad(`${path} must be ${expected}, not ${show(item)}`, path);
    patterns.add(pattern);
  }
  return leavesOutOnly([...patterns])
    ? bad(`${param} names only models to leave out: add "*" for all others`, param)
    : good([...patterns]);
}

/** Whether a pattern excludes models. */
export function isExcluding(pattern: string): boolean {
  return pattern.startsWith("!");
}

/** Whether a list has patterns, and all of them exclude models. */
export function leavesOutOnly(patterns: readonly string[]): boolean {
  return patterns.length > 0 && patterns.every(isExcluding);
}

/** Whether a text is one pattern. */
export function isModelPattern(text: string): boolean {
  return /^[^\s*\p{Cc}]*\*?$/u.test(text) && text !== "" && utf8Bytes(text) <= modelPatternBytesMax;
}

/** Whether a list allows a model by one of its names, and excludes none of them. */
export function allowsModel(patterns: ModelPatterns, names: readonly string[]): boolean {
  return (
    patterns.some((pattern) => !isExcluding(pattern) && matchesAny(pattern, names)) &&
    excludingPattern(patterns, names) === undefined
  );
}

/** The pattern that excludes a model. */
function excludingPattern(patterns: ModelPatterns, names: readonly string[]): string | undefined {
  return patterns.find((pattern) => isExcluding(pattern) && matchesAny(pattern.slice(1), names));
}

function matchesAny(pattern: string, names: readonly string[]): boolean {
  return names.some((name) => {
    const lower = name.toLowerCase();
    return pattern.endsWith("*") ? lower.startsWith(pattern.slice(0, -1)) : lower === pattern;
  });
}

/** The 403 for a model that the list doesn't allow. `who` names the caller, such as `key_7`. */
export function modelNotAllowed(
  who: string,
  patterns: ModelPatterns,
  names: readonly string[],
): Failure {
  const [requestedModel] = names;
  const excluding = excludingPattern(patterns, names);
  if (requestedModel !== undefined && excluding !== undefined)
    return failure(
      "model_not_allowed",
      `${who} may not use the model ${JSON.stringify(requestedModel)}: ${excluding} in its list leaves it out`,
      "model",
    );
  const more = patterns.length > shownMax ? ` and ${patterns.length - shownMax} more` : "";
  const allowed =
    patterns.length === 0 ? "none" : `${patterns.slice(0, shownMax).join(", ")}${more}`;
  return failure(
    "model_not_allowed",
    requestedModel === undefined
      ? `${who} may use some models alone, and this request could use others; it may use: ${allowed}`
      : `${who} may not use the model ${JSON.stringify(requestedModel)}; it may use: ${allowed}`,
    "model",
  );
}
