/**
 * Fits a client's own chat request to a provider of the same dialect: to what its host is known to
 * refuse and, if a virtual model sends the request to a model that the client hasn't named, to what
 * that model refuses. All other fields stay byte for byte.
 */
import { jsonDepthMax } from "../../../shared/bounds.js";
import { isAbsent, isObject } from "../../../shared/checked.js";
import type { ProviderConfig } from "../../../shared/config/config.js";
import { parseBodyExactly, writeExactly } from "../../body/exact-json.js";
import { nestedDeeperThan } from "../../body/json-value.js";
import { scanObject } from "../../body/scan-json.js";
import { RequestCheck } from "../shared/request-check.js";
import type { JsonObject } from "../shared/translation.js";
import { fitChatTuning } from "./fit-chat-request.js";
import { fitNativeChat } from "./fit-native-chat.js";
import { chatTraitsOf } from "./target-traits.js";

export interface TunedBody {
  readonly bytes: Buffer;
  /** Fields whose absence may change the answer. */
  readonly dropped: readonly string[];
}

const tuningFields = [
  "reasoning_effort",
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

/** `isNamed`: whether the client named this very model, and so knows what it accepts. */
export interface TunedTarget {
  readonly provider: ProviderConfig;
  readonly model: string;
  readonly isNamed: boolean;
}

/** Whether a body for this target has to be parsed. */
export function mayBeTuned({ provider, isNamed }: Omit<TunedTarget, "model">): boolean {
  return fitsModel({ provider, isNamed }) || fitsHost(provider);
}

function fitsModel({ provider, isNamed }: Omit<TunedTarget, "model">): boolean {
  return !isNamed && provider.translation !== "strict";
}

function fitsHost({ chat, nativeRequests }: ProviderConfig): boolean {
  return chat.native !== null && nativeRequests === "fitted";
}

/** `bytes`: a valid body of chat completions. Null if the target accepts it unchanged. */
export function tunedFor(target: TunedTarget, bytes: Buffer): TunedBody | null {
  const { provider, model } = target;
  const isForModel = fitsModel(target) && tuningFields.some((name) => bytes.includes(`"${name}"`));
  if (!isForModel && !fitsHost(provider)) return null;
  const body = parseBodyExactly(bytes.toString("latin1"));
  if (!isObject(body) || nestedDeeperThan(body, jsonDepthMax)) return null;
  const check = new RequestCheck(false);
  const host = { chat: provider.chat, traits: chatTraitsOf(provider, model), model };
  const atHost = fitsHost(provider) ? (fitNativeChat(body, host, check) ?? body) : body;
  const fitted = isForModel ? withTuning(atHost, host, check) : atHost;
  const names = new Set([...Object.keys(body), ...Object.keys(fitted)]);
  const changed = [...names].filter((name) => fitted[name] !== body[name]);
  const result = check.result(fitted);
  return changed.length === 0 || !result.ok
    ? null
    : { bytes: withMembers(bytes, changed, fitted), dropped: result.dropped };
}

function withTuning(
  body: JsonObject,
  { chat, traits }: Parameters<typeof fitNativeChat>[1],
  check: RequestCheck,
): JsonObject {
  const tuning = tuningIn(body);
  const fitted = fitChatTuning(tuning, chat.maxTokensField, traits, check);
  const out: Record<string, unknown> = { ...body };
  for (const name of Object.keys(tuning)) if (name !== "tools") delete out[name];
  for (const name of Object.keys(fitted)) if (name !== "tools") out[name] = fitted[name];
  return out;
}

/** A body with these fields replaced or removed. All other fields keep every byte. */
export function withMembers(body: Buffer, names: readonly string[], values: JsonObject): Buffer {
  const text = body.toString("latin1");
  const members = scanObject(text)
    .filter(({ key }) => !names.includes(key))
    .map(({ key, start, end }) => `${JSON.stringify(key)}:${text.slice(start, end)}`);
  for (const name of names)
    if (values[name] !== undefined)
      members.push(`${JSON.stringify(name)}:${writeExactly(values[name])}`);
  return Buffer.from(`{${members.join(",")}}`, "latin1");
}

function tuningIn(body: JsonObject): JsonObject {
  const tuning: Record<string, unknown> = {};
  for (const name of tuningFields) if (!isAbsent(body[name])) tuning[name] = body[name];
  // Only the presence of tools matters.
  if (!isAbsent(body["tools"])) tuning["tools"] = true;
  return tuning;
}
