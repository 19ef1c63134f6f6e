import fc from "fast-check";
import t from "tap";
import {
  closeFrame,
  WebSocketFrameReader,
} from "../../../../proxy/upstream/passthrough/frame-reader.js";

interface Frame {
  readonly opcode: number;
  readonly final?: boolean;
  readonly payload: Buffer;
  readonly mask?: readonly number[] | null;
  /** Extra bytes of length than are needed, as a peer may write. */
  readonly wide?: boolean;
}

function encode({ opcode, final = true, payload, mask = null, wide = false }: Frame): Buffer {
  const length = payload.length;
  const size = wide ? 127 : length < 126 ? length : length < 65_536 ? 126 : 127;
  const head = Buffer.alloc(2 + (size === 126 ? 2 : size === 127 ? 8 : 0));
  head[0] = (final ? 0x80 : 0) | opcode;
  head[1] = (mask === null ? 0 : 0x80) | size;
  if (size === 126) head.writeUInt16BE(length, 2);
  if (size === 127) head.writeBigUInt64BE(BigInt(length), 2);
  if (mask === null) return Buffer.concat([head, payload]);
  return Buffer.concat([head, Buffer.from(mask), payload.map((byte, i) => byte ^ mask[i % 4]!)]);
}

interface Heard {
  readonly reader: WebSocketFrameReader;
  readonly texts: string[];
}

function read(...pieces: readonly Buffer[]): Heard {
  const texts: string[] = [];
  const reader = new WebSocketFrameReader((message) => texts.push(message.toString("utf8")));
  for (const piece of pieces) reader.push(piece);
  return { reader, texts };
}

const mask = fc.option(fc.tuple(fc.nat(255), fc.nat(255), fc.nat(255), fc.nat(255)));
const control = fc.record({
  opcode: fc.constantFrom(9, 10),
  payload: fc.uint8Array({ maxLength: 125 }).map((bytes) => Buffer.from(bytes)),
  mask,
});
const message = fc.record({
  isText: fc.boolean(),
  pieces: fc.array(fc.string({ unit: "grapheme", maxLength: 300 }), { minLength: 1, maxLength: 4 }),
  mask,
  wide: fc.boolean(),
  between: fc.array(control, { maxLength: 2 }),
});

t.test(
  "text messages are read completely and in order, however they are framed and cut",
  async (t) => {
    t.doesNotThrow(() =>
      fc.assert(
        fc.property(
          fc.array(message, { maxLength: 6 }),
          fc.array(fc.nat(), { maxLength: 12 }),
          (messages, cuts) => {
            const frames = messages.flatMap(({ isText, pieces, mask, wide, between }) =>
              pieces.flatMap((piece, i): Frame[] => [
                {
                  opcode: i > 0 ? 0 : isText ? 1 : 2,
                  final: i === pieces.length - 1,
                  payload: Buffer.from(piece),
                  mask,
                  wide,
                },
                ...between,
              ]),
            );
            const bytes = Buffer.concat(frames.map(encode));
            const places = [
              0,
              ...cuts.map((cut) => cut % (bytes.length + 1)).sort((a, b) => a - b),
              bytes.length,
            ];
            const { reader, texts } = read(
              ...places.slice(1).map((end, i) => bytes.subarray(places[i], end)),
            );
            const expected = messages
              .filter(({ isText, pieces }) => isText && pieces.join("") !== "")
              .map(({ pieces }) => pieces.join(""));
            return (
              JSON.stringify(texts) === JSON.stringify(expected) &&
              reader.betweenFrames &&
              !reader.isInvalid &&
              !reader.isClosing
            );
          },
        ),
        { seed: 3, numRuns: 500 },
      ),
    );
  },
);

t.test("byte by byte, it is between frames exactly where one ends", async (t) => {
  const frames = [
    encode({ opcode: 1, payload: Buffer.from("one") }),
    encode({ opcode: 9, payload: Buffer.alloc(0) }),
    encode({ opcode: 1, payload: Buffer.alloc(200, "x"), mask: [1, 2, 3, 4] }),
    encode({ opcode: 2, payload: Buffer.alloc(0), wide: true }),
  ];
  const ends = new Set(frames.map((_, i) => Buffer.concat(frames.slice(0, i + 1)).length));
  const reader = new WebSocketFrameReader(() => {});
  t.ok(reader.betweenFrames);
  const between: number[] = [];
  for (const [i, byte] of Buffer.concat(frames).entries()) {
    reader.push(Buffer.from([byte]));
    if (reader.betweenFrames) between.push(i + 1);
  }
  t.same(between, [...ends]);
});

t.test("a close frame is seen at its first bytes, and our own is valid", async (t) => {
  const close = closeFrame(1001, "the proxy stops", "client");
  t.same(
    close,
    encode({
      opcode: 8,
      payload: Buffer.concat([Buffer.from([0x03, 0xe9]), Buffer.from("the proxy stops")]),
    }),
  );
  t.ok(read(close.subarray(0, 2)).reader.isClosing);
  t.same(
    closeFrame(1001, "", "provider"),
    encode({ opcode: 8, payload: Buffer.from([0x03, 0xe9]), mask: [0, 0, 0, 0] }),
  );
});

t.test(
  "of a message above the bound only its usage is read, and the next one completely",
  async (t) => {
    const json = JSON.stringify({
      type: "response.done",
      response: { output: [{ delta: "A".repeat(3000) }], usage: { total_tokens: 7 } },
    });
    const next = encode({ opcode: 1, payload: Buffer.from("next") });
    const cut = JSON.stringify({ type: "response.done", response: { usage: { total_tokens: 7 } } });
    for (const mask of [null, [1, 2, 3, 4]]) {
      for (const large of [
        [encode({ opcode: 1, payload: Buffer.from(json), mask })],
        [
          encode({ opcode: 1, payload: Buffer.from(json.slice(0, 900)), final: false, mask }),
          encode({ opcode: 9, payload: Buffer.from("ping") }),
          encode({ opcode: 0, payload: Buffer.from(json.slice(900)), mask }),
        ],
      ]) {
        const bytes = Buffer.concat([...large, next]);
        for (const size of [1, 7, 1000, bytes.length]) {
          const received: (readonly [string, number])[] = [];
          const reader = new WebSocketFrameReader(
            (message, leftOut) => received.push([message.toString("utf8"), leftOut]),
            1024,
          );
          for (let at = 0; at < bytes.length; at += size)
            reader.push(bytes.subarray(at, at + size));
          t.same(
            [received, reader.unreadMessages],
            [
              [
                [cut, 3000],
                ["next", 0],
              ],
              0,
            ],
            `pieces of ${size}`,
          );
        }
      }
    }
    const texts: string[] = [];
    const reader = new WebSocketFrameReader(
      (message) => texts.push(message.toString("utf8")),
      1024,
    );
    reader.push(
      Buffer.concat([encode({ opcode: 1, payload: Buffer.from(`[${"1,".repeat(2000)}1`) }), next]),
    );
    t.same([texts, reader.unreadMessages], [["next"], 1], "one that is no JSON is counted");
  },
);

t.test("a frame that never ends is skipped without being kept", async (t) => {
  const { reader, texts } = read(
    Buffer.from([0x81, 0x7f, 0x7f, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]),
  );
  const piece = Buffer.alloc(1024 * 1024, "x");
  for (let i = 0; i < 64; i++) reader.push(piece);
  t.same(texts, []);
  t.notOk(reader.betweenFrames || reader.isInvalid);
});

t.test("an invalid frame ends the reading, and no frame may be inserted after it", async (t) => {
  const table: Readonly<Record<string, readonly number[]>> = {
    "a reserved bit, as of a compressed message": [0xc1, 0x00],
    "an unknown opcode": [0x83, 0x00],
    "an unknown control opcode": [0x8b, 0x00],
    "a control frame in pieces": [0x09, 0x00],
    "a long control frame": [0x89, 0x7e, 0x00, 0x7e],
  };
  for (const [name, bytes] of Object.entries(table)) {
    const { reader, texts } = read(
      Buffer.from(bytes),
      encode({ opcode: 1, payload: Buffer.from("no") }),
    );
    t.same([reader.isInvalid, reader.betweenFrames, texts], [true, false, []], name);
  }
});

t.test("any bytes are read without harm", async (t) => {
  t.doesNotThrow(() =>
    fc.assert(
      fc.property(
        fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 6 }),
        (pieces) => read(...pieces.map((piece) => Buffer.from(piece))).texts.length >= 0,
      ),
    ),
  );
});
