/**
 * What Gemini's own API refuses in a request to generate content: fields that it doesn't know, and
 * calls without their results or their signatures.
 */
import { publishedForm } from "../../outside/described.js";
import { isJson, type Json, listOf, type Rule } from "./shape.js";

const contentsOf = (body: Json): readonly Json[] => listOf(body["contents"]);
const partsOf = (each: Json | undefined): readonly Json[] => listOf(each?.["parts"]);
const has = (name: string) => (each: Json) => each[name] !== undefined;

/** gemini-cli repeats results of the same id when it resumes a conversation. */
function resultsIn(each: Json | undefined): number {
  const results = partsOf(each).flatMap(({ functionResponse: result }, i) =>
    isJson(result) ? [result["id"] ?? i] : [],
  );
  return new Set(results).size;
}

const pairs: Rule = {
  source: "https://github.com/google-gemini/gemini-cli/issues/1329",
  problem(body) {
    const contents = contentsOf(body);
    for (const [i, each] of contents.entries()) {
      const calls = partsOf(each).filter(has("functionCall")).length;
      if (calls === 0) continue;
      if (calls !== resultsIn(contents[i + 1]))
        return `contents[${i}]: Please ensure that the number of function response parts is equal to the number of function call parts of the function call turn.`;
    }
    return null;
  },
};

/** Of the first call of each step since the user's last text. */
const signatures: Rule = {
  source: "https://ai.google.dev/gemini-api/docs/thought-signatures",
  problem(body) {
    const contents = contentsOf(body);
    const turn = contents.findLastIndex(
      (each) => each["role"] === "user" && partsOf(each).some(has("text")),
    );
    for (const [i, each] of contents.entries()) {
      const first = partsOf(each).find(has("functionCall"));
      if (i > turn && first !== undefined && typeof first["thoughtSignature"] !== "string")
        return `contents[${i}]: Function call is missing a thought_signature in functionCall parts.`;
    }
    return null;
  },
};

const bothSchemas: Rule = {
  source: "https://ai.google.dev/api/generate-content#GenerationConfig",
  problem({ generationConfig }) {
    if (!isJson(generationConfig)) return null;
    const { responseMimeType: type, responseSchema, responseJsonSchema } = generationConfig;
    const schema = responseSchema ?? responseJsonSchema;
    return schema !== undefined && type !== "application/json"
      ? "a response schema needs the response mime type application/json"
      : null;
  },
};

/** Budgets for 2.5, levels for 3, never both. The path names the model. */
const thinking: Rule = {
  source: "https://ai.google.dev/gemini-api/docs/thinking#levels-budgets",
  problem({ generationConfig, model }) {
    const config = isJson(generationConfig) ? generationConfig["thinkingConfig"] : null;
    if (!isJson(config)) return null;
    const { thinkingBudget: budget, thinkingLevel: level } = config;
    const name = String(model);
    if (budget !== undefined && level !== undefined)
      return "You can only set only one of thinking budget and thinking level.";
    if (level !== undefined && name.startsWith("gemini-2"))
      return "Thinking level is not supported for this model.";
    if (budget !== undefined && name.startsWith("gemini-2.5-pro") && budget !== -1)
      return Number(budget) < 128 || Number(budget) > 32_768
        ? `The thinking budget ${String(budget)} is invalid. Please choose a value between 128 and 32768.`
        : null;
    return null;
  },
};

export const googleRules: readonly Rule[] = [
  // The path names the model.
  publishedForm("google", ({ model: _, ...body }) => body),
  pairs,
  signatures,
  bothSchemas,
  thinking,
];
