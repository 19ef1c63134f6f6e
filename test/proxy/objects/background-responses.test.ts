import t from "tap";
import { endOf } from "../../../proxy/objects/background-responses.js";

t.test("the end of a response has its usage, with the calls of tools", (t) => {
  const usage = { input_tokens: 9, output_tokens: 3, total_tokens: 12 };
  const output = [
    { type: "web_search_call", id: "w" },
    { type: "mcp_call", id: "m", server_label: "github", name: "search" },
    { type: "function_call", name: "mine" },
  ];
  t.match(endOf({ status: "completed", usage, output }), {
    kind: "used",
    usage: { inputTokens: 9, toolCalls: { web_search: 1, "mcp:github/search": 1 } },
  });
  t.notHas(endOf({ status: "completed", usage, output: [] }), { usage: { toolCalls: {} } });
  t.same(endOf({ status: "failed", output: [] }), { kind: "unknown" });
  t.equal(endOf({ status: "in_progress", usage, output }), null);
  t.end();
});
