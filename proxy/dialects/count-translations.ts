/**
 * Counts the tokens of a request in another dialect: translates the request as for an answer, and
 * leaves out fields that don't count. Anthropic's `count_tokens` and OpenAI's `input_tokens` return
 * the count in the same field, Gemini in another.
 */
import { isCount, isObject } from "../../shared/checked.js";
import {
  type JsonObject,
  type RequestOptions,
  type TranslatedRequest,
  type Translation,
  UntranslatableAnswer,
} from "./shared/translation.js";

/** The fields that the provider's operation takes. All others only shape the answer. */
const countedTranslations = {
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
 * `answered`: the translation for a request that is answered. `answerWith`: makes the answer in the
 * client's dialect.
 */
export function countingBy(
  answered: Translation,
  answerWith: (count: number) => JsonObject,
): Translation {
  return {
    echoedFields: [],
    // A client may ask for a stream, as in the request that it will send.
    echoSource: () => ({}),
    request: (body, options) => countableRequest(body, options, answered),
    answer: (body) => answerWith(countIn(body)),
    asEvents: noStream,
    events: noStream,
  };
}

/** Reports no dropped fields: only the request for an answer reports them. */
function countableRequest(
  body: JsonObject,
  options: RequestOptions,
  answered: Translation,
): TranslatedRequest {
  const { stream: _, ...rest } = answeredRequest(body);
  // Anthropic's dialect requires a limit, which doesn't affect the count.
  const limited = rest["messages"] === undefined ? rest : { max_tokens: 16, ...rest };
  return answered.request(limited, { ...options, isStrict: false });
}

/** Google's clients may put the whole request into a field. */
function answeredRequest(body: JsonObject): JsonObject {
  const nested = body["generateContentRequest"] ?? body["generate_content_request"];
  return isObject(nested) ? nested : body;
}

export function countedFields(
  operation: keyof typeof countedTranslations,
  body: JsonObject,
): JsonObject {
  return Object.fromEntries(
    countedTranslations[operation]
      .filter((field) => body[field] !== undefined)
      .map((field) => [field, body[field]]),
  );
}

/** Gemini's own API takes contents alone, or the whole request in a field, with its model. */
export function countedByGoogle(body: JsonObject, model: string): JsonObject {
  const name = model.startsWith("tunedModels/") ? model : `models/${model}`;
  return { generateContentRequest: { model: name, ...body } };
}

/** Anthropic and OpenAI call it `input_tokens`, Google `totalTokens`. */
function countIn(answer: JsonObject): number {
  const count = answer["input_tokens"] ?? answer["totalTokens"];
  if (!isCount(count))
    throw new UntranslatableAnswer("the provider's answer has no count of tokens");
  return count;
}

function noStream(): never {
  throw new UntranslatableAnswer("a count of tokens isn't streamed");
}
