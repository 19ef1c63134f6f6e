/** What hard caps grant to an admitted request: to its stream, or to an answer that isn't cut. */
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
  /** The client's. */
  readonly operation: Operation;
  readonly bounds: RequestBounds;
}

/** Null if no hard cap counts the request, or if its answer isn't sent as a stream. */
export function streamCap(
  { gateway, record }: RequestContext<"limiter" | "outputRatios" | "monoMs">,
  target: Target,
  { operation, bounds }: Capped,
): StreamCap | null {
  const { admission } = record;
  if (!bounds.isStreamed || admission?.metering === undefined) return null;
  const { limiter, outputRatios, monoMs } = gateway;
  const name = targetName(target);
  return {
    allowance: new OutputAllowance(admission.metering, {
      draw: (wanted, then) => limiter.draw(admission, wanted, then),
      monoMs,
    }),
    stop: lengthStop(operation, bounds),
    bytesPerToken: outputRatios.of(name),
    learn: (textBytes, outputTokens) => outputRatios.learn(name, textBytes, outputTokens),
  };
}
