import t from "tap";
import { askedOfResponses } from "../../../../proxy/body/meaning/asked-of-responses.js";

t.test("a request of the Responses API may ask for what not every host has", async (t) => {
  const cases: readonly (readonly [string, Record<string, unknown>, boolean, boolean])[] = [
    ["a text", { input: "hi" }, false, false],
    [
      "functions and searches",
      { tools: [{ type: "function" }, { type: "web_search" }] },
      false,
      false,
    ],
    ["a tool with a grammar", { tools: [{ type: "custom" }] }, true, false],
    ["an MCP server of Codex", { tools: [{ type: "namespace", tools: [] }] }, true, false],
    ["tools in the input", { input: [{ type: "additional_tools", tools: [] }] }, true, false],
    ["a call of such a tool", { input: [{ type: "custom_tool_call" }] }, true, false],
    ["a call in a namespace", { input: [{ type: "function_call", namespace: "n" }] }, true, false],
    ["null is nothing", { input: [{ type: "function_call", namespace: null }] }, false, false],
    ["a response that goes on", { previous_response_id: "resp_1" }, false, true],
    ["a conversation", { conversation: { id: "conv_1" }, prompt: null }, false, true],
    ["an item by reference", { input: [{ type: "item_reference", id: "rs_1" }] }, false, true],
    ["an item by its id alone", { input: [{ id: "msg_1" }] }, false, true],
    ["a message without a type", { input: [{ role: "user", content: "hi" }] }, false, false],
    ["nonsense", { input: [7, null], tools: [7, null] }, false, false],
    ["nonsense", { input: 7, tools: 7 }, false, false],
  ];
  for (const [name, body, agentTools, stored] of cases) {
    t.strictSame(askedOfResponses("responses", body), { agentTools, stored }, name);
    t.strictSame(
      askedOfResponses("chat_completions", body),
      { agentTools: false, stored: false },
      `${name}, in chat completions`,
    );
  }
});
