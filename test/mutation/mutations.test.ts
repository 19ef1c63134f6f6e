import t from "tap";
import { mutationsOf } from "./mutations.js";

/** The mutated texts of one statement. */
function mutated(text: string): string[] {
  return mutationsOf(text).map(
    ({ start, end, put }) => text.slice(0, start) + put + text.slice(end),
  );
}

t.test("comparisons turn, conditions become constant, statements go", async (t) => {
  t.same(mutated("if (a < b) f();"), [
    "if (a <= b) f();",
    "if (false) f();",
    "if (true) f();",
    "if (a < b) ;",
  ]);
  t.same(mutated("x = a && !b;"), [";", "x = a || !b;", "x = a && (b);"]);
  t.same(mutated("x = a ?? 1;"), [";", "x = (a);", "x = a ?? 2;"]);
  t.same(mutated('x = "a" + b;'), [";"], "texts aren't subtracted");
});

t.test("what only people read is left alone", async (t) => {
  t.same(mutated("assert(a < b);"), []);
  t.same(mutated('log.warn("a", n + 1);'), []);
  t.same(mutated("throw new Error(a ? b : c);"), []);
});

t.test("of an order the sign alone is read", async (t) => {
  t.same(
    mutated("a < b ? -1 : a > b ? 1 : 0;").filter((text) => text.includes("2")),
    [],
  );
  t.same(
    mutated("a < b ? -1 : 1;").filter((text) => text.includes("2")),
    [],
  );
  t.ok(mutated("a < 1 ? -1 : 1;").includes("a < 2 ? -1 : 1;"));
  t.ok(mutated("a < b ? 0 : 1;").includes("a < b ? 0 : 2;"));
});
