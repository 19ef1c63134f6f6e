/**
 * Checks the body of a request about stored objects, so that the provider can't find another object
 * in it than those that `object-ids.ts` finds. A body is parsed once, here or by the caller, which
 * passes the value.
 */
import { isObject, parseJson } from "../../shared/checked.js";
import { type Failure, invalid } from "../../shared/error-code.js";
import type { Operation } from "../../shared/operation.js";
import { type BodyOutline, hasMoreValues, tooManyValues } from "../body/count-values.js";
import { kindOf } from "../body/json-value.js";
import { readKey, stringEnd } from "../body/scan-json.js";
import { hasEscapedLetter, mayName, type NamedIds, namedIds, naming } from "./object-ids.js";

type Fields = Readonly<Record<string, unknown>>;

/** A body with the objects that it names (null: too many), or the failure: a 400. */
export type ParsedObjectBody =
  | { readonly ok: true; readonly fields: Fields; readonly named: NamedIds | null }
  | { readonly ok: false; readonly failure: Failure };

/** `isUtf8`: that of node:buffer, or another complete check. */
export function parseObjectBody(
  bytes: Buffer,
  isUtf8: (bytes: Buffer) => boolean,
): ParsedObjectBody {
  return isUtf8(bytes)
    ? parseObjectText(bytes.toString("utf8"))
    : notObject("it is not valid UTF-8");
}

export function parseObjectText(text: string): ParsedObjectBody {
  if (hasMoreValues(text)) return { ok: false, failure: tooManyValues() };
  const fields = parseJson(text);
  if (fields === undefined) return notObject("it is not valid JSON");
  if (!isObject(fields)) {
    const problem = `the body must be a JSON object, not ${kindOf(fields)}`;
    return { ok: false, failure: invalid(problem, "body") };
  }
  const failure = partProblem(text, fields);
  return failure === null ? { ok: true, fields, named: namedIds(fields) } : { ok: false, failure };
}

export function notObject(why: string): Extract<ParsedObjectBody, { readonly ok: false }> {
  return { ok: false, failure: invalid(`the body must be a JSON object: ${why}`, "body") };
}

/** Why a body, or a part of one, is refused. `value` was parsed from `text`. */
export function partProblem(text: string, value: unknown): Failure | null {
  for (const [name, member] of membersIn(value)) {
    const problem = memberProblem(name, member);
    if (problem !== null) return invalid(problem, name);
  }
  return repeatedProblem(text, value);
}

/** The stored objects that a request to a model names. */
export interface Naming {
  /** Null: too many. */
  readonly ids: NamedIds | null;
  /**
   * The failure if a field that names an object is repeated, since the provider might read the
   * other one. In a tool's input such names have no meaning, so their spelling isn't checked.
   */
  readonly repeated: Failure | null;
}

/**
 * The names in a JSON text, which was parsed to `fields`; null if it names nothing. `counted`: how
 * many names the text has, and whether one may contain escapes; null if unknown.
 */
export function namingIn(
  bytes: Buffer,
  value: unknown,
  operation: Operation | null,
  counted: Pick<BodyOutline, "names" | "escapesNames"> | null = null,
): Naming | null {
  const escapesNames = counted?.escapesNames ?? hasEscapedLetter(bytes);
  if (!mayName(bytes, operation, escapesNames)) return null;
  const isTwice = (name: string): boolean => {
    const first = bytes.indexOf(`"${name}"`);
    return first !== -1 && bytes.includes(`"${name}"`, first + name.length);
  };
  const mayRepeat =
    counted === null
      ? escapesNames || [...naming, "id"].some(isTwice)
      : counted.names !== namesIn(value);
  return {
    ids: namedIds(value),
    // The names that matter are ASCII, in Latin-1 too.
    repeated: mayRepeat ? repeatedProblem(bytes.toString("latin1"), value) : null,
  };
}

/** The number of different member names, over all objects. */
function namesIn(body: unknown): number {
  let names = 0;
  const open: unknown[] = [body];
  while (open.length > 0) {
    const value = open.pop();
    if (typeof value !== "object" || value === null) continue;
    const members = Object.values(value);
    if (!Array.isArray(value)) names += members.length;
    for (const value of members) if (typeof value === "object" && value !== null) open.push(value);
  }
  return names;
}

/** The members of all objects in a body, at any depth. */
function* membersIn(body: unknown): Generator<readonly [name: string, value: unknown]> {
  const open: unknown[] = [body];
  while (open.length > 0) {
    const value = open.pop();
    if (Array.isArray(value)) for (const item of value) open.push(item);
    else if (isObject(value))
      for (const name in value) {
        yield [name, value[name]];
        open.push(value[name]);
      }
  }
}

function repeatedProblem(text: string, body: unknown): Failure | null {
  const counts = new Map<string, number>();
  for (const [name] of membersIn(body))
    if (isCounted(name)) counts.set(name, (counts.get(name) ?? 0) + 1);
  const repeated = repeatedName(text, counts);
  return repeated === null ? null : invalid(`${repeated} is given more than once`, repeated);
}

const isCounted = (name: string): boolean => name === "id" || naming.has(name);

/** // Some parsers compare names without regard to case. */
const folded = (name: string): string => name.toUpperCase().toLowerCase();

function memberProblem(name: string, value: unknown): string | null {
  const foldedName = folded(name);
  if (!naming.has(foldedName)) return null;
  for (const item of Array.isArray(value) ? value : [value]) {
    const entries = isObject(item) ? Object.entries(item) : [["id", item] as const];
    for (const [key, id] of entries) {
      if (folded(key) !== "id" || typeof id !== "string") continue;
      if (name !== foldedName) return `${name} is given: the field is called ${foldedName}`;
      if (key !== "id") return `${name}.${key} is given: the field is called id`;
      if (id !== id.trim()) return `${name} must not have white space around it`;
    }
  }
  return null;
}

/**
 * A name that occurs in the text more often than in the parsed value: twice in the same object, or
 * within a repeated member.
 */
function repeatedName(text: string, counts: ReadonlyMap<string, number>): string | null {
  const written = new Map<string, number>();
  const colon = /[ \t\r\n]*:/y;
  for (let quote = text.indexOf('"'); quote !== -1; ) {
    const end = stringEnd(text, quote);
    colon.lastIndex = end;
    if (colon.test(text)) {
      const name = readKey(text, quote, end);
      if (isCounted(name)) written.set(name, (written.get(name) ?? 0) + 1);
    }
    quote = text.indexOf('"', end);
  }
  for (const [name, count] of written) if (count !== (counts.get(name) ?? 0)) return name;
  return null;
}
