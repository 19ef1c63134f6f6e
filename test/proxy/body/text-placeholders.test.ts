import t from "tap";
import { outlineOf, shortStringBytes } from "../../../proxy/body/count-values.js";
import { parseObjectExactly } from "../../../proxy/body/exact-json.js";
import { withPlaceholders } from "../../../proxy/body/text-placeholders.js";

const long = (beginning: string): string => beginning.padEnd(shortStringBytes + 10, 'é\n"\\z');

const conversation = {
  model: "m",
  system: long("A system prompt is read"),
  tools: [{ name: "t", description: long("and so is a tool") }],
  messages: [
    { role: "user", content: long("A text of a turn") },
    { role: "assistant", content: null, tool_calls: [{ function: { arguments: long("{input") } }] },
    { role: "tool", content: [{ type: "text", text: long("Text of a part, 日本語") }] },
    {
      role: "user",
      content: [
        { type: "tool_result", content: long("A tool's result") },
        { type: "tool_result", content: [{ type: "text", text: long("A part of one") }] },
        { type: "tool_use", input: { content: long("A file that is written") } },
        { type: "image", source: { data: long("aGVsbG8gd29ybGQ=") } },
      ],
    },
    { role: "user", content: long("") },
    { role: "user", content: long("\n\n after an escape") },
    { role: "user", content: long(" ".repeat(500)) },
    { role: "user", content: long("The last turn") },
  ],
};

const bodyOf = (value: object): Buffer => Buffer.from(JSON.stringify(value));

t.test("texts of turns but the last become placeholders, and come back as they were", async (t) => {
  const bytes = bodyOf(conversation);
  const body = withPlaceholders(outlineOf(bytes, false))!;
  t.strictSame(JSON.parse(body.fill(body.fields).bytes.toString()), conversation);
  const shown = JSON.stringify(body.fields);
  const marks = shown.match(/\\u0000\\u0000\d+\\u0000/g);
  t.equal(marks?.length, 4);
  t.ok(shown.length < bytes.length / 1.5);
});

t.test("texts may be joined, moved and left out", async (t) => {
  const body = withPlaceholders(outlineOf(bodyOf(conversation), false))!;
  const { messages } = body.fields as { messages: { content: string }[] };
  const translated = { all: [`${messages[0]!.content}\n\n${messages[0]!.content}`, "end"] };
  const text = conversation.messages[0]!.content as string;
  t.strictSame(JSON.parse(body.fill(translated).bytes.toString()), {
    all: [`${text}\n\n${text}`, "end"],
  });
});

t.test("bytes stay as the client wrote them", async (t) => {
  const text = `Escapes \\/ \\u00e9 é ${"x".repeat(shortStringBytes)} \\ud83d`;
  const last = '{"role":"user","content":"hi"}';
  const bytes = Buffer.from(`{"messages":[{"role":"user","content":"${text}"},${last}]}`);
  const body = withPlaceholders(outlineOf(bytes, false))!;
  t.equal(body.fill(body.fields).bytes.toString(), bytes.toString());
});

t.test("a body that uses the mark is read whole, and so is one without long texts", async (t) => {
  const turns = (content: string): object => ({
    messages: [{ content }, { content: long("A long text") }, { content: "end" }],
  });
  for (const text of ["\u0000\u00000\u0000", long("\u0000\u00000\u0000")])
    t.equal(withPlaceholders(outlineOf(bodyOf(turns(text)), false)), null);
  t.equal(withPlaceholders(outlineOf(bodyOf({ messages: [{ content: "a" }, {}] }), false)), null);
  const once = withPlaceholders(outlineOf(bodyOf(turns("\u0000")), false))!;
  t.strictSame(JSON.parse(once.fill(once.fields).bytes.toString()), turns("\u0000"));
});

t.test("numbers that JavaScript can't hold stay as they are", async (t) => {
  const content = JSON.stringify(long("A long text"));
  const id = "12345678901234567890";
  const bytes = Buffer.from(
    `{"messages":[{"content":${content},"input":{"id":${id}}},{"content":""}],"model":"m"}`,
  );
  const body = withPlaceholders(outlineOf(bytes, false))!;
  t.equal(body.fill(body.fields).bytes.toString(), bytes.toString());
  t.equal(JSON.stringify(parseObjectExactly(bytes)).includes(id), true);
});
