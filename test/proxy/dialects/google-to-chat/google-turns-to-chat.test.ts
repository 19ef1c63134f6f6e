import t from "tap";
import { keptAsSignature } from "../../../../proxy/dialects/shared/kept-reasoning.js";
import type { JsonObject } from "../../../../proxy/dialects/shared/translation.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { refusal, translated } from "./translate-google-request.js";

const messagesOf = (contents: readonly JsonObject[], more: JsonObject = {}): unknown =>
  translated({ contents, ...more }).chat["messages"];
const called = (id: string, name: string, input: string, more: JsonObject = {}): JsonObject => ({
  id,
  type: "function",
  function: { name, arguments: input },
  ...more,
});
const call = (name: string, args: JsonObject, id?: string): JsonObject => ({
  functionCall: { name, args, ...(id === undefined ? {} : { id }) },
});
const result = (name: string, response: JsonObject, id?: string): JsonObject => ({
  functionResponse: { name, response, ...(id === undefined ? {} : { id }) },
});

t.test("texts, images, files and the system instruction", async (t) => {
  const parts = [
    { text: "look" },
    { text: "" },
    { inline_data: { mime_type: "image/png", data: "-_8=" } },
    { inlineData: { mimeType: "application/pdf", data: "AAAA", displayName: "a.pdf" } },
    { inlineData: { mimeType: "text/csv", data: "AAAA" } },
    { inlineData: { mimeType: "audio/mp3", data: "AAAA" } },
    { fileData: { fileUri: "https://example.com/a.jpg", mimeType: "image/jpeg" } },
  ];
  const expected = [
    { role: "system", content: "be brief\nand kind" },
    {
      role: "user",
      content: [
        { type: "text", text: "look" },
        { type: "image_url", image_url: { url: "data:image/png;base64,+/8=" } },
        {
          type: "file",
          file: { filename: "a.pdf", file_data: "data:application/pdf;base64,AAAA" },
        },
        {
          type: "file",
          file: { filename: "document.txt", file_data: "data:text/plain;base64,AAAA" },
        },
        { type: "input_audio", input_audio: { data: "AAAA", format: "mp3" } },
        { type: "image_url", image_url: { url: "https://example.com/a.jpg" } },
      ],
    },
  ];
  const systemInstruction = { parts: [{ text: "be brief" }, { text: "and kind" }] };
  t.strictSame(messagesOf([{ parts }], { systemInstruction }), expected);
  t.strictSame(messagesOf([{ parts: { text: "hi" } }], { system_instruction: "be brief" }), [
    { role: "system", content: "be brief" },
    { role: "user", content: "hi" },
  ]);
  for (const [part, message] of [
    [{ inlineData: { mimeType: "video/mp4", data: "AAAA" } }, /inlineData.mimeType must be of an/],
    [
      {
        fileData: {
          fileUri: "https://generativelanguage.googleapis.com/v1beta/files/a",
          mimeType: "image/png",
        },
      },
      /fileData.fileUri must be .* no access to Google's files/,
    ],
    [{ inlineData: { data: "AAAA" } }, /inlineData.mimeType is required/],
  ] as const)
    t.match(refusal({ contents: [{ parts: [part] }] }), message);
});

t.test("a result finds its call by its id, else by its name and place", async (t) => {
  const cases: readonly (readonly [
    calls: readonly JsonObject[],
    results: readonly JsonObject[],
    ids: readonly string[],
    answered: readonly (readonly [string, string])[],
  ])[] = [
    [
      [call("f", {}, "a"), call("f", {}, "b")],
      [result("f", { output: "B" }, "b"), result("f", { output: "A" }, "a")],
      ["a", "b"],
      [
        ["b", "B"],
        ["a", "A"],
      ],
    ],
    [
      [call("f", {}), call("g", {}), call("f", {})],
      [result("g", { output: "1" }), result("f", { output: "2" }), result("f", { output: "3" })],
      ["call_0", "call_1", "call_2"],
      [
        ["call_1", "1"],
        ["call_0", "2"],
        ["call_2", "3"],
      ],
    ],
    [
      [call("f", {}, "x"), call("g", {}, "x")],
      [result("f", { output: "1" }, "x"), result("g", { output: "2" }, "x")],
      ["x", "call_1"],
      [
        ["x", "1"],
        ["call_1", "2"],
      ],
    ],
    [[call("f", {})], [result("f", { output: "1" }, "made")], ["call_0"], [["call_0", "1"]]],
    [[call("f", {}, "a")], [result("f", { output: "1" })], ["a"], [["a", "1"]]],
  ];
  for (const [calls, results, ids, answered] of cases) {
    const [assistant, ...others] = messagesOf([
      { role: "model", parts: calls },
      { role: "user", parts: results },
    ]) as [{ tool_calls: { id: string }[] }, ...Record<string, string>[]];
    t.strictSame(
      assistant.tool_calls.map(({ id }) => id),
      ids,
    );
    t.strictSame(
      others.map(({ role, tool_call_id: id, content }) => [role, id, content]),
      answered.map(([id, content]) => ["tool", id, content]),
    );
  }
  for (const contents of [
    [{ parts: [result("f", {})] }],
    [{ role: "model", parts: [call("g", {})] }, { parts: [result("f", {})] }],
    [{ role: "model", parts: [call("f", {}, "a")] }, { parts: [result("f", {}, "b")] }],
    [{ role: "model", parts: [call("f", {})] }, { parts: [result("f", {}), result("f", {})] }],
  ])
    t.match(refusal({ contents }), /functionResponse must answer a call of the content before it/);
  const repeated = [
    { role: "model", parts: [call("f", {}, "a")] },
    { parts: [result("f", { output: "1" }, "a"), result("f", { output: "1" }, "a")] },
  ];
  t.match(messagesOf(repeated), exactly([{ role: "assistant" }, { role: "tool", content: "1" }]));
  t.equal((messagesOf(repeated) as unknown[]).length, 2);
  t.strictSame(translated({ contents: repeated }).dropped, ["contents[].parts[].functionResponse"]);
});

t.test("contents of one role are one turn, with the results before all else", async (t) => {
  t.strictSame(
    messagesOf([
      { role: "user", parts: [{ text: "go" }] },
      { role: "model", parts: [{ text: "well" }] },
      { role: "model", parts: [call("a.b", { n: 1 }, "x")] },
      { role: "user", parts: [{ text: "and hurry" }] },
      {
        role: "function",
        parts: [
          {
            functionResponse: {
              id: "x",
              name: "a.b",
              response: { found: 1 },
              parts: [{ inlineData: { mimeType: "image/png", data: "AAAA" } }],
            },
          },
        ],
      },
      { role: "model", parts: [{ executableCode: { code: "1" } }, { text: "done" }] },
      { role: "user", parts: [{ text: "?" }] },
    ]),
    [
      { role: "user", content: "go" },
      {
        role: "assistant",
        content: "well",
        tool_calls: [called("x", "a_b_108bf50c", '{"n":1}')],
      },
      { role: "tool", tool_call_id: "x", content: '{"found":1}' },
      {
        role: "user",
        content: [
          { type: "text", text: "Part of the result of the tool call x:" },
          { type: "image_url", image_url: { url: "data:image/png;base64,AAAA" } },
          { type: "text", text: "and hurry" },
        ],
      },
      { role: "assistant", content: "done" },
      { role: "user", content: "?" },
    ],
  );
  const failing = [
    { role: "model", parts: [call("f", {}, "a")] },
    { parts: [result("f", { error: "no" }, "a")] },
  ];
  t.match(messagesOf(failing), exactly([{}, { role: "tool", content: "Error: no" }]));
});

t.test("what the model thought comes back from its signature", async (t) => {
  const block = { type: "thinking", thinking: "let me see", signature: "c2ln" };
  const ours = keptAsSignature({ text: "", blocks: [block] });
  const urls = ours.replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  const toolCalls = [called("a", "f", "{}")];
  const cases: readonly (readonly [string, readonly JsonObject[], JsonObject])[] = [
    [
      "of a call, which is complete",
      [
        { thought: true, text: "a summary" },
        { ...call("f", {}, "a"), thoughtSignature: ours },
      ],
      { reasoning_content: "let me see", thinking_blocks: [block], tool_calls: toolCalls },
    ],
    [
      "in the alphabet of URLs",
      [{ ...call("f", {}, "a"), thought_signature: urls }],
      { reasoning_content: "let me see", thinking_blocks: [block], tool_calls: toolCalls },
    ],
    [
      "of a thought",
      [{ thought: true, text: "", thoughtSignature: ours }, { text: "so" }],
      { content: "so", reasoning_content: "let me see", thinking_blocks: [block] },
    ],
    [
      "of Gemini's own, which only its hosts read",
      [
        { thought: true, text: "hm" },
        { ...call("f", {}, "a"), thoughtSignature: "CvcB" },
      ],
      {
        reasoning_content: "hm",
        tool_calls: [{ ...toolCalls[0], extra_content: { google: { thought_signature: "CvcB" } } }],
      },
    ],
  ];
  for (const [name, parts, expected] of cases)
    t.strictSame(
      messagesOf([{ parts: [{ text: "hi" }] }, { role: "model", parts }]),
      [
        { role: "user", content: "hi" },
        { role: "assistant", content: null, ...expected },
      ],
      name,
    );
});
