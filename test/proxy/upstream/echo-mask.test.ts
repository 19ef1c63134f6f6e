import t from "tap";
import {
  echoedSecretCharsMin,
  echoedSecrets,
  maskSecrets,
} from "../../../proxy/upstream/echo-mask.js";
import type { UpstreamSink } from "../../../proxy/upstream/upstream.js";
import { createRandom } from "../../sim/random.js";

const key = "sk-test-0123456789abcdefs";
const hidden = "[redacted]".padEnd(key.length, "*");

/** What comes out of an answer that comes in these pieces. */
function passed(pieces: readonly string[], secrets = echoedSecrets(key, []), status = 200) {
  const out: string[] = [];
  const sink: UpstreamSink = {
    onHead: (code, headers) => void out.push(`${code} ${headers.join("|")}`),
    onData: (chunk) => void out.push(chunk.toString("latin1")),
    onEnd() {},
    onFailure() {},
    onBug() {},
  };
  const into = maskSecrets(sink, secrets, 299);
  into.onHead(status, []);
  for (const piece of pieces) into.onData(Buffer.from(piece, "latin1"));
  into.onEnd();
  return { out: out.slice(1), text: out.slice(1).join(""), sink };
}

t.test("what is looked for are keys and the operator's secrets, not words", async (t) => {
  const found = (of: string | null, own: readonly string[]): string[] =>
    echoedSecrets(of, own).map(String);
  t.same(found(key, []), [key]);
  t.same(found(null, []), []);
  t.same(found("dummy", []), []);
  t.same(found("x".repeat(echoedSecretCharsMin), []), ["x".repeat(echoedSecretCharsMin)]);
  t.same(found("x".repeat(echoedSecretCharsMin - 1), []), []);
  t.same(
    found(key, [
      "http-referer",
      "https://example.com/of/the/operator",
      "Authorization",
      "Bearer another-secret-of-it",
      "x-gateway-token",
      "token-of-the-gateway",
      "x-api-key",
      key,
    ]),
    ["another-secret-of-it", "token-of-the-gateway", key],
  );
  const { sink } = passed([]);
  t.equal(maskSecrets(sink, [], 299), sink, "nothing stands between");
});

t.test("a credential is taken out wherever an answer is cut, and all else passes", async (t) => {
  const text = `a ${key} b sk-test-0123456789abcde ${key}${key} s sk-`;
  const clean = `a ${hidden} b sk-test-0123456789abcde ${hidden}${hidden} s sk-`;
  for (let cut = 0; cut <= text.length; cut++)
    for (const pieces of [
      [text.slice(0, cut), text.slice(cut)],
      [text.slice(0, cut), text.slice(cut, cut + 1), text.slice(cut + 1)],
      [text.slice(0, cut), text.slice(cut, cut + 7), text.slice(cut + 7)],
    ]) {
      const { text: out } = passed(pieces);
      t.equal(out.length, text.length);
      t.notOk(out.includes("sk-test-0123456789abcdefs"));
      t.match(
        out.replace(/\bsk?-?t?e?s?t?(?=\[redacted\]\*)/g, ""),
        /^a \[redacted\]\*+ b sk-test-/,
      );
    }
  t.equal(
    passed([...text]).text,
    clean.replaceAll(hidden, "sk-test[redacted]".padEnd(key.length, "*")),
    "byte by byte its first seven pass",
  );
  const random = createRandom(1);
  for (let round = 0; round < 300; round++) {
    // Of few letters, so that beginnings of it are everywhere.
    const secret = Array.from({ length: 17 }, () => random.pick(["a", "b"])).join("");
    let whole = "";
    while (whole.length < 200)
      whole += random.chance(0.2) ? secret : random.pick(["a", "b", secret.slice(0, 9)]);
    const pieces: string[] = [];
    for (let at = 0; at < whole.length; ) {
      const length = random.int(1, 30);
      pieces.push(whole.slice(at, at + length));
      at += length;
    }
    const { text: out } = passed(pieces, echoedSecrets(secret, []));
    if (out.length !== whole.length || out.includes(secret)) t.fail(`${secret} in ${whole}`);
  }
});

t.test("nothing waits that isn't enough of a credential", async (t) => {
  t.same(passed(["data: hello\n\n", "data: sk-test", "ing\n\n"]).out, [
    "data: hello\n\n",
    "data: sk-test",
    "ing\n\n",
  ]);
  t.same(passed(["x sk-test-", "y"]).out, ["x ", "sk-test-y"]);
  t.same(passed(["x sk-te", "st-", "y"]).out, ["x sk-te", "st-y"]);
  t.same(passed(["x sk-te", "st-01"]).out, ["x sk-te", "st-01"], "at the end it passes");
});

t.test("an error passes as it is, a failure comes behind what was held", async (t) => {
  t.equal(passed([`no ${key}`], undefined, 400).text, `no ${key}`);
  const out: string[] = [];
  const sink = {
    onHead() {},
    onData: (chunk: Buffer) => out.push(String(chunk)),
    onFailure: ({ reason }: { reason: string }) => out.push(reason),
    onBug: (error: unknown) => out.push(String(error)),
  };
  const into = maskSecrets(sink as unknown as UpstreamSink, echoedSecrets(key, []), 299);
  into.onHead(200, []);
  into.onData(Buffer.from("x sk-test-"));
  into.onFailure({ kind: "broken", reason: "cut" });
  into.onBug("bug");
  t.same(out, ["x ", "sk-test-", "cut", "bug"]);
});

t.test("a header with a credential is cleaned, whatever the status", async (t) => {
  for (const status of [200, 400]) {
    const heads: unknown[] = [];
    const sink = { onHead: (_: number, headers: unknown) => heads.push(headers) };
    const into = maskSecrets(sink as unknown as UpstreamSink, echoedSecrets(key, []), 299);
    const plain = ["a", "short", "b", "x".repeat(80)];
    into.onHead(status, plain);
    t.equal(heads[0], plain, "not copied");
    const buffers = [Buffer.from("x-echo"), Buffer.from(`Bearer ${key}`)];
    into.onHead(status, [...buffers, "y", `${key}, ${key}`]);
    t.same((heads[1] as unknown[]).map(String), [
      "x-echo",
      `Bearer ${hidden}`,
      "y",
      `${hidden}, ${hidden}`,
    ]);
    t.equal(buffers[1]!.toString(), `Bearer ${key}`, "the bytes may be somebody else's too");
  }
});
