import fc from "fast-check";
import t from "tap";
import { firstAfter, SortedList, Turns } from "../../shared/long-lists.js";

interface Item {
  readonly definition: number;
}

t.test("property: the list is sorted, whatever comes and goes", (t) => {
  fc.assert(
    fc.property(
      fc.uniqueArray(fc.integer({ min: 0, max: 99 })),
      fc.array(fc.integer({ min: 0, max: 99 })),
      (first, moves) => {
        const items = new Map(
          first.map((definition): [number, Item] => [definition, { definition }]),
        );
        const list = new SortedList<number, Item>((a, b) => a - b);
        list.all(items.values());
        for (const key of moves) {
          const known = items.get(key);
          if (known === undefined) items.set(key, { definition: key });
          else items.delete(key);
          if (known === undefined) list.add(items.get(key)!);
          else list.remove(known);
        }
        const sorted = list.all(items.values());
        const expected = [...items.keys()].sort((a, b) => a - b);
        t.same(
          sorted.map(({ definition }) => definition),
          expected,
        );
        for (const key of moves)
          t.equal(
            firstAfter(sorted, key, (a, b) => a - b),
            expected.filter((other) => other <= key).length,
          );
      },
    ),
    { numRuns: 100 },
  );
  t.end();
});

t.test(
  "ten thousand that come and go take a few comparisons each, and no more moves",
  async (t) => {
    const items = Array.from({ length: 100_000 }, (_, definition): Item => ({ definition }));
    let compared = 0;
    const list = new SortedList<number, Item>((a, b) => {
      compared++;
      return a - b;
    });
    list.all(items);
    compared = 0;
    for (const item of items.slice(0, 25_000)) list.remove(item);
    for (let i = 0; i < 25_000; i++) list.add({ definition: 50_000.5 - i });
    const sorted = list.all([]);
    t.equal(sorted.length, 100_000);
    t.ok(
      sorted.every(({ definition }, i) => i === 0 || sorted[i - 1]!.definition < definition),
      "they are in order",
    );
    t.ok(compared < 2_000_000, `${compared} comparisons`);
  },
);

t.test("of 100,000, one that comes or goes, and a page's beginning, take few comparisons", (t) => {
  const items = Array.from({ length: 100_000 }, (_, definition): Item => ({ definition }));
  let compared = 0;
  const compare = (a: number, b: number): number => {
    compared++;
    return a - b;
  };
  const list = new SortedList<number, Item>(compare);
  const sorted = list.all(items);
  for (const step of [
    () => list.add({ definition: 5.5 }),
    () => list.remove(items[99_999]!),
    () => void list.all(items),
    () => void firstAfter(sorted, 99_000, compare),
  ]) {
    compared = 0;
    step();
    t.ok(compared <= 17, `${compared}`);
  }
  t.equal(sorted.length, 100_000);
  t.end();
});

t.test("a turn is over once it has done so much, and the next begins at nothing", async (t) => {
  const byOne = new Turns(3);
  t.same(
    Array.from({ length: 7 }, () => byOne.isOver()),
    [false, false, true, false, false, true, false],
  );
  const byWork = new Turns(10);
  t.same(
    [4, 5, 1, 9, 100, 9, 0, 1].map((work) => byWork.isOver(work)),
    [false, false, true, false, true, false, false, true],
  );
});
