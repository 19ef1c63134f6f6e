/**
 * The most that a request can use at its provider, for a response whose usage never came: a token
 * of input for each byte of its body, and the most output that it requests or that its model gives.
 * The bound excludes what a provider adds to a prompt, such as a stored conversation or the results
 * of a search.
 */
import { outputTokensAssumed, tokensPerResponseMax } from "../../shared/bounds.js";
import { isCount, isObject } from "../../shared/checked.js";
import { greatest } from "../../shared/long-lists.js";
import type { Operation } from "../../shared/operation.js";
import { detailsOf, type UsageDetails } from "../../shared/usage/usage-details.js";
import { JsonPicker, type Picks } from "../body/json-picker.js";
import type { RequestBody } from "../upstream/upstream.js";
import { isWithoutModel, pictures, withoutOutput } from "./count-usage.js";
import { regionIn, tierIn } from "./read-usage.js";
import type { Usage } from "./usage.js";

/** A request as it was sent. */
export interface SentRequest {
  /** Null if it is unknown. */
  readonly operation: Operation | null;
  readonly body: RequestBody;
  /** For a body that wasn't held. */
  readonly promptBytes: number;
  /** The most output that the model gives in one response; null if it is unknown. */
  readonly modelOutputMax: number | null;
  /** Whether the model is known to reason if the request doesn't ask for it. */
  readonly reasonsByDefault: boolean;
}

/** These operations are sold by other units than the tokens of a text. */
const withOtherUnits: ReadonlySet<Operation> = new Set<Operation>([
  ...pictures,
  "speech",
  "transcriptions",
  "translations",
]);

/** Whether the tokens of a request say what it costs at most: a model runs, and works on text. */
export function isBoundedByTokens({ operation }: Pick<SentRequest, "operation">): boolean {
  return operation !== null && !isWithoutModel(operation) && !withOtherUnits.has(operation);
}

/** What `sentRequestOf` makes a `SentRequest` of. */
export interface SentRequestParts {
  readonly operation: Operation | null;
  readonly request: { readonly body: RequestBody };
  readonly promptBytes: () => number;
  readonly modelOutputMax?: () => number | null;
  readonly reasonsByDefault?: () => boolean;
}

export function sentRequestOf({
  operation,
  request,
  promptBytes,
  modelOutputMax,
  reasonsByDefault,
}: SentRequestParts): SentRequest {
  return {
    operation,
    body: request.body,
    promptBytes: promptBytes(),
    modelOutputMax: modelOutputMax?.() ?? null,
    reasonsByDefault: reasonsByDefault?.() ?? false,
  };
}

/** `charged`: the part of the usage that is known or estimated already. */
export function usageBound(charged: Usage, sent: SentRequest): Usage {
  const fields = fieldsOf(sent.body);
  const inputTokens = Math.max(charged.inputTokens, bytesOf(sent));
  const outputTokens = Math.max(charged.outputTokens, outputMax(sent, fields));
  const input = Math.min(inputTokens, tokensPerResponseMax);
  const output = Math.min(outputTokens, tokensPerResponseMax);
  return {
    inputTokens: input,
    outputTokens: output,
    totalTokens: input + output,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    reportedCost: null,
    details: isObject(fields) ? withRequestedTier(charged.details, fields) : charged.details,
  };
}

const caps = ["max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens"];
const choices = ["n", "best_of", "candidateCount"];
const configs = ["generationConfig", "generation_config"];
const tiers = ["service_tier", "serviceTier", "speed", "inference_geo"];

const all = (names: readonly string[]): [string, "all"][] => names.map((name) => [name, "all"]);
const inConfig: Picks = new Map(all([...caps, ...choices]));
const requestPicks: Picks = new Map<string, "all" | Picks>([
  ...all([...caps, ...choices, ...tiers]),
  ...configs.map((name): [string, Picks] => [name, inConfig]),
]);

/** What bounds the output, and the tier. The rest, which may be many values, isn't parsed. */
function fieldsOf(body: RequestBody): unknown {
  if (!Buffer.isBuffer(body)) return null;
  const picker = new JsonPicker(requestPicks);
  picker.append(body);
  return picker.value();
}

/** With the tier and the region that the request names, where the answer names none. */
function withRequestedTier(
  details: UsageDetails | null,
  fields: Readonly<Record<string, unknown>>,
): UsageDetails | null {
  const serviceTier = details?.serviceTier ?? tierIn(fields);
  const region = details?.region ?? regionIn(fields["inference_geo"]);
  return detailsOf(serviceTier, details?.counts ?? {}, region);
}

/** A token is at least one byte. */
function bytesOf({ body, promptBytes }: SentRequest): number {
  if (body === null) return promptBytes;
  return Math.max(promptBytes, Buffer.isBuffer(body) ? body.length : (body.bytes ?? 0));
}

/** The most output of one response. */
export function outputMax(
  { operation, body, modelOutputMax }: SentRequest,
  fields = fieldsOf(body),
): number {
  if (operation !== null && withoutOutput.has(operation)) return 0;
  const perChoice = largestOf(fields, caps) ?? modelOutputMax ?? outputTokensAssumed;
  return perChoice * Math.max(1, largestOf(fields, choices) ?? 1);
}

/** The largest count among these names, at the top level or in Google's `generationConfig`. */
function largestOf(fields: unknown, names: readonly string[]): number | null {
  if (!isObject(fields)) return null;
  const config = configs.map((name) => fields[name]).find(isObject);
  const places = config === undefined ? [fields] : [fields, config];
  const counts = places.flatMap((place) => names.map((name) => place[name])).filter(isCounted);
  return counts.length === 0 ? null : greatest(counts);
}

function isCounted(value: unknown): value is number {
  return isCount(value, 1);
}
