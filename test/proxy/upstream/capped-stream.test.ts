/**
 * A hard cap cuts a stream by what the client has got: however the provider's bytes arrive, the
 * client gets the same events and is charged the same, natively and through each translation.
 */
import { deepStrictEqual, ok } from "node:assert";
import fc from "fast-check";
import t from "tap";
import { chooseDialect } from "../../../proxy/dialects/choose-dialect.js";
import { formatEvent } from "../../../proxy/dialects/event-stream.js";
import { createAnswerTranslator } from "../../../proxy/dialects/translate-answer.js";
import { translatedUpstream } from "../../../proxy/dialects/translated-upstream.js";
import { lengthStop } from "../../../proxy/hard-caps/length-stop.js";
import { type DrawnOutput, OutputAllowance } from "../../../proxy/hard-caps/output-allowance.js";
import { forward } from "../../../proxy/upstream/forward.js";
import type { ForwardResult } from "../../../proxy/upstream/forwarded.js";
import type { UpstreamRequest } from "../../../proxy/upstream/upstream.js";
import type { Operation } from "../../../shared/operation.js";
import { context } from "../dialects/sample-answers.js";
import { FakeExchange } from "../fake-exchange.js";
import { RequestUnderWay } from "./request-under-way.js";

/** What a model puts out, in order. */
interface Answer {
  readonly thoughts: readonly string[];
  readonly texts: readonly string[];
  /** The arguments of a call, in pieces; empty without one. */
  readonly call: readonly string[];
  /** The output that the provider reports in the end. */
  readonly outputTokens: number;
}

const inputTokens = 9;
/** Signatures count by their bytes; Sluice makes one where a provider has none. */
const signature = "c2lnbmVk";
const named = (type: string, fields: object): string =>
  formatEvent({ event: type, data: JSON.stringify({ type, ...fields }) });
const unnamed = (value: object): string =>
  formatEvent({ event: null, data: JSON.stringify(value) });
const done = "data: [DONE]\n\n";

function chatEvents({ thoughts, texts, call, outputTokens }: Answer): readonly string[] {
  const head = { id: "c1", object: "chat.completion.chunk", created: 1, model: "m" };
  const delta = (value: object, finish: string | null = null): string =>
    unnamed({ ...head, choices: [{ index: 0, delta: value, finish_reason: finish }] });
  const called = (fields: object): string => delta({ tool_calls: [{ index: 0, ...fields }] });
  const usage = {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  };
  return [
    delta({ role: "assistant", content: "" }),
    ...thoughts.map((text) => delta({ reasoning_content: text })),
    ...texts.map((text) => delta({ content: text })),
    ...call.map((json, i) =>
      i === 0
        ? called({ id: "call_1", type: "function", function: { name: "f", arguments: json } })
        : called({ function: { arguments: json } }),
    ),
    delta({}, call.length > 0 ? "tool_calls" : "stop"),
    unnamed({ ...head, choices: [], usage }),
    done,
  ];
}

function completionEvents({ texts, outputTokens }: Answer): readonly string[] {
  const usage = { prompt_tokens: inputTokens, completion_tokens: outputTokens };
  return [
    ...texts.map((text) => unnamed({ choices: [{ index: 0, text, finish_reason: null }] })),
    unnamed({ choices: [{ index: 0, text: "", finish_reason: "stop" }] }),
    unnamed({ choices: [], usage }),
    done,
  ];
}

function messagesEvents({ thoughts, texts, call, outputTokens }: Answer): readonly string[] {
  let index = -1;
  const block = (content: object, deltas: readonly object[]): readonly string[] => {
    index++;
    return deltas.length === 0
      ? []
      : [
          named("content_block_start", { index, content_block: content }),
          ...deltas.map((delta) => named("content_block_delta", { index, delta })),
          named("content_block_stop", { index }),
        ];
  };
  const usage = { input_tokens: inputTokens, output_tokens: 1 };
  return [
    named("message_start", {
      message: { id: "m1", type: "message", role: "assistant", model: "m", content: [], usage },
    }),
    named("ping", {}),
    ...block(
      { type: "thinking", thinking: "", signature: "" },
      thoughts.length === 0
        ? []
        : [
            ...thoughts.map((thinking) => ({ type: "thinking_delta", thinking })),
            { type: "signature_delta", signature },
          ],
    ),
    ...block(
      { type: "text", text: "" },
      texts.map((text) => ({ type: "text_delta", text })),
    ),
    ...block(
      { type: "tool_use", id: "toolu_1", name: "f", input: {} },
      call.map((json) => ({ type: "input_json_delta", partial_json: json })),
    ),
    named("message_delta", {
      delta: { stop_reason: call.length > 0 ? "tool_use" : "end_turn", stop_sequence: null },
      usage: { output_tokens: outputTokens },
    }),
    named("message_stop", {}),
  ];
}

function responsesEvents({ thoughts, texts, call, outputTokens }: Answer): readonly string[] {
  const response = { id: "resp_1", object: "response", status: "in_progress", model: "m" };
  const output: object[] = [];
  const item = (value: object, ended: object, events: (at: object) => readonly string[]) => {
    const output_index = output.length;
    output.push(ended);
    return [
      named("response.output_item.added", { output_index, item: value }),
      ...events({ output_index, item_id: "i" }),
      named("response.output_item.done", { output_index, item: ended }),
    ];
  };
  const deltas = (type: string, texts: readonly string[], place: object): readonly string[] =>
    texts.map((delta) => named(`response.${type}.delta`, { ...place, delta }));
  const summary = [{ type: "summary_text", text: thoughts.join("") }];
  const content = [{ type: "output_text", text: texts.join(""), annotations: [] }];
  const reasoning = { type: "reasoning", id: "i", summary: [] };
  const message = { type: "message", id: "i", role: "assistant", content: [] };
  const called = { type: "function_call", id: "i", call_id: "call_1", name: "f", arguments: "" };
  const events = [
    named("response.created", { response }),
    ...(thoughts.length === 0
      ? []
      : item(reasoning, { ...reasoning, summary }, (at) => [
          ...deltas("reasoning_summary_text", thoughts, { ...at, summary_index: 0 }),
          named("response.reasoning_summary_text.done", { ...at, summary_index: 0 }),
        ])),
    ...(texts.length === 0
      ? []
      : item(message, { ...message, status: "completed", content }, (at) => [
          named("response.content_part.added", {
            ...{ ...at, content_index: 0 },
            part: { type: "output_text", text: "", annotations: [] },
          }),
          ...deltas("output_text", texts, { ...at, content_index: 0 }),
          named("response.output_text.done", { ...at, content_index: 0, text: texts.join("") }),
          named("response.content_part.done", { ...at, content_index: 0, part: content[0] }),
        ])),
    ...(call.length === 0
      ? []
      : item(called, { ...called, arguments: call.join("") }, (at) => [
          ...deltas("function_call_arguments", call, at),
          named("response.function_call_arguments.done", { ...at, arguments: call.join("") }),
        ])),
  ];
  const usage = {
    input_tokens: inputTokens,
    output_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  };
  return [
    ...events,
    named("response.completed", { response: { ...response, status: "completed", output, usage } }),
  ];
}

function googleEvents({ thoughts, texts, call, outputTokens }: Answer): readonly string[] {
  const parts = [
    ...thoughts.map((text) => ({ text, thought: true })),
    ...texts.map((text) => ({ text })),
    ...(call.length === 0
      ? []
      : [{ functionCall: { name: "f", args: JSON.parse(call.join("")) } }]),
  ];
  const usageMetadata = {
    promptTokenCount: inputTokens,
    candidatesTokenCount: outputTokens,
    totalTokenCount: inputTokens + outputTokens,
  };
  return parts.map((part, i) => {
    const content = { role: "model", parts: [part] };
    const isLast = i === parts.length - 1;
    return unnamed({
      candidates: [{ index: 0, content, ...(isLast ? { finishReason: "STOP" } : {}) }],
      ...(isLast ? { usageMetadata } : {}),
    });
  });
}

const streams = {
  chat_completions: chatEvents,
  completions: completionEvents,
  messages: messagesEvents,
  responses: responsesEvents,
  stream_generate_content: googleEvents,
} satisfies Partial<Record<Operation, (answer: Answer) => readonly string[]>>;
type Streamed = keyof typeof streams;
const all = Object.keys(streams) as Streamed[];
const pairs = all.flatMap((client) =>
  all.flatMap((provider) => {
    const dialect = chooseDialect(client, new Set([provider]));
    return dialect === null ? [] : [{ client, provider, translation: dialect.translation }];
  }),
);
t.equal(pairs.length, 14, "five dialects natively, and nine translations");

const words = "max_tokens 1000 of /a";

interface Run {
  readonly pair: (typeof pairs)[number];
  /** How the bytes arrive. */
  readonly chunks: readonly Buffer[];
  /** How many tokens the cap allows; a byte is one. */
  readonly allowed: number;
  /** How many are granted at first. */
  readonly first: number;
  /** When the daemon answers. */
  readonly answers: "soon" | "late";
  readonly holdsHead: boolean;
}

async function run({ pair, chunks, allowed, first, answers, holdsHead }: Run) {
  const { client, translation } = pair;
  const drawn: DrawnOutput = {
    granted: Math.min(first, allowed),
    spent: 0,
    cap: null,
    promptTokens: inputTokens,
    isPromptKnown: false,
  };
  let asked: (() => void)[] = [];
  const answerAll = (): void => {
    while (asked.length > 0) {
      const [first, ...rest] = asked;
      asked = rest;
      first!();
    }
  };
  const allowance = new OutputAllowance(drawn, {
    draw: ({ total }, then) => {
      asked.push(() => {
        const isMore = drawn.granted < allowed;
        Object.assign(drawn, {
          granted: Math.min(total, allowed),
          cap: isMore ? null : words,
        });
        then();
      });
    },
    monoMs: () => 77,
  });
  const exchange = new FakeExchange();
  const translator =
    translation === null
      ? null
      : createAnswerTranslator(
          translation,
          { ...context, request: { stream: true, includeThoughts: true } },
          { memory: exchange.memory },
        );
  const call = new RequestUnderWay<UpstreamRequest>(exchange, (send) => {
    const upstream = { send, redact: (text: string) => text, close: async () => {} };
    return forward(exchange, {
      upstream:
        translator === null ? upstream : translatedUpstream(upstream, translator, pair.provider),
      provider: "p",
      request: {
        method: "POST",
        path: "/x",
        headers: [],
        body: Buffer.from("{}"),
        isRepeatable: true,
      },
      headers: [],
      operation: client,
      translator,
      hideUsageChunk: false,
      promptBytes: () => 36,
      holdsHead,
      cap: {
        allowance,
        stop: lengthStop(client, { choices: 1, wantsUsage: true }),
        bytesPerToken: 1,
        learn: () => {},
        promptBytes: () => 0,
        learnPrompt: () => {},
      },
      monoMs: () => 1,
    });
  });
  call.head(200, ["content-type", "text/event-stream"]);
  for (const chunk of chunks) {
    call.data(chunk);
    if (answers === "soon") answerAll();
  }
  call.end();
  answerAll();
  const { usage, estimated, outcome, cutBy }: ForwardResult = await call.finished();
  deepStrictEqual(outcome, "complete");
  return { body: exchange.body.toString(), usage, estimated, cutBy };
}

const piece = fc.integer({ min: 1, max: 40 }).map((length) => "x".repeat(length));
const answer = fc.record({
  thoughts: fc.array(piece, { maxLength: 4 }),
  texts: fc.array(piece, { minLength: 1, maxLength: 8 }),
  call: fc.constantFrom([], ['{"q":', `"${"x".repeat(30)}"`, "}"]),
  outputTokens: fc.integer({ min: 11, max: 2000 }),
});
const limits = fc.record({
  allowed: fc.integer({ min: 1, max: 400 }),
  first: fc.constantFrom(8, 250, 400),
  holdsHead: fc.boolean(),
});
const arrival = fc.record({
  cuts: fc.array(fc.nat(6000), { maxLength: 12 }),
  answers: fc.constantFrom("soon" as const, "late" as const),
});

/** The members of a stream's events that hold what the model put out; Google's call is one too. */
const shownIn: Readonly<Record<Streamed, RegExp>> = {
  chat_completions: /"(?:content|reasoning_content|arguments)":"((?:[^"\\]|\\.)*)"/g,
  completions: /"text":"(x*)"/g,
  messages: /"(?:text|thinking|partial_json)":"((?:[^"\\]|\\.)*)"/g,
  responses: /"delta":"((?:[^"\\]|\\.)*)"/g,
  stream_generate_content: /"text":"(x*)"|"args":(\{.*?\})/g,
};

/** How many bytes of what the model put out the client got. */
const shown = (body: string, client: Streamed): number =>
  [...body.matchAll(shownIn[client])]
    .map(([, text, args]) => (text ?? args)!.length)
    .reduce((sum, length) => sum + length, 0);

/** Whether the last event with output, which counts whole, begins beyond the cap. */
function mustBeCut({ thoughts, texts, call }: Answer, allowed: number, by: Streamed): boolean {
  const calls = by === "stream_generate_content" ? [call.join("")] : call;
  const pieces = by === "completions" ? texts : [...thoughts, ...texts, ...calls];
  const before = pieces.filter((piece) => piece !== "").slice(0, -1);
  return before.reduce((sum, piece) => sum + piece.length, 0) >= allowed;
}

for (const pair of pairs)
  t.test(`${pair.client} from ${pair.provider}, however the bytes arrive`, async () => {
    await fc.assert(
      fc.asyncProperty(answer, limits, arrival, async (answer, limits, { cuts, answers }) => {
        const events = streams[pair.provider](answer).map((event) => Buffer.from(event));
        const bytes = Buffer.concat(events);
        const one = await run({ pair, ...limits, chunks: events, answers: "soon" });
        const at = [...new Set([0, ...cuts, bytes.length])].filter((cut) => cut <= bytes.length);
        at.sort((a, b) => a - b);
        const chunks = at.slice(1).map((end, i) => bytes.subarray(at[i], end));
        for (const arriving of [[bytes], chunks])
          deepStrictEqual(await run({ pair, ...limits, chunks: arriving, answers }), one);
        const signed = answer.thoughts.length > 0 ? signature.length : 0;
        const got = shown(one.body, pair.client) + signed;
        // A call that isn't complete has no event in Google's dialect.
        const isHeld = pair.client === "stream_generate_content" && answer.call.length > 0;
        if (one.cutBy === "") ok(!mustBeCut(answer, limits.allowed, pair.provider), one.body);
        else ok(isHeld || got >= limits.allowed, `${got} of ${limits.allowed}: ${one.body}`);
      }),
      { numRuns: 150 },
    );
  });
