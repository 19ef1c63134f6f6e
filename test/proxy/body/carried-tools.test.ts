import t from "tap";
import { carriedTools } from "../../../proxy/body/carried-tools.js";

t.test("the tools for the provider to run, in each dialect", async (t) => {
  for (const [fields, names] of [
    [{ model: "m" }, null],
    [{ tools: [{ type: "function", function: { name: "web_search" } }] }, null],
    [{ tools: [{ name: "web_search", input_schema: {} }] }, null],
    [{ tools: "web_search" }, null],
    [
      { tools: [{ type: "web_search_preview_2025_03_11" }, { type: "code_interpreter" }] },
      ["web_search", "code_execution"],
    ],
    [
      { tools: [{ type: "image_generation" }, { type: "file_search" }, { type: "x_search" }] },
      ["image_generation", "file_search", "x_search"],
    ],
    [{ tools: [{ type: "mcp", server_label: "GitHub" }] }, ["mcp:github/*"]],
    [
      { tools: [{ type: "mcp", server_label: "g", allowed_tools: ["a", "b"] }] },
      ["mcp:g/a", "mcp:g/b"],
    ],
    [
      { tools: [{ type: "mcp", server_label: "g", allowed_tools: { tool_names: ["a"] } }] },
      ["mcp:g/a"],
    ],
    [
      {
        tools: [
          { type: "web_search_20260209", name: "web_search" },
          { type: "web_fetch_20250910" },
          { type: "bash_20250124" },
        ],
      },
      ["web_search", "web_fetch"],
    ],
    [
      {
        tools: [{ type: "mcp_toolset", mcp_server_name: "l" }],
        mcp_servers: [{ name: "l", url: "https://x" }],
      },
      ["mcp:l/*"],
    ],
    [{ mcp_servers: [{ name: "l", tool_configuration: { allowed_tools: ["a"] } }] }, ["mcp:l/a"]],
    [
      {
        tools: [
          { googleSearch: {} },
          { url_context: {} },
          { codeExecution: {} },
          { functionDeclarations: [] },
        ],
      },
      ["web_search", "web_fetch", "code_execution"],
    ],
    [
      { tools: [{ type: "google_search" }, { type: "mcp_server", name: "w" }] },
      ["web_search", "mcp:w/*"],
    ],
    [{ web_search_options: {} }, ["web_search"]],
    [{ plugins: [{ id: "web" }] }, ["web_search"]],
    [{ search_parameters: { mode: "off" } }, null],
    [{ search_parameters: { mode: "auto" } }, ["web_search"]],
    [{ tools: [{ type: "mcp", server_label: "\u00c3\u00a9" }] }, ["mcp:é/*"]],
    [
      { tools: Array.from({ length: 70 }, (_, i) => ({ type: "mcp", server_label: `s${i}` })) },
      ["*"],
    ],
  ] as readonly (readonly [Record<string, unknown>, readonly string[] | null])[])
    t.same(carriedTools(fields), names, JSON.stringify(fields).slice(0, 120));
});
