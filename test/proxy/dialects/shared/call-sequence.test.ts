import fc from "fast-check";
import t from "tap";
import { CallSequence } from "../../../../proxy/dialects/shared/call-sequence.js";

type Piece = readonly [index: number | null, id: string | null, name: string | null, text: string];

/** What a client sees of the pieces: `f(`, its arguments, `)`, of one call after the other. */
function seen(pieces: readonly (Piece | "end")[]): string {
  let out = "";
  const calls = new CallSequence({
    begin: ({ name }) => {
      out += `${name}(`;
    },
    text: (text) => {
      out += text;
    },
    end: () => {
      out += ")";
    },
  });
  for (const piece of pieces) {
    if (piece === "end") {
      calls.end();
      continue;
    }
    const [index, id, name, text] = piece;
    calls.add({ kind: "call", index, id, clientId: id, name, isCustom: false, text });
  }
  return out;
}

t.test("calls come one after the other, each whole", async (t) => {
  const table: Readonly<Record<string, readonly [string, readonly (Piece | "end")[]]>> = {
    "one, as it comes": [
      "f({",
      [
        [0, "a", "f", ""],
        [0, null, null, "{"],
      ],
    ],
    two: [
      "f({})g({}",
      [
        [0, "a", "f", "{}"],
        [1, "b", "g", "{}"],
      ],
    ],
    alternating: [
      'f({"x":1})g({}',
      [
        [0, "a", "f", '{"x"'],
        [1, "b", "g", "{"],
        [0, null, null, ":1}"],
        [1, null, null, "}"],
      ],
    ],
    "a later one isn't seen before the first is whole": [
      "f({",
      [
        [0, "a", "f", "{"],
        [1, "b", "g", "{}"],
      ],
    ],
    "braces in a text": [
      'f({"x":"}\\"}"',
      [
        [0, "a", "f", '{"x":"}\\"}"'],
        [1, "b", "g", "{}"],
      ],
    ],
    "without arguments, at the end": ["f()g()", [[0, "a", "f", ""], [1, "b", "g", ""], "end"]],
    "a name that comes later": [
      "f({}",
      [
        [0, "a", null, ""],
        [0, null, "f", "{"],
        [0, null, null, "}"],
      ],
    ],
    "one index for all, by their ids": [
      "f({})g({}",
      [
        [0, "a", "f", "{}"],
        [0, "b", "g", "{}"],
      ],
    ],
    "one index for all, without ids": [
      "f({})g({}",
      [
        [0, null, "f", "{}"],
        [0, null, "g", "{}"],
      ],
    ],
    "no index": [
      "f({})g({}",
      [
        [null, "a", "f", "{"],
        [null, null, null, "}"],
        [null, "b", "g", "{}"],
      ],
    ],
    "a new id for each piece": [
      "f({}",
      [
        [0, "a", "f", "{"],
        [0, "b", null, "}"],
      ],
    ],
    "name and id repeated": [
      "f({}",
      [
        [0, "a", "f", "{"],
        [0, "a", "f", "}"],
      ],
    ],
    "an empty piece after the end": ["f({})", [[0, "a", "f", "{}"], "end", [0, null, null, ""]]],
  };
  for (const [name, [right, pieces]] of Object.entries(table)) t.equal(seen(pieces), right, name);
});

t.test("a call that has ended isn't continued, and none is without a name", async (t) => {
  t.throws(() => seen([[0, "a", "f", "{"], "end", [0, null, null, "}"]]), /continues a tool call/);
  t.throws(() => seen([[0, "a", null, "{}"], "end"]), /without a name/);
});

/** The pieces of a call: its text cut at some places. */
function piecesOf(index: number, text: string, cuts: readonly number[]): Piece[] {
  const places = [...new Set([...cuts.map((cut) => cut % text.length), 0, text.length])];
  const at = places.sort((a, b) => a - b);
  return at.slice(1).map((end, i) => {
    const first = i === 0;
    return [index, first ? `id${index}` : null, first ? `f${index}` : null, text.slice(at[i], end)];
  });
}

t.test("however the pieces of several calls alternate, the calls are the same", async () => {
  const call = fc.record({ args: fc.object({ maxDepth: 1 }), cuts: fc.array(fc.nat(20)) });
  const calls = fc.array(call, { minLength: 1, maxLength: 4 });
  fc.assert(
    fc.property(calls, fc.infiniteStream(fc.nat(3)), (calls, order) => {
      const texts = calls.map(({ args }) => JSON.stringify(args));
      const waiting = calls.map(({ cuts }, i) => piecesOf(i, texts[i]!, cuts));
      // The calls begin in their order.
      const pieces = waiting.map((each) => each.shift()!);
      for (;;) {
        const open = waiting.filter((each) => each.length > 0);
        if (open.length === 0) break;
        pieces.push(open[(order.next().value as number) % open.length]!.shift()!);
      }
      return seen([...pieces, "end"]) === texts.map((text, i) => `f${i}(${text})`).join("");
    }),
  );
});
