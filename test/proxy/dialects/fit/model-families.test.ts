import t from "tap";
import {
  chatModelTraits,
  messagesModelTraits,
  nearestEffort,
  reasonsByDefault,
  showsReasoning,
} from "../../../../proxy/dialects/fit/model-families.js";
import type { Effort } from "../../../../shared/config/model-traits.js";

const onlyInResponses: Readonly<Record<string, string>> = {
  "gpt-5-pro": "all",
  "gpt-5-codex": "all",
  "gpt-5.1-codex-max": "all",
  "gpt-5.4": "asked_reasoning_with_tools",
  "gpt-5.5": "reasoning_with_tools",
  "gpt-5.6-terra": "reasoning_with_tools",
  "gpt-6-astra": "reasoning_with_tools",
  "gpt-6.2-astra": "reasoning_with_tools",
  "GPT-6": "reasoning_with_tools",
  "o3-pro": "all",
};

t.test("models of chat completions, by their makers' names", async (t) => {
  const cases: readonly (readonly [string, number | null, string, string])[] = [
    ["gpt-3.5-turbo", 4096, "", "all"],
    ["gpt-4", 8192, "", "all"],
    ["gpt-4-turbo-2024-04-09", 4096, "", "all"],
    ["gpt-4o-mini", 16_384, "", "all"],
    ["openai/gpt-4o", 16_384, "", "all"],
    ["gpt-4.1-nano", 32_768, "", "all"],
    ["gpt-5-chat-latest", 16_384, "", "all"],
    ["gpt-5", 128_000, "minimal low medium high", "none"],
    ["gpt-5-mini-2025-08-07", 128_000, "minimal low medium high", "none"],
    ["gpt-5-pro", 128_000, "high", "none"],
    ["gpt-5-codex", 128_000, "low medium high", "none"],
    ["gpt-5.1", 128_000, "none low medium high", "without_reasoning"],
    ["gpt-5.1-codex-max", 128_000, "low medium high xhigh", "none"],
    ["gpt-5.2", 128_000, "none low medium high xhigh", "without_reasoning"],
    ["gpt-5.4", 128_000, "none low medium high xhigh", "without_reasoning"],
    ["gpt-5.5", 128_000, "none low medium high xhigh", "without_reasoning"],
    ["gpt-5.6-terra", 128_000, "none low medium high xhigh", "without_reasoning"],
    ["gpt-6-astra", 128_000, "low medium high xhigh", "none"],
    ["gpt-6.2-astra", 128_000, "low medium high xhigh", "none"],
    ["o3-pro", 128_000, "low medium high", "none"],
    ["GPT-6", 128_000, "none low medium high xhigh", "without_reasoning"],
    ["o1-mini", 32_768, "", "none"],
    ["o4-mini", 100_000, "low medium high", "none"],
    ["openai/gpt-oss-120b", null, "low medium high", "all"],
    ["gemini-3-pro", null, "minimal low medium high", "all"],
    ["Qwen/Qwen3-32B", null, "", "all"],
    ["mistral-large-latest", null, "", "all"],
    ["deepseek-v4-pro", null, "low medium high max", "all"],
    ["kimi-k2.6", null, "", "none"],
    ["deepseek-chat", null, "low medium high max", "all"],
    ["grok-4-fast", null, "", "all"],
    ["my-deployment", null, "low medium high", "all"],
    ["", null, "low medium high", "all"],
  ];
  for (const [model, outputTokensMax, efforts, sampling] of cases)
    t.same(
      chatModelTraits(model),
      {
        outputTokensMax,
        efforts: efforts === "" ? [] : efforts.split(" "),
        takesMaxInResponses: /^gpt-(?:5\.6|6)/i.test(model),
        onlyInResponses: onlyInResponses[model] ?? "nothing",
        sampling,
        takesForcedCalls: !/^(?:deepseek-v|kimi)/.test(model),
        takesTokenControl: sampling === "all" || model.startsWith("kimi"),
        reasonsByDefault: efforts !== "" ? !/^gpt-5\.[1-4]$/.test(model) : model === "o1-mini",
        takesVerbosity: !/^(?:openai\/gpt-4|gpt-[34]|o\d)/.test(model),
      },
      model,
    );
});

t.test("Anthropic's models, by family and version", async (t) => {
  const cases: readonly (readonly [string, number, string, string, string, boolean])[] = [
    ["claude-3-haiku-20240307", 4096, "none", "", "all", false],
    ["claude-3-5-sonnet-20241022", 8192, "none", "", "all", false],
    ["claude-3-7-sonnet-latest", 64_000, "budget", "", "all", false],
    ["claude-sonnet-4-20250514", 64_000, "budget", "", "all", false],
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
        thinkingOff: thinking === "budget" ? "disabled" : "left_out",
        takesForcedCalls: true,
        takesPrefill: !/opus-4-[67]|someday/.test(model),
        takesSystemTurns: /someday/.test(model),
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

t.test("Claude by how thinking is turned off, and whether it takes forced calls", async (t) => {
  const cases: readonly (readonly [string, string, boolean])[] = [
    ["claude-3-5-haiku-latest", "left_out", true],
    ["claude-sonnet-4-5", "disabled", true],
    ["claude-opus-4-6", "left_out", true],
    ["claude-opus-4-8", "left_out", true],
    ["claude-opus-5", "disabled", true],
    ["claude-sonnet-5", "disabled", true],
    ["claude-haiku-5-5", "disabled", true],
    ["anthropic/claude-sonnet-5.5", "between_tools", false],
    ["claude-opus-5-5", "never", false],
    ["claude-fable-5", "never", false],
    ["claude-mythos-5-1", "never", false],
    ["claude-someday", "left_out", true],
  ];
  for (const [model, thinkingOff, takesForcedCalls] of cases)
    t.match(messagesModelTraits(model), { thinkingOff, takesForcedCalls }, model);
});

t.test("models that reason without being asked are known by their names", async (t) => {
  const reasoning = [
    ...["o1", "o3-mini", "o4-mini-deep-research", "gpt-5", "gpt-5-mini-2025-08-07", "gpt-5-pro"],
    ...["gpt-5-codex", "gpt-6", "gpt-oss-120b", "gemini-2.5-pro", "gemini-3-flash-preview"],
    ...["deepseek-reasoner", "deepseek-ai/DeepSeek-R1", "grok-4", "grok-4-fast-reasoning"],
    ...["claude-opus-5", "anthropic/claude-haiku-5.5", "claude-fable-5-1"],
    ...["openai/o3", "qwq-32b", "magistral-small", "kimi-k2-thinking", "qwen3-next-80b-thinking"],
  ];
  const plain = [
    ...["gpt-4o", "gpt-4.1", "gpt-5-chat-latest", "gpt-5.1", "gpt-5.2", "claude-opus-4-7", "m"],
    ...["gemini-2.0-flash", "gemini-2.5-flash-lite", "gemini-2.5-flash-image", "deepseek-chat"],
    ...["grok-4-fast-non-reasoning", "llama-3.3-70b", "text-embedding-3-small", ""],
  ];
  t.same(
    reasoning.filter((model) => !reasonsByDefault(model)),
    [],
  );
  t.same(plain.filter(reasonsByDefault), []);
  t.same(
    ["deepseek-ai/DeepSeek-R1", "deepseek-reasoner", "grok-3-mini", "o3", "grok-4"].filter(
      showsReasoning,
    ),
    ["deepseek-ai/DeepSeek-R1", "deepseek-reasoner", "grok-3-mini"],
  );
});
