import t from "tap";
import { requestedReasoning } from "../../../proxy/body/call-needs.js";
import {
  chooseDialect,
  needsResponses,
  offeredTo,
} from "../../../proxy/dialects/choose-dialect.js";
import { findPreset } from "../../../shared/config/presets.js";
import type { Operation } from "../../../shared/operation.js";

t.test("the provider's own operation is preferred, then one that can be translated", async (t) => {
  const cases: readonly (readonly [Operation, Operation[], Operation | null, boolean])[] = [
    ["chat_completions", ["chat_completions", "messages", "responses"], "chat_completions", false],
    ["chat_completions", ["responses", "messages"], "messages", true],
    ["chat_completions", ["responses"], "responses", true],
    ["messages", ["chat_completions", "responses"], "chat_completions", true],
    ["messages", ["responses"], "responses", true],
    ["responses", ["chat_completions", "messages"], "chat_completions", true],
    ["generate_content", ["chat_completions", "generate_content"], "generate_content", false],
    ["generate_content", ["messages", "chat_completions"], "chat_completions", true],
    ["stream_generate_content", ["messages"], "messages", true],
    ["stream_generate_content", ["responses"], "responses", true],
    ["count_content_tokens", ["count_tokens"], "count_tokens", true],
    ["count_content_tokens", ["input_tokens"], "input_tokens", true],
    ["count_tokens", ["count_content_tokens", "input_tokens"], "input_tokens", true],
    ["count_tokens", ["count_content_tokens"], "count_content_tokens", true],
    ["input_tokens", ["count_content_tokens"], "count_content_tokens", true],
    ["embed_content", ["embeddings"], null, false],
    ["embeddings", ["chat_completions"], null, false],
  ];
  for (const [asked, offered, operation, isTranslated] of cases) {
    const dialect = chooseDialect(asked, new Set(offered));
    t.equal(dialect?.operation ?? null, operation, `${asked} of ${offered.join()}`);
    t.equal((dialect?.translation ?? null) !== null, isTranslated);
  }
  t.equal(chooseDialect("chat_completions", new Set(["responses"]), true)?.operation, "responses");
  t.equal(chooseDialect("responses", new Set(["responses"]), true)?.translation, null);
});

const tools = [{}];
const thinks = (thinkingConfig: object): object => ({ generationConfig: { thinkingConfig } });
const chat = { tools, reasoning_effort: "high" };

t.test("what a model does in the Responses API alone goes there, where it is", async (t) => {
  const cases: readonly (readonly [string, string, Operation, object, boolean])[] = [
    ["openai", "gpt-5.4", "chat_completions", chat, true],
    ["azure", "gpt-5.4", "chat_completions", chat, true],
    ["openrouter", "openai/gpt-5.4", "chat_completions", chat, false],
    ["openai", "gpt-5.4", "chat_completions", { ...chat, reasoning_effort: "none" }, false],
    ["openai", "gpt-5.4", "chat_completions", { tools }, false],
    ["openai", "gpt-5.4", "chat_completions", { tools: [], reasoning_effort: "high" }, false],
    ["openai", "gpt-5.6-terra", "chat_completions", { tools }, true],
    ["openai", "gpt-5.6", "chat_completions", { tools, reasoning_effort: "none" }, false],
    ["openai", "gpt-5.2", "chat_completions", chat, false],
    ["openai", "gpt-5-codex", "chat_completions", {}, true],
    ["openai", "gpt-5.4", "messages", { tools, output_config: { effort: "low" } }, true],
    ["openai", "gpt-5.4", "messages", { tools, thinking: { type: "enabled" } }, true],
    ["openai", "gpt-5.4", "messages", { tools, thinking: { type: "adaptive" } }, false],
    ["openai", "gpt-5.6", "messages", { tools, thinking: { type: "adaptive" } }, true],
    ["openai", "gpt-5.6", "messages", { tools, thinking: { type: "disabled" } }, false],
    ["openai", "gpt-5.6", "messages", { tools, thinking: { type: "between_tools" } }, false],
    ["openai", "gpt-6-astra", "messages", { tools, thinking: { type: "disabled" } }, true],
    ["openai", "gpt-5.4", "generate_content", { tools }, false],
    ["openai", "gpt-5.4", "generate_content", { tools, ...thinks({ thinkingLevel: "LOW" }) }, true],
    ["openai", "gpt-5.4", "generate_content", { tools, ...thinks({ thinking_budget: 9 }) }, true],
    ["openai", "gpt-5.4", "generate_content", { tools, ...thinks({ thinkingBudget: -1 }) }, false],
    ["openai", "gpt-5.6", "stream_generate_content", { tools }, true],
    [
      "openai",
      "gpt-5.6",
      "stream_generate_content",
      { tools, ...thinks({ thinkingBudget: 0 }) },
      false,
    ],
  ];
  for (const [host, model, operation, body, isNeeded] of cases) {
    const preset = findPreset(host)!;
    const provider = { chat: preset.chat, modelTraits: [], operations: new Set(preset.operations) };
    t.equal(
      needsResponses(provider, model, requestedReasoning(operation, { ...body })),
      isNeeded,
      `${model} at ${host} ${operation} ${JSON.stringify(body)}`,
    );
  }
});

const agent = { usesAgentTools: true, stored: false };
const continued = { usesAgentTools: false, stored: true };

t.test("what a host's Responses API lacks goes there in chat completions", async (t) => {
  const cases: readonly (readonly [string, string, typeof agent, boolean])[] = [
    ["openai", "gpt-5.5", agent, true],
    ["openai", "gpt-5.5", continued, true],
    ["azure", "my-deployment", agent, true],
    ["groq", "openai/gpt-oss-120b", agent, false],
    ["groq", "openai/gpt-oss-120b", continued, false],
    ["groq", "openai/gpt-oss-120b", { usesAgentTools: false, stored: false }, true],
    ["openrouter", "z-ai/glm-5", agent, true],
    ["openrouter", "z-ai/glm-5", continued, false],
    ["xai", "grok-4.6", agent, false],
    ["xai", "grok-4.6", continued, true],
    ["bedrock", "openai.gpt-oss-120b", agent, false],
    ["bedrock", "gpt-5.5", agent, true],
    ["bedrock", "o4-mini", agent, true],
  ];
  for (const [host, model, asked, hasResponses] of cases) {
    const { responses, operations } = findPreset(host)!;
    const provider = {
      responses,
      operations: new Set(operations),
      nativeRequests: "fitted",
    } as const;
    const name = `${model} at ${host} ${JSON.stringify(asked)}`;
    t.equal(offeredTo(provider, model, asked).has("responses"), hasResponses, name);
    const untouched = { ...provider, nativeRequests: "untouched" } as const;
    t.equal(offeredTo(untouched, model, asked), provider.operations, `${name}, untouched`);
    const alone = { ...provider, operations: new Set<Operation>(["responses"]) };
    t.equal(offeredTo(alone, model, asked), alone.operations, `${name}, without another dialect`);
  }
});
