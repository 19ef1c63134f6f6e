import fc from "fast-check";
import t from "tap";
import { parseYaml } from "../../../shared/config/parse-yaml.js";

t.test("YAML becomes plain values", async (t) => {
  for (const [text, document] of [
    ["", null],
    ["# only a comment\n", null],
    ["a: 1\nb: [x, 'y']\nc: {d: null}\n", { a: 1, b: ["x", "y"], c: { d: null } }],
    ["\ufeffa: yes\n", { a: "yes" }],
    ["1: a\n2.5: b\n", { 1: "a", "2.5": "b" }],
    ["a: &x [1]\nb: *x\n", { a: [1], b: [1] }],
  ] as const) {
    t.same(parseYaml(text), { document, problems: [] }, JSON.stringify(text));
  }
});

t.test("what isn't YAML is told by line and column, without quoting the text", async (t) => {
  for (const [text, problem] of [
    ["server:\n\tport: 1\n", "line 2, column 1: tabs can't be used as indentation: use spaces"],
    ["a: [1,\nb: 2\n", "line 2, column 1: Flow sequence in block collection must be sufficiently indented and end with a ]"],
    ["models: [*]\n", "line 1, column 10: Alias cannot be an empty string (a value that begins with * must be in quotes)"],
    ["a: !vault secret\n", "line 1, column 4: a tag can't be used (a value that begins with ! must be in quotes)"],
    ["a: 1\n---\nb: 2\n", "line 2, column 1: the file holds several documents (---): one is expected"],
    ["? [a]\n: 1\n", "line 1, column 3: a key must be a text"],
  ] as const) {
    const { document, problems } = parseYaml(text);
    t.same({ document, problems }, { document: undefined, problems: [problem] }, JSON.stringify(text));
  }
});

t.test("no problem quotes a value, however it is broken", async (t) => {
  for (const value of ["!secret", "*secret", "|secret", ">secret", "@secret", "%secret", '"a" secret', '"secret', "secret: x", "'a' 'secret'", "[a] secret", '"\\q secret"']) {
    const { problems } = parseYaml(`key: ${value}\n`);
    t.not(problems.length, 0, value);
    t.notMatch(problems.join("\n"), /secret/, value);
  }
});

t.test("keys that stand twice are told, all of them, and the rest is still read", async (t) => {
  const { document, problems } = parseYaml("a: 1\nb: {c: 1, c: 2}\na: 2\nd: 4\n");
  t.same([...problems].sort(), ["line 2, column 11: the key c stands twice", "line 3, column 1: the key a stands twice"]);
  t.match(document, { d: 4 });
});

t.test("an alias without its anchor, and a file that grows without end, are problems", async (t) => {
  t.same(parseYaml("a: 1\nb: [*gpt, *gpt]\n"), {
    document: undefined,
    problems: [5, 11].map((column) => `line 2, column ${column}: an alias without its anchor before it (a value that begins with * must be in quotes)`),
  });
  const bomb = Array.from({ length: 30 }, (_, i) => `a${i}: &a${i} [${i === 0 ? "1" : `*a${i - 1}, *a${i - 1}`}]`).join("\n");
  t.same(parseYaml(bomb), { document: undefined, problems: ["Excessive alias count indicates a resource exhaustion attack"] });
});

t.test("no text makes the parser throw", async () => {
  fc.assert(fc.property(fc.string({ unit: fc.constantFrom(..."ab: -[]{}&*!|>'\"#%\n\t?,") }), (text) => Array.isArray(parseYaml(text).problems)));
});
