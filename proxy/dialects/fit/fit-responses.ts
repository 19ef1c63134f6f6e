/**
 * Removes from a client's own request of the Responses API what its host refuses: fields that a
 * known host doesn't have; and, if the conversation began at another model, the reasoning that
 * Sluice kept for that model and the signatures that it put into call ids. A summary that Sluice
 * kept becomes a message. If the request was written for another model, it also loses what this one
 * refuses.
 *
 * Not here: requests that need features that the host lacks, which go there in another dialect
 * (`offeredTo`).
 */
import { isAbsent, isObject } from "../../../shared/checked.js";
import { readKeptReasoning } from "../shared/kept-reasoning.js";
import { isCompaction } from "../shared/made-by.js";
import type { RequestCheck } from "../shared/request-check.js";
import { readSignedId, signedMark } from "../shared/thought-signature.js";
import type { JsonObject } from "../shared/translation.js";
import { dropVerbosity, fitSampling, fitToolChoice } from "./fit-chat-request.js";
import { fitOutputMax, fitReasoning } from "./fit-responses-request.js";
import { type FitStep, type FitTarget, isMoved } from "./fit-tuning.js";
import { isOpenaiModel } from "./model-families.js";
import { chatTraitsOf, namedLike } from "./target-traits.js";

/** The beginning, in JSON, of all reasoning that Sluice keeps. */
const keptMark = '"sluice_';

/** Null if there is nothing to remove. */
export function hostResponsesStep({ provider }: FitTarget, bytes: Buffer): FitStep | null {
  if (provider.nativeRequests === "untouched") return null;
  const isIn = (text: string): boolean => bytes.includes(text);
  const { refusedFields } = provider.responses;
  const mayBeForeign =
    isIn(keptMark) || isIn(signedMark) || refusedFields.some((name) => isIn(`"${name}"`));
  return mayBeForeign ? (body, check) => responsesForHost(body, refusedFields, check) : null;
}

/** Fields and item types that some models refuse. */
const modelFields = [
  "reasoning",
  "include",
  "verbosity",
  "temperature",
  "top_p",
  "top_logprobs",
  "max_output_tokens",
  "tool_choice",
];

/** Null if the client named the model. */
export function responsesModelStep(target: FitTarget, bytes: Buffer): FitStep | null {
  if (!isMoved(target) || !modelFields.some((name) => bytes.includes(`"${name}"`))) return null;
  const traits = chatTraitsOf(target.provider, target.model);
  return (body, check) => {
    const out: Record<string, unknown> = { ...body };
    const effort = fitReasoning(out, traits, check, "reasoning.effort");
    fitSampling(out, effort, traits, check);
    fitToolChoice(out, traits, check);
    fitOutputMax(out, traits);
    const { text } = body;
    if (isObject(text) && !traits.takesVerbosity) {
      const fitted: Record<string, unknown> = { ...text };
      dropVerbosity(fitted, check);
      if (fitted["verbosity"] !== text["verbosity"]) out["text"] = fitted;
    }
    if (traits.efforts.length === 0) dropReasoning(out, check);
    return out;
  };
}

/**
 * For OpenAI's models that don't reason, also if the client named the model: Codex always asks for
 * encrypted reasoning, and these models refuse that. Their answers have none, so nothing is lost.
 * Null for other models.
 */
export function encryptedReasoningStep(
  { provider, model }: FitTarget,
  bytes: Buffer,
): FitStep | null {
  if (provider.nativeRequests === "untouched") return null;
  if (!isOpenaiModel(namedLike(provider, model))) return null;
  const { efforts, reasonsByDefault } = chatTraitsOf(provider, model);
  if (efforts.length > 0 || reasonsByDefault) return null;
  return bytes.includes(`"${encryptedReasoning}"`) ? withoutEncryptedReasoning : null;
}

function withoutEncryptedReasoning(body: JsonObject): JsonObject {
  const { include, ...others } = body;
  if (!Array.isArray(include) || !include.includes(encryptedReasoning)) return body;
  const remaining = include.filter((name) => name !== encryptedReasoning);
  return remaining.length > 0 ? { ...others, include: remaining } : others;
}

/** For a model that doesn't reason. */
function dropReasoning(out: Record<string, unknown>, check: RequestCheck): void {
  const { include, input } = out;
  if (Array.isArray(include) && include.includes(encryptedReasoning)) {
    check.drop("include[]", "must be left out", `include[] (${encryptedReasoning})`);
    const { include: remaining } = withoutEncryptedReasoning(out);
    if (remaining === undefined) delete out["include"];
    else out["include"] = remaining;
  }
  if (Array.isArray(input) && input.some(isReasoning))
    out["input"] = withoutItems(input, isReasoning, check);
}

const encryptedReasoning = "reasoning.encrypted_content";

function isReasoning(item: unknown): boolean {
  return isObject(item) && item["type"] === "reasoning";
}

/** Items whose id is optional. */
const freeItems: ReadonlySet<unknown> = new Set([
  "message",
  "function_call",
  "function_call_output",
  "custom_tool_call",
  "custom_tool_call_output",
]);

/**
 * Removes reasoning from the input, and the ids of the other items: OpenAI would look up such an
 * id, miss the item's reasoning, and refuse the request.
 */
export function withoutItems(
  input: readonly unknown[],
  isGone: (item: unknown) => boolean,
  check: RequestCheck,
): readonly unknown[] {
  check.drop("input[]", "must be of the model", "input[] (reasoning)");
  return input
    .filter((item) => !isGone(item))
    .map((item) => {
      if (!isObject(item) || isAbsent(item["id"])) return item;
      const isFree = freeItems.has(item["type"] ?? "message");
      const { id: _, ...rest } = item;
      return isFree ? rest : item;
    });
}

function responsesForHost(
  body: JsonObject,
  refusedFields: readonly string[],
  check: RequestCheck,
): JsonObject {
  const out: Record<string, unknown> = { ...body };
  for (const name of refusedFields) {
    if (body[name] === undefined) continue;
    if (!isDefault(name, body[name]))
      check.drop(name, "must be left out: the provider has no such field");
    delete out[name];
  }
  const { input } = body;
  if (Array.isArray(input)) {
    const items = input
      .filter((item) => !isKeptReasoning(item, check))
      .map(withOwnId)
      .map(withReadableSummary);
    if (items.length !== input.length || items.some((item, i) => item !== input[i]))
      out["input"] = items;
  }
  return out;
}

/** Whether the value is the behaviour of a host without the field. */
function isDefault(name: string, value: unknown): boolean {
  if (isAbsent(value)) return true;
  if (name === "store") return value === false;
  return name === "truncation" ? value === "disabled" : Array.isArray(value) && value.length === 0;
}

/**
 * Whether an item is reasoning that Sluice kept. The host's models can't read it, and refuse
 * reasoning that they haven't encrypted.
 */
function isKeptReasoning(item: unknown, check: RequestCheck): boolean {
  if (!isObject(item) || item["type"] !== "reasoning") return false;
  const { encrypted_content: encrypted } = item;
  if (typeof encrypted !== "string" || !encrypted.startsWith(keptMark.slice(1))) return false;
  check.drop("input[]", "must be of the model", "input[] (reasoning)");
  return true;
}

/** The same object if the call's id has no signature. */
function withOwnId(item: unknown): unknown {
  if (!isObject(item) || typeof item["call_id"] !== "string") return item;
  const { id } = readSignedId(item["call_id"]);
  return id === item["call_id"] ? item : ({ ...item, call_id: id } satisfies JsonObject);
}

/** Turns a compaction that Sluice wrote into a message, as for translated providers. */
function withReadableSummary(item: unknown): unknown {
  if (!isObject(item) || !isCompaction(item)) return item;
  const summary = readKeptReasoning(item["encrypted_content"]);
  if (summary === null) return item;
  const content = [{ type: "input_text", text: summary.text }];
  return { type: "message", role: "user", content } satisfies JsonObject;
}
