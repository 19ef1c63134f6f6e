import t from "tap";
import { PeekedBody } from "../../../proxy/body/peeked-body.js";
import { peekedBodyBytesMax } from "../../../shared/bounds.js";

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
      ["no type", "", "", ['{"model":"m"}'], "", 0],
    ] as const;
    for (const [name, type, encoding, texts, model, asked] of table) {
      const source = pieces(...texts);
      const body = new PeekedBody(source.coming, null);
      t.equal(await body.model(type, encoding), model, name);
      t.equal(source.asked(), asked, `${name}: pieces read`);
      t.equal(await whole(body), texts.join(""));
      t.equal(body.bytes, Buffer.byteLength(texts.join("")));
    }
  },
);

t.test("no more than the bound is read ahead", async (t) => {
  const half = "x".repeat(peekedBodyBytesMax / 2);
  const source = pieces(`{"messages":"${half}`, half, half, '","model":"m"}');
  const body = new PeekedBody(source.coming, null);
  t.equal(await body.model(json, ""), "");
  t.equal(source.asked(), 2);
  t.equal((await whole(body)).length, 3 * half.length + 27);
});

t.test("a body that has come to its announced end is complete", async (t) => {
  for (const texts of [['{"model":"m"}'], ['{"mod', 'el":"m"}']]) {
    const text = texts.join("");
    const source = pieces(...texts);
    const body = new PeekedBody(source.coming, text.length);
    t.equal(body.complete, null, "nothing was read");
    t.equal(await body.model(json, ""), "m");
    t.equal(source.asked(), texts.length + 1, "the end too");
    t.equal(body.complete?.toString(), text);
    t.equal(await whole(body), text);
  }
});

t.test("a body that isn't complete is passed on in pieces", async (t) => {
  const body = new PeekedBody(pieces('{"model":"m"', "}").coming, 13);
  t.equal(await body.model(json, ""), "m");
  t.equal(body.complete, null);
});

t.test("an error while reading goes to the reader", async (t) => {
  const broken = async function* (): AsyncGenerator<Buffer> {
    yield Buffer.from("{");
    throw new Error("gone");
  };
  await t.rejects(new PeekedBody(broken(), null).model(json, ""), { message: "gone" });
  await t.rejects(whole(new PeekedBody(broken(), null)), { message: "gone" });
});
