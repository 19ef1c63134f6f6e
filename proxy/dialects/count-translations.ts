/**
 * Counting the tokens of a request in another dialect: the request is translated as one that is to
 * be answered, and what doesn't count is left out. The answers of Anthropic's `count_tokens` and of
 * OpenAI's `input_tokens` have the count in the same field, Gemini's in another.
 */
import { isCount, isObject } from "../../shared/checked.js";
import {
  type JsonObject,
  type RequestOptions,
  type TranslatedRequest,
  type Translation,
  UntranslatableAnswer,
} from "./shared/translation.js";

/** What the provider's operation takes; everything else is for the answer. */
const counted = {
  count_tokens: [
    "model",
    "messages",
    "system",
    "tools",
    "tool_choice",
    "thinking",
    "output_config",
  ],
  input_tokens: [
    "model",
    "input",
    "tools",
    "tool_choice",
    "parallel_tool_calls",
    "text",
    "reasoning",
  ],
} as const;

/**
 * `answered`: the translation of the request that would be answered; `answerWith`: the
 * answer in the client's dialect.
 */
export function countingBy(
  answered: Translation,
  answerWith: (count: number) => JsonObject,
): Translation {
  return {
    repeats: [],
    // A client may ask for a stream, as it will for the answer.
    repeatedFrom: () => ({}),
    request: (body, options) => countable(body, options, answered),
    answer: (body) => answerWith(countIn(body)),
    asEvents: noStream,
    events: noStream,
  };
}

/** Nothing is dropped that would be: what is counted is told by the request itself. */
function countable(
  body: JsonObject,
  options: RequestOptions,
  answered: Translation,
): TranslatedRequest {
  const { stream: _, ...rest } = answeredRequest(body);
  // Anthropic's dialect requires a limit, which doesn't count.
  const limited = rest["messages"] === undefined ? rest : { max_tokens: 16, ...rest };
  return answered.request(limited, { ...options, isStrict: false });
}

/** In Gemini's own API it may be within the request to count. */
function answeredRequest(body: JsonObject): JsonObject {
  const inner = body["generateContentRequest"] ?? body["generate_content_request"];
  return isObject(inner) ? inner : body;
}

export function countedFields(operation: keyof typeof counted, body: JsonObject): JsonObject {
  return Object.fromEntries(
    counted[operation]
      .filter((field) => body[field] !== undefined)
      .map((field) => [field, body[field]]),
  );
}

/** Gemini's own API wants the request whole, with its model, where it has more than contents. */
export function countedByGoogle(body: JsonObject, model: string): JsonObject {
  const name = model.startsWith("tunedModels/") ? model : `models/${model}`;
  return { generateContentRequest: { model: name, ...body } };
}

function countIn({ totalTokens, input_tokens: count = totalTokens }: JsonObject): number {
  if (!isCount(count))
    throw new UntranslatableAnswer("the provider's answer has no count of tokens");
  return count;
}

function noStream(): never {
  throw new UntranslatableAnswer("a count of tokens isn't streamed");
}
