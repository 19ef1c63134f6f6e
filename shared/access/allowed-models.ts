/**
 * Lists of models that a caller may use (docs/authentication.md, "Models"): patterns, from an
 * operator or a token, and the names by which a request's model may be allowed. Which names those
 * are is known where models are resolved: `proxy/routing/allowable-names.ts`.
 */
import { bad, type Checked, good, show } from "../checked.js";
import { type Failure, failure } from "../error-code.js";
import { utf8Bytes } from "../text/utf8-bytes.js";

/** Patterns of one list: each request of its caller compares its model with all of them. */
export const modelPatternsMax = 64;
/** One pattern; all keys are in memory. */
export const modelPatternBytesMax = 256;
/** Names of one request, told to the daemon: see `Admit`. */
export const modelNamesMax = 5;
/** Patterns that a refusal names. */
const shownMax = 8;

/**
 * A model's name, or how names begin and an asterisk. In lower case: letter case doesn't matter.
 */
export type ModelPatterns = readonly string[];

const expected = "a model's name such as gpt-4o or openai/gpt-4o, or how names begin and *";

/** A list from outside, `param` being its name. An empty one allows no model. */
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
    if (typeof item !== "string" || !isPattern(item.trim()))
      return bad(`${at} must be ${expected}, not ${show(item)}`, at);
    patterns.add(item.trim().toLowerCase());
  }
  return good([...patterns]);
}

function isPattern(text: string): boolean {
  return /^[^\s*\p{Cc}]*\*?$/u.test(text) && text !== "" && utf8Bytes(text) <= modelPatternBytesMax;
}

/** Whether a list allows a model that has these names: one of them is enough. */
export function allowsModel(patterns: ModelPatterns, names: readonly string[]): boolean {
  return names.some((name) => {
    const lower = name.toLowerCase();
    return patterns.some((pattern) =>
      pattern.endsWith("*") ? lower.startsWith(pattern.slice(0, -1)) : lower === pattern,
    );
  });
}

/** The 403 for a request that a list doesn't allow. `who`: for people, such as `key_7`. */
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
