import t from "tap";
import { chatToMessages } from "../../../../proxy/dialects/choose-dialect.js";
import type { ClientEvent, JsonObject } from "../../../../proxy/dialects/shared/translation.js";
import { streamEventBytesMax } from "../../../../shared/bounds.js";
import { assembleChat, choiceOf } from "../assemble-stream.js";
import {
  context,
  messagesAnswer,
  messagesAnswerAsChat,
  messagesEvents,
} from "../sample-answers.js";

function stream(events: readonly ClientEvent[]): readonly ClientEvent[] {
  const translator = chatToMessages.events(context);
  return [
    ...events.flatMap(({ event, data }) => translator.push(event, data)),
    ...translator.end(),
  ];
}

const event = (value: {
  readonly type: string;
  readonly [field: string]: unknown;
}): ClientEvent => ({ event: value.type, data: JSON.stringify(value) });
const start = event({
  type: "message_start",
  message: { id: "msg_1", content: [], usage: { input_tokens: 3, output_tokens: 1 } },
});
const errorOf = (events: readonly ClientEvent[]): unknown =>
  (JSON.parse(events.at(-1)?.data ?? "{}") as JsonObject)["error"];

t.test("a streamed answer equals the complete one", async (t) => {
  t.strictSame(assembleChat(stream(messagesEvents)), messagesAnswerAsChat);
});

t.test("a client that asks as OpenRouter's do gets details of the thinking", async (t) => {
  const asking = { ...context, request: { ...context.request, reasoning: { effort: "high" } } };
  const details = [
    {
      type: "reasoning.text",
      text: "Two cities.",
      signature: "EqoBCkgIARABGAI=",
      format: "anthropic-claude-v1",
      index: 0,
    },
    {
      type: "reasoning.encrypted",
      data: "EmwKAhgBEgy=",
      format: "anthropic-claude-v1",
      index: 1,
    },
  ];
  const translator = chatToMessages.events(asking);
  const streamed = messagesEvents
    .flatMap(({ event, data }) => translator.push(event, data))
    .filter(({ data }) => data.includes("reasoning_details"))
    .flatMap(({ data }) => {
      const { choices } = JSON.parse(data) as {
        choices: { delta: { reasoning_details: readonly object[] } }[];
      };
      return choices[0]!.delta.reasoning_details;
    });
  t.same(streamed, details);
  const { message } = choiceOf(chatToMessages.answer(messagesAnswer, asking));
  t.same(message["reasoning_details"], details);
});

t.test("each event of a stream becomes a chunk immediately, as OpenAI writes it", async (t) => {
  const translator = chatToMessages.events(context);
  const given = messagesEvents.map(({ event, data }) =>
    translator
      .push(event, data)
      .map((one) =>
        one.data === "[DONE]"
          ? one.data
          : (
              JSON.parse(one.data) as { choices: { delta: unknown; finish_reason: unknown }[] }
            ).choices.map(({ delta, finish_reason }) => [delta, finish_reason]),
      ),
  );
  const delta = (value: object): unknown => [[[value, null]]];
  t.strictSame(
    given.filter((events) => events.length > 0),
    [
      delta({ role: "assistant", content: "" }),
      delta({ reasoning_content: "Two " }),
      delta({ reasoning_content: "cities." }),
      delta({
        thinking_blocks: [
          { index: 0, type: "thinking", thinking: "Two cities.", signature: "EqoBCkgIARABGAI=" },
        ],
      }),
      delta({ thinking_blocks: [{ index: 1, type: "redacted_thinking", data: "EmwKAhgBEgy=" }] }),
      delta({ content: "I'll look " }),
      delta({ content: "at both." }),
      delta({
        tool_calls: [
          {
            index: 0,
            id: "toolu_01",
            type: "function",
            function: { name: "get_weather", arguments: "" },
          },
        ],
      }),
      delta({ tool_calls: [{ index: 0, function: { arguments: '{"city"' } }] }),
      delta({ tool_calls: [{ index: 0, function: { arguments: ':"Oslo"}' } }] }),
      delta({
        tool_calls: [
          { index: 1, id: "toolu_02", type: "function", function: { name: "now", arguments: "" } },
        ],
      }),
      delta({ tool_calls: [{ index: 1, function: { arguments: "{}" } }] }),
      [[[{}, "tool_calls"]]],
      [[], "[DONE]"],
    ],
  );
  t.strictSame(translator.end(), [], "and nothing remains to be sent");
});

t.test("the usage chunk comes last and alone, and other chunks have a null", async (t) => {
  const chunks = stream(messagesEvents)
    .slice(0, -1)
    .map(({ data }) => JSON.parse(data) as JsonObject);
  t.strictSame(chunks.at(-1)?.["choices"], []);
  t.strictSame(chunks.at(-1)?.["usage"], messagesAnswerAsChat["usage"]);
  t.ok(chunks.slice(0, -1).every((chunk) => chunk["usage"] === null));
});

t.test("thinking without a signature is sent as text alone", async (t) => {
  const block = (index: number, thinking: string): readonly ClientEvent[] => [
    event({ type: "content_block_start", index, content_block: { type: "thinking", thinking } }),
    event({ type: "content_block_stop", index }),
  ];
  const assembled = assembleChat(
    stream([
      start,
      ...block(0, "a"),
      ...block(1, "b"),
      event({ type: "message_delta", delta: { stop_reason: "end_turn" } }),
      event({ type: "message_stop" }),
    ]),
  );
  t.strictSame(choiceOf(assembled).message, {
    role: "assistant",
    content: null,
    refusal: null,
    reasoning_content: "ab",
  });
});

t.test("thinking that is too long for one event is sent as text alone", async (t) => {
  const long = "x".repeat(streamEventBytesMax / 4);
  const delta = (value: object): ClientEvent =>
    event({ type: "content_block_delta", index: 0, delta: value });
  const thinks = (times: number): ClientEvent[] =>
    Array.from({ length: times }, () => delta({ type: "thinking_delta", thinking: long }));
  const assembled = (times: number): JsonObject =>
    choiceOf(
      assembleChat(
        stream([
          start,
          event({
            type: "content_block_start",
            index: 0,
            content_block: { type: "thinking", thinking: "" },
          }),
          ...thinks(times),
          delta({ type: "signature_delta", signature: "s" }),
          event({ type: "content_block_stop", index: 0 }),
          event({ type: "message_stop" }),
        ]),
      ),
    ).message;
  t.equal((assembled(3)["thinking_blocks"] as JsonObject[])[0]?.["thinking"], long.repeat(3));
  t.equal(assembled(6)["reasoning_content"], long.repeat(6));
  t.equal(assembled(6)["thinking_blocks"], undefined);
});

t.test("a refusal in a stream has its explanation", async (t) => {
  const assembled = assembleChat(
    stream([
      start,
      event({
        type: "message_delta",
        delta: { stop_reason: "refusal", stop_details: { type: "refusal", explanation: "No." } },
      }),
      event({ type: "message_stop" }),
    ]),
  );
  t.match(choiceOf(assembled), { finish_reason: "content_filter", message: { refusal: "No." } });
});

t.test("a stream without message_stop is complete when it ends", async (t) => {
  t.strictSame(stream(messagesEvents.slice(0, -1)), stream(messagesEvents));
});

t.test("an error of the provider becomes the last event, in OpenAI's shape", async (t) => {
  const cases: readonly (readonly [string, object])[] = [
    [
      "overloaded_error",
      { type: "provider_error", message: "Overloaded", code: null, param: null },
    ],
    [
      "rate_limit_error",
      { type: "rate_limit_error", message: "Overloaded", code: null, param: null },
    ],
    [
      "permission_error",
      { type: "authentication_error", message: "Overloaded", code: null, param: null },
    ],
    ["new_error", { type: "provider_error", message: "Overloaded", code: null, param: null }],
  ];
  for (const [type, expected] of cases) {
    const events = stream([
      start,
      event({ type: "error", error: { type, message: "Overloaded" } }),
      ...messagesEvents.slice(1),
    ]);
    t.equal(events.length, 2, "nothing follows it");
    t.strictSame(errorOf(events), expected, type);
  }
  t.match(
    errorOf(stream([{ event: "error", data: '{"error":{"message":"Gone"}}' }])),
    { message: "Gone" },
    "without a type",
  );
});

t.test("an invalid stream ends with an error event", async (t) => {
  const opened = event({
    type: "content_block_start",
    index: 0,
    content_block: { type: "text", text: "" },
  });
  const cases: readonly (readonly [string, readonly ClientEvent[], string])[] = [
    ["nothing", [], "the provider's stream ended before the answer was complete"],
    [
      "an end in the middle",
      messagesEvents.slice(0, 12),
      "the provider's stream ended before the answer was complete",
    ],
    [
      "no JSON",
      [start, { event: "content_block_delta", data: "{" }],
      "the provider's stream has an event that is not a JSON object",
    ],
    [
      "no object",
      [{ event: null, data: "7" }],
      "the provider's stream has an event that is not a JSON object",
    ],
    ["two beginnings", [start, start], "the provider's stream begins another message"],
    [
      "an end alone",
      [event({ type: "message_stop" })],
      "the provider's stream ended without an answer",
    ],
    [
      "a delta of nothing",
      [
        start,
        event({ type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "a" } }),
      ],
      "the provider's stream has a delta for a content block that isn't open",
    ],
    [
      "a delta without its text",
      [
        start,
        opened,
        event({ type: "content_block_delta", index: 0, delta: { type: "text_delta" } }),
      ],
      "the provider's answer has a content block without text",
    ],
    [
      "a delta that Anthropic has added",
      [
        start,
        opened,
        event({ type: "content_block_delta", index: 0, delta: { type: "new_delta" } }),
      ],
      "the provider's stream has a delta of type new_delta, which chat completions can't represent",
    ],
    [
      "a block that was not requested",
      [
        start,
        event({
          type: "content_block_start",
          index: 0,
          content_block: { type: "mcp_tool_use" },
        }),
      ],
      "the provider's answer has a content block of type mcp_tool_use, which chat completions can't represent",
    ],
  ];
  for (const [name, events, message] of cases) {
    const tooEarly = name === "nothing" || name.startsWith("an end in");
    const given = stream([...events, ...(tooEarly ? [] : messagesEvents)]);
    const isFailure = tooEarly || name === "an end alone";
    t.strictSame(
      errorOf(given),
      {
        type: "provider_error",
        message,
        code: isFailure ? null : "answer_untranslatable",
        param: null,
      },
      name,
    );
    t.notOk(
      given.some(({ data }) => data === "[DONE]"),
      name,
    );
  }
});

t.test("unknown events are ignored", async (t) => {
  t.strictSame(
    stream([messagesEvents[0]!, event({ type: "heartbeat" }), ...messagesEvents.slice(1)]),
    stream(messagesEvents),
  );
});
