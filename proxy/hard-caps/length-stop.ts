/**
 * The last events of a stream that a hard cap cuts, in each dialect: those with which a provider
 * ends an answer at its maximum of output. A client then shows a long answer that stops, not an
 * error.
 *
 * A `LengthStop` reads the events that the client got, and stores only what the end needs. An
 * incomplete tool call never ends like a complete one: clients run a call as soon as its item or
 * block ends.
 *
 * Not here: when a stream is cut (`output-allowance.ts`).
 */
import { heldResponseBytesMax } from "../../shared/bounds.js";
import { ByteBuffer } from "../../shared/byte-buffer.js";
import { isCount, isObject, parseJson } from "../../shared/checked.js";
import type { Operation } from "../../shared/operation.js";
import { EventSplitter, formatEvent } from "../dialects/event-stream.js";
import { noSignature } from "../dialects/shared/thinking-blocks.js";
import type { JsonObject } from "../dialects/shared/translation.js";
import type { Usage } from "../usage/usage.js";

export interface LengthStop {
  /**
   * Reads complete events that go to the client. `passed`: their text, as in JSON; null if one of
   * them has none. `latin1`: the events in Latin-1.
   */
  see(events: Buffer, passed: string | null, latin1?: string): void;
  /** The last bytes of the stream. `cap`: the cap that ends it, in words. */
  end(usage: Usage, cap: string): Buffer;
}

const lengthStops: Partial<Readonly<Record<Operation, RegExp>>> = {
  chat_completions: /"finish_reason"\s*:\s*"length"/,
  completions: /"finish_reason"\s*:\s*"length"/,
  messages: /"stop_reason"\s*:\s*"max_tokens"/,
  responses: /"reason"\s*:\s*"max_output_tokens"/,
  generate_content: /"finishReason"\s*:\s*"MAX_TOKENS"/,
  stream_generate_content: /"finishReason"\s*:\s*"MAX_TOKENS"/,
};

/** Whether a whole answer says that it has reached its maximum of output. */
export function isLengthStop(operation: Operation, json: string): boolean {
  return lengthStops[operation]?.test(json) === true;
}

/** The parts of the request that determine the end of its stream. */
interface StreamRequest {
  /** How many answers were requested. */
  readonly choices: number;
  /** Whether the client wants the usage at the end of a chat completion's stream. */
  readonly wantsUsage: boolean;
}

/** Null if streams of the operation have no event for this. */
export function lengthStop(operation: Operation, request: StreamRequest): LengthStop | null {
  switch (operation) {
    case "chat_completions":
    case "completions":
      return new ChatStop(operation, request);
    case "messages":
      return new MessagesStop();
    case "responses":
      return new ResponsesStop();
    case "stream_generate_content":
      return new GoogleStop(request.choices);
    default:
      return null;
  }
}

/** The data of the events that are JSON objects, in order. */
function* objectsIn(events: Buffer): Generator<JsonObject, void> {
  for (const { data } of new EventSplitter().push(events)) {
    const value = parseJson(data);
    if (isObject(value)) yield value;
  }
}

function firstIn(events: Buffer | null): JsonObject {
  if (events !== null) for (const value of objectsIn(events)) return value;
  return {};
}

function lastIn(events: Buffer | null): JsonObject {
  let last: JsonObject = {};
  if (events !== null) for (const value of objectsIn(events)) last = value;
  return last;
}

/** A copy: a view would keep its whole chunk in memory. */
function copyOf(events: Buffer): Buffer {
  return Buffer.from(events);
}

function textEvent(name: string | null, value: JsonObject): string {
  return formatEvent({ event: name, data: JSON.stringify(value) });
}

/** A comment, which clients of server-sent events skip. */
function commentEvent(cap: string): string {
  return `: cut at a hard cap: ${cap.replace(/[\r\n]+/g, " ")}\n\n`;
}

function reasoningOf({ details, outputTokens }: Usage): number {
  return Math.min(details?.counts.reasoningTokens ?? 0, outputTokens);
}

/** Chat completions, and legacy completions. */
class ChatStop implements LengthStop {
  readonly #operation: "chat_completions" | "completions";
  readonly #request: StreamRequest;
  #first: Buffer | null = null;
  /** The choices that have ended; empty unless there are several. */
  readonly #ended = new Set<unknown>();

  constructor(operation: "chat_completions" | "completions", request: StreamRequest) {
    this.#operation = operation;
    this.#request = request;
  }

  see(events: Buffer): void {
    if (this.#first === null && events.includes('"choices"')) this.#first = copyOf(events);
    if (this.#request.choices === 1) return;
    for (const { choices } of objectsIn(events))
      for (const choice of Array.isArray(choices) ? (choices as unknown[]) : [])
        if (isObject(choice) && typeof choice["finish_reason"] === "string")
          this.#ended.add(choice["index"]);
  }

  end(usage: Usage, cap: string): Buffer {
    const { usage: _usage, obfuscation: _padding, ...head } = firstIn(this.#first);
    const rest = this.#operation === "completions" ? { text: "" } : { delta: {} };
    let out = commentEvent(cap);
    for (let index = 0; index < this.#request.choices; index++)
      if (!this.#ended.has(index))
        out += textEvent(null, {
          ...head,
          choices: [{ index, ...rest, logprobs: null, finish_reason: "length" }],
        });
    if (this.#request.wantsUsage)
      out += textEvent(null, { ...head, choices: [], usage: chatUsage(usage) });
    return Buffer.from(`${out}data: [DONE]\n\n`);
  }
}

function chatUsage(usage: Usage): JsonObject {
  return {
    prompt_tokens: usage.inputTokens,
    completion_tokens: usage.outputTokens,
    total_tokens: usage.totalTokens,
    prompt_tokens_details: { cached_tokens: usage.cachedInputTokens },
    completion_tokens_details: { reasoning_tokens: reasoningOf(usage) },
  };
}

class MessagesStop implements LengthStop {
  /** The kinds of the open blocks by index. */
  readonly #open = new Map<unknown, unknown>();
  /** Whether a thinking block is open. */
  #thinks = false;
  #isSigned = false;

  see(events: Buffer, _passed: string | null, latin1 = events.toString("latin1")): void {
    // Searching for the whole name takes three times as long. A text may contain this part, too.
    if (!latin1.includes("k_st")) {
      if (this.#thinks && latin1.includes("signature_delta")) this.#isSigned = true;
      return;
    }
    for (const { type, index, content_block: block, delta } of objectsIn(events)) {
      if (type === "content_block_start") {
        const kind = isObject(block) ? block["type"] : "";
        this.#open.set(index, kind);
        this.#thinks = kind === "thinking";
        this.#isSigned = false;
      } else if (type === "content_block_stop") this.#open.delete(index);
      else if (isObject(delta) && delta["type"] === "signature_delta") this.#isSigned = true;
    }
  }

  end(usage: Usage, cap: string): Buffer {
    let out = commentEvent(cap);
    for (const [index, kind] of this.#open) {
      // Clients run a tool's call when its block stops.
      if (typeof kind === "string" && kind.endsWith("tool_use")) continue;
      if (kind === "thinking" && !this.#isSigned)
        // Without a signature the conversation couldn't continue.
        out += textEvent("content_block_delta", {
          type: "content_block_delta",
          index,
          delta: { type: "signature_delta", signature: noSignature },
        });
      out += textEvent("content_block_stop", { type: "content_block_stop", index });
    }
    const { inputTokens, outputTokens, cachedInputTokens, cacheWriteInputTokens } = usage;
    out += textEvent("message_delta", {
      type: "message_delta",
      delta: { stop_reason: "max_tokens", stop_sequence: null },
      usage: {
        input_tokens: inputTokens - cachedInputTokens - cacheWriteInputTokens,
        output_tokens: outputTokens,
        cache_read_input_tokens: cachedInputTokens,
        cache_creation_input_tokens: cacheWriteInputTokens,
      },
    });
    return Buffer.from(out + textEvent("message_stop", { type: "message_stop" }));
  }
}

/** A message whose text isn't complete. */
interface OpenMessage {
  readonly index: unknown;
  readonly item: JsonObject;
  readonly parts: JsonObject[];
  /** The open part; null between two parts. */
  part: { readonly index: unknown; readonly value: JsonObject } | null;
}

/**
 * Deltas are concatenated up to this length, then copied: until then V8 keeps all parts in memory.
 */
const freshCharsMax = 512;

class ResponsesStop implements LengthStop {
  #first: Buffer | null = null;
  #last: Buffer | null = null;
  readonly #items: JsonObject[] = [];
  #message: OpenMessage | null = null;
  /** The text of the open part, as in JSON. */
  readonly #text = new ByteBuffer();
  /** The last deltas, in Latin-1: copying each delta would cost as much as finding it. */
  #fresh = "";
  #isWhole = true;

  see(events: Buffer, passed: string | null): void {
    this.#first ??= copyOf(events);
    this.#last = events;
    // Only deltas have text, and an open message's deltas are its text.
    if (passed === null) {
      if (this.#message !== null || events.includes("output_item."))
        for (const value of objectsIn(events)) this.#read(value);
    } else if (this.#message !== null) this.#add(passed);
  }

  #read(value: JsonObject): void {
    const { type, item, part, output_index: index, content_index: partIndex, delta } = value;
    switch (type) {
      case "response.output_item.added":
        if (isObject(item) && item["type"] === "message")
          this.#message = { index, item, parts: [], part: null };
        return;
      case "response.output_item.done":
        if (isObject(item)) this.#items.push(item);
        if (this.#message?.index === index) this.#message = null;
        return;
      case "response.content_part.added":
        if (this.#message?.index !== index || !isObject(part)) return;
        this.#message!.part = { index: partIndex, value: part };
        this.#text.clear();
        this.#fresh = "";
        return;
      case "response.content_part.done":
        if (this.#message?.index !== index || !isObject(part)) return;
        this.#message!.parts.push(part);
        this.#message!.part = null;
        return;
      case "response.output_text.delta":
      case "response.refusal.delta":
        if (this.#message?.index === index && typeof delta === "string")
          this.#add(Buffer.from(JSON.stringify(delta).slice(1, -1)).toString("latin1"));
    }
  }

  #add(latin1: string): void {
    this.#fresh += latin1;
    if (this.#fresh.length >= freshCharsMax) this.#keepFresh();
  }

  #keepFresh(): void {
    const bytes = Buffer.from(this.#fresh, "latin1");
    this.#fresh = "";
    this.#isWhole &&= this.#text.length + bytes.length <= heldResponseBytesMax;
    if (this.#isWhole) this.#text.append(bytes);
  }

  end(usage: Usage, cap: string): Buffer {
    const created = firstIn(this.#first)["response"];
    const last = lastIn(this.#last)["sequence_number"];
    let sequence = isCount(last) ? last : 0;
    let out = commentEvent(cap);
    const emit = (type: string, fields: JsonObject): void => {
      out += textEvent(type, { type, sequence_number: ++sequence, ...fields });
    };
    const output = [...this.#items];
    this.#keepFresh();
    const message = this.#isWhole ? this.#message : null;
    if (message !== null) output.push(this.#endMessage(message, emit));
    const { inputTokens, outputTokens, totalTokens, cachedInputTokens } = usage;
    emit("response.incomplete", {
      response: {
        ...(isObject(created) ? created : { object: "response" }),
        status: "incomplete",
        // A WebSocket has no comments.
        incomplete_details: {
          reason: "max_output_tokens",
          message: `cut at a hard cap: ${cap}`,
        },
        output,
        usage: {
          input_tokens: inputTokens,
          input_tokens_details: { cached_tokens: cachedInputTokens },
          output_tokens: outputTokens,
          output_tokens_details: { reasoning_tokens: reasoningOf(usage) },
          total_tokens: totalTokens,
        },
      },
    });
    return Buffer.from(out);
  }

  #endMessage(
    { index: output_index, item, parts, part }: OpenMessage,
    emit: (type: string, fields: JsonObject) => void,
  ): JsonObject {
    const content = [...parts];
    if (part !== null) {
      const value = parseJson(`"${Buffer.from(this.#text.text(), "latin1").toString("utf8")}"`);
      const written = typeof value === "string" ? value : "";
      const kind = part.value["type"] === "refusal" ? "refusal" : "output_text";
      const field = kind === "refusal" ? { refusal: written } : { text: written };
      const ended = { ...part.value, ...field };
      const place = { item_id: item["id"], output_index, content_index: part.index };
      const logprobs = kind === "output_text" ? { logprobs: [] } : {};
      emit(`response.${kind}.done`, { ...place, ...field, ...logprobs });
      emit("response.content_part.done", { ...place, part: ended });
      content.push(ended);
    }
    const ended = { ...item, status: "incomplete", content };
    emit("response.output_item.done", { output_index, item: ended });
    return ended;
  }
}

/** Gemini's own API. Its older clients stop reading at a comment, so a field names the cap. */
class GoogleStop implements LengthStop {
  readonly #choices: number;
  #last: Buffer | null = null;
  readonly #ended = new Set<unknown>();

  constructor(choices: number) {
    this.#choices = choices;
  }

  see(events: Buffer): void {
    this.#last = events;
    if (this.#choices === 1) return;
    for (const { candidates } of objectsIn(events))
      for (const candidate of Array.isArray(candidates) ? (candidates as unknown[]) : [])
        if (isObject(candidate) && typeof candidate["finishReason"] === "string")
          this.#ended.add(candidate["index"] ?? 0);
  }

  end(usage: Usage, cap: string): Buffer {
    const { usageMetadata: _usage, candidates: _candidates, ...head } = lastIn(this.#last);
    const thoughts = reasoningOf(usage);
    const candidates: JsonObject[] = [];
    for (let index = 0; index < this.#choices; index++)
      if (!this.#ended.has(index))
        candidates.push({
          content: { parts: [{ text: "" }], role: "model" },
          finishReason: "MAX_TOKENS",
          finishMessage: `cut at a hard cap: ${cap}`,
          index,
        });
    const usageMetadata = {
      promptTokenCount: usage.inputTokens,
      candidatesTokenCount: usage.outputTokens - thoughts,
      ...(thoughts > 0 ? { thoughtsTokenCount: thoughts } : {}),
      totalTokenCount: usage.totalTokens,
    };
    return Buffer.from(textEvent(null, { ...head, candidates, usageMetadata }));
  }
}
