import t from "tap";
import { type CallEnd, chargeFor } from "../../../proxy/usage/charge.js";
import { ResponseMeter, type TranslationReport } from "../../../proxy/usage/response-meter.js";
import { sentRequestOf } from "../../../proxy/usage/usage-bound.js";
import type { Operation } from "../../../shared/operation.js";

const memory = { takeForAnswer: () => true, give: () => {} };
/** The prompt is estimated at 10 tokens; a request uses at most 40 and 50. */
const promptBytes = 40;
const outputMax = 50;
const request = 90;
const resent = 2 * request;

const usage = (tokens: number) => ({
  prompt_tokens: tokens,
  completion_tokens: 0,
  total_tokens: tokens,
});
const reports = (tokens: number) => JSON.stringify({ choices: [], usage: usage(tokens) });
const delta = (text: string) =>
  `data: ${JSON.stringify({ choices: [{ delta: { content: text } }] })}\n\n`;
const thought = (text: string) => delta(text).replace("content", "reasoning_content");
const running = `data: ${JSON.stringify({ choices: [], usage: { prompt_tokens: 3, completion_tokens: 20, total_tokens: 23 } })}\n\n`;
const finish = running.replace('"choices":[]', '"choices":[{"delta":{},"finish_reason":"stop"}]');
const failed = finish.replace("stop", "function_call_filter: NO_IMAGE");
const start = running.replace("20", "1").replace("23", "4");
const failure = 'data: {"error":{"message":"overloaded"}}\n\n';

interface Call {
  readonly status?: number;
  readonly isSent?: boolean;
  readonly isResent?: boolean;
  readonly body?: string;
  readonly events?: string;
  readonly operation?: Operation | null;
  readonly seconds?: number;
  readonly showsReasoning?: boolean;
  readonly translation?: Partial<TranslationReport>;
  readonly isCapped?: boolean;
}

/** The tokens charged, whether they are an estimate, and the tokens of the upper bound. */
function charged(end: CallEnd, call: Call) {
  const { status = 200, isSent = true, isResent = false, seconds = 0, body, events } = call;
  const { operation = "chat_completions" } = call;
  const sent = sentRequestOf({
    operation,
    request: { body: Buffer.from('{"stream":true}') },
    promptBytes: () => promptBytes,
    modelOutputMax: () => outputMax,
    reasonsByDefault: () => true,
    showsReasoning: () => call.showsReasoning === true,
  });
  const translation =
    call.translation === undefined
      ? null
      : { usage: null, untranslatedBytes: 0, refused: null, ...call.translation };
  const meter = new ResponseMeter(
    { operation, promptBytes: () => promptBytes, request: { body: null } },
    translation,
    memory,
  );
  if (events !== undefined) {
    meter.beginStream(false, call.isCapped === true ? { bytesPerToken: 4 } : null);
    meter.push(Buffer.from(events));
  } else if (status !== 0) {
    meter.beginBody(status < 300 ? "json" : "unmetered", "held");
    meter.keep(Buffer.from(body ?? ""));
  }
  const answer = body === undefined ? undefined : meter.read(meter.text());
  const ended = {
    status,
    isSent,
    isResent,
    meter,
    sentRequest: () => sent,
    elapsedMs: () => seconds * 1000,
  };
  const { usage, estimated, atMost } = chargeFor(ended, end, "why", answer);
  return [usage?.totalTokens ?? null, estimated, atMost?.totalTokens ?? null];
}

const google = "stream_generate_content";
/** An event of a host that gives a reason and the usage so far in each. */
const eager = (text: string, output: number): string =>
  `data: ${JSON.stringify({
    candidates: [{ content: { parts: [{ text }] }, finishReason: "STOP" }],
    usageMetadata: { promptTokenCount: 10, candidatesTokenCount: output },
  })}\n\n`;
const nothing = [null, false, null];
const onlyBounded = [null, false, request];

t.test("what a call is charged, by how it ended", async (t) => {
  const rows: readonly (readonly [CallEnd, Call, readonly unknown[]])[] = [
    ["complete", { body: reports(5) }, [5, false, null]],
    ["complete", { events: running }, [23, false, null]],
    ["complete", { body: reports(0) }, [0, false, request]],
    ["complete", { body: reports(0), operation: "embeddings" }, [0, false, null]],
    ["complete", { body: '{"choices":[]}' }, [14, true, request]],
    ["complete", { body: '{"choices":[]}', operation: "speech" }, [10, true, null]],
    ["complete", { body: '{"choices":[]}', operation: null }, nothing],
    ["complete", { body: '{"choices":[]}', operation: "files" }, nothing],
    ["running", { body: reports(5) }, [10, true, request]],
    ["failed", { body: reports(5) }, [5, false, 5]],
    ["complete", { events: failure }, onlyBounded],
    ["complete", { events: failure, translation: {} }, onlyBounded],
    ["complete", { events: failure, translation: { hasFailed: true } }, [10, true, request]],
    ["complete", { events: failure, translation: { usage: usage(5) } }, [5, true, request]],
    ["complete", { events: delta("x".repeat(8)) + failure }, [12, true, request]],
    ["complete", { events: start + failure, seconds: 3 }, [4, true, request]],
    ["complete", { events: failed }, [23, false, 23]],
    ["complete", { body: reports(0), operation: "compact" }, [0, false, request]],
    ["failed", { body: reports(0) }, onlyBounded],
    ["failed", { body: reports(0).replace("}}", ',"cost":0.25}}') }, [0, false, 0]],
    ["failed", { body: "{}" }, onlyBounded],
    ["failed", { body: "{}", operation: "speech" }, nothing],
    ["error", { status: 429, body: reports(5) }, nothing],
    ["error", { status: 302 }, nothing],
    ["error", { body: '{"error":{}}' }, nothing],
    ["error", { body: `{"error":{},${reports(5).slice(1)}` }, nothing],
    ["error", { body: `{"error":{},${reports(0).slice(1)}` }, nothing],
    ["error", { status: 408 }, onlyBounded],
    ["error", { status: 504 }, onlyBounded],
    ["error", { status: 524 }, onlyBounded],
    ["error", { status: 504, operation: "files" }, nothing],
    ["error", { events: failure }, onlyBounded],
    [
      "error",
      { events: failure.replace("}}", `},"usage":${JSON.stringify(usage(5))}}`) },
      onlyBounded,
    ],
    [
      "error",
      { events: failure.replace("}}", `},"usage":${JSON.stringify(usage(0))}}`) },
      onlyBounded,
    ],
    ["untranslatable", { translation: { usage: usage(5) } }, [5, false, null]],
    ["untranslatable", { translation: { untranslatedBytes: 8 } }, [12, true, request]],
    [
      "untranslatable",
      { events: delta("x".repeat(8)), translation: { untranslatedBytes: 8 } },
      [14, true, request],
    ],
    ["untranslatable", { translation: { usage: usage(0) } }, [0, false, request]],
    ["cut", { events: eager("a", 3), operation: google }, [13, false, null]],
    ["cut", { events: eager("a", 3) + eager("b", 5), operation: google }, [15, true, request]],
    ["complete", { events: eager("a", 3) + eager("b", 5), operation: google }, [15, false, null]],
    ["capped", { events: delta("x".repeat(40)) }, [20, true, request]],
    ["capped", { events: running + delta("x".repeat(40)) }, [33, true, request]],
    ["capped", { events: delta("x".repeat(40)), seconds: 1 }, [60, true, request]],
    ["capped", { events: thought("x".repeat(40)), seconds: 1 }, [20, true, request]],
    ["cut", { status: 0, isSent: false }, nothing],
    ["cut", { events: failure }, onlyBounded],
    ["cut", { events: finish, seconds: 3 }, [23, false, null]],
    ["cut", { events: start + finish, seconds: 3 }, [23, false, null]],
    ["cut", { events: finish + delta("x".repeat(8)) }, [25, true, request]],
    ["cut", { events: finish, translation: {} }, [10, true, request]],
    ["cut", { translation: { usage: usage(5) }, seconds: 3 }, [5, false, request]],
    ["cut", { status: 0 }, [10, true, request]],
    ["cut", { status: 0, operation: null }, nothing],
    ["cut", { status: 0, operation: "speech" }, [10, true, request]],
    ["cut", { status: 0, seconds: 3 }, [60, true, request]],
    ["cut", { events: delta("x".repeat(8)) }, [12, true, request]],
    ["cut", { events: delta("x".repeat(400)) }, [110, true, 140]],
    ["cut", { events: delta("x".repeat(8)), seconds: 3 }, [60, true, request]],
    ["cut", { events: running, seconds: 3 }, [23, true, request]],
    [
      "cut",
      { events: delta("x".repeat(8)), seconds: 3, showsReasoning: true },
      [12, true, request],
    ],
    ["cut", { status: 0, seconds: 3, showsReasoning: true }, [10, true, request]],
    ["cut", { events: thought("x".repeat(8)), seconds: 3 }, [12, true, request]],
    ["cut", { events: thought("") + delta("x".repeat(8)), seconds: 3 }, [60, true, request]],
    ["cut", { events: thought("x".repeat(8)), seconds: 3, translation: {} }, [60, true, request]],
    ["cut", { status: 429 }, nothing],
    ["cut", { status: 504 }, onlyBounded],
    ["complete", { body: reports(5), isResent: true }, [5, false, 5 + request]],
    ["complete", { body: reports(0), isResent: true }, [0, false, resent]],
    ["error", { status: 429, isResent: true }, onlyBounded],
    ["cut", { status: 0, isResent: true }, [10, true, resent]],
  ];
  for (const [end, call, expected] of rows)
    t.same(charged(end, call), expected, `${end} ${JSON.stringify(call)}`);
});

t.test("a stream whose usage reports no output is charged its text", async (t) => {
  const end = finish.replace(/"usage":.*\}/, '"usage":null}');
  const events = (tokens: number): string =>
    `${delta("x".repeat(40))}${end}data: ${reports(tokens)}\n\n`;
  for (const how of ["complete", "cut", "capped"] as const) {
    const capped = charged(how, { events: events(7), isCapped: true });
    t.same(capped, [17, true, request], `${how}, with input`);
    t.same(charged(how, { events: events(0) }), [20, true, request], `${how}, zeros`);
  }
  const vectors = charged("complete", { events: events(7), operation: "embeddings" });
  t.same(vectors, [7, false, null]);
  const whole = { events: events(0), translation: { usage: usage(0) } };
  t.same(charged("complete", whole), [20, true, request], "translated");
});

t.test(
  "a whole answer whose usage reports 0 tokens is charged its text, if it has some",
  async (t) => {
    const zeros = usage(0);
    const text = "x".repeat(40);
    const google = { promptTokenCount: 0, candidatesTokenCount: 0, totalTokenCount: 0 };
    const beside = { input_tokens: 0, output_tokens: 0 };
    const rows: readonly (readonly [Operation, (text: string) => unknown])[] = [
      ["chat_completions", (content) => ({ choices: [{ message: { content } }], usage: zeros })],
      [
        "chat_completions",
        (args) => ({
          choices: [
            { message: { content: null, tool_calls: args && [{ function: { arguments: args } }] } },
          ],
          usage: zeros,
        }),
      ],
      ["completions", (text) => ({ choices: [{ index: 0, text }], usage: zeros })],
      ["messages", (text) => ({ content: [{ type: "text", text }], usage: beside })],
      ["messages", (thinking) => ({ content: [{ type: "thinking", thinking }], usage: beside })],
      [
        "responses",
        (text) => ({
          output: [{ type: "message", id: "msg_1", content: [{ type: "output_text", text }] }],
          usage: beside,
        }),
      ],
      [
        "generate_content",
        (text) => ({ candidates: [{ content: { parts: [{ text }] } }], usageMetadata: google }),
      ],
      [
        "stream_generate_content",
        (text) => [{ candidates: [{ content: { parts: [{ text }] } }], usageMetadata: google }],
      ],
      ["interactions", (text) => ({ outputs: [{ type: "text", text }], usage: beside })],
    ];
    for (const [operation, answer] of rows) {
      const call = (text: string): Call => ({ operation, body: JSON.stringify(answer(text)) });
      t.same(charged("complete", call(text)), [20, true, request], `${operation}, with text`);
      t.same(charged("complete", call("")), [0, false, request], `${operation}, without`);
      const { body } = call(text);
      const told = { ...call(text), translation: { usage: zeros } };
      t.same(charged("complete", told), [20, true, request], `${operation}, translated`);
      const failed = charged("untranslatable", told);
      t.same(failed, [10 + Math.ceil(body!.length / 4), true, request], "untranslatable");
    }
    const onlyOutput = { choices: [], usage: { prompt_tokens: 0, completion_tokens: 7 } };
    const withoutInput = { body: JSON.stringify(onlyOutput) };
    t.same(charged("complete", withoutInput), [17, true, request], "the prompt is estimated");
    const priced = { ...onlyOutput, usage: { ...onlyOutput.usage, cost: 0.25 } };
    t.same(charged("complete", { body: JSON.stringify(priced) }), [7, false, null]);
    t.same(charged("complete", { ...withoutInput, operation: "speech" }), [7, false, null]);
    const vectors = { operation: "embeddings", body: reports(0) } as const;
    t.same(charged("complete", vectors), [0, false, null], "vectors");
  },
);
