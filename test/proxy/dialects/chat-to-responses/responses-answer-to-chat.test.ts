import t from "tap";
import { responsesAnswerToChat } from "../../../../proxy/dialects/chat-to-responses/responses-answer-to-chat.js";
import type { JsonObject } from "../../../../proxy/dialects/shared/translation.js";
import { choiceOf } from "../assemble-stream.js";
import { context } from "../sample-answers.js";
import { response, responseAsChat } from "./sample-responses.js";

t.test("a response becomes a chat completion", async (t) => {
  t.same(responsesAnswerToChat(response, context), responseAsChat);
});

function chatOf(more: JsonObject): ReturnType<typeof choiceOf> {
  return choiceOf(responsesAnswerToChat({ ...response, ...more }, context));
}

t.test("why it ended, and parts of every kind", async (t) => {
  const say = (...content: object[]): JsonObject => ({
    output: [{ type: "message", content }, { type: "web_search_call" }],
  });
  const cases: readonly (readonly [JsonObject, string, JsonObject])[] = [
    [
      say({ type: "output_text", text: "a" }, { type: "output_text", text: "b" }),
      "stop",
      { content: "ab" },
    ],
    [say({ type: "refusal", refusal: "no" }), "stop", { content: null, refusal: "no" }],
    [{ status: "incomplete", output: [] }, "length", { content: null }],
    [
      { status: "incomplete", incomplete_details: { reason: "content_filter" }, output: [] },
      "content_filter",
      { content: null },
    ],
    [
      { output: [{ type: "custom_tool_call", call_id: "c", name: "patch", input: "*** x" }] },
      "tool_calls",
      { tool_calls: [{ id: "c", type: "custom", custom: { name: "patch", input: "*** x" } }] },
    ],
    [
      { output: [{ type: "reasoning", content: [{ type: "reasoning_text", text: "hm" }] }] },
      "stop",
      { reasoning_content: "hm", thinking_blocks: undefined },
    ],
  ];
  for (const [more, reason, message] of cases) {
    const choice = chatOf(more);
    t.equal(choice.finish_reason, reason, JSON.stringify(more));
    t.match(choice.message, message, JSON.stringify(more));
  }
});

t.test("log probabilities are those of the choice", async (t) => {
  const logprobs = [{ token: "a", logprob: -0.1, bytes: [97], top_logprobs: [] }];
  const output = [{ type: "message", content: [{ type: "output_text", text: "a", logprobs }] }];
  t.same(chatOf({ output }), {
    ...chatOf({ output }),
    logprobs: { content: logprobs, refusal: null },
  });
});

t.test("what is no answer is said", async (t) => {
  const cases: readonly (readonly [JsonObject, string, string])[] = [
    [{ output: null }, "UntranslatableAnswer", "it has no output"],
    [{ output: [1] }, "UntranslatableAnswer", "not an object"],
    [{ output: [{ type: "function_call" }] }, "UntranslatableAnswer", "without call_id"],
    [{ status: "failed", error: { message: "overloaded" } }, "FailedAnswer", "error: overloaded"],
    [{ status: "cancelled", error: null }, "FailedAnswer", "with an error"],
  ];
  for (const [more, name, message] of cases)
    t.throws(() => chatOf(more), { name, message: new RegExp(message) });
});
