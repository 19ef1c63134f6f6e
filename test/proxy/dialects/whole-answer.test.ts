import t from "tap";
import { wholeAnswer } from "../../../proxy/dialects/whole-answer.js";
import type { Operation } from "../../../shared/operation.js";

const whole = (operation: Operation, ...events: readonly object[]) => wholeOf(operation, events);
const wholeOf = (operation: Operation, events: readonly object[]) =>
  wholeAnswer(
    operation,
    events.map((event) => ({ event: null, data: JSON.stringify(event) })),
  );
const chunk = (index: number, delta: object, finish: string | null = null) => ({
  id: "c",
  choices: [{ index, delta, finish_reason: finish }],
});

t.test("the chunks of several choices, with calls in pieces, are one completion", async (t) => {
  const call = (index: number, fields: object) => ({ tool_calls: [{ index, ...fields }] });
  t.same(
    whole(
      "chat_completions",
      chunk(0, { role: "assistant", content: "" }),
      chunk(1, { role: "assistant", content: "b", reasoning_content: "w" }),
      chunk(0, { content: "a", annotations: [{ n: 1 }] }),
      chunk(1, { reasoning_content: "hy", refusal: null }),
      chunk(0, { annotations: [{ n: 2 }] }),
      chunk(0, call(0, { id: "x", type: "function", function: { name: "f", arguments: "" } })),
      chunk(0, call(1, { id: "y", type: "function", function: { name: "g", arguments: "{" } })),
      chunk(0, call(0, { function: { arguments: "{}" } })),
      chunk(0, call(1, { id: "", function: { name: "", arguments: "}" } })),
      chunk(0, {}, "tool_calls"),
      chunk(1, {}, "stop"),
      { choices: [], usage: { prompt_tokens: 1 } },
    ),
    {
      id: "c",
      object: "chat.completion",
      usage: { prompt_tokens: 1 },
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: "a",
            annotations: [{ n: 1 }, { n: 2 }],
            tool_calls: [
              { id: "x", type: "function", function: { name: "f", arguments: "{}" } },
              { id: "y", type: "function", function: { name: "g", arguments: "{}" } },
            ],
          },
          finish_reason: "tool_calls",
        },
        {
          index: 1,
          message: { role: "assistant", content: "b", reasoning_content: "why", refusal: null },
          finish_reason: "stop",
        },
      ],
    },
  );
});

t.test("the blocks of a message have their texts, signatures, inputs and citations", async (t) => {
  const start = (block: object) => ({ type: "content_block_start", content_block: block });
  const delta = (fields: object) => ({ type: "content_block_delta", delta: fields });
  t.same(
    whole(
      "messages",
      { type: "message_start", message: { id: "m", content: [], usage: { input_tokens: 9 } } },
      start({ type: "thinking", thinking: "", signature: "" }),
      delta({ thinking: "w" }),
      delta({ thinking: "hy" }),
      delta({ signature: "s" }),
      start({ type: "text", text: "" }),
      delta({ text: "a" }),
      delta({ citation: { url: "u" } }),
      start({ type: "tool_use", id: "t", input: {} }),
      start({ type: "tool_use", id: "v", input: {} }),
      delta({ partial_json: '{"a"' }),
      delta({ partial_json: ":1}" }),
      { type: "message_delta", delta: { stop_reason: "tool_use" }, usage: { output_tokens: 3 } },
      { type: "message_stop" },
    ),
    {
      id: "m",
      stop_reason: "tool_use",
      usage: { input_tokens: 9, output_tokens: 3 },
      content: [
        { type: "thinking", thinking: "why", signature: "s" },
        { type: "text", text: "a", citations: [{ url: "u" }] },
        { type: "tool_use", id: "t", input: {} },
        { type: "tool_use", id: "v", input: { a: 1 } },
      ],
    },
  );
});

t.test(
  "the last event of the Responses API has the response, or its items came before",
  async (t) => {
    const item = { type: "response.output_item.done", item: { id: "i" } };
    const end = (output: readonly object[]) => ({
      type: "response.completed",
      response: { id: "r", output },
    });
    t.same(whole("responses", item, end([])), { id: "r", output: [{ id: "i" }] });
    t.same(whole("responses", item, end([{ id: "j" }])), { id: "r", output: [{ id: "j" }] });
  },
);

t.test("events without an end are no answer; an error is one", async (t) => {
  t.equal(whole("chat_completions", chunk(0, { content: "a" })), null);
  t.equal(whole("messages", { type: "message_start", message: { id: "m" } }), null);
  t.equal(whole("responses", { type: "response.created", response: { id: "r" } }), null);
  t.equal(whole("embeddings", chunk(0, {}, "stop")), null, "no such stream");
  t.same(whole("chat_completions", chunk(0, { content: "a" }), { error: { message: "x" } }), {
    error: { message: "x" },
  });
  const error = { type: "error", code: "server_error", message: "x", param: null };
  t.same(whole("responses", { type: "response.created", response: { id: "r" } }, error), { error });
});

t.test(
  "calls have their places by their numbers, from whichever the provider begins",
  async (t) => {
    const call = (index: number, id: string | undefined, text: string) =>
      chunk(0, { tool_calls: [{ index, id, function: { arguments: text } }] });
    t.same(
      whole(
        "chat_completions",
        call(1, "x", "{"),
        call(7, "y", "["),
        call(1, undefined, "}"),
        call(7, undefined, "]"),
        chunk(0, {}, "tool_calls"),
      )?.["choices"],
      [
        {
          index: 0,
          message: {
            tool_calls: [
              { id: "x", function: { arguments: "{}" } },
              { id: "y", function: { arguments: "[]" } },
            ],
          },
          finish_reason: "tool_calls",
        },
      ],
    );
  },
);

t.test(
  "calls without numbers, or all with the same one, are told apart by ids and names",
  async (t) => {
    for (const index of [0, undefined]) {
      const call = (fields: object, args: string) =>
        chunk(0, {
          tool_calls: [{ index, ...fields, function: { ...named(fields), arguments: args } }],
        });
      const named = (fields: object) => ("id" in fields ? { name: "f" } : {});
      const answer = whole(
        "chat_completions",
        call({ id: "x" }, "{"),
        call({}, "}"),
        call({ id: "y" }, "["),
        call({}, "]"),
        chunk(0, {}, "tool_calls"),
      ) as { readonly choices: readonly [{ message: object }] };
      t.same(answer.choices[0].message, {
        tool_calls: [
          { id: "x", function: { name: "f", arguments: "{}" } },
          { id: "y", function: { name: "f", arguments: "[]" } },
        ],
      });
    }
  },
);

t.test("no field of a delta changes other objects", async (t) => {
  const event = (delta: string) => ({
    event: null,
    data: `{"choices":[{"delta":${delta},"finish_reason":"stop"}]}`,
  });
  const field = '{"__proto__":{"isFoul":true}}';
  wholeAnswer("chat_completions", [
    event(field),
    event(`{"tool_calls":[{"index":0}]}`),
    event(`{"tool_calls":[{"index":0,"function":{}}]}`),
    event(`{"tool_calls":[{"index":0,"function":${field}}]}`),
  ]);
  const { isFoul } = {} as { isFoul?: boolean };
  delete (Object.prototype as { isFoul?: boolean }).isFoul;
  t.equal(isFoul, undefined);
});

t.test("an answer in many pieces takes a time that grows with its length", async (t) => {
  const pieces = 200_000;
  const long = "x".repeat(20);
  const start = (block: object) => ({ type: "content_block_start", content_block: block });
  const delta = (fields: object) => ({ type: "content_block_delta", delta: fields });
  const many = (piece: object) => new Array<object>(pieces).fill(piece);
  const ofMessages = wholeOf("messages", [
    { type: "message_start", message: {} },
    start({ type: "text", text: "" }),
    ...many(delta({ citation: { url: "u" } })),
    start({ type: "tool_use", id: "t", input: {} }),
    delta({ partial_json: '{"a":"' }),
    ...many(delta({ partial_json: long })),
    delta({ partial_json: '"}' }),
    { type: "message_delta", delta: { stop_reason: "tool_use" } },
  ]) as { readonly content: readonly [{ citations: object[] }, { input: { a: string } }] };
  const [text, call] = ofMessages.content;
  t.equal(text.citations.length, pieces);
  t.equal(call.input.a.length, pieces * long.length);
  const ofChat = wholeOf("chat_completions", [
    ...many(chunk(0, { annotations: [{ n: 1 }] })),
    chunk(0, {}, "stop"),
  ]) as { readonly choices: readonly [{ message: { annotations: object[] } }] };
  t.equal(ofChat.choices[0].message.annotations.length, pieces);
});

t.test("a choice has its log probabilities, and a message that comes as a whole", async (t) => {
  const logprobs = (token: string) => ({ logprobs: { content: [{ token }], refusal: null } });
  const [first, second] = ["a", "b"].map((content) => ({
    choices: [{ index: 0, delta: { content }, finish_reason: null, ...logprobs(content) }],
  }));
  t.same(whole("chat_completions", first!, second!, chunk(0, {}, "stop"))?.["choices"], [
    {
      index: 0,
      message: { content: "ab" },
      logprobs: { content: [{ token: "a" }, { token: "b" }], refusal: null },
      finish_reason: "stop",
    },
  ]);
  const message = { role: "assistant", content: "c" };
  t.same(whole("chat_completions", { choices: [{ index: 0, message, finish_reason: "stop" }] }), {
    object: "chat.completion",
    choices: [{ index: 0, message, finish_reason: "stop" }],
  });
});
