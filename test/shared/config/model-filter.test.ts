import t from "tap";
import { ModelFilter } from "../../../shared/config/model-filter.js";
import { namingsOf } from "../../../shared/config/model-name.js";

const providers = namingsOf([
  { name: "OpenAI", type: "openai" },
  { name: "anthropic", type: "anthropic" },
  { name: "gemini", type: "gemini" },
]);

/** Which of these targets a text covers. */
function covered(models: string): readonly string[] {
  const filter = new ModelFilter(models.split(" "), providers);
  return targets.filter((target) => {
    const slash = target.indexOf("/");
    return filter.covers({ provider: target.slice(0, slash), model: target.slice(slash + 1) });
  });
}

const targets = [
  "OpenAI/gpt-4o",
  "openai/",
  "groq/openai/gpt-4o",
  "groq/meta/llama-3",
  "anthropic/Claude-opus-4",
  "anthropic/claude-sonnet-4-5",
];

t.test("a filter covers what a rule on the same model would", async (t) => {
  const table: readonly (readonly [string, readonly string[]])[] = [
    ["gpt-4o", ["OpenAI/gpt-4o"]],
    ["openai/gpt-4o", ["OpenAI/gpt-4o"]],
    ["openai/*", ["OpenAI/gpt-4o", "openai/"]],
    ["groq/*", ["groq/openai/gpt-4o", "groq/meta/llama-3"]],
    ["meta/*", ["groq/meta/llama-3"]],
    ["claude-*", ["anthropic/Claude-opus-4", "anthropic/claude-sonnet-4-5"]],
    ["claude-* !claude-opus-*", ["anthropic/claude-sonnet-4-5"]],
    ["claude-sonnet-4-5-20250929", ["anthropic/claude-sonnet-4-5"]],
    [
      "* !openai/* !claude-sonnet-4-5",
      ["groq/openai/gpt-4o", "groq/meta/llama-3", "anthropic/Claude-opus-4"],
    ],
    ["* !gpt-4o", targets.slice(1)],
    ["o*", ["OpenAI/gpt-4o", "openai/"]],
    ["mistral-*", []],
  ];
  for (const [models, expected] of table) t.same(covered(models), expected, models);
});
