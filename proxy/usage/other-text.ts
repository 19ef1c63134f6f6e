/**
 * Measures the part of an answer in fields that aren't known to be text: an upper bound, so that
 * limits hold for formats that providers invent. `event-reader.ts` calls it for events without
 * known text, which are few. Also measures a complete answer whose usage counts nothing.
 */
import { jsonDepthMax } from "../../shared/bounds.js";
import { isObject, parseJson } from "../../shared/checked.js";
import type { Operation } from "../../shared/operation.js";
import { nestedDeeperThan } from "../body/json-value.js";

type Fields = Readonly<Record<string, unknown>>;

/** Each with those of the other dialects: a host may answer in another one than it was asked in. */
const inChoices =
  /"(?:delta|message)"\s*:\s*\{\s*"|"text"\s*:\s*(?:[[{]|"[^"])|"delta"\s*:\s*"[^"]|"parts"\s*:\s*\[/;
const inBlocks =
  /"(?:delta|content_block)"\s*:\s*\{\s*"|"delta"\s*:\s*"[^"]|"(?:parts|choices)"\s*:\s*\[/;
const inParts = /"(?:parts|choices)"\s*:\s*\[|"delta"\s*:\s*(?:\{\s*"|"[^"])/;
const inDeltas = /"delta"\s*:\s*[[{]|"(?:parts|choices)"\s*:\s*\[/;

/** Matches the events of an operation that may add to the answer. */
export function placeOfAnswer(operation: Operation): RegExp {
  if (operation === "chat_completions" || operation === "completions") return inChoices;
  if (operation === "stream_generate_content") return inParts;
  return operation === "messages" ? inBlocks : inDeltas;
}

/**
 * The bytes of text that an event adds to the answer. Encoded media count as fewer; an event that
 * is nested too deeply to be looked through counts as a whole. `data`: its JSON.
 */
export function otherTextIn(event: unknown, data: string): number {
  if (!isObject(event)) return 0;
  return isTooDeep(event, data) ? data.length : sizeOf(answerIn(event), "");
}

/** The same for a whole answer; that of a stream as one array is a list of answers. */
export function textInAnswer(json: string): number {
  const answer = parseJson(json);
  return isTooDeep(answer, json) ? json.length : textInValue(answer);
}

function isTooDeep(value: unknown, json: string): boolean {
  return json.length > 2 * jsonDepthMax && nestedDeeperThan(value, jsonDepthMax);
}

function textInValue(answer: unknown): number {
  if (Array.isArray(answer))
    return (answer as unknown[]).reduce<number>((sum, each) => sum + textInValue(each), 0);
  if (!isObject(answer)) return 0;
  const { content, output, outputs, steps } = answer;
  const contentSize = sizeOf(content ?? output ?? outputs ?? steps, "");
  return contentSize + sizeOf(answerIn(answer), "");
}

function answerIn(event: Fields): unknown {
  const { choices, candidates, delta, content_block: block, type } = event;
  if (Array.isArray(choices))
    return objectsIn(choices).map(
      (choice) => choice["delta"] ?? choice["message"] ?? choice["text"],
    );
  if (Array.isArray(candidates))
    return objectsIn(candidates).map(({ content }) =>
      isObject(content) ? content["parts"] : null,
    );
  // The end of the answer.
  if (type === "message_delta") return null;
  return delta ?? (isObject(block) && !isResult(block) ? block : null);
}

/** Whether it is the result of a provider's tool, which the model reads as input. */
function isResult({ type }: Fields): boolean {
  return typeof type === "string" && type.endsWith("_tool_result");
}

function objectsIn(list: unknown): readonly Fields[] {
  return Array.isArray(list) ? (list as unknown[]).filter(isObject) : [];
}

/** Names of members that describe a part. */
const labels = /^(?:role|type|name|object|status|format|language|outcome|mime_?type|(?:.*_)?id)$/i;
/** Names of members whose object, including its punctuation, the model has written. */
const writtenFields = /^(?:args|arguments|input)$/;
/** A token of a picture has hundreds of bytes: this many bytes count as one of text. */
const mediaFactor = 16;
/** A token of sound has thousands: streams carry it as samples. */
const soundFactor = 256;
const media = /^(?:audio|inlineData|inline_data|image_url|image|video)$/;
const samples = /^audio\/(?:l16|pcm|wav)/i;

/** `name`: that of the member with this value. */
function sizeOf(value: unknown, name: string): number {
  if (typeof value === "string") return value.length;
  if (typeof value !== "object" || value === null) return 0;
  if (Array.isArray(value))
    return (value as unknown[]).reduce<number>((sum, item) => sum + sizeOf(item, name), 0);
  const members = Object.entries(value);
  if (members.length > 0 && writtenFields.test(name)) return JSON.stringify(value).length;
  const { mimeType, mime_type: type = mimeType } = value as Fields;
  const isSound = name === "audio" || (typeof type === "string" && samples.test(type));
  return members.reduce((sum, [member, inner]) => {
    if (labels.test(member) && typeof inner === "string") return sum;
    const isMedia = media.test(name) && /^(?:data|url|uri)$/.test(member);
    const size = sizeOf(inner, member);
    return sum + (isMedia ? Math.ceil(size / (isSound ? soundFactor : mediaFactor)) : size);
  }, 0);
}
