import t from "tap";
import { NameReader, nameWords } from "../../../limiterd/counters/child-name.js";
import {
  Block,
  checkedOutMark,
  dirtyMark,
  isNamed,
  wordsAhead,
} from "../../../limiterd/counters/child-record.js";

const at = 4;

/** A block with one record, as the name was read, and whatever hash. */
function recordOf(name: string, marks = 0): Int32Array {
  const reader = new NameReader([1, 2]);
  reader.read(name);
  const { words } = new Block(64);
  words[at + 2] = reader.head | marks;
  for (let i = 0; i < nameWords(reader.head); i++) words[at + wordsAhead + i] = reader.words[i]!;
  return words;
}

t.test("a record is known by all of its name, and by nothing else", async (t) => {
  const names = ["", "\0", "a", "a\0", "b", "aaaab", "aaaac", "baaab", "aaaabaaab", "aaaabaaac"];
  names.push("ł", "ł\0", "łłb", "łłc", "a\u0001", "\u0161");
  const query = new NameReader([1, 2]);
  for (const name of names)
    for (const other of names) {
      query.read(other);
      t.equal(isNamed(recordOf(name), at, query), name === other, `${name} and ${other}`);
    }
});

t.test("marks don't change whose a record is", async (t) => {
  const query = new NameReader([1, 2]);
  query.read("user");
  for (const marks of [dirtyMark, checkedOutMark, dirtyMark | checkedOutMark])
    t.ok(isNamed(recordOf("user", marks), at, query));
});

t.test("an enlarged block is twice as large, and holds what it held", async (t) => {
  const block = new Block(8);
  block.numbers.set([1, 2, 3, 4, 5, 6, 7, 8]);
  block.enlarge();
  t.same([...block.numbers], [1, 2, 3, 4, 5, 6, 7, 8, 0, 0, 0, 0, 0, 0, 0, 0]);
  t.equal(block.words.length, 32);
  t.equal(block.bytes.length, 128);
  block.words[0] = 7;
  t.equal(block.bytes.readInt32LE(0), 7, "all are views of one memory");
});
