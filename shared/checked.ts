/**
 * The result of checking a value from outside: either the value or a failure that names the field
 * and what was expected. Also helpers for such checks.
 */

import { closestName } from "./config/closest-name.js";
import { type Failure, invalid } from "./error-code.js";
import { shortLimits } from "./short-limits.js";

export type Checked<T> =
  | { readonly ok: true; readonly value: T }
  | { readonly ok: false; readonly failure: Failure };

export function good<T>(value: T): Checked<T> {
  return { ok: true, value };
}

/** A 400; `param` names the field. */
export function bad(message: string, param: string): Checked<never> {
  return { ok: false, failure: invalid(message, param) };
}

/** Undefined if the text isn't JSON. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Whether a value from outside is a safe integer of at least `min`. */
export function isCount(value: unknown, min = 0): value is number {
  return Number.isSafeInteger(value) && (value as number) >= min;
}

/** Whether a value from outside is an object with fields: neither null nor a list. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a field from outside is missing; JSON's null counts as missing too. */
export function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}

/** Whether a field of a body has a value; the empty text doesn't count. */
export function present(value: unknown): boolean {
  return value !== undefined && value !== null && value !== "";
}

interface ObjectForm {
  /** The path of the enclosing object, such as `limit_key.`; empty for the body. */
  readonly prefix?: string;
  /** The fields that may be null. */
  readonly nullable?: readonly string[];
  /** What the names are; by default fields. */
  readonly word?: "field" | "parameter";
}

/** Checks that a body, or an object in it, has known fields only. */
export function asObject(
  body: unknown,
  fieldNames: readonly string[],
  { prefix = "", nullable = [], word = "field" }: ObjectForm = {},
): Checked<Readonly<Record<string, unknown>>> {
  if (!isObject(body))
    return bad(
      `${prefix === "" ? "the body" : prefix.slice(0, -1)} must be a JSON object, not ${show(body)}`,
      prefix === "" ? "body" : prefix.slice(0, -1),
    );
  for (const [name, value] of Object.entries(body)) {
    const field = `${prefix}${shortName(name)}`;
    if (!fieldNames.includes(name)) {
      const key = fieldNames.find((name) => name === "limit_key" || name === "budget_key");
      const close = closestName(name, fieldNames);
      const isPeriod = name === "period" || name === "period_seconds";
      const short =
        fieldNames.includes("max_requests") && Object.hasOwn(shortLimits, name)
          ? shortLimits[name]
          : undefined;
      const hint =
        key !== undefined && isPeriod
          ? `write "${key}": {"${name}": …}`
          : key !== undefined && short !== undefined
            ? `write "${key}": {"period": "${short.period}"}, "${short.cap}": …`
            : close !== null
              ? `did you mean ${prefix}${close}?`
              : `expected ${fieldNames.length === 0 ? "none" : fieldNames.map((name) => prefix + name).join(", ")}`;
      return bad(`unknown ${word} ${field}: ${hint}`, field);
    }
    // Null must not count as absent: the field may be the one that guards a change.
    if (value === null && !nullable.includes(name))
      return bad(`${field} must have a value, or be left out, not null`, field);
  }
  return good(body);
}

/**
 * Checks the parameters of a query. Clients of the socket may send null for an absent parameter.
 */
export function asQuery(
  body: unknown,
  fieldNames: readonly string[],
): Checked<Readonly<Record<string, unknown>>> {
  if (!isObject(body ?? {})) return asObject(body, fieldNames);
  return asObject(
    Object.fromEntries(Object.entries(body ?? {}).filter(([, value]) => value !== null)),
    fieldNames,
    { word: "parameter" },
  );
}

/** Checks the body of a request that resets everything. */
export function parseConfirmation(body: unknown): Checked<true> {
  const fields = asObject(body, ["confirmation"]);
  if (!fields.ok) return fields;
  const confirmation = fields.value["confirmation"];
  return typeof confirmation === "string" && confirmation.trim().toLowerCase() === "reset"
    ? good(true)
    : bad("confirmation must be reset", "confirmation");
}

const nameCharsMax = 200;

/** The name or path of a field from outside, short enough for a message. */
export function shortName(name: string): string {
  return name.length > nameCharsMax ? `${name.slice(0, nameCharsMax)}...` : name;
}

/** A value from outside, short enough for a message. */
export function show(value: unknown): string {
  if (value === undefined) return "nothing";
  // JSON writes numbers that aren't finite as null.
  if (typeof value === "number") return String(value);
  let text: string;
  try {
    text = JSON.stringify(value) ?? String(value);
  } catch {
    // A cyclic value can't come from JSON or YAML text; its type is enough.
    text = typeof value;
  }
  return text.length > 80 ? `${text.slice(0, 77)}...` : text;
}

/** Like `show`, for a section or an entry, which may contain a secret: its type only. */
export function showKind(value: unknown): string {
  if (Array.isArray(value)) return "a list";
  if (isObject(value)) return "a mapping";
  return typeof value === "string" ? "a text" : show(value);
}
