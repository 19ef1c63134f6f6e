/**
 * What happens to a request when a rule or a budget is exhausted (`docs/limit-options.md`): it is
 * refused, counted all the same, or sent to another model. Pure.
 */
import { subjectBytesMax } from "../bounds.js";
import { bad, type Checked, good, isAbsent, isObject, show } from "../checked.js";
import { utf8Bytes } from "../text/utf8-bytes.js";
import { isPrintable } from "./target-name.js";

/**
 * `warn`: the rule or budget counts and refuses nothing. `use`: the model, usually a virtual one,
 * that serves the request instead. Absent in a definition: it is refused.
 */
export type OnExhausted = "warn" | { readonly use: string };

export interface Exhaustible {
  readonly onExhausted?: OnExhausted | undefined;
}

/**
 * Whether a rule or budget doesn't refuse a request. `uses`: the models to which other exhausted
 * limits have switched the request; a limit that names one of them doesn't refuse it.
 */
export function isLenient(
  { onExhausted }: Exhaustible,
  uses: readonly string[] | undefined,
): boolean {
  if (onExhausted === undefined) return false;
  return onExhausted === "warn" || uses?.includes(onExhausted.use) === true;
}

/** The model that serves instead, in the form of a refusal. */
export function useField({ onExhausted }: Exhaustible): { readonly use?: string } {
  return typeof onExhausted === "object" ? { use: onExhausted.use } : {};
}

/** Checks `on_exhausted`, which may be absent. */
export function parseOnExhausted(value: unknown, param: string): Checked<Exhaustible> {
  if (isAbsent(value) || value === "refuse") return good({});
  if (value === "warn") return good({ onExhausted: value });
  if (!isObject(value))
    return bad(
      `${param} must be refuse, warn, or a mapping with a model, such as {use: gpt-4o-mini}, not ${show(value)}`,
      param,
    );
  const { use, ...others } = value;
  const [unknown] = Object.keys(others);
  if (unknown !== undefined)
    return bad(`unknown field ${param}.${unknown}: expected ${param}.use`, `${param}.${unknown}`);
  const isName =
    typeof use === "string" &&
    use.trim() !== "" &&
    utf8Bytes(use) <= subjectBytesMax &&
    isPrintable(use);
  return isName
    ? good({ onExhausted: { use: use.trim() } })
    : bad(`${param}.use must be the name of a model, not ${show(use)}`, `${param}.use`);
}

/** The flag's `refuse`, `warn` or `use=MODEL` in the form of a body. */
export function onExhaustedOfText(text: unknown): unknown {
  return typeof text === "string" && text.startsWith("use=")
    ? { use: text.slice("use=".length) }
    : text;
}

/** The field of bodies and lists. */
export interface ExhaustedField {
  readonly on_exhausted?: OnExhausted;
}

export function exhaustedField({ onExhausted }: Exhaustible): ExhaustedField {
  return onExhausted === undefined ? {} : { on_exhausted: onExhausted };
}

export function isSameOnExhausted(a: Exhaustible, b: Exhaustible): boolean {
  return JSON.stringify(a.onExhausted) === JSON.stringify(b.onExhausted);
}

/** In words, for lists: `warns only`, or `then cheap`. */
export function exhaustedWords(value: unknown): string | null {
  if (value === "warn") return "warns only";
  return isObject(value) && typeof value["use"] === "string" ? `then ${value["use"]}` : null;
}
