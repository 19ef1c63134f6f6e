import t from "tap";
import { chatToMessages } from "../../../../proxy/dialects/choose-dialect.js";
import { jsonDepthMax } from "../../../../shared/bounds.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { options } from "../request-options.js";
import { base, hello, refusal, translated } from "./translate-chat-request.js";

t.test("messages become turns of the user and the assistant", async (t) => {
  const text = (content: string): object => ({ type: "text", text: content });
  const call = (id: string): object => ({
    id,
    type: "function",
    index: 0,
    function: { name: "now", arguments: "" },
  });
  const cases: readonly (readonly [string, readonly object[], object])[] = [
    [
      "consecutive messages of one role",
      [
        { role: "user", content: "a" },
        { role: "user", content: [text("b"), text("c")] },
      ],
      { messages: [{ role: "user", content: [text("a"), text("b"), text("c")] }] },
    ],
    [
      "system messages alone",
      [
        { role: "system", content: "a" },
        { role: "developer", content: "b" },
      ],
      { messages: [{ role: "user", content: [text("a"), text("b")] }] },
    ],
    [
      "system messages anywhere in the list",
      [
        { role: "system", content: "a" },
        hello,
        { role: "assistant", content: "b" },
        { role: "developer", content: "c" },
        hello,
      ],
      {
        system: [text("a"), text("c")],
        messages: [
          { role: "user", content: [text("Hello")] },
          { role: "assistant", content: [text("b")] },
          { role: "user", content: [text("Hello")] },
        ],
      },
    ],
    [
      "results of parallel calls, before the user's text",
      [
        hello,
        { role: "assistant", content: null, tool_calls: [call("1"), call("2")] },
        { role: "tool", tool_call_id: "1", content: "" },
        { role: "tool", tool_call_id: "2", name: "now", content: "x" },
        hello,
      ],
      {
        messages: [
          { role: "user", content: [text("Hello")] },
          {
            role: "assistant",
            content: [
              { type: "tool_use", id: "1", name: "now", input: {} },
              { type: "tool_use", id: "2", name: "now", input: {} },
            ],
          },
          {
            role: "user",
            content: [
              { type: "tool_result", tool_use_id: "1" },
              { type: "tool_result", tool_use_id: "2", content: "x" },
              text("Hello"),
            ],
          },
        ],
      },
    ],
    [
      "an empty assistant message",
      [
        hello,
        { role: "assistant", content: "" },
        { role: "assistant", content: "\n\n" },
        { role: "assistant", content: null },
        { role: "user", content: "b" },
      ],
      { messages: [{ role: "user", content: [text("Hello"), text("b")] }] },
    ],
    [
      "a call with another provider's id and signature, and fields that an SDK added, beside a blank text",
      [
        hello,
        {
          role: "assistant",
          content: "\n\n",
          parsed: { a: 1 },
          tool_calls: [
            {
              id: "functions.now:0",
              type: "function",
              function: { name: "now", arguments: "{}", parsed_arguments: { a: 1 } },
              extra_content: { google: { thought_signature: "s" } },
            },
          ],
        },
        { role: "tool", tool_call_id: "functions.now:0", content: "x" },
      ],
      {
        messages: [
          { role: "user", content: [text("Hello")] },
          {
            role: "assistant",
            content: [{ type: "tool_use", id: "functions_now_0", name: "now", input: {} }],
          },
          {
            role: "user",
            content: [{ type: "tool_result", tool_use_id: "functions_now_0", content: "x" }],
          },
        ],
      },
    ],
    [
      "signed and unsigned thinking",
      [
        hello,
        {
          role: "assistant",
          content: "b",
          reasoning_content: "hm",
          thinking_blocks: [
            { type: "thinking", thinking: "hm", signature: "s" },
            { type: "redacted_thinking", data: "d" },
            { type: "thinking", thinking: "x", signature: "" },
          ],
        },
        hello,
      ],
      {
        messages: [
          { role: "user", content: [text("Hello")] },
          {
            role: "assistant",
            content: [
              { type: "thinking", thinking: "hm", signature: "s" },
              { type: "redacted_thinking", data: "d" },
              text("b"),
            ],
          },
          { role: "user", content: [text("Hello")] },
        ],
      },
    ],
    [
      "OpenRouter's details of Claude's thinking, in pieces, and of another model's",
      [
        hello,
        {
          role: "assistant",
          content: "b",
          reasoning_details: [
            { type: "reasoning.text", text: "h", format: "anthropic-claude-v1", index: 0 },
            { type: "reasoning.text", text: "m", format: "anthropic-claude-v1", index: 0 },
            { type: "reasoning.text", signature: "s", format: "anthropic-claude-v1", index: 0 },
            { type: "reasoning.encrypted", data: "d", format: "anthropic-claude-v1", index: 1 },
            { type: "reasoning.encrypted", data: "o", format: "openai-responses-v1", index: 2 },
            { type: "reasoning.text", text: "x", format: "anthropic-claude-v1", index: 3 },
          ],
        },
        hello,
      ],
      {
        messages: [
          { role: "user", content: [text("Hello")] },
          {
            role: "assistant",
            content: [
              { type: "thinking", thinking: "hm", signature: "s" },
              { type: "redacted_thinking", data: "d" },
              text("b"),
            ],
          },
          { role: "user", content: [text("Hello")] },
        ],
      },
    ],
    [
      "reader",
      [
        hello,
        { role: "assistant", content: null, refusal: "I can't." },
        hello,
        { role: "assistant", content: [{ type: "refusal", refusal: "No." }] },
        hello,
      ],
      {
        messages: [
          { role: "user", content: [text("Hello")] },
          { role: "assistant", content: [text("I can't.")] },
          { role: "user", content: [text("Hello")] },
          { role: "assistant", content: [text("No.")] },
          { role: "user", content: [text("Hello")] },
        ],
      },
    ],
    [
      "cache breakpoints",
      [
        {
          role: "system",
          content: [{ type: "text", text: "a", cache_control: { type: "ephemeral" } }],
        },
        {
          role: "user",
          content: [
            { type: "text", text: "b", prompt_cache_breakpoint: { mode: "explicit" } },
            { type: "text", text: "" },
          ],
        },
      ],
      {
        system: [{ type: "text", text: "a", cache_control: { type: "ephemeral" } }],
        messages: [
          { role: "user", content: [{ ...text("b"), cache_control: { type: "ephemeral" } }] },
        ],
      },
    ],
    [
      "documents",
      [
        {
          role: "user",
          content: [
            {
              type: "file",
              file: {
                file_data: "data:text/plain;charset=utf-8;base64,R3LDvMOfZQ==",
                filename: "document.txt",
              },
            },
            { type: "file", file: { file_data: "DATA:application/PDF;base64,JVBERi0=" } },
          ],
        },
      ],
      {
        messages: [
          {
            role: "user",
            content: [
              {
                type: "document",
                source: { type: "text", media_type: "text/plain", data: "Grüße" },
              },
              {
                type: "document",
                source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
              },
            ],
          },
        ],
      },
    ],
  ];
  for (const [name, messages, expected] of cases)
    t.strictSame(
      translated({ model: "m", messages }),
      { model: "m", max_tokens: 4096, ...expected },
      name,
    );
});

t.test("messages and parts without a counterpart at Anthropic are refused by name", async (t) => {
  const provider = "the model's provider speaks Anthropic messages";
  const part = (value: object): object => ({ messages: [{ role: "user", content: [value] }] });
  const tool = (value: object): object => ({
    messages: [hello, { role: "assistant", tool_calls: [value] }],
  });
  const cases: readonly (readonly [object, string, string])[] = [
    [
      { messages: [{ role: "user", content: "a", name: "ann" }] },
      "messages[0].name",
      `messages[0].name must be left out: ${provider}, which has no participant names`,
    ],
    [
      { messages: [{ role: "user", content: "" }] },
      "messages[0].content",
      `messages[0].content must not be empty: ${provider}, which refuses empty messages`,
    ],
    [
      { messages: [{ role: "system", content: "" }] },
      "messages",
      `messages must contain a user message: ${provider}, which requires one`,
    ],
    [
      { messages: [hello, { role: "function", name: "f", content: "" }] },
      "messages[1].role",
      `messages[1].role must be tool: ${provider}, which has tools instead of functions`,
    ],
    [
      { messages: [hello, { role: "assistant", audio: { id: "a" } }] },
      "messages[1].audio",
      `messages[1].audio must be left out: ${provider}, which has no audio`,
    ],
    [
      part({ type: "input_audio", input_audio: { data: "", format: "wav" } }),
      "messages[0].content[0].input_audio",
      `messages[0].content[0].input_audio must be left out: ${provider}, and Sluice can't translate this field`,
    ],
    [
      part({ type: "video_url" }),
      "messages[0].content[0].type",
      `messages[0].content[0].type must be text or image_url or file: ${provider}, which supports nothing else in a message of the role user`,
    ],
    [
      part({ type: "file", file: { file_id: "file-1" } }),
      "messages[0].content[0].file.file_id",
      `messages[0].content[0].file.file_id must be left out: ${provider}, which has no access to OpenAI's files: send \`file_data\``,
    ],
    [
      part({ type: "file", file: { file_data: "data:image/png;base64,AA==" } }),
      "messages[0].content[0].file.file_data",
      `messages[0].content[0].file.file_data must be a data URL of a PDF or of a text: ${provider}, which accepts no other documents`,
    ],
    [
      tool({ id: "1", type: "custom", custom: {} }),
      "messages[1].tool_calls[0].custom",
      `messages[1].tool_calls[0].custom must be left out: ${provider}, and Sluice can't translate this field`,
    ],
  ];
  for (const [more, param, message] of cases)
    t.strictSame(refusal(more), [param, message], JSON.stringify(more));
});

t.test(
  "a call whose arguments a model has written wrongly stays in the conversation, with a word",
  async (t) => {
    for (const text of ['{"a":', "[1]", "a"]) {
      const call = { id: "1", type: "function", function: { name: "f", arguments: text } };
      const messages = [hello, { role: "assistant", tool_calls: [call] }];
      const result = chatToMessages.request({ ...base, messages }, options);
      t.match(
        result,
        exactly({
          ok: true,
          body: { messages: [{}, { content: [{ input: { unreadable_arguments: text } }] }] },
          dropped: ["messages[].tool_calls[].function.arguments"],
        }),
      );
    }
  },
);

t.test("invalid messages and parts are refused by name", async (t) => {
  const part = (value: object): object => ({ messages: [{ role: "user", content: [value] }] });
  const called = (value: unknown): object => ({
    messages: [
      hello,
      {
        role: "assistant",
        tool_calls: [{ id: "1", type: "function", function: { name: "f", arguments: value } }],
      },
    ],
  });
  const argumentsMust = `messages[1].tool_calls[0].function.arguments must be a JSON object as a string, nested at most ${jsonDepthMax} levels deep: the model's provider speaks Anthropic messages, which takes no other input of a call`;
  const deep = `${'{"a":'.repeat(jsonDepthMax + 1)}1${"}".repeat(jsonDepthMax + 1)}`;
  const cases: readonly (readonly [object, string, string])[] = [
    [{ messages: "hi" }, "messages", "messages must be an array, not a string"],
    [{ messages: ["hi"] }, "messages[0]", "messages[0] must be an object, not a string"],
    [
      { messages: [{ content: "hi" }] },
      "messages[0].role",
      "messages[0].role must be one of system, developer, user, assistant, tool",
    ],
    [{ messages: [{ role: "user" }] }, "messages[0].content", "messages[0].content is required"],
    [
      { messages: [{ role: "user", content: 7 }] },
      "messages[0].content",
      "messages[0].content must be a string or an array, not 7",
    ],
    [
      part({ type: "text" }),
      "messages[0].content[0].text",
      "messages[0].content[0].text is required",
    ],
    [
      part({ type: "image_url", image_url: true }),
      "messages[0].content[0].image_url",
      "messages[0].content[0].image_url must be an object, not a boolean",
    ],
    [
      part({ type: "image_url", image_url: { url: "file:///etc/passwd" } }),
      "messages[0].content[0].image_url.url",
      "messages[0].content[0].image_url.url must be a base64 data URL of an image, or an http or https URL",
    ],
    [called("{"), "messages[1].tool_calls[0].function.arguments", argumentsMust],
    [called("[1]"), "messages[1].tool_calls[0].function.arguments", argumentsMust],
    [called(deep), "messages[1].tool_calls[0].function.arguments", argumentsMust],
    [
      called([]),
      "messages[1].tool_calls[0].function.arguments",
      "messages[1].tool_calls[0].function.arguments must be a string, not an array",
    ],
    [
      { messages: [hello, { role: "tool", content: "x" }] },
      "messages[1].tool_call_id",
      "messages[1].tool_call_id is required",
    ],
    [
      { messages: [hello, { role: "assistant", thinking_blocks: [{ type: "text" }] }] },
      "messages[1].thinking_blocks[0].type",
      "messages[1].thinking_blocks[0].type must be thinking or redacted_thinking",
    ],
  ];
  for (const [more, param, message] of cases)
    t.strictSame(refusal(more), [param, message], JSON.stringify(more).slice(0, 200));
});

t.test("fields of Object's prototype are unknown fields like any other", async (t) => {
  for (const field of ["constructor", "toString", "__proto__"]) {
    t.strictSame(
      refusal(
        JSON.parse(
          `{"model":"m","messages":[{"role":"user","content":"a","${field}":1}]}`,
        ) as object,
      )[0],
      `messages[0].${field}`,
      field,
    );
  }
});
