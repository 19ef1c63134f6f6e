import { readFileSync } from "node:fs";
import t from "tap";
import { drawn, type Fault, faultsOf, isEquivalent, scores } from "./draw.js";
import { equivalents } from "./equivalents/equivalents.js";

const text = Array.from({ length: 300 }, (_, i) => `if (a < ${i}) f${i % 7}();`).join("\n");

t.test("a share is drawn by a seed, the same one in every company", async (t) => {
  const one = faultsOf("limiterd/rules/a.js", text);
  const other = faultsOf("limiterd/keys/b.js", text);
  const some = drawn(one, 1, 0.1);
  t.ok(some.length > 0.07 * one.length && some.length < 0.13 * one.length, `${some.length}`);
  t.same(drawn([...other, ...one], 1, 0.1).slice(-some.length), some);
  t.notSame(drawn(one, 2, 0.1), some);
  t.equal(drawn(one, 1, 1).length, one.length);
  const longer = faultsOf("limiterd/rules/a.js", `g();\n${text}`);
  t.same(
    drawn(longer, 1, 0.1).map(({ lineText, what }) => [lineText, what]),
    some.map(({ lineText, what }) => [lineText, what]),
    "nor does a line more elsewhere change it",
  );
});

t.test("the score leaves out what is equivalent", async (t) => {
  t.same(
    scores([
      { file: "a/b/c.js", outcome: "noticed" },
      { file: "a/b/d.js", outcome: "equivalent" },
      { file: "a/e/f.js", outcome: "survived" },
      { file: "a/e/f.js", outcome: "not run" },
      { file: "a/e/f.js", outcome: "noticed" },
    ]),
    [
      "a/b: 2 drawn, 1 equivalent, 1 noticed: 100.0%",
      "a/e: 3 drawn, 0 equivalent, 1 noticed: 33.3%",
      "all: 5 drawn, 1 equivalent, 2 noticed: 50.0%",
    ],
  );
  const [first] = faultsOf("a/b.js", "if (a < b) f();");
  const listed = { file: "a/b.ts", line: "if (a < b) f();", what: "< becomes <=", why: "so" };
  t.ok(isEquivalent(first!, [listed]));
  t.notOk(isEquivalent(first!, [{ ...listed, line: "if (a < c) f();" }]));
  const twice = faultsOf("a/b.js", "f(a ?? b, c ?? d);").filter(({ what }) => /^\?\?/.test(what));
  const second = { file: "a/b.ts", line: "f(a ?? b, c ?? d);", what: "?? has no fallback", nth: 2 };
  t.same(
    twice.map((fault) => isEquivalent(fault, [{ ...second, why: "so" }])),
    [false, true],
    "of two on a line the one that is meant",
  );
});

t.test("every listed equivalent mutant is in the code", async (t) => {
  const dist = new URL("../../", import.meta.url);
  const faults = new Map<string, readonly Fault[]>();
  const missing = equivalents.filter((each) => {
    const file = each.file.replace(/\.ts$/, ".js");
    const known = faults.get(file) ?? faultsOf(file, readFileSync(new URL(file, dist), "utf8"));
    faults.set(file, known);
    return !known.some((fault) => isEquivalent(fault, [each]));
  });
  t.same(missing, []);
});
