/**
 * Fits a client's own request for messages to a host where the model isn't Anthropic's: vLLM,
 * DeepSeek, OpenRouter and others accept an early version of Anthropic's API, and Anthropic's own
 * agents send more. All other fields stay byte for byte.
 *
 * Sources: vllm-project/vllm#44000 (roles), vllm-project/vllm#46790 (tools without a schema),
 * decolua/9router#1468 (`context_management`).
 */
import { jsonDepthMax } from "../../../shared/bounds.js";
import { isAbsent, isObject } from "../../../shared/checked.js";
import { providerTraits } from "../../../shared/config/provider-type.js";
import { parseBodyExactly } from "../../body/exact-json.js";
import { nestedDeeperThan } from "../../body/json-value.js";
import { quote, RequestCheck } from "../shared/request-check.js";
import type { JsonObject } from "../shared/translation.js";
import { type TunedBody, type TunedTarget, withMembers } from "./fit-tuning.js";
import { messagesModelTraits } from "./model-families.js";
import { namedLike } from "./target-traits.js";

/** Whether the model isn't Anthropic's, judged by its name and the configuration. */
export function fitsOtherMessages({ provider, model }: TunedTarget): boolean {
  const { baseUrl, nativeRequests } = provider;
  return (
    nativeRequests === "fitted" &&
    baseUrl !== providerTraits.anthropic.baseUrl &&
    messagesModelTraits(namedLike(provider, model)) === null
  );
}

/** `bytes`: a valid body of messages. Null if the host accepts it unchanged. */
export function messagesForOthers(bytes: Buffer): TunedBody | null {
  const body = parseBodyExactly(bytes.toString("latin1"));
  if (!isObject(body) || nestedDeeperThan(body, jsonDepthMax)) return null;
  const check = new RequestCheck(false);
  const out: Record<string, unknown> = { ...body };
  const { messages, tools } = body;
  if (!isAbsent(body["context_management"])) {
    check.drop("context_management", "must be left out: the provider has no such field");
    delete out["context_management"];
  }
  if (Array.isArray(messages) && messages.some(isSystem)) out["messages"] = withoutSystem(messages);
  if (Array.isArray(tools) && !tools.every(isOwn)) fitTools(out, tools, check);
  const changed = Object.keys(body).filter((name) => out[name] !== body[name]);
  const result = check.result(out);
  return changed.length === 0 || !result.ok
    ? null
    : { bytes: withMembers(bytes, changed, out), dropped: result.dropped };
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
  let isMoved = false;
  for (const message of messages) {
    const last = turns.at(-1);
    const isInstruction = isSystem(message);
    const said = isInstruction ? { ...message, role: "user" } : message;
    const joins: boolean = isUser(last?.[0]) && isUser(said) && (isMoved || isInstruction);
    if (joins) last?.push(said);
    else turns.push([said]);
    isMoved = joins || isInstruction;
  }
  return turns.map((turn) => (turn.length === 1 ? turn[0] : joined(turn.filter(isUser))));
}

/** Results of calls must come first in a turn. */
function joined(said: readonly JsonObject[]): JsonObject {
  const blocks = said.flatMap(({ content }) => blocksOf(content));
  const isResult = (block: unknown): boolean => isObject(block) && block["type"] === "tool_result";
  const content = [...blocks.filter(isResult), ...blocks.filter((block) => !isResult(block))];
  return { ...said[0], content };
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
  const own = tools.filter(isOwn);
  for (const tool of tools) {
    if (isOwn(tool)) continue;
    const { type, name } = tool as JsonObject;
    check.drop("tools[]", "must be the client's own", `tools[] (${quote(type)})`);
    const choice = out["tool_choice"];
    if (!isObject(choice) || choice["name"] !== name || name === undefined) continue;
    check.drop("tool_choice", "must be one of the tools");
    delete out["tool_choice"];
  }
  out["tools"] = own;
  if (own.length > 0) return;
  delete out["tools"];
  delete out["tool_choice"];
}
