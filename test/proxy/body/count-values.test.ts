import assert from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import {
  fieldsMax,
  hasMoreValues,
  outlineOf as outlineOfBytes,
  outlineSliced,
  shortStringBytes,
  valuesMax,
  withPauses,
} from "../../../proxy/body/count-values.js";
import { scanObject } from "../../../proxy/body/scan-json.js";
import { exactly } from "../../support/patterns/exactly.js";

/** The outline of a text in Latin-1, with its skeleton as a text. */
function outlineOf(
  text: string,
  passesTokens: boolean,
): Omit<ReturnType<typeof outlineOfBytes>, "skeleton"> & { readonly skeleton: string } {
  const outline = outlineOfBytes(Buffer.from(text, "latin1"), passesTokens);
  return { ...outline, skeleton: outline.skeleton.toString("latin1") };
}

/** As many as are counted in a text. */
function counted(text: string, passesTokens = false): number {
  return outlineOf(text, passesTokens).values;
}

/** Values and names of a parsed text. */
function valuesIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  const names = Array.isArray(value) ? 0 : Object.keys(value).length;
  return Object.values(value).reduce((sum: number, inner) => sum + valuesIn(inner), 1 + names);
}

t.test(
  "objects, lists, texts, names and plain values are counted, wherever they are",
  async (t) => {
    const table: readonly (readonly [text: string, values: number])[] = [
      ["{}", 1],
      ["[]", 1],
      ["[{},{}]", 3],
      ["[[],[[]]]", 4],
      ['{"a":1}', 3],
      ['{"a":{"b":[true,false,null]}}', 8],
      ['["{\\"a\\":[1,2]}","\\\\"]', 3],
      [" [ 1 ,\t-2.5e+7\r\n, 1E-9 ] ", 4],
      ['["a long text, with [brackets] and {braces}: 1,2,3"]', 2],
      ['["no end', 1],
    ];
    for (const [text, values] of table) t.equal(counted(text), values, text);
  },
);

t.test("as many values are counted as are parsed, of any JSON", async () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(undefined, 1), (value, space) => {
      const text = JSON.stringify(value, null, space);
      return counted(text) === valuesIn(JSON.parse(text));
    }),
  );
});

t.test("the ids of tokens are free where they are asked for, and nothing else is", async (t) => {
  const table: readonly (readonly [text: string, values: number])[] = [
    ["[[1,22,333],[4444444]]", 3],
    ['{"input":[1,2,3]}', 3],
    ["[1.5,-1,1e3,12345678,true]", 6],
    ["[1,2,3.5,4,5e1,6, 7,007,8]", 4],
  ];
  for (const [text, values] of table) t.equal(counted(text, true), values, text);
});

t.test("what isn't JSON isn't made JSON by passing over tokens", async (t) => {
  const run = Array(valuesMax).fill(1).join();
  for (const text of [
    `{"n":${run}}`,
    `{"n" :\n ${run},"model":"m"}`,
    `{"n":0,${run}}`,
    `{"n":[]${run}}`,
    `{${run}}`,
    `[${run},]`,
    `[${run} 1]`,
  ])
    t.throws(
      () => JSON.parse(outlineOf(text, true).skeleton),
      { name: "SyntaxError" },
      text.slice(0, 20),
    );
});

t.test(
  "the skeleton that is parsed has few tokens of each long run, and is JSON as before",
  async (t) => {
    const run = Array.from({ length: valuesMax }, (_, at) => at % 1000);
    const body = { model: "1,1,1,1", input: [run, run, ["1,2"]], a: [1, 2], b: 0.5, c: [-1, 1e21] };
    const plain = JSON.stringify(body);
    const indented = JSON.stringify(body, null, 1);
    const spaced = indented.replaceAll(/(?<=\d),\n/g, "\t,\r\n");
    for (const text of [plain, plain.replaceAll(",", ", "), indented, spaced]) {
      const skeleton = outlineOf(text, true).skeleton;
      // A run is cut where a slice ends.
      t.ok(skeleton.length < 300, `${skeleton.length} characters`);
      const { input, ...rest } = JSON.parse(skeleton) as { readonly input: readonly unknown[][] };
      t.ok(input[0]!.length < 20 && input[1]!.length < 20);
      t.ok(
        input
          .slice(0, 2)
          .flat()
          .every((token) => token === 0),
      );
      t.match(input[2], exactly([/^1\s?,\s*2$/]));
      t.match(rest, exactly({ a: [1, 2], b: 0.5, c: [-1, 1e21] }));
    }
    for (const wrong of ["[1,2,]", "[,1]", "[1 2]", "[01]", "[1,02]", "[1.]", "{1,2}"]) {
      const { skeleton } = outlineOf(wrong.replace("1", `${run.join()},1`), true);
      t.throws(() => JSON.parse(skeleton), SyntaxError, wrong);
    }
    t.ok(outlineOf(`[${"{},".repeat(valuesMax)}1]`, true).values > valuesMax);
    t.ok(hasMoreValues(`[${"{},".repeat(valuesMax)}1]`));
  },
);

t.test("the members of any object are found in the same walk", async (t) => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue(), { noNullPrototype: true }),
      fc.constantFrom(undefined, 1),
      fc.boolean(),
      (value, space, passesTokens) => {
        const text = Buffer.from(JSON.stringify(value, null, space)).toString("latin1");
        const { members, fields } = outlineOf(text, passesTokens);
        assert.deepEqual(members(), scanObject(text));
        assert.equal(fields, Object.keys(value).length);
      },
    ),
  );
  const twice = ' { "a\\u0041" : [1,{"a":2}] , "b":"x\\"","b":{} } ';
  t.same(outlineOf(twice, true).members(), scanObject(twice));
});

t.test("what isn't JSON, or isn't an object, has an outline all the same", async (t) => {
  const pieces = ['"', "{", "}", "[", "]", ":", ",", "\\", "1", " ", "a", '"a":'];
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...pieces)), (list) => {
      const text = list.join("");
      for (const passesTokens of [false, true]) {
        const { values, skeleton } = outlineOf(text, passesTokens);
        if (!(values <= text.length && skeleton === text)) return false;
      }
      return true;
    }),
  );
  const many = Array.from({ length: fieldsMax + 2 }, (_, at) => `"n${at}":1`);
  t.equal(outlineOf(`{${many.join()}}`, false).fields, fieldsMax + 1);
});

t.test("a name that is written with escapes is noted wherever it is, and no text is", async (t) => {
  const all = [..."previous_response_id"].map((char) => `\\u00${char.charCodeAt(0).toString(16)}`);
  const table: readonly (readonly [text: string, escapes: boolean])[] = [
    ['{"a":"\\u0061","b":["\\"c\\":"]}', false],
    ['{"a":{"b":[{"c":"\\u4e2d"},"\\\\",":"]}}', false],
    ['{"\\u0061":1}', true],
    ['{"a":[1,{"b":{"f\\u0069le_id" \n\t:"x"}}]}', true],
    [`{"a":{"${all.join("")}":1}}`, true],
    // Longer than each name that is looked for.
    [`{"a":{"${"\\u0061".repeat(25)}":1}}`, false],
    ['{"a":1,"a":{"\\"":1}}', true],
  ];
  for (const [text, escapes] of table)
    for (const passesTokens of [true, false])
      t.equal(outlineOf(text, passesTokens).escapesNames, escapes, text);
});

t.test("a large text is walked through in slices, whatever it is of", async (t) => {
  const bytes = 8_000_000;
  const filled = (piece: string): string => piece.repeat(bytes / piece.length);
  const around = (filling: string): readonly string[] => [
    filling,
    `{${filling}"model":"m"}`,
    `{"model"${filling}:"m"}`,
    `{"model":"m","input":[${filling}]}`,
    `{"model":"m"${filling}`,
  ];
  const turnsOf = async (text: string): Promise<number> => {
    let turns = 0;
    const sliced = await withPauses(
      outlineSliced(Buffer.from(text), true),
      async () => void turns++,
    );
    const { values, fields, skeleton } = outlineOf(text, true);
    t.same([sliced.values, sliced.fields], [values, fields]);
    t.ok(sliced.skeleton.toString("latin1") === skeleton);
    return turns;
  };
  const slices = 10;
  for (const piece of [" ", "\n\t "])
    for (const text of around(filled(piece)))
      t.ok((await turnsOf(text)) > slices, text.slice(0, 30));
  for (const piece of ["1,", "1 ,", "1,\n", "1"])
    t.ok((await turnsOf(`{"input":[${filled(piece)}1]}`)) > slices, piece);
  // The rest has too many values, or is passed over.
  for (const piece of ["{},", "[", "]", '"a",', "x", "1 ", '"\\"" ', '"a"  :'])
    for (const text of around(filled(piece))) await turnsOf(text);
});

/** Pieces of strings: valid ones, and what isn't allowed in a string. */
const inStrings = [
  ..."aZ é~",
  "plain text of some length",
  ...Array.from({ length: 4 }, () => "x".repeat(shortStringBytes / 2)),
  "\\n",
  '\\"',
  "\\\\",
  "\\/",
  "\\u00e9",
  "\\ud83d\\ude00",
  "\\uD83D",
  "\\u0000",
  "\u007f",
  "\u00ff",
  "{}[]:,",
];
const invalid = ["\n", "\u0000", "\u001f", "\\x", "\\u12g4", "\\u12", "\\", '"', "\\'"];

const hostileString = fc
  .array(
    fc.oneof(
      { weight: 60, arbitrary: fc.constantFrom(...inStrings) },
      { weight: 1, arbitrary: fc.constantFrom(...invalid) },
    ),
    { maxLength: 30 },
  )
  .map((pieces) => `"${pieces.join("")}"`);

/** JSON texts as they are written, with long strings in any place, most of them valid. */
const hostileText = fc
  .letrec<{ readonly value: string }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 4, withCrossShrink: true },
      hostileString,
      fc.constantFrom("0", "-1.5e3", "true", "null", "{}", "[]", "01", "nul", "", "1,1,2,33,44,5"),
      fc.array(tie("value"), { maxLength: 4 }).map((items) => `[${items.join(" ,\n")}]`),
      fc
        .array(
          fc.tuple(
            fc.oneof(hostileString, fc.constantFrom('"a"', '"b"', '"\\u0061"')),
            tie("value"),
          ),
          { maxLength: 4 },
        )
        .map((members) => `{${members.map((member) => member.join(" :")).join(",")}}`),
    ),
  }))
  .value.chain((text) =>
    fc.tuple(
      fc.constant(text),
      // A cut, and what is put there.
      fc.option(
        fc.tuple(
          fc.nat(text.length),
          fc.nat(3),
          fc.constantFrom("", '"', "\\", "{", "}", "[", "]", ",", ":", "\n", "1", "\u0001"),
        ),
        { freq: 2 },
      ),
    ),
  )
  .map(([text, cut]) =>
    cut === null ? text : text.slice(0, cut[0]) + cut[2] + text.slice(cut[0] + cut[1]),
  );

/** The value with each string as the skeleton has it, and the number of its names. */
function parsedOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

function sameButForLongStrings(whole: unknown, skeleton: unknown): boolean {
  if (typeof whole === "string")
    return (
      whole === skeleton ||
      (typeof skeleton === "string" &&
        skeleton.includes("\u0000") &&
        whole.startsWith(skeleton.slice(0, skeleton.lastIndexOf("\u0000"))) &&
        JSON.stringify(whole).length * 6 > shortStringBytes)
    );
  if (typeof whole !== "object" || whole === null) return Object.is(whole, skeleton);
  if (typeof skeleton !== "object" || skeleton === null) return false;
  const [names, others] = [Object.keys(whole), Object.keys(skeleton)];
  return (
    Array.isArray(whole) === Array.isArray(skeleton) &&
    names.length === others.length &&
    names.every(
      (name, i) =>
        name === others[i] &&
        sameButForLongStrings(
          (whole as Record<string, unknown>)[name],
          (skeleton as Record<string, unknown>)[name],
        ),
    )
  );
}

t.test(
  "a skeleton is JSON if the text is, and has the same values but for long texts",
  async () => {
    let valid = 0;
    let shorter = 0;
    const drawn = fc.check(
      fc.property(hostileText, fc.nat(3), (text, offset) => {
        // Whatever the alignment of the bytes.
        const held = Buffer.concat([Buffer.alloc(offset), Buffer.from(text, "latin1")]);
        const bytes = held.subarray(offset);
        const outline = outlineOfBytes(bytes, false);
        const skeleton = outline.skeleton.toString("latin1");
        const [whole, short] = [parsedOf(text), parsedOf(skeleton)];
        assert.equal(short === undefined, whole === undefined, "both are JSON, or neither is");
        if (whole === undefined) return;
        valid++;
        if (skeleton.length < text.length) shorter++;
        assert.ok(sameButForLongStrings(whole, short));
        if (/(?<!\\)(?:\\\\)*\\u[dD]/.test(text)) assert.ok(outline.escapesHalves);
        assert.equal(outline.names, namesIn(text));
        if (typeof whole === "object" && !Array.isArray(whole) && whole !== null)
          assert.deepEqual(outline.members(), scanObject(text));
        assert.ok(bytes.equals(Buffer.from(text, "latin1")));
      }),
      { numRuns: 2000 },
    );
    assert.ok(!drawn.failed, fc.defaultReportMessage(drawn));
    assert.ok(valid > 200 && shorter > 50, `${valid} valid, ${shorter} of them shortened`);
  },
);

/** The names in a valid text: strings before a colon. */
function namesIn(text: string): number {
  const strings = /"(?:[^"\\]|\\.)*"(\s*:)?/g;
  return [...text.matchAll(strings)].filter(([, colon]) => colon !== undefined).length;
}

t.test(
  "only the beginning of a long text is in a shape; names and short texts are whole",
  async (t) => {
    const long = "made_by:".padEnd(shortStringBytes + 1, "z");
    const text = JSON.stringify({ [long]: [long, "z".repeat(shortStringBytes - 2), `\n${long}`] });
    const { skeleton, names } = outlineOf(text, false);
    t.same(JSON.parse(skeleton), {
      [long]: [`${long.slice(0, 255)}\u00000`, "z".repeat(shortStringBytes - 2), "\u00001"],
    });
    t.equal(names, 1);
    const short = Buffer.from('{"model":"m"}');
    t.equal(outlineOfBytes(short, false).skeleton, short, "the same Buffer if nothing is left out");
  },
);
