import t from "tap";
import { responsesToolsToChat } from "../../../../proxy/dialects/responses-to-chat/responses-tools-to-chat.js";
import { RequestCheck } from "../../../../proxy/dialects/shared/request-check.js";
import { refusalWith } from "./translate-responses-request.js";

const clock = { type: "function", name: "clock", parameters: null, strict: null };
const tool = (fields: object) => ({ tools: [{ type: "function", name: "f", ...fields }] });

t.test("unsupported and invalid tools are a 400 that names the field", async (t) => {
  const cases: readonly (readonly [object, string])[] = [
    [{ parallel_tool_calls: 1 }, "parallel_tool_calls must be true or false, not 1"],

    [{ tools: {} }, "tools must be an array, not an object"],
    [{ tools: [{ name: "f" }] }, "tools[0].type is required"],
    [{ tools: [{ type: "function", parameters: {} }] }, "tools[0].name is required"],
    [tool({ parameters: "x" }), "tools[0].parameters must be an object, not a string"],
    [tool({ strict: "x" }), "tools[0].strict must be true or false, not a string"],
    [
      tool({ defer_loading: true }),
      "tools[0].defer_loading can't be passed on: chat completions load every tool at once",
    ],
    [
      tool({ allowed_callers: ["programmatic"] }),
      "tools[0].allowed_callers can't be passed on: in chat completions only the model calls tools",
    ],
    [
      tool({ output_schema: {} }),
      "tools[0].output_schema can't be passed on: chat completions have no such field",
    ],
    [tool({ function: {} }), "tools[0].function is not known"],
    [
      { tools: [{ type: "custom", name: "c", format: { type: "json" } }] },
      'tools[0].format.type must be text or grammar, not "json"',
    ],
    [
      { tools: [{ type: "custom", name: "c", format: { type: "grammar", syntax: "lark" } }] },
      "tools[0].format.definition is required",
    ],
    [{ tool_choice: "required" }, "tool_choice requires a tool, but the request has none"],
    [{ tools: [clock], tool_choice: "any" }, "tool_choice must be an object, not a string"],
    [
      { tools: [clock], tool_choice: { type: "web_search_preview" } },
      `tool_choice can't be passed on: chat completions support functions and custom tools, not "web_search_preview"`,
    ],
    [{ tools: [clock], tool_choice: { type: "function" } }, "tool_choice.name is required"],
    [
      { tools: [clock], tool_choice: { type: "allowed_tools", mode: "some", tools: [] } },
      'tool_choice.mode must be auto or required, not "some"',
    ],
    [
      { tools: [clock], tool_choice: { type: "allowed_tools", mode: "auto", tools: [] } },
      "tool_choice.tools must name at least one tool",
    ],
    [
      {
        tools: [clock],
        tool_choice: {
          type: "allowed_tools",
          mode: "auto",
          tools: [{ type: "function", name: "weather" }],
        },
      },
      "tool_choice.tools[0] is not one of the request's tools",
    ],
    ...[
      "web_search",
      "web_search_preview",
      "file_search",
      "code_interpreter",
      "computer",
      "computer_use_preview",
      "mcp",
      "image_generation",
      "local_shell",
      "shell",
      "apply_patch",
      "tool_search",
    ].map(
      (type) =>
        [
          { tools: [clock, { type }] },
          `tools[1].type can't be passed on: this provider only has chat completions, which support functions and custom tools, not "${type}"`,
        ] as const,
    ),
  ];
  for (const [fields, expected] of cases) t.equal(refusalWith(fields), expected);
});

t.test("many allowed tools of many are no more work each", async (t) => {
  const tools = Array.from({ length: 100_000 }, (_, i) => ({ type: "function", name: `t${i}` }));
  const chat: Record<string, unknown> = {};
  const context = { check: new RequestCheck(false), takesCustomTools: false };
  const choice = { type: "allowed_tools", mode: "auto", tools };
  responsesToolsToChat({ tools, tool_choice: choice }, chat, context);
  t.equal((chat["tools"] as unknown[]).length, tools.length);
});
