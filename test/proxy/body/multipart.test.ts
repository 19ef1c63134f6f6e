import fc from "fast-check";
import t from "tap";
import { boundaryOf, FieldFinder } from "../../../proxy/body/multipart.js";
import { splice } from "../../../proxy/handlers/multipart-call.js";

const part = (headers: string, body: string): string => `--B\r\n${headers}\r\n\r\n${body}\r\n`;
const field = (name: string, value: string): string =>
  part(`Content-Disposition: form-data; name="${name}"`, value);
const file = part(
  'Content-Disposition: form-data; name="file"; filename="model.mp3"\r\nContent-Type: audio/mpeg',
  "ID3\r\n--\r\n--C\r\n\r\n",
);

function found(
  form: string | Buffer,
  cuts: readonly number[] = [],
): { place: unknown; problem: string | null; ended: boolean; repeated: boolean } {
  const bytes = Buffer.from(form);
  const finder = new FieldFinder("B", "model");
  let at = 0;
  for (const cut of [...cuts].sort((a, b) => a - b)) {
    finder.push(bytes.subarray(at, cut));
    at = cut;
  }
  finder.push(bytes.subarray(at));
  return {
    place: finder.place,
    problem: finder.problem,
    ended: finder.ended,
    repeated: finder.repeated,
  };
}

t.test("a form's boundary is what its content type says", async (t) => {
  const table = [
    ["multipart/form-data; boundary=abc", "abc"],
    ['Multipart/Form-Data; charset=utf-8; boundary="a b;c"', "a b;c"],
    ["multipart/form-data;boundary=----X123", "----X123"],
    ["multipart/form-data", null],
    ["multipart/form-data; boundary=", null],
    [`multipart/form-data; boundary=${"x".repeat(71)}`, null],
    ["multipart/mixed; boundary=abc", null],
    ["application/json", null],
    ["", null],
  ] as const;
  for (const [contentType, boundary] of table)
    t.equal(boundaryOf(contentType), boundary, contentType);
});

t.test("the field is found wherever it is", async (t) => {
  const table = [
    [`${field("model", "whisper-1")}${file}--B--\r\n`, "whisper-1"],
    [`${file}${field("model", "whisper-1")}--B--`, "whisper-1"],
    [`preamble\r\n${file}${field("model", "modèle-é")}--B--\r\nepilogue`, "modèle-é"],
    [`${field("model", "")}--B--`, ""],
    [`${part("content-disposition: form-data; name=model", "a")}--B--`, "a"],
    [
      `${part('Content-Type: text/plain\r\nContent-Disposition: form-data; x=1; name="model"', "a")}--B--`,
      "a",
    ],
  ] as const;
  for (const [form, value] of table) {
    const { place, problem, ended } = found(form) as {
      place: { start: number; end: number; value: string };
      problem: null;
      ended: boolean;
    };
    t.same([place.value, problem, ended], [value, null, true], form);
    t.equal(
      Buffer.from(form).toString("utf8", place.start, place.end),
      value,
      "and its place holds it",
    );
  }
});

t.test(
  "a form without the field, an invalid one and a repeated field are distinguished",
  async (t) => {
    t.match(found(`${file}--B--`), { place: null, problem: null, ended: true });
    t.match(
      found(`${part('Content-Disposition: form-data; name="model"; filename="m"', "a")}--B--`),
      { place: null, ended: true },
      "a file is no field",
    );
    t.match(found(field("model", "a").slice(0, -2)), { place: null, problem: null, ended: false });
    t.match(found(`${field("model", "a")}${field("model", "b")}--B--`), { repeated: true });
    t.match(found(field("model", "x".repeat(5000))), {
      problem: "model must be at most 4096 bytes",
    });
    t.match(found(`--B\r\n${"X: y\r\n".repeat(4000)}`), {
      problem: "the headers of a part are larger than 16384 bytes",
    });
    t.match(found("no form at all"), { place: null, problem: null, ended: false });
  },
);

t.test("however the bytes are cut, the same is found, and only the value is replaced", async () => {
  const bodies = fc
    .string({
      unit: fc.constantFrom("\r", "\n", "-", "B", "a", "--B", "\r\n--", "\r\n--B-", "é"),
      maxLength: 30,
    })
    .filter((text) => !`\r\n${text}\r\n`.includes("\r\n--B"));
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        value: bodies,
        other: bodies,
        isFirst: fc.boolean(),
        rawCuts: fc.array(fc.nat(400), { maxLength: 12 }),
        replacement: fc.string({ maxLength: 9 }),
      }),
      async ({ value, other, isFirst, rawCuts, replacement }) => {
        const parts = [
          field("model", value),
          part('Content-Disposition: form-data; name="file"; filename="f"', other),
        ];
        const form = Buffer.from(`${(isFirst ? parts : parts.reverse()).join("")}--B--\r\n`);
        const cuts = rawCuts.map((cut) => cut % form.length).sort((a, b) => a - b);
        const { place, problem } = found(form, cuts) as {
          place: { start: number; end: number; value: string };
          problem: string | null;
        };
        if (problem !== null || place.value !== value)
          throw new Error(JSON.stringify({ problem, place }));
        const pieces = async function* (): AsyncGenerator<Buffer> {
          let at = 0;
          for (const cut of [...cuts, form.length]) {
            yield form.subarray(at, cut);
            at = cut;
          }
        };
        const out: Buffer[] = [];
        for await (const piece of splice(
          pieces(),
          place.start,
          place.end,
          Buffer.from(replacement),
        ))
          out.push(piece);
        const expected = Buffer.concat([
          form.subarray(0, place.start),
          Buffer.from(replacement),
          form.subarray(place.end),
        ]);
        if (!Buffer.concat(out).equals(expected))
          throw new Error(`${Buffer.concat(out).toString()} is not ${expected.toString()}`);
      },
    ),
    { numRuns: 500 },
  );
});
