import t from "tap";
import { fitSteps, fittedBody } from "../../../../proxy/dialects/fit/fit-native.js";
import type { JsonObject } from "../../../../proxy/dialects/shared/translation.js";
import { openaiChat } from "../../../../shared/config/host-traits.js";
import { findPreset } from "../../../../shared/config/presets.js";
import type { Operation } from "../../../../shared/operation.js";
import { inAscii } from "../../../support/in-ascii.js";
import { providerConfig } from "../../../support/provider-config.js";

const providers = {
  anthropic: providerConfig({ name: "anthropic", type: "anthropic" }),
  openai: providerConfig({ name: "openai", chat: openaiChat }),
  deepseek: providerConfig({ name: "deepseek", chat: findPreset("deepseek")!.chat }),
  gemini: providerConfig({ name: "gemini", type: "gemini" }),
};

type Sent = Pick<Case, "dropped"> & { readonly body: JsonObject };

function sent({ operation, provider, model, given: body }: Case, isNamed: boolean): Sent {
  const target = { provider: providers[provider], model, isNamed };
  const json = JSON.stringify(body);
  const fitted = fittedJson(json, operation, target);
  t.same(fittedJson(inAscii(json), operation, target), fitted, "escapes make no difference");
  return fitted ?? { body, dropped: [] };
}

function fittedJson(
  json: string,
  operation: Operation,
  target: Parameters<typeof fitSteps>[1],
): Sent | null {
  const bytes = Buffer.from(json);
  const fitted = fittedBody(bytes, fitSteps(operation, target, bytes));
  if (fitted === null) return null;
  return { body: JSON.parse(fitted.bytes.toString()) as JsonObject, dropped: fitted.dropped };
}

const user = { role: "user", content: "grüße" };
const call = { type: "tool_use", id: "a", name: "f", input: {} };
const thinking = { type: "thinking", thinking: "hm", signature: "EqQB" };
const result = { type: "tool_result", tool_use_id: "a", content: "r" };
const text = (text: string): JsonObject => ({ type: "text", text });

interface Case {
  readonly name: string;
  readonly operation: Operation;
  readonly provider: keyof typeof providers;
  readonly model: string;
  readonly given: JsonObject;
  readonly sent: JsonObject;
  readonly dropped?: readonly string[];
  /** What a target that the client named gets, if that isn't its own bytes. */
  readonly named?: JsonObject;
}

const messages = { operation: "messages", provider: "anthropic" } as const;
const responses = { operation: "responses", provider: "openai" } as const;
const chat = { operation: "chat_completions", provider: "openai" } as const;
const google = { operation: "generate_content", provider: "gemini" } as const;

/** As Codex writes it for gpt-5.5. */
const codexRequest: JsonObject = {
  include: ["reasoning.encrypted_content"],
  reasoning: { effort: "high", summary: "auto" },
  text: { verbosity: "low" },
  input: [
    user,
    { type: "reasoning", id: "rs_1", summary: [], encrypted_content: "gAAA" },
    { type: "function_call", id: "fc_1", call_id: "a", name: "f", arguments: "{}" },
    { type: "function_call_output", call_id: "a", output: "r" },
  ],
};

const { include: _, ...withoutInclude } = codexRequest;

const cases: readonly Case[] = [
  {
    ...messages,
    name: "what Claude Code writes for Opus 4.8, at Sonnet 4.5",
    model: "claude-sonnet-4-5",
    given: {
      max_tokens: 100_000,
      thinking: { type: "adaptive", display: "summarized" },
      output_config: { effort: "xhigh" },
      context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
      messages: [
        user,
        { role: "assistant", content: [thinking, call] },
        { role: "user", content: [result] },
        { role: "system", content: "The date has changed." },
      ],
    },
    sent: {
      max_tokens: 64_000,
      thinking: { type: "enabled", budget_tokens: 32_000, display: "summarized" },
      context_management: { edits: [{ type: "clear_thinking_20251015", keep: "all" }] },
      messages: [
        user,
        { role: "assistant", content: [thinking, call] },
        { role: "user", content: [result, text("The date has changed.")] },
      ],
    },
  },
  {
    ...messages,
    name: "what was written for Sonnet 4.5, at Opus 4.8",
    model: "claude-opus-4-8",
    given: {
      max_tokens: 40_000,
      thinking: { type: "enabled", budget_tokens: 10_000 },
      messages: [user, { role: "assistant", content: "Sure, " }],
    },
    sent: {
      max_tokens: 40_000,
      thinking: { type: "adaptive" },
      messages: [
        user,
        { role: "assistant", content: "Sure, " },
        { role: "user", content: "Continue." },
      ],
    },
    dropped: ["prefill"],
  },
  {
    ...messages,
    name: "sampling at Opus 4.8",
    model: "claude-opus-4-8",
    given: { max_tokens: 9, temperature: 0.2, top_k: 5, messages: [user] },
    sent: { max_tokens: 9, messages: [user] },
    dropped: ["temperature", "top_k"],
  },
  {
    ...messages,
    name: "a budget within the smaller limit, and what clears thinking goes with it",
    model: "claude-3-5-haiku-latest",
    given: {
      max_tokens: 20_000,
      system: "s",
      thinking: { type: "enabled", budget_tokens: 10_000 },
      context_management: {
        edits: [{ type: "clear_thinking_20251015" }, { type: "clear_tool_uses_20250919" }],
      },
      output_config: { format: { type: "json_schema", schema: {} } },
      messages: [user],
    },
    sent: {
      max_tokens: 8192,
      system: [
        text("s"),
        text("Answer with one JSON object that follows this JSON schema, and nothing else:\n{}"),
      ],
      context_management: { edits: [{ type: "clear_tool_uses_20250919" }] },
      messages: [user],
    },
    dropped: ["thinking", "output_config.format"],
  },
  {
    ...messages,
    name: "a count of tokens",
    operation: "count_tokens",
    model: "claude-sonnet-4-5",
    given: { thinking: { type: "adaptive" }, messages: [user] },
    sent: { thinking: { type: "enabled", budget_tokens: 32_000 }, messages: [user] },
  },
  {
    ...messages,
    name: "values of the wrong type stay for the provider",
    model: "claude-sonnet-4-5",
    given: {
      max_tokens: "many",
      thinking: 7,
      system: 7,
      tools: 7,
      output_config: 7,
      messages: [7],
    },
    sent: { max_tokens: "many", thinking: 7, system: 7, tools: 7, output_config: 7, messages: [7] },
  },
  {
    ...responses,
    name: "what Codex writes for gpt-5.5, at gpt-4.1",
    model: "gpt-4.1",
    given: codexRequest,
    sent: {
      text: {},
      input: [
        user,
        { type: "function_call", call_id: "a", name: "f", arguments: "{}" },
        { type: "function_call_output", call_id: "a", output: "r" },
      ],
    },
    dropped: [
      "reasoning.effort",
      "verbosity",
      "include[] (reasoning.encrypted_content)",
      "input[] (reasoning)",
    ],
    named: withoutInclude,
  },
  {
    ...responses,
    name: "what was written for gpt-4.1, at gpt-5.5",
    model: "gpt-5.5",
    given: { temperature: 0.2, max_output_tokens: 200_000, input: "x" },
    sent: { max_output_tokens: 128_000, input: "x" },
    dropped: ["temperature"],
  },
  {
    ...responses,
    name: "an effort that the model doesn't have",
    model: "gpt-5",
    given: { reasoning: { effort: "xhigh", summary: "auto" }, input: "x" },
    sent: { reasoning: { effort: "high", summary: "auto" }, input: "x" },
  },
  {
    ...chat,
    name: "a conversation of DeepSeek at OpenAI",
    model: "gpt-4.1",
    given: {
      messages: [
        user,
        { role: "assistant", content: "a", reasoning_content: "hm", reasoning_details: [] },
      ],
      verbosity: "low",
    },
    sent: { messages: [user, { role: "assistant", content: "a" }] },
    dropped: ["verbosity"],
  },
  {
    ...chat,
    name: "a temperature at a model that reasons without being asked",
    model: "gpt-5.5",
    given: { messages: [user], temperature: 0.2 },
    sent: { messages: [user] },
    dropped: ["temperature"],
  },
  {
    ...google,
    name: "a level at Gemini 2.5",
    model: "gemini-2.5-pro",
    given: {
      contents: [],
      generationConfig: { thinkingConfig: { thinkingLevel: "LOW", includeThoughts: true } },
    },
    sent: {
      contents: [],
      generationConfig: { thinkingConfig: { includeThoughts: true, thinkingBudget: 4096 } },
    },
  },
  {
    ...google,
    name: "no thinking at a model that must think",
    model: "gemini-2.5-pro",
    given: { contents: [], generationConfig: { thinkingConfig: { thinkingBudget: 0 } } },
    sent: { contents: [], generationConfig: { thinkingConfig: { thinkingBudget: 128 } } },
  },
  {
    ...google,
    name: "thinking at Gemini 2.0",
    model: "gemini-2.0-flash",
    given: {
      contents: [],
      generationConfig: { maxOutputTokens: 65_536, thinkingConfig: { thinkingBudget: -1 } },
    },
    sent: { contents: [], generationConfig: { maxOutputTokens: 8192 } },
    dropped: ["generationConfig.thinkingConfig"],
  },
];

t.test(
  "an unnamed model gets what it takes, a named one nearly always the client's own bytes",
  async (t) => {
    for (const one of cases) {
      t.same(sent(one, false), { body: one.sent, dropped: one.dropped ?? [] }, one.name);
      t.same(sent(one, true), { body: one.named ?? one.given, dropped: [] }, "named");
    }
  },
);
