/**
 * Makes the parts of a candidate in Gemini's own API from the pieces of a chat completion. A
 * complete answer is made from the same pieces as a stream, so that they can't differ.
 *
 * A call is held until it is complete: its arguments are an object there, and not a text. What the
 * model thought goes with the first call, as its signature, because many clients send only that
 * back; where no call follows, it goes with a last, empty thought.
 */

import { AnswerSize, type CallPiece, type ChatPiece, namelessCall } from "../shared/chat-pieces.js";
import { CallTracker, continuedCall } from "../shared/chat-stream-reader.js";
import { keptAsSignature } from "../shared/kept-reasoning.js";
import { googleFinishReason } from "../shared/stop-reasons.js";
import { readSignedId } from "../shared/thought-signature.js";
import { readToolInput, ToolNames } from "../shared/tool-call.js";
import {
  type AnswerContext,
  FailedAnswer,
  type JsonObject,
  UntranslatableAnswer,
} from "../shared/translation.js";

interface HeldCall {
  id: string | null;
  readonly name: string;
  /** Gemini's own, from a provider that serves its models. */
  signature: string | null;
  text: string;
}

/** How a candidate ended. */
export interface Finish {
  readonly finishReason: string;
  /** Null if the reason says it all. */
  readonly finishMessage: string | null;
  /** Nothing was said because the prompt was blocked: there is no candidate. */
  readonly isBlocked: boolean;
}

export class CandidateParts {
  readonly #context: AnswerContext;
  readonly #emit: (part: JsonObject) => void;
  readonly #tracker = new CallTracker();
  readonly #names: ToolNames;
  readonly #held = new Map<number, HeldCall>();
  readonly #size = new AnswerSize();
  #calls = 0;
  #thoughts = "";
  #blocks: JsonObject[] = [];
  #refusal = "";
  #malformed: string | null = null;
  #isEmpty = true;

  constructor(context: AnswerContext, emit: (part: JsonObject) => void) {
    this.#context = context;
    this.#emit = (part) => {
      this.#isEmpty = false;
      emit(part);
    };
    const { tools } = context.request;
    this.#names = new ToolNames(
      Array.isArray(tools) ? tools.map((tool: JsonObject) => tool["name"]) : [],
    );
  }

  get heldBytes(): number {
    return this.#size.bytes;
  }

  get #showsThoughts(): boolean {
    return this.#context.request["includeThoughts"] === true;
  }

  /** Throws `UntranslatableAnswer`. */
  add(piece: ChatPiece): void {
    if (piece.kind === "text") return this.#text(piece.text);
    this.#size.add(piece);
    switch (piece.kind) {
      case "reasoning":
        this.#thoughts += piece.text;
        if (this.#showsThoughts) this.#emit({ text: piece.text, thought: true });
        break;
      case "signed":
        this.#blocks.push(piece.block);
        break;
      case "refusal":
        this.#refusal += piece.text;
        break;
      default:
        this.#call(piece);
    }
  }

  #text(text: string): void {
    if (text === "") return;
    this.#release(false);
    this.#emit({ text });
  }

  #call(piece: CallPiece): void {
    const index = this.#tracker.indexOf(piece, this.#held.size > 0);
    const { id, extra } = readSignedId(piece.clientId ?? "");
    const signature = signatureIn(extra);
    if (this.#tracker.isNew(piece, index)) {
      if (piece.custom)
        throw new UntranslatableAnswer("the provider's answer calls a tool that is not a function");
      if (piece.name === null) throw namelessCall();
      // One index for several calls, which only their ids tell apart.
      if (this.#held.has(index)) this.#release(false);
      this.#tracker.begin(index, piece.id ?? "");
      this.#held.set(index, { id: id || null, name: piece.name, signature, text: piece.text });
      return;
    }
    const held = this.#held.get(index);
    if (held === undefined) throw continuedCall();
    held.id ??= id || null;
    held.signature ??= signature;
    held.text += piece.text;
  }

  /** `isCut`: the answer ended at its limit, so that the last call may be incomplete. */
  #release(isCut: boolean): void {
    for (const { id, name, signature, text } of this.#held.values()) {
      const args = readToolInput(text);
      if (args === null) {
        // A client would run it with other arguments than the model meant.
        if (!isCut) this.#malformed = `the arguments of a call of ${name} are not a JSON object`;
        continue;
      }
      const number = this.#calls++;
      const functionCall = {
        id: id ?? `call_${this.#context.requestId}_${number}`,
        name: this.#names.original(name),
        args,
      };
      const thoughtSignature = signature ?? (number === 0 ? this.#keptThinking() : null);
      this.#emit(thoughtSignature === null ? { functionCall } : { functionCall, thoughtSignature });
    }
    this.#held.clear();
  }

  #keptThinking(): string | null {
    if (this.#thoughts === "" && this.#blocks.length === 0) return null;
    return keptAsSignature({ text: this.#thoughts, blocks: this.#blocks });
  }

  /** `finish`: the chat completion's reason. Throws `FailedAnswer`. */
  end(finish: unknown): Finish {
    const reason = googleFinishReason(finish);
    if (reason === null) throw new FailedAnswer("the provider ended its answer with an error");
    this.#release(reason === "MAX_TOKENS");
    const kept = this.#calls === 0 && this.#showsThoughts ? this.#keptThinking() : null;
    if (kept !== null) this.#emit({ text: "", thought: true, thoughtSignature: kept });
    if (this.#malformed !== null)
      return {
        finishReason: "MALFORMED_FUNCTION_CALL",
        finishMessage: this.#malformed,
        isBlocked: false,
      };
    const isBlocked = reason === "SAFETY" && this.#isEmpty;
    if (this.#refusal === "") return { finishReason: reason, finishMessage: null, isBlocked };
    return {
      finishReason: reason === "STOP" ? "SAFETY" : reason,
      finishMessage: this.#refusal,
      isBlocked,
    };
  }
}

function signatureIn(extra: ReturnType<typeof readSignedId>["extra"]): string | null {
  const google = extra.extra_content?.["google"] as JsonObject | undefined;
  return (google?.["thought_signature"] as string | undefined) ?? null;
}
