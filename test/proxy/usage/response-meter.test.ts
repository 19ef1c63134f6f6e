import t from "tap";
import type { MeteredUsage } from "../../../proxy/usage/count-usage.js";
import {
  type BodyForm,
  ResponseMeter,
  type TranslationReport,
} from "../../../proxy/usage/response-meter.js";
import {
  heldPieceBytes,
  readableResponseBytesMax,
  streamEventBytesMax,
} from "../../../shared/bounds.js";
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
  const request = { operation: "chat_completions", promptBytes: () => 400 } as const;
  const meter = new ResponseMeter(request, null, memory);
  meter.beginBody(form, isHeld);
  return { meter, memory };
}

t.test("what is held is handed out in whole, and kept on only to be read", async (t) => {
  for (const [form, keptBytes] of [
    ["json", json.length + 2 * heldPieceBytes],
    ["text", 0],
    ["bytes", 0],
  ] as const) {
    const { meter, memory } = meterOf(form, true);
    const pieces = [Buffer.from(json.slice(0, 20)), Buffer.from(json.slice(20))];
    for (const piece of pieces) meter.keep(piece);
    t.equal(memory.held, json.length + 2 * heldPieceBytes);
    t.same(meter.release(), pieces, form);
    t.equal(memory.held, keptBytes, form);
    t.equal(meter.text(), form === "json" ? json : "");
    t.equal(meter.bytes, json.length);
  }
});

t.test("only JSON is kept to be read when nothing is held", async (t) => {
  for (const form of ["json", "text", "bytes", "unmetered"] as const) {
    const { meter, memory } = meterOf(form, false);
    meter.keep(Buffer.from(json));
    t.equal(memory.held > 0, form === "json", form);
    t.equal(meter.text() === json, form === "json", form);
  }
});

t.test("an answer is read up to a size, and larger ones take no memory", async (t) => {
  const { meter, memory } = meterOf("json", false, Infinity);
  meter.keep(Buffer.alloc(readableResponseBytesMax, " "));
  t.equal(meter.isFull, false);
  t.ok(memory.held > 0);
  meter.keep(Buffer.from(" "));
  t.equal(meter.isFull, true);
  t.equal(memory.held, 0);
  t.equal(meter.text(), "");
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
  t.match(meter.charged(meter.read(meter.text())), {
    usage: { inputTokens: 3, outputTokens: 2 },
    estimated: false,
    note: null,
  });
  const { meter: silent } = meterOf("text", true);
  silent.keep(Buffer.alloc(40, "x"));
  t.match(silent.charged(undefined), {
    usage: { inputTokens: 100, outputTokens: 10 },
    estimated: true,
  });
});

t.test("an answer that is released and then outgrows the bound is forgotten", async (t) => {
  const { meter, memory } = meterOf("json", true, Infinity);
  meter.keep(Buffer.from("{"));
  meter.release();
  t.ok(memory.held > 0);
  meter.keep(Buffer.alloc(readableResponseBytesMax, " "));
  t.equal(memory.held, 0);
  t.match(meter.charged(undefined), { note: /usage unknown: the answer is larger than/ });
});

t.test(
  "a stream that is cut is charged by what passed, or what its translation read",
  async (t) => {
    const memory = { takeForAnswer: () => true, give: () => {} };
    const request = { operation: "chat_completions", promptBytes: () => 400 } as const;
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
      t.match(meter.chargedWhenCut("it broke off"), {
        usage: { inputTokens: input, outputTokens: output },
        estimated: true,
        note: /^it broke off/,
      });
    }
  },
);

t.test("a stream is told from a body, by its bytes and by an error among its events", async (t) => {
  const { meter, memory } = meterOf("json", false);
  meter.keep(Buffer.from("{}"));
  t.same([meter.isStream, meter.errorSeen, meter.bytes], [false, false, 2]);
  const request = { operation: "chat_completions", promptBytes: () => 400 } as const;
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
  const request = { operation, promptBytes: () => 400 };
  const meter = new ResponseMeter(request, translation, {
    takeForAnswer: () => true,
    give: () => {},
  });
  meter.beginBody(form, true, unreadable);
  meter.keep(Buffer.from(text));
  return { ended: () => meter.charged(meter.read(meter.text())), cut: () => cutOf(meter) };
}

/** The same for a stream of these events. */
function stream(
  events: readonly unknown[],
  { operation = "chat_completions", translation = null }: MeterOptions = {},
) {
  const request = { operation, promptBytes: () => 400 };
  const meter = new ResponseMeter(request, translation, {
    takeForAnswer: () => true,
    give: () => {},
  });
  meter.beginStream(false);
  for (const event of events) meter.push(Buffer.from(`data: ${JSON.stringify(event)}\n\n`));
  return { ended: () => meter.charged(), cut: () => cutOf(meter) };
}

const cutOf = (meter: ResponseMeter) => (untranslatedBytes?: number) =>
  meter.chargedWhenCut("it broke off", untranslatedBytes);

interface MeterOptions {
  readonly operation?: Operation | null;
  readonly translation?: TranslationReport | null;
  readonly unreadable?: string | null;
}

/** The tokens of a usage, and what is said of them. */
function told({ usage, estimated, note }: MeteredUsage) {
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
    t.same(told(body(form, text, more).ended()), ended, what);
    t.same(told(body(form, text, more).cut()()), cut, `${what}, cut`);
  }
});

const delta = (text: string) => ({ choices: [{ delta: { content: text } }] });
const usageChunk = { choices: [], usage: reported };
const error = { error: { message: "overloaded" } };

t.test("what a stream is charged that ended, or that had an error", async (t) => {
  const invalid = { choices: [], usage: { prompt_tokens: -1, completion_tokens: 5 } };
  const notCharged = /^usage not charged: prompt_tokens must be/;
  for (const [events, more, expected] of [
    [[delta("x".repeat(40)), usageChunk], {}, [7, 50, false, null]],
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
    t.match(told(stream(events, more).ended()), expected, JSON.stringify([events, more]));
});

t.test("what a stream is charged that was cut, with what wasn't translated of it", async (t) => {
  const broke = "it broke off";
  for (const [events, more, bytes, expected] of [
    [[delta("x".repeat(40))], {}, undefined, [100, 10, true, broke]],
    [[delta("x".repeat(40))], {}, 80, [100, 30, true, broke]],
    [[usageChunk], {}, undefined, [7, 50, true, broke]],
    [[delta("x".repeat(40))], { operation: null }, undefined, [null, null, false, broke]],
    [
      [delta("x".repeat(240))],
      { translation: translated({ usage: reported }) },
      undefined,
      [7, 60, true, broke],
    ],
    [
      [delta("x".repeat(200))],
      { translation: translated({ usage: reported }) },
      80,
      [7, 70, true, broke],
    ],
  ] as const)
    t.same(
      told(stream(events, more).cut()(bytes)),
      expected,
      JSON.stringify([events, more, bytes]),
    );
});

t.test("that an event was too large to be read is said, unless its translation did", async (t) => {
  const large = { choices: [{ delta: { parts: Array(streamEventBytesMax / 2).fill(0) } }] };
  const note = /too large to be read/;
  t.match(told(stream([large]).ended()), exactly([100, 0, true, note]));
  const translation = translated({ usage: reported });
  t.same(told(stream([large], { translation }).ended()), [7, 50, false, null]);
});

t.test("what is held stays held, however large it is, until it is released", async (t) => {
  const { meter, memory } = meterOf("json", true, Infinity);
  meter.keep(Buffer.alloc(readableResponseBytesMax, " "));
  meter.keep(Buffer.from(" "));
  t.equal(meter.isFull, false);
  t.equal(meter.release().length, 2);
  t.same([meter.isFull, memory.held], [true, 0], "it is too large to be read");
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
    t.same(meterOf(form, false).meter.read(text), expected, `${form} ${text}`);
});
