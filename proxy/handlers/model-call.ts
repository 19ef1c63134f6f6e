/**
 * A request to a model as the flow in `model-request.ts` sees it, whatever its endpoint and the
 * form of its body.
 */
import type { ProviderConfig, RewriterName } from "../../shared/config/config.js";
import type { Failure } from "../../shared/error-code.js";
import type { Operation } from "../../shared/operation.js";
import type { AnswerTranslator } from "../dialects/translated-upstream.js";
import type { Exchange } from "../http/exchange.js";
import type { Spool } from "../http/upload.js";
import type { RequestBody } from "../upstream/upstream.js";

export interface ModelCall {
  /** What the client asks for. */
  readonly operation: Operation;
  /** As the client wrote it. */
  readonly model: string;
  /** Its JSON; null: it is a form, which isn't held as a whole. */
  readonly body: Buffer | null;
  /** For an estimate, where the provider tells no usage. */
  readonly promptBytes: number;
  /** Whether it can be sent again, to another target. */
  readonly repeatable: boolean;
  /**
   * Why this can't be asked of a provider, or null. Asked before the admission: what can't be sent
   * consumes nothing.
   */
  problemAt(provider: ProviderConfig): Failure | null;
  /**
   * The request to one target, with the prompt rewritten; a provider with a problem isn't asked for
   * it.
   */
  requestTo(
    provider: ProviderConfig,
    model: string,
    rewriters: readonly RewriterName[],
  ): TargetRequest;
  /** It won't be sent any more. */
  close(): void;
}

export interface TargetRequest {
  /** Which of the provider's operations it is. */
  readonly operation: Operation;
  readonly body: RequestBody;
  /** What rewriters took out of the prompt. */
  readonly savedBytes: number;
  /** Keep the usage chunk of a stream from the client, who didn't ask for it. */
  readonly hideUsageChunk: boolean;
  /** Between the provider's dialect and the client's; null: the same. */
  readonly translator: AnswerTranslator | null;
}

/** The call that a body makes, or why it makes none; null: the client is gone. */
export type ReadCall =
  | { readonly ok: true; readonly call: ModelCall }
  | { readonly ok: false; readonly failure: Failure | null };

/** What reading a call takes. */
export interface CallSource {
  readonly exchange: Exchange;
  readonly bodyBytesMax: number;
  readonly uploadBytesMax: number;
  readonly newSpool: () => Promise<Spool>;
  readonly isUtf8: (bytes: Buffer) => boolean;
  readonly nowMs: () => number;
}
