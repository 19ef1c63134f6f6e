import t from "tap";
import {
  endFrame,
  headFrame,
  SettleFileReader,
  settleFrame,
} from "../../../../proxy/limiter/spool/settle-file.js";
import { encodeFrame, encodeValue } from "../../../../shared/wire/codec.js";
import { interimStatus } from "../../../../shared/wire/execution.js";
import type { Settle } from "../../../../shared/wire/message-to-daemon.js";
import { executed } from "../../../limiterd/in-memory-daemon.js";
import { someSettle } from "./some-settle.js";

const head = { proxyId: "p-1", writtenAtMs: 1_767_225_600_000, sentAtMs: 0 };

function fileOf(settles: readonly Settle[], count = settles.length): Buffer {
  return Buffer.concat([headFrame(head), ...settles.map(settleFrame), endFrame(count)]);
}

function read(bytes: Buffer, pieceBytes = bytes.length) {
  const reader = new SettleFileReader();
  const settles: Settle[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes)
    if (!reader.feed(bytes.subarray(at, at + pieceBytes), (settle) => settles.push(settle))) break;
  return { reader, settles };
}

/** With every field that a settle may have, of all kinds. */
const settles = [
  someSettle(3),
  someSettle(4, { target: null, record: null }),
  someSettle(9, {
    targetStartedAgoMs: 1_500,
    estimated: true,
    record: executed({
      requestedModel: "fast",
      responseId: "",
      atMost: { tokens: 500, cost: 1_500 },
    }),
  }),
  someSettle(10, {
    part: "progress",
    record: executed({
      status: interimStatus,
      responseId: "",
      atMost: { tokens: 500, cost: null },
    }),
  }),
  someSettle(11, {
    part: "final",
    target: null,
    tokens: 0,
    record: executed({ responseId: "resp_1", inputCost: null, outputCost: null, totalCost: null }),
  }),
];

t.test("what was written is read, in pieces of any size", async (t) => {
  for (const pieceBytes of [1, 7, 100, 10_000]) {
    const { reader, settles: found } = read(fileOf(settles), pieceBytes);
    t.same(
      [reader.head, found, reader.complete, reader.count],
      [head, settles, true, settles.length],
    );
  }
  t.ok(read(fileOf([])).reader.complete);
  t.ok(read(fileOf([someSettle(1), someSettle(2)])).reader.complete, "from the first number on");
});

t.test("a file that is cut anywhere, or has a byte changed, is damaged", async (t) => {
  const bytes = fileOf(settles);
  let unnoticed = 0;
  for (let at = 0; at < bytes.length; at++) {
    if (read(bytes.subarray(0, at)).reader.complete) unnoticed++;
    const changed = Buffer.from(bytes);
    changed[at]! ^= 0x20;
    if (read(changed).reader.complete) unnoticed++;
  }
  t.equal(unnoticed, 0);
});

t.test("so is one that says something else than a proxy writes", async (t) => {
  const foreign = (value: unknown): Buffer => encodeFrame([0, encodeValue(value)]);
  for (const [name, bytes] of Object.entries({
    "settles without a head": Buffer.concat(settles.map(settleFrame)),
    "another count": fileOf(settles, 2),
    "settles after the end": Buffer.concat([fileOf(settles), settleFrame(someSettle(12))]),
    "a length beyond any frame after the end": Buffer.concat([
      fileOf(settles),
      Buffer.alloc(4, 0xff),
    ]),
    "a number twice": fileOf([someSettle(3), someSettle(3)]),
    "a number twice that counts once": fileOf([someSettle(3), someSettle(3)], 1),
    "numbers that descend": fileOf([someSettle(3), someSettle(2)]),
    "a wrong checksum": Buffer.concat([headFrame(head), foreign(["end", 0])]),
    "no frame of ours": encodeFrame(["settle", 1]),
    "a number instead of a frame": Buffer.concat([headFrame(head), encodeFrame(5 as never)]),
    "a length beyond any frame": Buffer.concat([headFrame(head), Buffer.alloc(4, 0xff)]),
    nothing: Buffer.alloc(0),
  }))
    t.notOk(read(bytes).reader.complete, name);
  for (const wrong of [{ proxyId: 5 }, { writtenAtMs: -1 }, { sentAtMs: "1" }]) {
    const odd = headFrame({ ...head, ...wrong } as unknown as typeof head);
    const rest = fileOf(settles).subarray(headFrame(head).length);
    t.ok(read(Buffer.concat([headFrame(head), rest])).reader.complete);
    t.notOk(read(Buffer.concat([odd, rest])).reader.complete, JSON.stringify(wrong));
  }
});
