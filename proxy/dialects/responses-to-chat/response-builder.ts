/**
 * Builds a response from the pieces of a chat completion, and emits each step as an event of the
 * Responses API. A complete answer is built from the same pieces, and its events are ignored, so a
 * stream and a complete answer can't differ.
 *
 * One item is open at a time, as in the API: a piece of another kind closes it.
 */
import { unreachable } from "../../../shared/assert.js";
import { mergeUsage } from "../../usage/find-usage.js";
import { type Call, CallSequence } from "../shared/call-sequence.js";
import {
  AnswerSize,
  type ChatPiece,
  type Citation,
  imageAsText,
  type Logprob,
} from "../shared/chat-pieces.js";
import { readImage } from "../shared/data-url.js";
import { returnsReasoning, writeKeptReasoning } from "../shared/kept-reasoning.js";
import { withThinking } from "../shared/thinking-blocks.js";
import type { AnswerContext, JsonObject } from "../shared/translation.js";
import { ClientTools, customCallInput } from "./client-tools.js";
import { type ResponseEvent, ResponseEventWriter } from "./response-event-writer.js";
import {
  type CallItem,
  type ContentItem,
  type ContentPart,
  callItem,
  type ItemStatus,
  isCall,
  type MessageItem,
  messageItem,
  type OpenItem,
  type OutputItem,
  type ReasoningItem,
  reasoningItem,
  reasoningPart,
  refusalPart,
  textPart,
} from "./response-items.js";
import { type Ending, idStem, type Progress, responseObject } from "./response-object.js";

export class ResponseBuilder {
  readonly #context: AnswerContext;
  readonly #events: ResponseEventWriter;
  readonly #stem: string;
  readonly #output: OutputItem[] = [];
  #open: OpenItem | null = null;
  readonly #calls = new CallSequence({
    begin: (call) => this.#openCall(call),
    text: (text) => this.#addCallText(this.#open as CallItem, text),
    end: () => this.#closeItem(this.#callStatus),
  });
  /** The status of calls that end now. The end of the answer may have cut them. */
  #callStatus: ItemStatus = "completed";
  #clientTools: ClientTools | null = null;
  /**
   * The arguments of a function that replaces a custom tool: the tool's input is within them. Null
   * for other items.
   */
  #heldArguments: string | null = null;
  /** The signed thinking of the open reasoning item. */
  #signed: JsonObject[] = [];
  #usage: unknown = null;
  #serviceTier: string | null = null;
  readonly size = new AnswerSize();

  get unsentChars(): number {
    return this.#calls.heldChars + (this.#heldArguments?.length ?? 0);
  }

  /**
   * `emit` must write an event out immediately: the event refers to items that change afterwards.
   */
  constructor(context: AnswerContext, emit: (event: ResponseEvent) => void) {
    this.#context = context;
    this.#events = new ResponseEventWriter(emit);
    this.#stem = idStem(context);
  }

  /** The usage that the provider has reported so far, or null. */
  get usage(): unknown {
    return this.#usage;
  }

  begin(): void {
    const response = this.#response({ status: "in_progress" });
    this.#events.response("created", response);
    this.#events.response("in_progress", response);
  }

  /** Notes the usage and the service tier of a chunk or of a complete answer, if it has them. */
  noteUsage(usage: unknown, serviceTier: unknown): void {
    this.#usage = mergeUsage(this.#usage, usage);
    if (typeof serviceTier === "string") this.#serviceTier = serviceTier;
  }

  /**
   * Throws UntranslatableAnswer for a piece that belongs to no item, or if the response becomes too
   * large: its last event repeats everything.
   */
  add(piece: ChatPiece): void {
    this.size.add(piece);
    if (piece.kind === "citation") return this.#addCitation(piece.citation);
    if (piece.kind !== "call") this.#calls.end();
    switch (piece.kind) {
      case "reasoning":
        return this.#addReasoning(piece.text);
      case "signed":
        return this.#addSigned(piece.block);
      case "text":
        return this.#addText(piece.text, piece.logprobs);
      case "refusal":
        return this.#addRefusal(piece.text);
      case "call":
        return this.#calls.add(piece);
      case "image":
        return this.#addImage(piece.url);
      default:
        unreachable(piece);
    }
  }

  /** The finished response. If it failed, the open item stays open and is marked incomplete. */
  end(ending: Ending): JsonObject {
    const { status } = ending;
    if (status !== "failed") {
      this.#callStatus = status;
      this.#calls.end();
      this.#closeItem(status);
      if (status === "completed" && this.#context.request["compacts"] === true)
        this.#addCompaction();
    } else if (this.#open !== null) this.#open.status = "incomplete";
    const response = this.#response(ending);
    this.#events.response(status, response);
    return response;
  }

  /** Adds the text of the model, a summary of the conversation, as a compaction. */
  #addCompaction(): void {
    const texts = this.#output.flatMap((item) =>
      item.type === "message"
        ? item.content.map((part) => (part.type === "output_text" ? part.text : ""))
        : [],
    );
    const encrypted_content = writeKeptReasoning({ text: texts.join(""), blocks: [] });
    this.#addWhole({ id: this.#newItemId("cmp"), type: "compaction", encrypted_content });
  }

  #addImage(url: string): void {
    const image = readImage(url);
    if (image === null) return this.#addText(imageAsText(url), []);
    this.#closeItem("completed");
    this.#addWhole({
      id: this.#newItemId("ig"),
      type: "image_generation_call",
      status: "completed",
      result: image.base64,
    });
  }

  #addWhole(item: OutputItem): void {
    this.#output.push(item);
    this.#events.itemAdded(item, this.#index);
    this.#events.itemDone(item, this.#index);
  }

  #response(progress: Progress): JsonObject {
    return responseObject(this.#context, {
      progress,
      output: this.#output,
      usage: this.#usage,
      serviceTier: this.#serviceTier,
    });
  }

  #addReasoning(text: string): void {
    const item =
      this.#open?.type === "reasoning"
        ? this.#open
        : this.#openItem(reasoningItem(this.#newItemId("rs")));
    const part = this.#openPart(item, "reasoning_text", reasoningPart);
    part.text += text;
    this.#events.reasoningDelta(item, this.#index, text);
  }

  /** A signed block comes after the text that it signs, or alone if its thinking is encrypted. */
  #addSigned(block: JsonObject): void {
    const { content } =
      this.#open?.type === "reasoning"
        ? this.#open
        : this.#openItem(reasoningItem(this.#newItemId("rs")));
    const thoughts = content.map((part) => part.text).join("");
    this.#signed.push(withThinking(block, thoughts, this.#signed));
  }

  #addText(text: string, logprobs: readonly Logprob[]): void {
    const item = this.#openMessage();
    const part = this.#openPart(item, "output_text", textPart);
    part.text += text;
    for (const logprob of logprobs) part.logprobs.push(logprob);
    this.#events.textDelta(item, this.#index, text, logprobs);
  }

  /** Adds a citation to the open text; after a call it is dropped. */
  #addCitation(citation: Citation): void {
    if (isCall(this.#open)) return;
    const item = this.#openMessage();
    const { annotations } = this.#openPart(item, "output_text", textPart);
    const annotation = { type: "url_citation", ...citation };
    annotations.push(annotation);
    this.#events.annotationAdded(item, this.#index, annotation, annotations.length - 1);
  }

  /** The item's last part, or a new part if the last one has another type. */
  #openPart<T extends ContentPart>(
    item: ContentItem & { readonly content: ContentPart[] },
    type: T["type"],
    make: () => T,
  ): T {
    const last = item.content.at(-1);
    if (last?.type === type) return last as T;
    this.#closePart(item);
    const part = make();
    item.content.push(part);
    this.#events.partAdded(item, this.#index, part);
    return part;
  }

  #addRefusal(text: string): void {
    const item = this.#openMessage();
    this.#openPart(item, "refusal", refusalPart).refusal += text;
    this.#events.refusalDelta(item, this.#index, text);
  }

  #openMessage(): MessageItem {
    return this.#open?.type === "message"
      ? this.#open
      : this.#openItem(messageItem(this.#newItemId("msg")));
  }

  #openCall({ clientId, name, isCustom }: Call & { readonly name: string }): void {
    const callId = clientId ?? `call_${this.#stem}_${this.#output.length}`;
    this.#clientTools ??= new ClientTools(this.#context.request["tools"]);
    const tool = this.#clientTools.calledAs(name) ?? { name, namespace: null, isCustom };
    const item = callItem(this.#newItemId(tool.isCustom ? "ctc" : "fc"), callId, tool);
    this.#openItem(item);
    this.#heldArguments = tool.isCustom && !isCustom ? "" : null;
  }

  #addCallText(item: CallItem, text: string): void {
    if (text === "") return;
    if (this.#heldArguments !== null) {
      this.#heldArguments += text;
      return;
    }
    if (item.type === "function_call") item.arguments += text;
    else item.input += text;
    this.#events.callDelta(item, this.#index, text);
  }

  /** The index of the open item. */
  get #index(): number {
    return this.#output.length - 1;
  }

  /** The id ends in the item's index, which makes it unique in the response. */
  #newItemId(prefix: string): string {
    return `${prefix}_${this.#stem}_${this.#output.length}`;
  }

  #openItem<T extends OpenItem>(item: T): T {
    this.#closeItem("completed");
    this.#output.push(item);
    this.#open = item;
    this.#events.itemAdded(item, this.#index);
    return item;
  }

  #closeItem(status: ItemStatus): void {
    const item = this.#open;
    if (item === null) return;
    if (isCall(item)) this.#closeCall(item, status);
    else this.#closePart(item);
    if (item.type === "reasoning") this.#keepReasoning(item);
    item.status = status;
    this.#open = null;
    this.#events.itemDone(item, this.#index);
  }

  #keepReasoning(item: ReasoningItem): void {
    const blocks = this.#signed;
    this.#signed = [];
    if (!returnsReasoning(this.#context.request, blocks)) return;
    const text = item.content.map((part) => part.text).join("");
    item.encrypted_content = writeKeptReasoning({ text, blocks });
  }

  #closePart(item: ContentItem): void {
    const part = item.content.at(-1);
    if (part !== undefined) this.#events.partDone(item, this.#index, part);
  }

  #closeCall(item: CallItem, status: ItemStatus): void {
    if (this.#heldArguments !== null) {
      const input = customCallInput(this.#heldArguments);
      this.#heldArguments = null;
      this.#addCallText(item, input);
    }
    // A client parses the arguments, so a call without arguments gets an empty object.
    if (item.type === "function_call" && item.arguments === "" && status === "completed")
      this.#addCallText(item, "{}");
    this.#events.callDone(item, this.#index);
  }
}
