import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { createStreamTap, type StreamTap } from "../../../proxy/usage/tap-stream.js";
import { streamEventBytesMax } from "../../../shared/bounds.js";
import type { Operation } from "../../../shared/operation.js";
import { anyText } from "../../support/any-text.js";

/** A chunk as OpenAI writes it when usage is asked for. */
function chunk(
  delta: object,
  finishReason: string | null = null,
  usage: object | null = null,
): string {
  return eventText({
    id: "chatcmpl-1",
    object: "chat.completion.chunk",
    created: 1,
    model: "m",
    choices: [{ index: 0, delta, logprobs: null, finish_reason: finishReason }],
    usage,
  });
}

function eventText(data: object): string {
  return `data: ${JSON.stringify(data)}\n\n`;
}

const usageEvent = eventText({
  id: "chatcmpl-1",
  choices: [],
  usage: { prompt_tokens: 3, completion_tokens: 4, total_tokens: 7 },
});
const doneEvent = "data: [DONE]\n\n";
const noDetails = {
  cachedInputTokens: 0,
  cacheWriteInputTokens: 0,
  reportedCost: null,
  details: null,
  note: null,
};
const seven = { kind: "usage", inputTokens: 3, outputTokens: 4, totalTokens: 7, ...noDetails };

/** What went out, read as Latin-1, so that a cut inside of a character does no harm. */
function output(out: Buffer | readonly Buffer[] | null): string {
  return out === null
    ? ""
    : Buffer.isBuffer(out)
      ? out.toString("latin1")
      : Buffer.concat(out).toString("latin1");
}

/** Pushes the pieces, ends the tap, and returns what went out for each. */
function run(tap: StreamTap, pieces: readonly (string | Buffer)[]): string[] {
  return [...pieces.map((piece) => output(tap.push(Buffer.from(piece)))), output(tap.end())];
}

t.test("bytes pass immediately, as the same Buffers", async (t) => {
  for (const hideUsageChunk of [false, true]) {
    const tap = createStreamTap({ operation: "chat_completions", hideUsageChunk });
    for (const piece of [
      "d",
      "a",
      "ta: {",
      '"choices"',
      ":[]}\n",
      "\n",
      "data: x\r\n\r\n: ping\n\ndata: y",
      "",
    ]) {
      const bytes = Buffer.from(piece);
      t.equal(tap.push(bytes), bytes, JSON.stringify(piece));
    }
    t.equal(tap.end(), null);
  }
});

t.test("without hiding everything passes immediately to the end", async (t) => {
  const tap = createStreamTap({ operation: "chat_completions", hideUsageChunk: false });
  for (const piece of [
    chunk({ content: "a" }),
    chunk({}, "stop"),
    usageEvent.slice(0, 30),
    usageEvent.slice(30),
    doneEvent,
  ]) {
    const bytes = Buffer.from(piece);
    t.equal(tap.push(bytes), bytes);
  }
  t.equal(tap.end(), null);
  t.same(tap.usage, seven);
  t.equal(tap.hasSeenError, false);
});

t.test(
  "after a finish_reason events go out when they are complete, and the usage chunk doesn't",
  async (t) => {
    const tap = createStreamTap({ operation: "chat_completions", hideUsageChunk: true });
    const finish = chunk({}, "stop");
    const pieces = [
      chunk({ content: "a" }),
      finish.slice(0, 40),
      finish.slice(40),
      ": pi",
      "ng\n",
      "\n",
      usageEvent.slice(0, 50),
      usageEvent.slice(50),
      "data: [DO",
      "NE]\n\n",
    ];
    t.same(run(tap, pieces), [
      chunk({ content: "a" }),
      finish.slice(0, 40),
      finish.slice(40),
      "",
      "",
      ": ping\n\n",
      "",
      "",
      "",
      doneEvent,
      "",
    ]);
    t.same(tap.usage, seven);
  },
);

t.test("a complete event in one piece after a finish_reason is the same Buffer", async (t) => {
  const tap = createStreamTap({ operation: "chat_completions", hideUsageChunk: true });
  tap.push(Buffer.from(chunk({}, "stop")));
  const event = Buffer.from(chunk({}, null) + doneEvent);
  t.equal(tap.push(event), event);
});

t.test("the usage chunk is cut out of the middle of a piece", async (t) => {
  const head = chunk({ content: "a" }) + chunk({}, "stop");
  t.same(
    run(createStreamTap({ operation: "chat_completions", hideUsageChunk: true }), [
      head + usageEvent + doneEvent,
    ]),
    [head + doneEvent, ""],
  );
  t.same(
    run(createStreamTap({ operation: "chat_completions", hideUsageChunk: true }), [
      head + usageEvent,
    ]),
    [head, ""],
  );
  t.same(
    run(createStreamTap({ operation: "chat_completions", hideUsageChunk: true }), [
      head,
      usageEvent,
    ]),
    [head, "", ""],
  );
  t.same(
    run(createStreamTap({ operation: "chat_completions", hideUsageChunk: true }), [
      `${head + usageEvent}data: [`,
      "DONE]\n\n",
    ]),
    [head, doneEvent, ""],
  );
});

t.test("an incomplete event goes out at the end, unless it is the usage chunk", async (t) => {
  const head = chunk({}, "stop");
  t.same(
    run(createStreamTap({ operation: "chat_completions", hideUsageChunk: true }), [
      head,
      "data: [DONE]",
    ]),
    [head, "", "data: [DONE]"],
  );
  t.same(
    run(createStreamTap({ operation: "chat_completions", hideUsageChunk: true }), [
      head,
      "data: [DONE]\n",
    ]),
    [head, "", "data: [DONE]\n"],
  );
  t.same(
    run(createStreamTap({ operation: "chat_completions", hideUsageChunk: true }), [
      head,
      usageEvent.slice(0, 40),
    ]),
    [head, "", usageEvent.slice(0, 40)],
  );
  t.same(
    run(createStreamTap({ operation: "chat_completions", hideUsageChunk: true }), [
      head,
      usageEvent.trimEnd(),
    ]),
    [head, "", ""],
  );
  const tap = createStreamTap({ operation: "chat_completions", hideUsageChunk: false });
  t.same(run(tap, [head, usageEvent.trimEnd()]), [head, usageEvent.trimEnd(), ""]);
  t.same(tap.usage, seven);
});

t.test(
  "only a chunk with empty choices and a usage object is hidden from the client",
  async (t) => {
    const kept = [
      chunk({ content: "late" }, null, { total_tokens: 7 }),
      'data: {"choices":[],"usage":null}\n\n',
      'data: {"choices":[],"usage":[]}\n\n',
      'data: {"usage":{"total_tokens":7}}\n\n',
      'data: {"choices":[],"usage":{"total_tokens":7},"error":{"message":"cut"}}\n\n',
      'data: {"choices":[],"nested":{"usage":{"total_tokens":7}}}\n\n',
      'data: {"choices":[],"usage":{"total_tokens":7}\n\n',
      ': {"choices":[],"usage":{"total_tokens":7}}\n\n',
      'other: {"choices":[],"usage":{"total_tokens":7}}\n\n',
      "\n",
      "\r\n",
    ];
    const hidden = [
      usageEvent,
      usageEvent.replaceAll("\n", "\r\n"),
      'data:{"choices":[],"usage":{"total_tokens":7}}\n\n',
      'data: { "choices" : [ ] , "usage" : { "total_tokens" : 7 } }\r\n\n',
      'event: chunk\nid: 7\ndata: {"choices":[],"usage":{"total_tokens":7}}\n\n',
      'data: {"choices":[],\ndata: "usage":{"total_tokens":7}}\n\n',
      'data: {"choices":[],"usage":{},"error":null}\n\n',
    ];
    for (const event of kept)
      t.same(
        run(createStreamTap({ operation: "chat_completions", hideUsageChunk: true }), [
          chunk({}, "stop"),
          event,
        ]).join(""),
        chunk({}, "stop") + event,
        event,
      );
    for (const event of hidden)
      t.same(
        run(createStreamTap({ operation: "chat_completions", hideUsageChunk: true }), [
          chunk({}, "stop"),
          event,
        ]).join(""),
        chunk({}, "stop"),
        event,
      );
    for (const event of hidden)
      t.same(
        run(createStreamTap({ operation: "chat_completions", hideUsageChunk: true }), [
          chunk({}),
          event,
        ]).join(""),
        chunk({}) + event,
        `before a finish_reason: ${event}`,
      );
  },
);

t.test("a finish_reason is a key with a text that isn't empty", async (t) => {
  const finishing = ['{"finish_reason":"stop"}', '{"finish_reason" : "length"}'];
  const going = [
    '{"finish_reason":null}',
    '{"finish_reason":""}',
    '{"content":"\\"finish_reason\\":\\"stop\\""}',
    '{"content":"finish_reason"}',
  ];
  for (const data of finishing)
    t.equal(
      run(createStreamTap({ operation: "chat_completions", hideUsageChunk: true }), [
        `data: ${data}\n\n`,
        "data: x",
      ])[1],
      "",
      data,
    );
  for (const data of going)
    t.equal(
      run(createStreamTap({ operation: "chat_completions", hideUsageChunk: true }), [
        `data: ${data}\n\n`,
        "data: x",
      ])[1],
      "data: x",
      data,
    );
});

t.test("the last usage wins, and events without one don't change it", async (t) => {
  const tap = createStreamTap({ operation: "chat_completions", hideUsageChunk: false });
  t.same(tap.usage, { kind: "absent" });
  tap.push(Buffer.from(chunk({ content: "a" }, null, { prompt_tokens: 3, completion_tokens: 1 })));
  t.same(tap.usage, {
    kind: "usage",
    inputTokens: 3,
    outputTokens: 1,
    totalTokens: 4,
    ...noDetails,
  });
  tap.push(
    Buffer.from(
      chunk({ content: "a" }, null, { prompt_tokens: 3, completion_tokens: 2 }) +
        chunk({}, "stop", {}) +
        doneEvent,
    ),
  );
  t.same(tap.usage, {
    kind: "usage",
    inputTokens: 3,
    outputTokens: 2,
    totalTokens: 5,
    ...noDetails,
  });
  tap.push(Buffer.from(chunk({}, null, { total_tokens: -1 })));
  t.match(
    tap.usage,
    { kind: "usage", totalTokens: 5 },
    "a total that makes no sense doesn't take the counts back",
  );
  tap.push(Buffer.from(chunk({}, null, { prompt_tokens: -1 })));
  t.equal(tap.usage.kind, "invalid");
});

t.test("an error is seen when it is an object or a text at the top", async (t) => {
  const errors = [
    'data: {"error":{}}\n\n',
    'data: {"error" : {"message":"overloaded"}}\n\n',
    'event: error\ndata: {"error":{"message":"x"}}\n\n',
    'data: {"error":{"message":"cut off"}}',
    'data: {"error": "overloaded", "error_type": "x"}\n\n',
    'data: {"object": "error","message":"x"}\n\n',
  ];
  const others = [
    'data: {"error":null}\n\n',
    'data: {"error": ""}\n\n',
    'data: {"choices":[{"error":{}}]}\n\n',
    'data: {"choices":[{"delta":{"error":"text"}}]}\n\n',
    'data: {"choices":[{"delta":{"content":"{\\"error\\":\\"text\\"}"}}]}\n\n',
    'data: {"content":"\\"error\\":{"}\n\n',
    'data: ["error",{"error":{}}]\n\n',
  ];
  for (const [events, expected] of [
    [errors, true],
    [others, false],
  ] as const) {
    for (const event of events) {
      const tap = createStreamTap({ operation: "chat_completions", hideUsageChunk: false });
      run(tap, [event]);
      t.equal(tap.hasSeenError, expected, event);
    }
  }
});

t.test("the text of deltas is counted as it is written in the stream", async (t) => {
  const cases: readonly (readonly [object, number])[] = [
    [{ role: "assistant", content: "" }, 0],
    [{ content: "hello" }, 5],
    [{ content: 'a "b"\n' }, 9],
    [{ content: "你" }, 3],
    [{ content: null, reasoning_content: "think" }, 5],
    [{ reasoning: "think", content: "say" }, 8],
    [{ refusal: "no" }, 2],
    [{ tool_calls: [{ index: 0, function: { name: "f", arguments: '{"a":1}' } }] }, 9],
    [{ content: "the content" }, 11],
    [{ content: '"content":"x"' }, 17],
  ];
  for (const [delta, chars] of cases) {
    const tap = createStreamTap({ operation: "chat_completions", hideUsageChunk: false });
    tap.push(Buffer.from(chunk(delta)));
    t.equal(tap.contentChars, chars, JSON.stringify(delta));
  }
});

t.test("events that aren't JSON, or only look like usage, pass without harm", async (t) => {
  for (const text of [
    'data: {"usage":{"total_tokens":1}\n\n',
    'data: {"content":"never ends\n\n',
    "data: [DONE] not\n\n",
    "data: null\n\n",
    '\u0000\n\n"error":{\n\n',
    "data\n\n",
  ]) {
    const tap = createStreamTap({ operation: "chat_completions", hideUsageChunk: true });
    t.equal(run(tap, [text]).join(""), text);
    t.same([tap.usage.kind, tap.hasSeenError], ["absent", false], text);
  }
});

t.test("the event after an invalid one is read", async (t) => {
  const tap = createStreamTap({ operation: "chat_completions", hideUsageChunk: false });
  run(tap, [
    'data: {"padding":"xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx","content":"never ends\n\n',
    'data: {"usage":{"prompt_tokens":7}}\n\n',
  ]);
  t.same(tap.usage, {
    kind: "usage",
    inputTokens: 7,
    outputTokens: 0,
    totalTokens: 7,
    ...noDetails,
  });
});

const large = `data: {"choices":[{"delta":{"content":"${"x".repeat(streamEventBytesMax)}"},"finish_reason":null}],"usage":null}\n\n`;

t.test(
  "an event that is too large passes immediately; what follows is read and hidden as usual",
  async (t) => {
    const head = chunk({}, "stop");
    for (const pieces of [
      [head + large + usageEvent],
      [head, large, usageEvent],
      [head, large.slice(0, 100), large.slice(100, 2000), large.slice(2000), usageEvent],
      [head + large.slice(0, -1), "\n", usageEvent],
      [large + head, usageEvent],
      [large.slice(0, -1), `\n${head}${usageEvent}`],
    ]) {
      for (const hideUsageChunk of [true, false]) {
        const tap = createStreamTap({ operation: "chat_completions", hideUsageChunk });
        const all = pieces.join("");
        t.ok(
          run(tap, pieces).join("") === (hideUsageChunk ? all.replace(usageEvent, "") : all),
          "only the usage chunk is kept back",
        );
        t.match(tap.usage, seven);
        t.same([tap.contentChars, tap.note], [streamEventBytesMax, null]);
      }
    }
  },
);

t.test(
  "the text of an event that is too large counts, even if it was cut, and pictures don't",
  async (t) => {
    const cases = [
      ["chat_completions", "content", true],
      ["chat_completions", "url", false],
      ["messages", "partial_json", true],
      ["responses", "delta", true],
      ["images", "b64_json", false],
    ] as const;
    for (const [operation, key, counts] of cases) {
      const tap = createStreamTap({ operation, hideUsageChunk: false, eventBytesMax: 1024 });
      tap.push(Buffer.from(`data: {"${key}":"`));
      for (let i = 0; i < 10; i++) tap.push(Buffer.alloc(1000, "x"));
      t.equal(tap.contentChars, counts ? 10_000 : 0, `${operation} ${key}, open`);
      tap.push(Buffer.from('"}\n\n'));
      t.equal(tap.contentChars, counts ? 10_000 : 0, `${operation} ${key}`);
    }
  },
);

t.test(
  "usage, errors and finish reasons are read in events that are too large, cut at every byte",
  async (t) => {
    const b64 = "A".repeat(1100);
    const counts = { input_tokens: 20, output_tokens: 30, total_tokens: 50 };
    const fifty = { kind: "usage", totalTokens: 50 };
    const list = Array.from({ length: 120 }, (_, i) => ({ logprob: -i }));
    const cases: readonly (readonly [
      name: string,
      operation: "responses" | "images" | "chat_completions",
      event: object,
      expected: object,
    ])[] = [
      [
        "a response with a picture",
        "responses",
        {
          type: "response.completed",
          response: { output: [{ result: b64 }], usage: counts, user: null, metadata: {} },
        },
        { usage: fifty, note: null },
      ],
      [
        "usage before the picture",
        "images",
        { usage: counts, b64_json: b64 },
        { usage: fifty, note: null },
      ],
      ["usage behind it", "images", { b64_json: b64, usage: counts }, { usage: fifty, note: null }],
      [
        "a failed response",
        "responses",
        { response: { output: [{ result: b64 }], error: { message: b64 }, usage: counts } },
        { usage: fifty, hasSeenError: true },
      ],
      [
        "a response with many small things",
        "responses",
        { type: "response.completed", response: { output: list, usage: counts, metadata: {} } },
        { usage: fifty, note: null },
      ],
      ["the same, at the top", "images", { list, usage: counts }, { usage: fifty, note: null }],
      [
        "many small things behind the usage",
        "images",
        { usage: counts, list },
        { usage: fifty, note: null },
      ],
      [
        "a name that only looks like it",
        "responses",
        { response: { list, tools: [{ properties: { usage: counts } }] } },
        { usage: { kind: "absent" }, note: null },
      ],
      [
        "what the client has put behind the usage",
        "responses",
        { response: { list, usage: counts, metadata: { usage: "x" }, user: "usage" } },
        { usage: fifty, note: null },
      ],
      [
        "usage of the client's own",
        "responses",
        { response: { list, usage: counts, text: { schema: { usage: { total_tokens: 1 } } } } },
        { usage: fifty, note: null },
      ],
    ];
    for (const [name, operation, event, expected] of cases) {
      for (const [frame, text] of [
        ["one line", `data: ${JSON.stringify(event)}\n\n`],
        ["two", `event: x\r\ndata: ${JSON.stringify(event)}\r\n\r\n`],
      ] as const) {
        const bytes = Buffer.from(text);
        for (let cut = 0; cut <= bytes.length; cut++) {
          const tap = createStreamTap({ operation, hideUsageChunk: false, eventBytesMax: 1024 });
          run(tap, [bytes.subarray(0, cut), bytes.subarray(cut)]);
          if (cut % 997 === 0)
            t.match(
              { usage: tap.usage, note: tap.note, hasSeenError: tap.hasSeenError },
              expected,
              `${name}, ${frame}, ${cut}`,
            );
          else
            assert.equal(
              tap.usage.kind,
              (expected as { usage: { kind: string } }).usage.kind,
              `${name}, ${frame}, ${cut}`,
            );
        }
      }
    }
  },
);

t.test("a usage after an event that couldn't be read removes the note", async (t) => {
  const tap = createStreamTap({
    operation: "chat_completions",
    hideUsageChunk: false,
    eventBytesMax: 1024,
  });
  tap.push(Buffer.from(`data: {"list":[${"1,".repeat(3000)}1]}}\n\n`));
  t.match(tap.note, /larger than 1024 bytes, and no JSON/);
  tap.push(Buffer.from(usageEvent));
  t.equal(tap.note, null);
});

t.test("what is held goes out as soon as it is too large", async (t) => {
  const tap = createStreamTap({ operation: "chat_completions", hideUsageChunk: true });
  tap.push(Buffer.from(chunk({}, "stop")));
  t.equal(tap.push(Buffer.alloc(streamEventBytesMax - 1, "x")), null);
  t.equal(tap.push(Buffer.from("y")), null, "the bound itself is held");
  t.ok(output(tap.push(Buffer.from("z"))) === `${"x".repeat(streamEventBytesMax - 1)}yz`);
});

t.test("a long event of many lines that comes in single bytes is still read", async (t) => {
  const tap = createStreamTap({ operation: "chat_completions", hideUsageChunk: true });
  const event = Buffer.from(`: ${"\n:".repeat(100_000)}\n${usageEvent}`);
  tap.push(Buffer.from(chunk({}, "stop")));
  for (let i = 0; i < event.length; i++) assert.equal(tap.push(event.subarray(i, i + 1)), null);
  t.same(tap.usage, seven);
  t.equal(tap.end(), null);
});

t.test("it doesn't matter where a stream is cut, in two places or in every place", async () => {
  const kept = ['data: {"finish_reason":"stop"}\r\n\r\n', ": p\n\n", "data: [DONE]\r\n\n"] as const;
  const usageOnly = 'data:{"choices":[],"usage":{"total_tokens":7}}\r\n\r\n';
  const bytes = Buffer.from(kept[0] + usageOnly + kept[1] + usageOnly + kept[2]);
  const check = (pieces: readonly Buffer[]): void => {
    const tap = createStreamTap({ operation: "chat_completions", hideUsageChunk: true });
    assert.equal(run(tap, pieces).join(""), kept.join(""));
    assert.equal(tap.usage.kind, "usage");
  };
  for (let first = 0; first <= bytes.length; first++) {
    for (let second = first; second <= bytes.length; second++)
      check([bytes.subarray(0, first), bytes.subarray(first, second), bytes.subarray(second)]);
  }
  check([...bytes].map((byte) => Buffer.from([byte])));
});

/** An event as its lines, and what it means. */
interface EventSpec {
  readonly lines: readonly string[];
  readonly usage?: number;
  readonly usageOnly?: boolean;
  readonly finishes?: boolean;
}

const space = fc.constantFrom("", " ");
const event: fc.Arbitrary<EventSpec> = fc.oneof(
  fc.tuple(anyText({ maxLength: 8 }), space).map(([content, s]) => ({
    lines: [
      `data:${s}${JSON.stringify({
        choices: [{ delta: { content }, finish_reason: null }],
        usage: null,
      })}`,
    ],
  })),
  fc.tuple(space, space).map(([s, u]) => ({
    lines: [`data:${s}{"choices":[{"delta":{},"finish_reason"${u}:${s}"stop"}],"usage":null}`],
    finishes: true,
  })),
  fc.tuple(fc.nat(1000), space, space).map(([usage, s, u]) => ({
    lines: [`data:${s}{"choices":${u}[${s}],${u}"usage"${s}:${u}{"prompt_tokens":${usage}}}`],
    usage,
    usageOnly: true,
  })),
  fc.nat(1000).map((usage) => ({
    lines: [
      "event: chunk",
      `data: {"choices":[{"delta":{}}],`,
      `data: "usage":{"prompt_tokens":${usage}}}`,
    ],
    usage,
  })),
  fc.nat(1000).map((usage) => ({
    lines: [": note", `data: {"choices":[],`, `data: "usage":{"prompt_tokens":${usage}}}`, "id: 1"],
    usage,
    usageOnly: true,
  })),
  fc
    .constantFrom<readonly string[]>(
      [": ping"],
      ["data: [DONE]"],
      ["data"],
      ["\rdata: x"],
      ["event: x", "retry: 3"],
      ['data: {"error":{"message":"x"}}'],
      [],
    )
    .map((lines) => ({ lines })),
);
const lineEnd = fc.constantFrom("\n", "\r\n");
/**
 * Bounds that some of the events outgrow, as they come or by a long text; they may hold one usage
 * chunk, so that it can be hidden.
 */
const bound = fc.constantFrom(streamEventBytesMax, 1024);
const longEvent: fc.Arbitrary<EventSpec> = fc.oneof(
  fc.integer({ min: 900, max: 2500 }).map((length) => ({
    lines: [
      `data: {"choices":[{"delta":{"content":"${"x".repeat(length)}"},"finish_reason":null}]}`,
    ],
  })),
  fc.tuple(fc.integer({ min: 1100, max: 2500 }), fc.nat(1000)).map(([length, usage]) => ({
    lines: [
      "event: image",
      `data: {"b64_json":"${"A".repeat(length)}","usage":{"prompt_tokens":${usage}}}`,
    ],
    usage,
  })),
  fc.integer({ min: 900, max: 2500 }).map((length) => ({
    lines: [
      `data: {"choices":[{"delta":{"content":"${"x".repeat(length)}"},"finish_reason":"stop"}]}`,
    ],
    finishes: true,
  })),
);

t.test(
  "whatever the events and the cuts, exactly the usage chunks after a finish_reason are missing",
  async () => {
    const stream = fc.array(
      fc.tuple(
        fc.oneof({ weight: 4, arbitrary: event }, { weight: 1, arbitrary: longEvent }),
        fc.array(lineEnd, { minLength: 6, maxLength: 6 }),
      ),
      { maxLength: 8 },
    );
    fc.assert(
      fc.property(
        stream,
        fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 }),
        fc.record({ hideUsageChunk: fc.boolean(), openEnd: fc.boolean(), eventBytesMax: bound }),
        (events, at, { hideUsageChunk, openEnd, eventBytesMax }) => {
          const tap = createStreamTap({
            operation: "chat_completions",
            hideUsageChunk,
            eventBytesMax,
          });
          let input = "";
          let expected = "";
          let finished = false;
          let usage: number | null = null;
          events.forEach(([spec, ends], i) => {
            let text = spec.lines.map((line, at) => line + ends[at]!).join("");
            // The last event may lack its blank line.
            if (!openEnd || i < events.length - 1) text += ends[5]!;
            input += text;
            if (!(hideUsageChunk && finished && spec.usageOnly === true)) expected += text;
            if (spec.finishes === true) finished = true;
            // A 0 doesn't replace an earlier count.
            if (spec.usage !== undefined) usage = spec.usage === 0 ? (usage ?? 0) : spec.usage;
          });
          const bytes = Buffer.from(input);
          const cuts = [
            0,
            ...at.map((ratio) => Math.floor(ratio * bytes.length)).sort((a, b) => a - b),
            bytes.length,
          ];
          const pieces = cuts.slice(1).map((cut, i) => bytes.subarray(cuts[i], cut));
          assert.equal(run(tap, pieces).join(""), Buffer.from(expected).toString("latin1"));
          assert.deepEqual(
            tap.usage,
            usage === null
              ? { kind: "absent" }
              : {
                  kind: "usage",
                  inputTokens: usage,
                  outputTokens: 0,
                  totalTokens: usage,
                  ...noDetails,
                },
          );
        },
      ),
      { numRuns: 2000 },
    );
  },
);

t.test(
  "usage is found wherever streams have it: Groq, the Responses API, Anthropic's two parts",
  async (t) => {
    const last = (...events: object[]): unknown => {
      const tap = createStreamTap({ operation: "chat_completions", hideUsageChunk: false });
      for (const event of events) tap.push(Buffer.from(`data: ${JSON.stringify(event)}\n\n`));
      return tap.usage;
    };
    const counts = {
      prompt_tokens: 10,
      completion_tokens: 2,
      total_tokens: 12,
      prompt_tokens_details: { cached_tokens: 4 },
    };
    const split = { inputTokens: 10, outputTokens: 2, totalTokens: 12, cachedInputTokens: 4 };
    t.match(last({ choices: [], usage: counts }), split);
    t.match(
      last({
        choices: [{ index: 0, delta: {}, finish_reason: "stop" }],
        x_groq: { id: "req_1", usage: counts },
      }),
      split,
      "Groq",
    );
    t.match(
      last({
        type: "response.completed",
        response: {
          usage: { input_tokens: 10, output_tokens: 2, input_tokens_details: { cached_tokens: 4 } },
        },
      }),
      split,
      "Responses",
    );
    const start = {
      type: "message_start",
      message: {
        usage: {
          input_tokens: 3,
          cache_read_input_tokens: 100,
          cache_creation_input_tokens: 20,
          output_tokens: 1,
        },
      },
    };
    t.match(
      last(start, { type: "message_delta", usage: { output_tokens: 50 } }),
      {
        inputTokens: 123,
        outputTokens: 50,
        totalTokens: 173,
        cachedInputTokens: 100,
        cacheWriteInputTokens: 20,
      },
      "Anthropic",
    );
    t.match(
      last(start, {
        type: "message_delta",
        usage: { input_tokens: 3, cache_read_input_tokens: 90, output_tokens: 5 },
      }),
      { inputTokens: 113, outputTokens: 5, cacheWriteInputTokens: 20 },
      "what a later one leaves out is as it was",
    );
  },
);

t.test(
  "the text of a large event counts as it comes, and is what came since the usage",
  async (t) => {
    const tap = createStreamTap({
      operation: "chat_completions",
      hideUsageChunk: false,
      eventBytesMax: 20_000,
    });
    tap.push(Buffer.from(chunk({ content: "abc" }) + usageEvent + chunk({ content: "de" })));
    t.same([tap.contentChars, tap.contentCharsSinceUsage], [5, 2]);
    tap.push(Buffer.from(`data: {"choices":[{"delta":{"content":"${"x".repeat(30_000)}`));
    t.same([tap.contentChars, tap.contentCharsSinceUsage], [30_005, 30_002]);
    tap.push(Buffer.from('y"}}]}\n\n'));
    t.same([tap.contentChars, tap.contentCharsSinceUsage], [30_006, 30_003]);
  },
);

t.test(
  "a stream is read whatever ends its lines, with a byte order mark or without, wherever it is cut",
  async (t) => {
    const named = (event: string, data: object): string => `event: ${event}\n${eventText(data)}`;
    const streams: Readonly<Record<string, readonly [Operation, string]>> = {
      chat: [
        "chat_completions",
        `: hi\n\n${chunk({ content: "Hé" })}${chunk({}, "stop")}${usageEvent}${doneEvent}`,
      ],
      "chat in several lines": [
        "chat_completions",
        `data: {"choices": [],\ndata: "usage": {"prompt_tokens": 3,\ndata:\ndata: "completion_tokens": 4}}\n\n`,
      ],
      messages: [
        "messages",
        named("message_start", {
          type: "message_start",
          message: { usage: { input_tokens: 3, output_tokens: 1 } },
        }) +
          named("content_block_delta", {
            type: "content_block_delta",
            delta: { type: "text_delta", text: "Hi" },
          }) +
          named("message_delta", { type: "message_delta", usage: { output_tokens: 4 } }),
      ],
      responses: [
        "responses",
        named("response.output_text.delta", { type: "response.output_text.delta", delta: "Hi" }) +
          named("response.completed", {
            type: "response.completed",
            response: { usage: { input_tokens: 3, output_tokens: 4, total_tokens: 7 } },
          }),
      ],
      google: [
        "stream_generate_content",
        eventText({
          candidates: [{ content: { parts: [{ text: "Hi" }] } }],
          usageMetadata: { promptTokenCount: 3, candidatesTokenCount: 4, totalTokenCount: 7 },
        }),
      ],
    };
    const largeEvent = (end: string): string =>
      named("message_delta", {
        padding: "x".repeat(300),
        usage: { input_tokens: 3, output_tokens: 4 },
      }).replaceAll("\n", end);
    for (const end of ["\n", "\r\n", "\r"])
      for (const size of [1, 7, 1000]) {
        const tap = createStreamTap({
          operation: "messages",
          hideUsageChunk: false,
          eventBytesMax: 100,
        });
        const text = Buffer.from(largeEvent(end));
        for (let at = 0; at < text.length; at += size) tap.push(text.subarray(at, at + size));
        tap.end();
        t.match(tap.usage, { inputTokens: 3, outputTokens: 4 }, `${JSON.stringify(end)}, large`);
      }
    const plain = ({ usage, contentChars, hasSeenError, note }: StreamTap): object => ({
      ...{ usage, contentChars, hasSeenError, note },
    });
    for (const [name, [operation, text]] of Object.entries(streams))
      for (const hideUsageChunk of [false, true]) {
        const inLf = createStreamTap({ operation, hideUsageChunk });
        const passed = run(inLf, [text]).join("");
        const expected = plain(inLf);
        t.match(expected, { usage: { kind: "usage", inputTokens: 3, outputTokens: 4 } }, name);
        for (const end of ["\r\n", "\r", "\n"])
          for (const mark of ["", "\ufeff"]) {
            const bytes = Buffer.from(mark + text.replaceAll("\n", end));
            const out = (mark + Buffer.from(passed, "latin1").toString()).replaceAll("\n", end);
            const cuts = [...bytes.keys()].map((at) => [bytes.subarray(0, at), bytes.subarray(at)]);
            for (const pieces of [
              [bytes],
              [...bytes].map((byte) => Buffer.from([byte])),
              ...cuts,
            ]) {
              const tap = createStreamTap({ operation, hideUsageChunk });
              const sent = run(tap, pieces).join("");
              assert.deepEqual(plain(tap), expected, `${name} ${JSON.stringify(mark + end)}`);
              assert.equal(Buffer.from(sent, "latin1").toString(), out);
            }
          }
      }
  },
);

t.test(
  "with wholeEvents an event passes once it is complete, wherever the chunks end",
  async (t) => {
    const events = [chunk({ content: "one" }), chunk({}, "stop"), usageEvent, doneEvent];
    const whole = Buffer.from(events.join(""));
    for (const hideUsageChunk of [false, true])
      for (const bytes of [1, 7, 100, whole.length]) {
        const options = {
          operation: "chat_completions",
          hideUsageChunk,
          passesWholeEvents: true,
        } as const;
        const tap = createStreamTap(options);
        let sent = "";
        for (let at = 0; at < whole.length; at += bytes) {
          sent += output(tap.push(whole.subarray(at, at + bytes)));
          t.ok(sent === "" || sent.endsWith("\n\n"), "only complete events");
          t.ok(tap.isBetweenEvents);
        }
        sent += output(tap.end());
        const passed = hideUsageChunk ? events.filter((event) => event !== usageEvent) : events;
        t.equal(sent, passed.join(""));
      }
  },
);

t.test("an incomplete event can be dropped, so that another one follows", async (t) => {
  const options = {
    operation: "chat_completions",
    hideUsageChunk: false,
    passesWholeEvents: true,
  } as const;
  for (const incomplete of ["data: {", "data: {}\n", "data: {}\r", ": note\r\n"]) {
    const tap = createStreamTap(options);
    t.equal(
      output(tap.push(Buffer.from(chunk({ content: "one" }) + incomplete))),
      chunk({ content: "one" }),
    );
    tap.dropIncomplete();
    t.equal(output(tap.push(Buffer.from(chunk({}, "length")))), chunk({}, "length"), incomplete);
    t.ok(tap.finished);
    t.equal(tap.contentChars, 3);
  }
});

t.test(
  "a large event passes as it comes, and until its end the tap is within an event",
  async (t) => {
    const options = {
      operation: "chat_completions",
      hideUsageChunk: false,
      passesWholeEvents: true,
    } as const;
    const tap = createStreamTap({ ...options, eventBytesMax: 20 });
    const large = chunk({ content: "x".repeat(50) });
    t.equal(output(tap.push(Buffer.from(large.slice(0, 60)))), large.slice(0, 60));
    t.notOk(tap.isBetweenEvents);
    t.equal(output(tap.push(Buffer.from(large.slice(60)))), large.slice(60));
    t.ok(tap.isBetweenEvents);
  },
);
