/**
 * Translates a stream of chat completion chunks to the chunks of Gemini's own API. Each chunk is a
 * response with the new parts; the last one has the finish reason and the usage.
 */
import { writeExactly } from "../../body/exact-json.js";
import { chatPieces } from "../shared/chat-pieces.js";
import { ChatStreamReader } from "../shared/chat-stream-reader.js";
import { googleErrorEvent } from "../shared/error-events.js";
import { googleUsage } from "../shared/translate-usage.js";
import { type AnswerContext, FailedAnswer, type JsonObject } from "../shared/translation.js";
import { CandidateParts } from "./candidate-parts.js";
import { ending, responseId } from "./chat-answer-to-google.js";

export class ChatStreamToGoogle extends ChatStreamReader {
  readonly #context: AnswerContext;
  readonly #candidate: CandidateParts;
  /** The parts of the chunk that is being read. */
  #parts: JsonObject[] = [];
  /** Null before the first chunk of an answer. */
  #id: string | null = null;
  protected override readonly errorEvent = googleErrorEvent;

  constructor(context: AnswerContext) {
    super();
    this.#context = context;
    this.#candidate = new CandidateParts(context, (part) => void this.#parts.push(part));
  }

  override get heldBytes(): number {
    return this.#candidate.heldBytes;
  }

  override get unsentChars(): number {
    return this.#candidate.unsentChars;
  }

  protected override translate(choice: JsonObject, chunk: JsonObject): void {
    this.#id ??= responseId(chunk["id"], this.#context);
    for (const piece of chatPieces(choice, "delta", this.#context.provider))
      this.#candidate.add(piece);
    if (this.#parts.length > 0) {
      const content = { role: "model", parts: this.#parts };
      this.#send({ candidates: [{ content, index: 0 }] });
      this.#parts = [];
    }
  }

  protected override complete(): void {
    if (this.#id === null) throw new FailedAnswer("the provider's stream ended without an answer");
    const finish = this.#candidate.end(this.finish);
    this.#send({ ...ending(this.#parts, finish), usageMetadata: googleUsage(this.usage) });
    this.close(null);
  }

  #send(answer: JsonObject): void {
    const chunk = {
      ...answer,
      modelVersion: this.#context.model,
      responseId: this.#id,
    };
    this.sendText(null, writeExactly(chunk));
  }
}
