import t from "tap";
import type { MeteredUsage } from "../../../proxy/usage/count-usage.js";
import {
  type BodyForm,
  ResponseMeter,
  type TranslationReport,
} from "../../../proxy/usage/response-meter.js";
import { heldPieceBytes, streamEventBytesMax } from "../../../shared/bounds.js";
import type { Operation } from "../../../shared/operation.js";
import { exactly } from "../../support/patterns/exactly.js";

const json = JSON.stringify({
  choices: [],
  usage: { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 },
});

function meterOf(form: BodyForm, isHeld: boolean, memoryBytes = 10_000_000) {
  const memory = {
    held: 0,
    takeForAnswer(bytes: number): boolean {
      if (memory.held + bytes > memoryBytes) return false;
      memory.held += bytes;
      return true;
    },
    give(bytes: number): void {
      memory.held -= bytes;
    },
  };
  const request = {
    operation: "chat_completions",
    promptBytes: () => 400,
    request: { body: null },
  } as const;
  const meter = new ResponseMeter(request, null, memory);
  meter.beginBody(form, isHeld ? "held" : "passed");
  return { meter, memory };
}

t.test("what is held is handed out in whole, and the rest is read as it passes", async (t) => {
  for (const form of ["json", "text", "bytes"] as const) {
    const { meter, memory } = meterOf(form, true);
    const pieces = [Buffer.from(json.slice(0, 20)), Buffer.from(json.slice(20))];
    meter.keep(pieces[0]!);
    t.equal(memory.held, 20 + heldPieceBytes);
    t.same(meter.release(), pieces.slice(0, 1), form);
    t.equal(memory.held, 0, form);
    meter.keep(pieces[1]!);
    t.same([memory.held, meter.text(), meter.bytes], [0, "", json.length], form);
    t.match(meter.usageOf(meter.read(meter.text())), { estimated: form !== "json" });
  }
});

t.test("an answer that isn't held is read, however large, and takes no memory", async (t) => {
  const { meter, memory } = meterOf("json", false, 0);
  const usage = { prompt_tokens: 3, completion_tokens: 2, total_tokens: 5 };
  meter.keep(Buffer.from(`{"metadata":{"usage":"x"},"usage":${JSON.stringify(usage)},"data":[`));
  for (let i = 0; i < 40; i++) meter.keep(Buffer.from("0,".repeat(512 * 1024)));
  meter.keep(Buffer.from('0],"metadata":{"usage":"x"}}'));
  t.same([meter.isFull, memory.held], [false, 0]);
  t.same(metered(meter.usageOf(meter.read(meter.text()))), [3, 2, false, null]);
});

t.test("without memory an answer isn't kept, and what is held is to be released", async (t) => {
  const { meter, memory } = meterOf("json", true, 2 * heldPieceBytes);
  meter.keep(Buffer.from("{"));
  t.equal(meter.isFull, false);
  meter.keep(Buffer.alloc(heldPieceBytes));
  t.equal(meter.isFull, true);
  t.equal(meter.release()?.length, 2, "nothing that was held is lost");
  t.equal(memory.held, 0);
});

t.test("an answer is charged as it reports, and else by prompt and text", async (t) => {
  const { meter } = meterOf("json", true);
  meter.keep(Buffer.from(json));
  t.match(meter.usageOf(meter.read(meter.text())), {
    usage: { inputTokens: 3, outputTokens: 2 },
    estimated: false,
    note: null,
  });
  const { meter: silent } = meterOf("text", true);
  silent.keep(Buffer.alloc(40, "x"));
  t.match(silent.usageOf(undefined), {
    usage: { inputTokens: 100, outputTokens: 10 },
    estimated: true,
  });
});

t.test(
  "a stream that is cut is charged by what passed, or what its translation read",
  async (t) => {
    const memory = { takeForAnswer: () => true, give: () => {} };
    const request = {
      operation: "chat_completions",
      promptBytes: () => 400,
      request: { body: null },
    } as const;
    const event = `data: {"choices":[{"delta":{"content":"${"x".repeat(40)}"}}]}\n\n`;
    const translation = {
      usage: { prompt_tokens: 7, completion_tokens: 50 },
      refused: null,
      untranslatedBytes: 0,
    };
    for (const [of, input, output] of [
      [null, 100, 10],
      [translation, 7, 50],
    ] as const) {
      const meter = new ResponseMeter(request, of, memory);
      meter.beginStream(false);
      meter.push(Buffer.from(event));
      t.match(meter.usageSeen("it broke off"), {
        usage: { inputTokens: input, outputTokens: output },
        estimated: true,
        note: /^it broke off/,
      });
    }
  },
);

t.test("a stream is recognised by its bytes and by an error among its events", async (t) => {
  const { meter, memory } = meterOf("json", true);
  meter.keep(Buffer.from("{}"));
  t.same([meter.isStream, meter.errorSeen, meter.bytes], [false, false, 2]);
  const request = {
    operation: "chat_completions",
    promptBytes: () => 400,
    request: { body: null },
  } as const;
  const stream = new ResponseMeter(request, null, memory);
  stream.beginStream(false);
  stream.push(Buffer.from('data: {"choices": []}\n\n'));
  t.same([stream.isStream, stream.errorSeen, stream.bytes], [true, false, 23]);
  stream.push(Buffer.from('data: {"error": {"message": "overloaded"}}\n\n'));
  t.same([stream.isStream, stream.errorSeen, stream.bytes], [true, true, 67]);
});

/** What a body of this form is charged that ended in order, or that was cut. */
function body(
  form: BodyForm,
  text: string,
  { operation = "chat_completions", translation = null, unreadable = null }: MeterOptions = {},
) {
  const request = { operation, promptBytes: () => 400, request: { body: null } };
  const meter = new ResponseMeter(request, translation, {
    takeForAnswer: () => true,
    give: () => {},
  });
  meter.beginBody(form, "held", unreadable);
  meter.keep(Buffer.from(text));
  return { ended: () => meter.usageOf(meter.read(meter.text())), cut: () => cutOf(meter) };
}

/** The same for a stream of these events. */
function stream(
  events: readonly unknown[],
  { operation = "chat_completions", translation = null }: MeterOptions = {},
) {
  const request = { operation, promptBytes: () => 400, request: { body: null } };
  const meter = new ResponseMeter(request, translation, {
    takeForAnswer: () => true,
    give: () => {},
  });
  meter.beginStream(false);
  for (const event of events)
    meter.push(
      Buffer.from(`data: ${typeof event === "string" ? event : JSON.stringify(event)}\n\n`),
    );
  return { ended: () => meter.usageOf(), cut: () => cutOf(meter) };
}

const cutOf = (meter: ResponseMeter) => meter.usageSeen("it broke off");

interface MeterOptions {
  readonly operation?: Operation | null;
  readonly translation?: TranslationReport | null;
  readonly unreadable?: string | null;
}

/** The tokens of a usage, and what is said of them. */
function metered({ usage, estimated, note }: MeteredUsage) {
  return [usage?.inputTokens ?? null, usage?.outputTokens ?? null, estimated, note];
}

const translated = (of: Partial<TranslationReport>): TranslationReport => ({
  usage: null,
  untranslatedBytes: 0,
  refused: null,
  ...of,
});
const reported = { prompt_tokens: 7, completion_tokens: 50, total_tokens: 57 };

t.test("what a body is charged, by its form, where it ended and where it was cut", async (t) => {
  const forty = "x".repeat(40);
  for (const [form, text, more, ended, cut] of [
    ["json", json, {}, [3, 2, false, null], [100, 21, true, "it broke off"]],
    ["json", '{"choices":[]}', {}, [100, 4, true, null], [100, 4, true, "it broke off"]],
    ["text", json, {}, [100, 21, true, null], [100, 21, true, "it broke off"]],
    ["text", forty, {}, [100, 10, true, null], [100, 10, true, "it broke off"]],
    ["bytes", forty, {}, [100, 0, true, null], [100, 0, true, "it broke off"]],
    ["unmetered", json, {}, [null, null, false, null], [null, null, false, "it broke off"]],
    [
      "text",
      forty,
      { unreadable: "it is compressed" },
      [100, 10, true, "it is compressed"],
      [100, 10, true, "it broke off; it is compressed"],
    ],
    ["json", json, { operation: null }, [3, 2, false, null], [null, null, false, "it broke off"]],
    [
      "json",
      json,
      { translation: translated({ usage: reported }) },
      [7, 50, false, null],
      [7, 50, false, "it broke off"],
    ],
    [
      "text",
      forty,
      { translation: translated({ untranslatedBytes: 80 }) },
      [100, 30, true, null],
      [100, 30, true, "it broke off"],
    ],
  ] as const) {
    const what = `${form} ${JSON.stringify(more)}`;
    t.same(metered(body(form, text, more).ended()), ended, what);
    t.same(metered(body(form, text, more).cut()), cut, `${what}, cut`);
  }
});

const delta = (text: string) => ({ choices: [{ delta: { content: text } }] });
const usageChunk = { choices: [], usage: reported };
const error = { error: { message: "overloaded" } };

t.test("what a stream is charged that ended, or that had an error", async (t) => {
  const invalid = { choices: [], usage: { prompt_tokens: -1, completion_tokens: 5 } };
  const notCharged = /^usage not charged: prompt_tokens must be/;
  const unread = { choices: [], usage: { prompt_tokens: 0, completion_tokens: 50 } };
  const empty = { choices: [], usage: { prompt_tokens: 0, completion_tokens: 0 } };
  const noInput = "its usage leaves out tokens: it has no input";
  const hasText = "its usage leaves out tokens: the answer has text";
  for (const [events, more, expected] of [
    [[delta("x".repeat(40)), usageChunk], {}, [7, 50, false, null]],
    [[delta("x".repeat(40)), unread], {}, [100, 50, true, noInput]],
    [[delta("x".repeat(40)), empty], {}, [100, 10, true, hasText]],
    [[delta("x".repeat(40))], {}, [100, 10, true, null]],
    [[delta("x".repeat(40)), error], {}, [100, 10, true, null]],
    [[usageChunk, delta("x".repeat(40)), error], {}, [7, 60, true, null]],
    [[delta("x".repeat(40)), invalid, error], {}, [100, 10, true, notCharged]],
    [[delta("x".repeat(40))], { operation: null }, [null, null, false, null]],
    [[{ usageMetadata: { promptTokenCount: 9 } }], { operation: null }, [9, 0, false, null]],
    [
      [delta("x".repeat(40)), usageChunk],
      { translation: translated({ usage: { prompt_tokens: 1, completion_tokens: 2 } }) },
      [1, 2, false, null],
    ],
    [
      [delta("x".repeat(40)), error],
      { translation: translated({ untranslatedBytes: 80, refused: "too deep" }) },
      [100, 30, true, "too deep"],
    ],
  ] as const)
    t.match(metered(stream(events, more).ended()), expected, JSON.stringify([events, more]));
});

t.test("what a stream is charged that was cut, with what wasn't translated of it", async (t) => {
  const broke = "it broke off";
  for (const [events, more, expected] of [
    [[delta("x".repeat(40))], {}, [100, 10, true, broke]],
    [
      [delta("x".repeat(40))],
      { translation: translated({ untranslatedBytes: 80 }) },
      [100, 30, true, broke],
    ],
    [[usageChunk], {}, [7, 50, true, broke]],
    [[delta("x".repeat(40))], { operation: null }, [null, null, false, broke]],
    [
      [delta("x".repeat(240))],
      { translation: translated({ usage: reported }) },
      [7, 60, true, broke],
    ],
    [
      [delta("x".repeat(200))],
      { translation: translated({ usage: reported, untranslatedBytes: 80 }) },
      [7, 70, true, broke],
    ],
  ] as const)
    t.same(metered(stream(events, more).cut()), expected, JSON.stringify([events, more]));
});

t.test("that a large event can't be read is said, unless its translation did", async (t) => {
  const large = { choices: [{ delta: { parts: Array(streamEventBytesMax / 2).fill(0) } }] };
  t.same(metered(stream([large]).ended()), [100, 0, true, null]);
  const broken = `${JSON.stringify(large)}}`;
  const note = /can't be read/;
  t.match(metered(stream([broken]).ended()), exactly([100, 0, true, note]));
  const translation = translated({ usage: reported });
  t.same(metered(stream([broken], { translation }).ended()), [7, 50, false, null]);
});

t.test("only what is JSON is read, as far as its usage needs it", async (t) => {
  for (const [form, text, expected] of [
    ["json", '{"id":"a","usage":{"prompt_tokens":1}}', { usage: { prompt_tokens: 1 } }],
    ["json", '{"id":"a"}', { id: "a" }],
    ["json", '{"id":', undefined],
    ["text", '{"id":"a"}', undefined],
    ["bytes", '{"id":"a"}', undefined],
    ["unmetered", '{"id":"a"}', undefined],
  ] as const)
    t.same(meterOf(form, true).meter.read(text), expected, `${form} ${text}`);
});

t.test("the output of a stream so far is what was reported, and the text since then", async (t) => {
  const memory = { takeForAnswer: () => true, give: () => {} };
  const request = {
    operation: "chat_completions",
    promptBytes: () => 0,
    request: { body: null },
  } as const;
  const text = (content: string, usage?: object): Buffer =>
    Buffer.from(
      `data: ${JSON.stringify({ choices: [{ index: 0, delta: { content } }], usage })}\n\n`,
    );
  const counts = (completion_tokens: number): object => ({ prompt_tokens: 3, completion_tokens });
  const meter = new ResponseMeter(request, null, memory);
  meter.beginStream(false, { bytesPerToken: 2 });
  t.equal(meter.outputSeen(null), 0);
  meter.push(text("abcdef"));
  t.equal(meter.outputSeen(null), 3);
  meter.push(text("abcd", counts(100)));
  t.equal(meter.outputSeen(null), 100);
  meter.push(text("abc"));
  t.equal(meter.outputSeen(null), 102);
  meter.push(text("", counts(101)));
  t.equal(meter.outputSeen(null), 101, "a report replaces the count of bytes");
  t.equal(meter.textBytes, 13);
  meter.push(text("abcdef"));
  t.match(meter.usageSeen("it was cut").usage, { inputTokens: 3, outputTokens: 104 });
  const translation = {
    usage: null as unknown,
    textSinceUnsent: 0,
    untranslatedBytes: 0,
    refused: null,
  };
  const translated = new ResponseMeter(request, translation, memory);
  translated.beginStream(false, { bytesPerToken: 2 });
  translated.push(text("abcdef"));
  t.equal(translated.outputSeen(translation), 3);
  translation.usage = { input_tokens: 5, output_tokens: 1 };
  t.equal(translated.outputSeen(translation), 3, "Anthropic's first report is no count");
  translation.usage = { input_tokens: 5, output_tokens: 50 };
  t.equal(translated.outputSeen(translation), 50);
  translated.noteUnsent({ usage: null, textSinceUnsent: 8 });
  t.equal(
    translated.outputSeen({ usage: null, textSinceUnsent: 14 }),
    57,
    "the client lacks some yet",
  );
  const unreported = new ResponseMeter(request, null, memory);
  unreported.beginStream(false, { bytesPerToken: 2.5 });
  unreported.push(text("abcdefghij"));
  t.equal(unreported.usageSeen("it was cut").usage?.outputTokens, 4, "charged as it was counted");
});

t.test("a total for input and output is split if the answer has text", async (t) => {
  const text = "x".repeat(20);
  const bare = [
    { prompt_tokens: null, completion_tokens: null, total_tokens: 12 },
    { total_tokens: 12 },
    { input_tokens: null, completion_tokens: 0, total_tokens: 12 },
    { totalTokenCount: 12 },
  ];
  const answers: readonly (readonly [Operation, unknown])[] = [
    ["chat_completions", { choices: [{ message: { content: text } }] }],
    ["completions", { choices: [{ text }] }],
    ["messages", { content: [{ type: "text", text }] }],
    [
      "responses",
      {
        output: [{ type: "message", content: [{ type: "output_text", text }] }],
        object: "response",
      },
    ],
    ["generate_content", { candidates: [{ content: { parts: [{ text }] } }] }],
    ["embeddings", { data: [{ embedding: [1] }] }],
  ];
  for (const [operation, answer] of answers) {
    for (const usage of bare) {
      const name = `${operation} ${JSON.stringify(usage)}`;
      const memory = { takeForAnswer: () => true, give: () => {} };
      const request = { operation, promptBytes: () => 400, request: { body: null } } as const;
      const expected = operation === "embeddings" ? [12, 0, false] : [7, 5, true];
      const field = "totalTokenCount" in usage ? "usageMetadata" : "usage";
      for (const isHeld of [true, false]) {
        const meter = new ResponseMeter(request, null, memory);
        meter.beginBody("json", isHeld ? "held" : "passed");
        meter.keep(Buffer.from(JSON.stringify({ ...(answer as object), [field]: usage })));
        const { usage: counted, estimated } = meter.usageOf(meter.read(meter.text()));
        if (isHeld)
          t.same([counted?.inputTokens, counted?.outputTokens, estimated], expected, name);
        t.equal(counted?.totalTokens, 12, name);
      }
    }
  }
  const streamed = new ResponseMeter(
    { operation: "chat_completions", promptBytes: () => 400, request: { body: null } },
    null,
    { takeForAnswer: () => true, give: () => {} },
  );
  streamed.beginStream(false);
  const event = (value: object): void =>
    void streamed.push(Buffer.from(`data: ${JSON.stringify(value)}\n\n`));
  event({ choices: [{ delta: { content: text } }] });
  event({ choices: [], usage: bare[0] });
  streamed.push(Buffer.from("data: [DONE]\n\n"));
  t.match(streamed.usageOf(), {
    usage: { inputTokens: 7, outputTokens: 5, totalTokens: 12 },
    estimated: true,
  });
});
