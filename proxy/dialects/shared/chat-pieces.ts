/**
 * Splits the content of a chat completion into pieces, the same for a complete message and for a
 * stream's delta.
 */
import { jsonDepthMax, readableResponseBytesMax } from "../../../shared/bounds.js";
import { isAbsent, isCount, isObject } from "../../../shared/checked.js";
import { writeExactly } from "../../body/exact-json.js";
import { nestedDeeperThan } from "../../body/json-value.js";
import { isWebUrl, readImage } from "./data-url.js";
import { carryDetail, isThinkingBlock, mustBeReturned, thinkingBlock } from "./thinking-blocks.js";
import { signedId } from "./thought-signature.js";
import { plainArguments } from "./tool-call.js";
import { type JsonObject, UntranslatableAnswer } from "./translation.js";

export interface Logprob {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: readonly unknown[];
  readonly top_logprobs: readonly JsonObject[];
}

export interface CallPiece {
  readonly kind: "call";
  /** The call's index; null if the provider gives none. */
  readonly index: number | null;
  readonly id: string | null;
  /** The id for the client, including a signature that the provider requires back. */
  readonly clientId: string | null;
  readonly name: string | null;
  readonly isCustom: boolean;
  /** A piece of the arguments, or of a custom tool's input. */
  readonly text: string;
}

export function namelessCall(): UntranslatableAnswer {
  return new UntranslatableAnswer("the provider's answer calls a tool without a name");
}

export type ChatPiece =
  | { readonly kind: "reasoning"; readonly text: string }
  /** A thinking block that the provider requires back. Its text, if any, is an earlier piece. */
  | { readonly kind: "signed"; readonly block: JsonObject; readonly bytes: number }
  | { readonly kind: "text"; readonly text: string; readonly logprobs: readonly Logprob[] }
  | { readonly kind: "refusal"; readonly text: string }
  | { readonly kind: "citation"; readonly citation: Citation }
  /** A picture that the model made: a `data:` URL or a web address. */
  | { readonly kind: "image"; readonly url: string }
  | CallPiece;

/** The source of a part of the answer's text. */
export interface Citation {
  readonly url: string;
  readonly title: string;
  readonly start_index: number;
  readonly end_index: number;
}

/** The memory of a token's log probabilities, of a call or of a block, without its text. */
const recordBytes = 512;

/** The approximate memory of the collected pieces of an answer. */
export class AnswerSize {
  #bytes = 0;

  get bytes(): number {
    return this.#bytes;
  }

  /** Throws UntranslatableAnswer if the piece makes the answer too large. */
  add(piece: ChatPiece): void {
    if (piece.kind === "signed") this.#bytes += recordBytes + piece.bytes;
    else if (piece.kind === "citation")
      this.#bytes += recordBytes + piece.citation.url.length + piece.citation.title.length;
    else if (piece.kind === "image") this.#bytes += recordBytes + piece.url.length;
    else this.#bytes += piece.text.length;
    if (piece.kind === "text") this.#bytes += piece.logprobs.length * recordBytes;
    if (piece.kind === "call") this.#bytes += recordBytes;
    if (this.#bytes > readableResponseBytesMax)
      throw new UntranslatableAnswer(
        `an answer larger than ${readableResponseBytesMax} bytes can't be translated`,
      );
  }
}

/**
 * The choice of an answer; undefined if it has none. Sluice requests one, but GitHub Copilot
 * returns Claude's text and calls as separate choices (ericc-ch/copilot-api#81,
 * zeroclaw-labs/zeroclaw#2136), which are joined.
 */
export function answeredChoice({ choices }: JsonObject): JsonObject | undefined {
  const list = Array.isArray(choices) ? choices.filter(isObject) : [];
  const messages = list.map(({ message }) => message).filter(isObject);
  if (list.length < 2 || messages.length < 2) return list[0];
  const message: Record<string, unknown> = {};
  for (const part of messages)
    for (const [name, value] of Object.entries(part))
      if (isAbsent(message[name]) || message[name] === "") message[name] = value;
  const calls = messages.flatMap(({ tool_calls: some }) => (Array.isArray(some) ? some : []));
  if (calls.length > 0) message["tool_calls"] = calls;
  return { ...list[0], message };
}

/** As `answeredChoice`, for a chunk: the first choice, and the calls of the others. */
export function streamedChoices({ choices }: JsonObject): readonly JsonObject[] {
  if (!Array.isArray(choices)) return [];
  return choices.filter(isObject).flatMap((choice) => {
    if ((choice["index"] ?? 0) === 0) return [choice];
    const { delta } = choice;
    const calls = isObject(delta) ? delta["tool_calls"] : null;
    return isAbsent(calls) ? [] : [{ ...choice, delta: { tool_calls: calls } }];
  });
}

/**
 * The pieces of a choice's message or delta, in the order in which models produce them: reasoning,
 * text, refusal, calls. Throws UntranslatableAnswer if a field has the wrong type. `provider`: the
 * provider's name.
 */
export function chatPieces(
  choice: JsonObject,
  name: "message" | "delta",
  provider: string,
): ChatPiece[] {
  // Some hosts stream a whole message.
  const isComplete = name === "message" || isAbsent(choice["delta"]);
  const message = choice[isComplete ? "message" : "delta"];
  if (isAbsent(message) && name === "delta") return [];
  if (!isObject(message)) throw new UntranslatableAnswer(`the answer's ${name} is not an object`);
  const pieces: ChatPiece[] = [];
  // DeepSeek's name for reasoning, then OpenRouter's; providers that send both send the same text.
  const reasoning =
    optionalText(message["reasoning_content"], "reasoning_content") ||
    optionalText(message["reasoning"], "reasoning");
  addReasoning(pieces, reasoning);
  const { thinking_blocks: blocks, reasoning_details: details } = message;
  addSignedBlocks(pieces, blocks);
  if (isAbsent(blocks) && Array.isArray(details))
    addSignedBlocks(
      pieces,
      details.map((detail: unknown) => carryDetail(detail, provider)),
    );
  addContent(pieces, message["content"], logprobsOf(choice["logprobs"]));
  addCitations(pieces, message["annotations"]);
  if (Array.isArray(message["images"])) addImages(pieces, message["images"]);
  const refusal = optionalText(message["refusal"], "refusal");
  if (refusal !== "") pieces.push({ kind: "refusal", text: refusal });
  const calls = message["tool_calls"] ?? olderCall(message["function_call"]);
  if (isAbsent(calls)) return pieces;
  if (!Array.isArray(calls))
    throw new UntranslatableAnswer("the answer's tool_calls are not an array");
  for (let i = 0; i < calls.length; i++) {
    const call = callPiece(calls[i], isComplete ? i : null);
    const isWhole = isComplete && !call.isCustom;
    const piece = isWhole ? { ...call, text: plainArguments(call.text) } : call;
    // Some providers end a call with an empty piece, even after other content.
    if (isComplete || piece.id !== null || piece.name !== null || piece.text !== "")
      pieces.push(piece);
  }
  return pieces;
}

/**
 * Converts a call in the older field, which `tool_calls` has replaced, and which some hosts still
 * use.
 */
function olderCall(call: unknown): unknown {
  return isObject(call) ? [{ index: 0, type: "function", function: call }] : null;
}

function addReasoning(pieces: ChatPiece[], text: string): void {
  if (text !== "") pieces.push({ kind: "reasoning", text });
}

function addSignedBlocks(pieces: ChatPiece[], blocks: unknown): void {
  if (!Array.isArray(blocks)) return;
  for (const block of blocks as readonly unknown[]) {
    if (!isThinkingBlock(block) || !mustBeReturned(block)) continue;
    const { thinking = "", signature = "", data = "" } = block as Readonly<Record<string, string>>;
    pieces.push({
      kind: "signed",
      block: thinkingBlock(block),
      bytes: thinking.length + signature.length + data.length,
    });
  }
}

function addCitations(pieces: ChatPiece[], annotations: unknown): void {
  if (!Array.isArray(annotations)) return;
  for (const annotation of annotations as readonly unknown[]) {
    const citation = isObject(annotation) ? readCitation(annotation["url_citation"]) : null;
    if (citation !== null) pieces.push({ kind: "citation", citation });
  }
}

/** OpenRouter's pictures stand beside the text, Gemini's may be parts of it. */
function addImages(pieces: ChatPiece[], images: readonly unknown[]): void {
  for (const image of images) {
    const address = isObject(image) ? image["image_url"] : null;
    const url = isObject(address) ? address["url"] : address;
    if (typeof url === "string" && url !== "") pieces.push({ kind: "image", url });
  }
}

/** For clients whose dialect has no pictures in answers. */
export function imageAsText(url: string): string {
  if (isWebUrl(url)) return `![image](${url})`;
  const type = readImage(url)?.mediaType ?? "unknown type";
  return `[The model made an image (${type}), which this API can't carry.]`;
}

/** Null if it names no address. `offset`: where the text that the indices count from begins. */
export function readCitation(value: unknown, offset = 0): Citation | null {
  if (!isObject(value) || typeof value["url"] !== "string") return null;
  const { url, title, start_index: start, end_index: end } = value;
  return {
    url,
    title: typeof title === "string" ? title : "",
    start_index: offset + (isCount(start) ? start : 0),
    end_index: offset + (isCount(end) ? end : 0),
  };
}

/** A citation as an annotation of a chat message. */
export function chatAnnotation(citation: Citation): JsonObject {
  return { type: "url_citation", url_citation: citation };
}

function optionalText(value: unknown, name: string): string {
  if (isAbsent(value)) return "";
  if (typeof value !== "string")
    throw new UntranslatableAnswer(`the answer's ${name} is not a string`);
  return value;
}

/**
 * A string or, from Mistral, a list of parts. Mistral's references give only the numbers of a
 * tool's results (vercel/ai#4820), and are left out. Log probabilities may arrive without text,
 * because a token can be less than a character.
 */
function addContent(pieces: ChatPiece[], content: unknown, logprobs: readonly Logprob[]): void {
  if (!Array.isArray(content)) {
    const text = optionalText(content, "content");
    if (text !== "" || logprobs.length > 0) pieces.push({ kind: "text", text, logprobs });
    return;
  }
  for (const part of content) {
    const type = isObject(part) ? part["type"] : undefined;
    if (type === "text") addContent(pieces, part["text"], []);
    else if (type === "thinking") addReasoning(pieces, thinkingOf(part["thinking"]));
    else if (type === "image_url") addImages(pieces, [part]);
    else if (type !== "reference")
      throw new UntranslatableAnswer(
        "the answer's content has a part that is neither text, thinking nor an image",
      );
  }
}

function thinkingOf(thinking: unknown): string {
  if (!Array.isArray(thinking)) return optionalText(thinking, "thinking");
  return thinking
    .map((part) => optionalText(isObject(part) ? part["text"] : part, "thinking"))
    .join("");
}

function callPiece(call: unknown, position: number | null): CallPiece {
  if (!isObject(call)) throw new UntranslatableAnswer("a tool call is not an object");
  const isCustom = isObject(call["custom"]);
  const inner = isCustom ? call["custom"] : call["function"];
  if (!isAbsent(inner) && !isObject(inner))
    throw new UntranslatableAnswer("a tool call's function is not an object");
  const fields: JsonObject = isObject(inner) ? inner : {};
  const id = optionalText(call["id"], "id of a tool call");
  const input = fields[isCustom ? "input" : "arguments"];
  return {
    kind: "call",
    index: position ?? (isCount(call["index"]) ? call["index"] : null),
    id: id || null,
    clientId: signedId(id, call) || null,
    name: optionalText(fields["name"], "name of a tool call") || null,
    isCustom,
    // Some providers send the arguments as an object instead of as JSON in a string.
    text: isObject(input) ? jsonOf(input) : optionalText(input, "arguments of a tool call"),
  };
}

function jsonOf(value: JsonObject): string {
  if (nestedDeeperThan(value, jsonDepthMax))
    throw new UntranslatableAnswer("the arguments of a tool call are nested too deeply");
  return writeExactly(value);
}

/**
 * The log probabilities of the text. Invalid ones are left out, because they are only informative.
 */
function logprobsOf(logprobs: unknown): readonly Logprob[] {
  const content = isObject(logprobs) ? logprobs["content"] : null;
  return Array.isArray(content) && content.length > 0
    ? content.filter(isLogprob).map(logprobOf)
    : none;
}

const none: readonly Logprob[] = [];

type TokenLogprob = JsonObject & { readonly token: string; readonly logprob: number };

function isLogprob(value: unknown): value is TokenLogprob {
  return (
    isObject(value) && typeof value["token"] === "string" && typeof value["logprob"] === "number"
  );
}

function logprobOf(value: TokenLogprob): Logprob {
  const { token, logprob, top_logprobs: top } = value;
  const alternatives = Array.isArray(top)
    ? top.filter(isLogprob).map((alternative) => ({
        token: alternative.token,
        logprob: alternative.logprob,
        bytes: bytesOf(alternative),
      }))
    : [];
  return { token, logprob, bytes: bytesOf(value), top_logprobs: alternatives };
}

function bytesOf(value: TokenLogprob): readonly unknown[] {
  return Array.isArray(value["bytes"]) ? (value["bytes"] as unknown[]) : [];
}
