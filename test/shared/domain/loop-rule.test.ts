import t from "tap";
import {
  isSameLoops,
  loopsOfText,
  loopsWords,
  parseLoops,
  textOfLoops,
} from "../../../shared/domain/loop-rule.js";

const usual = { warn_after: 5, refuse_after: 0, compare_results: true };

t.test("fields left out have their defaults; warnings come no later than refusals", async (t) => {
  t.same(parseLoops(undefined, "loops"), { ok: true, value: {} });
  t.same(parseLoops(null, "loops"), { ok: true, value: {} });
  for (const [raw, loops] of [
    [{}, usual],
    [{ refuse_after: 20 }, { ...usual, refuse_after: 20 }],
    [{ refuse_after: 3 }, { ...usual, warn_after: 3, refuse_after: 3 }],
    [{ warn_after: 0 }, { ...usual, warn_after: 0 }],
    [
      { warn_after: 0, refuse_after: 2 },
      { ...usual, warn_after: 0, refuse_after: 2 },
    ],
    [
      { warn_after: 100, compare_results: false },
      { ...usual, warn_after: 100, compare_results: false },
    ],
  ] as const)
    t.same(parseLoops(raw, "loops"), { ok: true, value: { loops } }, JSON.stringify(raw));
});

t.test("wrong values are named with their field and what is expected", async (t) => {
  const times = "must be 0 or an integer from 2 to 100, not";
  for (const [raw, message, param] of [
    [5, "loops must be a mapping of warn_after, refuse_after, compare_results", "loops"],
    ["often", "such as {warn_after: 5, refuse_after: 20}, not often", "loops"],
    [{ warn: 5 }, "unknown field loops.warn: expected warn_after", "loops.warn"],
    [{ warn_after: 1 }, `loops.warn_after ${times} 1`, "loops.warn_after"],
    [{ warn_after: -2 }, `loops.warn_after ${times} -2`, "loops.warn_after"],
    [{ warn_after: 2.5 }, `loops.warn_after ${times} 2.5`, "loops.warn_after"],
    [{ refuse_after: 101 }, `loops.refuse_after ${times} 101`, "loops.refuse_after"],
    [{ refuse_after: "x" }, `loops.refuse_after ${times} x`, "loops.refuse_after"],
    [
      { warn_after: 10, refuse_after: 5 },
      "loops.refuse_after must be at least warn_after (10), not 5",
      "loops.refuse_after",
    ],
    [
      { compare_results: "maybe" },
      "loops.compare_results must be true or false, not maybe",
      "loops.compare_results",
    ],
  ] as const) {
    const parsed = parseLoops(raw, "loops");
    t.match(parsed, { ok: false, failure: { param } }, JSON.stringify(raw));
    const text = parsed.ok ? "" : parsed.failure.message.replaceAll('"', "");
    t.ok(text.includes(message), text);
  }
});

t.test("a text is the same as a mapping, and is written back as it is read", async (t) => {
  for (const [loops, text] of [
    [{ ...usual, refuse_after: 20 }, "warn_after=5, refuse_after=20"],
    [
      { warn_after: 0, refuse_after: 3, compare_results: false },
      "warn_after=0, refuse_after=3, compare_results=false",
    ],
  ] as const) {
    t.equal(textOfLoops(loops), text);
    t.same(parseLoops(loopsOfText(text), ""), { ok: true, value: { loops } });
  }
  t.same(loopsOfText(" warn_after : 7,compare_results=true "), {
    warn_after: 7,
    compare_results: true,
  });
  t.same(loopsOfText("compare_results=No"), { compare_results: false }, "as in a mapping");
  t.same(loopsOfText("compare_results=maybe"), { compare_results: "maybe" }, "for `parseLoops`");
  t.equal(loopsOfText("none"), null);
  t.same(loopsOfText("warn_after=many"), { warn_after: "many" }, "for `parseLoops`");
  for (const wrong of ["warn_after", "", "=5", 5, { warn_after: 5 }])
    t.equal(loopsOfText(wrong), wrong, "for `parseLoops`");
});

t.test("in words", async (t) => {
  t.equal(loopsWords(usual), "warns after 5 repetitions");
  t.equal(
    loopsWords({ warn_after: 5, refuse_after: 20, compare_results: false }),
    "warns after 5 repetitions, refuses after 20, whatever the results are",
  );
  t.equal(loopsWords({ ...usual, warn_after: 0, refuse_after: 2 }), "refuses after 2");
  t.equal(loopsWords({ ...usual, warn_after: 0 }), "ignores loops");
  t.ok(isSameLoops({ loops: usual }, { loops: { ...usual } }));
  t.notOk(isSameLoops({ loops: usual }, {}));
});
