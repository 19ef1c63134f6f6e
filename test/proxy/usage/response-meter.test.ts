import t from "tap";
import { type BodyForm, ResponseMeter } from "../../../proxy/usage/response-meter.js";
import { heldPieceBytes, readableResponseBytesMax } from "../../../shared/bounds.js";

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
