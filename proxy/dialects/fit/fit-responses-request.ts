/**
 * Fits a translated request of the Responses API to its model: effort, sampling and the limit on
 * output. It asks for the model's encrypted reasoning, since nothing is stored.
 */
import { isObject } from "../../../shared/checked.js";
import { append } from "../../../shared/long-lists.js";
import type { RequestCheck } from "../shared/request-check.js";
import type { JsonObject } from "../shared/translation.js";
import { fitSampling, fitToolChoice, shortCallId, takenEffort } from "./fit-chat-request.js";
import { type ChatModelTraits, isEffort } from "./model-families.js";
import { refuseImages } from "./refuse-images.js";
import type { ChatTargetTraits } from "./target-traits.js";

type Fields = Record<string, unknown>;

/** `body`: the result of a translation. The result shares the values that don't change. */
export function fitResponsesRequest(
  body: JsonObject,
  model: string,
  traits: ChatTargetTraits,
  check: RequestCheck,
): JsonObject {
  const out: Fields = { ...body, model };
  const effort = fitEffort(out, traits, check);
  fitSampling(out, effort, traits, check);
  fitToolChoice(out, traits, check);
  if (!traits.takesImages) refuseImages(body["input"], "messages", check);
  const { max_output_tokens: wanted, include } = out;
  const { outputTokensMax } = traits;
  if (typeof wanted === "number" && outputTokensMax !== null)
    out["max_output_tokens"] = Math.min(wanted, outputTokensMax);
  if (effort !== "none") {
    const included: unknown[] = ["reasoning.encrypted_content"];
    if (Array.isArray(include)) append(included, include);
    out["include"] = included;
  }
  out["input"] = (body["input"] as readonly JsonObject[]).map(withShortId);
  return out;
}

/** The effort with which the model reasons. */
function fitEffort(out: Fields, { efforts }: ChatModelTraits, check: RequestCheck): string {
  const { reasoning } = out;
  const effort = isObject(reasoning) ? reasoning["effort"] : undefined;
  // Without an effort each of these models reasons.
  if (!isEffort(effort)) return efforts.length === 0 ? "none" : "medium";
  delete out["reasoning"];
  const taken = takenEffort(effort, efforts, "reasoning_effort", check);
  if (taken !== null) out["reasoning"] = { effort: taken };
  return taken ?? (efforts.length === 0 ? "none" : "medium");
}

function withShortId(item: JsonObject): JsonObject {
  const { call_id: id } = item;
  return typeof id === "string" ? { ...item, call_id: shortCallId(id) } : item;
}
