/** A client's own request, for a provider of the same dialect, fitted to what that refuses. */
import type { Operation } from "../../../shared/operation.js";
import { mayBeTuned, type TunedBody, type TunedTarget, tunedFor } from "./fit-tuning.js";
import { signedForAnthropic } from "./signed-for-anthropic.js";

interface NativeTarget extends TunedTarget {
  readonly operation: Operation;
}

/** Whether a body for this target has to be looked at. */
export function mayBeFitted(target: NativeTarget): boolean {
  if (target.operation === "chat_completions") return mayBeTuned(target);
  return ofMessages.has(target.operation) && target.provider.type === "anthropic";
}

const ofMessages: ReadonlySet<Operation> = new Set<Operation>(["messages", "count_tokens"]);

/** Null: the target takes it as it is. */
export function fittedBody(target: NativeTarget, bytes: Buffer): TunedBody | null {
  return target.operation === "chat_completions"
    ? tunedFor(target, bytes)
    : signedForAnthropic(target.provider, target.model, bytes);
}
