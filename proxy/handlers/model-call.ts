/**
 * A request to a model as the steps in `model-request.ts` see it, whatever its endpoint and
 * whether its body is JSON or a form.
 */
import type { ProviderConfig, RewriterName } from "../../shared/config/config.js";
import { sentModel, type Target } from "../../shared/domain/target-name.js";
import { type Failure, invalid } from "../../shared/error-code.js";
import type { Operation } from "../../shared/operation.js";
import type { Caller } from "../auth/caller.js";
import type { AnswerTranslator } from "../dialects/translated-upstream.js";
import { type Gateway, providerOf } from "../gateway.js";
import type { Spool } from "../http/body-spool.js";
import type { Exchange } from "../http/exchange.js";
import type { Limiter } from "../limiter/limiter.js";
import type { Naming } from "../objects/object-body.js";
import type { RequestContext } from "../request-context.js";
import { allowableNames } from "../routing/allowable-names.js";
import type { Route } from "../routing/resolve-model.js";
import type { RequestBody } from "../upstream/upstream.js";
import { leavesPath } from "../upstream/upstream-path.js";

export interface ModelCall {
  /** The one that the client called. */
  readonly operation: Operation;
  /** As the client wrote it. */
  readonly model: string;
  /** The JSON body, until it is answered; null for a form, which isn't held in memory. */
  readonly body: Buffer | null;
  /**
   * The JSON of the top-level fields of this name, in Latin-1: more than one, if it is repeated; of
   * a form none. To be called before it is answered.
   */
  valuesOf(name: string): readonly string[];
  /** What it names that providers keep; null: nothing, or nobody need be asked. */
  readonly naming: Naming | null;
  /** Whether the client wants a stream of events. */
  readonly stream: boolean;
  /** Whether its provider could run other models for it than the one that it names. */
  readonly mayRunOthers: boolean;
  /** For an estimate, where the provider reports no usage. */
  readonly promptBytes: number;
  /** Whether it can be sent again, to another target. */
  readonly repeatable: boolean;
  /**
   * Why this call can't be sent to a model of a provider, or null. It is called before the
   * admission: a call that can't be sent consumes nothing.
   */
  problemAt(provider: ProviderConfig, model: string): Failure | null;
  /**
   * The request to one target, with the prompt rewritten. For a provider without a problem.
   * `isNamed`: the client named this very model, so it knows what that takes.
   */
  requestTo(
    provider: ProviderConfig,
    model: string,
    rewriters: readonly RewriterName[],
    isNamed?: boolean,
  ): TargetRequest;
  /** Its answer has begun: it won't be sent again, and what only that needs is let go. */
  answered(): void;
  /** Releases what the call holds: it won't be sent any more. */
  close(): void;
}

export interface TargetRequest {
  /** Which of the provider's operations it is. */
  readonly operation: Operation;
  readonly body: RequestBody;
  /** What rewriters took out of the prompt. */
  readonly savedBytes: number;
  /** Whether to keep the usage chunk of a stream from the client, which didn't ask for it. */
  readonly hideUsageChunk: boolean;
  /** Between the provider's dialect and the client's; null: the same. */
  readonly translator: AnswerTranslator | null;
  /** What of the client's request a translation couldn't say: names of its fields. */
  readonly dropped: readonly string[];
}

/** The call that a body holds, or why it holds none; null: the client is gone. */
export type ReadCall =
  | { readonly ok: true; readonly call: ModelCall }
  | { readonly ok: false; readonly failure: Failure | null };

/** What a call is read from, and with. */
export interface CallSource {
  readonly exchange: Exchange;
  readonly caller: Caller;
  readonly limiter: Limiter;
  readonly bodyBytesMax: number;
  readonly uploadBytesMax: number;
  readonly newSpool: () => Promise<Spool>;
  readonly isUtf8: (bytes: Buffer) => boolean;
  readonly nowMs: () => number;
  /** Resolved in the next turn of the event loop. */
  readonly nextTurn: () => Promise<void>;
  /** Runs once the body, or what matters of it, has come. */
  readonly onRead?: (() => void) | undefined;
}

/** `onRead`: as in `CallSource`. */
export function callSource(
  { gateway, exchange, caller }: RequestContext<SourceParts>,
  onRead?: () => void,
): CallSource {
  const { bodyBytesMax, uploadBytesMax } = gateway.config.server;
  const { limiter, newSpool, isUtf8, nowMs, setTimer } = gateway;
  return {
    exchange,
    caller,
    limiter,
    bodyBytesMax,
    uploadBytesMax,
    newSpool,
    isUtf8,
    nowMs,
    nextTurn: nextTurnBy(setTimer),
    onRead,
  };
}

/** Resolved in the next turn of the event loop. */
export function nextTurnBy(setTimer: Gateway["setTimer"]): () => Promise<void> {
  return () => new Promise((resolve) => void setTimer(0, resolve));
}

type SourceParts = "config" | "isUtf8" | "limiter" | "newSpool" | "nowMs" | "setTimer";

/** The names by which a list of models may allow a call; none: no list does. */
export function namesOf(
  { models }: Pick<Gateway, "models">,
  { mayRunOthers }: Pick<ModelCall, "mayRunOthers">,
  route: Route,
): readonly string[] {
  return mayRunOthers ? [] : allowableNames(models.current(), route);
}

/** Why a call can't be sent to this target, or null. */
export function problemAt(
  gateway: Pick<Gateway, "providers">,
  call: ModelCall,
  target: Target,
): Failure | null {
  const { config } = providerOf(gateway, target);
  if (leavesPath(config, call.operation, sentModel(target)))
    return invalid(
      `model stands in the path at ${config.name}: it must not have an empty part, "." or ".."`,
      "model",
    );
  return call.problemAt(config, sentModel(target));
}
