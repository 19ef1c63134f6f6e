/**
 * What the body of a request about stored objects must be, so that the provider can't read another
 * object in it than those that are looked up (`object-ids.ts`).
 */
import { isObject, parseJson } from "../../shared/checked.js";
import { type Failure, invalid } from "../../shared/error-code.js";
import type { Operation } from "../../shared/operation.js";
import { kindOf } from "../body/json-value.js";
import { stringEnd } from "../body/scan-json.js";
import { mayName, naming } from "./object-ids.js";

/** Why a body isn't taken: a 400; null: it is. */
export function objectBodyProblem(
  bytes: Buffer,
  isUtf8: (bytes: Buffer) => boolean,
): Failure | null {
  if (!isUtf8(bytes))
    return invalid("the body must be a JSON object: it is not valid UTF-8", "body");
  const text = bytes.toString("utf8");
  const body = parseJson(text);
  if (body === undefined)
    return invalid("the body must be a JSON object: it is not valid JSON", "body");
  if (!isObject(body))
    return invalid(`the body must be a JSON object, not ${kindOf(body)}`, "body");
  for (const [name, value] of membersIn(body)) {
    const problem = memberProblem(name, value);
    if (problem !== null) return invalid(problem, name);
  }
  return repeatedProblem(text, body);
}

/**
 * Why a request to a model isn't taken: one of its fields that name an object is there twice, and
 * the provider might read the other one. In a tool's input the same names mean nothing, so how they
 * are written isn't looked at.
 */
export function repeatedNaming(bytes: Buffer, operation: Operation | null): Failure | null {
  if (!mayName(bytes, operation)) return null;
  const isTwice = (name: string): boolean => {
    const first = bytes.indexOf(`"${name}"`);
    return first !== -1 && bytes.includes(`"${name}"`, first + name.length);
  };
  if (!bytes.includes("\\u") && ![...naming, "id"].some(isTwice)) return null;
  const text = bytes.toString("latin1");
  return repeatedProblem(text, parseJson(text));
}

/** The members of all objects in a body, however deep. */
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
  const read = new Map<string, number>();
  for (const [name] of membersIn(body))
    if (isCounted(name)) read.set(name, (read.get(name) ?? 0) + 1);
  const repeated = repeatedName(text, read);
  return repeated === null ? null : invalid(`${repeated} is given more than once`, repeated);
}

const isCounted = (name: string): boolean => name === "id" || naming.has(name);

/** As parsers that don't tell capitals from small letters compare names. */
const folded = (name: string): string => name.toUpperCase().toLowerCase();

function memberProblem(name: string, value: unknown): string | null {
  const meant = folded(name);
  if (!naming.has(meant)) return null;
  for (const item of Array.isArray(value) ? value : [value]) {
    const named = isObject(item) ? Object.entries(item) : [["id", item] as const];
    for (const [key, id] of named) {
      if (folded(key) !== "id" || typeof id !== "string") continue;
      if (name !== meant) return `${name} is given: the field is called ${meant}`;
      if (key !== "id") return `${name}.${key} is given: the field is called id`;
      if (id !== id.trim()) return `${name} must not have white space around it`;
    }
  }
  return null;
}

/**
 * A name that the text has more often than what was read of it: once in the same object, or within
 * a member that is repeated itself.
 */
function repeatedName(text: string, read: ReadonlyMap<string, number>): string | null {
  const written = new Map<string, number>();
  const colon = /[ \t\r\n]*:/y;
  for (let quote = text.indexOf('"'); quote !== -1; ) {
    const end = stringEnd(text, quote);
    colon.lastIndex = end;
    if (colon.test(text)) {
      const name = JSON.parse(text.slice(quote, end)) as string;
      if (isCounted(name)) written.set(name, (written.get(name) ?? 0) + 1);
    }
    quote = text.indexOf('"', end);
  }
  for (const [name, count] of written) if (count !== (read.get(name) ?? 0)) return name;
  return null;
}
