import t from "tap";
import { googleToChat } from "../../../../proxy/dialects/choose-dialect.js";
import { keptInSignature } from "../../../../proxy/dialects/shared/kept-reasoning.js";
import type { JsonObject } from "../../../../proxy/dialects/shared/translation.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { context as sampleContext } from "../sample-answers.js";

const tools = [{ functionDeclarations: [{ name: "a.b" }] }];
const context = (includeThoughts: boolean) => ({
  ...sampleContext,
  request: {
    ...googleToChat.echoSource!({
      tools,
      generationConfig: { thinkingConfig: { includeThoughts } },
    }),
  },
});
const answered = (message: JsonObject, finish = "stop", more: JsonObject = {}): JsonObject => ({
  id: "chatcmpl-1",
  choices: [{ index: 0, message, finish_reason: finish }],
  ...more,
});
const called = (name: string, input: string, more: JsonObject = {}): JsonObject => ({
  id: "x",
  type: "function",
  function: { name, arguments: input },
  ...more,
});

t.test("an answer has its text, its thoughts, its calls and its usage", async (t) => {
  const usage = {
    prompt_tokens: 100,
    completion_tokens: 30,
    total_tokens: 130,
    prompt_tokens_details: { cached_tokens: 40 },
    completion_tokens_details: { reasoning_tokens: 20 },
  };
  const message = {
    content: "well",
    reasoning_content: "hm",
    tool_calls: [called("a_b_108bf50c", '{"id":12345678901234567890}'), called("g", "")],
  };
  const answer = googleToChat.answer(answered(message, "tool_calls", { usage }), context(true));
  t.match(
    answer,
    exactly({
      candidates: [
        {
          content: {
            role: "model",
            parts: [
              { text: "hm", thought: true },
              { text: "well" },
              { functionCall: { id: "x", name: "a.b" }, thoughtSignature: String },
              { functionCall: { id: "x", name: "g", args: {} } },
            ],
          },
          finishReason: "STOP",
          index: 0,
        },
      ],
      modelVersion: "smart",
      responseId: "chatcmpl-1",
    }),
  );
  t.strictSame(answer["usageMetadata"], {
    promptTokenCount: 100,
    candidatesTokenCount: 10,
    totalTokenCount: 130,
    cachedContentTokenCount: 40,
    thoughtsTokenCount: 20,
  });
  const hidden = googleToChat.answer(answered(message, "tool_calls"), context(false));
  const [candidate] = hidden["candidates"] as [{ content: { parts: JsonObject[] } }];
  t.match(
    candidate.content.parts,
    exactly([{ text: "well" }, {}, {}]),
    "thoughts are for who asks",
  );
  t.strictSame(keptInSignature(candidate.content.parts[1]!["thoughtSignature"] as string), {
    text: "hm",
    blocks: [],
  });
  t.equal(hidden["usageMetadata"], undefined);
});

t.test("why it ended", async (t) => {
  const cases: readonly (readonly [JsonObject, string, JsonObject])[] = [
    [{ content: "a" }, "stop", { finishReason: "STOP" }],
    [{ content: "a" }, "length", { finishReason: "MAX_TOKENS" }],
    [{ content: "a" }, "content_filter", { finishReason: "SAFETY" }],
    [{ content: null, refusal: "no" }, "stop", { finishReason: "SAFETY", finishMessage: "no" }],
    [{ content: "a" }, "something_new", { finishReason: "STOP" }],
    [{ content: "a", tool_calls: [called("f", '{"pa')] }, "length", { finishReason: "MAX_TOKENS" }],
    [
      { content: "a", tool_calls: [called("f", "[1]")] },
      "tool_calls",
      { finishReason: "MALFORMED_FUNCTION_CALL", finishMessage: /arguments of a call of f/ },
    ],
  ];
  for (const [message, finish, expected] of cases) {
    const answer = googleToChat.answer(answered(message, finish), context(true));
    const [candidate] = answer["candidates"] as [JsonObject];
    t.match(candidate, expected, JSON.stringify(message));
    t.match(candidate["content"], exactly({ parts: [{ text: message["content"] ?? "" }] }));
  }
});

t.test("a blocked prompt has no candidate, but why", async (t) => {
  const usage = { prompt_tokens: 9, completion_tokens: 0, total_tokens: 9 };
  const cases: readonly (readonly [JsonObject, JsonObject])[] = [
    [{ content: null }, { blockReason: "SAFETY" }],
    [
      { content: "", refusal: "no" },
      { blockReason: "SAFETY", blockReasonMessage: "no" },
    ],
  ];
  for (const [message, promptFeedback] of cases) {
    const expected = {
      promptFeedback,
      usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 0, totalTokenCount: 9 },
      modelVersion: "smart",
      responseId: "chatcmpl-1",
    };
    const whole = answered(message, "content_filter", { usage });
    t.strictSame(googleToChat.answer(whole, context(true)), expected);
    const events = googleToChat.events(context(true));
    const streamed = [...googleToChat.asEvents(whole), { event: null, data: "[DONE]" }]
      .flatMap(({ event, data }) => events.push(event, data))
      .concat(events.end());
    t.strictSame(
      streamed.map(({ data }) => JSON.parse(data) as JsonObject),
      [expected],
      "streamed",
    );
  }
});

t.test("a signature of Gemini's own, from a host that serves its models", async (t) => {
  const signed = called("f", "{}", { extra_content: { google: { thought_signature: "CvcB" } } });
  const answer = googleToChat.answer(
    answered({ content: null, reasoning_content: "hm", tool_calls: [signed] }, "tool_calls"),
    context(false),
  );
  t.match(
    answer["candidates"],
    exactly([
      { content: { parts: [{ functionCall: { id: "x", name: "f" }, thoughtSignature: "CvcB" }] } },
    ]),
  );
});

t.test("what isn't an answer", async (t) => {
  for (const [body, message] of [
    [{}, /not a chat completion/],
    [answered({ tool_calls: [{ id: "a", function: {} }] }), /calls a tool without a name/],
    [answered({ tool_calls: [{ custom: { name: "f" } }] }), /a tool that is not a function/],
    [answered({ content: "a" }, "error"), /ended its answer with an error/],
  ] as const)
    t.throws(() => googleToChat.answer(body, context(true)), { message });
});
