/**
 * Fits a translated request of the Responses API to its model: effort, sampling and the limit on
 * output. It asks for the model's encrypted reasoning, since nothing is stored.
 */
import { isObject } from "../../../shared/checked.js";
import type { Effort } from "../../../shared/config/model-traits.js";
import { append } from "../../../shared/long-lists.js";
import type { RequestCheck } from "../shared/request-check.js";
import type { JsonObject } from "../shared/translation.js";
import {
  dropListSchema,
  fitSampling,
  fitToolChoice,
  isOfObject,
  schemaInstruction,
  shortCallId,
  takenEffort,
  usualEffort,
} from "./fit-chat-request.js";
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
  const effort = fitReasoning(out, traits, check);
  fitSampling(out, effort, traits, check);
  fitToolChoice(out, traits, check);
  if (!traits.takesImages) refuseImages(body["input"], "messages", check);
  fitOutputMax(out, traits);
  const { include, reasoning } = out;
  const isOff = isObject(reasoning) && reasoning["effort"] === "none";
  if (traits.efforts.length > 0 && !isOff) {
    const included: unknown[] = ["reasoning.encrypted_content"];
    if (Array.isArray(include)) append(included, include);
    out["include"] = included;
  }
  const items = [...listSchemaInWords(out, check), ...(body["input"] as readonly JsonObject[])];
  out["input"] = items.map(withShortId);
  return out;
}

/** OpenAI only enforces schemas of objects. */
function listSchemaInWords(out: Fields, check: RequestCheck): readonly JsonObject[] {
  const { text } = out;
  const format = isObject(text) && isObject(text["format"]) ? text["format"] : {};
  const { schema } = format;
  if (!isObject(schema) || isOfObject(schema)) return [];
  dropListSchema("text.format", check);
  const { format: _, ...others } = text as JsonObject;
  if (Object.keys(others).length > 0) out["text"] = others;
  else delete out["text"];
  const content = [{ type: "input_text", text: schemaInstruction(schema) }];
  return [{ type: "message", role: "system", content }];
}

/**
 * Fits the effort to the model. A model that can't reason refuses the field. `name`: the client's
 * name for the effort.
 */
export function fitReasoning(
  out: Fields,
  traits: ChatModelTraits,
  check: RequestCheck,
  name = "reasoning_effort",
): string {
  const { reasoning } = out;
  const usual = usualEffort(traits);
  if (!isObject(reasoning)) return usual;
  const { effort, ...others } = reasoning;
  const efforts: readonly Effort[] = traits.takesMaxInResponses
    ? [...traits.efforts, "max"]
    : traits.efforts;
  const supported = isEffort(effort) ? takenEffort(effort, efforts, name, check) : null;
  if (isEffort(effort) && supported !== effort) {
    const fitted = supported === null ? others : { ...others, effort: supported };
    if (Object.keys(fitted).length > 0) out["reasoning"] = fitted;
    else delete out["reasoning"];
  }
  if (traits.efforts.length === 0) delete out["reasoning"];
  return supported ?? usual;
}

export function fitOutputMax(out: Fields, { outputTokensMax }: ChatModelTraits): void {
  const { max_output_tokens: maxTokens } = out;
  if (typeof maxTokens === "number" && outputTokensMax !== null)
    out["max_output_tokens"] = Math.min(maxTokens, outputTokensMax);
}

function withShortId(item: JsonObject): JsonObject {
  const { call_id: id } = item;
  return typeof id === "string" ? { ...item, call_id: shortCallId(id) } : item;
}
