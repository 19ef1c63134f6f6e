import t from "tap";
import { openParsed, sealParsed } from "../../../../shared/config/kept/seal-parsed.js";

const file = Buffer.from("providers: { openai: { api_key: literal-secret } }\n");
const reader = { program: Buffer.from("program"), runtime: "v20.19.0" };
const parsed = {
  document: { providers: { openai: { api_key: "literal-secret" } } },
  rules: [
    {
      scope: "user_path",
      subject: "/team",
      periodSeconds: 60,
      maxRequests: 1,
      maxTokens: null,
      perChild: false,
    },
  ],
  declaredAt: [1003],
  budgetsAt: [],
} as const;

t.test("what is sealed opens with the same file and the same program", (t) => {
  t.strictSame(openParsed(sealParsed(parsed, file, reader)!, file, reader), parsed);
  t.end();
});

t.test("another file, program or runtime doesn't open it, and neither does a damaged one", (t) => {
  const sealed = sealParsed(parsed, file, reader)!;
  t.equal(openParsed(sealed, Buffer.from(`${file}#`), reader), null);
  t.equal(openParsed(sealed, file, { ...reader, program: Buffer.from("programs") }), null);
  t.equal(openParsed(sealed, file, { ...reader, runtime: "v24.0.0" }), null);
  for (let i = 0; i < sealed.length; i++) {
    const damaged = Buffer.from(sealed);
    damaged[i]! ^= 1;
    t.equal(openParsed(damaged, file, reader), null, `byte ${i}`);
  }
  for (const length of [0, 1, 27, 28, 29, sealed.length - 1])
    t.equal(openParsed(sealed.subarray(0, length), file, reader), null, `${length} bytes`);
  t.equal(openParsed(Buffer.concat([sealed, Buffer.of(0)]), file, reader), null);
  t.end();
});

t.test("nothing of it can be read in it", (t) => {
  const bytes = sealParsed(parsed, file, reader)!.toString("latin1");
  t.notMatch(bytes, /literal|secret|openai|team/);
  t.end();
});

t.test("a document that wouldn't come back as it was isn't sealed", (t) => {
  for (const value of [NaN, Infinity, -Infinity, -0, undefined])
    t.equal(
      sealParsed({ document: { value }, rules: [], declaredAt: [], budgetsAt: [] }, file, reader),
      null,
      String(value),
    );
  const named = JSON.parse('{ "__proto__": 1, "constructor": null }') as unknown;
  const sealed = sealParsed(
    { document: named, rules: [], declaredAt: [], budgetsAt: [] },
    file,
    reader,
  )!;
  t.strictSame(openParsed(sealed, file, reader)!.document, named);
  t.end();
});
