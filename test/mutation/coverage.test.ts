import t from "tap";
import { isRun, whatWasRun } from "./coverage.js";

const range = (startOffset: number, endOffset: number, count: number) => ({
  startOffset,
  endOffset,
  count,
});

t.test("of ranges in each other the narrowest says whether a place was run", async (t) => {
  t.same(whatWasRun([]), []);
  t.same(whatWasRun([range(0, 9, 0)]), []);
  t.same(whatWasRun([range(0, 9, 1)]), [[0, 9]]);
  t.same(whatWasRun([range(3, 5, 0), range(0, 9, 1), range(7, 9, 0), range(4, 5, 2)]), [
    [0, 3],
    [4, 7],
  ]);
});

t.test("a place was run if a process has run it", async (t) => {
  const coverage = new Map([["a.js", whatWasRun([range(2, 4, 1)]).concat([[8, 9]])]]);
  t.same(
    Array.from({ length: 10 }, (_, offset) => isRun(coverage, "a.js", offset)).map(Number),
    [0, 0, 1, 1, 0, 0, 0, 0, 1, 0],
  );
  t.notOk(isRun(coverage, "b.js", 2));
});
