/**
 * Responses to requests that only prepare the prompt cache of a provider (`prewarm` in
 * `prompt_cache_options`, over a WebSocket also `generate: false`). Providers of other dialects
 * can't do that without running the model, so Sluice answers itself: no output, no tokens.
 */
import { isObject } from "../../../shared/checked.js";
import type { JsonObject } from "../shared/translation.js";
import { responseObject } from "./response-object.js";

/** The field of such a request over HTTP, as refusals name it. */
export const prewarm = "prompt_cache_options.prewarm";

export function prewarms({ prompt_cache_options: options }: JsonObject): boolean {
  return isObject(options) && options["prewarm"] === true;
}

const noTokens = { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 };

interface WarmUp {
  readonly response: JsonObject;
  /** The stream of the same response. */
  readonly events: readonly JsonObject[];
}

/** `body`: the request. */
export function warmUpResponse(body: JsonObject, requestId: string, nowMs: number): WarmUp {
  const context = {
    model: typeof body["model"] === "string" ? body["model"] : "",
    nowSeconds: Math.floor(nowMs / 1000),
    requestId,
    provider: "",
    request: body,
  };
  const state = { output: [], usage: noTokens, serviceTier: null };
  const created = responseObject(context, { ...state, progress: { status: "in_progress" } });
  const response = responseObject(context, { ...state, progress: { status: "completed" } });
  return {
    response,
    events: [
      { type: "response.created", sequence_number: 0, response: created },
      { type: "response.completed", sequence_number: 1, response },
    ],
  };
}
