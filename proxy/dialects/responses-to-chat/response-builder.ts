/**
 * Makes a response of the pieces that a chat completion says, and tells each step as the event that
 * the Responses API has for it. A whole answer is the same pieces without anybody listening, so
 * that a stream and a plain answer can't differ.
 *
 * One item is open at a time, as in the API: a piece of another kind closes it.
 */
import { unreachable } from "../../../shared/assert.js";
import { readableResponseBytesMax } from "../../../shared/bounds.js";
import { mergeUsage } from "../../usage/find-usage.js";
import type { CallPiece, ChatPiece, Logprob } from "../translation/chat-pieces.js";
import {
  type AnswerContext,
  type JsonObject,
  UntranslatableAnswer,
} from "../translation/translation.js";
import {
  idStem,
  type ResponseState,
  type ResponseStatus,
  responseObject,
} from "./response-object.js";

interface TextPart {
  readonly type: "output_text";
  readonly annotations: readonly never[];
  readonly logprobs: Logprob[];
  text: string;
}

interface RefusalPart {
  readonly type: "refusal";
  refusal: string;
}

interface ReasoningPart {
  readonly type: "reasoning_text";
  text: string;
}

type ItemStatus = "in_progress" | "completed" | "incomplete";

interface Item {
  readonly id: string;
  status: ItemStatus;
}

type MessageItem = Item & {
  readonly type: "message";
  readonly role: "assistant";
  readonly content: (TextPart | RefusalPart)[];
};
type ReasoningItem = Item & {
  readonly type: "reasoning";
  readonly summary: readonly never[];
  readonly content: ReasoningPart[];
};
type FunctionItem = Item & {
  readonly type: "function_call";
  readonly call_id: string;
  readonly name: string;
  arguments: string;
};
type CustomItem = Item & {
  readonly type: "custom_tool_call";
  readonly call_id: string;
  readonly name: string;
  input: string;
};
type CallItem = FunctionItem | CustomItem;
type OutputItem = MessageItem | ReasoningItem | CallItem;

export type ResponseEvent = {
  readonly type: string;
  readonly sequence_number: number;
} & JsonObject;

export type Ending =
  | { readonly status: "completed" }
  | { readonly status: "incomplete"; readonly reason: "max_output_tokens" | "content_filter" }
  | { readonly status: "failed"; readonly error: JsonObject };

/** What a token's log probabilities, or an item of the output, take beside their text. */
const recordBytes = 512;

function bytesOf(piece: ChatPiece): number {
  const records = piece.kind === "text" ? piece.logprobs.length : piece.kind === "call" ? 1 : 0;
  return piece.text.length + records * recordBytes;
}

export class ResponseBuilder {
  readonly #context: AnswerContext;
  readonly #emit: (event: ResponseEvent) => void;
  readonly #stem: string;
  #sequence = 0;
  readonly #output: OutputItem[] = [];
  #open: OutputItem | null = null;
  /** The index of the open call, and the ids of all calls by their index. */
  #callIndex = -1;
  readonly #callIds = new Map<number, string>();
  #usage: unknown = null;
  #serviceTier: string | null = null;
  /** About how much memory the response takes so far. */
  #bytes = 0;

  constructor(context: AnswerContext, emit: (event: ResponseEvent) => void) {
    this.#context = context;
    this.#emit = emit;
    this.#stem = idStem(context);
  }

  /** As the provider told it so far; null: not at all. */
  get usage(): unknown {
    return this.#usage;
  }

  begin(): void {
    this.#emit({
      type: "response.created",
      sequence_number: this.#sequence++,
      response: this.#response("in_progress"),
    });
    this.#emit({
      type: "response.in_progress",
      sequence_number: this.#sequence++,
      response: this.#response("in_progress"),
    });
  }

  /** Beside the pieces: what a chunk or an answer says of itself. */
  note(usage: unknown, serviceTier: unknown): void {
    this.#usage = mergeUsage(this.#usage, usage);
    if (typeof serviceTier === "string") this.#serviceTier = serviceTier;
  }

  /**
   * Throws UntranslatableAnswer for a piece that belongs nowhere, or makes the response too large:
   * its last event repeats all of it.
   */
  take(piece: ChatPiece): void {
    this.#bytes += bytesOf(piece);
    if (this.#bytes > readableResponseBytesMax)
      throw new UntranslatableAnswer(
        `an answer larger than ${readableResponseBytesMax} bytes can't be translated`,
      );
    switch (piece.kind) {
      case "reasoning":
        return this.#takeReasoning(piece.text);
      case "text":
        return this.#takeText(piece.text, piece.logprobs);
      case "refusal":
        return this.#takeRefusal(piece.text);
      case "call":
        return this.#takeCall(piece);
      default:
        unreachable(piece);
    }
  }

  /** The response as it is then. What is open when it fails stays open, and is marked. */
  end(ending: Ending): JsonObject {
    const { status } = ending;
    if (status !== "failed") this.#close(status);
    else if (this.#open !== null) this.#open.status = "incomplete";
    const response = this.#response(
      status,
      status === "incomplete" ? ending.reason : null,
      status === "failed" ? ending.error : null,
    );
    this.#emit({ type: `response.${status}`, sequence_number: this.#sequence++, response });
    return response;
  }

  #response(
    status: ResponseStatus,
    incompleteReason: ResponseState["incompleteReason"] = null,
    error: JsonObject | null = null,
  ): JsonObject {
    return responseObject(this.#context, {
      status,
      output: this.#output as unknown as readonly JsonObject[],
      error,
      incompleteReason,
      usage: this.#usage,
      serviceTier: this.#serviceTier,
    });
  }

  #takeReasoning(text: string): void {
    let item = this.#open;
    if (item?.type !== "reasoning") {
      const part: ReasoningPart = { type: "reasoning_text", text: "" };
      item = this.#add({
        id: this.#itemId("rs"),
        type: "reasoning",
        status: "in_progress",
        summary: [],
        content: [],
      });
      this.#addPart(item, part);
    }
    item.content[0]!.text += text;
    this.#emit({
      type: "response.reasoning_text.delta",
      sequence_number: this.#sequence++,
      item_id: item.id,
      output_index: this.#index,
      content_index: 0,
      delta: text,
    });
  }

  #takeText(text: string, logprobs: readonly Logprob[]): void {
    const item = this.#message();
    let part = item.content.at(-1);
    if (part?.type !== "output_text") {
      this.#closePart(item);
      part = { type: "output_text", annotations: [], logprobs: [], text: "" };
      this.#addPart(item, part);
    }
    part.text += text;
    for (const logprob of logprobs) part.logprobs.push(logprob);
    this.#emit({
      type: "response.output_text.delta",
      sequence_number: this.#sequence++,
      item_id: item.id,
      output_index: this.#index,
      content_index: item.content.length - 1,
      delta: text,
      logprobs,
    });
  }

  #takeRefusal(text: string): void {
    const item = this.#message();
    let part = item.content.at(-1);
    if (part?.type !== "refusal") {
      this.#closePart(item);
      part = { type: "refusal", refusal: "" };
      this.#addPart(item, part);
    }
    part.refusal += text;
    this.#emit({
      type: "response.refusal.delta",
      sequence_number: this.#sequence++,
      item_id: item.id,
      output_index: this.#index,
      content_index: item.content.length - 1,
      delta: text,
    });
  }

  #message(): MessageItem {
    if (this.#open?.type === "message") return this.#open;
    return this.#add({
      id: this.#itemId("msg"),
      type: "message",
      status: "in_progress",
      role: "assistant",
      content: [],
    });
  }

  /**
   * A call begins with an index that is new, or, at providers that number all calls 0, with a name
   * and another id. What goes on with a call that is already closed can't be told any more.
   */
  #takeCall(piece: CallPiece): void {
    const open =
      this.#open?.type === "function_call" || this.#open?.type === "custom_tool_call"
        ? this.#open
        : null;
    const index =
      piece.index ??
      (open === null || (piece.id !== null && piece.id !== this.#callIds.get(this.#callIndex))
        ? this.#callIds.size
        : this.#callIndex);
    const known = this.#callIds.get(index);
    if (known === undefined || (piece.name !== null && piece.id !== null && piece.id !== known))
      return this.#addText(this.#addCall(piece, index), piece.text);
    if (open === null || index !== this.#callIndex)
      throw new UntranslatableAnswer("the answer goes back to a tool call that it had left");
    this.#addText(open, piece.text);
  }

  #addCall({ id, clientId, name, custom }: CallPiece, index: number): CallItem {
    if (name === null) throw new UntranslatableAnswer("a tool call has no name");
    const callId = clientId ?? `call_${this.#stem}_${this.#output.length}`;
    this.#callIds.set(index, id ?? callId);
    this.#callIndex = index;
    if (custom)
      return this.#add({
        id: this.#itemId("ctc"),
        type: "custom_tool_call",
        status: "in_progress",
        call_id: callId,
        name,
        input: "",
      });
    return this.#add({
      id: this.#itemId("fc"),
      type: "function_call",
      status: "in_progress",
      call_id: callId,
      name,
      arguments: "",
    });
  }

  #addText(item: CallItem, text: string): void {
    if (text === "") return;
    if (item.type === "function_call") item.arguments += text;
    else item.input += text;
    const type =
      item.type === "function_call"
        ? "response.function_call_arguments.delta"
        : "response.custom_tool_call_input.delta";
    this.#emit({
      type,
      sequence_number: this.#sequence++,
      item_id: item.id,
      output_index: this.#index,
      delta: text,
    });
  }

  get #index(): number {
    return this.#output.length - 1;
  }

  /** The next item's; each ends in its place, which makes it the response's only one. */
  #itemId(prefix: string): string {
    return `${prefix}_${this.#stem}_${this.#output.length}`;
  }

  #add<T extends OutputItem>(item: T): T {
    this.#close("completed");
    this.#output.push(item);
    this.#open = item;
    this.#emit({
      type: "response.output_item.added",
      sequence_number: this.#sequence++,
      output_index: this.#index,
      item,
    });
    return item;
  }

  #addPart(item: MessageItem | ReasoningItem, part: TextPart | RefusalPart | ReasoningPart): void {
    (item.content as (typeof part)[]).push(part);
    this.#emit({
      type: "response.content_part.added",
      sequence_number: this.#sequence++,
      item_id: item.id,
      output_index: this.#index,
      content_index: item.content.length - 1,
      part,
    });
  }

  #close(status: "completed" | "incomplete"): void {
    const item = this.#open;
    if (item === null) return;
    if (item.type === "message" || item.type === "reasoning") this.#closePart(item);
    else this.#closeCall(item, status);
    item.status = status;
    this.#open = null;
    this.#emit({
      type: "response.output_item.done",
      sequence_number: this.#sequence++,
      output_index: this.#index,
      item,
    });
  }

  #closePart(item: MessageItem | ReasoningItem): void {
    const part = item.content.at(-1);
    if (part === undefined) return;
    const { id: item_id } = item;
    const output_index = this.#index;
    const content_index = item.content.length - 1;
    if (part.type === "output_text")
      this.#emit({
        type: "response.output_text.done",
        sequence_number: this.#sequence++,
        item_id,
        output_index,
        content_index,
        text: part.text,
        logprobs: part.logprobs,
      });
    else if (part.type === "refusal")
      this.#emit({
        type: "response.refusal.done",
        sequence_number: this.#sequence++,
        item_id,
        output_index,
        content_index,
        refusal: part.refusal,
      });
    else
      this.#emit({
        type: "response.reasoning_text.done",
        sequence_number: this.#sequence++,
        item_id,
        output_index,
        content_index,
        text: part.text,
      });
    this.#emit({
      type: "response.content_part.done",
      sequence_number: this.#sequence++,
      item_id,
      output_index,
      content_index,
      part,
    });
  }

  #closeCall(item: CallItem, status: ItemStatus): void {
    // A call without arguments has the empty object, which is what its client is going to parse.
    if (item.type === "function_call" && item.arguments === "" && status === "completed")
      this.#addText(item, "{}");
    const { id, name } = item;
    if (item.type === "function_call")
      this.#emit({
        type: "response.function_call_arguments.done",
        sequence_number: this.#sequence++,
        item_id: id,
        output_index: this.#index,
        arguments: item.arguments,
        name,
      });
    else
      this.#emit({
        type: "response.custom_tool_call_input.done",
        sequence_number: this.#sequence++,
        item_id: id,
        output_index: this.#index,
        input: item.input,
      });
  }
}
