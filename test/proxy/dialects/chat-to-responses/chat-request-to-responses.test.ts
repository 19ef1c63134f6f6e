import t from "tap";
import { chatToResponses, messagesToChat } from "../../../../proxy/dialects/choose-dialect.js";
import { composeTranslations } from "../../../../proxy/dialects/compose-translations.js";
import { wrapReasoning } from "../../../../proxy/dialects/shared/thinking-blocks.js";
import type { JsonObject } from "../../../../proxy/dialects/shared/translation.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { options } from "../request-options.js";

const hello = { role: "user", content: "Hello" };
const helloItem = {
  type: "message",
  role: "user",
  content: [{ type: "input_text", text: "Hello" }],
};

function translated(body: JsonObject): { readonly body: JsonObject; dropped: readonly string[] } {
  const result = chatToResponses.request({ model: "m", messages: [hello], ...body }, options);
  if (!result.ok) throw new Error(result.failure.message);
  const { input, store, model, ...rest } = result.body;
  t.same([input, store, model], [[helloItem], false, "m"]);
  return { body: rest, dropped: result.dropped };
}

t.test("each field becomes what the table says", async (t) => {
  const tool = { type: "function", function: { name: "f", description: "d" } };
  const flat = {
    type: "function",
    name: "f",
    description: "d",
    parameters: { type: "object", properties: {} },
    strict: false,
  };
  const grammar = { syntax: "lark", definition: "start: 'a'" };
  const custom = { name: "p", format: { type: "grammar", grammar } };
  const schema = { name: "answer", schema: { type: "object" }, strict: true };
  const cases: readonly (readonly [JsonObject, JsonObject, (readonly string[])?])[] = [
    [{ max_completion_tokens: 100 }, { max_output_tokens: 100 }],
    [{ max_tokens: 1 }, { max_output_tokens: 16 }, ["max_tokens below 16"]],
    [{ reasoning_effort: "high" }, { reasoning: { effort: "high" } }],
    [
      { verbosity: "low", response_format: { type: "json_schema", json_schema: schema } },
      { text: { verbosity: "low", format: { type: "json_schema", ...schema } } },
    ],
    [{ response_format: { type: "json_object" } }, { text: { format: { type: "json_object" } } }],
    [{ stream: true, stream_options: { include_usage: true } }, { stream: true }],
    [
      { tools: [tool], parallel_tool_calls: false },
      { tools: [flat], parallel_tool_calls: false },
    ],
    [{ tools: [], parallel_tool_calls: false, tool_choice: "auto" }, {}],
    [
      { tools: [{ type: "custom", custom }] },
      { tools: [{ type: "custom", name: "p", format: { type: "grammar", ...grammar } }] },
    ],
    [
      { tools: [tool], tool_choice: { type: "function", function: { name: "f" } } },
      { tools: [flat], tool_choice: { type: "function", name: "f" } },
    ],
    [
      {
        tools: [tool],
        tool_choice: {
          type: "allowed_tools",
          allowed_tools: {
            mode: "required",
            tools: [{ type: "function", function: { name: "f" } }],
          },
        },
      },
      {
        tools: [flat],
        tool_choice: {
          type: "allowed_tools",
          mode: "required",
          tools: [{ type: "function", name: "f" }],
        },
      },
    ],
    [
      { logprobs: true, top_logprobs: 2 },
      { include: ["message.output_text.logprobs"], top_logprobs: 2 },
    ],
    [
      { user: "u", service_tier: "flex", top_p: 0.5, temperature: 1 },
      { user: "u", service_tier: "flex", top_p: 0.5, temperature: 1 },
    ],
    [{ stop: ["x"], seed: 1, presence_penalty: 0, n: 1, store: true }, {}, ["stop", "store"]],
    [{ reasoning: { effort: "low" } }, { reasoning: { effort: "low" } }],
    [{ reasoning: { max_tokens: 9000 } }, { reasoning: { effort: "medium" } }],
    [{ reasoning: { exclude: true } }, {}],
  ];
  for (const [given, body, dropped = []] of cases)
    t.same(translated(given), { body, dropped }, JSON.stringify(given));
});

t.test("a conversation becomes items", async (t) => {
  const kept = wrapReasoning("gAAA", "Hm.", "openai");
  const messages = [
    { role: "system", content: "Be brief." },
    {
      role: "user",
      name: "ann",
      content: [
        { type: "text", text: "See", cache_control: { type: "ephemeral" } },
        { type: "image_url", image_url: { url: "data:image/png;base64,AA" } },
        { type: "file", file: { file_data: "data:application/pdf;base64,AA", filename: "a.pdf" } },
      ],
    },
    {
      role: "assistant",
      content: "Looking.",
      reasoning_content: "Hm.",
      thinking_blocks: [
        kept,
        wrapReasoning("gBBB", "", "azure"),
        { type: "thinking", thinking: "x", signature: "Anthropic's" },
      ],
      tool_calls: [
        { id: "c1", type: "function", function: { name: "f", arguments: "{}" } },
        { id: "c2", type: "custom", custom: { name: "p", input: "***" } },
      ],
    },
    { role: "tool", tool_call_id: "c1", content: "ok" },
    {
      role: "tool",
      tool_call_id: "c2",
      content: [{ type: "image_url", image_url: { url: "https://x/y.png", detail: "low" } }],
    },
    { role: "assistant", content: null, thinking_blocks: [kept] },
    { role: "assistant", content: "", refusal: "no" },
  ];
  const result = chatToResponses.request({ model: "m", messages }, options);
  t.same(result, {
    ok: true,
    dropped: ["messages[].name"],
    body: {
      model: "m",
      store: false,
      input: [
        { type: "message", role: "system", content: [{ type: "input_text", text: "Be brief." }] },
        {
          type: "message",
          role: "user",
          content: [
            { type: "input_text", text: "See" },
            { type: "input_image", image_url: "data:image/png;base64,AA", detail: "auto" },
            {
              type: "input_file",
              file_data: "data:application/pdf;base64,AA",
              filename: "a.pdf",
            },
          ],
        },
        {
          type: "reasoning",
          summary: [{ type: "summary_text", text: "Hm." }],
          encrypted_content: "gAAA",
        },
        {
          type: "message",
          role: "assistant",
          content: [{ type: "output_text", text: "Looking." }],
        },
        { type: "function_call", call_id: "c1", name: "f", arguments: "{}" },
        { type: "custom_tool_call", call_id: "c2", name: "p", input: "***" },
        { type: "function_call_output", call_id: "c1", output: "ok" },
        {
          type: "custom_tool_call_output",
          call_id: "c2",
          output: [{ type: "input_image", image_url: "https://x/y.png", detail: "low" }],
        },
        { type: "message", role: "assistant", content: [{ type: "refusal", refusal: "no" }] },
      ],
    },
  });
});

t.test("an Anthropic client's reasoning, pictures in results and tools arrive", async (t) => {
  const toResponses = composeTranslations(messagesToChat, chatToResponses);
  const picture = { type: "base64", media_type: "image/png", data: "AA" };
  const result = toResponses.request(
    {
      model: "m",
      max_tokens: 4096,
      output_config: { effort: "high" },
      tools: [{ name: "f", input_schema: { type: "object" } }],
      messages: [
        { role: "user", content: "Hello" },
        {
          role: "assistant",
          content: [
            wrapReasoning("gAAA", "", "openai"),
            { type: "thinking", thinking: "x", signature: "Anthropic's" },
            { type: "tool_use", id: "c1", name: "f", input: {} },
          ],
        },
        {
          role: "user",
          content: [
            {
              type: "tool_result",
              tool_use_id: "c1",
              content: [
                { type: "text", text: "see" },
                { type: "image", source: picture },
              ],
            },
          ],
        },
      ],
    },
    { ...options, takesFilesInResults: true },
  );
  t.match(
    result,
    exactly({
      body: {
        max_output_tokens: 4096,
        reasoning: { effort: "high" },
        tools: [{ type: "function", name: "f", strict: false }],
        input: [
          helloItem,
          { type: "reasoning", summary: { length: 0 }, encrypted_content: "gAAA" },
          { type: "function_call", call_id: "c1", name: "f", arguments: "{}" },
          {
            type: "function_call_output",
            call_id: "c1",
            output: [
              { type: "input_text", text: "see" },
              { type: "input_image", image_url: "data:image/png;base64,AA" },
            ],
          },
        ],
      },
    }),
  );
});

t.test("what can't be said is refused by its name", async (t) => {
  const cases: readonly (readonly [JsonObject, string])[] = [
    [{ n: 2 }, "n"],
    [{ audio: {} }, "audio"],
    [{ max_tokens: 0 }, "max_tokens"],
    [{ messages: [] }, "messages"],
    [{ messages: [{ role: "function", content: "" }] }, "messages[0].role"],
    [{ messages: [{ role: "user" }] }, "messages[0].content"],
    [
      { messages: [{ role: "system", content: [{ type: "image_url" }] }] },
      "messages[0].content[0].type",
    ],
    [
      { messages: [{ role: "assistant", tool_calls: [{ id: "c", type: "x" }] }] },
      "messages[0].tool_calls[0].type",
    ],
    [{ tools: [{ type: "web_search" }] }, "tools[0].type"],
    [{ tools: [{ type: "function", function: {} }] }, "tools[0].function.name"],
    [{ tool_choice: { type: "mcp" } }, "tool_choice.type"],
    [{ response_format: { type: "xml" } }, "response_format.type"],
  ];
  for (const [more, param] of cases) {
    const result = chatToResponses.request({ model: "m", messages: [hello], ...more }, options);
    t.match(result, { ok: false, failure: { status: 400, param } }, JSON.stringify(more));
  }
  const strict = chatToResponses.request(
    { model: "m", messages: [hello], stop: "x" },
    { ...options, isStrict: true },
  );
  t.match(strict, { failure: { param: "stop" } });
});
