/**
 * What a chat completion says, piece by piece: of a whole message and of a stream's delta alike.
 */
import { isAbsent, isCount, isObject } from "../../../shared/assert.js";
import { jsonDepthMax } from "../../../shared/bounds.js";
import { writeExactly } from "../../body/exact-json.js";
import { nestedDeeperThan } from "../../body/json-depth.js";
import { signedId } from "./thought-signature.js";
import { type JsonObject, UntranslatableAnswer } from "./translation.js";

export interface Logprob {
  readonly token: string;
  readonly logprob: number;
  readonly bytes: readonly unknown[];
  readonly top_logprobs: readonly JsonObject[];
}

export interface CallPiece {
  readonly kind: "call";
  /** Which call it belongs to; null when the provider doesn't say. */
  readonly index: number | null;
  readonly id: string | null;
  /**
   * What its client is to send back: the id, and with it what the provider wants back beside it.
   */
  readonly clientId: string | null;
  readonly name: string | null;
  readonly custom: boolean;
  /** A part of the arguments, or of a custom tool's input. */
  readonly text: string;
}

export type ChatPiece =
  | { readonly kind: "reasoning"; readonly text: string }
  | { readonly kind: "text"; readonly text: string; readonly logprobs: readonly Logprob[] }
  | { readonly kind: "refusal"; readonly text: string }
  | CallPiece;

/**
 * The pieces of a choice's `message` (`whole`) or `delta`, in the order in which a model says them:
 * its reasoning, text, refusal, calls. Throws UntranslatableAnswer when a field isn't what it must
 * be.
 */
export function chatPieces(choice: JsonObject, whole: boolean): ChatPiece[] {
  const name = whole ? "message" : "delta";
  const said = choice[name];
  if (isAbsent(said) && !whole) return [];
  if (!isObject(said)) throw new UntranslatableAnswer(`the answer's ${name} is not an object`);
  const pieces: ChatPiece[] = [];
  // DeepSeek's name for it, then OpenRouter's; who sends both says the same twice.
  const reasoning =
    textOf(said["reasoning_content"], "reasoning_content") ||
    textOf(said["reasoning"], "reasoning");
  addReasoning(pieces, reasoning);
  addContent(pieces, said["content"], logprobsOf(choice["logprobs"]));
  const refusal = textOf(said["refusal"], "refusal");
  if (refusal !== "") pieces.push({ kind: "refusal", text: refusal });
  const calls = said["tool_calls"];
  if (isAbsent(calls)) return pieces;
  if (!Array.isArray(calls))
    throw new UntranslatableAnswer("the answer's tool_calls are not an array");
  for (let i = 0; i < calls.length; i++) {
    const piece = callPiece(calls[i], whole ? i : null);
    // Some providers end a call with a piece of nothing, when something else has followed already.
    if (whole || piece.id !== null || piece.name !== null || piece.text !== "") pieces.push(piece);
  }
  return pieces;
}

function addReasoning(pieces: ChatPiece[], text: string): void {
  if (text !== "") pieces.push({ kind: "reasoning", text });
}

function textOf(value: unknown, name: string): string {
  if (isAbsent(value)) return "";
  if (typeof value !== "string")
    throw new UntranslatableAnswer(`the answer's ${name} is not a string`);
  return value;
}

/**
 * A text, or, of Mistral's reasoning models, a list of parts. A token's log probability may come
 * without a whole character.
 */
function addContent(pieces: ChatPiece[], content: unknown, logprobs: readonly Logprob[]): void {
  if (!Array.isArray(content)) {
    const text = textOf(content, "content");
    if (text !== "" || logprobs.length > 0) pieces.push({ kind: "text", text, logprobs });
    return;
  }
  for (const part of content) {
    const type = isObject(part) ? part["type"] : undefined;
    if (type === "text") addContent(pieces, part["text"], []);
    else if (type === "thinking") addReasoning(pieces, thinkingOf(part["thinking"]));
    else
      throw new UntranslatableAnswer(
        "the answer's content has a part that is neither text nor thinking",
      );
  }
}

function thinkingOf(thinking: unknown): string {
  if (!Array.isArray(thinking)) return textOf(thinking, "thinking");
  return thinking.map((part) => textOf(isObject(part) ? part["text"] : part, "thinking")).join("");
}

function callPiece(call: unknown, position: number | null): CallPiece {
  if (!isObject(call)) throw new UntranslatableAnswer("a tool call is not an object");
  const custom = isObject(call["custom"]);
  const inner = custom ? call["custom"] : call["function"];
  if (!isAbsent(inner) && !isObject(inner))
    throw new UntranslatableAnswer("a tool call's function is not an object");
  const fields: JsonObject = isObject(inner) ? inner : {};
  const id = textOf(call["id"], "id of a tool call");
  const given = fields[custom ? "input" : "arguments"];
  return {
    kind: "call",
    index: position ?? (isCount(call["index"]) ? call["index"] : null),
    id: id || null,
    clientId: signedId(id, call) || null,
    name: textOf(fields["name"], "name of a tool call") || null,
    custom,
    // Some providers forget that arguments are JSON within a text.
    text: isObject(given) ? jsonOf(given) : textOf(given, "arguments of a tool call"),
  };
}

function jsonOf(value: JsonObject): string {
  if (nestedDeeperThan(value, jsonDepthMax))
    throw new UntranslatableAnswer("the arguments of a tool call are nested too deeply");
  return writeExactly(value);
}

/** Those of the text. What isn't one is left out: they are for looking at. */
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
  const others = Array.isArray(top)
    ? top
        .filter(isLogprob)
        .map((each) => ({ token: each.token, logprob: each.logprob, bytes: bytesOf(each) }))
    : [];
  return { token, logprob, bytes: bytesOf(value), top_logprobs: others };
}

function bytesOf(value: TokenLogprob): readonly unknown[] {
  return Array.isArray(value["bytes"]) ? (value["bytes"] as unknown[]) : [];
}
