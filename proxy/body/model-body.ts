/**
 * The JSON body of a request to a model: reads the few fields that Sluice needs. Everything else
 * passes to the upstream byte for byte (big integers, order and spacing of keys).
 *
 * Not here: edits (`edit-model-body.ts`), the meaning of messages, tools and parameters (the
 * upstream or a translation checks those), resolving the model's name, and the size limit.
 *
 * The bytes are read and parsed as Latin-1. JSON's own characters are ASCII, so validity is the
 * same, and Chinese text takes a tenth of the time of decoding UTF-8 first (English text takes the
 * same time). The model's name is decoded separately. Of a large body only the skeleton is parsed
 * (`count-values.ts`).
 */
import { isAbsent, isObject } from "../../shared/checked.js";
import { modelNameProblem } from "../../shared/domain/target-name.js";
import { type Failure, invalid } from "../../shared/error-code.js";
import type { Operation } from "../../shared/operation.js";
import {
  mayRunOthers,
  type RequestedReasoning,
  type ResponsesNeeds,
  requestedReasoning,
  responsesNeeds,
} from "./call-needs.js";
import { carriedTools } from "./carried-tools.js";
import {
  type BodyOutline,
  fieldsMax,
  outlineOf,
  outlineSliced,
  tooManyFields,
  tooManyValues,
  unauthenticatedValuesMax,
  valuesMax,
  withPauses,
} from "./count-values.js";
import { type Kind, kindOf, whyNotJson } from "./json-value.js";
import { type JsonMember, lastMember, repeatedKey, scanArray, scanObject } from "./scan-json.js";

/** The operations whose request is a JSON object that names a model. */
export type JsonOperation = keyof typeof subjects;

export interface ModelBody {
  /** As the client wrote it. Not blank, at most `subjectBytesMax` bytes. */
  readonly model: string;
  /** The model named in the body; null if the body names none. */
  readonly writtenModel: string | null;
  /** The field that names it: an interaction runs a model or an agent. */
  readonly modelField: ModelField;
  readonly stream: boolean;
  readonly reasoning: RequestedReasoning;
  readonly responsesNeeds: ResponsesNeeds;
  /** Whether the provider may also run other models. */
  readonly mayRunOthers: boolean;
  /** See `carriedTools`. */
  readonly carriedTools: readonly string[] | null;
  /** Whether the client requested the usage chunk of a stream. */
  readonly includeUsage: boolean;
  /** Whether the body has the other OpenAI API's form, as in `mistaken-body.ts`. */
  readonly isMistaken: boolean;
}

export type ModelField = "model" | "agent";

/** A model named outside the body. */
export interface OtherModel {
  readonly name: string;
  /** Whether it overrides the body's model, as the deployment in Azure's path does. */
  readonly overridesBody: boolean;
}

type ModelBodyResult =
  /**
   * `members`: the positions of the top-level members, for `editModelBody`; their keys may keep
   * the text of the body in memory. `fields`: as parsed, in Latin-1 and without long texts and runs
   * of token ids, for callers that read more of them in the same turn.
   */
  | {
      readonly ok: true;
      readonly body: ModelBody;
      readonly members: readonly JsonMember[];
      readonly fields: Fields;
    }
  | { readonly ok: false; readonly failure: Failure };

type Fields = Readonly<Record<string, unknown>>;

/**
 * Checks a body and takes out what routing needs. A refusal is a 400 with `param` set. A repeated
 * field that matters here is refused, because the upstream might read the other value.
 *
 * `isUtf8` may be that of node:buffer, which is 20 times as fast on text that isn't ASCII. For
 * ASCII, as in most bodies, it isn't called. `modelElsewhere`: the model named outside the body.
 */
export function parseModelBody(
  operation: JsonOperation,
  { bytes, outline }: BodyText,
  isUtf8: (bytes: Buffer) => boolean = isUtf8Text,
  modelElsewhere: OtherModel | null = null,
): ModelBodyResult {
  if (outline !== null && outline.values > valuesMax)
    return { ok: false, failure: tooManyValues() };
  if (outline !== null && outline.fields > fieldsMax)
    return { ok: false, failure: tooManyFields() };
  const skeleton = (outline?.skeleton ?? bytes).toString("latin1");
  let value: unknown;
  try {
    value = JSON.parse(skeleton);
  } catch (error) {
    // The message about a skeleton would quote, and count, text that the client hasn't written.
    const isWhole = outline === null || outline.skeleton === bytes;
    const reason = whyNotJson(isWhole ? error : null);
    return refuse(`the body must be a JSON object: ${reason}`, "body");
  }
  if (!isObject(value))
    return refuse(`the body must be a JSON object, not ${kindOf(value)}`, "body");
  const members = outline?.members() ?? scanObject(skeleton);
  if (members.length > fieldsMax) return { ok: false, failure: tooManyFields() };
  // In Latin-1 each byte from 0x80 up is a character that takes two bytes in UTF-8: equal lengths
  // mean ASCII. The check of a large body takes less time than its text.
  const isAscii = outline === null && Buffer.byteLength(skeleton) === bytes.length;
  if (!isAscii && !isUtf8(bytes))
    return refuse("the body must be a JSON object: it is not valid UTF-8", "body");
  const modelField = operation === "interactions" ? fieldOfInteraction(value) : "model";
  const refusal = checkFields(operation, value, modelElsewhere === null ? modelField : null);
  if (refusal !== null) return refuse(refusal.message, refusal.param);
  // JSON.parse keeps the last of two members with one key.
  const hasUniqueKeys = members.length === Object.keys(value).length;
  const repeated =
    (hasUniqueKeys ? null : repeatedKey(members, unrepeated)) ??
    repeatedOption(bytes, value, members);
  if (repeated !== null) return refuse(`${repeated} is given more than once`, repeated);
  const writtenModel = isAbsent(value[modelField])
    ? null
    : isAscii
      ? (value[modelField] as string)
      : decodeString(bytes, lastMember(members, modelField)!);
  const model =
    modelElsewhere !== null && (modelElsewhere.overridesBody || writtenModel === null)
      ? modelElsewhere.name
      : writtenModel!;
  if (model.trim() === "") return refuse("model must not be empty", "model");
  const problem = modelNameProblem(model);
  if (problem !== null) return refuse(problem, "model");
  const options = value["stream_options"] as Fields | null | undefined;
  return {
    ok: true,
    fields: value,
    members,
    body: {
      model,
      writtenModel,
      modelField,
      stream: value["stream"] === true,
      reasoning: requestedReasoning(operation, value),
      responsesNeeds: responsesNeeds(operation, value),
      mayRunOthers: mayRunOthers(value) || hasRepeatedKind(bytes, value, members),
      carriedTools: carriedTools(value),
      includeUsage: options?.["include_usage"] === true,
      isMistaken: isMistaken(subjects[operation], value),
    },
  };
}

interface FieldProblem {
  readonly message: string;
  readonly param: string;
}

interface Subject {
  readonly name: string;
  readonly kinds: readonly Kind[];
  readonly required: boolean;
  /** The field of OpenAI's other API, whose body clients send to this path. */
  readonly mistakenFor?: string;
}

/** The one field that each operation needs, and its type. The provider checks its content. */
const subjects = {
  chat_completions: {
    name: "messages",
    kinds: ["an array"],
    required: true,
    mistakenFor: "input",
  },
  messages: { name: "messages", kinds: ["an array"], required: true },
  count_tokens: { name: "messages", kinds: ["an array"], required: true },
  // A stored prompt may replace it, or a stored response that the request continues.
  responses: {
    name: "input",
    kinds: ["a string", "an array"],
    required: false,
    mistakenFor: "messages",
  },
  compact: { name: "input", kinds: ["a string", "an array"], required: false },
  input_tokens: { name: "input", kinds: ["a string", "an array"], required: false },
  completions: { name: "prompt", kinds: ["a string", "an array"], required: true },
  moderations: { name: "input", kinds: ["a string", "an array"], required: true },
  rerank: { name: "documents", kinds: ["an array"], required: true },
  embeddings: { name: "input", kinds: ["a string", "an array"], required: true },
  speech: { name: "input", kinds: ["a string"], required: true },
  generate_content: { name: "contents", kinds: ["an array", "an object"], required: true },
  stream_generate_content: { name: "contents", kinds: ["an array", "an object"], required: true },
  embed_content: { name: "content", kinds: ["an object"], required: true },
  batch_embed_contents: { name: "requests", kinds: ["an array"], required: true },
  count_content_tokens: { name: "contents", kinds: ["an array", "an object"], required: false },
  images: { name: "prompt", kinds: ["a string"], required: true },
  // An interaction may continue another one without input.
  interactions: { name: "input", kinds: ["a string", "an array", "an object"], required: false },
} satisfies Partial<Record<Operation, Subject>>;

/** The problem with the types of the fields, or null. */
function checkFields(
  operation: JsonOperation,
  fields: Fields,
  requiredModel: ModelField | null,
): FieldProblem | null {
  const { model, agent, stream, stream_options: options } = fields;
  // Some servers ignore case and would read this field.
  for (const key in fields)
    if (key.length === 5 && key !== "model" && key.toLowerCase() === "model")
      return { message: `${key} is given: the field is called model`, param: key };
  if (requiredModel === "agent") {
    if (!isAbsent(model)) return { message: "model and agent exclude each other", param: "agent" };
    if (typeof agent !== "string")
      return { message: `agent must be a string, not ${kindOf(agent)}`, param: "agent" };
  } else if (isAbsent(model)) {
    if (requiredModel !== null) return { message: "model is required", param: "model" };
  } else if (typeof model !== "string")
    return { message: `model must be a string, not ${kindOf(model)}`, param: "model" };
  const { name, kinds, required }: Subject = subjects[operation];
  const subject = fields[name];
  if (isAbsent(subject)) {
    if (required && !isMistaken(subjects[operation], fields))
      return { message: `${name} is required`, param: name };
  } else if (!kinds.includes(kindOf(subject)))
    return {
      message: `${name} must be ${kinds.join(" or ")}, not ${kindOf(subject)}`,
      param: name,
    };
  if (!isAbsent(stream) && typeof stream !== "boolean")
    return { message: `stream must be true or false, not ${kindOf(stream)}`, param: "stream" };
  if (isAbsent(options)) return null;
  if (!isObject(options))
    return {
      message: `stream_options must be an object, not ${kindOf(options)}`,
      param: "stream_options",
    };
  const includeUsage = options["include_usage"];
  if (isAbsent(includeUsage) || typeof includeUsage === "boolean") return null;
  return {
    message: `stream_options.include_usage must be true or false, not ${kindOf(includeUsage)}`,
    param: "stream_options.include_usage",
  };
}

function isMistaken({ name, mistakenFor }: Subject, fields: Fields): boolean {
  if (mistakenFor === undefined || !isAbsent(fields[name])) return false;
  const other = fields[mistakenFor];
  return Array.isArray(other) || (mistakenFor === "input" && typeof other === "string");
}

function fieldOfInteraction({ agent }: Fields): ModelField {
  return isAbsent(agent) ? "model" : "agent";
}

/** Repeating one of these fields is refused, because a provider might read the other value. */
const unrepeated = [
  "model",
  "agent",
  "stream",
  "stream_options",
  "tools",
  "plugins",
  "providerOptions",
];

/** The field of `stream_options` that is given more than once; null if none is. */
function repeatedOption(
  bytes: Buffer,
  { stream_options: options }: Fields,
  members: readonly JsonMember[],
): string | null {
  if (!isObject(options)) return null;
  const text = memberText(bytes, lastMember(members, "stream_options")!);
  return repeatedKey(scanObject(text), ["include_usage"]) === null
    ? null
    : "stream_options.include_usage";
}

/**
 * For a body with image tools, whose models aren't checked: whether any tool repeats its type. A
 * provider that reads the first of two types may take it for another tool.
 */
function hasRepeatedKind(
  bytes: Buffer,
  { tools }: Fields,
  members: readonly JsonMember[],
): boolean {
  const isImageTool = (tool: unknown): boolean =>
    isObject(tool) && (tool["type"] === "image_generation" || tool["id"] === "image_generation");
  if (!Array.isArray(tools) || !tools.some(isImageTool)) return false;
  const text = memberText(bytes, lastMember(members, "tools")!);
  return scanArray(text).some(
    ({ start }) =>
      text[start] === "{" && repeatedKey(scanObject(text, start), ["type", "id"]) !== null,
  );
}

function memberText(bytes: Buffer, { start, end }: JsonMember): string {
  return bytes.toString("latin1", start, end);
}

function decodeString(bytes: Buffer, member: JsonMember): string {
  return JSON.parse(bytes.toString("utf8", member.start, member.end)) as string;
}

function refuse(message: string, param: string): ModelBodyResult {
  return { ok: false, failure: invalid(message, param) };
}

/**
 * RFC 3629: no overlong forms, no surrogates, nothing above U+10FFFF. Reads past the end give
 * undefined, which isn't a continuation byte.
 */
export function isUtf8Text(bytes: Buffer): boolean {
  for (let i = 0; i < bytes.length; ) {
    const first = bytes[i]!;
    if (first < 0x80) {
      i++;
      continue;
    }
    const second = bytes[i + 1]!;
    if (first < 0xc2 || first > 0xf4 || (second & 0xc0) !== 0x80) return false;
    if (first < 0xe0) {
      i += 2;
      continue;
    }
    if (
      (bytes[i + 2]! & 0xc0) !== 0x80 ||
      (first === 0xe0 && second < 0xa0) ||
      (first === 0xed && second > 0x9f)
    )
      return false;
    if (first < 0xf0) {
      i += 3;
      continue;
    }
    if (
      (bytes[i + 3]! & 0xc0) !== 0x80 ||
      (first === 0xf0 && second < 0x90) ||
      (first === 0xf4 && second > 0x8f)
    )
      return false;
    i += 4;
  }
  return true;
}

interface BodyText {
  readonly bytes: Buffer;
  /** Null for a body so short that its values needn't be counted. */
  readonly outline: BodyOutline | null;
}

/** Operations whose field may hold lists of token ids: for embeddings up to 2,048 of 8,192. */
const takesTokens: ReadonlySet<Operation> = new Set<Operation>(["embeddings", "completions"]);

export function bodyText(operation: Operation, bytes: Buffer): BodyText {
  const isShort = bytes.length <= unauthenticatedValuesMax;
  return { bytes, outline: isShort ? null : outlineOf(bytes, takesTokens.has(operation)) };
}

/** A larger body is scanned in several turns of the event loop. */
export const slicedBytesMin = 256 * 1024;

/** As `bodyText`, for a large body. */
export async function largeBodyText(
  operation: Operation,
  bytes: Buffer,
  nextTurn: () => Promise<void>,
): Promise<BodyText> {
  const outline = await withPauses(outlineSliced(bytes, takesTokens.has(operation)), nextTurn);
  await nextTurn();
  return { bytes, outline };
}

/** Whether the body has so many values that its caller must be authenticated before the parse. */
export function isDense({ outline }: BodyText): boolean {
  return outline !== null && outline.values > unauthenticatedValuesMax;
}
