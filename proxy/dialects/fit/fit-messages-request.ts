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
  fitFields(out, traits, check);
  showThinking(out, traits);
  return out;
}

/**
 * Shows the thinking of newer models, which omit its text unless the request asks for it, at the
 * same price. Clients of other dialects get the text of all other models.
 */
function showThinking(out: Fields, { thinking: supported }: MessagesModelTraits): void {
  const { thinking } = out;
  if (supported === "adaptive" && isObject(thinking) && thinking["type"] === "adaptive")
    out["thinking"] = { ...thinking, display: "summarized" };
}

/** As `fitMessagesRequest`, for a client's own request. `body.messages`: a list of objects. */
export function fitOwnMessages(
  body: JsonObject,
  traits: MessagesTargetTraits,
  check: RequestCheck,
): JsonObject {
  const out: Fields = { ...body };
  fitFields(out, traits, check);
  if (!thinks(out)) dropClearedThinking(out);
  return out;
}

/** Fits all fields. Leaves values of the wrong type to the provider, which refuses them. */
function fitFields(out: Fields, traits: MessagesTargetTraits, check: RequestCheck): void {
  const { max_tokens: maxTokens, output_config: outputConfig } = out;
  if (!traits.takesForcedCalls) dropForcedCall(out, check);
  if (typeof maxTokens === "number" && traits.outputTokensMax !== null)
    out["max_tokens"] = Math.min(maxTokens, traits.outputTokensMax);
  const config = isObject(outputConfig) ? outputConfig : {};
  if (!traits.takesOutputSchema) dropStrict(out, check);
  fitLastTurn(out, traits, check);
  fitThinking(out, config["effort"], traits, check);
  if (isObject(outputConfig)) fitOutputConfig(out, config, traits, check);
  fitSampling(out, traits, check);
}

/** Anthropic refuses to clear thinking where there is none. */
function dropClearedThinking(out: Fields): void {
  const { context_management: management } = out;
  if (!isObject(management) || !Array.isArray(management["edits"])) return;
  const isKept = (edit: unknown): boolean =>
    !isObject(edit) || !String(edit["type"]).startsWith("clear_thinking");
  const edits = management["edits"].filter(isKept);
  if (edits.length === management["edits"].length) return;
  if (edits.length > 0) out["context_management"] = { ...management, edits };
  else delete out["context_management"];
}

function dropForcedCall(out: Fields, check: RequestCheck): void {
  const { tool_choice: choice } = out;
  if (!isObject(choice) || (choice["type"] !== "any" && choice["type"] !== "tool")) return;
  check.drop("tool_choice", "must not force a call: the model doesn't take that");
  const { name: _, ...others } = choice;
  out["tool_choice"] = { ...others, type: "auto" };
}

function dropStrict(out: Fields, check: RequestCheck): void {
  const { tools } = out;
  const isStrict = (tool: unknown): tool is JsonObject => isObject(tool) && tool["strict"] === true;
  if (!Array.isArray(tools) || !tools.some(isStrict)) return;
  check.drop("tools[].strict", "must be left out: the model doesn't enforce schemas");
  out["tools"] = tools.map((tool: unknown) => {
    if (!isStrict(tool)) return tool;
    const { strict: _, ...rest } = tool;
    return rest;
  });
}

/** Fits a prefilled answer: newer models refuse it, older ones refuse white space at its end. */
function fitLastTurn(
  out: Fields,
  { takesPrefill }: MessagesModelTraits,
  check: RequestCheck,
): void {
  const messages = out["messages"] as readonly JsonObject[];
  const last = messages.at(-1);
  if (last?.["role"] !== "assistant") return;
  const { content } = last;
  if (typeof content !== "string" && !Array.isArray(content)) return;
  if (!takesPrefill) {
    check.drop(
      "messages",
      "must end with a user's message: the model continues no answer",
      "prefill",
    );
    out["messages"] = [...messages, { role: "user", content: "Continue." }];
    return;
  }
  const trimmed = withoutSpaceAtEnd(content);
  if (trimmed !== content)
    out["messages"] = [...messages.slice(0, -1), { ...last, content: trimmed }];
}

function withoutSpaceAtEnd(content: string | readonly unknown[]): string | readonly unknown[] {
  if (typeof content === "string") return content.trimEnd();
  const block = content.at(-1);
  const text = isObject(block) ? block["text"] : undefined;
  if (!isObject(block) || typeof text !== "string" || text === text.trimEnd()) return content;
  return [...content.slice(0, -1), { ...block, text: text.trimEnd() }];
}

/** The smallest `budget_tokens` that Anthropic accepts. */
export const thinkingTokensMin = 1024;

/** The `budget_tokens` for an effort, for models that don't take one. */
const thinkingTokens: Readonly<Partial<Record<Effort, number>>> = {
  low: 4096,
  medium: 16_384,
  high: 32_000,
  xhigh: 32_000,
  max: 32_000,
};

function fitThinking(
  out: Fields,
  effort: unknown,
  { thinking: supported, thinkingOff: offMode }: MessagesModelTraits,
  check: RequestCheck,
): void {
  const thinking = isObject(out["thinking"]) ? out["thinking"] : {};
  if (isOff(thinking)) return turnThinkingOff(out, thinking, offMode, check);
  if (thinking["type"] !== "adaptive" && thinking["type"] !== "enabled") {
    if (supported !== "budget") delete out["thinking"];
    return;
  }
  const problem = whyNotThinking(out, supported);
  if (problem !== null) {
    check.drop("thinking", `must be left out: ${problem}`);
    delete out["thinking"];
    return;
  }
  const { type, budget_tokens: budget, ...others } = thinking;
  if (type === "enabled") {
    if (supported === "adaptive") out["thinking"] = { ...others, type: "adaptive" };
    // The limit on output may have become smaller.
    else if (typeof budget === "number" && budget >= (out["max_tokens"] as number))
      out["thinking"] = { ...thinking, budget_tokens: thinkingWithin(budget, out) };
  } else if (supported === "budget") {
    const wantedBudget =
      (isEffort(effort) ? thinkingTokens[effort] : undefined) ?? thinkingTokens.high!;
    out["thinking"] = {
      ...others,
      type: "enabled",
      budget_tokens: thinkingWithin(wantedBudget, out),
    };
  }
}

function isOff({ type }: JsonObject): boolean {
  return type === "disabled" || type === "between_tools";
}

function turnThinkingOff(
  out: Fields,
  { type }: JsonObject,
  offMode: MessagesModelTraits["thinkingOff"],
  check: RequestCheck,
): void {
  if (offMode === "never") check.drop("thinking", "must be left out: the model always thinks");
  if (offMode === "never" || offMode === "left_out") delete out["thinking"];
  else if (type !== offMode) out["thinking"] = { type: offMode };
}

/** The wanted tokens for thinking, but at most half of `max_tokens`: the answer needs the rest. */
function thinkingWithin(budget: number, { max_tokens: max }: Fields): number {
  if (typeof max !== "number") return budget;
  return Math.max(thinkingTokensMin, Math.min(budget, Math.floor(max / 2)));
}

function thinks({ thinking }: Fields): boolean {
  return isObject(thinking) && thinking["type"] !== "disabled";
}

function whyNotThinking(out: Fields, supported: MessagesModelTraits["thinking"]): string | null {
  if (supported === "none") return "the model can't think";
  const { tool_choice: choice } = out;
  if (isObject(choice) && (choice["type"] === "any" || choice["type"] === "tool"))
    return "the model doesn't think where it has to call a tool";
  if (supported !== "budget") return null;
  if ((out["max_tokens"] as number) <= thinkingTokensMin)
    return `the model needs more than ${thinkingTokensMin} tokens to think`;
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
  const types = last["content"].map((block: unknown) => (isObject(block) ? block["type"] : null));
  return types.includes("tool_use") && types[0] !== "thinking" && types[0] !== "redacted_thinking";
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
    const isThinking = !isObject(out["thinking"]) || !isOff(out["thinking"]);
    const supported = nearestEffort(
      effort,
      isThinking ? efforts : efforts.filter(isWithoutThinking),
    );
    if (supported !== null) fitted["effort"] = supported;
    else if (out["thinking"] === undefined)
      check.drop("output_config.effort", "must be left out: the model doesn't take it");
  }
  if (isObject(format) && takesOutputSchema) fitted["format"] = format;
  else if (isObject(format)) {
    check.drop("output_config.format", "must be left out: the model doesn't enforce schemas");
    const text = schemaInstruction(format["schema"]);
    const { system } = out;
    const before: readonly unknown[] = Array.isArray(system)
      ? system
      : typeof system === "string"
        ? [{ type: "text", text: system }]
        : [];
    out["system"] = [...before, { type: "text", text }];
  }
  delete out["output_config"];
  if (Object.keys(fitted).length > 0) out["output_config"] = fitted;
}

/** Models that think by default refuse the higher efforts once thinking is off. */
function isWithoutThinking(effort: Effort): boolean {
  return effort !== "xhigh" && effort !== "max";
}

function fitSampling(out: Fields, { sampling }: MessagesModelTraits, check: RequestCheck): void {
  const { temperature, top_p: topP } = out;
  const isThinking = thinks(out);
  const drop = (field: string, why: string): void => {
    if (out[field] !== 1) check.drop(field, `must be left out: ${why}`);
    delete out[field];
  };
  if (temperature !== undefined && (sampling === "none" || isThinking))
    drop("temperature", "the model doesn't take it");
  if (out["top_k"] !== undefined && (sampling === "none" || isThinking))
    drop("top_k", "the model doesn't take it");
  if (topP === undefined) return;
  if (sampling === "none" || (isThinking && (topP as number) < 0.95))
    drop("top_p", "the model doesn't take it");
  else if (sampling === "one_of" && out["temperature"] !== undefined)
    drop("top_p", "the model takes it or a temperature, but not both");
}
