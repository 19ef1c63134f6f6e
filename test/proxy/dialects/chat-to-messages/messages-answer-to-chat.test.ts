import t from "tap";
import { chatToMessages } from "../../../../proxy/dialects/choose-dialect.js";
import {
  type JsonObject,
  UntranslatableAnswer,
} from "../../../../proxy/dialects/shared/translation.js";
import { readUsage } from "../../../../proxy/usage/read-usage.js";
import { choiceOf } from "../assemble-stream.js";
import { context, messagesAnswer, messagesAnswerAsChat } from "../sample-answers.js";

const answer = (body: object): JsonObject =>
  chatToMessages.answer(
    {
      id: "msg_1",
      type: "message",
      role: "assistant",
      content: [],
      stop_reason: "end_turn",
      usage: { input_tokens: 1, output_tokens: 1 },
      ...body,
    },
    context,
  );

t.test("a complete answer becomes a chat completion", async (t) => {
  t.strictSame(chatToMessages.answer(messagesAnswer, context), messagesAnswerAsChat);
});

t.test("every stop reason has a finish reason", async (t) => {
  const table = {
    end_turn: "stop",
    stop_sequence: "stop",
    max_tokens: "length",
    model_context_window_exceeded: "length",
    pause_turn: "length",
    tool_use: "tool_calls",
    refusal: "content_filter",
    new_reason: "stop",
  };
  for (const [reason, expected] of Object.entries(table))
    t.equal(choiceOf(answer({ stop_reason: reason })).finish_reason, expected, reason);
  t.equal(choiceOf(answer({ stop_reason: null })).finish_reason, "stop");
});

t.test("an answer without content, and one that was refused", async (t) => {
  t.strictSame(choiceOf(answer({})).message, { role: "assistant", content: null, refusal: null });
  const refused = choiceOf(
    answer({
      content: [{ type: "text", text: "Well" }],
      stop_reason: "refusal",
      stop_details: { type: "refusal", category: "cyber", explanation: "I can't help with that." },
    }),
  );
  t.strictSame(refused, {
    index: 0,
    message: { role: "assistant", content: "Well", refusal: "I can't help with that." },
    logprobs: null,
    finish_reason: "content_filter",
  });
});

t.test("a client sees the counts that it is charged", async (t) => {
  for (const usage of [
    {
      input_tokens: 100,
      output_tokens: 200,
      cache_read_input_tokens: 600,
      cache_creation_input_tokens: 300,
    },
    { input_tokens: 100, output_tokens: 200 },
    {
      input_tokens: 0,
      output_tokens: 0,
      cache_read_input_tokens: 5,
      cache_creation_input_tokens: null,
    },
  ])
    t.strictSame(readUsage(answer({ usage })["usage"]), readUsage(usage), JSON.stringify(usage));
  for (const usage of [null, {}, "none", { input_tokens: -1, output_tokens: -1 }])
    t.notOk("usage" in answer({ usage }), JSON.stringify(usage));
});

t.test("an invalid answer throws an error with a sentence for the client", async (t) => {
  const cases: readonly (readonly [object, string])[] = [
    [{ content: "text" }, "the provider's answer is not a message: it has no content"],
    [{ content: [null] }, "the provider's answer has a content block that is not an object"],
    [{ content: [{ type: "text" }] }, "the provider's answer has a content block without text"],
    [
      { content: [{ type: "tool_use", id: "1", name: "f", input: "x" }] },
      "the provider's answer calls a tool with an input that is not an object or is nested too deeply",
    ],
    [
      { content: [{ type: "mcp_tool_use" }] },
      "the provider's answer has a content block of type mcp_tool_use, which chat completions can't represent",
    ],
    [
      { content: [{}] },
      "the provider's answer has a content block without a type, which chat completions can't represent",
    ],
  ];
  for (const [body, message] of cases)
    t.throws(() => answer(body), new UntranslatableAnswer(message));
});
