import t from "tap";
import {
  chatModelTraits,
  type Effort,
  messagesModelTraits,
  nearestEffort,
} from "../../../../proxy/dialects/variants/model-families.js";

const onlyInResponses: Readonly<Record<string, string>> = {
  "gpt-5-pro": "all",
  "gpt-5-codex": "all",
  "gpt-5.1-codex-max": "all",
  "gpt-5.4": "asked_reasoning_with_tools",
  "gpt-5.6-terra": "reasoning_with_tools",
  "GPT-6": "reasoning_with_tools",
  "o3-pro": "all",
};

t.test("models of chat completions, by their makers' names", async (t) => {
  const cases: readonly (readonly [string, number | null, string, string])[] = [
    ["gpt-3.5-turbo", 4096, "", "always"],
    ["gpt-4", 8192, "", "always"],
    ["gpt-4-turbo-2024-04-09", 4096, "", "always"],
    ["gpt-4o-mini", 16_384, "", "always"],
    ["openai/gpt-4o", 16_384, "", "always"],
    ["gpt-4.1-nano", 32_768, "", "always"],
    ["gpt-5-chat-latest", 16_384, "", "always"],
    ["gpt-5", 128_000, "minimal low medium high", "never"],
    ["gpt-5-mini-2025-08-07", 128_000, "minimal low medium high", "never"],
    ["gpt-5-pro", 128_000, "high", "never"],
    ["gpt-5-codex", 128_000, "low medium high", "never"],
    ["gpt-5.1", 128_000, "none low medium high", "without_reasoning"],
    ["gpt-5.1-codex-max", 128_000, "low medium high xhigh", "never"],
    ["gpt-5.2", 128_000, "none low medium high xhigh", "without_reasoning"],
    ["gpt-5.4", 128_000, "none low medium high xhigh", "without_reasoning"],
    ["gpt-5.6-terra", 128_000, "none low medium high xhigh", "without_reasoning"],
    ["o3-pro", 128_000, "low medium high", "never"],
    ["GPT-6", 128_000, "none low medium high xhigh", "without_reasoning"],
    ["o1-mini", 32_768, "", "never"],
    ["o4-mini", 100_000, "low medium high", "never"],
    ["openai/gpt-oss-120b", null, "low medium high", "always"],
    ["gemini-3-pro", null, "minimal low medium high", "always"],
    ["Qwen/Qwen3-32B", null, "", "always"],
    ["mistral-large-latest", null, "", "always"],
    ["deepseek-chat", null, "low medium high max", "always"],
    ["grok-4-fast", null, "", "always"],
    ["my-deployment", null, "low medium high", "always"],
    ["", null, "low medium high", "always"],
  ];
  for (const [model, outputTokensMax, efforts, takesSampling] of cases)
    t.same(
      chatModelTraits(model),
      {
        outputTokensMax,
        efforts: efforts === "" ? [] : efforts.split(" "),
        onlyInResponses: onlyInResponses[model] ?? "nothing",
        takesSampling,
      },
      model,
    );
});

t.test("Anthropic's models, by family and version", async (t) => {
  const cases: readonly (readonly [string, number, string, string, string, boolean])[] = [
    ["claude-3-haiku-20240307", 4096, "none", "", "both", false],
    ["claude-3-5-sonnet-20241022", 8192, "none", "", "both", false],
    ["claude-3-7-sonnet-latest", 64_000, "budget", "", "both", false],
    ["claude-sonnet-4-20250514", 64_000, "budget", "", "both", false],
    ["claude-opus-4-1", 32_000, "budget", "", "one_of", true],
    ["claude-sonnet-4-5-20250929", 64_000, "budget", "", "one_of", true],
    ["claude-haiku-4-5", 64_000, "budget", "", "one_of", true],
    ["claude-opus-4-5", 64_000, "budget", "low medium high", "one_of", true],
    ["claude-opus-4-6", 128_000, "both", "low medium high max", "one_of", true],
    ["claude-opus-4-7", 128_000, "adaptive", "low medium high xhigh max", "none", true],
    ["anthropic/claude-sonnet-4.5", 64_000, "budget", "", "one_of", true],
    ["claude-someday", 128_000, "adaptive", "low medium high xhigh max", "none", true],
  ];
  for (const [model, outputTokensMax, thinking, efforts, sampling, takesOutputSchema] of cases)
    t.same(
      messagesModelTraits(model),
      {
        outputTokensMax,
        thinking,
        efforts: efforts === "" ? [] : efforts.split(" "),
        sampling,
        takesOutputSchema,
      },
      model,
    );
  t.equal(messagesModelTraits("kimi-k2"), null, "others speak its dialect too");
});

t.test("an effort becomes the next lower one that the model takes, else its lowest", async (t) => {
  const cases: readonly (readonly [Effort, readonly Effort[], Effort | null])[] = [
    ["high", ["low", "medium", "high"], "high"],
    ["xhigh", ["low", "medium", "high"], "high"],
    ["minimal", ["low", "high"], "low"],
    ["minimal", ["none", "low"], "low"],
    ["medium", ["high"], "high"],
    ["none", ["minimal", "low"], "minimal"],
    ["none", ["none", "low"], "none"],
    ["none", ["low", "medium"], null],
    ["high", [], null],
    ["none", [], null],
  ];
  for (const [wanted, taken, expected] of cases)
    t.equal(nearestEffort(wanted, taken), expected, `${wanted} of ${taken.join(" ")}`);
});
