import t from "tap";
import { fittingToolName } from "../../../../proxy/dialects/shared/tool-call.js";
import { base, hello, refusal, translated } from "./translate-messages-request.js";

t.test("turns become messages", async (t) => {
  const text = (said: string): object => ({ type: "text", text: said });
  const picture = { type: "image", source: { type: "url", url: "https://example.com/a.png" } };
  const cases: readonly (readonly [string, object, readonly object[]])[] = [
    ["a system prompt as a text", { system: "a" }, [{ role: "system", content: "a" }, hello]],
    ["an empty system prompt", { system: "" }, [hello]],
    [
      "a single block is a text",
      { system: [text("a")], messages: [{ role: "user", content: [text("b")] }] },
      [
        { role: "system", content: "a" },
        { role: "user", content: "b" },
      ],
    ],
    [
      "system messages stay where they stand",
      { messages: [hello, { role: "system", content: [text("a")] }] },
      [hello, { role: "system", content: "a" }],
    ],
    [
      "pictures and documents",
      {
        messages: [
          {
            role: "user",
            content: [
              picture,
              {
                type: "document",
                source: { type: "text", media_type: "text/plain", data: "Grüße" },
                citations: { enabled: false },
              },
              {
                type: "document",
                title: "a.pdf",
                source: { type: "base64", media_type: "application/pdf", data: "JVBERi0=" },
              },
            ],
          },
        ],
      },
      [
        {
          role: "user",
          content: [
            { type: "image_url", image_url: { url: "https://example.com/a.png" } },
            {
              type: "file",
              file: { filename: "document.txt", file_data: "data:text/plain;base64,R3LDvMOfZQ==" },
            },
            {
              type: "file",
              file: { filename: "a.pdf", file_data: "data:application/pdf;base64,JVBERi0=" },
            },
          ],
        },
      ],
    ],
    [
      "calls without a text, and their results before what else is said",
      {
        messages: [
          hello,
          {
            role: "assistant",
            content: [{ type: "tool_use", id: "1", name: "f", input: { a: [1] } }],
          },
          { role: "user", content: [text("b"), { type: "tool_result", tool_use_id: "1" }] },
        ],
      },
      [
        hello,
        {
          role: "assistant",
          content: null,
          tool_calls: [
            { id: "1", type: "function", function: { name: "f", arguments: '{"a":[1]}' } },
          ],
        },
        { role: "tool", tool_call_id: "1", content: "" },
        { role: "user", content: "b" },
      ],
    ],
    [
      "a result that is a picture alone",
      {
        messages: [
          {
            role: "user",
            content: [{ type: "tool_result", tool_use_id: "1", content: [picture] }],
          },
        ],
      },
      [
        {
          role: "tool",
          tool_call_id: "1",
          content: "The result is in the next message of the user.",
        },
        {
          role: "user",
          content: [
            text("Part of the result of the tool call 1:"),
            { type: "image_url", image_url: { url: "https://example.com/a.png" } },
          ],
        },
      ],
    ],
    [
      "what a client has found, and tools that it has loaded, are texts",
      {
        messages: [
          {
            role: "user",
            content: [
              {
                type: "tool_result",
                tool_use_id: "1",
                content: [{ type: "tool_reference", tool_name: "mcp__db.run" }],
              },
              {
                type: "search_result",
                source: "https://example.com/a",
                title: "A",
                content: [text("b"), text("c")],
                citations: { enabled: false },
              },
            ],
          },
        ],
      },
      [
        {
          role: "tool",
          tool_call_id: "1",
          content: `The tool ${fittingToolName("mcp__db.run")} is loaded.`,
        },
        { role: "user", content: "A (https://example.com/a)\nb\nc" },
      ],
    ],
    [
      "results that failed",
      {
        messages: [
          {
            role: "user",
            content: [
              { type: "tool_result", tool_use_id: "1", is_error: true },
              { type: "tool_result", tool_use_id: "2", is_error: true, content: "error 7" },
              {
                type: "tool_result",
                tool_use_id: "3",
                is_error: true,
                content: [text("a"), text("b")],
              },
            ],
          },
        ],
      },
      [
        { role: "tool", tool_call_id: "1", content: "Error: " },
        { role: "tool", tool_call_id: "2", content: "error 7" },
        { role: "tool", tool_call_id: "3", content: [text("Error: "), text("a"), text("b")] },
      ],
    ],
    [
      "thoughts without a signature go back to whom they are from",
      {
        messages: [
          hello,
          {
            role: "assistant",
            content: [
              { type: "thinking", thinking: "hm", signature: "" },
              { type: "thinking", thinking: "signed", signature: "s" },
              text("a"),
              text("b"),
            ],
          },
          hello,
        ],
      },
      [
        hello,
        { role: "assistant", content: [text("a"), text("b")], reasoning_content: "hm" },
        hello,
      ],
    ],
    [
      "a call that Gemini has signed, and its result",
      {
        messages: [
          hello,
          {
            role: "assistant",
            content: [{ type: "tool_use", id: "1__signed__YSsvPT0", name: "f", input: {} }],
          },
          {
            role: "user",
            content: [{ type: "tool_result", tool_use_id: "1__signed__YSsvPT0", content: "a" }],
          },
        ],
      },
      [
        hello,
        {
          role: "assistant",
          content: null,
          tool_calls: [
            {
              id: "1",
              type: "function",
              function: { name: "f", arguments: "{}" },
              extra_content: { google: { thought_signature: "a+/==" } },
            },
          ],
        },
        { role: "tool", tool_call_id: "1", content: "a" },
      ],
    ],
    [
      "a turn of signed thoughts alone",
      {
        messages: [
          hello,
          { role: "assistant", content: [{ type: "redacted_thinking", data: "d" }] },
          hello,
        ],
      },
      [hello, hello],
    ],
  ];
  for (const [name, more, messages] of cases)
    t.strictSame(translated({ ...base, ...more })["messages"], messages, name);
});

t.test(
  "turns and blocks without a counterpart in chat completions are refused by name",
  async (t) => {
    const provider = "the model's provider speaks chat completions";
    const block = (value: object): object => ({ messages: [{ role: "user", content: [value] }] });
    const answered = (value: object): object => ({
      messages: [hello, { role: "assistant", content: [value] }, hello],
    });
    const cases: readonly (readonly [object, string, string])[] = [
      [
        { messages: [hello, { role: "assistant", content: "The answer is (" }] },
        "messages[1]",
        `messages[1] must not be an assistant message: ${provider}, which can't continue one`,
      ],
      [
        block({ type: "container_upload" }),
        "messages[0].content[0].type",
        `messages[0].content[0].type must be text, image, document, search_result or tool_result: ${provider}, which supports nothing else there`,
      ],
      [
        block({ type: "image", source: { type: "file", file_id: "f" } }),
        "messages[0].content[0].source.type",
        `messages[0].content[0].source.type must be base64 or url: ${provider}, which has no access to Anthropic's files and fetches no documents`,
      ],
      [
        block({ type: "document", source: { type: "url", url: "https://x/" } }),
        "messages[0].content[0].source.type",
        `messages[0].content[0].source.type must be base64 or text: ${provider}, which has no access to Anthropic's files and fetches no documents`,
      ],
      [
        block({
          type: "document",
          source: { type: "text", data: "a" },
          citations: { enabled: true },
        }),
        "messages[0].content[0].citations",
        `messages[0].content[0].citations must not be enabled: ${provider}, which has no citations`,
      ],
      [
        block({ type: "document", source: { type: "text", data: "a" }, context: "b" }),
        "messages[0].content[0].context",
        `messages[0].content[0].context must be left out: ${provider}, which has no such field`,
      ],
      [
        block({
          type: "tool_result",
          tool_use_id: "1",
          content: [{ type: "container_upload" }],
        }),
        "messages[0].content[0].content[0].type",
        `messages[0].content[0].content[0].type must be text, image, document, search_result or tool_reference: ${provider}, which supports nothing else there`,
      ],
      [
        answered({ type: "server_tool_use" }),
        "messages[1].content[0].type",
        `messages[1].content[0].type must be text, thinking or tool_use: ${provider}, which supports nothing else there`,
      ],
      [
        answered({ type: "image", source: { type: "url", url: "https://x/" } }),
        "messages[1].content[0].type",
        `messages[1].content[0].type must be text, thinking or tool_use: ${provider}, which supports nothing else there`,
      ],
      [
        answered({
          type: "tool_use",
          id: "1",
          name: "f",
          input: {},
          caller: { type: "code_execution_20260120" },
        }),
        "messages[1].content[0].caller",
        `messages[1].content[0].caller must be direct: ${provider}, where only the model calls tools`,
      ],
      [
        { system: [{ type: "image" }] },
        "system[0].type",
        `system[0].type must be text: ${provider}, which supports nothing else there`,
      ],
    ];
    for (const [more, param, message] of cases)
      t.strictSame(refusal(more), [param, message], JSON.stringify(more));
  },
);

t.test("invalid turns and blocks are refused by name", async (t) => {
  const block = (value: object): object => ({ messages: [{ role: "user", content: [value] }] });
  const cases: readonly (readonly [object, string, string])[] = [
    [{ messages: [] }, "messages", "messages must hold at least one message"],
    [{ messages: null }, "messages", "messages is required"],
    [
      { messages: [{ role: "tool", content: "" }] },
      "messages[0].role",
      "messages[0].role must be one of user, assistant, system",
    ],
    [
      { messages: [{ role: "user", content: [] }] },
      "messages[0].content",
      "messages[0].content must not be empty",
    ],
    [{ messages: [{ role: "user" }] }, "messages[0].content", "messages[0].content is required"],
    [
      block({ type: "text", text: 5 }),
      "messages[0].content[0].text",
      "messages[0].content[0].text must be a string, not 5",
    ],
    [
      block({ type: "image" }),
      "messages[0].content[0].source",
      "messages[0].content[0].source is required",
    ],
    [
      block({ type: "tool_result" }),
      "messages[0].content[0].tool_use_id",
      "messages[0].content[0].tool_use_id is required",
    ],
    [
      {
        messages: [
          hello,
          { role: "assistant", content: [{ type: "tool_use", id: "1", name: "f", input: "{}" }] },
          hello,
        ],
      },
      "messages[1].content[0].input",
      "messages[1].content[0].input must be an object, not a string",
    ],
  ];
  for (const [more, param, message] of cases)
    t.strictSame(refusal(more), [param, message], JSON.stringify(more));
});
