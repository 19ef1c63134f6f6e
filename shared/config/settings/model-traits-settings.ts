/**
 * The fields of an entry of a provider's `model_traits` in the file, for translated requests, and
 * of an entry of `per_model`, for all requests to some models. `../resolve/providers.ts` checks
 * whether they fit together.
 */
import { tokensPerResponseMax } from "../../bounds.js";
import { operations } from "../../operation.js";
import { bodyFieldNames, bodyFields } from "../kinds/body-kinds.js";
import { boolean, choice } from "../kinds/choice-kinds.js";
import { listOfNames, modelPatterns } from "../kinds/list-kinds.js";
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
      "Model names at the provider, with * for any characters; the first matching entry applies.",
  }),
  like: field({
    kind: text,
    defaultText: "the model's own name",
    example: "llama-3.3",
    meaning: "A known model, such as gpt-5.4, whose traits apply where the entry has none.",
  }),
  max_output_tokens: field({
    kind: integer({ min: 1, max: tokensPerResponseMax }),
    defaultText: "the family's",
    example: "8192",
    meaning: "Most output tokens that a request may ask for.",
  }),
  efforts: field({
    kind: listOfNames(efforts),
    defaultText: "the family's",
    example: "[]",
    meaning: "Values of reasoning_effort or output_config.effort; [] for none.",
  }),
  reasoning_with_tools: field({
    kind: choice(reasoningApis),
    defaultText: "the family's",
    example: "chat",
    meaning:
      "API that takes tools and an effort together: chat completions, only the Responses API, or none.",
  }),
  sampling: field({
    kind: choice(samplings),
    defaultText: "the family's",
    example: "all",
    meaning: "Which of temperature, top_p and penalties the model accepts.",
  }),
  thinking: field({
    kind: choice(thinkings),
    defaultText: "the family's",
    example: "budget",
    meaning: "For the type anthropic: thinking with a token budget, adaptive, both, or none.",
  }),
  output_schema: field({
    kind: boolean,
    defaultText: "the family's",
    example: "true",
    meaning:
      "Whether the model accepts an output schema; if not, Sluice sends it as an instruction.",
  }),
  images: field({
    kind: boolean,
    defaultText: "true",
    example: "false",
    meaning:
      "Whether the model accepts images; if not, Sluice refuses translated requests with one.",
  }),
  forced_calls: field({
    kind: boolean,
    defaultText: "the family's",
    example: "true",
    meaning:
      "Whether a request may force a tool call; if not, Sluice leaves the choice to the model.",
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
      "Model names at the provider, with * for any characters; the first entry that matches model and operation applies.",
  }),
  operations: field({
    kind: listOfNames(operations, { itemsMin: 1 }),
    defaultText: "all",
    example: "[chat_completions]",
    meaning: "Operations that the entry applies to.",
  }),
  first_byte_timeout_ms: field({
    kind: timeout,
    defaultText: "the provider's",
    example: "120000",
    meaning: "Longest time until the answer begins.",
  }),
  total_timeout_ms: field({
    kind: timeout,
    defaultText: "none",
    example: "600000",
    meaning: "Time for one attempt, to its last byte.",
  }),
  set: field({
    kind: bodyFields,
    defaultText: "none",
    example: "{ seed: 7 }",
    meaning: "Fields that are always set.",
  }),
  defaults: field({
    kind: bodyFields,
    defaultText: "none",
    example: "{ temperature: 0.2 }",
    meaning: "Fields that are set if the client omits them or gives null.",
  }),
  drop: field({
    kind: bodyFieldNames,
    defaultText: "none",
    example: "[logit_bias]",
    meaning: "Fields that Sluice removes.",
  }),
} as const satisfies Readonly<Record<string, Field<unknown>>>;

export type PerModelFields = FieldValues<typeof perModelSettings>;
