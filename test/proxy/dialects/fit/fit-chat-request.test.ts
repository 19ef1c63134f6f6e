import t from "tap";
import {
  fitChatRequest,
  nineCharacterId,
  shortCallId,
} from "../../../../proxy/dialects/fit/fit-chat-request.js";
import { chatTraitsOf } from "../../../../proxy/dialects/fit/target-traits.js";
import { RequestCheck } from "../../../../proxy/dialects/shared/request-check.js";
import type { JsonObject } from "../../../../proxy/dialects/shared/translation.js";
import { findPreset } from "../../../../shared/config/presets.js";
import { exactly } from "../../../support/patterns/exactly.js";

interface Case {
  readonly name: string;
  readonly host?: string;
  readonly model?: string;
  readonly given: JsonObject;
  readonly sent: JsonObject;
  readonly dropped?: readonly string[];
}

const hello = { role: "user", content: "hi" };

function fitted(host: string, model: string, body: JsonObject): unknown {
  const check = new RequestCheck(false);
  const { chat } = findPreset(host)!;
  return check.result(
    fitChatRequest(
      body,
      {
        chat,
        traits: chatTraitsOf({ chat, modelTraits: [] }, model),
        model,
        provider: host,
      },
      check,
    ),
  );
}

const cases: readonly Case[] = [
  {
    name: "the limit has the host's name, and is no higher than the model's",
    model: "gpt-4o",
    given: { max_tokens: 32_000 },
    sent: { max_completion_tokens: 16_384 },
  },
  {
    name: "another host has the old name",
    host: "groq",
    model: "llama-3",
    given: { max_completion_tokens: 32_000 },
    sent: { max_tokens: 32_000 },
  },
  {
    name: "an effort that the model has not",
    model: "gpt-4o",
    given: { reasoning_effort: "high" },
    sent: {},
    dropped: ["reasoning_effort"],
  },
  {
    name: "a model that can't reason does without being told",
    model: "gpt-4o",
    given: { reasoning_effort: "none" },
    sent: {},
  },
  {
    name: "the nearest effort",
    model: "gpt-5",
    given: { reasoning_effort: "none" },
    sent: { reasoning_effort: "minimal" },
  },
  {
    name: "newer models don't reason beside tools in chat completions",
    model: "gpt-5.4",
    given: { reasoning_effort: "high", tools: [{}] },
    sent: { reasoning_effort: "none", tools: [{}] },
    dropped: ["reasoning_effort"],
  },
  {
    name: "and those that reason unasked are told not to",
    model: "gpt-5.6",
    given: { tools: [{}] },
    sent: { reasoning_effort: "none", tools: [{}] },
  },
  {
    name: "a model that thinks whatever it is told isn't forced to call",
    host: "moonshot",
    model: "kimi-k2.6",
    given: { tools: [{}], tool_choice: "required" },
    sent: { tools: [{}], tool_choice: "auto" },
    dropped: ["tool_choice"],
  },
  {
    name: "a router translates itself",
    host: "openrouter",
    model: "openai/gpt-5.4",
    given: { reasoning_effort: "high", tools: [{}] },
    sent: { reasoning_effort: "high", tools: [{}] },
  },
  {
    name: "a reasoning model takes no sampling, but its defaults mean nothing",
    model: "o3",
    given: { temperature: 0.2, top_p: 1 },
    sent: {},
    dropped: ["temperature"],
  },
  {
    name: "a newer one takes it while it doesn't reason",
    model: "gpt-5.2",
    given: { temperature: 0.2 },
    sent: { temperature: 0.2 },
  },
  {
    name: "hints that the host doesn't know",
    host: "gemini",
    model: "gemini-3-pro",
    given: { user: "u", prompt_cache_key: "k", verbosity: "low", parallel_tool_calls: false },
    sent: {},
    dropped: ["verbosity", "parallel_tool_calls"],
  },
  {
    name: "hints that it knows",
    model: "gpt-5",
    given: { user: "u", prompt_cache_key: "k", verbosity: "low", service_tier: "flex" },
    sent: { user: "u", prompt_cache_key: "k", verbosity: "low", service_tier: "flex" },
  },
  {
    name: "no stream options",
    host: "mistral",
    model: "mistral-small",
    given: { stream: true, stream_options: { include_usage: true } },
    sent: { stream: true },
  },
  {
    name: "a schema that the host doesn't enforce",
    host: "deepseek",
    model: "deepseek-chat",
    given: {
      response_format: {
        type: "json_schema",
        json_schema: { name: "a", schema: { type: "null" } },
      },
    },
    sent: {
      response_format: { type: "json_object" },
      messages: [
        {
          role: "system",
          content:
            'Answer with one JSON object that follows this JSON schema, and nothing else:\n{"type":"null"}',
        },
        hello,
      ],
    },
    dropped: ["response_format.json_schema"],
  },
];

t.test("fields, by host and model", async (t) => {
  for (const { name, host = "openai", model = "m", given, sent, dropped = [] } of cases)
    t.same(
      fitted(host, model, { messages: [hello], ...given }),
      { ok: true, body: { messages: [hello], ...sent, model }, dropped },
      name,
    );
});

const call = { id: "call_1", type: "function", function: { name: "f", arguments: "{}" } };
const called = { role: "assistant", content: null, tool_calls: [call] };
const result = { role: "tool", tool_call_id: "call_1", content: "4" };
const thought = { ...called, reasoning_content: "hm" };

t.test("earlier reasoning goes where it is wanted", async (t) => {
  const said = { role: "assistant", content: "a", reasoning_content: "b" };
  const messages = [hello, said, hello, thought, result];
  const silent = [hello, { role: "assistant", content: "a" }, hello];
  const sentTo = (host: string, given: readonly object[]): unknown =>
    (fitted(host, "m", { messages: given }) as { body: { messages: unknown } }).body.messages;
  for (const host of ["openai", "groq", "gemini"])
    t.same(sentTo(host, messages), [...silent, called, result], `${host} refuses it`);
  for (const host of ["deepseek", "moonshot", "vllm"])
    t.same(sentTo(host, messages), [...silent, thought, result], `${host} takes it with calls`);
  t.same(
    sentTo("deepseek", [hello, called, result]),
    [hello, { ...called, reasoning_content: " " }, result],
    "who requires it gets something",
  );
  t.same(
    sentTo("moonshot", [hello, { ...called, reasoning_content: "" }, result]),
    [hello, { ...called, reasoning_content: " " }, result],
    "also from a client that doesn't know of thinking, and has put it together to nothing",
  );
  t.same(
    sentTo("vllm", [hello, { ...called, thinking_blocks: [{ type: "thinking" }] }, result]),
    [hello, called, result],
    "Anthropic's blocks are for Anthropic",
  );
});

t.test("a host's ids of calls match those of the results", async (t) => {
  const { body } = fitted("mistral", "m", { messages: [hello, called, result] }) as {
    body: { messages: readonly JsonObject[] };
  };
  const [, sent, answered] = body.messages;
  const { id } = (sent!["tool_calls"] as readonly JsonObject[])[0]!;
  t.match(id, /^[A-Za-z0-9]{9}$/);
  t.equal(answered!["tool_call_id"], id);
});

t.test(
  "arguments that a model has written wrongly go on as an object, but to OpenAI",
  async (t) => {
    const sentTo = (host: string, text: string): unknown => {
      const calls = [{ ...call, function: { name: "f", arguments: text } }];
      const body = { messages: [hello, { ...called, tool_calls: calls }] };
      return (fitted(host, "m", body) as { body: JsonObject }).body["messages"];
    };
    for (const [text, sent] of [
      ['{"a":', '{"unreadable_arguments":"{\\"a\\":"}'],
      ["[1]", '{"unreadable_arguments":"[1]"}'],
      ["", "{}"],
      ['{"a": 12345678901234567890}', '{"a": 12345678901234567890}'],
    ] as const) {
      for (const host of ["vllm", "groq"])
        t.match(
          sentTo(host, text),
          exactly([hello, { tool_calls: [{ function: { arguments: sent } }] }]),
        );
      t.match(
        sentTo("openai", text),
        exactly([hello, { tool_calls: [{ function: { arguments: text } }] }]),
      );
    }
  },
);

t.test("signatures are for Gemini alone, at Vertex AI, too", async (t) => {
  const extra_content = { google: { thought_signature: "s" } };
  const signed = { ...called, tool_calls: [{ ...call, extra_content }] };
  for (const host of ["gemini", "vertex"])
    t.match(
      fitted(host, "m", { messages: [hello, signed] }),
      exactly({
        body: { messages: [hello, signed] },
      }),
    );
  t.same(
    (fitted("openai", "m", { messages: [hello, signed] }) as { body: JsonObject }).body["messages"],
    [hello, called],
  );
});

t.test("OpenRouter has signatures in a message's details, one for its first call", async (t) => {
  const detail = { type: "reasoning.encrypted", format: "google-gemini-v1", id: call.id };
  const dummy = { ...detail, data: "skip_thought_signature_validator", index: 0 };
  const own = { ...called, reasoning_details: [{ ...detail, data: "s", index: 1 }] };
  const text = { type: "reasoning.text", text: "hm", format: "anthropic-claude-v1", index: 0 };
  const ofClaude = { ...called, reasoning_details: [text] };
  const extra_content = { google: { thought_signature: "s" } };
  const ofGoogle = { ...called, tool_calls: [{ ...call, extra_content }] };
  const sentOf = (model: string, message: JsonObject): unknown =>
    (fitted("openrouter", model, { messages: [message] }) as { body: { messages: unknown[] } }).body
      .messages[0];
  const model = "google/gemini-3-pro-preview";
  for (const message of [called, ofClaude, ofGoogle])
    t.same(sentOf(model, message), { ...called, reasoning_details: [dummy] });
  t.same(sentOf(model, own), own);
  t.same(sentOf(model, hello), hello);
  t.same(sentOf("anthropic/claude-opus-4.8", called), called);
});

t.test(
  "an id of nine letters and digits stays; another becomes one, always the same",
  async (t) => {
    t.equal(nineCharacterId("abcDEF123"), "abcDEF123");
    const ids = Array.from({ length: 20_000 }, (_, i) => nineCharacterId(`toolu_01${i}`));
    t.equal(new Set(ids).size, ids.length, "and differs from the others");
    t.same(
      ids.filter((id) => !/^[A-Za-z0-9]{9}$/.test(id)),
      [],
    );
    t.equal(nineCharacterId("toolu_015"), ids[5]);
  },
);

t.test("a long id becomes one of 40 characters", async (t) => {
  t.equal(shortCallId("toolu_01"), "toolu_01");
  const long = "functions.read_file:".repeat(5);
  t.equal(shortCallId(`${long}1`), shortCallId(`${long}1`));
  t.not(shortCallId(`${long}1`), shortCallId(`${long}2`));
  t.equal(shortCallId(long).length, 40);
});
