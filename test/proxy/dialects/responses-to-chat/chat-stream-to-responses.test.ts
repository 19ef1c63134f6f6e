import assert from "node:assert/strict";
import fc from "fast-check";
import { accumulateResponse } from "openai/lib/responses/ResponseAccumulator";
import type { ChatCompletionChunk } from "openai/resources/chat/completions";
import type { Response, ResponseStreamEvent } from "openai/resources/responses/responses";
import t from "tap";
import { responsesToChat } from "../../../../proxy/dialects/choose-dialect.js";
import type {
  AnswerContext,
  ClientEvent,
  JsonObject,
} from "../../../../proxy/dialects/shared/translation.js";
import { readableResponseBytesMax } from "../../../../shared/bounds.js";
import { exactly } from "../../../support/patterns/exactly.js";

const context: AnswerContext = {
  model: "smart",
  nowSeconds: 1_700_000_000,
  provider: "p",
  requestId: "req_1",
  request: { model: "smart", input: "hi", stream: true },
};

const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };

type Delta = ChatCompletionChunk.Choice["delta"] & JsonObject;

function chunk(delta: Delta, more: object = {}): string {
  return JSON.stringify({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index: 0, delta, logprobs: null, finish_reason: null, ...more }],
  });
}

const end = (finish_reason: string): string[] => [
  chunk({}, { finish_reason }),
  JSON.stringify({ id: "chatcmpl-1", object: "chat.completion.chunk", choices: [], usage }),
  "[DONE]",
];

function streamed(data: readonly string[]): ClientEvent[] {
  const events = responsesToChat.events(context);
  return [...data.flatMap((each) => events.push(null, each)), ...events.end()];
}

/** The events as their data; each is named by its type and numbered in order. */
function parsed(events: readonly ClientEvent[]): ResponseStreamEvent[] {
  return events.map(({ event, data }, i) => {
    const value = JSON.parse(data) as ResponseStreamEvent;
    assert.deepEqual([event, value.sequence_number], [value.type, i]);
    return value;
  });
}

/**
 * The response that the SDK puts together from all events but the last, and the one that the last
 * event holds.
 */
function accumulated(events: readonly ResponseStreamEvent[]): {
  readonly steps: Response;
  readonly last: Response;
} {
  const last = events.at(-1) as { response: Response };
  let snapshot: Response | undefined;
  for (const event of events.slice(0, -1)) snapshot = accumulateResponse(event, snapshot);
  return { steps: snapshot!, last: last.response };
}

/** The plain answer to the same request. */
function plain(message: object, finish_reason: string): JsonObject {
  return JSON.parse(
    JSON.stringify(
      responsesToChat.answer({ choices: [{ index: 0, finish_reason, message }], usage }, context),
    ),
  ) as JsonObject;
}

t.test("the events of a text are in the API's order", async (t) => {
  const events = parsed(
    streamed([
      chunk({ role: "assistant", content: "", refusal: null }),
      chunk({ content: "Good " }),
      chunk({ content: "day" }),
      ...end("stop"),
    ]),
  );
  const [first, second] = events;
  const place = { item_id: "msg_1_0", output_index: 0, content_index: 0 };
  const empty = { type: "output_text" as const, annotations: [], logprobs: [], text: "" };
  const item = { id: "msg_1_0", type: "message" as const, role: "assistant" as const };
  const expected: ResponseStreamEvent[] = [
    first!,
    second!,
    {
      type: "response.output_item.added",
      sequence_number: 2,
      output_index: 0,
      item: { ...item, status: "in_progress", content: [] },
    },
    { type: "response.content_part.added", sequence_number: 3, ...place, part: empty },
    {
      type: "response.output_text.delta",
      sequence_number: 4,
      ...place,
      delta: "Good ",
      logprobs: [],
    },
    {
      type: "response.output_text.delta",
      sequence_number: 5,
      ...place,
      delta: "day",
      logprobs: [],
    },
    {
      type: "response.output_text.done",
      sequence_number: 6,
      ...place,
      text: "Good day",
      logprobs: [],
    },
    {
      type: "response.content_part.done",
      sequence_number: 7,
      ...place,
      part: { ...empty, text: "Good day" },
    },
    {
      type: "response.output_item.done",
      sequence_number: 8,
      output_index: 0,
      item: { ...item, status: "completed", content: [{ ...empty, text: "Good day" }] },
    },
    events.at(-1)!,
  ];
  t.strictSame(events, expected);
  t.match(first, {
    type: "response.created",
    response: { id: "resp_1", status: "in_progress", output: { length: 0 }, usage: null },
  });
  t.match(second, {
    type: "response.in_progress",
    response: { id: "resp_1", status: "in_progress" },
  });
  t.match(events.at(-1), {
    type: "response.completed",
    response: {
      status: "completed",
      usage: { input_tokens: 10, output_tokens: 5, total_tokens: 15 },
    },
  });
});

t.test("reasoning, then calls", async (t) => {
  const events = parsed(
    streamed([
      chunk({ role: "assistant", content: null, reasoning_content: "Rain" }),
      chunk({ reasoning_content: "?" }),
      chunk({
        tool_calls: [
          {
            index: 0,
            id: "call_1",
            type: "function",
            function: { name: "weather", arguments: "" },
          },
        ],
      }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: '{"city"' } }] }),
      chunk({ tool_calls: [{ index: 0, function: { arguments: ':"Lyon"}' } }] }),
      chunk({
        tool_calls: [
          {
            index: 1,
            id: "call_2",
            type: "custom",
            custom: { name: "shell", input: "ls" },
          } as never,
        ],
      }),
      ...end("tool_calls"),
    ]),
  );
  const reasoning = { item_id: "rs_1_0", output_index: 0, content_index: 0 };
  const call = { item_id: "fc_1_1", output_index: 1 };
  const custom = { item_id: "ctc_1_2", output_index: 2 };
  const functionItem = {
    id: "fc_1_1",
    type: "function_call" as const,
    call_id: "call_1",
    name: "weather",
  };
  const customItem = {
    id: "ctc_1_2",
    type: "custom_tool_call" as const,
    call_id: "call_2",
    name: "shell",
  };
  const expected: ResponseStreamEvent[] = [
    {
      type: "response.output_item.added",
      sequence_number: 2,
      output_index: 0,
      item: { id: "rs_1_0", type: "reasoning", status: "in_progress", summary: [], content: [] },
    },
    {
      type: "response.content_part.added",
      sequence_number: 3,
      ...reasoning,
      part: { type: "reasoning_text", text: "" },
    },
    { type: "response.reasoning_text.delta", sequence_number: 4, ...reasoning, delta: "Rain" },
    { type: "response.reasoning_text.delta", sequence_number: 5, ...reasoning, delta: "?" },
    { type: "response.reasoning_text.done", sequence_number: 6, ...reasoning, text: "Rain?" },
    {
      type: "response.content_part.done",
      sequence_number: 7,
      ...reasoning,
      part: { type: "reasoning_text", text: "Rain?" },
    },
    {
      type: "response.output_item.done",
      sequence_number: 8,
      output_index: 0,
      item: {
        id: "rs_1_0",
        type: "reasoning",
        status: "completed",
        summary: [],
        content: [{ type: "reasoning_text", text: "Rain?" }],
      },
    },
    {
      type: "response.output_item.added",
      sequence_number: 9,
      output_index: 1,
      item: { ...functionItem, status: "in_progress", arguments: "" },
    },
    {
      type: "response.function_call_arguments.delta",
      sequence_number: 10,
      ...call,
      delta: '{"city"',
    },
    {
      type: "response.function_call_arguments.delta",
      sequence_number: 11,
      ...call,
      delta: ':"Lyon"}',
    },
    {
      type: "response.function_call_arguments.done",
      sequence_number: 12,
      ...call,
      arguments: '{"city":"Lyon"}',
      // Of older SDKs.
      name: "weather",
    } as never,
    {
      type: "response.output_item.done",
      sequence_number: 13,
      output_index: 1,
      item: { ...functionItem, status: "completed", arguments: '{"city":"Lyon"}' },
    },
    {
      type: "response.output_item.added",
      sequence_number: 14,
      output_index: 2,
      item: { ...customItem, status: "in_progress", input: "" } as never,
    },
    { type: "response.custom_tool_call_input.delta", sequence_number: 15, ...custom, delta: "ls" },
    { type: "response.custom_tool_call_input.done", sequence_number: 16, ...custom, input: "ls" },
    {
      type: "response.output_item.done",
      sequence_number: 17,
      output_index: 2,
      item: { ...customItem, status: "completed", input: "ls" } as never,
    },
  ];
  t.strictSame(events.slice(2, -1), expected);
  t.equal(events.at(-1)!.type, "response.completed");
});

t.test(
  "a refusal after text is a separate part, and a truncated answer is incomplete",
  async (t) => {
    const events = parsed(
      streamed([
        chunk({ content: "Well" }),
        chunk({ refusal: "No" }),
        chunk({ refusal: "." }),
        ...end("length"),
      ]),
    );
    const place = { item_id: "msg_1_0", output_index: 0, content_index: 1 };
    t.strictSame(events.slice(5, -1), [
      {
        type: "response.output_text.done",
        sequence_number: 5,
        ...place,
        content_index: 0,
        text: "Well",
        logprobs: [],
      },
      {
        type: "response.content_part.done",
        sequence_number: 6,
        ...place,
        content_index: 0,
        part: { type: "output_text", annotations: [], logprobs: [], text: "Well" },
      },
      {
        type: "response.content_part.added",
        sequence_number: 7,
        ...place,
        part: { type: "refusal", refusal: "" },
      },
      { type: "response.refusal.delta", sequence_number: 8, ...place, delta: "No" },
      { type: "response.refusal.delta", sequence_number: 9, ...place, delta: "." },
      { type: "response.refusal.done", sequence_number: 10, ...place, refusal: "No." },
      {
        type: "response.content_part.done",
        sequence_number: 11,
        ...place,
        part: { type: "refusal", refusal: "No." },
      },
      {
        type: "response.output_item.done",
        sequence_number: 12,
        output_index: 0,
        item: {
          id: "msg_1_0",
          type: "message",
          role: "assistant",
          status: "incomplete",
          content: [
            { type: "output_text", annotations: [], logprobs: [], text: "Well" },
            { type: "refusal", refusal: "No." },
          ],
        },
      },
    ] satisfies ResponseStreamEvent[]);
    t.match(events.at(-1), {
      type: "response.incomplete",
      response: { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } },
    });
  },
);

t.test("calls are separated however providers number them", async (t) => {
  const call = (fields: object, name: string | null, args: string) => ({
    ...fields,
    type: "function",
    function: { ...(name === null ? {} : { name }), arguments: args },
  });
  const cases: readonly (readonly [
    string,
    readonly (readonly object[])[],
    readonly (readonly [string, string, string])[],
  ])[] = [
    [
      "all in one chunk",
      [[call({ index: 0, id: "a" }, "f", "{}"), call({ index: 1, id: "b" }, "g", "[]")]],
      [
        ["a", "f", "{}"],
        ["b", "g", "[]"],
      ],
    ],
    [
      "all with index 0, as Gemini does",
      [[call({ index: 0, id: "a" }, "f", "{}")], [call({ index: 0, id: "b" }, "f", "[]")]],
      [
        ["a", "f", "{}"],
        ["b", "f", "[]"],
      ],
    ],
    [
      "without an index",
      [[call({ id: "a" }, "f", "{")], [call({}, null, "}")], [call({ id: "b" }, "g", "[]")]],
      [
        ["a", "f", "{}"],
        ["b", "g", "[]"],
      ],
    ],
    [
      "with the name and the id each time",
      [[call({ index: 0, id: "a" }, "f", "{")], [call({ index: 0, id: "a" }, "f", "}")]],
      [["a", "f", "{}"]],
    ],
    [
      "signed by Gemini",
      [
        [
          {
            ...call({ index: 0, id: "a" }, "f", "{"),
            extra_content: { google: { thought_signature: "s" } },
          },
        ],
        [call({ index: 0, id: "a" }, "f", "}")],
      ],
      [["a__signed__cw", "f", "{}"]],
    ],
    [
      "with an id of its own for each delta, but one name",
      [[call({ index: 0, id: "a" }, "f", "{")], [call({ index: 0, id: "x" }, null, "}")]],
      [["a", "f", "{}"]],
    ],
    [
      "without ids",
      [[call({ index: 0 }, "f", "{}")], [call({ index: 1 }, "g", "")]],
      [
        ["call_1_0", "f", "{}"],
        ["call_1_1", "g", "{}"],
      ],
    ],
    [
      "with an empty id behind the first",
      [[call({ index: 0, id: "a" }, "f", "{")], [call({ index: 0, id: "" }, "", "}")]],
      [["a", "f", "{}"]],
    ],
  ];
  for (const [name, deltas, calls] of cases) {
    const { steps, last } = accumulated(
      parsed(
        streamed([
          ...deltas.map((tool_calls) => chunk({ tool_calls: tool_calls as never })),
          ...end("tool_calls"),
        ]),
      ),
    );
    t.strictSame(
      last.output.map((item) =>
        item.type === "function_call" ? [item.call_id, item.name, item.arguments] : [],
      ),
      calls,
      name,
    );
    t.strictSame(steps.output, last.output);
  }
});

t.test("what doesn't belong to the answer is ignored", async (t) => {
  const azure = JSON.stringify({ choices: [], prompt_filter_results: [{}] });
  const noise = [
    "",
    azure,
    JSON.stringify({ id: "x" }),
    chunk({ content: null, tool_calls: null as never }),
    chunk({ content: "other" }, { index: 1 }),
    JSON.stringify({ choices: [{ index: 0, finish_reason: null }] }),
  ];
  const events = parsed(
    streamed([
      ...noise,
      chunk({ content: "x" }),
      ...noise,
      ...end("stop"),
      chunk({ content: "late" }),
      "[DONE]",
    ]),
  );
  t.strictSame(accumulated(events).last, plain({ content: "x" }, "stop"));
  t.equal(
    parsed(streamed(["[DONE]"])).at(-1)!.type,
    "error",
    "a stream that holds nothing but its end",
  );
});

t.test("the last usage counts, wherever it is", async (t) => {
  const groq = JSON.stringify({
    choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
    x_groq: { usage },
  });
  const early = JSON.stringify({
    choices: [{ index: 0, delta: { content: "x" } }],
    usage: { ...usage, completion_tokens: 1, total_tokens: 11 },
    service_tier: "flex",
  });
  const { last } = accumulated(parsed(streamed([early, groq])));
  t.match(
    last,
    { status: "completed", service_tier: "flex", usage: { input_tokens: 10, output_tokens: 5 } },
    "no [DONE] is needed behind a reason to finish",
  );
  t.equal(
    accumulated(
      parsed(streamed([chunk({ content: "x" }), chunk({}, { finish_reason: "stop" }), "[DONE]"])),
    ).last.usage,
    null,
  );
});

t.test("a failure in the middle is response.failed, with the output so far", async (t) => {
  const begun = [chunk({ reasoning_content: "hm" }), chunk({ content: "Good" })];
  const cases: readonly (readonly [readonly string[], object])[] = [
    [
      [JSON.stringify({ error: { message: "overloaded", code: 503 } }), ...end("stop")],
      { code: "server_error", message: "overloaded" },
    ],
    [
      [JSON.stringify({ error: { message: "slow down", type: "rate_limit_error" } })],
      { code: "rate_limit_exceeded", message: "slow down" },
    ],
    [
      ["{"],
      {
        code: "server_error",
        message: "the provider's stream has an event that is not a JSON object",
      },
    ],
    [
      ["[]"],
      {
        code: "server_error",
        message: "the provider's stream has an event that is not a JSON object",
      },
    ],
    [
      [chunk({ content: 7 as never })],
      { code: "server_error", message: "the answer's content is not a string" },
    ],
    [
      [chunk({ tool_calls: [{ index: 0, function: { arguments: "{}" } }] }), ...end("tool_calls")],
      { code: "server_error", message: "the provider's answer calls a tool without a name" },
    ],
    [
      [],
      {
        code: "server_error",
        message: "the provider's stream ended before the answer was complete",
      },
    ],
    [
      end("error"),
      { code: "server_error", message: "the provider ended its answer with an error" },
    ],
  ];
  for (const [data, error] of cases) {
    const events = parsed(streamed([...begun, ...data]));
    t.match(events.at(-1), { type: "response.failed", response: { status: "failed", error } });
    const { last } = accumulated(events);
    t.match(
      last.output,
      exactly([
        { type: "reasoning", status: "completed" },
        { type: "message", status: "incomplete", content: [{ text: "Good" }] },
      ]),
    );
  }
  const piece = { index: 0, id: "c", function: { name: "f", arguments: "{" } };
  const goingBack = [
    chunk({ tool_calls: [piece] }),
    chunk({ content: "a" }),
    chunk({ tool_calls: [piece] }),
  ];
  t.match(parsed(streamed(goingBack)).at(-1), {
    type: "response.failed",
    response: {
      error: {
        message: "the provider's answer continues a tool call after other content has followed it",
      },
    },
  });
});

t.test(
  "a stream that begins with a failure is one error event, so that the gateway can still try another target",
  async (t) => {
    const error = { message: "overloaded", code: 503 };
    t.strictSame(parsed(streamed([JSON.stringify({ error }), ...end("stop")])), [
      {
        type: "error",
        sequence_number: 0,
        code: "server_error",
        message: "overloaded",
        param: null,
        error,
      } as ResponseStreamEvent,
    ]);
    t.match(
      parsed(streamed(["nope"])),
      exactly([
        {
          type: "error",
          error: { message: "the provider's stream has an event that is not a JSON object" },
        },
      ]),
    );
    t.match(
      parsed(streamed([])),
      exactly([
        { type: "error", message: "the provider's stream ended before the answer was complete" },
      ]),
    );
  },
);

const text = fc.string({ unit: "grapheme", maxLength: 20 });

const message = fc.record({
  reasoning_content: fc.option(text),
  content: fc.option(text),
  refusal: fc.option(text),
  tool_calls: fc.option(
    fc.array(fc.record({ custom: fc.boolean(), name: fc.stringMatching(/^[a-z]{1,5}$/), text }), {
      maxLength: 3,
    }),
  ),
});

/** A text in pieces, some of them empty. */
const split = (whole: string, cuts: readonly number[]): string[] => {
  const places = [
    0,
    ...cuts.map((cut) => cut % (whole.length + 1)).sort((a, b) => a - b),
    whole.length,
  ];
  return places.slice(1).map((place, i) => whole.slice(places[i], place));
};

t.test(
  "however a message is split into deltas, its events add up to the complete answer, also for the SDK",
  async () => {
    fc.assert(
      fc.property(
        message,
        fc.array(fc.nat(60), { maxLength: 4 }),
        fc.constantFrom("stop", "length", "content_filter", "tool_calls"),
        ({ reasoning_content, content, refusal, tool_calls }, cuts, reason) => {
          const deltas: Delta[] = [{ role: "assistant", content: "" }];
          const wholeCalls: JsonObject[] = [];
          for (const [name, whole] of Object.entries({ reasoning_content, content, refusal })) {
            if (whole !== null)
              for (const piece of split(whole, cuts)) deltas.push({ [name]: piece });
          }
          (tool_calls ?? []).forEach(({ custom, name, text }, index) => {
            const part = (piece: string) =>
              custom ? { custom: { input: piece } } : { function: { arguments: piece } };
            const id = `call_${index}`;
            wholeCalls.push({
              id,
              ...(custom
                ? { custom: { name, input: text } }
                : { function: { name, arguments: text } }),
            });
            deltas.push({
              tool_calls: [
                {
                  index,
                  id,
                  ...(custom
                    ? { custom: { name, input: "" } }
                    : { function: { name, arguments: "" } }),
                } as never,
              ],
            });
            for (const piece of split(text, cuts))
              deltas.push({ tool_calls: [{ index, ...part(piece) } as never] });
          });
          const events = parsed(streamed([...deltas.map((delta) => chunk(delta)), ...end(reason)]));
          const { steps, last } = accumulated(events);
          assert.deepEqual(
            last,
            plain({ reasoning_content, content, refusal, tool_calls: wholeCalls }, reason),
          );
          assert.deepEqual(steps.output, last.output);
          for (const event of events) if ("delta" in event) assert.notEqual(event.delta, "");
          for (const done of events) {
            if (!done.type.endsWith(".done") || !("item_id" in done) || "part" in done) continue;
            const said = events
              .filter(
                (event) =>
                  event.type === done.type.replace(/done$/, "delta") &&
                  (event as typeof done).item_id === done.item_id,
              )
              .map((event) => (event as { delta: string }).delta);
            const {
              text,
              refusal,
              arguments: args,
              input,
            } = done as { text?: string; refusal?: string; arguments?: string; input?: string };
            assert.equal(said.join(""), text ?? refusal ?? args ?? input);
          }
        },
      ),
      { numRuns: 300 },
    );
  },
);

t.test(
  "a stream that is too large for its last event to repeat ends as a failed response",
  async (t) => {
    const events = responsesToChat.events(context);
    const piece = chunk({ content: "x".repeat(1_000_000) });
    let last: ClientEvent | undefined;
    let pieces = 0;
    while (last?.event !== "response.failed" && pieces < 50) {
      last = events.push(null, piece).at(-1);
      pieces++;
    }
    t.equal(pieces, Math.floor(readableResponseBytesMax / 1_000_000) + 1);
    t.match(JSON.parse(last!.data), {
      response: {
        status: "failed",
        error: {
          message: `an answer larger than ${readableResponseBytesMax} bytes can't be translated`,
        },
      },
    });
    t.same([events.push(null, piece), events.end()], [[], []], "and nothing more is kept");
  },
);

t.test("an empty finish reason, as some hosts send with every piece, ends nothing", async (t) => {
  const empty = { finish_reason: "" };
  const pieces = [chunk({ content: "Good " }, empty), chunk({ content: "day" }, empty)];
  const { last } = accumulated(parsed(streamed([...pieces, ...end("length")])));
  t.match(last, { status: "incomplete", incomplete_details: { reason: "max_output_tokens" } });
});
