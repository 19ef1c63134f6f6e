import t from "tap";
import { messagesToChat } from "../../../../proxy/dialects/choose-dialect.js";
import type { ClientEvent } from "../../../../proxy/dialects/shared/translation.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { assembleMessages } from "../assemble-stream.js";
import { chatAnswerAsMessages, chatEvents, context } from "../sample-answers.js";

function stream(events: readonly ClientEvent[]): readonly ClientEvent[] {
  const translator = messagesToChat.events(context);
  return [
    ...events.flatMap(({ event, data }) => translator.push(event, data)),
    ...translator.end(),
  ];
}

const done: ClientEvent = { event: null, data: "[DONE]" };
const data = (value: object): ClientEvent => ({ event: null, data: JSON.stringify(value) });
const delta = (value: object, finish: string | null = null): ClientEvent =>
  data({ id: "chatcmpl-1", choices: [{ index: 0, delta: value, finish_reason: finish }] });
const called = (value: object): ClientEvent => delta({ tool_calls: [value] });
const errorOf = (events: readonly ClientEvent[]): unknown => events.at(-1);

t.test("a streamed answer equals the complete one", async (t) => {
  t.strictSame(assembleMessages(stream(chatEvents)), chatAnswerAsMessages);
});

t.test("each chunk of a stream becomes events immediately, as Anthropic names them", async (t) => {
  const translator = messagesToChat.events(context);
  const given = chatEvents.map(({ event, data }) =>
    translator.push(event, data).map((one) => one.event),
  );
  t.strictSame(given, [
    [],
    ["message_start"],
    ["content_block_start", "content_block_delta"],
    ["content_block_delta"],
    // The signature of the thinking that ends.
    ["content_block_delta", "content_block_stop", "content_block_start", "content_block_delta"],
    ["content_block_delta"],
    ["content_block_stop", "content_block_start"],
    ["content_block_delta"],
    ["content_block_delta"],
    ["content_block_stop", "content_block_start"],
    [],
    [],
    ["content_block_stop", "message_delta", "message_stop"],
  ]);
  t.strictSame(translator.end(), [], "and nothing is owed");
});

t.test(
  "a stream without [DONE] is complete when it ends; one without a finish reason, at [DONE]",
  async (t) => {
    t.strictSame(stream(chatEvents.slice(0, -1)), stream(chatEvents));
    t.match(
      assembleMessages(stream([delta({ content: "a" }), done])),
      exactly({
        stop_reason: "end_turn",
        content: [{ type: "text", text: "a" }],
      }),
    );
  },
);

t.test("an empty finish reason is none", async (t) => {
  const chunks = [delta({ content: "a" }, ""), delta({ tool_calls: [] }, ""), delta({}, "length")];
  t.match(
    assembleMessages(stream([...chunks, delta({}, ""), data({ usage: null }), done])),
    exactly({
      stop_reason: "max_tokens",
      content: [{ type: "text", text: "a" }],
    }),
  );
  t.match(stream(chunks.slice(0, 2)).at(-1), { event: "error" }, "the stream was cut");
});

t.test("calls are separated however providers stream them", async (t) => {
  const two = [
    { type: "tool_use", id: "a", name: "f", input: { x: 1 } },
    { type: "tool_use", id: "b", name: "g", input: {} },
  ];
  const cases: readonly (readonly [string, readonly ClientEvent[]])[] = [
    [
      "by index",
      [
        called({ index: 0, id: "a", function: { name: "f", arguments: "" } }),
        called({ index: 0, function: { arguments: '{"x":1}' } }),
        called({ index: 1, id: "b", function: { name: "g" } }),
      ],
    ],
    [
      "in one chunk",
      [
        delta({
          tool_calls: [
            { index: 0, id: "a", function: { name: "f", arguments: '{"x":1}' } },
            { index: 1, id: "b", function: { name: "g", arguments: "{}" } },
          ],
        }),
      ],
    ],
    [
      "all with one index",
      [
        called({ index: 0, id: "a", function: { name: "f", arguments: '{"x":1}' } }),
        called({ index: 0, id: "b", function: { name: "g", arguments: "{}" } }),
      ],
    ],
    [
      "without an index",
      [
        called({ id: "a", function: { name: "f", arguments: '{"x":' } }),
        called({ function: { arguments: "1}" } }),
        called({ id: "b", function: { name: "g", arguments: "{}" } }),
      ],
    ],
    [
      "with an id of its own for each piece, but one name",
      [
        called({ index: 0, id: "a", function: { name: "f", arguments: '{"x":' } }),
        called({ index: 0, id: "x", function: { arguments: "1}" } }),
        called({ index: 1, id: "b", function: { name: "g" } }),
        called({ index: 1, id: "y", function: { arguments: "{}" } }),
      ],
    ],
    [
      "with the id each time",
      [
        called({ index: 0, id: "a", function: { name: "f", arguments: '{"x":' } }),
        called({ index: 0, id: "a", function: { name: "", arguments: "1}" } }),
        called({ index: 1, id: "b", function: { name: "g", arguments: "{}" } }),
      ],
    ],
  ];
  for (const [name, events] of cases)
    t.strictSame(
      assembleMessages(stream([...events, delta({}, "stop"), done])),
      {
        ...assembleMessages(stream([delta({}, "tool_calls"), done])),
        content: two,
        stop_reason: "tool_use",
      },
      name,
    );
  const ended = [
    called({ index: 0, id: "a", function: { name: "f", arguments: '{"x":1}' } }),
    delta({ content: "\n", tool_calls: [{ index: 0, function: { arguments: "" } }] }),
    delta({}, "stop"),
    done,
  ];
  t.match(
    assembleMessages(stream(ended))["content"],
    exactly([two[0], { type: "text", text: "\n" }]),
    "ended by a piece of nothing",
  );
  const signed = [
    called({
      index: 0,
      id: "a",
      function: { name: "f", arguments: '{"x":' },
      extra_content: { google: { thought_signature: "s" } },
    }),
    called({ index: 0, id: "a", function: { arguments: "1}" } }),
    delta({}, "stop"),
    done,
  ];
  t.match(
    assembleMessages(stream(signed))["content"],
    exactly([{ ...two[0], id: "a__signed__cw" }]),
    "signed by Gemini",
  );
});

t.test("thinking, its signature and encrypted thinking become blocks", async (t) => {
  const content = (...events: readonly ClientEvent[]): unknown =>
    assembleMessages(stream([...events, delta({}, "stop"), done]))["content"];
  const thinking = (said: string, signature: string): object => ({
    type: "thinking",
    thinking: said,
    signature,
  });
  t.strictSame(content(delta({ reasoning: "a" }), delta({ reasoning: "b", content: "c" })), [
    thinking("ab", "unsigned"),
    { type: "text", text: "c" },
  ]);
  t.strictSame(
    content(
      delta({ reasoning_content: "a" }),
      delta({ thinking_blocks: [thinking("a", "s")] }),
      delta({ reasoning_content: "b" }),
      delta({ thinking_blocks: [{ type: "redacted_thinking", data: "d" }] }),
    ),
    [thinking("a", "s"), thinking("b", "unsigned"), { type: "redacted_thinking", data: "d" }],
  );
  t.strictSame(
    content(
      delta({ thinking_blocks: [thinking("", "s")] }),
      delta({ thinking_blocks: [thinking("a", "r"), { type: "thinking" }, 7] }),
    ),
    [thinking("", "s"), thinking("a", "r")],
    "a block that arrives complete; an invalid block is ignored",
  );
});

t.test("a refusal in a stream is in the message_delta", async (t) => {
  t.match(
    assembleMessages(
      stream([delta({ refusal: "I " }), delta({ refusal: "can't." }), delta({}, "stop"), done]),
    ),
    {
      content: { length: 0 },
      stop_reason: "refusal",
      stop_details: { type: "refusal", category: null, explanation: "I can't." },
    },
  );
});

t.test("usage is found wherever providers put it", async (t) => {
  const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
  const counted = (...events: readonly ClientEvent[]): unknown =>
    assembleMessages(stream([delta({ content: "a" }, "stop"), ...events, done]))["usage"];
  for (const event of [data({ choices: [], usage }), data({ choices: [], x_groq: { usage } })])
    t.match(counted(event), { input_tokens: 10, output_tokens: 5 }, event.data);
  t.match(counted(), { input_tokens: 0, output_tokens: 0 });
});

t.test("an error of the provider becomes the last event, in Anthropic's shape", async (t) => {
  const cases: readonly (readonly [unknown, object])[] = [
    [
      { message: "Slow down", type: "requests", code: "rate_limit_exceeded" },
      { type: "rate_limit_error", message: "Slow down" },
    ],
    [
      { message: "Slow down", code: 429 },
      { type: "rate_limit_error", message: "Slow down" },
    ],
    [
      { message: "Bad", type: "invalid_request_error" },
      { type: "invalid_request_error", message: "Bad" },
    ],
    [
      { message: "Broken", type: "server_error" },
      { type: "api_error", message: "Broken" },
    ],
    ["Broken", { type: "api_error", message: "Broken" }],
  ];
  for (const [error, expected] of cases) {
    const events = stream([delta({ content: "a" }), data({ error }), ...chatEvents]);
    t.strictSame(
      errorOf(events),
      { event: "error", data: JSON.stringify({ type: "error", error: expected }) },
      JSON.stringify(error),
    );
    t.notOk(events.some(({ event }) => event === "message_stop"));
  }
});

t.test("an invalid stream ends with an error event", async (t) => {
  const cases: readonly (readonly [string, readonly ClientEvent[], string])[] = [
    ["nothing", [], "the provider's stream ended before the answer was complete"],
    [
      "an end in the middle",
      chatEvents.slice(0, 5),
      "the provider's stream ended before the answer was complete",
    ],
    ["[DONE] alone", [done], "the provider's stream ended without an answer"],
    [
      "no JSON",
      [{ event: null, data: "{" }, done],
      "the provider's stream has an event that is not a JSON object",
    ],
    [
      "content that isn't a string",
      [delta({ content: { a: 1 } }), done],
      "the answer's content is not a string",
    ],
    ["a call that is none", [called(7 as unknown as object), done], "a tool call is not an object"],
    [
      "a reason that is a failure",
      [delta({ content: "a" }, "insufficient_system_resource"), done],
      "the provider ended its answer with an error",
    ],
    [
      "arguments without a bottom",
      [
        {
          event: null,
          data: `{"choices":[{"delta":{"tool_calls":[{"id":"a","function":{"name":"f","arguments":${'{"a":'.repeat(50_000)}1${"}".repeat(50_000)}}}]}}]}`,
        },
        done,
      ],
      "the provider's stream has an event that is nested deeper than 500 levels",
    ],
    [
      "a call without a name",
      [called({ index: 0, id: "a" }), done],
      "the provider's answer calls a tool without a name",
    ],
    [
      "a call that continues after a text",
      [
        called({ index: 0, id: "a", function: { name: "f" } }),
        delta({ content: "a" }),
        called({ index: 0, id: "a", function: { arguments: "{}" } }),
        done,
      ],
      "the provider's answer continues a tool call after other content has followed it",
    ],
  ];
  for (const [name, events, message] of cases)
    t.strictSame(
      errorOf(stream(events)),
      {
        event: "error",
        data: JSON.stringify({ type: "error", error: { type: "api_error", message } }),
      },
      name,
    );
});

t.test("an empty finish reason, as some hosts send with every piece, ends nothing", async (t) => {
  const pieces = ["Good ", "day"].map((content) => delta({ content }, ""));
  const answer = assembleMessages(stream([...pieces, delta({}, "length"), delta({}, ""), done]));
  t.match(
    answer,
    exactly({ stop_reason: "max_tokens", content: [{ type: "text", text: "Good day" }] }),
  );
});
