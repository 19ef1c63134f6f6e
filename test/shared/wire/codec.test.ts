import { inspect } from "node:util";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import fc from "fast-check";
import t from "tap";
import { frameBytesMaxFromDaemon, frameBytesMaxToDaemon } from "../../../shared/bounds.js";
import {
  createFrameReader,
  decodeValue,
  encodeFrame,
  encodeValue,
  type FrameReader,
} from "../../../shared/wire/codec.js";
import { parseToDaemon } from "../../../shared/wire/message-to-daemon.js";
import { exactly } from "../../support/patterns/exactly.js";

const bytesMax = frameBytesMaxToDaemon;

/** Msgpack bytes behind their length word. */
function framed(body: Buffer | readonly number[]): Buffer {
  const bytes = Buffer.from(body);
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
}

/** What a reader makes of bytes: the frames, and whether the peer may stay. */
function read(
  bytes: Buffer,
  reader = createFrameReader(bytesMax),
): { readonly ok: boolean; readonly frames: unknown[] } {
  const frames: unknown[] = [];
  return { ok: reader.feed(bytes, (frame) => frames.push(frame)), frames };
}

/** The reader has ended: it takes no frame any more, however good. */
function hasEnded(reader: FrameReader): boolean {
  const after = read(encodeFrame(["settled", 1]), reader);
  return !after.ok && after.frames.length === 0;
}

function cut(bytes: Buffer, at: readonly number[]): Buffer[] {
  const marks = [0, ...[...at].sort((a, b) => a - b), bytes.length];
  return marks.slice(1).map((end, i) => bytes.subarray(marks[i], end));
}

/** What our messages are made of. */
const plain = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.boolean(),
    fc.constant(null),
    fc.maxSafeInteger(),
    fc.nat(300),
    fc.double({ noNaN: true }),
    fc.string({ unit: "grapheme" }),
    tie("list"),
    tie("record"),
  ),
  list: fc.array(tie("value"), { maxLength: 5 }),
  record: fc.dictionary(
    fc.string().filter((key) => key !== "__proto__"),
    tie("value"),
    { maxKeys: 4, noNullPrototype: true },
  ),
}));
const message = fc
  .tuple(fc.constantFrom("admit", "settle", "admin"), fc.nat(), plain.value)
  .map((parts): readonly unknown[] => parts);

t.test("messages are complete and in order, wherever the stream is cut", async (t) => {
  fc.assert(
    fc.property(
      fc.array(message, { minLength: 1, maxLength: 6 }),
      fc.array(fc.double({ min: 0, max: 1, noNaN: true }), { maxLength: 12 }),
      (messages, cuts) => {
        const stream = Buffer.concat(messages.map(encodeFrame));
        const reader = createFrameReader(bytesMax);
        const frames: unknown[] = [];
        for (const piece of cut(
          stream,
          cuts.map((share) => Math.floor(share * stream.length)),
        ))
          if (!reader.feed(piece, (frame) => frames.push(frame))) return false;
        return JSON.stringify(frames) === JSON.stringify(messages);
      },
    ),
    { numRuns: 500 },
  );
  t.pass("500 streams");
});

t.test("a stream can be read byte by byte", async (t) => {
  const messages = [
    ["admit", 1, "/team", "authenticated", ["openai", "gpt-4o"]],
    ["admin", 2, "status", { a: [1.5, -1, 2 ** 53 - 1, "é日🙂"] }],
    ["settle", 3],
  ];
  const reader = createFrameReader(bytesMax);
  const frames: unknown[] = [];
  const bytes = Buffer.concat(messages.map((wire) => encodeFrame(wire)));
  t.ok([...bytes].every((byte) => reader.feed(Buffer.from([byte]), (frame) => frames.push(frame))));
  t.same(frames, messages);
});

t.test("an empty chunk changes nothing", async (t) => {
  const bytes = encodeFrame(["settled", 7]);
  const reader = createFrameReader(bytesMax);
  const frames: unknown[] = [];
  for (const piece of [
    Buffer.alloc(0),
    bytes.subarray(0, 5),
    Buffer.alloc(0),
    bytes.subarray(5),
    Buffer.alloc(0),
  ])
    t.ok(reader.feed(piece, (frame) => frames.push(frame)));
  t.same(frames, [["settled", 7]]);
});

t.test("a frame is unchanged while later ones are encoded and decoded", async (t) => {
  const first = encodeFrame(["settled", 1]);
  const copy = Buffer.from(first);
  const many = Array.from({ length: 5000 }, (_, i) =>
    encodeFrame(["admit", i, "/team", "authenticated", ["openai", `model-${i}`]]),
  );
  t.ok(first.equals(copy));
  const { ok, frames } = read(Buffer.concat(many));
  t.ok(ok);
  t.same(
    [frames[0], frames[4999]],
    [
      ["admit", 0, "/team", "authenticated", ["openai", "model-0"]],
      ["admit", 4999, "/team", "authenticated", ["openai", "model-4999"]],
    ],
  );
});

t.test(
  "a length of zero, and one above the cap, end the reader before anything of the frame is kept",
  async (t) => {
    const table: readonly (readonly [name: string, bytes: Buffer])[] = [
      ["zero", Buffer.from([0, 0, 0, 0])],
      ["one above the cap", Buffer.from([0, 1, 0, 1])],
      ["four gigabytes", Buffer.from([255, 255, 255, 255])],
      ["an HTTP request", Buffer.from("GET / HTTP/1.1\r\nHost: a\r\n\r\n")],
    ];
    for (const [name, bytes] of table) {
      const reader = createFrameReader(bytesMax);
      t.same(read(bytes, reader), { ok: false, frames: [] }, name);
      t.ok(hasEnded(reader), name);
    }
    const atCap = framed(encodeValue("x".repeat(bytesMax - 3)));
    t.equal(atCap.length, bytesMax + 4);
    t.match(read(atCap), exactly({ ok: true, frames: [/^x+$/] }), "a frame of just the cap passes");
  },
);

t.test("good frames before a broken one are delivered, those behind it never", async (t) => {
  const good = encodeFrame(["settled", 1]);
  for (const broken of [framed([0xa5, 0x61]), Buffer.alloc(4), framed([0x92, 1])]) {
    const reader = createFrameReader(bytesMax);
    t.same(read(Buffer.concat([good, good, broken, good]), reader), {
      ok: false,
      frames: [
        ["settled", 1],
        ["settled", 1],
      ],
    });
    t.ok(hasEnded(reader));
  }
});

/**
 * `[0xd6 type u32]` and a value: how msgpackr writes that a value has a number, and that it stands
 * elsewhere.
 */
const numbered = (number: number, ...value: number[]): number[] => [
  0xd6,
  0x69,
  0,
  0,
  0,
  number,
  ...value,
];
const pointer = (number: number): number[] => [0xd6, 0x70, 0, 0, 0, number];

t.test("bytes that aren't exactly one msgpack value end the reader", async (t) => {
  const table: readonly (readonly [name: string, body: readonly number[] | Buffer])[] = [
    ["an array cut short", [0x93, 1, 2]],
    ["a text cut short", [0xa5, 0x61]],
    ["a map cut short", [0x82, 0xa1, 0x61, 1]],
    ["two values", [1, 2]],
    ["a value and a rest", [0x91, 1, 0]],
    ["undefined", [0xd4, 0, 0]],
    ["an unknown extension", [0xd4, 0x20, 1]],
    ["an array that says it has 4,294,967,295 items", [0xdd, 255, 255, 255, 255]],
    [
      "arrays in arrays that say they have 16,777,215 items each",
      Buffer.concat(Array.from({ length: 10_000 }, () => Buffer.from([0xdd, 0, 255, 255, 255]))),
    ],
    ["a map that says it has 4,294,967,295 pairs", [0xdf, 255, 255, 255, 255]],
    ["a text that says it has 4 GB", [0xdb, 255, 255, 255, 255, 0x61]],
    ["arrays 60,000 deep", Buffer.alloc(60_000, 0x91)],
    [
      "arrays 60,000 deep, with an end",
      Buffer.concat([Buffer.alloc(60_000, 0x91), Buffer.from([1])]),
    ],
    [
      "maps 20,000 deep",
      Buffer.concat(Array.from({ length: 20_000 }, () => Buffer.from([0x81, 0xa1, 0x61]))),
    ],
    [
      "sets 20,000 deep",
      Buffer.concat([
        ...Array.from({ length: 20_000 }, () => Buffer.from([0xd4, 0x73, 0])),
        Buffer.from([0x90]),
      ]),
    ],
    ["a record definition without keys", [0xd4, 0x72, 0x40, 1]],
    ["a record definition whose keys are objects", [0xd4, 0x72, 0x40, 0x91, 0x80, 1]],
    ["an expression that isn't one", [0xd4, 0x78, 0, 0x92, 0xa1, 0x28, 0xa0]],
  ];
  for (const [name, body] of table) {
    const reader = createFrameReader(bytesMax);
    const { ok, frames } = read(framed(body), reader);
    t.notOk(ok || frames.length > 0, name);
    t.ok(hasEnded(reader), `${name}: for good`);
  }
});

t.test(
  "a frame in which one value appears in many places is refused: a few hundred bytes of it would be gigabytes as text",
  async (t) => {
    const levels = Array.from({ length: 16 }, (_, level) =>
      level === 0
        ? numbered(0, 0x91, 0xa1, 0x78)
        : numbered(level, 0x92, ...pointer(level - 1), ...pointer(level - 1)),
    );
    t.notOk(read(framed([0xdc, 0, levels.length, ...levels.flat()])).ok, "shared values");
    t.notOk(read(framed(numbered(0, 0x91, ...pointer(0)))).ok, "a value within itself");
  },
);

t.test(
  "a peer's record definitions are forgotten with their frame, for this peer and for all others",
  async (t) => {
    const define = (id: number): number[] => [0xd4, 0x72, id, 0x92, 0xa1, 0x61, 0xa1, 0x62];
    const hostile = createFrameReader(bytesMax);
    t.same(read(framed([...define(0x40), 1, 2]), hostile), { ok: true, frames: [{ a: 1, b: 2 }] });
    const numbers = Array.from({ length: 128 }, (_, n) => n);
    for (const [name, reader] of [
      ["this", hostile],
      ["another", createFrameReader(bytesMax)],
    ] as const) {
      t.same(
        read(encodeFrame(["admit", 64, ...numbers]), reader),
        { ok: true, frames: [["admit", 64, ...numbers]] },
        `${name} peer's numbers are numbers`,
      );
    }
    t.same(decodeValue(encodeValue([64, 65])), [64, 65], "and so are the store's");
    t.same(
      read(framed([0x92, ...define(0x41), 1])),
      { ok: false, frames: [] },
      "a definition that the frame cuts short",
    );
    t.same(read(encodeFrame([65])).frames, [[65]]);
  },
);

t.test("records, expressions, dates and other extensions never decode to a message", async (t) => {
  const admit = ["admit", 1, "/team", "authenticated", [["openai", "gpt-4o"]], false, 0] as const;
  t.match(parseToDaemon(read(encodeFrame(admit)).frames[0]), { kind: "admit" });
  const text = (value: string): number[] => [0xa0 + value.length, ...Buffer.from(value)];
  const unknownValues: readonly (readonly [name: string, value: readonly number[]])[] = [
    ["the type that doesn't exist", [0xc1]],
    ["a record", [0xd4, 0x72, 0x40, 0x91, ...text("a"), 1]],
    ["a date", [0xd6, 0xff, 0, 0, 0, 1]],
    ["an expression", [0xd4, 0x78, 0, 0x92, ...text("(a+)+$"), ...text("")]],
    ["a set", [0xd4, 0x73, 0, 0x91, 1]],
    ["an error", [0xd4, 0x65, 0, 0x93, ...text("Error"), ...text("x"), 0xc0]],
    ["bytes", [0xc4, 1, 1]],
    ["a big integer", [0xcf, 255, 255, 255, 255, 255, 255, 255, 255]],
    ["not a number", [0xcb, 0x7f, 0xf8, 0, 0, 0, 0, 0, 0]],
    ["a map", [0x81, ...text("a"), 1]],
  ];
  for (const [name, value] of unknownValues) {
    const { ok, frames } = read(framed(value));
    if (ok) t.equal(parseToDaemon(frames[0]), null, name);
    for (const place of [1, 2, 3, 4]) {
      const parts = [
        text("admit"),
        [1],
        text("/team"),
        text("authenticated"),
        [0x91, 0x92, ...text("openai"), ...text("gpt-4o")],
      ].map((part, i) => (i === place ? value : part));
      const inside = read(framed([0x95, ...parts.flat()]));
      if (inside.ok) t.equal(parseToDaemon(inside.frames[0]), null, `${name} in place ${place}`);
    }
  }
});

t.test("no name in a frame reaches a prototype or becomes code", async (t) => {
  const text = (value: string): number[] => [0xd9, value.length, ...Buffer.from(value)];
  read(framed([0x81, ...text("__proto__"), 0x81, ...text("polluted"), 1]));
  const code = 'a"]:globalThis.polluted=1,["b';
  const record = [0xd4, 0x72, 0x40, 0x92, ...text("__proto__"), ...text(code)];
  const uses = Array.from({ length: 30 }, () => [0x40, 0x81, ...text("polluted"), 1, 2]);
  t.ok(
    read(framed([0xdc, 0, 31, ...record, 1, 2, ...uses.flat()])).ok,
    "used so often that msgpackr compiles the reader",
  );
  t.equal(({} as { polluted?: unknown }).polluted, undefined);
  t.equal((globalThis as { polluted?: unknown }).polluted, undefined);
});

t.test("the names of a body's fields are data, whatever msgpackr calls by them", async (t) => {
  for (const name of ["toJSON", "constructor", "valueOf", "then", "length", "buffer"])
    for (const value of [1, null, "x", {}, []]) {
      const frame = ["admin", 1, "rate-limits.put", { [name]: value }];
      t.same(read(encodeFrame(frame)).frames, [frame], name);
    }
});

/** Often what has a meaning of its own to msgpackr. */
const likely = fc.constantFrom(
  0xd4,
  0xd6,
  0xc7,
  0xc8,
  0x72,
  0x62,
  0x69,
  0x70,
  0x73,
  0x74,
  0x78,
  0x65,
  0x42,
  0xff,
  0x40,
  0x90,
  0x91,
  0x92,
  0x80,
  0x81,
  0xdc,
  0xdd,
  0xde,
  0xa1,
  0xd9,
  0xc4,
  0xcb,
  0xcf,
  0,
  1,
  2,
);
const anyBody = fc.array(
  fc.oneof({ weight: 4, arbitrary: likely }, { weight: 1, arbitrary: fc.nat(255) }),
  { maxLength: 60 },
);

t.test("any bytes at all are read or end the reader, and never throw", async (t) => {
  fc.assert(
    fc.property(fc.array(anyBody, { minLength: 1, maxLength: 3 }), (bodies) => {
      const reader = createFrameReader(bytesMax);
      for (const body of bodies) {
        const frames: unknown[] = [];
        const ok = reader.feed(framed(body), (frame) => frames.push(frame));
        for (const frame of frames) parseToDaemon(frame);
        if (!ok && !hasEnded(reader)) return false;
      }
      return read(encodeFrame(["settled", 64])).ok;
    }),
    { numRuns: 10_000 },
  );
  t.pass("10,000 streams");
});

t.test("a frame is decoded from its own bytes, whatever precedes or follows it", async (t) => {
  // msgpack can hold an error, which is made where it is read.
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0;
  t.teardown(() => {
    Error.stackTraceLimit = stackTraceLimit;
  });
  const whole = fc.constantFrom(
    ...[["settled", 7], ["admit", 1, "/a", "none", ["openai", "m"], false], [{ a: [null, "x"] }]],
  );
  const body = fc.oneof(
    { weight: 2, arbitrary: whole.map((value) => [...encodeValue(value)]) },
    { weight: 1, arbitrary: whole.map((value) => [...encodeValue(value)].slice(0, -1)) },
    { weight: 2, arbitrary: anyBody.filter(({ length }) => length > 0) },
  );
  fc.assert(
    fc.property(fc.array(body, { minLength: 1, maxLength: 5 }), (bodies) => {
      const together = read(Buffer.concat(bodies.map(framed)));
      const alone = bodies.map((each) => read(Buffer.from(framed(each))));
      const broken = alone.findIndex(({ ok }) => !ok);
      const whole = broken === -1 ? alone : alone.slice(0, broken);
      return (
        inspect(together, { depth: null }) ===
        inspect(
          { ok: broken === -1, frames: whole.flatMap(({ frames }) => frames) },
          { depth: null },
        )
      );
    }),
    { numRuns: 10_000 },
  );
  t.pass("10,000 chunks");
});

t.test("a bundle of texts, which may point into other frames, isn't read", async (t) => {
  const text = (value: string): number[] => [...encodeValue(value)];
  const bundle = (textsIn: number, value: readonly number[]): number[] => {
    const offset = Buffer.alloc(4);
    offset.writeInt32BE(textsIn);
    return [0xc7, 4, 0x62, ...offset, ...value];
  };
  // The path's texts are so many bytes away; those of a second bundle end the frame as it should.
  const admission = (textsIn: number): number[] => [
    ...[0x96, ...text("admit"), 1, ...bundle(textsIn, [0xc1, 7])],
    ...[...text("authenticated"), 0x92, ...text("openai"), ...bundle(7, [0xc1, 1])],
    ...[0xc2, ...text("x"), ...text("m")],
  ];
  const { length } = admission(0);
  const fromBundle = length - [0x96, ...text("admit"), 1].length - 7;
  const others = framed([0x93, ...text("settled"), ...text("/else"), ...text("/victim")]);
  const textsInOthers = 4 + 1 + text("settled").length;
  for (const textsIn of [fromBundle + textsInOthers + 4, fromBundle + 4 - 6, -20, 0]) {
    const chunk = Buffer.concat([framed(admission(textsIn)), others]);
    t.same(read(chunk), { ok: false, frames: [] }, String(textsIn));
  }
  t.same(read(others).ok, true);
});

t.test("one large value doesn't make each frame hold as much", async (t) => {
  for (const large of [
    encodeFrame(["answer", 1, "x".repeat(5_000_000)]),
    encodeValue("y".repeat(5_000_000)),
  ]) {
    t.ok(large.length > 5_000_000);
    const small = encodeFrame(["settled", 1]);
    t.ok(small.buffer.byteLength <= 1024 * 1024, `${small.buffer.byteLength} bytes`);
    t.same(read(small), { ok: true, frames: [["settled", 1]] });
  }
});

t.test("raw bytes, length words and all, never throw either", async (t) => {
  fc.assert(
    fc.property(fc.array(fc.uint8Array({ maxLength: 40 }), { maxLength: 8 }), (chunks) => {
      const reader = createFrameReader(frameBytesMaxFromDaemon);
      let ok = true;
      for (const chunk of chunks) {
        const now = reader.feed(Buffer.from(chunk), () => {});
        if (now && !ok) return false;
        ok = now;
      }
      return true;
    }),
    { numRuns: 3000 },
  );
  t.pass("3000 streams");
});

/** Bytes in use after a full collection. */
function bytesInUse(): number {
  setFlagsFromString("--expose-gc");
  (runInNewContext("gc") as () => void)();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

t.test(
  "a reader holds no more than a few times one frame, in however small pieces it comes",
  async (t) => {
    const readers: FrameReader[] = [];
    for (const pieceBytes of [1, 16, 65_536]) {
      const before = bytesInUse();
      for (let i = 0; i < 8; i++) {
        const reader = createFrameReader(bytesMax);
        reader.feed(Buffer.from([0, 1, 0, 0]), () => {});
        for (let left = bytesMax - 1; left > 0; left -= pieceBytes)
          reader.feed(Buffer.from("x".repeat(Math.min(pieceBytes, left)), "latin1"), () => {});
        readers.push(reader);
      }
      const perReader = (bytesInUse() - before) / 8;
      t.ok(
        perReader < 4 * bytesMax,
        `pieces of ${pieceBytes}: ${Math.round(perReader / 1024)} KiB of ${bytesMax / 1024}`,
      );
    }
    t.equal(readers.length, 24);
  },
);

t.test("stored values are decoded as they were encoded, and damaged bytes throw", async (t) => {
  fc.assert(
    fc.property(
      plain.value,
      (value) => JSON.stringify(decodeValue(encodeValue(value))) === JSON.stringify(value),
    ),
    { numRuns: 500 },
  );
  t.throws(() => decodeValue(Buffer.from([0xa5, 0x61])));
  t.throws(() => decodeValue(Buffer.from([1, 2])));
  const first = encodeValue(["a", 1]);
  encodeValue(["b".repeat(5000), 2]);
  t.same(decodeValue(first), ["a", 1], "a value isn't overwritten by the next");
});

t.test("the shortest frame is one byte, and none is empty", async (t) => {
  const frames: unknown[] = [];
  const reader = createFrameReader(10);
  t.ok(reader.feed(Buffer.from([0, 0, 0, 1, 5]), (frame) => frames.push(frame)));
  t.same(frames, [5]);
  t.notOk(reader.feed(Buffer.from([0, 0, 0, 0, 5]), (frame) => frames.push(frame)));
  t.notOk(
    reader.feed(Buffer.from([0, 0, 0, 1, 5]), (frame) => frames.push(frame)),
    "for good",
  );
  t.same(frames, [5]);
});
