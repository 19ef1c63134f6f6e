import t from "tap";
import { PeekedBody } from "../../../../proxy/body/passed/peeked-body.js";
import type { HeldPieces } from "../../../../proxy/capacity/memory-ledger.js";
import { peekedBodyBytesMax } from "../../../../shared/bounds.js";

/** Pieces that count how many were read; one more than there are is their end. */
function pieces(...texts: readonly string[]): {
  readonly coming: AsyncIterable<Buffer>;
  readonly asked: () => number;
} {
  let asked = 0;
  return {
    asked: () => asked,
    coming: {
      async *[Symbol.asyncIterator]() {
        for (const text of texts) {
          asked++;
          yield Buffer.from(text);
        }
        asked++;
      },
    },
  };
}

async function whole(body: PeekedBody): Promise<string> {
  const read: Buffer[] = [];
  for await (const piece of body.pieces()) read.push(piece);
  return Buffer.concat(read).toString();
}

const json = "application/json; charset=utf-8";

const bodyOf = (
  coming: Buffer | AsyncIterable<Buffer>,
  announced: number | null = null,
  memory: HeldPieces = { hold: () => true, release: () => {} },
): PeekedBody =>
  new PeekedBody(coming, {
    bytesAnnounced: announced,
    memory,
    noMemory: () => new Error("no memory"),
    refused: (problem) => new Error(`refused: ${problem}`),
  });

/** The model, or what is wrong with it. */
async function modelIn(
  body: PeekedBody,
  {
    contentType = json,
    contentEncoding = "",
    requiredWithin = null,
  }: Partial<Parameters<PeekedBody["model"]>[0]> = {},
): Promise<string> {
  const named = await body.model({ contentType, contentEncoding, requiredWithin });
  return named.ok ? named.model : `problem: ${named.problem}`;
}

t.test(
  "the model is found by reading as little as possible, and then all of the body is passed on",
  async (t) => {
    const form = (name: string, value: string): string =>
      `--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`;
    const multipart = "multipart/form-data; boundary=b";
    const table = [
      ["JSON, at once", json, "", ['{"model":"m",', '"x":1}'], "m", 1],
      ["JSON, in pieces", json, "", ['{"mo', 'del":"', 'm"', ',"x":1}'], "m", 3],
      ["JSON without one", json, "", ["{", "}"], "", 2],
      ["JSON of a kind", "application/merge-patch+json", "", ['{"model":"m"}'], "m", 1],
      ["a form", multipart, "", [form("model", "m"), form("file", "x"), "--b--"], "m", 2],
      ["a form without one", multipart, "", [form("file", "x"), "--b--", "\r\n"], "", 2],
      ["compressed", json, "gzip", ["\u001f\u008b", "x"], "", 0],
      ["anything else", "application/octet-stream", "", ['{"model":"m"}'], "", 0],
      ["its own size, said twice", json, "Identity", ['{"model":"m"}'], "m", 1],
      ["no type", "", "", ['{"model":"m"}'], "", 0],
    ] as const;
    for (const [name, type, encoding, texts, model, asked] of table) {
      const source = pieces(...texts);
      const body = bodyOf(source.coming);
      t.equal(await modelIn(body, { contentType: type, contentEncoding: encoding }), model, name);
      t.equal(source.asked(), asked, `${name}: pieces read`);
      t.equal(await whole(body), texts.join(""));
      t.equal(body.bytes, Buffer.byteLength(texts.join("")));
    }
  },
);

t.test("no more than the bound is read ahead", async (t) => {
  const half = "x".repeat(peekedBodyBytesMax / 2);
  const source = pieces(`{"messages":"${half}`, half, half, '","model":"m"}');
  const body = bodyOf(source.coming);
  t.equal(await modelIn(body), "");
  t.equal(source.asked(), 2);
  t.equal((await whole(body)).length, 3 * half.length + 27);
});

t.test("a body that has come to its announced end is complete", async (t) => {
  for (const texts of [['{"model":"m"}'], ['{"mod', 'el":"m"}']]) {
    const text = texts.join("");
    const source = pieces(...texts);
    const body = bodyOf(source.coming, text.length);
    t.equal(body.complete, null, "nothing was read");
    t.equal(await modelIn(body), "m");
    t.equal(source.asked(), texts.length + 1, "the end too");
    t.equal(body.complete?.toString(), text);
    t.equal(await whole(body), text);
  }
});

t.test("a body that is there as a whole is complete, and all of it is searched", async (t) => {
  for (const [text, model] of [
    ['{"model":"m"}', "m"],
    ["{}", ""],
    ['{"model":"m","model":"n"}', "problem: model is given more than once"],
  ] as const) {
    const bytes = Buffer.from(text);
    const body = bodyOf(bytes, bytes.length);
    t.equal(await modelIn(body), model);
    t.equal(body.complete, bytes);
    t.equal(body.bytes, bytes.length);
  }
});

t.test("a body that isn't complete is passed on in pieces", async (t) => {
  const body = bodyOf(pieces('{"model":"m"', "}").coming, 13);
  t.equal(await modelIn(body), "m");
  t.equal(body.complete, null);
});

t.test("what is read ahead takes memory until it is passed on, or is refused", async (t) => {
  let held = 0;
  const memory = (max: number): HeldPieces => ({
    hold(bytes) {
      if (held + bytes > max) return false;
      held += bytes;
      return true;
    },
    release(bytes) {
      held -= bytes;
    },
  });
  const texts = ['{"mo', 'del":"', 'm"', ',"x":1}'];
  const body = bodyOf(pieces(...texts).coming, null, memory(100));
  t.equal(await modelIn(body), "m");
  t.equal(held, 12);
  t.equal(await whole(body), texts.join(""));
  t.equal(held, 0);
  await t.rejects(modelIn(bodyOf(pieces(...texts).coming, null, memory(5))), /no memory/);
});

t.test("an error while reading goes to the reader", async (t) => {
  const broken = async function* (): AsyncGenerator<Buffer> {
    yield Buffer.from("{");
    throw new Error("gone");
  };
  await t.rejects(modelIn(bodyOf(broken())), { message: "gone" });
  await t.rejects(whole(bodyOf(broken())), { message: "gone" });
});

t.test("where a model is required, a body that hides it is refused", async (t) => {
  const form = (value: string): string =>
    `--b\r\ncontent-disposition: form-data; name="model"\r\n\r\n${value}\r\n`;
  const multipart = "multipart/form-data; boundary=b";
  const utf16 = Buffer.from('{"model":"m"}', "utf16le").toString("latin1");
  const late = `{"messages":"${"x".repeat(2 * peekedBodyBytesMax)}","model":"m"}`;
  const table: readonly (readonly [
    name: string,
    type: string,
    encoding: string,
    texts: readonly string[],
    found: string,
  ])[] = [
    ["plain", json, "", ['{"model":"m"}'], "m"],
    ["whatever the type says", "text/plain", "", ['{"model":"m"}'], "m"],
    ["no type", "", "", ['{"model":"m"}'], "m"],
    ["behind the first megabyte", json, "", [late], "m"],
    ["twice", json, "", ['{"model":"m","model":"n"}'], "problem: model is given more than once"],
    [
      "twice, the same",
      json,
      "",
      ['{"model":"m","model":"m"}'],
      "problem: model is given more than once",
    ],
    [
      "in other letters",
      json,
      "",
      ['{"model":"m","MODEL":"n"}'],
      "problem: model is given more than once",
    ],
    [
      "with an escape",
      json,
      "",
      ['{"model":"m","\\u006dodel":"n"}'],
      "problem: model is given more than once",
    ],
    [
      "twice in a form",
      multipart,
      "",
      [form("m"), form("n"), "--b--"],
      "problem: model is given more than once",
    ],
    [
      "compressed",
      json,
      "gzip",
      ["\u001f\u008b"],
      "problem: the body must not be compressed: its model can't be read",
    ],
    [
      "compressed, they say",
      json,
      "identity, br",
      ["x"],
      "problem: the body must not be compressed: its model can't be read",
    ],
    ["none", json, "", ["{}"], "problem: model is required"],
    ["no text", json, "", ['{"model":7}'], "problem: model is required"],
    ["no JSON", json, "", ["model=m"], "problem: model is required"],
    ["nothing", json, "", [], "problem: model is required"],
    ["in two bytes for each letter", json, "", [utf16], "problem: model is required"],
    ["a form without one", multipart, "", ["--b--"], "problem: model is required"],
    ["with a byte order mark", json, "", ['\ufeff{"model":"m"}'], "m"],
    ["in a comment", json, "", ['{"model":"m" /* , */ }'], "problem: the body must be JSON"],
    ["two values", json, "", ['{"model":"m" "n"}'], "problem: the body must be JSON"],
    [
      "before a form",
      "multipart/mixed; boundary=b",
      "",
      [`{"model":"m"}\r\n${form("n")}--b--`],
      "problem: content-type must name one boundary: the form can't be read",
    ],
    [
      "in a form with two boundaries",
      `${multipart}; boundary=c`,
      "",
      [form("m"), "--b--"],
      "problem: content-type must name one boundary: the form can't be read",
    ],
    [
      "in a form with another framing",
      multipart,
      "",
      [form("m"), "--b\ncontent-disposition: form-data; name=model\n\nn\n--b--"],
      "problem: the body is not a readable form: its boundary is followed by something else than the end of the line",
    ],
  ];
  for (const [name, contentType, contentEncoding, texts, found] of table)
    t.equal(
      await modelIn(bodyOf(pieces(...texts).coming), {
        contentType,
        contentEncoding,
        requiredWithin: 4 * peekedBodyBytesMax,
      }),
      found,
      name,
    );
  t.equal(
    await modelIn(bodyOf(pieces("{", " ".repeat(100), '"model":"m"}').coming), {
      requiredWithin: 50,
    }),
    "problem: model is required within the first 50 bytes of the body",
  );
});

t.test("a second model that comes while the body passes is not passed on", async (t) => {
  for (const requiredWithin of [null, 1000]) {
    const body = bodyOf(pieces('{"model":"cheap","x":[', "1,2", '],"model":"dear"', "}").coming);
    t.equal(await modelIn(body, { requiredWithin }), "cheap");
    const passed: string[] = [];
    await t.rejects(
      async () => {
        for await (const piece of body.pieces()) passed.push(piece.toString());
      },
      { message: "refused: model is given more than once" },
    );
    t.same(passed, ['{"model":"cheap","x":[', "1,2"]);
  }
});

t.test("a form that becomes doubtful while it passes isn't passed on", async (t) => {
  const body = bodyOf(
    pieces(
      '--b\r\ncontent-disposition: form-data; name="model"\r\n\r\ncheap\r\n--b\r\n',
      'content-disposition: form-data; name="Model"\r\n\r\ndear\r\n--b--',
    ).coming,
  );
  t.equal(await modelIn(body, { contentType: "multipart/form-data; boundary=b" }), "cheap");
  await t.rejects(whole(body), {
    message:
      'refused: the body is not a readable form: "Model" is given: the field is called model',
  });
});
