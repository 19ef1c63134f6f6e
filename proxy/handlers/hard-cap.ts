/**
 * The output that hard caps grant to an admitted request: to a stream, or to an answer that can't
 * be cut.
 */
import { type Target, targetName } from "../../shared/domain/target-name.js";
import type { Operation } from "../../shared/operation.js";
import { lengthStop } from "../hard-caps/length-stop.js";
import {
  type GrantedOutput,
  OutputAllowance,
  type StreamCap,
} from "../hard-caps/output-allowance.js";
import type { RequestBounds } from "../hard-caps/request-bounds.js";
import type { RequestContext } from "../request-context.js";
import { charsPerToken } from "../usage/count-usage.js";

/** Null if no hard cap counts the request, or if its answer is sent as a stream. */
export function grantedTo(
  { admission }: Pick<RequestContext["record"], "admission">,
  bounds: RequestBounds,
): GrantedOutput | null {
  const metering = admission?.metering;
  if (bounds.isStreamed || metering === undefined) return null;
  const { granted, spent, cap } = metering;
  return { tokens: granted - spent, choices: bounds.choices, loweredBy: cap };
}

interface Capped {
  /** The operation that the client called. */
  readonly operation: Operation;
  readonly bounds: RequestBounds;
  readonly promptBytes: () => number;
}

/** Null if no hard cap counts the request, or if its answer isn't sent as a stream. */
export function streamCap(
  { gateway, record }: RequestContext<"limiter" | "outputRatios" | "promptRatios" | "monoMs">,
  target: Target,
  { operation, bounds, promptBytes }: Capped,
): StreamCap | null {
  const { admission } = record;
  if (!bounds.isStreamed || admission?.metering === undefined) return null;
  const { limiter, outputRatios, promptRatios, monoMs } = gateway;
  const name = targetName(target);
  // Prompts of similar size have a similar share of JSON.
  const sizeClass = (bytes: number): string => `${name} ${Math.clz32(bytes)}`;
  return {
    allowance: new OutputAllowance(admission.metering, {
      draw: (wanted, then) => limiter.draw(admission, wanted, then),
      monoMs,
    }),
    stop: lengthStop(operation, bounds),
    bytesPerToken: outputRatios.of(name),
    learn: (textBytes, outputTokens) => outputRatios.learn(name, textBytes, outputTokens),
    promptBytes() {
      const bytes = promptBytes();
      return bounds.hasFiles ? bytes : (bytes * charsPerToken) / promptRatios.of(sizeClass(bytes));
    },
    learnPrompt(tokens) {
      const bytes = promptBytes();
      if (!bounds.hasFiles) promptRatios.learn(sizeClass(bytes), bytes, tokens);
    },
  };
}
