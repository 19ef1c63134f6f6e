/**
 * The fields of an entry of a provider's `model_traits` in the file: what models take of a
 * translated request; and those of an entry of `per_model`: how requests to models are sent.
 * `../resolve/providers.ts` checks how they fit together.
 */
import { tokensPerResponseMax } from "../../bounds.js";
import { operations } from "../../operation.js";
import { bodyFieldNames, bodyFields } from "../kinds/body-kinds.js";
import { boolean, choice } from "../kinds/choice-kinds.js";
import { modelPatterns, names } from "../kinds/list-kinds.js";
import { integer } from "../kinds/number-kinds.js";
import { text } from "../kinds/text-kinds.js";
import { efforts, reasoningApis, samplings, thinkings } from "../model-traits.js";
import { type Field, type FieldValues, field } from "./setting.js";

export const modelTraitsSettings = {
  models: field({
    kind: modelPatterns,
    defaultText: null,
    example: "[llama-3*]",
    meaning:
      "The models, by their names at the provider; * stands for any characters. The first entry that names a model applies.",
  }),
  like: field({
    kind: text,
    defaultText: "the model's own name",
    example: "llama-3.3",
    meaning:
      "A known model that they are like, such as gpt-5.4 for a deployment with another name: what the entry doesn't say is as there.",
  }),
  max_output_tokens: field({
    kind: integer({ min: 1, max: tokensPerResponseMax }),
    defaultText: "the family's",
    example: "8192",
    meaning: "The most output tokens that a request may ask for.",
  }),
  efforts: field({
    kind: names(efforts),
    defaultText: "the family's",
    example: "[]",
    meaning: "The values of reasoning_effort or output_config.effort; an empty list for none.",
  }),
  reasoning_with_tools: field({
    kind: choice(reasoningApis),
    defaultText: "the family's",
    example: "chat",
    meaning:
      "Where they take tools and an effort together: in chat completions, in the Responses API alone, which the provider must offer, or nowhere.",
  }),
  sampling: field({
    kind: choice(samplings),
    defaultText: "the family's",
    example: "all",
    meaning: "Which of temperature, top_p and penalties they take.",
  }),
  thinking: field({
    kind: choice(thinkings),
    defaultText: "the family's",
    example: "budget",
    meaning: "For the type anthropic, how they think: with a budget of tokens, adaptively, or not.",
  }),
  output_schema: field({
    kind: boolean,
    defaultText: "the family's",
    example: "true",
    meaning: "Whether they take a schema for the answer; if not, they get it in words.",
  }),
  images: field({
    kind: boolean,
    defaultText: "true",
    example: "false",
    meaning: "Whether they take images; if not, a translated request with one is refused.",
  }),
  forced_calls: field({
    kind: boolean,
    defaultText: "the family's",
    example: "true",
    meaning: "Whether a request may force a call of a tool; if not, that is left out.",
  }),
} as const satisfies Readonly<Record<string, Field<unknown>>>;

/** The checked fields of an entry; null for those that the file leaves out. */
export type ModelTraitsFields = FieldValues<typeof modelTraitsSettings>;

const timeout = integer({ min: 1, max: 86_400_000 }, "milliseconds");

export const perModelSettings = {
  models: field({
    kind: modelPatterns,
    defaultText: null,
    example: '["*"]',
    meaning:
      "The models, by their names at the provider; * stands for any characters. The first entry that names a model, and the operation, applies.",
  }),
  operations: field({
    kind: names(operations, { itemsMin: 1 }),
    defaultText: "all",
    example: "[chat_completions]",
    meaning: "The operations of the provider whose requests it is for.",
  }),
  first_byte_timeout_ms: field({
    kind: timeout,
    defaultText: "the provider's",
    example: "120000",
    meaning: "How long the answer may take to begin.",
  }),
  total_timeout_ms: field({
    kind: timeout,
    defaultText: "none",
    example: "600000",
    meaning: "How long one attempt may take, to the last byte of its answer.",
  }),
  set: field({
    kind: bodyFields,
    defaultText: "none",
    example: "{ seed: 7 }",
    meaning: "Fields that the request has, whatever the client says.",
  }),
  defaults: field({
    kind: bodyFields,
    defaultText: "none",
    example: "{ temperature: 0.2 }",
    meaning: "Fields that the request has if the client leaves them out, or gives null.",
  }),
  drop: field({
    kind: bodyFieldNames,
    defaultText: "none",
    example: "[logit_bias]",
    meaning: "Fields of the client's that are left out.",
  }),
} as const satisfies Readonly<Record<string, Field<unknown>>>;

export type PerModelFields = FieldValues<typeof perModelSettings>;
