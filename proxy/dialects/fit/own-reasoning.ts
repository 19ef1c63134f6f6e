/**
 * Removes reasoning that the target can't read from a request in the provider's dialect: reasoning
 * of another account (`made-by.ts`), or all reasoning once the target has refused some. Also
 * removes fields that the target has refused.
 */
import { isObject } from "../../../shared/checked.js";
import type { Operation } from "../../../shared/operation.js";
import {
  compactedElsewhere,
  isCompaction,
  isMarked,
  ownSecret,
  ownSignature,
} from "../shared/made-by.js";
import type { RequestCheck } from "../shared/request-check.js";
import { isSignedByGoogle, signatureOfOthers } from "../shared/thought-signature.js";
import type { JsonObject } from "../shared/translation.js";
import { dropUnsignedThinking } from "./fit-messages-request.js";
import { withoutItems } from "./fit-responses.js";
import type { FitStep, FitTarget } from "./fit-tuning.js";
import { messagesTraitsOf } from "./target-traits.js";

/** What a target has refused. */
export interface RefusedParts {
  readonly reasoning: boolean;
  /** As the paths of `RefusedPart`. */
  readonly fields: readonly string[];
}

export const nothingRefused: RefusedParts = { reasoning: false, fields: [] };

interface SecretReader {
  /** The secret for the provider, without the account's mark; null if the target can't read it. */
  readonly secret: (text: string) => string | null;
  /** As `secret`, for a signature in base64. */
  readonly signature: (text: string) => string | null;
}

/** Operations whose requests may hold reasoning. */
const reasoned: ReadonlySet<Operation> = new Set<Operation>([
  "responses",
  "compact",
  "input_tokens",
  "messages",
  "count_tokens",
  "generate_content",
  "stream_generate_content",
  "chat_completions",
]);

/** Null if the body has no reasoning to remove. `operation`: at the provider. */
export function ownReasoningStep(
  operation: Operation,
  { provider, model }: Pick<FitTarget, "provider" | "model">,
  { bytes, isRefused }: { readonly bytes: Buffer; readonly isRefused: boolean },
): FitStep | null {
  if (!reasoned.has(operation) || (!isRefused && !isMarked(bytes))) return null;
  const { account } = provider;
  const reader: SecretReader = {
    secret: (text) => (isRefused ? null : ownSecret(text, account)),
    signature: (text) => (isRefused ? null : ownSignature(text, account)),
  };
  switch (operation) {
    case "responses":
    case "compact":
    case "input_tokens":
      return (body, check) => fitResponses(body, reader, check);
    case "messages":
    case "count_tokens":
      return (body, check) => {
        const out: Record<string, unknown> = { ...fitMessages(body, reader, check) };
        const isSame = out["messages"] === body["messages"];
        if (!isSame) dropUnsignedThinking(out, messagesTraitsOf(provider, model), check);
        return out;
      };
    case "generate_content":
    case "stream_generate_content":
      return (body) => fitContents(body, reader);
    default:
      return (body) => fitChat(body, reader);
  }
}

const compacted: JsonObject = {
  type: "message",
  role: "developer",
  content: [{ type: "input_text", text: compactedElsewhere }],
};

function fitResponses(body: JsonObject, { secret }: SecretReader, check: RequestCheck): JsonObject {
  const { input } = body;
  if (!Array.isArray(input)) return body;
  const droppedItems = new Set<unknown>();
  const items = input.map((item: unknown) => {
    if (!isObject(item)) return item;
    const { encrypted_content: encrypted } = item;
    // A reference to stored reasoning has no content: an empty secret asks whether the target can
    // read any.
    const readable = typeof encrypted === "string" ? secret(encrypted) : secret("");
    if (readable === encrypted || (readable !== null && typeof encrypted !== "string")) return item;
    if (readable !== null) return { ...item, encrypted_content: readable };
    if (isCompaction(item)) {
      check.drop("input[]", "must be of the account", "input[] (compaction)");
      return compacted;
    }
    if (item["type"] === "reasoning") droppedItems.add(item);
    return item;
  });
  if (droppedItems.size > 0)
    return { ...body, input: withoutItems(items, (item) => droppedItems.has(item), check) };
  return items.every((item, i) => item === input[i]) ? body : { ...body, input: items };
}

function fitMessages(body: JsonObject, { secret }: SecretReader, check: RequestCheck): JsonObject {
  const { messages } = body;
  if (!Array.isArray(messages)) return body;
  let isChanged = false;
  const readable = messages.flatMap((message: unknown): readonly unknown[] => {
    if (!isObject(message) || !Array.isArray(message["content"])) return [message];
    const blocks: readonly unknown[] = message["content"];
    const content = blocks.flatMap((block) => {
      if (!isObject(block)) return [block];
      const name = block["type"] === "redacted_thinking" ? "data" : "signature";
      const sealed = block[name];
      if (!isThinking(block) || typeof sealed !== "string") return [block];
      const readable = secret(sealed);
      if (readable === sealed) return [block];
      return readable === null ? [] : [{ ...block, [name]: readable }];
    });
    if (content.length === blocks.length && content.every((block, i) => block === blocks[i]))
      return [message];
    isChanged = true;
    if (content.length < blocks.length)
      check.drop("messages[].content[]", "must be signed", "messages[].content[] (thinking)");
    // Anthropic refuses empty messages.
    return content.length === 0 ? [] : [{ ...message, content }];
  });
  return isChanged ? { ...body, messages: readable } : body;
}

function isThinking({ type }: JsonObject): boolean {
  return type === "thinking" || type === "redacted_thinking";
}

function fitContents(body: JsonObject, { signature }: SecretReader): JsonObject {
  const contents = mapObjects(body["contents"], (content) => {
    const parts = mapObjects(content["parts"], (part) => {
      const name =
        part["thoughtSignature"] === undefined ? "thought_signature" : "thoughtSignature";
      return withSignature(part, name, signature);
    });
    return parts === content["parts"] ? content : { ...content, parts };
  });
  return contents === body["contents"] ? body : { ...body, contents };
}

function fitChat(body: JsonObject, { signature }: SecretReader): JsonObject {
  const messages = mapObjects(body["messages"], (message) => {
    const calls = mapObjects(message["tool_calls"], (call) => {
      const { extra_content: extra } = call;
      if (!isObject(extra) || !isObject(extra["google"])) return call;
      const google = withSignature(extra["google"], "thought_signature", signature);
      return google === extra["google"] ? call : { ...call, extra_content: { ...extra, google } };
    });
    const called = calls === message["tool_calls"] ? message : { ...message, tool_calls: calls };
    return withOwnDetails(called, signature);
  });
  return messages === body["messages"] ? body : { ...body, messages };
}

/**
 * OpenRouter's details of a turn's reasoning. If another account made one, all are removed, except
 * that Gemini's models get Google's value for calls of other models.
 */
function withOwnDetails(message: JsonObject, readSecret: SecretReader["signature"]): JsonObject {
  let isForeign = false;
  const original: unknown = message["reasoning_details"];
  const details = mapObjects(original, (detail) => {
    const name = detail["type"] === "reasoning.encrypted" ? "data" : "signature";
    const { [name]: secret } = detail;
    if (typeof secret !== "string" || secret === signatureOfOthers) return detail;
    const readable = readSecret(secret);
    isForeign ||= readable === null;
    return readable === secret ? detail : { ...detail, [name]: readable };
  });
  if (details === original) return message;
  const { reasoning_details: _, ...rest } = message;
  if (!isForeign) return { ...rest, reasoning_details: details };
  const first = (original as readonly unknown[]).find(isSignedByGoogle);
  if (first === undefined) return rest;
  return { ...rest, reasoning_details: [{ ...first, data: signatureOfOthers, index: 0 }] };
}

/** Google documents a value for calls of other models. */
function withSignature(
  object: JsonObject,
  name: string,
  readSecret: SecretReader["signature"],
): JsonObject {
  const { [name]: signature } = object;
  if (typeof signature !== "string" || signature === signatureOfOthers) return object;
  const readable = readSecret(signature) ?? signatureOfOthers;
  return readable === signature ? object : { ...object, [name]: readable };
}

/** The same value if it isn't a list, or if no object in it changes. */
function mapObjects(value: unknown, change: (object: JsonObject) => JsonObject): unknown {
  if (!Array.isArray(value)) return value;
  const changed = value.map((item: unknown) => (isObject(item) ? change(item) : item));
  return changed.every((item, i) => item === value[i]) ? value : changed;
}

/** `isOurs`: whether Sluice added a field; removing such a field loses nothing of the client's. */
export function withoutFieldsStep(
  paths: readonly string[],
  isOurs: (field: string) => boolean,
): FitStep | null {
  if (paths.length === 0) return null;
  const inLists = new Map<string, Set<string>>();
  for (const path of paths) {
    const [, list, field] = /^(\w+)\[\]\.(\w+)$/.exec(path) ?? [];
    if (list === undefined) continue;
    inLists.set(list, (inLists.get(list) ?? new Set<string>()).add(field!));
  }
  return (body, check) => {
    const out: Record<string, unknown> = { ...body };
    const removed = new Set<string>();
    for (const [list, fields] of inLists) {
      const inList = new Set<string>();
      if (Array.isArray(body[list])) out[list] = withoutInside(body[list], fields, inList);
      for (const field of inList) removed.add(`${list}[].${field}`);
    }
    for (const path of paths) if (removeField(out, path)) removed.add(path);
    for (const path of removed)
      if (!isOurs(path)) check.drop(path, "must be left out: the provider refuses it");
    return removed.size === 0 ? body : out;
  };
}

/** Fields whose content is free: members of it aren't fields of the API. */
const freeForm: ReadonlySet<string> = new Set([
  "args",
  "input",
  "input_schema",
  "parameters",
  "schema",
]);

/**
 * The same value if no object in it has one of the fields. Adds the names of removed fields to
 * `removed`.
 */
function withoutInside(value: unknown, fields: ReadonlySet<string>, removed: Set<string>): unknown {
  if (Array.isArray(value)) {
    const remaining = value.map((item) => withoutInside(item, fields, removed));
    return remaining.every((item, i) => item === value[i]) ? value : remaining;
  }
  if (!isObject(value)) return value;
  let changed: Record<string, unknown> | null = null;
  for (const name of Object.keys(value)) {
    if (freeForm.has(name)) continue;
    const isRefused = fields.has(name);
    if (isRefused) removed.add(name);
    const inner = value[name];
    const remaining = isRefused ? undefined : withoutInside(inner, fields, removed);
    if (remaining === inner) continue;
    changed ??= { ...value };
    if (remaining === undefined) delete changed[name];
    else changed[name] = remaining;
  }
  return changed ?? value;
}

/** Removes a field of the body, or of an object in it. False if there is none. */
function removeField(body: Record<string, unknown>, path: string): boolean {
  const [name = "", inner] = path.split(".");
  const { [name]: value } = body;
  if (value === undefined) return false;
  if (inner === undefined) return delete body[name];
  if (!isObject(value) || value[inner] === undefined) return false;
  const { [inner]: _, ...rest } = value;
  if (Object.keys(rest).length === 0) delete body[name];
  else body[name] = rest;
  return true;
}
