import fc from "fast-check";
import t from "tap";
import {
  EventSplitter,
  formatEvent,
  type StreamEvent,
} from "../../../proxy/dialects/event-stream.js";
import { chatEvents, messagesEvents } from "./sample-answers.js";

function split(
  pieces: readonly Uint8Array[],
  charsMax?: number,
): { readonly events: readonly StreamEvent[]; readonly overflowed: boolean } {
  const splitter = new EventSplitter(charsMax);
  const events = pieces.flatMap((piece) => splitter.push(piece));
  return { events, overflowed: splitter.overflow !== null };
}

const bytes = (text: string): Buffer => Buffer.from(text);
const data = (...texts: readonly string[]): readonly StreamEvent[] =>
  texts.map((text) => ({ event: null, data: text }));

const table: readonly (readonly [name: string, text: string, events: readonly StreamEvent[]])[] = [
  ["lines in LF", "data: a\n\ndata: b\n\n", data("a", "b")],
  ["lines in CRLF", "data: a\r\n\r\ndata: b\r\n\r\n", data("a", "b")],
  ["lines in CR", "data: a\r\rdata: b\r\r", data("a", "b")],
  ["lines that end in each of them", "data: a\r\ndata: b\rdata: c\n\r\n", data("a\nb\nc")],
  ["a name", "event: ping\ndata: {}\n\n", [{ event: "ping", data: "{}" }]],
  [
    "a name is for one event",
    "event: ping\ndata: 1\n\ndata: 2\n\n",
    [
      { event: "ping", data: "1" },
      { event: null, data: "2" },
    ],
  ],
  ["a name without data is no event, and is forgotten", "event: ping\n\ndata: 2\n\n", data("2")],
  ["an empty name is none", "event:\ndata: 1\n\n", data("1")],
  ["data of several lines", "data: a\ndata:\ndata: c\n\n", data("a\n\nc")],
  ["an empty line of data", "data\n\ndata:\n\n", data("", "")],
  ["one space is taken off, not more", "data:a\n\ndata:  b\n\n", data("a", " b")],
  ["a byte order mark at the start", "\ufeffdata: a\n\n", data("a")],
  [
    "comments, ids and retries",
    ": hello\nid: 7\nretry: 100\ndata: a\nfoo: bar\n\n:\n\n",
    data("a"),
  ],
  ["colons in a value", "data: a: b\n\n", data("a: b")],
  ["text that isn't ASCII", "data: Grüße, 世界 🌍\n\n", data("Grüße, 世界 🌍")],
  ["an event that the end leaves open", "data: a\n\ndata: b\n", data("a")],
  ["nothing", "", []],
];

t.test("a stream is parsed as the standard requires, wherever it is split", async (t) => {
  for (const [name, text, events] of table) {
    const whole = bytes(text);
    t.strictSame(split([whole]).events, events, name);
    t.strictSame(
      split([...whole].map((byte) => Uint8Array.of(byte))).events,
      events,
      `${name}, byte by byte`,
    );
    const cuts = Array.from({ length: whole.length - 1 }, (_, i) => i + 1);
    t.strictSame(
      cuts.map((at) => [at, split([whole.subarray(0, at), whole.subarray(at)]).events]),
      cuts.map((at) => [at, events]),
      `${name}, cut anywhere`,
    );
  }
});

t.test("any text gives the same events wherever it is split", async () => {
  const text = fc
    .array(
      fc.constantFrom(
        "data:",
        "data: ",
        "event: x",
        "\n",
        "\r",
        "\r\n",
        ":",
        "ü",
        "🌍",
        "\ufeff",
        "a",
      ),
      { maxLength: 40 },
    )
    .map((parts) => parts.join(""));
  fc.assert(
    fc.property(
      text,
      fc.array(fc.nat(120), { maxLength: 8 }),
      fc.integer({ min: 1, max: 60 }),
      (all, cuts, charsMax) => {
        const whole = bytes(all);
        const at = [
          0,
          ...cuts.filter((cut) => cut < whole.length).sort((a, b) => a - b),
          whole.length,
        ];
        const pieces = at.slice(1).map((end, i) => whole.subarray(at[i], end));
        const once = split([whole], charsMax);
        const cut = split(pieces, charsMax);
        return JSON.stringify(once) === JSON.stringify(cut);
      },
    ),
    { numRuns: 2000 },
  );
});

t.test("a formatted event is parsed to the same event", async () => {
  const event = fc.record({
    event: fc.option(fc.constantFrom("message_start", "ping")),
    data: fc.string({ unit: "grapheme" }).map((text) => text.replaceAll("\r", "")),
  });
  fc.assert(
    fc.property(
      fc.array(event),
      (events) =>
        JSON.stringify(split([bytes(events.map(formatEvent).join(""))]).events) ===
        JSON.stringify(events),
    ),
  );
});

t.test("an event is formatted with its name, if it has one", async (t) => {
  t.equal(formatEvent({ event: null, data: "[DONE]" }), "data: [DONE]\n\n");
  t.equal(
    formatEvent({ event: "ping", data: '{"type":"ping"}' }),
    'event: ping\ndata: {"type":"ping"}\n\n',
  );
  t.equal(formatEvent({ event: null, data: "a\r\nb" }), "data: a\ndata: b\n\n");
});

t.test(
  "an event that is too large ends the parsing; the events before it are returned",
  async (t) => {
    const small = "data: 1234\n\n";
    t.strictSame(
      split([bytes(small)], small.length),
      { events: data("1234"), overflowed: false },
      "as large as it may be",
    );
    t.strictSame(
      split([bytes(`${small}data: 12345\n\n${small}`)], small.length),
      { events: data("1234"), overflowed: true },
      "one more",
    );
    t.strictSame(
      split([bytes(`${small}${"x".repeat(100)}`)], small.length),
      { events: data("1234"), overflowed: true },
      "a line without an end",
    );
    t.strictSame(
      split([bytes(`${small}${":\n".repeat(100)}`)], small.length),
      { events: data("1234"), overflowed: true },
      "comments without an end",
    );
    t.strictSame(
      split([bytes(": ping\n\n".repeat(100)), bytes(small)], small.length),
      { events: data("1234"), overflowed: false },
      "comments between events count for none",
    );
  },
);

t.test("streams of both dialects give the same events when split at every byte", async (t) => {
  for (const events of [messagesEvents, chatEvents]) {
    const whole = bytes(events.map(formatEvent).join(""));
    const cutWrong: number[] = [];
    for (let at = 0; at <= whole.length; at++)
      if (
        JSON.stringify(split([whole.subarray(0, at), whole.subarray(at)]).events) !==
        JSON.stringify(events)
      )
        cutWrong.push(at);
    t.strictSame(cutWrong, []);
  }
});
