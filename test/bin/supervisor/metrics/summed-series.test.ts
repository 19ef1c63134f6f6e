import t from "tap";
import { SummedSeries } from "../../../../bin/supervisor/metrics/summed-series.js";

t.test("series of one name and the same labels are added up, number by number", async (t) => {
  const sums = new SummedSeries();
  sums.add([
    ["a", ["x"], [1, 2]],
    ["a", ["y"], [1, 2]],
  ]);
  const before = sums.copy();
  sums.add([
    ["a", ["x"], [10, 20]],
    ["b", ["x"], [5]],
  ]);
  t.same(sums.series(), [
    ["a", ["x"], [11, 22]],
    ["a", ["y"], [1, 2]],
    ["b", ["x"], [5]],
  ]);
  t.same(before.series()[0], ["a", ["x"], [1, 2]], "a copy is one of its own");
});

t.test("labels hold any text, and are never taken for others", async (t) => {
  const sums = new SummedSeries();
  const labels = [
    ["a\nb", "c"],
    ["a", "b\nc"],
    ['a","b', "c"],
    ["a", 'b","c'],
    ["a", "b", "c"],
    [],
  ];
  sums.add(labels.map((of) => ["n", of, [1]] as const));
  t.equal(sums.series().length, labels.length);
  sums.add([["n\na", ["b\nc"], [1]]]);
  t.equal(sums.series().length, labels.length + 1);
});

t.test("buckets of another release aren't added", async (t) => {
  const sums = new SummedSeries();
  sums.add([["a", [], [1, 2]]]);
  sums.add([["a", [], [1, 2, 3]]]);
  t.same(sums.series(), [["a", [], [1, 2]]]);
});

t.test("beyond the bound new labels are counted as other, and no number is lost", async (t) => {
  const sums = new SummedSeries(2);
  for (let i = 0; i < 10; i++) sums.add([["a", [`${i}`, "z"], [1]]]);
  t.same(sums.series(), [
    ["a", ["0", "z"], [1]],
    ["a", ["1", "z"], [1]],
    ["a", ["other", "other"], [8]],
  ]);
});
