import t from "tap";
import { fitNativeChat } from "../../../../proxy/dialects/fit/fit-native-chat.js";
import { chatTraitsOf } from "../../../../proxy/dialects/fit/target-traits.js";
import { RequestCheck } from "../../../../proxy/dialects/shared/request-check.js";
import type { JsonObject } from "../../../../proxy/dialects/shared/translation.js";
import { findPreset } from "../../../../shared/config/presets.js";

interface Case {
  readonly name: string;
  readonly host: string;
  readonly model?: string;
  readonly given: JsonObject;
  readonly sent: JsonObject;
  readonly dropped?: readonly string[];
}

const hello = { role: "user", content: "hi" };

function fitted(host: string, model: string, body: JsonObject): unknown {
  const check = new RequestCheck(false);
  const { chat } = findPreset(host)!;
  const traits = chatTraitsOf({ chat, modelTraits: [] }, model);
  const out = fitNativeChat(body, { chat, traits, model, provider: host }, check);
  return out === null ? null : check.result(out);
}

const call = (id: string, more: JsonObject = {}): JsonObject => ({
  id,
  type: "function",
  function: { name: "f", arguments: "{}" },
  ...more,
});
const calling = (more: JsonObject = {}, ...calls: readonly JsonObject[]): JsonObject => ({
  role: "assistant",
  content: null,
  ...more,
  tool_calls: calls.length === 0 ? [call("a")] : calls,
});
const brokenCall = call("a", { function: { name: "f", arguments: '{"a' } });
const mendedCall = call("a", {
  function: { name: "f", arguments: '{"unreadable_arguments":"{\\"a"}' },
});
const result = { role: "tool", tool_call_id: "a", content: "r" };
const dummy = {
  extra_content: { google: { thought_signature: "skip_thought_signature_validator" } },
};
const own = { extra_content: { google: { thought_signature: "CvcB" } } };

const cases: readonly Case[] = [
  {
    name: "a role is one of the host's, whatever objects have by themselves",
    host: "mistral",
    given: { messages: [{ role: "constructor", content: "x", cache_control: {} }] },
    sent: { messages: [{ role: "constructor", content: "x" }] },
    dropped: ["messages[].cache_control"],
  },
  {
    name: "Mistral reports the usage of a stream unasked",
    host: "mistral",
    given: { messages: [hello], stream: true, stream_options: { include_usage: true } },
    sent: { messages: [hello], stream: true },
  },
  {
    name: "Mistral takes neither names nor fields of others, and knows the old name of the limit",
    host: "mistral",
    given: {
      messages: [
        { ...hello, name: "ann" },
        { role: "assistant", content: "a", reasoning_content: "hm", audio: null, prefix: true },
        { role: "user", content: [{ type: "text", text: "b", role: "user" }] },
      ],
      max_completion_tokens: 9,
      user: "u",
    },
    sent: {
      messages: [
        hello,
        { role: "assistant", content: "a", prefix: true },
        { role: "user", content: "b" },
      ],
      max_tokens: 9,
    },
    dropped: [
      "user",
      "messages[].name",
      "messages[].reasoning_content",
      "messages[].content[].role",
    ],
  },
  ...["mistral", "deepseek", "moonshot"].map((host) => ({
    name: `${host} has no developers`,
    host,
    given: { messages: [{ role: "developer", content: "s" }, hello] },
    sent: { messages: [{ role: "system", content: "s" }, hello] },
  })),
  {
    name: "what a model has written as arguments is an object",
    host: "deepseek",
    given: { messages: [hello, calling({ reasoning_content: "hm" }, brokenCall), result] },
    sent: { messages: [hello, calling({ reasoning_content: "hm" }, mendedCall), result] },
  },
  {
    name: "Groq and Cerebras call it reasoning",
    host: "groq",
    given: {
      messages: [hello, calling({ reasoning_content: "hm", reasoning: "hm" }), result],
      max_completion_tokens: 9,
    },
    sent: { messages: [hello, calling({ reasoning: "hm" }), result], max_completion_tokens: 9 },
    dropped: ["messages[].reasoning_content"],
  },
  {
    name: "Gemini refuses what OpenAI's agents SDK adds",
    host: "gemini",
    given: { messages: [hello], store: false, metadata: { a: "b" }, seed: 1 },
    sent: { messages: [hello], seed: 1 },
    dropped: ["store", "metadata"],
  },
  {
    name: "Mistral takes metadata, but stores nothing",
    host: "mistral",
    given: { messages: [hello], store: true, metadata: { a: "b" } },
    sent: { messages: [hello], metadata: { a: "b" } },
    dropped: ["store"],
  },
  {
    name: "Cerebras takes texts, and not lists of them",
    host: "cerebras",
    given: {
      messages: [
        { role: "system", content: "s" },
        {
          role: "user",
          content: [
            { type: "text", text: "a" },
            { type: "text", text: "b" },
          ],
        },
        { role: "system", content: "later" },
      ],
    },
    sent: {
      messages: [
        { role: "system", content: "s" },
        { role: "user", content: "a\nb" },
        { role: "system", content: "later" },
      ],
    },
  },
  {
    name: "DeepSeek wants the reasoning of calls, and schemas in words",
    host: "deepseek",
    model: "deepseek-reasoner",
    given: {
      messages: [{ ...hello, name: "ann" }, calling({ odd: 1 }), result],
      response_format: {
        type: "json_schema",
        json_schema: { name: "n", schema: { type: "object" } },
      },
      tool_choice: "required",
    },
    sent: {
      messages: [
        {
          role: "system",
          content:
            'Answer with one JSON object that follows this JSON schema, and nothing else:\n{"type":"object"}',
        },
        { ...hello, name: "ann" },
        calling({ odd: 1, reasoning_content: " " }),
        result,
      ],
      response_format: { type: "json_object" },
      tool_choice: "auto",
    },
    dropped: ["tool_choice", "response_format.json_schema"],
  },
  {
    name: "Gemini wants a signature with the first call of each message",
    host: "gemini",
    model: "gemini-3-pro-preview",
    given: {
      messages: [
        hello,
        calling({ extra_content: {} }, call("a"), call("b")),
        calling({}, call("c", own)),
      ],
    },
    sent: {
      messages: [hello, calling({}, call("a", dummy), call("b")), calling({}, call("c", own))],
    },
    dropped: ["messages[].extra_content"],
  },
  {
    name: "Kimi has one temperature",
    host: "moonshot",
    model: "kimi-k2.6",
    given: { messages: [hello], temperature: 0.1, top_p: 1 },
    sent: { messages: [hello] },
    dropped: ["temperature"],
  },
  {
    name: "but not of its older models",
    host: "gemini",
    model: "gemini-2.5-flash",
    given: { messages: [hello, calling()] },
    sent: { messages: [hello, calling()] },
  },
];

for (const { name, host, model = "m", given, sent, dropped = [] } of cases)
  t.test(name, async (t) => {
    t.strictSame(fitted(host, model, given), { ok: true, body: sent, dropped });
    const again = fitted(host, model, sent) as { readonly body: JsonObject };
    t.strictSame(again.body, sent, "what fits stays as it is");
    t.equal(again.body["messages"], sent["messages"]);
  });

t.test("an unknown host, and what isn't a conversation, are left alone", async (t) => {
  for (const host of ["openai", "azure", "openrouter", "together"])
    t.equal(fitted(host, "m", { messages: [{ ...hello, odd: 1 }] }), null, host);
  for (const messages of [7, [7], [{ content: "a" }], [{ role: "user", content: 7 }]])
    t.equal(fitted("mistral", "m", { messages }), null);
  t.equal(fitted("mistral", "m", { messages: [calling({}, { function: {} })] }), null);
});
