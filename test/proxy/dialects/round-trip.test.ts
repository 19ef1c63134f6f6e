/**
 * There and back: what both dialects can say comes back as it was. The generators make each thing
 * in the one form that a translation gives it (a single text as a string, messages of one role in a
 * row as one).
 */
import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { parseBodyExactly } from "../../../proxy/body/exact-json.js";
import {
  chatToMessages,
  messagesToChat,
  responsesToChat,
} from "../../../proxy/dialects/choose-dialect.js";
import { composeTranslations } from "../../../proxy/dialects/compose-translations.js";
import { EventSplitter, formatEvent } from "../../../proxy/dialects/event-stream.js";
import type {
  ClientEvent,
  EventTranslator,
  JsonObject,
  Translation,
} from "../../../proxy/dialects/shared/translation.js";
import { assembleChat, assembleMessages } from "./assemble-stream.js";
import { options } from "./request-options.js";
import {
  chatAnswer,
  chatEvents,
  context,
  messagesAnswer,
  messagesEvents,
} from "./sample-answers.js";

/** As JSON.parse makes it: generated objects may have no prototype, and negative zeros. */
const parsed = (value: unknown): JsonObject => JSON.parse(JSON.stringify(value)) as JsonObject;
const object = fc
  .dictionary(fc.string({ maxLength: 5 }), fc.jsonValue({ maxDepth: 3 }), { maxKeys: 3 })
  .map(parsed);
const word = fc
  .string({ unit: "grapheme", minLength: 1, maxLength: 12 })
  .filter((text) => text.trim() !== "");
/** Not an email address or a phone number, which Anthropic refuses and Sluice replaces. */
const identity = word.filter((text) => !/@|^\+?[\d\s().-]+$/.test(text));
const name = fc.stringMatching(/^[a-zA-Z0-9_-]{1,10}$/);
const base64 = fc.base64String({ maxLength: 12 });
const share = fc.constantFrom(0, 0.25, 0.5, 1);
/** Closed, as both providers want it, and with keywords that both take. */
const schema = fc
  .record({ title: word, description: word, default: object }, { requiredKeys: [] })
  .map(
    (rest): JsonObject => ({
      properties: {},
      required: [],
      ...rest,
      type: "object",
      additionalProperties: false,
    }),
  );
const list = <T>(one: fc.Arbitrary<T>, minLength = 1, maxLength = 3): fc.Arbitrary<T[]> =>
  fc.array(one, { minLength, maxLength });

/** Without the fields that are undefined. */
const record = (
  fields: Record<string, fc.Arbitrary<unknown>>,
  required: string[],
): fc.Arbitrary<JsonObject> => fc.record(fields, { requiredKeys: required });

/** Calls of tools by the assistant, each with its result. */
const calls = fc.uniqueArray(
  fc.record({ id: name, tool: name, input: object, result: word, parts: fc.option(list(word, 2)) }),
  { selector: (call) => call.id, maxLength: 3 },
);
const steps = fc.array(
  fc.record({
    asked: fc.array(
      fc.oneof(word, fc.record({ picture: base64 }), fc.record({ pdf: base64, title: word })),
      { maxLength: 3 },
    ),
    answered: fc.array(word, { maxLength: 2 }),
    calls,
  }),
  { maxLength: 3 },
);

type Step = typeof steps extends fc.Arbitrary<(infer One)[]> ? One : never;

const chatText = (texts: readonly string[]): unknown =>
  texts.length === 1 ? texts[0] : texts.map((text) => ({ type: "text", text }));

function chatMessages(
  system: readonly string[],
  conversation: readonly Step[],
  last: string,
): JsonObject[] {
  const messages: JsonObject[] =
    system.length === 0 ? [] : [{ role: "system", content: chatText(system) }];
  let afterCall = false;
  for (const [step, { asked, answered, calls: made }] of conversation.entries()) {
    // An id of an earlier step would become another one.
    const calls = made.map((call) => ({ ...call, id: `${call.id}_of_${step}` }));
    if (answered.length === 0 && calls.length === 0) continue;
    const parts = asked.map((one) =>
      typeof one === "string"
        ? { type: "text", text: one }
        : "picture" in one
          ? { type: "image_url", image_url: { url: `data:image/png;base64,${one.picture}` } }
          : {
              type: "file",
              file: { filename: one.title, file_data: `data:application/pdf;base64,${one.pdf}` },
            },
    );
    const only = parts.length === 1 && typeof asked[0] === "string" ? asked[0] : null;
    if (parts.length > 0) messages.push({ role: "user", content: only ?? parts });
    else if (!afterCall) messages.push({ role: "user", content: "Go on" });
    const message: Record<string, unknown> = {
      role: "assistant",
      content: answered.length === 0 ? null : chatText(answered),
    };
    if (calls.length > 0)
      message["tool_calls"] = calls.map(({ id, tool, input }) => ({
        id,
        type: "function",
        function: { name: tool, arguments: JSON.stringify(input) },
      }));
    messages.push(
      message,
      ...calls.map(({ id, result, parts }) => ({
        role: "tool",
        tool_call_id: id,
        content: parts === null ? result : chatText(parts),
      })),
    );
    afterCall = calls.length > 0;
  }
  return [...messages, { role: "user", content: last }];
}

const chatTools = list(
  record({ name, description: word, parameters: schema, strict: fc.constant(true) }, [
    "name",
    "parameters",
  ]).map((called) => ({ type: "function", function: called })),
);
/** Null: the first tool. */
const chatChoice = fc.constantFrom("auto", "none", "required", null);
const format = schema.map((of) => ({
  type: "json_schema",
  json_schema: { name: "answer", schema: of, strict: true },
}));

const chatRequests = fc
  .record({
    system: fc.array(word, { maxLength: 2 }),
    steps,
    last: word,
    tools: fc.option(chatTools),
    choice: fc.option(fc.tuple(chatChoice, fc.boolean())),
    stream: fc.boolean(),
    rest: record(
      {
        max_completion_tokens: fc.integer({ min: 1, max: 100_000 }),
        temperature: share,
        top_p: share,
        stop: list(word),
        reasoning_effort: fc.constantFrom("none", "low", "medium", "high", "xhigh", "max"),
        response_format: format,
        user: identity,
        service_tier: fc.constant("default"),
      },
      ["max_completion_tokens"],
    ),
  })
  .map(({ system, steps, last, tools, choice, stream, rest }): JsonObject => {
    const request: Record<string, unknown> = {
      model: "m",
      messages: chatMessages(system, steps, last),
      ...rest,
    };
    if (stream) Object.assign(request, { stream: true, stream_options: { include_usage: true } });
    if (tools === null) return request;
    request["tools"] = tools;
    if (choice !== null)
      request["tool_choice"] = choice[0] ?? {
        type: "function",
        function: { name: (tools[0] as { function: JsonObject }).function["name"] },
      };
    if (choice?.[1] && choice[0] !== "none") request["parallel_tool_calls"] = false;
    return request;
  })
  .map(parsed);

function translated(translation: Translation, body: JsonObject): JsonObject {
  const result = translation.request(body, options);
  assert(result.ok, JSON.stringify(result));
  return result.body;
}

t.test("a chat request survives a round trip through Anthropic's dialect", async () => {
  fc.assert(
    fc.property(chatRequests, (request) =>
      assert.deepEqual(translated(messagesToChat, translated(chatToMessages, request)), request),
    ),
    { numRuns: 150 },
  );
});

t.test("a request for messages survives a round trip through chat completions", async () => {
  // Those that a chat completion becomes are all that both dialects can say.
  fc.assert(
    fc.property(chatRequests, (request) => {
      const messages = translated(chatToMessages, request);
      assert.deepEqual(translated(chatToMessages, translated(messagesToChat, messages)), messages);
    }),
    { numRuns: 150 },
  );
});

const usage = fc.record({
  input: fc.nat(10_000),
  cached: fc.nat(10_000),
  written: fc.nat(10_000),
  output: fc.nat(10_000),
  reasoning: fc.nat(10_000),
});
const chatUsage = usage.map(
  ({ input, cached, written, output, reasoning }): JsonObject => ({
    prompt_tokens: input + cached + written,
    completion_tokens: output,
    total_tokens: input + cached + written + output,
    prompt_tokens_details: { cached_tokens: cached, cache_write_tokens: written },
    completion_tokens_details: { reasoning_tokens: reasoning },
  }),
);
const messagesUsage = usage.map(
  ({ input, cached, written, output, reasoning }): JsonObject => ({
    input_tokens: input,
    output_tokens: output,
    cache_read_input_tokens: cached,
    cache_creation_input_tokens: written,
    output_tokens_details: { thinking_tokens: reasoning },
    service_tier: "standard",
  }),
);

const proof = fc.oneof(
  fc.record({
    type: fc.constant("thinking"),
    thinking: word,
    signature: base64.filter((text) => text !== ""),
  }),
  fc.record({ type: fc.constant("redacted_thinking"), data: base64 }),
);
const toolUses = fc.uniqueArray(
  fc.record({ type: fc.constant("tool_use"), id: name, name, input: object }),
  { selector: (call) => call.id, maxLength: 3 },
);

const messagesAnswers = fc
  .record({
    thoughts: fc.oneof(
      fc.array(proof, { maxLength: 3 }),
      word.map((thinking) => [{ type: "thinking", thinking, signature: "unsigned" }]),
    ),
    text: fc.option(word),
    calls: toolUses,
    end: fc.constantFrom("end_turn", "max_tokens", "refusal"),
    explanation: fc.option(word),
    usage: messagesUsage,
  })
  .map(
    ({ thoughts, text, calls, end, explanation, usage }): JsonObject => ({
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: context.model,
      content: [...thoughts, ...(text === null ? [] : [{ type: "text", text }]), ...calls],
      stop_reason: end === "end_turn" && calls.length > 0 ? "tool_use" : end,
      stop_sequence: null,
      stop_details:
        end === "refusal" && explanation !== null
          ? { type: "refusal", category: null, explanation }
          : null,
      usage,
    }),
  )
  .map(parsed);

t.test("an Anthropic answer survives a round trip through chat completions", async () => {
  fc.assert(
    fc.property(messagesAnswers, (answer) =>
      assert.deepEqual(
        messagesToChat.answer(chatToMessages.answer(answer, context), context),
        answer,
      ),
    ),
    { numRuns: 150 },
  );
});

const chatAnswers = fc
  .record({
    content: fc.option(word),
    reasoning: fc.option(word),
    calls: toolUses,
    end: fc.constantFrom("stop", "length", "content_filter"),
    refusal: fc.option(word),
    usage: chatUsage,
  })
  .map(({ content, reasoning, calls, end, refusal, usage }): JsonObject => {
    const message: Record<string, unknown> = {
      role: "assistant",
      content,
      refusal: end === "content_filter" ? refusal : null,
    };
    if (reasoning !== null) message["reasoning_content"] = reasoning;
    if (calls.length > 0)
      message["tool_calls"] = calls.map(({ id, name, input }) => ({
        id,
        type: "function",
        function: { name, arguments: JSON.stringify(input) },
      }));
    return {
      id: "chatcmpl-1",
      object: "chat.completion",
      created: context.nowSeconds,
      model: context.model,
      choices: [
        {
          index: 0,
          message,
          logprobs: null,
          finish_reason: end === "stop" && calls.length > 0 ? "tool_calls" : end,
        },
      ],
      usage,
      service_tier: "default",
    };
  })
  .map(parsed);

t.test("a chat completion survives a round trip through Anthropic's dialect", async () => {
  fc.assert(
    fc.property(chatAnswers, (answer) =>
      assert.deepEqual(
        chatToMessages.answer(messagesToChat.answer(answer, context), context),
        answer,
      ),
    ),
    { numRuns: 150 },
  );
});

/** A text in pieces, as models stream it. */
function pieces(text: string, size: number): string[] {
  const points = [...text];
  return Array.from({ length: Math.ceil(points.length / size) }, (_, i) =>
    points.slice(i * size, (i + 1) * size).join(""),
  );
}

/** A message as Anthropic streams it. */
function streamMessages(message: JsonObject, size: number): ClientEvent[] {
  const events: { readonly type: string }[] = [];
  const emit = (type: string, fields: object): void => void events.push({ type, ...fields });
  emit("message_start", {
    message: {
      ...message,
      content: [],
      stop_reason: null,
      usage: { ...(message["usage"] as object), output_tokens: 0 },
    },
  });
  (message["content"] as Record<string, unknown>[]).forEach((block, index) => {
    const delta = (fields: object): void => emit("content_block_delta", { index, delta: fields });
    const empty =
      block["type"] === "text"
        ? { text: "" }
        : block["type"] === "thinking"
          ? { thinking: "", signature: "" }
          : block["type"] === "tool_use"
            ? { input: {} }
            : {};
    emit("content_block_start", { index, content_block: { ...block, ...empty } });
    if (block["type"] === "text")
      for (const text of pieces(block["text"] as string, size)) delta({ type: "text_delta", text });
    if (block["type"] === "thinking")
      for (const thinking of pieces(block["thinking"] as string, size))
        delta({ type: "thinking_delta", thinking });
    if (block["type"] === "thinking" && block["signature"] !== "")
      delta({ type: "signature_delta", signature: block["signature"] });
    if (block["type"] === "tool_use")
      for (const text of pieces(JSON.stringify(block["input"]), size))
        delta({ type: "input_json_delta", partial_json: text });
    emit("content_block_stop", { index });
  });
  const { stop_reason, stop_sequence, stop_details, usage } = message;
  emit("message_delta", {
    delta: { stop_reason, stop_sequence, stop_details },
    usage: { output_tokens: (usage as JsonObject)["output_tokens"] },
  });
  emit("message_stop", {});
  return events.map((event) => ({ event: event.type, data: JSON.stringify(event) }));
}

function run(translator: EventTranslator, events: readonly ClientEvent[]): ClientEvent[] {
  return [
    ...events.flatMap(({ event, data }) => translator.push(event, data)),
    ...translator.end(),
  ];
}

t.test(
  "an Anthropic stream equals its complete answer, and survives a round trip through chat completions",
  async () => {
    fc.assert(
      fc.property(messagesAnswers, fc.integer({ min: 1, max: 5 }), (answer, size) => {
        const chat = run(chatToMessages.events(context), streamMessages(answer, size));
        assert.deepEqual(assembleChat(chat), chatToMessages.answer(answer, context));
        assert.deepEqual(assembleMessages(run(messagesToChat.events(context), chat)), answer);
      }),
      { numRuns: 150 },
    );
  },
);

t.test("a translated stream is the same when the provider's arrives byte by byte", async (t) => {
  const cases = [
    ["chat", chatToMessages, messagesEvents],
    ["messages", messagesToChat, chatEvents],
  ] as const;
  for (const [client, translation, events] of cases) {
    const splitter = new EventSplitter();
    const given = [...Buffer.from(events.map(formatEvent).join(""))].flatMap((byte) =>
      splitter.push(Uint8Array.of(byte)),
    );
    t.strictSame(
      run(translation.events(context), given as ClientEvent[]),
      run(translation.events(context), events),
      client,
    );
  }
});

t.test(
  "a stream that breaks off before its stop reason ends with an error, after the content so far",
  async () => {
    const cases = [
      ["chat", chatToMessages, messagesEvents, "message_delta"],
      ["messages", messagesToChat, chatEvents, '"finish_reason":"tool_calls"'],
    ] as const;
    for (const [client, translation, events, reason] of cases) {
      const text = events.map(formatEvent).join("");
      const bytes = Buffer.from(text);
      const completeAt = text.indexOf("\n\n", text.lastIndexOf(reason)) + 2;
      const expected = run(translation.events(context), events);
      for (let at = 0; at < bytes.length; at += 13) {
        const given = run(
          translation.events(context),
          new EventSplitter().push(bytes.subarray(0, at)) as ClientEvent[],
        );
        const failed = /^\{("type":"error"|"error")/.test(given.at(-1)!.data);
        assert.equal(failed, at < completeAt, `${client}, ${at}`);
        if (failed)
          assert.deepEqual(
            given.slice(0, -1),
            expected.slice(0, given.length - 1),
            `${client}, ${at}`,
          );
      }
    }
  },
);

t.test(
  "for any JSON from a provider, a translation returns an answer or throws its own error, and a stream ends once",
  async () => {
    const words = fc.constantFrom(
      "type",
      "content",
      "choices",
      "message",
      "delta",
      "index",
      "error",
      "usage",
      "text",
      "tool_calls",
      "function",
      "content_block",
      "message_start",
      "content_block_start",
      "content_block_delta",
      "message_delta",
      "message_stop",
      "tool_use",
      "thinking",
      "id",
      "name",
      "input",
    );
    const { value } = fc.letrec((tie) => ({
      value: fc.oneof(
        { maxDepth: 4 },
        words,
        fc.constantFrom(null, true, 0, 1, -1, 1e300, ""),
        fc.array(tie("value"), { maxLength: 3 }),
        fc.dictionary(words, tie("value"), { maxKeys: 4 }),
      ),
    })) as { readonly value: fc.Arbitrary<unknown> };
    const body = fc.dictionary(words, value, { maxKeys: 5 });
    for (const translation of [chatToMessages, messagesToChat]) {
      fc.assert(
        fc.property(body, fc.array(body, { maxLength: 6 }), (one, many) => {
          const result = translation.request(one, options);
          assert(result.ok || result.failure.param !== null);
          try {
            translation.answer(one, context);
          } catch (error) {
            assert.equal((error as Error).name, "UntranslatableAnswer");
          }
          const events = many.map(
            (each): ClientEvent => ({ event: null, data: JSON.stringify(each) }),
          );
          const given = run(translation.events(context), events);
          const ends = given.filter(
            ({ event, data }) =>
              event === "error" ||
              event === "message_stop" ||
              data === "[DONE]" ||
              (event === null && data.startsWith('{"error"')),
          );
          assert.equal(ends.length, 1);
          assert.equal(given.at(-1), ends[0]);
        }),
        { numRuns: 250 },
      );
    }
  },
);

t.test("an answer sent as a stream equals the complete answer", async (t) => {
  const streamed = (translation: Translation, body: JsonObject): readonly ClientEvent[] => {
    const events = translation.events(context);
    return [
      ...translation.asEvents(body).flatMap(({ event, data }) => events.push(event, data)),
      ...events.end(),
    ];
  };
  t.strictSame(
    assembleChat(streamed(chatToMessages, messagesAnswer)),
    chatToMessages.answer(messagesAnswer, context),
  );
  t.strictSame(
    assembleMessages(streamed(messagesToChat, chatAnswer)),
    messagesToChat.answer(chatAnswer, context),
  );
  const called = parseBodyExactly(
    '{"content":[{"type":"tool_use","id":"t","name":"f","input":{"id":12345678901234567890}}],"stop_reason":"tool_use"}',
  ) as JsonObject;
  t.match(
    streamed(chatToMessages, called)
      .map(({ data }) => data)
      .join(),
    /12345678901234567890/,
    "its numbers too",
  );
  const viaChat = composeTranslations(responsesToChat, chatToMessages);
  for (const [translation, body] of [
    [responsesToChat, chatAnswer],
    [viaChat, messagesAnswer],
  ] as const) {
    const last = streamed(translation, body).at(-1)!;
    t.equal(last.event, "response.completed");
    t.strictSame(
      (JSON.parse(last.data) as JsonObject)["response"],
      translation.answer(body, context),
    );
  }
});
