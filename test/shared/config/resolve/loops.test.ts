import t from "tap";
import { accepted, refused } from "../resolve-sample.js";

t.test("entries for loops keep their order, and have their defaults", async (t) => {
  const loops = (text: string) => accepted(`loops: [ ${text} ]\n`).config.loops;
  const all = { paths: null, warnAfter: 5, refuseAfter: 0, comparesResults: true };
  t.same(accepted("loops:\n").config.loops, []);
  t.same(loops("{}"), [all]);
  t.same(loops("{ refuse_after: 3 }"), [{ ...all, warnAfter: 3, refuseAfter: 3 }]);
  t.same(loops("{ paths: [evals], warn_after: 0 }, { compare_results: no, refuse_after: 100 }"), [
    { ...all, paths: ["/evals"], warnAfter: 0 },
    { ...all, refuseAfter: 100, comparesResults: false },
  ]);
  t.same(loops("{ paths: [/a/b] }, { paths: [/a] }, { paths: [/a, /c] }").length, 3);
});

t.test("an entry that is wrong, or can never apply, is reported with its place", async (t) => {
  const times = "must be 0 or an integer from 2 to 100";
  for (const [body, problems] of [
    ["{ warn_after: 1 }", [`loops[0].warn_after ${times}, not 1`]],
    ["{ refuse_after: 101 }", [`loops[0].refuse_after ${times}, not 101`]],
    ["{ warn_after: 2.5 }", [`loops[0].warn_after ${times}, not 2.5`]],
    [
      "{ warn_after: 10, refuse_after: 5 }",
      ["loops[0].refuse_after must be at least warn_after (10), not 5"],
    ],
    ["{ path: /a }", ["loops[0].path is not a known key; did you mean paths?"]],
    ["{}, { paths: [/a] }", ["loops[1] never applies: loops[0] has its paths"]],
    [
      "{ paths: [/a, /b] }, { paths: [/a/c, /b] }",
      ["loops[1] never applies: loops[0] has its paths"],
    ],
    ["{ paths: [/] }, {}", ["loops[1] never applies: loops[0] has its paths"]],
  ] as const)
    t.same(refused(`loops: [ ${body} ]\n`), problems, body);
  t.same(refused("loops: { warn_after: 5 }\n"), [
    "loops must be a list, not a mapping: begin each entry with -",
  ]);
});

t.test("the settings in force have each entry", async (t) => {
  const text = "loops: [{ paths: [evals], warn_after: 0 }, { compare_results: no }]\n";
  const { settings } = accepted(text).config;
  t.same(
    settings.filter(({ path }) => path.startsWith("loops")).map(({ path, value }) => [path, value]),
    [
      ["loops[0]", "/evals; warn never; refuse never"],
      ["loops[1]", "all paths; warn after 5; refuse never; whatever the results are"],
    ],
  );
});
