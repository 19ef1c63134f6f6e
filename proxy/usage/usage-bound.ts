/**
 * The most that a request can use at its provider, for a response whose usage never arrived: one
 * token of input for each byte of its body, and the largest output that the request or the model
 * allows. The bound excludes text that a provider adds to a prompt, such as a stored conversation
 * or the results of a search.
 */
import { outputTokensAssumed, tokensPerResponseMax } from "../../shared/bounds.js";
import { isCount, isObject } from "../../shared/checked.js";
import { greatest } from "../../shared/long-lists.js";
import type { Operation } from "../../shared/operation.js";
import { detailsOf, type UsageDetails } from "../../shared/usage/usage-details.js";
import { JsonPicker, type Picks } from "../body/json-picker.js";
import type { JsonMember } from "../body/scan-json.js";
import { SentBody } from "../upstream/sent-body.js";
import type { RequestBody } from "../upstream/upstream.js";
import { isWithoutModel, pictures, withoutOutput } from "./count-usage.js";
import { regionIn, tierIn } from "./read-usage.js";
import type { Usage } from "./usage.js";

/** A request as it was sent. */
export interface SentRequest {
  /** Null if it is unknown. */
  readonly operation: Operation | null;
  readonly body: RequestBody;
  /** The body's fields for output, reasoning and tier; only the first call parses the body. */
  readonly fields: () => Fields;
  /** The size of the prompt, for a body that isn't in memory. */
  readonly promptBytes: number;
  /** The most output that the model gives in one response; null if it is unknown. */
  readonly modelOutputMax: number | null;
  /** Whether the model is known to reason if the request doesn't mention reasoning. */
  readonly reasonsByDefault: boolean;
  /** Whether a stream of the model is known to show all of its reasoning. */
  readonly showsReasoning: boolean;
}

export type Fields = Readonly<Record<string, unknown>>;

/** Operations that providers don't sell by the tokens of a text. */
const withOtherUnits: ReadonlySet<Operation> = new Set<Operation>([
  ...pictures,
  "speech",
  "transcriptions",
  "translations",
]);

/** Whether the tokens of a request bound its cost: a model runs, and works on text. */
export function isBoundedByTokens({ operation }: Pick<SentRequest, "operation">): boolean {
  return operation !== null && !isWithoutModel(operation) && !withOtherUnits.has(operation);
}

/** The input of `sentRequestOf`. */
export interface SentRequestParts {
  readonly operation: Operation | null;
  readonly request: { readonly body: RequestBody };
  readonly promptBytes: () => number;
  readonly modelOutputMax?: () => number | null;
  readonly reasonsByDefault?: () => boolean;
  readonly showsReasoning?: () => boolean;
}

export function sentRequestOf({
  operation,
  request,
  promptBytes,
  modelOutputMax,
  reasonsByDefault,
  showsReasoning,
}: SentRequestParts): SentRequest {
  let fields: Fields | null = null;
  return {
    operation,
    body: request.body,
    fields: () => (fields ??= fieldsOf(request.body)),
    promptBytes: promptBytes(),
    modelOutputMax: modelOutputMax?.() ?? null,
    reasonsByDefault: reasonsByDefault?.() ?? false,
    showsReasoning: showsReasoning?.() ?? false,
  };
}

/** The upper bound. `charged`: the part of the usage that is known or estimated already. */
export function boundOfUsage(charged: Usage, sent: SentRequest): Usage {
  const inputTokens = Math.max(charged.inputTokens, bytesOf(sent));
  const outputTokens = Math.max(charged.outputTokens, outputMax(sent));
  const input = Math.min(inputTokens, tokensPerResponseMax);
  const output = Math.min(outputTokens, tokensPerResponseMax);
  return {
    inputTokens: input,
    outputTokens: output,
    totalTokens: input + output,
    cachedInputTokens: 0,
    cacheWriteInputTokens: 0,
    reportedCost: null,
    details: withRequestedTier(charged.details, sent.fields()),
  };
}

const caps = ["max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens"];
const choices = ["n", "best_of", "candidateCount"];
const configs = ["generationConfig", "generation_config"];
const tiers = ["service_tier", "serviceTier", "speed", "inference_geo"];

const all = (names: readonly string[]): [string, "all"][] => names.map((name) => [name, "all"]);
/** See `hidden-reasoning.ts`. */
const reasoning = [
  ...["thinking", "reasoning", "output_config", "chat_template_kwargs"],
  ...["reasoning_effort", "effort", "thinking_budget", "thinkingBudget", "thinkingLevel"],
  ...["thinking_level", "enabled", "enable_thinking"],
  ...["stream", "background", "include_reasoning", "reasoning_format"],
];
/** See `countUsage`. */
const ofPictures = ["quality", "size"];
const thinkingConfigs = ["thinkingConfig", "thinking_config"];
const inConfig: Picks = new Map(all([...caps, ...choices, ...thinkingConfigs]));
const requestPicks: Picks = new Map<string, "all" | Picks>([
  ...all([...caps, ...choices, ...tiers, ...reasoning, ...ofPictures]),
  ...configs.map((name): [string, Picks] => [name, inConfig]),
  ["extra_body", new Map([["google", new Map(all(thinkingConfigs))]])],
]);

/** The most bytes of the fields that a released body keeps. */
const keptBytesMax = 4096;

/**
 * The fields that a bound and an estimate need, as JSON in Latin-1. Those of the members are cut
 * from a body without reading the rest of it.
 */
export function boundFields(bytes: Buffer, members: readonly JsonMember[] | null = null): string {
  const fields: string[] = [];
  let bytesLeft = keptBytesMax;
  const keep = (key: string, value: string): void => {
    bytesLeft -= value.length;
    if (bytesLeft >= 0) fields.push(`${JSON.stringify(key)}:${value}`);
  };
  if (members === null)
    for (const [key, value] of Object.entries(fieldsOf(bytes))) keep(key, JSON.stringify(value));
  else
    for (const { key, start, end } of members)
      if (requestPicks.has(key)) keep(key, bytes.toString("latin1", start, end));
  return `{${fields.join(",")}}`;
}

/**
 * Parses only the fields of `requestPicks`, because a body may have many values. Empty if the body
 * isn't an object.
 */
function fieldsOf(body: RequestBody): Fields {
  const json = body instanceof SentBody ? body.fields : body;
  if (!Buffer.isBuffer(json)) return {};
  const picker = new JsonPicker(requestPicks);
  picker.append(json);
  const fields = picker.value();
  return isObject(fields) ? fields : {};
}

/** Adds the tier and the region that the request names, if the answer names none. */
function withRequestedTier(details: UsageDetails | null, fields: Fields): UsageDetails | null {
  const serviceTier = details?.serviceTier ?? tierIn(fields);
  const region = details?.region ?? regionIn(fields["inference_geo"]);
  return detailsOf(serviceTier, details?.counts ?? {}, region);
}

/** A token is at least one byte. */
function bytesOf({ body, promptBytes }: SentRequest): number {
  if (body === null) return promptBytes;
  return Math.max(promptBytes, Buffer.isBuffer(body) ? body.length : (body.bytes ?? 0));
}

/** What a request says about its output. */
export interface RequestedOutput {
  /** The most output of all answers together; null without a maximum. */
  readonly outputMax: number | null;
  /** The number of requested answers. */
  readonly choices: number;
  /** Whether the provider continues after the client has disconnected. */
  readonly isBackground: boolean;
  readonly serviceTier: string | null;
  readonly isStream: boolean;
}

export function requestedOutput(operation: Operation, body: RequestBody): RequestedOutput {
  const fields = fieldsOf(body);
  const choiceCount = largestOf(fields, choices) ?? 1;
  const perChoice = withoutOutput.has(operation) ? 0 : largestOf(fields, caps);
  return {
    outputMax: perChoice === null ? null : perChoice * choiceCount,
    choices: choiceCount,
    isBackground: fields["background"] === true,
    serviceTier: tierIn(fields),
    isStream: fields["stream"] === true,
  };
}

/** The most output of one response. */
export function outputMax(sent: SentRequest): number {
  const { operation, modelOutputMax } = sent;
  if (operation !== null && withoutOutput.has(operation)) return 0;
  const fields = sent.fields();
  const perChoice = largestOf(fields, caps) ?? modelOutputMax ?? outputTokensAssumed;
  return perChoice * Math.max(1, largestOf(fields, choices) ?? 1);
}

/** The largest count among these names, at the top level or in Google's `generationConfig`. */
function largestOf(fields: Fields, names: readonly string[]): number | null {
  const config = configs.map((name) => fields[name]).find(isObject);
  const places = config === undefined ? [fields] : [fields, config];
  const counts = places
    .flatMap((place) => names.map((name) => place[name]))
    .filter(isPositiveCount);
  return counts.length === 0 ? null : greatest(counts);
}

function isPositiveCount(value: unknown): value is number {
  return isCount(value, 1);
}
