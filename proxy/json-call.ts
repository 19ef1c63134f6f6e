/** A call whose request is a JSON object: chat completions, messages, responses, embeddings, speech, images. */
import type { ProviderConfig } from "../shared/config/config.js";
import { type Failure, failure } from "../shared/error-code.js";
import { chooseDialect } from "./dialects/choose-dialect.js";
import type { CallSource, ModelCall, ReadCall, TargetRequest } from "./model-call.js";
import { type JsonOperation, type ModelBody, parseModelBody, rewriteModelBody } from "./model-body.js";
import { notOffered } from "./not-offered.js";

export async function readJsonCall(operation: JsonOperation, { exchange, bodyBytesMax, isUtf8 }: CallSource): Promise<ReadCall> {
  const body = await exchange.readBody(bodyBytesMax);
  if (!body.ok) return { ok: false, failure: body.reason === "gone" ? null : failure("request_too_large", `the body is larger than ${bodyBytesMax} bytes`) };
  const parsed = parseModelBody(operation, body.bytes, isUtf8);
  return parsed.ok ? { ok: true, call: new JsonCall(operation, body.bytes, parsed.body) } : parsed;
}

class JsonCall implements ModelCall {
  readonly operation: JsonOperation;
  readonly #bytes: Buffer;
  readonly #body: ModelBody;

  constructor(operation: JsonOperation, bytes: Buffer, body: ModelBody) {
    this.operation = operation;
    this.#bytes = bytes;
    this.#body = body;
  }

  get model(): string {
    return this.#body.model;
  }

  get repeatable(): boolean {
    return true;
  }

  get promptBytes(): number {
    return this.#bytes.length;
  }

  problemAt(provider: ProviderConfig): Failure | null {
    const dialect = chooseDialect(this.operation, provider.operations);
    return dialect === null ? notOffered(provider, this.operation) : null;
  }

  requestTo(provider: ProviderConfig, model: string): TargetRequest {
    const { stream, includeUsage, members } = this.#body;
    const askUsage = this.operation === "chat_completions" && stream && !includeUsage && provider.takesStreamOptions;
    const edits = { model: model === this.#body.model ? undefined : model, includeUsage: askUsage ? (true as const) : undefined };
    return { operation: this.operation, body: rewriteModelBody(this.#bytes, edits, members), hideUsageChunk: askUsage, translator: null };
  }

  close(): void {}
}
