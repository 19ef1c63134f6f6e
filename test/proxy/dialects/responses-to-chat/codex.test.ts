/** What Codex sends, and expects back, where the model's provider has chat completions only. */
import t from "tap";
import { responsesToChat } from "../../../../proxy/dialects/choose-dialect.js";
import type { AnswerContext, JsonObject } from "../../../../proxy/dialects/shared/translation.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { options } from "../request-options.js";

const patch = {
  type: "custom",
  name: "apply_patch",
  description: "Edits files.",
  format: { type: "grammar", syntax: "lark", definition: "start: /.+/" },
};
const search = {
  type: "namespace",
  name: "mcp__docs",
  description: "Documentation",
  tools: [{ type: "function", name: "search", parameters: { type: "object" }, strict: false }],
};
const request: JsonObject = {
  model: "m",
  instructions: "Be brief.",
  input: [
    {
      type: "message",
      role: "user",
      content: [{ type: "input_text", text: "go" }],
      internal_chat_message_metadata_passthrough: { turn_id: "1" },
    },
  ],
  tools: [patch, search, { type: "web_search", external_web_access: false }],
  tool_choice: "auto",
  store: false,
  stream: false,
  include: ["reasoning.encrypted_content"],
  prompt_cache_key: "k",
  client_metadata: { "x-codex-installation-id": "1" },
};
const context: AnswerContext = {
  model: "m",
  nowSeconds: 1,
  requestId: "req_1",
  provider: "p",
  request,
};

function sent(body: JsonObject, takesCustomTools: boolean): JsonObject {
  const result = responsesToChat.request(body, { ...options, takesCustomTools });
  if (!result.ok) throw new Error(result.failure.message);
  return { ...result.body, dropped: result.dropped };
}

t.test("namespaces become functions, and OpenAI's own tools are dropped", async (t) => {
  const searching = {
    type: "function",
    function: { name: "mcp__docs__search", parameters: { type: "object" }, strict: false },
  };
  const { tools, messages, dropped } = sent(request, true);
  t.same(dropped, ['tools[] ("web_search")']);
  t.match(
    messages,
    exactly([
      { role: "system", content: "Be brief." },
      { role: "user", content: "go" },
    ]),
  );
  t.match(tools, exactly([{ type: "custom", custom: { name: "apply_patch" } }, searching]));
  t.same(sent(request, false)["tools"], [
    {
      type: "function",
      function: {
        name: "apply_patch",
        description: "Edits files.\n\nThe input follows this lark grammar:\nstart: /.+/",
        parameters: {
          type: "object",
          properties: { input: { type: "string", description: "The complete input of the tool." } },
          required: ["input"],
          additionalProperties: false,
        },
      },
    },
    searching,
  ]);
});

const answer = {
  id: "c1",
  choices: [
    {
      index: 0,
      message: {
        role: "assistant",
        content: null,
        reasoning_content: "First the docs.",
        tool_calls: [
          {
            id: "a",
            type: "function",
            function: { name: "mcp__docs__search", arguments: '{"q":1}' },
          },
          {
            id: "b",
            type: "function",
            function: { name: "apply_patch", arguments: '{"input":"*** \\"x\\"\\n"}' },
          },
        ],
      },
      finish_reason: "tool_calls",
    },
  ],
};

t.test("calls become those of the client's own tools, and reasoning comes back", async (t) => {
  const { output } = responsesToChat.answer(answer, context) as {
    output: readonly (JsonObject & { encrypted_content?: string })[];
  };
  t.match(
    output,
    exactly([
      { type: "reasoning", content: [{ text: "First the docs." }], encrypted_content: /^sluice_/ },
      { type: "function_call", name: "search", namespace: "mcp__docs", arguments: '{"q":1}' },
      { type: "custom_tool_call", name: "apply_patch", input: '*** "x"\n' },
    ]),
  );
  // Codex sends reasoning back without its text.
  const [reasoning, ...calls] = output;
  const { encrypted_content } = reasoning!;
  const next = {
    ...request,
    input: [
      { type: "reasoning", summary: [], content: null, encrypted_content },
      ...calls,
      { type: "function_call_output", call_id: "a", output: "found" },
      { type: "custom_tool_call_output", call_id: "b", output: "done" },
    ],
  };
  t.same((sent(next, false)["messages"] as readonly unknown[]).slice(1), [
    {
      role: "assistant",
      content: null,
      reasoning_content: "First the docs.",
      tool_calls: [
        {
          id: "a",
          type: "function",
          function: { name: "mcp__docs__search", arguments: '{"q":1}' },
        },
        {
          id: "b",
          type: "function",
          function: { name: "apply_patch", arguments: '{"input":"*** \\"x\\"\\n"}' },
        },
      ],
    },
    { role: "tool", tool_call_id: "a", content: "found" },
    { role: "tool", tool_call_id: "b", content: "done" },
  ]);
});

t.test("a stream gives the same, and a custom tool's input in one piece", async (t) => {
  const translator = responsesToChat.events(context);
  const events = responsesToChat
    .asEvents(answer)
    .flatMap(({ event, data }) => translator.push(event, data))
    .concat(translator.end())
    .map(({ data }) => JSON.parse(data) as JsonObject);
  const last = events.at(-1) as { response: { output: unknown } };
  t.same(last.response.output, responsesToChat.answer(answer, context)["output"]);
  t.same(
    events
      .filter(({ type }) => type === "response.custom_tool_call_input.delta")
      .map(({ delta }) => delta),
    ['*** "x"\n'],
  );
});

t.test("what another wrote as encrypted reasoning is left alone", async (t) => {
  for (const encrypted_content of ["gAAAA", "sluice_", "sluice_bm8", 7, null])
    t.same(
      (
        sent(
          {
            model: "m",
            input: [
              { type: "reasoning", summary: [], encrypted_content },
              { type: "message", role: "assistant", content: "a" },
              { type: "web_search_call", id: "ws_1", status: "completed" },
              { role: "user", content: "b" },
            ],
          },
          true,
        )["messages"] as readonly unknown[]
      ).length,
      2,
    );
});
