/** Fits a client's own request to a provider of the same dialect. */
import type { Operation } from "../../../shared/operation.js";
import { fitsOtherMessages, messagesForOthers } from "./fit-messages.js";
import { mayBeForeign, responsesForHost } from "./fit-responses.js";
import { mayBeTuned, type TunedBody, type TunedTarget, tunedFor } from "./fit-tuning.js";
import { mayBeUnsigned, signedForAnthropic } from "./signed-for-anthropic.js";

interface NativeTarget extends TunedTarget {
  readonly operation: Operation;
}

/** Whether a body for this target has to be parsed. */
export function mayBeFitted(target: NativeTarget, bytes: Buffer): boolean {
  switch (target.operation) {
    case "chat_completions":
      return mayBeTuned(target);
    case "messages":
    case "count_tokens":
      return fitsOtherMessages(target) || mayBeUnsigned(target, bytes);
    case "responses":
    case "compact":
    case "input_tokens":
      return mayBeForeign(target, bytes);
    default:
      return false;
  }
}

/** Null if the target accepts the body unchanged. */
export function fittedBody(target: NativeTarget, bytes: Buffer): TunedBody | null {
  switch (target.operation) {
    case "chat_completions":
      return tunedFor(target, bytes);
    case "messages":
    case "count_tokens":
      return bothOf(fitsOtherMessages(target) ? messagesForOthers(bytes) : null, (fitted) =>
        signedForAnthropic(target.provider, target.model, fitted ?? bytes),
      );
    default:
      return responsesForHost(target, bytes);
  }
}

function bothOf(
  first: TunedBody | null,
  then: (fitted: Buffer | undefined) => TunedBody | null,
): TunedBody | null {
  const second = then(first?.bytes);
  if (first === null || second === null) return second ?? first;
  return { bytes: second.bytes, dropped: [...first.dropped, ...second.dropped] };
}
