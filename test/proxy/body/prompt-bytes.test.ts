import t from "tap";
import { promptBytes } from "../../../proxy/body/prompt-bytes.js";

const file = Buffer.alloc(1_000_000, "any bytes?>").toString("base64");
const rest = (body: object): number => promptBytes(Buffer.from(JSON.stringify(body)));

t.test("a file in a prompt counts as a picture does, in every dialect", async (t) => {
  const written = [
    (data: string) => ({
      messages: [
        { content: [{ type: "image_url", image_url: { url: `data:image/png;base64,${data}` } }] },
      ],
    }),
    (data: string) => ({
      messages: [
        { content: [{ type: "image", source: { type: "base64", media_type: "image/png", data } }] },
      ],
    }),
    (data: string) => ({
      input: [
        {
          content: [
            { type: "input_file", file_data: data.replaceAll("+", "-").replaceAll("/", "_") },
          ],
        },
      ],
    }),
  ];
  for (const body of written) t.ok(Math.abs(rest(body(file)) - rest(body("")) - 6000) < 50);
  const withSlashes = file.replaceAll("/", "\\/");
  const escaped = `{"url":"data:image\\/png;base64,${withSlashes}","data" : "${file}"}`;
  t.equal(promptBytes(Buffer.from(escaped)), 2 * 6000 + '{"url":"","data" : ""}'.length);
});

t.test("text counts with all its bytes, however long it is", async (t) => {
  for (const content of [
    "",
    "short",
    "word ".repeat(10_000),
    "日本語".repeat(10_000),
    'a "quoted" word, '.repeat(10_000),
    `${"x".repeat(9000)}.`,
    "x".repeat(20_000),
    `"url":"${"x".repeat(20_000)}`,
  ]) {
    const body = JSON.stringify({ model: "m", messages: [{ role: "user", content }] });
    t.equal(promptBytes(Buffer.from(body)), Buffer.byteLength(body), content.slice(0, 10));
  }
});

t.test("many quotes, and none, take no longer than reading the text", async (t) => {
  for (const body of [`[${'"",'.repeat(1_000_000)}""]`, `[${" ".repeat(1_000_000)}]`])
    t.equal(promptBytes(Buffer.from(body)), body.length);
});
