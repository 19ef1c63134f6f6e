import t from "tap";
import { messagesToChat } from "../../../../proxy/dialects/choose-dialect.js";
import {
  fittingToolName,
  renamedTools,
  ToolNames,
} from "../../../../proxy/dialects/shared/tool-call.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { context } from "../sample-answers.js";

t.test("a long or unusual name is shortened, and found again", async (t) => {
  const long = `mcp__${"server".repeat(12)}__`;
  const names = ["read", "", "a.b", `${long}one`, `${long}two`, "é".repeat(70)];
  const fitting = names.map((name) => fittingToolName(name));
  t.same(fitting.slice(0, 2), ["read", ""], "as they are");
  t.same(
    fitting.filter((name) => name !== "" && !/^[\w-]{1,64}$/.test(name)),
    [],
  );
  t.equal(new Set(fitting).size, names.length, "none is another's");
  const known = new ToolNames([...names, undefined, 7]);
  t.same(
    fitting.map((name) => known.original(name)),
    names,
  );
  t.equal(known.original("unknown"), "unknown");
});

t.test("of a request's tools only names that are changed are kept, and given back", async (t) => {
  const name = `mcp__${"server".repeat(12)}__read`;
  const tools = [{ name: "read", input_schema: {} }, { name, input_schema: {} }, null];
  t.same(renamedTools(tools), [{ name }]);
  t.same(renamedTools(undefined), []);
  const call = {
    id: "c",
    type: "function",
    function: { name: fittingToolName(name), arguments: "{}" },
  };
  const answer = { choices: [{ message: { tool_calls: [call] }, finish_reason: "tool_calls" }] };
  const request = messagesToChat.echoSource!({ stream: false, tools });
  t.match(messagesToChat.answer(answer, { ...context, request }), exactly({ content: [{ name }] }));
});
