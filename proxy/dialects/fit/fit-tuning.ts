/**
 * Fits a client's own chat request to a provider of the same dialect: to what its host is known to
 * refuse and, if the request goes to a model that the client hasn't named, to what that model
 * refuses.
 */
import { isAbsent, isObject } from "../../../shared/checked.js";
import type { ProviderConfig } from "../../../shared/config/config.js";
import { ollamaRules, ownServerRules } from "../../../shared/config/host-traits.js";
import { requestedEffort } from "../../body/requested-effort.js";
import type { RequestCheck } from "../shared/request-check.js";
import type { JsonObject } from "../shared/translation.js";
import { fitChatTuning } from "./fit-chat-request.js";
import { fitMovedMessages, fitNativeChat } from "./fit-native-chat.js";
import { plainChat } from "./plain-chat.js";
import { chatTraitsOf } from "./target-traits.js";

/** One change of a client's own request. Returns `body` itself if there is nothing to change. */
export type FitStep = (body: JsonObject, check: RequestCheck) => JsonObject;

/**
 * `isNamed`: whether the client named this very model, and so knows what it accepts. `isMixed`: see
 * `mixesDialects`.
 */
export interface FitTarget {
  readonly provider: ProviderConfig;
  readonly model: string;
  readonly isNamed: boolean;
  readonly isMixed?: boolean;
}

const tuningFields = [
  "reasoning_effort",
  "reasoning",
  "verbosity",
  "temperature",
  "top_p",
  "presence_penalty",
  "frequency_penalty",
  "stop",
  "logprobs",
  "top_logprobs",
  "logit_bias",
  "max_tokens",
  "max_completion_tokens",
];

/** Fields of messages that one model writes and another may refuse. */
const messageFields = ["tool_calls", "reasoning_content", "reasoning", "reasoning_details"];

/** Whether the body was written for another model, and may be changed for this one. */
export function isMoved({ provider, isNamed }: Omit<FitTarget, "model">): boolean {
  return !isNamed && provider.translation !== "strict";
}

function fitsHost(
  { chat, nativeRequests }: ProviderConfig,
  has: (name: string) => boolean,
): boolean {
  if (chat.native === null || nativeRequests !== "fitted") return false;
  // Only those fields can need a change there, so most bodies aren't parsed.
  if (chat.native === ownServerRules) return has("developer");
  return chat.native !== ollamaRules || has("developer") || has("max_completion_tokens");
}

/** Null if the target accepts the body unchanged. */
export function chatStep(target: FitTarget, bytes: Buffer): FitStep | null {
  const { provider, model } = target;
  const has = (name: string): boolean => bytes.includes(`"${name}"`);
  const isTuned = isMoved(target) && tuningFields.some(has);
  const isContinued = isMoved(target) && messageFields.some(has);
  const isHosts = fitsHost(provider, has);
  const isOpenrouters = hasReasoningObject(provider, has);
  const isMixed = target.isMixed === true && fitted(provider);
  if (!isTuned && !isContinued && !isHosts && !isOpenrouters && !isMixed) return null;
  const traits = chatTraitsOf(provider, model);
  const host = { chat: provider.chat, traits, model, provider: provider.name };
  return (original, check) => {
    const plain = isMixed ? plainChat(original, true) : original;
    const body = isOpenrouters ? withEffort(plain) : plain;
    const atHost = isHosts ? (fitNativeChat(body, host, check) ?? body) : body;
    const continued = isContinued ? fitMovedMessages(atHost, host) : atHost;
    return isTuned ? withTuning(continued, host, check) : continued;
  };
}

function fitted({ nativeRequests }: ProviderConfig): boolean {
  return nativeRequests === "fitted";
}

function hasReasoningObject(provider: ProviderConfig, has: (name: string) => boolean): boolean {
  return !provider.chat.takesReasoningObject && fitted(provider) && has("reasoning");
}

/** A request with OpenAI's field in place of OpenRouter's object. */
function withEffort(body: JsonObject): JsonObject {
  const { reasoning, ...rest } = body;
  if (!isObject(reasoning)) return body;
  const effort = requestedEffort(body);
  return effort === undefined ? rest : { ...rest, reasoning_effort: effort };
}

function withTuning(
  body: JsonObject,
  { chat, traits }: Parameters<typeof fitNativeChat>[1],
  check: RequestCheck,
): JsonObject {
  const tuning = tuningIn(body);
  const fitted = fitChatTuning(tuning, chat, traits, check);
  const out: Record<string, unknown> = { ...body };
  for (const name of Object.keys(tuning)) if (name !== "tools") delete out[name];
  for (const name of Object.keys(fitted)) if (name !== "tools") out[name] = fitted[name];
  return out;
}

function tuningIn(body: JsonObject): JsonObject {
  const tuning: Record<string, unknown> = {};
  for (const name of tuningFields) if (!isAbsent(body[name])) tuning[name] = body[name];
  // Only the presence of tools matters.
  if (!isAbsent(body["tools"])) tuning["tools"] = true;
  return tuning;
}
