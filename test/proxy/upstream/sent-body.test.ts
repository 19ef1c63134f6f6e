import t from "tap";
import { SentBody } from "../../../proxy/upstream/sent-body.js";
import { largeBodyBytes } from "../../../shared/bounds.js";
import { bytesOf } from "../fake-gateway.js";

const pieceBytes = 16 * largeBodyBytes;

t.test("all of it comes in pieces, as often as it is sent", async (t) => {
  for (const length of [1, pieceBytes, pieceBytes + 1, 3 * pieceBytes]) {
    const held = Buffer.alloc(length, "abc");
    const body = new SentBody(held);
    t.equal(body.bytes, length);
    for (let sent = 0; sent < 2; sent++) t.ok((await bytesOf(body)).equals(held), `${length}`);
    t.equal(body.wholeBody(), held);
  }
});

t.test("once it is let go, what is on its way is sent to its end, and no more", async (t) => {
  const held = Buffer.alloc(3 * pieceBytes, "abc");
  const body = new SentBody(held);
  const pieces: Buffer[] = [];
  for await (const piece of body.pieces) {
    pieces.push(piece);
    body.release();
  }
  t.equal(pieces.length, 3);
  t.ok(Buffer.concat(pieces).equals(held));
  t.throws(() => body.pieces, /isn't sent again/);
});
