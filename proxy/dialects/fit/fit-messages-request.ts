/**
 * Fits a translated request for Anthropic messages to its model. Older models think with a token
 * budget, newer ones with an effort; newer ones refuse sampling; schemas are newer than most
 * models.
 */
import { isObject } from "../../../shared/checked.js";
import type { Effort } from "../../../shared/config/model-traits.js";
import type { RequestCheck } from "../shared/request-check.js";
import type { JsonObject } from "../shared/translation.js";
import { schemaInstruction } from "./fit-chat-request.js";
import { isEffort, type MessagesModelTraits, nearestEffort } from "./model-families.js";
import { refuseImages } from "./refuse-images.js";
import type { MessagesTargetTraits } from "./target-traits.js";

type Fields = Record<string, unknown>;

/** `body`: the result of a translation. The result shares the values that don't change. */
export function fitMessagesRequest(
  body: JsonObject,
  model: string,
  traits: MessagesTargetTraits | null,
  check: RequestCheck,
): JsonObject {
  const out: Fields = { ...body, model };
  if (traits === null) return out;
  if (!traits.takesImages) refuseImages(body["messages"], "messages", check);
  if (!traits.takesForcedCalls) dropForcedCall(out, check);
  if (traits.outputTokensMax !== null)
    out["max_tokens"] = Math.min(body["max_tokens"] as number, traits.outputTokensMax);
  const config = isObject(body["output_config"]) ? body["output_config"] : {};
  if (!traits.takesOutputSchema) dropStrict(out, check);
  fitLastTurn(out, traits, check);
  fitThinking(out, config["effort"], traits, check);
  fitOutputConfig(out, config, traits, check);
  fitSampling(out, traits, check);
  return out;
}

function dropForcedCall(out: Fields, check: RequestCheck): void {
  const { tool_choice: choice } = out;
  if (!isObject(choice) || (choice["type"] !== "any" && choice["type"] !== "tool")) return;
  check.drop("tool_choice", "must not force a call: the model doesn't take that");
  const { name: _, ...others } = choice;
  out["tool_choice"] = { ...others, type: "auto" };
}

function dropStrict(out: Fields, check: RequestCheck): void {
  const tools = (out["tools"] ?? []) as readonly JsonObject[];
  if (!tools.some(({ strict }) => strict === true)) return;
  check.drop("tools[].strict", "must be left out: the model doesn't enforce schemas");
  out["tools"] = tools.map(({ strict: _, ...tool }) => tool);
}

/** Fits a prefilled answer: newer models refuse it, older ones refuse white space at its end. */
function fitLastTurn(
  out: Fields,
  { takesPrefill }: MessagesModelTraits,
  check: RequestCheck,
): void {
  const messages = out["messages"] as readonly JsonObject[];
  const last = messages.at(-1);
  if (last?.["role"] !== "assistant" || !Array.isArray(last["content"])) return;
  if (!takesPrefill) {
    check.drop(
      "messages",
      "must end with a user's message: the model continues no answer",
      "prefill",
    );
    out["messages"] = [...messages, { role: "user", content: "Continue." }];
    return;
  }
  const block = last["content"].at(-1) as JsonObject | undefined;
  const { text } = block ?? {};
  if (typeof text !== "string" || text === text.trimEnd()) return;
  const content = [...last["content"].slice(0, -1), { ...block, text: text.trimEnd() }];
  out["messages"] = [...messages.slice(0, -1), { ...last, content }];
}

/** The smallest budget that Anthropic accepts. */
const budgetMin = 1024;

const budgets: Readonly<Partial<Record<Effort, number>>> = {
  low: 4096,
  medium: 16_384,
  high: 32_000,
  xhigh: 32_000,
  max: 32_000,
};

function fitThinking(
  out: Fields,
  effort: unknown,
  { thinking: taken }: MessagesModelTraits,
  check: RequestCheck,
): void {
  const thinking = isObject(out["thinking"]) ? out["thinking"] : {};
  if (thinking["type"] !== "adaptive" && thinking["type"] !== "enabled") {
    // A model that can't think doesn't need the field.
    if (taken === "none") delete out["thinking"];
    return;
  }
  const problem = whyNotThinking(out, taken);
  if (problem !== null) {
    check.drop("thinking", `must be left out: ${problem}`);
    delete out["thinking"];
  } else if (taken === "budget" && thinking["type"] === "adaptive") {
    const wanted = (isEffort(effort) ? budgets[effort] : undefined) ?? budgets.high!;
    // Leave room for the answer.
    const room = Math.floor((out["max_tokens"] as number) / 2);
    out["thinking"] = {
      type: "enabled",
      budget_tokens: Math.max(budgetMin, Math.min(wanted, room)),
    };
  } else if (taken === "adaptive" && thinking["type"] === "enabled")
    out["thinking"] = { type: "adaptive" };
}

function whyNotThinking(out: Fields, taken: MessagesModelTraits["thinking"]): string | null {
  if (taken === "none") return "the model can't think";
  const { tool_choice: choice } = out;
  if (isObject(choice) && (choice["type"] === "any" || choice["type"] === "tool"))
    return "the model doesn't think where it has to call a tool";
  if (taken !== "budget") return null;
  if ((out["max_tokens"] as number) <= budgetMin)
    return `the model needs more than ${budgetMin} tokens to think`;
  return continuesWithoutThinking(out["messages"] as readonly JsonObject[])
    ? "the calls whose results it gets came without signed thinking"
    : null;
}

/** For a client's own request from which the thinking of other makers' models was removed. */
export function dropUnsignedThinking(
  out: Fields,
  traits: MessagesTargetTraits | null,
  check: RequestCheck,
): void {
  const { thinking, messages } = out;
  if (traits?.thinking !== "budget" || !isObject(thinking) || thinking["type"] !== "enabled")
    return;
  if (!continuesWithoutThinking(messages as readonly JsonObject[])) return;
  check.drop("thinking", "must be left out: the last calls came without signed thinking");
  delete out["thinking"];
}

/** Models with a budget refuse to think in a turn whose earlier calls came without thinking. */
function continuesWithoutThinking(messages: readonly JsonObject[]): boolean {
  const last = messages.findLast(({ role }) => role === "assistant");
  if (last === undefined || !Array.isArray(last["content"])) return false;
  const blocks = last["content"] as readonly JsonObject[];
  return (
    blocks.some(({ type }) => type === "tool_use") &&
    blocks[0]?.["type"] !== "thinking" &&
    blocks[0]?.["type"] !== "redacted_thinking"
  );
}

function fitOutputConfig(
  out: Fields,
  config: JsonObject,
  { efforts, takesOutputSchema }: MessagesModelTraits,
  check: RequestCheck,
): void {
  const { effort, format } = config;
  const fitted: Fields = {};
  if (isEffort(effort)) {
    const taken = nearestEffort(effort, efforts);
    if (taken !== null) fitted["effort"] = taken;
    else if (out["thinking"] === undefined)
      check.drop("output_config.effort", "must be left out: the model doesn't take it");
  }
  if (isObject(format) && takesOutputSchema) fitted["format"] = format;
  else if (isObject(format)) {
    check.drop("output_config.format", "must be left out: the model doesn't enforce schemas");
    const text = schemaInstruction(format["schema"]);
    const system = (out["system"] ?? []) as readonly JsonObject[];
    out["system"] = [...system, { type: "text", text }];
  }
  delete out["output_config"];
  if (Object.keys(fitted).length > 0) out["output_config"] = fitted;
}

function fitSampling(out: Fields, { sampling }: MessagesModelTraits, check: RequestCheck): void {
  const { temperature, top_p: topP, thinking } = out;
  const thinks = isObject(thinking) && thinking["type"] !== "disabled";
  const drop = (field: string, why: string): void => {
    if (out[field] !== 1) check.drop(field, `must be left out: ${why}`);
    delete out[field];
  };
  if (temperature !== undefined && (sampling === "none" || thinks))
    drop("temperature", "the model doesn't take it");
  if (topP === undefined) return;
  if (sampling === "none" || (thinks && (topP as number) < 0.95))
    drop("top_p", "the model doesn't take it");
  else if (sampling === "one_of" && out["temperature"] !== undefined)
    drop("top_p", "the model takes it or a temperature, but not both");
}
