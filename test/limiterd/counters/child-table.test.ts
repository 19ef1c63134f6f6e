/** The table of children against a plain map, and the hash that spreads them. */
import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { NameReader } from "../../../limiterd/counters/child-name.js";
import { checkedOutMark, dirtyMark } from "../../../limiterd/counters/child-record.js";
import { ChildTable } from "../../../limiterd/counters/child-table.js";

interface Model {
  numbers: number[];
  marks: number;
}

const newTable = (): ChildTable => new ChildTable(new NameReader([1, 2]));

function write(table: ChildTable, place: number, numbers: readonly number[]): void {
  const at = table.numbersAt(place);
  numbers.forEach((number, i) => {
    table.numbers(place)[at + i] = number;
  });
}

const numbersOf = (table: ChildTable, place: number): number[] => [
  ...table.numbers(place).subarray(table.numbersAt(place), table.numbersAt(place) + 6),
];

/** Everything that the table tells, as the model has it. */
function contents(table: ChildTable): Map<string, Model> {
  const found = new Map<string, Model>();
  const walk = table.walk();
  for (let place = walk.next(); place !== -1; place = walk.next()) {
    found.set(table.name(place), {
      numbers: numbersOf(table, place),
      marks:
        (table.hasMark(place, dirtyMark) ? 1 : 0) + (table.hasMark(place, checkedOutMark) ? 2 : 0),
    });
  }
  return found;
}

/** Names that begin alike, of all widths and lengths. */
const name = fc.oneof(
  fc.nat(400).map((n) => `user-${n}`),
  fc.string({ unit: fc.constantFrom("a", "b", "é", "ÿ", "ł", "\ud800", "漢", "\0"), maxLength: 9 }),
  fc.nat(5).map((n) => "x".repeat(2040 + n)),
);
const number = fc.oneof(fc.nat(), fc.maxSafeNat(), fc.double({ noNaN: true }));

t.test(
  "a table does what a map does, whatever is loaded, added, removed, marked and moved",
  async () => {
    const step = fc.oneof(
      fc.record({
        kind: fc.constant("add" as const),
        name,
        numbers: fc.array(number, { minLength: 6, maxLength: 6 }),
      }),
      fc.record({ kind: fc.constantFrom("remove" as const, "tidy" as const), name }),
      fc.record({
        kind: fc.constantFrom("setMark" as const, "clearMark" as const),
        name,
        mark: fc.constantFrom(dirtyMark, checkedOutMark),
      }),
      fc.record({
        kind: fc.constant("many" as const),
        from: fc.nat(3000),
        count: fc.nat(1200),
        remove: fc.boolean(),
      }),
      fc.record({ kind: fc.constant("tidyAll" as const) }),
    );
    fc.assert(
      fc.property(fc.nat(3000), fc.array(step, { maxLength: 60 }), (loaded, steps) => {
        const table = newTable();
        const model = new Map<string, Model>();
        for (let i = 0; i < loaded; i++) {
          write(table, table.add(`user-${i}`), [i, 6, 7, 8, 9, 10]);
          model.set(`user-${i}`, { numbers: [i, 6, 7, 8, 9, 10], marks: 0 });
        }
        const put = (who: string, numbers: readonly number[]): void => {
          const known = table.find(who);
          if ((known === -1) === model.has(who))
            throw new Error(`${who} is ${known === -1 ? "lost" : "there"}`);
          write(table, known === -1 ? table.add(who) : known, numbers);
          model.set(who, { numbers: [...numbers], marks: model.get(who)?.marks ?? 0 });
        };
        for (const one of steps) {
          switch (one.kind) {
            case "add":
              put(one.name, one.numbers);
              break;
            case "many":
              for (let i = one.from; i < one.from + one.count; i++) {
                const who = `user-${i}`;
                const place = table.find(who);
                if (!one.remove) put(who, [i, 1, 2, 3, 4, 5]);
                else if (place !== -1) table.remove(place);
                if (one.remove) model.delete(who);
              }
              break;
            case "tidyAll": {
              const walk = table.walk();
              for (let place = walk.next(); place !== -1; place = walk.next()) table.tidy(place);
              break;
            }
            default: {
              const place = table.find(one.name);
              if ((place === -1) !== !model.has(one.name))
                throw new Error(`${one.name} was mistaken`);
              if (place === -1) break;
              const known = model.get(one.name)!;
              if (one.kind === "remove") {
                table.remove(place);
                model.delete(one.name);
              } else if (one.kind === "tidy") table.tidy(place);
              else if ("mark" in one) {
                table[one.kind](place, one.mark);
                known.marks =
                  one.kind === "setMark" ? known.marks | one.mark : known.marks & ~one.mark;
              }
            }
          }
          if (table.size !== model.size)
            throw new Error(`the size is ${table.size}, not ${model.size}`);
        }
        assert.deepStrictEqual(contents(table), model);
      }),
      { numRuns: 150, seed: 20_261_121 },
    );
  },
);

t.test("a marked record keeps its place, whatever is added and removed around it", async (t) => {
  const table = newTable();
  for (let i = 0; i < 5000; i++) table.add(`user-${i}`);
  const kept = Array.from({ length: 50 }, (_, i) => ({
    who: `user-${i * 100}`,
    place: table.find(`user-${i * 100}`),
  }));
  for (const { place } of kept) table.setMark(place, checkedOutMark);
  for (let i = 0; i < 5000; i++) if (i % 100 !== 0) table.remove(table.find(`user-${i}`));
  for (const { place } of kept) table.tidy(place);
  for (let i = 5000; i < 9000; i++) table.add(`user-${i}`);
  t.same(
    kept.map(({ who }) => table.find(who)),
    kept.map(({ place }) => place),
  );
});

t.test(
  "what is left of many moves together: blocks go when most of what was in them is gone",
  async (t) => {
    const table = newTable();
    const blocksOf = (): number => new Set([...walked(table)].map((place) => place >> 13)).size;
    for (let i = 0; i < 100_000; i++) table.add(`user-${i}`);
    const full = blocksOf();
    for (let i = 0; i < 100_000; i++) if (i % 500 !== 0) table.remove(table.find(`user-${i}`));
    t.equal(blocksOf(), full, "a few of them in each");
    for (const place of [...walked(table)]) table.tidy(place);
    t.ok(blocksOf() <= 3, `${blocksOf()} blocks`);
    t.equal(table.size, 200);
    t.ok(
      Array.from({ length: 200 }, (_, i) => table.find(`user-${i * 500}`)).every(
        (place) => place !== -1,
      ),
    );
  },
);

function* walked(table: ChildTable): Generator<number> {
  const walk = table.walk();
  for (let place = walk.next(); place !== -1; place = walk.next()) yield place;
}

t.test("a walk continues over blocks that are given back and taken again under it", async (t) => {
  const table = newTable();
  for (let i = 0; i < 20_000; i++) table.add(`user-${i}`);
  const walk = table.walk();
  const met = new Set<string>();
  let added = 20_000;
  for (let place = walk.next(); place !== -1; place = walk.next()) {
    const who = table.name(place);
    met.add(who);
    table.remove(place);
    if (met.size % 3 === 0) table.add(`longer-name-of-user-${added++}`);
    if (met.size > 40_000) break;
  }
  t.ok(Array.from({ length: 20_000 }, (_, i) => `user-${i}`).every((who) => met.has(who)));
  t.equal(table.size, added - [...met].length);
});

t.test("names are spread evenly, and another key spreads them otherwise", async (t) => {
  const counts = (key: readonly [number, number]): number[] => {
    const reader = new NameReader(key);
    const buckets = new Array<number>(256).fill(0);
    for (let i = 0; i < 64_000; i++) {
      reader.read(`user-${i}`);
      buckets[reader.hash & 255]!++;
    }
    return buckets;
  };
  const [one, other] = [counts([1, 2]), counts([1, 3])];
  for (const buckets of [one, other])
    t.ok(
      Math.min(...buckets) > 170 && Math.max(...buckets) < 340,
      `${Math.min(...buckets)} to ${Math.max(...buckets)} of 250`,
    );
  t.notSame(one, other);
});

t.test("names that differ only in their width or their end are different", async (t) => {
  const table = newTable();
  const names = [
    "",
    "\0",
    "\0\0",
    "a",
    "a\0",
    "a\0\0\0",
    "aa",
    "ab",
    "ÿ",
    "Ā",
    "aĀ",
    "a\u0100\0",
    "\ud800",
    "\udc00",
  ];
  const places = names.map((who) => table.add(who));
  t.same(
    names.map((who) => table.find(who)),
    places,
  );
  t.same(
    places.map((place) => table.name(place)),
    names,
  );
  t.throws(() => table.find("x".repeat(2049)), "a name has a bound");
});
