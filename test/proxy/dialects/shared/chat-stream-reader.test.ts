import t from "tap";
import type { CallPiece } from "../../../../proxy/dialects/shared/chat-pieces.js";
import { CallTracker } from "../../../../proxy/dialects/shared/chat-stream-reader.js";

function piece(index: number | null, id: string | null, name: string | null = "f"): CallPiece {
  return { kind: "call", index, id, clientId: id, name, custom: false, text: "" };
}

/** The index of each piece, in brackets when it begins a call. */
function indexes(pieces: readonly CallPiece[], isOpen = true): string {
  const calls = new CallTracker();
  return pieces
    .map((each, i) => {
      const index = calls.indexOf(each, i > 0 && isOpen);
      if (!calls.isNew(each, index)) return index;
      calls.begin(index, each.id ?? `own-${i}`);
      return `[${index}]`;
    })
    .join(" ");
}

t.test("a call begins with a new index, and continues with a known one", async (t) => {
  t.equal(indexes([piece(0, "a"), piece(0, null, null), piece(1, "b")]), "[0] 0 [1]");
});

t.test("calls with the same index are separated by name and id", async (t) => {
  t.equal(indexes([piece(0, "a"), piece(0, "a"), piece(0, "b")]), "[0] 0 [0]");
  t.equal(indexes([piece(0, "a"), piece(0, "b", null)]), "[0] 0", "another id without a name");
});

t.test("a piece without an index continues the open call unless it has another id", async (t) => {
  t.equal(indexes([piece(null, "a"), piece(null, null, null), piece(null, "b")]), "[0] 0 [1]");
  t.equal(indexes([piece(null, "a"), piece(null, null)], false), "[0] [1]", "no call is open");
});

t.test("the last call that began is known", async (t) => {
  const calls = new CallTracker();
  calls.begin(0, "a");
  calls.begin(1, "b");
  t.strictSame([calls.isLast(0), calls.isLast(1)], [false, true]);
});
