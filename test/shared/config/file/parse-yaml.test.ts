import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { parseDocument, stringify } from "yaml";
import { parseYaml as parse } from "../../../../shared/config/file/parse-yaml.js";
import { anyText } from "../../../support/any-text.js";

/** The document, and the problems as texts. */
function parseYaml(text: string): { readonly document: unknown; readonly problems: string[] } {
  const { document, problems } = parse(text);
  return {
    document,
    problems: problems.map(
      ({ message, position: { line, column } }) => `line ${line}, column ${column}: ${message}`,
    ),
  };
}

t.test("YAML becomes plain values", async (t) => {
  for (const [text, document] of [
    ["", null],
    ["# only a comment\n", null],
    ["a: 1\nb: [x, 'y']\nc: {d: null}\n", { a: 1, b: ["x", "y"], c: { d: null } }],
    ["\ufeffa: yes\n", { a: "yes" }],
    ["1: a\n2.5: b\n", { 1: "a", "2.5": "b" }],
    ["1.0: a\n007: b\n~: c\n", { "1.0": "a", "007": "b", "~": "c" }],
    [
      "a: [1, 01, 0o17, 0x1F, 1e3, .inf, -.5, ~, True]\n",
      {
        a: [1, 1, 15, 31, 1000, Infinity, -0.5, null, true],
      },
    ],
    [
      "a: ['1', \"true\", 1_000, 0o8, 1e, yes, nULL]\n",
      {
        a: ["1", "true", "1_000", "0o8", "1e", "yes", "nULL"],
      },
    ],
    ["a: &x [1]\nb: *x\n", { a: [1], b: [1] }],
  ] as const) {
    t.same(parseYaml(text), { document, problems: [] }, JSON.stringify(text));
  }
});

t.test("what isn't YAML is reported with line and column, without quoting the text", async (t) => {
  for (const [text, problem] of [
    ["server:\n\tport: 1\n", "line 2, column 1: tabs can't be used as indentation: use spaces"],
    [
      "a: [1,\nb: 2\n",
      "line 2, column 1: too little indentation, or a quote, [ or { that isn't closed",
    ],
    [
      "a:\n  port:80\n  host: x\n",
      "line 3, column 7: wrong indentation, or the line above lacks its colon and the space after it",
    ],
    ["a: b: c\n", "line 1, column 5: a value with a colon and a space in it must be in quotes"],
    ["a: @secret\n", "line 1, column 4: a value that begins with @ must be in quotes"],
    ["a: {b: 1}}\n", "line 1, column 10: a } that nothing has opened"],
    ["a:\n  - 1\n - 2\n", "line 3, column 2: wrong indentation"],
    [
      "a: 'it's'\n",
      `line 1, column 8: text after the closing quote: within '…' a ' is written twice, within "…" a " is \\"`,
    ],
    ['"a: 1\n', "line 2, column 1: a quote that isn't closed"],
    [
      'a: "\\d"\n',
      "line 1, column 6: an unknown escape: within double quotes a backslash is written \\\\",
    ],
    ["a: 1\nb\n", "line 3, column 1: a key without a colon and a space after it"],
    [
      "a\n  b: 1\n",
      "line 2, column 4: this can't follow the lines above: a key without its colon, or keys and - mixed",
    ],
    [
      "models: [*]\n",
      "line 1, column 11: an alias without a name (a value that begins with * must be in quotes)",
    ],
    [
      "a: !vault secret\n",
      "line 1, column 4: a tag can't be used (a value that begins with ! must be in quotes)",
    ],
    [
      "a: 1\n---\nb: 2\n",
      "line 2, column 1: the file holds several documents (---): one is expected",
    ],
    ["? [a]\n: 1\n", "line 1, column 3: a key must be a text"],
  ] as const) {
    const { document, problems } = parseYaml(text);
    t.same(
      { document, problems },
      { document: undefined, problems: [problem] },
      JSON.stringify(text),
    );
  }
});

t.test("no problem quotes a value, however it is broken", async (t) => {
  for (const value of [
    "!secret",
    "*secret",
    "|secret",
    ">secret",
    "@secret",
    "%secret",
    '"a" secret',
    '"secret',
    "secret: x",
    "'a' 'secret'",
    "[a] secret",
    '"\\q secret"',
  ]) {
    const { problems } = parseYaml(`key: ${value}\n`);
    t.not(problems.length, 0, value);
    t.notMatch(problems.join("\n"), /secret/, value);
  }
});

t.test("duplicate keys are reported, all of them, and the rest is still read", async (t) => {
  const { document, problems } = parseYaml("a: 1\nb: {c: 1, c: 2}\na: 2\nd: 4\n");
  t.same([...problems].sort(), [
    "line 2, column 11: the key c appears twice",
    "line 3, column 1: the key a appears twice",
  ]);
  t.match(document, { d: 4 });
});

t.test(
  "an alias without its anchor, and a file that grows without end, are problems",
  async (t) => {
    t.same(parseYaml("a: 1\nb: [*gpt, *gpt]\n"), {
      document: undefined,
      problems: [5, 11].map(
        (column) =>
          `line 2, column ${column}: an alias without its anchor before it (a value that begins with * must be in quotes)`,
      ),
    });
    const bomb = Array.from(
      { length: 30 },
      (_, i) => `a${i}: &a${i} [${i === 0 ? "1" : `*a${i - 1}, *a${i - 1}`}]`,
    ).join("\n");
    t.same(parseYaml(bomb), {
      document: undefined,
      problems: ["line 11, column 17: the aliases up to here stand for more than 10000 values"],
    });
  },
);

t.test("no text makes the parser throw", async () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(..."ab: -[]{}&*!|>'\"#%\n\t?,") }), (text) =>
      Array.isArray(parseYaml(text).problems),
    ),
  );
});

/** The result of another parser; undefined if it finds a problem. */
function byAnother(text: string): { readonly document: unknown } | undefined {
  const parsed = parseDocument(text, {
    prettyErrors: false,
    resolveKnownTags: false,
    stringKeys: true,
    logLevel: "error",
  });
  if (parsed.errors.length + parsed.warnings.length > 0) return undefined;
  try {
    return { document: parsed.toJS() as unknown };
  } catch {
    // An alias without its anchor.
    return undefined;
  }
}

t.test("YAML that another parser writes is read correctly", async () => {
  const word = fc.oneof(
    anyText({ maxLength: 12 }),
    fc.constantFrom(
      "",
      "null",
      "~",
      "yes",
      "true",
      "1",
      "0x1F",
      "1e3",
      ".inf",
      "a: b",
      "- a",
      "#",
      "'",
      '"',
      "${NAME}",
      "/team/app",
      "*",
      "a\nb\n",
      "__proto__",
      "<<",
    ),
  );
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 4 },
      word,
      fc.integer(),
      fc.double({ noNaN: true }),
      fc.boolean(),
      fc.constant(null),
      fc.array(tie("value"), { maxLength: 4 }),
      fc.dictionary(word, tie("value"), { maxKeys: 4, noNullPrototype: true }),
    ),
  }));
  const style = fc.record({
    collectionStyle: fc.constantFrom("any" as const, "block" as const, "flow" as const),
    defaultStringType: fc.constantFrom(
      "PLAIN" as const,
      "QUOTE_SINGLE" as const,
      "QUOTE_DOUBLE" as const,
      "BLOCK_LITERAL" as const,
    ),
    lineWidth: fc.constantFrom(0, 30),
    indentSeq: fc.boolean(),
  });
  fc.assert(
    fc.property(value, style, (wanted, how) => {
      const text = stringify(wanted, how);
      // What can't be written, such as some white space in a block, is no question of reading.
      const expected = byAnother(text);
      if (expected !== undefined)
        assert.deepEqual(parseYaml(text), { document: expected.document, problems: [] }, text);
    }),
    { numRuns: 1000 },
  );
});

t.test(
  "where it and another parser both understand a text, they understand the same",
  async (t) => {
    const lines = [
      "a: 1",
      "b:",
      "c: [1, x]",
      "d: {e: f}",
      "- g",
      "plain text",
      "'q': \"r\\n\"",
      "k: |",
      "k: >-",
      "  more",
      "# c",
      "x: y # c",
      "a : 2",
      "n: ~",
      "t: true",
      "f: 1e3",
      "h: 0x1F",
      "o: 0o17",
      "m: .inf",
      "l: -.5",
      "z: 1_000",
      "y: 2001-01-01",
      "u: http://a:b",
      "v: a#b",
      "'w''x': 1",
      "? a",
      ": b",
      "&x q: 1",
      "r: *x",
      "s: &x {a: 1}",
    ];
    const line = fc.oneof(
      {
        weight: 20,
        arbitrary: fc
          .tuple(
            fc.constantFrom("", "  ", "    ", "- ", "  - ", "  - - "),
            fc.constantFrom(...lines),
          )
          .map((parts) => parts.join("")),
      },
      { weight: 1, arbitrary: fc.constantFrom("---", "...") },
    );
    const text = fc
      .array(line, { maxLength: 6 })
      .map((chosen) => chosen.map((each) => `${each}\n`).join(""));
    let understood = 0;
    fc.assert(
      fc.property(text, (written) => {
        const [expected, { document, problems }] = [byAnother(written), parseYaml(written)];
        if (expected === undefined || problems.length > 0) return;
        understood++;
        assert.deepEqual(document, expected.document, written);
      }),
      { numRuns: 3000, seed: 20_261_121 },
    );
    t.ok(understood > 300, `${understood} texts`);
  },
);
