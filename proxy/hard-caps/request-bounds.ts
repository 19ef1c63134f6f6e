/**
 * The most that a request may use, for hard caps: the tokens of its prompt, its own maximum of
 * output, and the price of a token at each target. The bytes of a body are an upper bound for its
 * tokens: a token is at least one byte, and the text that a provider adds to each message is
 * shorter than its JSON. A file counts as a constant, and tools as the text with which a provider
 * explains them (docs/hard-caps.md).
 *
 * Not here: earlier messages of a conversation that the provider stores, whose size is unknown.
 */
import { tokensPerResponseMax } from "../../shared/bounds.js";
import type { Price, TokenKind } from "../../shared/domain/price.js";
import { kindRate, ratesFor } from "../../shared/domain/price.js";
import type { Target } from "../../shared/domain/target-name.js";
import { greatest } from "../../shared/long-lists.js";
import type { Operation } from "../../shared/operation.js";
import type { Metered, Rates } from "../../shared/wire/message-to-daemon.js";
import { promptBytes } from "../body/prompt-bytes.js";
import { pictures } from "../usage/count-usage.js";
import { type RequestedOutput, requestedOutput } from "../usage/usage-bound.js";
import { lengthStop } from "./length-stop.js";

/**
 * A picture of the largest size that providers read as one. A longer document or sound isn't
 * bounded.
 */
const fileTokens = 6000;
/** Providers explain tools to the model in a few hundred tokens. */
const toolsTokens = 500;
/** A picture of high quality. */
const pictureTokens = 7000;
/** For operations whose output no field bounds, such as speech. */
const otherOutputTokens = 4096;

const files =
  /"type"\s*:\s*"(?:image|image_url|input_image|document|file|input_file|input_audio)"|"(?:inline_?data|file_?data)"\s*:\s*\{/gi;

export interface RequestBounds extends Omit<Metered, "rates"> {
  /** How many answers were requested. */
  readonly choices: number;
  readonly wantsUsage: boolean;
  readonly serviceTier: string | null;
  readonly hasFiles: boolean;
}

/** A request in the client's dialect. */
interface BoundedRequest {
  readonly operation: Operation;
  /** Null for a form, or for a body that isn't in memory. */
  readonly body: Buffer | null;
  /** The length of the body, also if it isn't in memory. */
  readonly bytes: number;
  /** Whether the answer is sent as a stream of events. */
  readonly isStream: boolean;
}

export function requestBounds({ operation, body, bytes, isStream }: BoundedRequest): RequestBounds {
  const requested = requestedOutput(operation, body);
  const text = body?.toString("latin1") ?? "";
  const fileCount = text.match(files)?.length ?? 0;
  const textBytes = body === null ? bytes : promptBytes(body, 0);
  const tools = text.includes('"tools"') ? toolsTokens : 0;
  const promptTokens = textBytes + fileCount * fileTokens + tools;
  const stop = { choices: requested.choices, wantsUsage: false };
  return {
    promptTokens: Math.min(promptTokens, tokensPerResponseMax),
    outputMax: outputMaxOf(operation, requested),
    isStreamed: isStream && !requested.isBackground && lengthStop(operation, stop) !== null,
    choices: requested.choices,
    wantsUsage: /"include_usage"\s*:\s*true/.test(text),
    serviceTier: requested.serviceTier,
    hasFiles: fileCount > 0,
  };
}

function outputMaxOf(operation: Operation, { outputMax, choices }: RequestedOutput): number | null {
  if (pictures.has(operation)) return choices * pictureTokens;
  if (outputMax !== null) return Math.min(outputMax, tokensPerResponseMax);
  return withOutputField.has(operation) ? null : otherOutputTokens;
}

/** Operations whose requests may contain a maximum of output. */
const withOutputField: ReadonlySet<Operation> = new Set<Operation>([
  "chat_completions",
  "completions",
  "messages",
  "responses",
  "generate_content",
  "stream_generate_content",
  "interactions",
]);

/** `priceOf`: null without a price. */
export function meteredAt(
  bounds: RequestBounds,
  targets: readonly Target[],
  priceOf: (target: Target) => Price | null,
): Metered {
  const { promptTokens, outputMax, isStreamed } = bounds;
  const rates = targets.map((target) => dearestRates(priceOf(target), bounds));
  return { promptTokens, outputMax, isStreamed, rates };
}

const textInput: readonly TokenKind[] = ["cacheWrite1h", "cacheWrite12h"];
const anyInput: readonly TokenKind[] = [
  ...textInput,
  "audioInput",
  "imageInput",
  "cachedAudioInput",
  "cachedImageInput",
];

/** The highest rates among the kinds of tokens that the request may use. */
function dearestRates(
  price: Price | null,
  { promptTokens, serviceTier, hasFiles }: RequestBounds,
): Rates | null {
  if (price === null) return null;
  const rates = ratesFor(price, promptTokens, { serviceTier, region: null });
  const { input, cacheWrite, output } = rates;
  const kinds = (hasFiles ? anyInput : textInput).map((kind) => kindRate(rates, kind));
  return {
    input: greatest([input, cacheWrite, ...kinds].map((rate) => rate ?? 0)),
    output: Math.max(output ?? 0, kindRate(rates, "reasoning") ?? 0),
  };
}
