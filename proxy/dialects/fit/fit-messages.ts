/**
 * Fits a client's own request for messages to another model than the one that it was written for,
 * and to a host where the model isn't Anthropic's: vLLM, DeepSeek, OpenRouter and others accept an
 * early version of Anthropic's API, and Anthropic's own agents send more.
 *
 * Sources: vllm-project/vllm#44000 (roles), vllm-project/vllm#46790 (tools without a schema),
 * decolua/9router#1468 (`context_management`).
 */
import { isAbsent, isObject } from "../../../shared/checked.js";
import { providerTraits } from "../../../shared/config/provider-type.js";
import { withoutAttribution } from "../shared/attribution.js";
import { quote, type RequestCheck } from "../shared/request-check.js";
import type { JsonObject } from "../shared/translation.js";
import { fitOwnMessages } from "./fit-messages-request.js";
import { type FitStep, type FitTarget, isMoved } from "./fit-tuning.js";
import { messagesModelTraits } from "./model-families.js";
import { messagesTraitsOf, namedLike } from "./target-traits.js";

/** Fields that some of Anthropic's models refuse. */
const modelFields = [
  "max_tokens",
  "thinking",
  "output_config",
  "temperature",
  "top_p",
  "top_k",
  "tool_choice",
  "strict",
  "context_management",
];

/** The roles of instructions between the turns, and of an answer that the request begins. */
const modelRoles = ['"system"', '"assistant"'];

/** Null if the client named the model, or if nothing is known about it. */
export function messagesModelStep(target: FitTarget, bytes: Buffer): FitStep | null {
  if (!isMoved(target)) return null;
  const traits = messagesTraitsOf(target.provider, target.model);
  const mayDiffer =
    modelFields.some((name) => bytes.includes(`"${name}"`)) ||
    modelRoles.some((role) => bytes.includes(role));
  if (traits === null || !mayDiffer) return null;
  return (body, check) => {
    const { messages } = body;
    if (!Array.isArray(messages) || !messages.every(isObject)) return body;
    const turns =
      !traits.takesSystemTurns && messages.some(isSystem)
        ? (withoutSystem(messages) as readonly JsonObject[])
        : messages;
    return fitOwnMessages(turns === messages ? body : { ...body, messages: turns }, traits, check);
  };
}

/** Null if the model is Anthropic's. */
export function otherMessagesStep(target: FitTarget): FitStep | null {
  return fitsOtherMessages(target) ? messagesForOthers : null;
}

export function fitsOtherMessages(target: FitTarget): boolean {
  return target.provider.nativeRequests === "fitted" && isOtherModel(target);
}

/** Whether the model isn't Anthropic's, judged by its name and the configuration. */
export function isOtherModel({ provider, model }: Omit<FitTarget, "isNamed">): boolean {
  return (
    provider.baseUrl !== providerTraits.anthropic.baseUrl &&
    messagesModelTraits(namedLike(provider, model)) === null
  );
}

export function messagesForOthers(body: JsonObject, check: RequestCheck): JsonObject {
  const out: Record<string, unknown> = { ...body };
  const { messages, tools, system } = body;
  if (!isAbsent(system)) out["system"] = withoutAttribution(system);
  if (!isAbsent(body["context_management"])) {
    check.drop("context_management", "must be left out: the provider has no such field");
    delete out["context_management"];
  }
  if (Array.isArray(messages) && messages.some(isSystem)) out["messages"] = withoutSystem(messages);
  if (Array.isArray(tools) && !tools.every(isOwn)) fitTools(out, tools, check);
  return out;
}

function isSystem(message: unknown): message is JsonObject {
  return isObject(message) && message["role"] === "system";
}

function isUser(message: unknown): message is JsonObject {
  return isObject(message) && message["role"] === "user";
}

/**
 * Instructions between the turns get the role of the user, and join the user's turn if there is
 * one.
 */
function withoutSystem(messages: readonly unknown[]): readonly unknown[] {
  // Each turn is joined once: joining message by message takes quadratic time.
  const turns: unknown[][] = [];
  let followsMoved = false;
  for (const message of messages) {
    const last = turns.at(-1);
    const isInstruction = isSystem(message);
    const turn = isInstruction ? { ...message, role: "user" } : message;
    const joins: boolean = isUser(last?.[0]) && isUser(turn) && (followsMoved || isInstruction);
    if (joins) last?.push(turn);
    else turns.push([turn]);
    followsMoved = joins || isInstruction;
  }
  return turns.map((turn) => (turn.length === 1 ? turn[0] : joinMessages(turn.filter(isUser))));
}

/** Results of calls must come first in a turn. */
function joinMessages(messages: readonly JsonObject[]): JsonObject {
  const blocks = messages.flatMap(({ content }) => blocksOf(content));
  const isResult = (block: unknown): boolean => isObject(block) && block["type"] === "tool_result";
  const content = [...blocks.filter(isResult), ...blocks.filter((block) => !isResult(block))];
  return { ...messages[0], content };
}

function blocksOf(content: unknown): readonly unknown[] {
  if (Array.isArray(content)) return content;
  return typeof content === "string" && content !== "" ? [{ type: "text", text: content }] : [];
}

/** Whether a tool is the client's own. Anthropic runs or defines the others. */
function isOwn(tool: unknown): boolean {
  if (!isObject(tool)) return true;
  const { type, input_schema: schema } = tool;
  return isAbsent(type) || type === "custom" || !isAbsent(schema);
}

function fitTools(
  out: Record<string, unknown>,
  tools: readonly unknown[],
  check: RequestCheck,
): void {
  const clientTools = tools.filter(isOwn);
  for (const tool of tools) {
    if (isOwn(tool)) continue;
    const { type, name } = tool as JsonObject;
    check.drop("tools[]", "must be the client's own", `tools[] (${quote(type)})`);
    const choice = out["tool_choice"];
    if (!isObject(choice) || choice["name"] !== name || name === undefined) continue;
    check.drop("tool_choice", "must be one of the tools");
    delete out["tool_choice"];
  }
  out["tools"] = clientTools;
  if (clientTools.length > 0) return;
  delete out["tools"];
  delete out["tool_choice"];
}
