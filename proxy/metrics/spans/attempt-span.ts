/**
 * The span of one attempt at a provider, by the OpenTelemetry conventions for generative AI: names
 * and counts, never prompts or answers. Attributes outside the conventions begin with `sluice`.
 */
import type { ProviderType } from "../../../shared/config/provider-type.js";
import type { Target } from "../../../shared/domain/target-name.js";
import type { Operation } from "../../../shared/operation.js";
import type { ForwardResult } from "../../upstream/forwarded.js";
import { errorType, operationName, providerName } from "../labels.js";
import type { SpanAttributes } from "./spans.js";

/** A provider as its spans name it. */
export interface TracedProvider {
  readonly type: ProviderType;
  /** Empty if it has none. */
  readonly address: string;
  readonly port: number;
}

/** A request that is about to be sent. */
export interface TracedAttempt {
  readonly target: Target;
  /** Null if the request passes unread. */
  readonly operation: Operation | null;
  readonly stream: boolean;
  /** How often the request was sent to this target before. */
  readonly resent: number;
}

export type EndedCall = Pick<
  ForwardResult,
  | "status"
  | "outcome"
  | "usage"
  | "estimated"
  | "executed"
  | "firstByteMonoMs"
  | "failed"
  | "providerRequestId"
>;

export function attemptName({ target, operation }: TracedAttempt): string {
  if (operation === null) return `passthrough ${target.provider}`;
  const name = operationName(operation);
  return target.model === "" ? `${name} ${target.provider}` : `${name} ${target.model}`;
}

/** `answeredModel`: the provider's name for the answering model; empty if unknown. */
export function attemptAttributes(
  { target, operation, stream, resent }: TracedAttempt,
  provider: TracedProvider,
  {
    forwarded,
    startedMonoMs,
    answeredModel,
  }: {
    readonly forwarded: EndedCall;
    readonly startedMonoMs: number;
    readonly answeredModel: string;
  },
): SpanAttributes {
  const { usage, estimated, firstByteMonoMs, providerRequestId = "" } = forwarded;
  const error = errorType(forwarded);
  const status = providerStatus(forwarded);
  return {
    ...(operation === null ? {} : { "gen_ai.operation.name": operationName(operation) }),
    "gen_ai.provider.name": providerName(provider.type),
    "sluice.provider": target.provider,
    ...(target.model === "" ? {} : { "gen_ai.request.model": target.model }),
    ...(answeredModel === "" ? {} : { "gen_ai.response.model": answeredModel }),
    ...(stream ? { "gen_ai.request.stream": true } : {}),
    ...(stream && firstByteMonoMs !== null
      ? { "gen_ai.response.time_to_first_chunk": (firstByteMonoMs - startedMonoMs) / 1000 }
      : {}),
    ...(usage === null || estimated
      ? {}
      : {
          "gen_ai.usage.input_tokens": usage.inputTokens,
          "gen_ai.usage.output_tokens": usage.outputTokens,
          "gen_ai.usage.cache_read.input_tokens": usage.cachedInputTokens,
          "gen_ai.usage.cache_creation.input_tokens": usage.cacheWriteInputTokens,
        }),
    ...(status === null ? {} : { "http.response.status_code": status }),
    ...(error === "" ? {} : { "error.type": error }),
    ...(resent === 0 ? {} : { "http.request.resend_count": resent }),
    ...(providerRequestId === "" ? {} : { "sluice.provider.request_id": providerRequestId }),
    ...(provider.address === ""
      ? {}
      : { "server.address": provider.address, "server.port": provider.port }),
  };
}

/** Null if there is no answer, or its status is unknown. */
function providerStatus({ outcome, status, failed }: EndedCall): number | null {
  if (failed !== null) return failed.isAnswered ? failed.status : null;
  return outcome === "complete" ? status : null;
}
