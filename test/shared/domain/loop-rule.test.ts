import t from "tap";
import {
  isSameLoops,
  isSameTimes,
  loopsOfText,
  loopsWords,
  loopTimesOf,
  parseLoops,
  textOfLoops,
  unionOf,
} from "../../../shared/domain/loop-rule.js";

const usual = {
  ...{ warn_after: 5, refuse_after: 0, compare_results: true },
  ...{ warn_after_turns: 200, refuse_after_turns: 0 },
};

t.test("fields left out have their defaults; warnings come no later than refusals", async (t) => {
  t.same(parseLoops(undefined, "loops"), { ok: true, value: {} });
  t.same(parseLoops(null, "loops"), { ok: true, value: {} });
  for (const [raw, loops] of [
    [{}, usual],
    [{ refuse_after: 20 }, { ...usual, refuse_after: 20 }],
    [{ refuse_after: 3 }, { ...usual, warn_after: 3, refuse_after: 3 }],
    [{ warn_after: 0 }, { ...usual, warn_after: 0 }],
    [{ refuse_after_turns: 500 }, { ...usual, refuse_after_turns: 500 }],
    [{ refuse_after_turns: 50 }, { ...usual, warn_after_turns: 50, refuse_after_turns: 50 }],
    [{ warn_after_turns: 10_000 }, { ...usual, warn_after_turns: 10_000 }],
    [{ warn_after_turns: 0 }, { ...usual, warn_after_turns: 0 }],
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
      { warn_after_turns: 1 },
      "loops.warn_after_turns must be 0 or an integer from 2 to 10000, not 1",
      "loops.warn_after_turns",
    ],
    [
      { refuse_after_turns: 10_001 },
      "loops.refuse_after_turns must be 0 or an integer from 2 to 10000, not 10001",
      "loops.refuse_after_turns",
    ],
    [
      { warn_after_turns: 1e300 },
      "loops.warn_after_turns must be 0 or an integer from 2 to 10000",
      "loops.warn_after_turns",
    ],
    [
      { warn_after_turns: 10, refuse_after_turns: 5 },
      "loops.refuse_after_turns must be at least warn_after_turns (10), not 5",
      "loops.refuse_after_turns",
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
      { ...usual, warn_after: 0, refuse_after: 3, compare_results: false },
      "warn_after=0, refuse_after=3, compare_results=false",
    ],
  ] as const) {
    t.equal(textOfLoops(loops), text);
    t.same(parseLoops(loopsOfText(text), ""), { ok: true, value: { loops } });
  }
  for (const [loops, text] of [
    [
      { ...usual, warn_after_turns: 0 },
      "warn_after=5, refuse_after=0, warn_after_turns=0, refuse_after_turns=0",
    ],
    [
      { ...usual, refuse_after_turns: 500, compare_results: false },
      "warn_after=5, refuse_after=0, compare_results=false, warn_after_turns=200, refuse_after_turns=500",
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
  t.equal(loopsWords(usual), "warns after 5 repetitions or 200 turns");
  t.equal(
    loopsWords({ ...usual, refuse_after: 20, compare_results: false }),
    "warns after 5 repetitions or 200 turns, refuses after 20 repetitions, whatever the results are",
  );
  const never = { ...usual, warn_after: 0, warn_after_turns: 0 };
  t.equal(loopsWords({ ...never, refuse_after: 2 }), "refuses after 2 repetitions");
  t.equal(loopsWords({ ...never, refuse_after_turns: 300 }), "refuses after 300 turns");
  t.equal(loopsWords(never), "ignores loops");
  t.equal(loopsWords({ ...never, compare_results: false }), "ignores loops");
  t.ok(isSameLoops({ loops: usual }, { loops: { ...usual } }));
  t.notOk(isSameLoops({ loops: usual }, {}));
});

t.test("the numbers at which rules act", async (t) => {
  const never = { ...usual, warn_after: 0, warn_after_turns: 0 };
  const onTurns = { ...never, warn_after_turns: 30, refuse_after_turns: 90 };
  const onTimes = { ...never, refuse_after: 7 };
  t.equal(loopTimesOf([]), null);
  t.equal(loopTimesOf([never]), null);
  t.same(loopTimesOf([onTimes]), { min: 7, max: 7, turns: undefined });
  t.same(loopTimesOf([onTurns]), { min: 0, max: 0, turns: { min: 30, max: 90 } });
  const all = { min: 5, max: 7, turns: { min: 30, max: 200 } };
  t.same(loopTimesOf([usual, onTimes, onTurns, never]), all);
  for (const rules of [
    [usual, onTimes],
    [never, usual],
  ])
    for (const others of [
      [onTurns, onTimes],
      [onTimes, onTurns, never],
    ])
      t.same(unionOf(loopTimesOf(rules), loopTimesOf(others)), all);
  t.same(unionOf(null, all), all);
  t.same(unionOf(all, null), all);
  t.ok(isSameTimes(unionOf(all, null), { ...all }));
  t.notOk(isSameTimes(all, { ...all, turns: undefined }));
});
