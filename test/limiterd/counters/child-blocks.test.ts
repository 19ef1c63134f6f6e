import t from "tap";
import { RecordBlocks } from "../../../limiterd/counters/child-blocks.js";
import { NameReader } from "../../../limiterd/counters/child-name.js";
import {
  blockShift,
  recordUnits,
  unitsPerBlock,
  wordOf,
} from "../../../limiterd/counters/child-record.js";

const reader = new NameReader([1, 2]);
reader.read("user-1234");
const units = recordUnits(reader.head);
/** As many of these records as a whole block holds. */
const perBlock = Math.floor(unitsPerBlock / units);
const blockOf = (place: number): number => place >> blockShift;

function append(blocks: RecordBlocks, count: number): number[] {
  return Array.from({ length: count }, () =>
    blocks.append(reader.head, reader.hash, reader.words, 0),
  );
}

function walked(blocks: RecordBlocks): number[] {
  const walk = blocks.walk();
  const places: number[] = [];
  for (let place = walk.next(); place !== -1; place = walk.next()) places.push(place);
  return places;
}

t.test("records are consecutive, and a full block is followed by a new one", async (t) => {
  const blocks = new RecordBlocks();
  const places = append(blocks, perBlock + 1);
  t.same(
    places.slice(0, perBlock),
    Array.from({ length: perBlock }, (_, i) => i * units),
  );
  t.equal(places[perBlock], 1 << blockShift, "the first of the next block");
  t.same(walked(blocks), places);
  const { words } = blocks.at(places[1]!);
  t.equal(words[wordOf(places[1]!) + 1], reader.hash);
  t.equal(words[wordOf(places[1]!) + 2], reader.head);
  t.equal(blocks.at(0).usedUnits, perBlock * units);
  t.equal(blocks.at(0).liveUnits, perBlock * units);
});

t.test("a block begins small and is doubled while it may be, with what is in it", async (t) => {
  const blocks = new RecordBlocks();
  t.equal(blocks.at(0).numbers.length, 32);
  const fits = Math.floor(32 / units);
  append(blocks, fits);
  t.equal(blocks.at(0).numbers.length, 32);
  append(blocks, 1);
  t.equal(blocks.at(0).numbers.length, 64);
  t.equal(blocks.at(0).words[wordOf(0) + 2], reader.head);
  append(blocks, perBlock);
  t.equal(blocks.at(0).numbers.length, unitsPerBlock);
  t.equal(blocks.at(1 << blockShift).numbers.length, unitsPerBlock, "another is large at once");
});

t.test(
  "a block is sparse once half of it or more is gone, unless it is the open one",
  async (t) => {
    const blocks = new RecordBlocks();
    const first = append(blocks, perBlock);
    // Live units of the first block sink to the first number that is at most a half.
    let left = perBlock;
    for (const place of first.slice(0, -1)) {
      t.equal(blocks.isSparse(place), false, "the open one never is");
      if (left === Math.floor(perBlock / 2)) break;
      blocks.remove(place);
      left--;
    }
    t.ok(blocks.at(0).liveUnits * 2 <= unitsPerBlock);
    append(blocks, perBlock);
    t.equal(blocks.isSparse(first.at(-1)!), true);
    const [place] = append(blocks, perBlock);
    t.equal(blocks.isSparse(place!), false, "a full one isn't");
  },
);

t.test("exactly half a block is sparse, a unit more isn't", async (t) => {
  const blocks = new RecordBlocks();
  const [first] = append(blocks, perBlock);
  append(blocks, 1);
  const block = blocks.at(first!);
  block.liveUnits = unitsPerBlock / 2;
  t.equal(blocks.isSparse(first!), true);
  block.liveUnits++;
  t.equal(blocks.isSparse(first!), false);
});

t.test("a block is given back with its last record, and its number is taken again", async (t) => {
  const blocks = new RecordBlocks();
  const first = append(blocks, perBlock);
  const [second] = append(blocks, perBlock);
  const [third] = append(blocks, 1);
  t.same(
    [second, third].map((place) => blockOf(place!)),
    [1, 2],
  );
  for (const place of first.slice(1)) blocks.remove(place);
  t.ok(blocks.at(first[0]!), "one is left");
  blocks.remove(first[0]!);
  t.equal(blocks.at(first[0]!), null);
  t.equal(walked(blocks).length, perBlock + 1, "a walk passes over it");
  const more = append(blocks, perBlock);
  t.equal(blockOf(more.at(-1)!), 0, "the number that was free");
  append(blocks, perBlock);
  t.equal(walked(blocks).length, 3 * perBlock + 1);
});

t.test("an open block of which all is gone is given back when another is opened", async (t) => {
  const blocks = new RecordBlocks();
  for (const place of append(blocks, perBlock)) blocks.remove(place);
  t.ok(blocks.at(0), "it takes what comes, as long as there is room");
  const [place] = append(blocks, 1);
  t.equal(blockOf(place!), 1);
  t.equal(blocks.at(0), null);
});

t.test("a walk whose block was freed continues after it", async (t) => {
  const blocks = new RecordBlocks();
  const first = append(blocks, perBlock);
  const second = append(blocks, perBlock);
  append(blocks, 1);
  const walk = blocks.walk();
  t.equal(walk.next(), first[0]);
  for (const place of first) blocks.remove(place);
  t.equal(walk.next(), second[0]);
  blocks.remove(second[1]!);
  t.equal(walk.next(), second[2], "what is gone is left out");
});
