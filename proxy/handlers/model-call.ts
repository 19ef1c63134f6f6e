/**
 * The interface of a model request's body for the steps in `model-request.ts`, for JSON and forms.
 */
import type { ProviderConfig, RewriterName } from "../../shared/config/config.js";
import type { DefaultModel } from "../../shared/config/kinds/list-kinds.js";
import { sentModel, type Target } from "../../shared/domain/target-name.js";
import { type Failure, invalid } from "../../shared/error-code.js";
import type { Operation } from "../../shared/operation.js";
import { type Caller, callerName } from "../auth/caller.js";
import type { RefusedParts } from "../dialects/fit/own-reasoning.js";
import type { AnswerTranslator } from "../dialects/translated-upstream.js";
import { type Gateway, providerOf } from "../gateway.js";
import type { GrantedOutput } from "../hard-caps/output-allowance.js";
import type { Naming } from "../objects/object-body.js";
import { allowableNames, type Route } from "../routing/resolve-model.js";
import type { RefusedPart } from "../upstream/errors/refused-part.js";
import type { RequestBody } from "../upstream/upstream.js";
import { leavesPath } from "../upstream/upstream-path.js";
import type { AdmittedRequest } from "./admit-and-settle.js";
import type { AgentTurn } from "./loop-breaker.js";

export interface ModelCall {
  /** The operation that the client called. */
  readonly operation: Operation;
  /** As the client wrote it, or the default of the operation. */
  readonly model: string;
  /** Whether the client named no model. */
  readonly isDefaultModel: boolean;
  /** The JSON body, until the answer begins; null for a form, which isn't kept in memory. */
  readonly body: Buffer | null;
  /**
   * The JSON of the top-level fields of this name, in Latin-1: several if repeated, none for a
   * form. Call it before the answer begins.
   */
  valuesOf(name: string): readonly string[];
  /** Null without a conversation, or if no rule is on loops. */
  readonly turn: AgentTurn | null;
  /** The stored objects that it names; null without any, or if no access check is needed. */
  readonly naming: Naming | null;
  /** Whether the client wants a stream of events. */
  readonly stream: boolean;
  /** Whether its provider may run models other than the named one. */
  readonly mayRunOthers: boolean;
  /** The tools that the provider is to run; null without any. */
  readonly carriedTools: readonly string[] | null;
  /** Whether `model` is the name of an agent, which no provider's list of models has. */
  readonly isAgent: boolean;
  /** For the estimate when the provider reports no usage. */
  readonly promptBytes: number;
  /** Whether it can be sent more than once. */
  readonly isRepeatable: boolean;
  /**
   * Why this call can't be sent to a model of a provider, or null. Checked before the admission, so
   * that such a call consumes nothing.
   */
  problemAt(provider: ProviderConfig, model: string): Failure | null;
  /** The request to one target. Requires `problemAt` to be null. */
  requestTo(provider: ProviderConfig, model: string, options?: RequestOptions): TargetRequest;
  /** Whether the request may be sent without a part that the provider has refused. */
  mayLose(provider: ProviderConfig, part: RefusedPart): boolean;
  /** The answer has begun: releases what only another attempt would need. */
  releaseAttempts(): void;
  /** Releases everything, because the call is over. */
  close(): void;
}

export interface RequestOptions {
  /** What rewrites the prompt; none if absent. */
  readonly rewriters?: readonly RewriterName[] | undefined;
  /** Whether the client named this exact model, so that it knows its parameters; true if absent. */
  readonly isNamed?: boolean;
  /** What the target has refused; nothing if absent. */
  readonly refused?: RefusedParts;
  /**
   * The output that hard caps grant a request whose answer can't be cut; null or absent without
   * any.
   */
  readonly granted?: GrantedOutput | null;
}

export interface TargetRequest {
  /** The operation to call at the provider. */
  readonly operation: Operation;
  readonly body: RequestBody;
  /** The bytes that rewriters removed from the prompt. */
  readonly savedBytes: number;
  /** Whether to hide the usage chunk of a stream from the client, which didn't request it. */
  readonly hideUsageChunk: boolean;
  /** Translates the answer; null if the dialects are the same. */
  readonly translator: AnswerTranslator | null;
  /** Fields of the client's request that the translation dropped. */
  readonly dropped: readonly string[];
}

/** The call, or the problem of its body; null if the client disconnected. */
export type ReadCall =
  | { readonly ok: true; readonly call: ModelCall }
  | { readonly ok: false; readonly failure: Failure | null };

/** A call that may be sent. */
export interface AdmittedCall {
  readonly admitted: AdmittedRequest;
  readonly call: ModelCall;
  readonly route: Route;
  /** All targets, for failover. */
  readonly all: readonly Target[];
}

/** The parts of the gateway that reading a call uses. */
export type CallParts =
  | "bodySlices"
  | "config"
  | "isUtf8"
  | "limiter"
  | "loops"
  | "monoMs"
  | "newSpool"
  | "nowMs";

/** Resolves when the next slice of the caller's large body may be read. */
export function nextSliceOf(
  caller: Caller,
  { bodySlices }: Pick<Gateway, "bodySlices">,
): () => Promise<void> {
  const name = callerName(caller);
  return async () => void (await bodySlices.take(name));
}

/** OpenAI's own defaults, of the operations where its clients may omit the model. */
const openaiDefaults: ReadonlyMap<Operation, string> = new Map([
  ["moderations", "omni-moderation-latest"],
  ["images", "dall-e-2"],
  ["image_edits", "gpt-image-1.5"],
  ["image_variations", "dall-e-2"],
]);

/** The model of a request that names none. `defaults`: of the configuration, which come first. */
export function defaultModel(
  operation: Operation,
  defaults: readonly DefaultModel[],
): string | null {
  const configured = defaults.find((candidate) => candidate.operation === operation);
  return configured?.model ?? openaiDefaults.get(operation) ?? null;
}

/** The names by which an allow list may match a call; none if no list can allow it. */
export function namesOf(
  { models }: Pick<Gateway, "models">,
  { mayRunOthers }: Pick<ModelCall, "mayRunOthers">,
  route: Route,
): readonly string[] {
  return mayRunOthers ? [] : allowableNames(models.current(), route);
}

/** The problem with sending the call to this target, or null. */
export function problemAt(
  gateway: Pick<Gateway, "providers">,
  call: ModelCall,
  target: Target,
): Failure | null {
  const { config } = providerOf(gateway, target);
  if (leavesPath(config, call.operation, sentModel(target)))
    return invalid(
      `model is a part of the path at ${config.name}: it must not have an empty part, "." or ".."`,
      "model",
    );
  return call.problemAt(config, sentModel(target));
}

/** The failure for a provider that lacks an operation. */
export function notOfferedFailure({ name }: ProviderConfig, operation: Operation): Failure {
  return invalid(`provider ${name} does not offer ${operation}`, "model");
}
