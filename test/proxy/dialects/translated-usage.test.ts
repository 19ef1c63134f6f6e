import t from "tap";
import {
  chatToMessages,
  googleStreamToChat,
  messagesToChat,
  responsesToChat,
} from "../../../proxy/dialects/choose-dialect.js";
import { composeTranslations } from "../../../proxy/dialects/compose-translations.js";
import { chatServiceTier, messagesUsage } from "../../../proxy/dialects/shared/translate-usage.js";
import type { Translation } from "../../../proxy/dialects/shared/translation.js";
import { createAnswerTranslator } from "../../../proxy/dialects/translate-answer.js";
import { translatedUpstream } from "../../../proxy/dialects/translated-upstream.js";
import { forward } from "../../../proxy/upstream/forward.js";
import type { ForwardResult } from "../../../proxy/upstream/forwarded.js";
import type { UpstreamSink } from "../../../proxy/upstream/upstream.js";
import { FakeExchange } from "../fake-exchange.js";
import { context } from "./sample-answers.js";

const promptBytes = 400;

interface Script {
  readonly operation: "chat_completions" | "messages" | "responses" | "stream_generate_content";
  /** Null: the client speaks the provider's dialect. */
  readonly translation: Translation | null;
  /** A complete answer, or the events of a stream; a string is sent unchanged. */
  readonly sent: object | string | readonly (object | string)[];
  /** How it ends. `left`: the client leaves. */
  readonly ends?: "complete" | "left" | "broken";
  /** Whether another target could answer instead. */
  readonly holdsHead?: boolean;
  /** What others leave of the memory. */
  readonly memoryLeft?: number;
}

/** Of a translated stream. */
const eventCharsMax = 20_000;

/** The charge for a provider's answer that the client gets in another dialect. */
async function chargedFor({
  operation,
  translation,
  sent,
  ends = "complete",
  holdsHead = false,
  memoryLeft = 1e9,
}: Script): Promise<ForwardResult & { /** What the client got. */ readonly body: string }> {
  const exchange = new FakeExchange({ path: `/v1/${operation}` });
  const others = exchange.fillMemory(memoryLeft);
  let sink: UpstreamSink | null = null;
  const upstream = {
    send: (_: unknown, to: UpstreamSink) => {
      sink = to;
      return { isSent: true, pause() {}, resume() {}, abort() {} };
    },
    redact: (text: string) => text,
    close: () => Promise.resolve(),
  };
  const isStream = Array.isArray(sent);
  const translator =
    translation === null
      ? null
      : createAnswerTranslator(
          translation,
          { ...context, request: { stream: isStream } },
          { memory: exchange.memory, eventCharsMax },
        );
  const request = {
    method: "POST" as const,
    path: "/x",
    headers: [],
    body: Buffer.from("{}"),
    isRepeatable: true,
  };
  const promise = forward(exchange, {
    upstream: translator === null ? upstream : translatedUpstream(upstream, translator),
    provider: "p",
    request,
    headers: [],
    operation,
    translator,
    hideUsageChunk: false,
    promptBytes: () => promptBytes,
    holdsHead,
    monoMs: () => 1,
  });
  sink!.onHead(200, ["content-type", isStream ? "text/event-stream" : "application/json"]);
  for (const one of isStream ? (sent as readonly (object | string)[]) : [sent]) {
    const text = typeof one === "string" ? one : JSON.stringify(one);
    sink!.onData(Buffer.from(isStream ? `data: ${text}\n\n` : text));
  }
  if (ends === "left") exchange.leave();
  else if (ends === "broken") sink!.onFailure({ kind: "broken", reason: "ECONNRESET" });
  else sink!.onEnd();
  const forwarded = await promise;
  forwarded.finish();
  exchange.memory.onHandlerEnd();
  exchange.memory.onResponseEnd();
  if (exchange.ledger.held !== others) throw new Error("memory is still taken");
  return { ...forwarded, body: exchange.body.toString() };
}

const answer = (usage?: unknown): object => ({
  id: "c",
  choices: [
    { index: 0, message: { role: "assistant", content: "12345678" }, finish_reason: "stop" },
  ],
  usage,
});
const chunks = (usage?: unknown): object[] => [
  {
    choices: [{ index: 0, delta: { role: "assistant", content: "12345678" }, finish_reason: null }],
  },
  { choices: [{ index: 0, delta: {}, finish_reason: "stop" }] },
  ...(usage === undefined ? [] : [{ choices: [], usage }]),
];
const reported = {
  prompt_tokens: 10,
  completion_tokens: 5,
  prompt_tokens_details: { cached_tokens: 4 },
  cost: 0.25,
};
const clients = [
  { operation: "messages", translation: messagesToChat },
  { operation: "responses", translation: responsesToChat },
] as const;

t.test(
  "the usage that a provider reports is charged, with its cost, whatever fields the client's dialect has",
  async (t) => {
    for (const client of clients) {
      for (const sent of [answer(reported), chunks(reported)]) {
        const { usage, estimated } = await chargedFor({ ...client, sent });
        t.match(
          usage,
          { inputTokens: 10, outputTokens: 5, cachedInputTokens: 4, reportedCost: 250_000_000_000 },
          client.operation,
        );
        t.equal(estimated, false);
      }
    }
  },
);

t.test(
  "an answer without valid usage is charged with an estimate, not with the zeros that an Anthropic client sees",
  async (t) => {
    for (const client of clients) {
      for (const sent of [answer(), chunks(), chunks(null)]) {
        const { usage, estimated, note } = await chargedFor({ ...client, sent });
        t.equal(usage!.inputTokens, promptBytes / 4, client.operation);
        t.ok(usage!.outputTokens >= 2);
        t.same([estimated, note], [true, null]);
      }
      for (const sent of [answer({ prompt_tokens: -5 }), chunks({ prompt_tokens: -5 })]) {
        t.match(
          await chargedFor({ ...client, sent }),
          {
            usage: { inputTokens: promptBytes / 4 },
            estimated: true,
            note: /^usage not charged: prompt_tokens/,
          },
          client.operation,
        );
      }
    }
  },
);

t.test("a client that leaves a translated stream is charged for what had arrived", async (t) => {
  for (const client of clients) {
    t.match(
      await chargedFor({ ...client, sent: chunks().slice(0, 1), ends: "left" }),
      {
        usage: { inputTokens: promptBytes / 4, outputTokens: 2 },
        estimated: true,
        outcome: "client_gone",
      },
      client.operation,
    );
  }
});

t.test("what a translation holds back is charged, too, if the client leaves", async (t) => {
  const call = (index: number, text: string): object => ({
    choices: [
      {
        index: 0,
        delta: {
          tool_calls: [
            { index, id: `call_${index}`, function: { name: "lookup", arguments: text } },
          ],
        },
        finish_reason: null,
      },
    ],
  });
  const open = `{"text": "${"x".repeat(390)}`;
  // Gemini's API has whole calls; the others have one call after the other.
  const ofGoogle = {
    operation: "stream_generate_content" as const,
    translation: googleStreamToChat,
    sent: [call(0, open), call(1, open)],
  };
  for (const script of [ofGoogle, ...clients.map((c) => ({ ...c, sent: ofGoogle.sent }))]) {
    const { usage } = await chargedFor({ ...script, ends: "left" });
    const tokens = usage!.outputTokens;
    t.ok(tokens >= 200 && tokens < 220, `${script.operation}: ${tokens}`);
  }
  const whole = [call(0, `${open}"}`), call(1, open)];
  const { usage } = await chargedFor({ ...ofGoogle, sent: whole, ends: "left" });
  t.ok(usage!.outputTokens >= 200 && usage!.outputTokens < 220, "a call counts once");
});

const begun = [
  {
    type: "message_start",
    message: {
      id: "m",
      role: "assistant",
      usage: { input_tokens: 100, cache_read_input_tokens: 600, output_tokens: 1 },
    },
  },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "12345678" } },
];

t.test(
  "for a cut-off Anthropic stream the input is known from its start; the output is estimated",
  async (t) => {
    const throughChat = composeTranslations(responsesToChat, chatToMessages);
    for (const client of [
      { operation: "chat_completions", translation: chatToMessages },
      { operation: "responses", translation: throughChat },
    ] as const) {
      t.match(
        await chargedFor({ ...client, sent: begun, ends: "left" }),
        {
          usage: { inputTokens: 700, cachedInputTokens: 600, outputTokens: 2, totalTokens: 702 },
          estimated: true,
        },
        client.operation,
      );
    }
  },
);

const cached = { input_tokens: 100, cache_read_input_tokens: 600, output_tokens: 5 };
const chargedCached = { inputTokens: 700, cachedInputTokens: 600, outputTokens: 5 };
const video = {
  id: "m",
  type: "message",
  role: "assistant",
  content: [{ type: "video" }],
  stop_reason: "end_turn",
};
const guessed = (bytes: number): object => ({
  inputTokens: promptBytes / 4,
  outputTokens: Math.ceil((promptBytes + bytes) / 4) - promptBytes / 4,
});
const toChat = { operation: "chat_completions", translation: chatToMessages } as const;

t.test(
  "an answer that can't be translated is a 502 and is charged, with its usage or else an estimate; no other target is tried",
  async (t) => {
    const table: readonly (readonly [
      what: string,
      sent: object | string,
      usage: object,
      estimated: boolean,
    ])[] = [
      [
        "a block that chat completions have no place for",
        { ...video, usage: cached },
        chargedCached,
        false,
      ],
      ["the same, without usage", video, guessed(JSON.stringify(video).length), true],
      [
        "the same, with nonsense for a usage",
        { ...video, usage: { input_tokens: -1 } },
        guessed(JSON.stringify({ ...video, usage: { input_tokens: -1 } }).length),
        true,
      ],
      [
        "another dialect",
        answer({ prompt_tokens: 10, completion_tokens: 5 }),
        { inputTokens: 10, outputTokens: 5 },
        false,
      ],
      [
        "two answers in one",
        `{}{"id":"m","usage":${JSON.stringify(cached)}}`,
        chargedCached,
        false,
      ],
      ["what is JSON in Python alone", '{"content":[NaN]}', guessed(17), true],
      ["a list", JSON.stringify([{ ...video, usage: cached }]), chargedCached, false],
    ];
    for (const [what, sent, usage, estimated] of table) {
      for (const holdsHead of [false, true]) {
        const forwarded = await chargedFor({ ...toChat, sent, holdsHead });
        t.match(
          forwarded,
          {
            status: 502,
            outcome: "upstream_error",
            usage,
            estimated,
            executed: true,
            failed: null,
            note: /./,
          },
          what,
        );
      }
    }
  },
);

t.test(
  "when the answer is no valid answer at all, another target is tried, and nothing is charged",
  async (t) => {
    for (const sent of [
      "<html>12345678</html>",
      '{"content":[{"type":"text","text":"hi',
      "",
      " ",
      "null",
      JSON.stringify("text"),
    ]) {
      t.match(
        await chargedFor({ ...toChat, sent, holdsHead: true }),
        {
          status: 502,
          outcome: "upstream_error",
          usage: null,
          estimated: false,
          failed: { status: 502, isAnswered: true },
        },
        sent,
      );
    }
  },
);

t.test(
  "when an answer ends in a failure that the client's dialect can't represent, another target is tried",
  async (t) => {
    const failed = {
      choices: [
        { index: 0, message: { role: "assistant", content: "12" }, finish_reason: "error" },
      ],
      usage: reported,
    };
    t.match(
      await chargedFor({
        operation: "messages",
        translation: messagesToChat,
        sent: failed,
        holdsHead: true,
      }),
      {
        status: 502,
        usage: { inputTokens: 10, outputTokens: 5 },
        failed: { status: 502, why: "the provider ended its answer with an error" },
      },
    );
  },
);

t.test("an error in place of an answer isn't metered", async (t) => {
  const sent = {
    type: "error",
    error: { type: "overloaded_error", message: "busy" },
    usage: cached,
  };
  t.match(await chargedFor({ ...toChat, sent }), {
    usage: null,
    estimated: false,
    outcome: "upstream_error",
    failed: {},
  });
  t.match(
    await chargedFor({ ...toChat, sent: [sent], holdsHead: true }),
    { usage: null, estimated: false, outcome: "upstream_error", failed: {} },
    "at the beginning of a stream",
  );
});

t.test(
  "a stream that can't be translated is charged for what had arrived, wherever that happens",
  async (t) => {
    const first: readonly (readonly [what: string, sent: object | string])[] = [
      ["no JSON", "{"],
      [
        "a shape of another dialect",
        { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "hi" } },
      ],
    ];
    for (const [what, one] of first) {
      for (const holdsHead of [false, true])
        t.match(
          await chargedFor({ ...toChat, sent: [one, ...begun], holdsHead }),
          {
            status: holdsHead ? 502 : 200,
            outcome: "upstream_error",
            usage: guessed(0),
            estimated: true,
            failed: null,
          },
          what,
        );
    }
    t.match(await chargedFor({ ...toChat, sent: [...begun, "{", ...begun] }), {
      status: 200,
      outcome: "upstream_error",
      usage: { inputTokens: 700, outputTokens: 2 },
      estimated: true,
    });
    t.match(
      await chargedFor({
        ...toChat,
        sent: [...begun, { type: "message_delta", delta: {}, usage: { output_tokens: 90 } }, "{"],
      }),
      { usage: { inputTokens: 700, outputTokens: 90 }, estimated: true },
    );
  },
);

t.test(
  "an event that is too large to be translated ends the stream with an error in the client's dialect, and its text is charged",
  async (t) => {
    const message = `an event of the provider's stream is larger than ${eventCharsMax} characters`;
    const delta = (value: object): object => ({
      choices: [{ index: 0, delta: value, finish_reason: null }],
    });
    const long = "x".repeat(eventCharsMax);
    const first = delta({ role: "assistant", content: "12345678" });
    const throughChat = composeTranslations(responsesToChat, chatToMessages);
    const anthropicLong = {
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text: long },
    };
    const table: readonly (readonly [
      client: Pick<Script, "operation" | "translation">,
      sent: readonly object[],
      error: RegExp,
      text: boolean,
    ])[] = [
      [
        toChat,
        [...begun, anthropicLong],
        /data: \{"error":\{"type":"provider_error","message":"an event of.*\}\n\n$/,
        true,
      ],
      [
        { operation: "responses", translation: throughChat },
        [...begun, anthropicLong],
        /event: response.failed\ndata: .*"message":"an event of.*\}\n\n$/,
        true,
      ],
      [
        clients[0],
        [first, delta({ content: long })],
        /event: error\ndata: \{"type":"error","error":\{"type":"api_error","message":"an event of.*\}\n\n$/,
        true,
      ],
      [
        clients[1],
        [first, delta({ content: long })],
        /event: response.failed\ndata: .*"message":"an event of.*\}\n\n$/,
        true,
      ],
      [
        clients[0],
        [first, delta({ images: [{ image_url: { url: long } }] })],
        /event: error\n/,
        false,
      ],
    ];
    for (const [client, sent, error, text] of table) {
      const { body, usage, status, outcome, estimated, note } = await chargedFor({
        ...client,
        sent,
      });
      t.equal(note, message);
      t.same([status, outcome, estimated], [200, "upstream_error", true], client.operation);
      t.match(body, error);
      t.ok(body.includes(message) && body.includes("12345678"));
      t.equal(usage!.outputTokens > eventCharsMax / 5, text, "as text; a picture isn't");
      const atOnce = await chargedFor({ ...client, sent: sent.slice(-1), holdsHead: true });
      t.match(atOnce, {
        status: 502,
        outcome: "upstream_error",
        estimated: true,
        failed: null,
        usage: { inputTokens: promptBytes / 4 },
      });
      t.ok(atOnce.body.includes(message), atOnce.body.slice(0, 200));
    }
  },
);

t.test("what can't be kept for want of memory ends in an error, and is charged", async (t) => {
  const content = "x".repeat(9000);
  const message = "there is no memory for";
  const stream = [
    { choices: [{ index: 0, delta: { role: "assistant", content }, finish_reason: null }] },
    { choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage: reported },
  ];
  const plain = {
    id: "c",
    choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
    usage: reported,
  };
  for (const client of clients) {
    const short = await chargedFor({ ...client, sent: plain, memoryLeft: 8000 });
    t.match(short, { status: 502, outcome: "upstream_error", estimated: true }, client.operation);
    t.match(short.body, message);
    t.match(await chargedFor({ ...client, sent: plain, memoryLeft: 40_000 }), { status: 200 });
  }
  const [, responses] = clients;
  const streamed = await chargedFor({ ...responses, sent: stream, memoryLeft: 8000 });
  t.match(streamed, { status: 200, outcome: "upstream_error", estimated: true });
  t.match(streamed.body, /event: response.failed\ndata: .*there is no memory for/);
  t.match(await chargedFor({ ...responses, sent: stream, memoryLeft: 40_000 }), {
    outcome: "complete",
    usage: { inputTokens: 10, outputTokens: 5 },
  });
});

t.test(
  "when a stream is empty, or breaks off before any content, another target is tried; a break costs the prompt",
  async (t) => {
    for (const translation of [
      chatToMessages,
      composeTranslations(responsesToChat, chatToMessages),
    ]) {
      for (const sent of [[], [{ type: "ping" }]]) {
        for (const ends of ["complete", "broken"] as const)
          t.match(
            await chargedFor({
              operation: "chat_completions",
              translation,
              sent,
              ends,
              holdsHead: true,
            }),
            { usage: ends === "broken" ? { outputTokens: 0 } : null, failed: {} },
          );
      }
    }
  },
);

t.test(
  "a client that leaves, and a provider that breaks off, in the middle of a non-streamed answer are distinguished",
  async (t) => {
    t.match(await chargedFor({ ...toChat, sent: "12345678", ends: "left" }), {
      status: 499,
      usage: guessed(8),
      estimated: true,
    });
    t.match(await chargedFor({ ...toChat, sent: "12345678", ends: "broken" }), {
      status: 502,
      usage: guessed(8),
      failed: {},
    });
  },
);

/** The events of one answer of Anthropic's, and of a chat provider, that tell these usages. */
const messagesWithUsage = (first: object, last: object): object[] => [
  { type: "message_start", message: { id: "m", role: "assistant", usage: first } },
  { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
  { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "12345678" } },
  { type: "content_block_stop", index: 0 },
  { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: last },
  { type: "message_stop" },
];
const chunksWithUsage = (...usages: (object | null)[]): object[] =>
  usages.map((usage, i) => ({
    id: "c",
    choices: [
      {
        index: 0,
        delta: { content: "1234" },
        finish_reason: i === usages.length - 1 ? "stop" : null,
      },
    ],
    usage,
  }));

t.test("a stream is charged the same, whether it is translated or not", async (t) => {
  const start = { input_tokens: 100, cache_read_input_tokens: 600, output_tokens: 1 };
  const ends = [
    { output_tokens: 20 },
    { input_tokens: 100, output_tokens: 20 },
    { input_tokens: null, cache_read_input_tokens: null, output_tokens: 20 },
    { input_tokens: 0, cache_read_input_tokens: 0, output_tokens: 20 },
  ];
  const native = { translation: null, operation: "messages" } as const;
  for (const last of ends) {
    for (const client of [
      native,
      toChat,
      {
        operation: "responses",
        translation: composeTranslations(responsesToChat, chatToMessages),
      } as const,
    ]) {
      t.match(
        await chargedFor({ ...client, sent: messagesWithUsage(start, last) }),
        { usage: { inputTokens: 700, cachedInputTokens: 600, outputTokens: 20 }, estimated: false },
        `${client.operation}: ${JSON.stringify(last)}`,
      );
    }
  }
  const running = [
    {
      prompt_tokens: 10,
      completion_tokens: 1,
      total_tokens: 11,
      prompt_tokens_details: { cached_tokens: 4 },
    },
    { prompt_tokens: 10, completion_tokens: 2, total_tokens: 15 },
    { prompt_tokens: 0, completion_tokens: 0, total_tokens: 0 },
  ];
  for (const client of [
    { translation: null, operation: "chat_completions" } as const,
    ...clients,
  ]) {
    t.match(
      await chargedFor({ ...client, sent: chunksWithUsage(null, ...running) }),
      { usage: { inputTokens: 10, cachedInputTokens: 4, outputTokens: 5 }, estimated: false },
      client.operation,
    );
  }
});

t.test(
  "a cut-off stream with running usage isn't charged twice for the text that the usage already includes",
  async (t) => {
    const running = [5, 10, 20].map((tokens) => ({
      prompt_tokens: 10,
      completion_tokens: tokens,
      total_tokens: 10 + tokens,
    }));
    for (const client of [
      { translation: null, operation: "chat_completions" } as const,
      ...clients,
    ]) {
      t.match(
        await chargedFor({
          ...client,
          sent: chunksWithUsage(...running, null).slice(0, 3),
          ends: "left",
        }),
        { usage: { inputTokens: 10, outputTokens: 20 }, estimated: true, outcome: "client_gone" },
        client.operation,
      );
    }
  },
);

t.test("a tier has the client's name for it", async (t) => {
  for (const [usage, tier] of [
    [{ service_tier: "standard" }, "default"],
    [{ service_tier: "priority" }, "priority"],
    [{ service_tier: "standard", speed: "fast" }, "priority"],
    [{ service_tier: "batch" }, undefined],
    [null, undefined],
  ] as const)
    t.equal(chatServiceTier(usage), tier, JSON.stringify(usage));
  for (const [tier, expected] of [
    ["default", "standard"],
    ["priority", "priority"],
    ["fast", "priority"],
    ["flex", undefined],
  ] as const)
    t.equal(messagesUsage({ prompt_tokens: 1 }, tier)["service_tier"], expected, tier);
});
