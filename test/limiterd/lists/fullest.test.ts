import fc from "fast-check";
import t from "tap";
import { fullest } from "../../../limiterd/lists/fullest.js";

const atOnce = { yieldToEventLoop: () => Promise.resolve() };

t.test("whatever is used, the first of all by use and name are found", async () => {
  const names = fc.uniqueArray(fc.string({ maxLength: 4 }), { maxLength: 200 });
  await fc.assert(
    fc.asyncProperty(
      names,
      fc.array(fc.nat(5)),
      fc.integer({ min: 1, max: 9 }),
      async (all, uses, limit) => {
        const useOf = new Map(all.map((name, i) => [name, uses[i] ?? 0]));
        // 5 stands for one that isn't listed.
        const ratio = (name: string): number | null => {
          const used = useOf.get(name)!;
          return used === 5 ? null : used / 4;
        };
        const expected = all
          .filter((name) => ratio(name) !== null)
          .sort((a, b) => ratio(b)! - ratio(a)! || (a < b ? -1 : 1))
          .slice(0, limit);
        // A walk may come to a name twice.
        const found = await fullest([...all, ...all.slice(0, 50)], limit, ratio, atOnce);
        return JSON.stringify(found) === JSON.stringify(expected);
      },
    ),
  );
});

t.test("many are looked at in slices", async (t) => {
  let pauses = 0;
  const names = Array.from({ length: 10_000 }, (_, i) => `${i}`);
  const found = await fullest(names, 2, Number, {
    yieldToEventLoop: () => {
      pauses++;
      return Promise.resolve();
    },
  });
  t.same(found, ["9999", "9998"]);
  t.equal(pauses, 5);
});
