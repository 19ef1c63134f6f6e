/**
 * The two edits that Sluice may make to the body of a request to a model: another `model`, and
 * `stream_options.include_usage`. All other bytes stay as the client wrote them.
 */
import type { Operation } from "../../shared/operation.js";
import type { ModelBody, ModelField } from "./model-body.js";
import { type JsonMember, lastMember, scanObject } from "./scan-json.js";

interface BodyEdits {
  /** The new value of the top-level `model`. */
  readonly model?: string | undefined;
  /** The field that names the model; `model` if absent. */
  readonly modelField?: ModelField;
  /** Requests the usage chunk of a stream. */
  readonly includeUsage?: true | undefined;
}

/**
 * The body with another model, and with `stream_options.include_usage` true. All other bytes are
 * the same; if no edit changes anything, the same Buffer is returned. `bytes` must be a body that
 * `parseModelBody` accepted; its `members` save a second scan.
 */
export function editModelBody(
  bytes: Buffer,
  edits: BodyEdits,
  members: readonly JsonMember[] | null = null,
): Buffer {
  if (edits.model === undefined && edits.includeUsage === undefined) return bytes;
  members ??= scanObject(bytes.toString("latin1"));
  const splices: Splice[] = [];
  if (edits.model !== undefined)
    splices.push(
      setMember(
        members,
        edits.modelField ?? "model",
        JSON.stringify(edits.model),
        bytes.indexOf("{") + 1,
      ),
    );
  if (edits.includeUsage !== undefined) {
    const splice = includeUsageSplice(bytes, members);
    if (splice !== null) splices.push(splice);
  }
  return splices.length === 0
    ? bytes
    : applySplices(
        bytes,
        splices.sort((a, b) => a.start - b.start),
      );
}

/** Whether to ask for a stream's usage: the client didn't, and the provider accepts the option. */
export function mustAskUsage(
  operation: Operation,
  { stream, includeUsage }: Pick<ModelBody, "stream" | "includeUsage">,
  { chat }: { readonly chat: { readonly takesStreamOptions: boolean } },
): boolean {
  const isChat = operation === "chat_completions" || operation === "completions";
  return isChat && stream && !includeUsage && chat.takesStreamOptions;
}

/** Replaces the bytes from `start` to `end` with `text`. */
interface Splice {
  readonly start: number;
  readonly end: number;
  readonly text: string;
}

/**
 * Replaces a member's value, or adds the member after the last one. In an empty object it goes to
 * `opened`.
 */
function setMember(members: readonly JsonMember[], key: string, value: string, opened = 0): Splice {
  const member = lastMember(members, key);
  if (member !== null) return { start: member.start, end: member.end, text: value };
  if (members.length === 0) return { start: opened, end: opened, text: `"${key}":${value}` };
  const { end } = members[members.length - 1]!;
  return { start: end, end, text: `,"${key}":${value}` };
}

/** Null if the body requests usage already. */
function includeUsageSplice(bytes: Buffer, members: readonly JsonMember[]): Splice | null {
  const member = lastMember(members, "stream_options");
  const text = member === null ? "null" : bytes.toString("latin1", member.start, member.end);
  if (member === null || text === "null")
    return setMember(members, "stream_options", '{"include_usage":true}');
  const options = scanObject(text);
  const start = member.start;
  if (options.length === 0)
    return { start: start + 1, end: start + 1, text: '"include_usage":true' };
  const option = lastMember(options, "include_usage");
  if (option !== null && text.slice(option.start, option.end) === "true") return null;
  const splice = setMember(options, "include_usage", "true");
  return { start: start + splice.start, end: start + splice.end, text: splice.text };
}

/** `splices` must be in order and must not overlap. */
export function applySplices(bytes: Buffer, splices: readonly Splice[]): Buffer {
  let length = bytes.length;
  for (const splice of splices)
    length += Buffer.byteLength(splice.text) - (splice.end - splice.start);
  const result = Buffer.allocUnsafe(length);
  let position = 0;
  let written = 0;
  for (const splice of splices) {
    written += bytes.copy(result, written, position, splice.start);
    written += result.write(splice.text, written);
    position = splice.end;
  }
  bytes.copy(result, written, position);
  return result;
}
