/**
 * Makes the parts of a candidate in Gemini's own API from the pieces of a chat completion. A
 * complete answer is made from the same pieces as a stream, so the two can't differ.
 *
 * A call is held until it is complete, because its arguments are an object there, not a text. The
 * first call carries the model's thoughts as its signature, because many clients send only
 * signatures of calls back. Without a call, a last, empty thought carries them.
 */
import { type Call, CallSequence } from "../shared/call-sequence.js";
import { AnswerSize, type ChatPiece, imageAsText } from "../shared/chat-pieces.js";
import { readImage } from "../shared/data-url.js";
import { keptAsSignature } from "../shared/kept-reasoning.js";
import { googleFinishReason } from "../shared/stop-reasons.js";
import { withThinking } from "../shared/thinking-blocks.js";
import { readSignedId } from "../shared/thought-signature.js";
import { readToolInput, ToolNames } from "../shared/tool-call.js";
import {
  type AnswerContext,
  FailedAnswer,
  type JsonObject,
  UntranslatableAnswer,
} from "../shared/translation.js";

/** How a candidate ended. */
export interface Finish {
  readonly finishReason: string;
  /** Null if the reason needs no explanation. */
  readonly finishMessage: string | null;
  /** The prompt was blocked, so the answer has no candidate. */
  readonly isBlocked: boolean;
  /** The pages that the answer cites, as `groundingChunks`. */
  readonly cited: readonly JsonObject[];
}

export class CandidateParts {
  readonly #context: AnswerContext;
  readonly #emit: (part: JsonObject) => void;
  /** The text of the current call. */
  #callText = "";
  readonly #sequence = new CallSequence({
    begin: () => {},
    text: (text) => {
      this.#callText += text;
    },
    end: (call) => {
      this.#emitCall(call);
      this.#callText = "";
    },
  });
  readonly #names: ToolNames;
  readonly #size = new AnswerSize();
  #calls = 0;
  #thoughts = "";
  #blocks: JsonObject[] = [];
  readonly #cited: JsonObject[] = [];
  #refusal = "";
  #malformed: string | null = null;
  #isEmpty = true;
  /** The answer ended at its limit, so a call may be incomplete. */
  #isCut = false;

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

  /** The text of incomplete calls. */
  get unsentChars(): number {
    return this.#callText.length + this.#sequence.heldChars;
  }

  get #showsThoughts(): boolean {
    return this.#context.request["includeThoughts"] === true;
  }

  /** Throws `UntranslatableAnswer`. */
  add(piece: ChatPiece): void {
    if (piece.kind === "text") return this.#text(piece.text);
    if (piece.kind === "image") return this.#image(piece.url);
    this.#size.add(piece);
    switch (piece.kind) {
      case "reasoning":
        this.#thoughts += piece.text;
        if (this.#showsThoughts) this.#emit({ text: piece.text, thought: true });
        break;
      case "signed":
        this.#blocks.push(withThinking(piece.block, this.#thoughts, this.#blocks));
        break;
      case "refusal":
        this.#refusal += piece.text;
        break;
      case "citation": {
        const { url: uri, title } = piece.citation;
        this.#cited.push({ web: { uri, title } });
        break;
      }
      default:
        this.#sequence.add(piece);
    }
  }

  #text(text: string): void {
    if (text === "") return;
    this.#sequence.end();
    this.#emit({ text });
  }

  #image(url: string): void {
    const image = readImage(url);
    if (image === null) return this.#text(imageAsText(url));
    this.#sequence.end();
    this.#emit({ inlineData: { mimeType: image.mediaType, data: image.base64 } });
  }

  #emitCall({ clientId, name, isCustom }: Call & { readonly name: string }): void {
    if (isCustom)
      throw new UntranslatableAnswer("the provider's answer calls a tool that is not a function");
    const args = readToolInput(this.#callText);
    if (args === null) {
      // A client would run the call with other arguments than the model meant.
      if (!this.#isCut)
        this.#malformed = `the arguments of a call of ${name} are not a JSON object`;
      return;
    }
    const { id, extra } = readSignedId(clientId ?? "");
    const number = this.#calls++;
    const functionCall = {
      id: id || `call_${this.#context.requestId}_${number}`,
      name: this.#names.original(name),
      args,
    };
    const thoughtSignature = signatureIn(extra) ?? (number === 0 ? this.#keptThinking() : null);
    this.#emit(thoughtSignature === null ? { functionCall } : { functionCall, thoughtSignature });
  }

  #keptThinking(): string | null {
    if (this.#thoughts === "" && this.#blocks.length === 0) return null;
    return keptAsSignature({ text: this.#thoughts, blocks: this.#blocks });
  }

  /** `finish`: the chat completion's reason. Throws `FailedAnswer`. */
  end(finish: unknown): Finish {
    return { ...this.#end(finish), cited: this.#cited };
  }

  #end(finish: unknown): Omit<Finish, "cited"> {
    const reason = googleFinishReason(finish);
    if (reason === null) throw new FailedAnswer("the provider ended its answer with an error");
    this.#isCut = reason === "MAX_TOKENS";
    this.#sequence.end();
    const thinking = this.#calls === 0 && this.#showsThoughts ? this.#keptThinking() : null;
    if (thinking !== null) this.#emit({ text: "", thought: true, thoughtSignature: thinking });
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
