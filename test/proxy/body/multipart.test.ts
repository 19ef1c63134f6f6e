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
    repeated: finder.isRepeated,
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
    ["multipart/form-data; boundary=abc;", "abc"],
    ["multipart/mixed; boundary=abc", null],
    ["multipart/form-data; boundary=abc; boundary=def", null],
    ["multipart/form-data; boundary=abc; boundary*=utf-8''def", null],
    ['multipart/form-data; x="; boundary=abc"; boundary=def', "def"],
    ['multipart/form-data; boundary="a\\"bc"', null],
    ["multipart/form-data; x; boundary=abc", null],
    ["multipart/form-data, application/json; boundary=abc", null],
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
    [`\r\n${file}${field("model", "modèle-é")}--B--\r\nepilogue`, "modèle-é"],
    [
      `${part('Content-Disposition: form-data; name="model"\r\nContent-Type: text/plain; charset=utf-8', "a")}--B--`,
      "a",
    ],
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
    t.match(found(field("model", "a").slice(0, -2)), { place: null, problem: null, ended: false });
    t.match(found(`${field("model", "a")}${field("model", "b")}--B--`), { repeated: true });
    t.match(found(field("model", "x".repeat(5000))), {
      problem: "model must be at most 4096 bytes",
    });
    t.match(found(`--B\r\n${"X: y\r\n".repeat(4000)}`), {
      problem: "the headers of a part are larger than 16384 bytes",
    });
    t.match(found("no form at all"), { problem: "it doesn't begin with its boundary" });
  },
);

const disposition = (rest: string): string =>
  part(`Content-Disposition: form-data; ${rest}`, "dear");

t.test("a form that servers may read in two ways is refused, however it is cut", async (t) => {
  const cheap = field("model", "cheap");
  const unreadable = "the headers of a part can't be read";
  const doubtful = "the content-disposition of a part can't be read";
  const table: readonly (readonly [form: string, problem: string])[] = [
    [disposition('name="model"; filename="m"'), "model must be a field, not a file"],
    [disposition('name="Model"'), '"Model" is given: the field is called model'],
    [disposition('name="mod\\el"'), '"mod\\\\el" is given: the field is called model'],
    [disposition('name="mod%65l"'), '"mod%65l" is given: the field is called model'],
    [disposition('name="model[]"'), '"model[]" is given: the field is called model'],
    [disposition("name*=utf-8''mod%65l"), `"utf-8''mod%65l" is given: the field is called model`],
    [disposition("name*=utf-8''model; name=x"), doubtful],
    [disposition("name=x; name=model"), doubtful],
    [disposition("x; name=model"), doubtful],
    [disposition('filename="a"b"; name="model"'), doubtful],
    [part("Content-Disposition: attachment; name=model", "dear"), doubtful],
    [
      part(
        "Content-Disposition: form-data; name=x\r\ncontent-disposition: form-data; name=model",
        "",
      ),
      doubtful,
    ],
    [part("Content-Disposition: form-data;\r\n name=model", "dear"), unreadable],
    [part("Content-Disposition: form-data; name=x\nA: b", "dear"), unreadable],
    [part("Content-Disposition : form-data; name=model", "dear"), unreadable],
    [
      part("Content-Disposition: form-data; name=model\r\nContent-Transfer-Encoding: base64", "x"),
      "model must be plain text in UTF-8",
    ],
    [
      part(
        "Content-Disposition: form-data; name=model\r\nContent-Type: text/plain;charset=utf-16",
        "x",
      ),
      "model must be plain text in UTF-8",
    ],
    ["--B\nx", "its boundary is followed by something else than the end of the line"],
    ["--Bx\r\n", "its boundary is followed by something else than the end of the line"],
    ["--B--x\r\n", "its last boundary is followed by something else than the end of the line"],
    ["--B--\n\r\n", "its last boundary is followed by something else than the end of the line"],
  ];
  for (const [hostile, problem] of table) {
    const form = cheap + hostile;
    const problems = Array.from(form, (_, cut) => found(form, [cut]).problem);
    t.same([...new Set(problems)], [problem], form);
  }
  for (const before of ["x", "x\r\n", "\n", "\r\n\r\n", "x\n--B\n"])
    t.equal(found(before + cheap).problem, "it doesn't begin with its boundary", before);
});

t.test("what is found is what another reader of forms finds", async (t) => {
  const odd = fc.oneof(
    fc.constantFrom("\r\n", "\n", "--", "B", ";", '"', "\\", " ", "\r\n--B", "--B\n", "name*="),
    fc.constantFrom("name=", "model", "Content-Disposition: form-data; ", ":", "%65", "\t", "[]"),
  );
  let agreed = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.constantFrom(field("model", "cheap"), file, disposition("name=x")), {
        maxLength: 4,
      }),
      fc.array(fc.tuple(fc.nat(300), odd, fc.nat(3)), { maxLength: 3 }),
      async (parts, edits) => {
        let form = `${parts.join("")}--B--\r\n`;
        for (const [place, text, dropped] of edits) {
          const at = place % (form.length + 1);
          form = form.slice(0, at) + text + form.slice(at + dropped);
        }
        const { place, problem, repeated, ended } = found(form) as {
          place: { value: string } | null;
          problem: string | null;
          repeated: boolean;
          ended: boolean;
        };
        if (problem !== null || repeated || !ended) return;
        const headers = { "content-type": "multipart/form-data; boundary=B" };
        const read = await new Response(form, { headers }).formData().catch(() => null);
        if (read === null) return;
        const values = place === null ? [] : [place.value];
        const others = read.getAll("model");
        agreed++;
        if (others.length !== values.length || others.some((other, i) => other !== values[i]))
          throw new Error(JSON.stringify({ form, values, others }));
      },
    ),
    { numRuns: 1000, seed: 7 },
  );
  t.ok(agreed > 100, `${agreed} forms were read by both`);
});

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
