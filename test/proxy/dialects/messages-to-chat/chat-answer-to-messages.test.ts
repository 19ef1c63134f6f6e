import t from "tap";
import { messagesToChat } from "../../../../proxy/dialects/choose-dialect.js";
import type { JsonObject } from "../../../../proxy/dialects/shared/translation.js";
import { readUsage } from "../../../../proxy/usage/read-usage.js";
import { chatAnswer, chatAnswerAsMessages, context } from "../sample-answers.js";

const answer = (body: object): JsonObject =>
  messagesToChat.answer({ id: "chatcmpl-1", ...body }, context);
const says = (message: object, finish: unknown = "stop"): JsonObject =>
  answer({
    choices: [{ index: 0, message: { role: "assistant", ...message }, finish_reason: finish }],
  });

t.test("a complete answer becomes a message", async (t) => {
  t.strictSame(messagesToChat.answer(chatAnswer, context), chatAnswerAsMessages);
});

t.test(
  "every finish reason has a stop reason; calls and refusals are recognised without it",
  async (t) => {
    const table = {
      stop: "end_turn",
      length: "max_tokens",
      model_length: "max_tokens",
      tool_calls: "tool_use",
      function_call: "tool_use",
      content_filter: "refusal",
      new_reason: "end_turn",
    };
    for (const [reason, expected] of Object.entries(table))
      t.equal(says({ content: "a" }, reason)["stop_reason"], expected, reason);
    t.equal(says({ content: "a" }, null)["stop_reason"], "end_turn");
    t.equal(
      says({ content: null, tool_calls: [{ id: "1", function: { name: "f", arguments: "{}" } }] })[
        "stop_reason"
      ],
      "tool_use",
    );
    t.match(says({ content: null, refusal: "I can't." }), {
      content: { length: 0 },
      stop_reason: "refusal",
      stop_details: { type: "refusal", category: null, explanation: "I can't." },
    });
  },
);

t.test("thinking comes back signed where the provider signed it", async (t) => {
  const thinking = (signature: string): JsonObject => ({
    type: "thinking",
    thinking: "a",
    signature,
  });
  const redacted = { type: "redacted_thinking", data: "d" };
  const table: readonly (readonly [readonly JsonObject[], readonly JsonObject[]])[] = [
    [
      [{ ...thinking("s"), index: 0 }, redacted],
      [thinking("s"), redacted],
    ],
    [[thinking("")], [thinking("unsigned")]],
    [[], [thinking("unsigned")]],
  ];
  for (const [blocks, expected] of table)
    t.strictSame(says({ reasoning_content: "a", thinking_blocks: blocks })["content"], expected);
});

t.test("the differences between providers give the same answer", async (t) => {
  const call = { type: "tool_use", name: "f", input: {} };
  t.strictSame(
    says({
      content: [
        { type: "text", text: "a" },
        { type: "text", text: "b" },
      ],
    })["content"],
    [
      { type: "text", text: "a" },
      { type: "text", text: "b" },
    ],
    "content in parts",
  );
  t.strictSame(
    says({ content: "", reasoning: "hm" })["content"],
    [{ type: "thinking", thinking: "hm", signature: "unsigned" }],
    "thoughts by another name",
  );
  t.strictSame(
    says({
      content: [
        { type: "thinking", thinking: [{ type: "text", text: "hm" }] },
        { type: "text", text: "a" },
      ],
    })["content"],
    [
      { type: "thinking", thinking: "hm", signature: "unsigned" },
      { type: "text", text: "a" },
    ],
    "thoughts as a part",
  );
  t.strictSame(
    says({ tool_calls: [{ id: "1", function: { name: "f", arguments: {} } }] })["content"],
    [{ ...call, id: "1" }],
    "arguments as an object",
  );
  t.strictSame(
    says({
      tool_calls: [
        { function: { name: "f", arguments: "" } },
        { id: "", function: { name: "f", arguments: " " } },
      ],
    })["content"],
    [
      { ...call, id: "toolu_req-7_0" },
      { ...call, id: "toolu_req-7_1" },
    ],
    "calls without ids and arguments",
  );
  t.strictSame(
    says({ tool_calls: [{ id: "1", function: { name: "f", arguments: '{"a":' } }] }, "length")[
      "content"
    ],
    [{ ...call, id: "1" }],
    "a call that the limit cut",
  );
  const extra_content = { google: { thought_signature: "a+/==" } };
  t.strictSame(
    says({
      tool_calls: [
        { id: "1", extra_content, function: { name: "f", arguments: "" } },
        { extra_content, function: { name: "f", arguments: "" } },
        {
          id: "",
          extra_content: { google: { thought_signature: "other" } },
          function: { name: "f", arguments: "" },
        },
        { id: "2", extra_content: {}, function: { name: "f" } },
      ],
    })["content"],
    [
      { ...call, id: "1__signed__YSsvPT0" },
      { ...call, id: "call_a__signed__YSsvPT0" },
      { ...call, id: "call_other__signed__b3RoZXI" },
      { ...call, id: "2" },
    ],
    "calls that Gemini has signed, each with an id of its own",
  );
  t.equal(answer({ id: undefined, choices: [{ message: {} }] })["id"], "msg_req-7");
});

t.test("a client sees the counts that it is charged, and always gets usage", async (t) => {
  for (const usage of [
    {
      prompt_tokens: 1000,
      completion_tokens: 200,
      total_tokens: 1200,
      prompt_tokens_details: { cached_tokens: 600, cache_write_tokens: 300 },
    },
    { prompt_tokens: 10, completion_tokens: 5 },
    { prompt_tokens: 1000, completion_tokens: 50, total_tokens: 1200 },
  ]) {
    const { note: _note, ...charged } = readUsage(usage) as { note: unknown };
    t.match(
      readUsage(answer({ choices: [{ message: {} }], usage })["usage"]),
      charged,
      JSON.stringify(usage),
    );
  }
  for (const usage of [undefined, null, { prompt_tokens: -1 }]) {
    t.strictSame(
      answer({ choices: [{ message: {} }], usage })["usage"],
      {
        input_tokens: 0,
        output_tokens: 0,
        cache_read_input_tokens: 0,
        cache_creation_input_tokens: 0,
      },
      JSON.stringify(usage),
    );
  }
});

t.test("an invalid answer throws an error with a sentence for the client", async (t) => {
  const called = (call: unknown): object => ({
    choices: [{ message: { tool_calls: [call] }, finish_reason: "tool_calls" }],
  });
  const cases: readonly (readonly [object, string])[] = [
    [{}, "the provider's answer is not a chat completion: it has no message"],
    [{ choices: [] }, "the provider's answer is not a chat completion: it has no message"],
    [
      { choices: [{ message: "a" }] },
      "the provider's answer is not a chat completion: it has no message",
    ],
    [{ choices: [{ message: { content: 7 } }] }, "the answer's content is not a string"],
    [{ choices: [{ message: { tool_calls: {} } }] }, "the answer's tool_calls are not an array"],
    [
      { choices: [{ message: { content: "a" }, finish_reason: "error" }] },
      "the provider ended its answer with an error",
    ],
    [
      called({ id: "1", custom: { name: "f", input: "" } }),
      "the provider's answer calls a tool that is not a function",
    ],
    [
      called({ id: "1", function: { name: "f", arguments: "{" } }),
      "the provider's answer calls a tool with arguments that are not a JSON object",
    ],
    [
      called({ id: "1", function: { name: "f", arguments: "[]" } }),
      "the provider's answer calls a tool with arguments that are not a JSON object",
    ],
    [
      called({ id: "1", function: { arguments: "{}" } }),
      "the provider's answer calls a tool without a name",
    ],
  ];
  for (const [body, message] of cases) t.throws(() => answer(body), { message });
});
