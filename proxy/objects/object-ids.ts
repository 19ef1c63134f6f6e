/** The ids of stored objects: of new objects, in an answer, and of objects that a body names. */
import { isObject } from "../../shared/checked.js";
import type { Operation } from "../../shared/operation.js";
import { isObjectId } from "../../shared/wire/stored-object.js";

/**
 * The ids of the objects that an answer reports as created: the object itself, the files that a
 * batch has written, and the file of a completed upload.
 */
export function madeIds(operation: Operation, answer: unknown): readonly string[] {
  if (!isObject(answer)) return [];
  const { id, file, message, output_file_id: output, error_file_id: errors } = answer;
  // Of a stream, its first event.
  if (operation === "messages" && isObject(message)) return madeIds(operation, message);
  const ids: unknown[] = [id];
  if (operation === "batches") ids.push(output, errors);
  if (operation === "uploads" && isObject(file)) ids.push(file["id"]);
  return ids.filter(isObjectId);
}

/** The fields that name an object, by a text, a list of texts, or an object with an `id`. */
export const naming: ReadonlySet<string> = new Set([
  "file_id",
  "file_ids",
  "input_file_id",
  "previous_response_id",
  "previous_interaction_id",
  "previous_message_id",
  "response_id",
  "conversation",
  "conversation_id",
  "container",
  "container_id",
  "batch_id",
  "upload_id",
  "part_ids",
]);

/** The suffix of most of these field names, for which a body is searched. */
const ending = Buffer.from("_id");
/** The beginning of escapes for letters and the underscore, which no program writes. */
const escapeOfAscii = Buffer.from("\\u00");
const escapedLetters = ["4", "5", "6", "7"].map((digit) => Buffer.from(`\\u00${digit}`));
/**
 * The other field names. They begin with frequent letters, so searching for them takes five times
 * longer.
 */
const furtherSigns = ['conversation"', 'container"'].map((sign) => Buffer.from(sign));

/** Ids that one body may name. A body with more is refused, since any may be another caller's. */
export const namedMax = 1000;

/** Ids of objects, each with the field that names it. */
export type NamedIds = ReadonlyMap<string, string>;

/** The ids in a parsed body, at any depth; null if there are more than `namedMax`. */
export function namedIds(body: unknown): NamedIds | null {
  const ids = new Map<string, string>();
  const open: unknown[] = [body];
  while (open.length > 0) {
    if (ids.size > namedMax) return null;
    const value = open.pop();
    if (Array.isArray(value)) for (const item of value) open.push(item);
    else if (isObject(value))
      for (const name in value) {
        if (naming.has(name)) addIds(ids, name, value[name]);
        open.push(value[name]);
      }
  }
  return ids.size > namedMax ? null : ids;
}

/**
 * False if a JSON body names no object. Most name none, and are only searched. Chat completions and
 * messages have neither conversations nor containers of OpenAI's.
 */
export function mayName(body: Buffer, operation: Operation | null, escapesNames: boolean): boolean {
  const isNaming = (sign: Buffer): boolean => body.includes(sign);
  const hasFurther = operation !== "chat_completions" && operation !== "messages";
  return isNaming(ending) || escapesNames || (hasFurther && furtherSigns.some(isNaming));
}

/** Whether a JSON text may contain one of those names, which are ASCII, with escapes. */
export function hasEscapedLetter(body: Buffer): boolean {
  // Text that isn't ASCII has other escapes, and so has Go's `<`.
  return body.includes(escapeOfAscii) && escapedLetters.some((letter) => body.includes(letter));
}

function addIds(ids: Map<string, string>, field: string, value: unknown): void {
  for (const item of Array.isArray(value) ? value : [value]) {
    const id: unknown = isObject(item) ? item["id"] : item;
    if (isObjectId(id)) ids.set(id, field);
  }
}
