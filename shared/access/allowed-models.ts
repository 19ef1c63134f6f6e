/**
 * The lists of models that a caller may use (docs/authentication.md, "Models"): patterns from an
 * operator or a token, compared with the names of the requested model. Not here: the names of a
 * requested model (`proxy/routing/allowable-names.ts`).
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

/** A model's name, or a prefix and an asterisk, in lower case: letter case doesn't matter. */
export type ModelPatterns = readonly string[];

const expected = "a model's name such as gpt-4o or openai/gpt-4o, or how names begin and *";

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
    const at = `${param}[${i}]`;
    if (typeof item !== "string" || !isModelPattern(item.trim()))
      return bad(`${at} must be ${expected}, not ${show(item)}`, at);
    patterns.add(item.trim().toLowerCase());
  }
  return good([...patterns]);
}

/** Whether a text is one pattern. */
export function isModelPattern(text: string): boolean {
  return /^[^\s*\p{Cc}]*\*?$/u.test(text) && text !== "" && utf8Bytes(text) <= modelPatternBytesMax;
}

/** Whether a list allows a model by any of its names. */
export function allowsModel(patterns: ModelPatterns, names: readonly string[]): boolean {
  return names.some((name) => {
    const lower = name.toLowerCase();
    return patterns.some((pattern) =>
      pattern.endsWith("*") ? lower.startsWith(pattern.slice(0, -1)) : lower === pattern,
    );
  });
}

/** The 403 for a model that the list doesn't allow. `who` names the caller, such as `key_7`. */
export function modelNotAllowed(
  who: string,
  patterns: ModelPatterns,
  names: readonly string[],
): Failure {
  const [asked] = names;
  const more = patterns.length > shownMax ? ` and ${patterns.length - shownMax} more` : "";
  const allowed =
    patterns.length === 0 ? "none" : `${patterns.slice(0, shownMax).join(", ")}${more}`;
  return failure(
    "model_not_allowed",
    asked === undefined
      ? `${who} may use some models alone, and this request could use others; it may use: ${allowed}`
      : `${who} may not use the model ${JSON.stringify(asked)}; it may use: ${allowed}`,
    "model",
  );
}
