import t from "tap";
import { responsesToChat } from "../../../../proxy/dialects/choose-dialect.js";
import { hoistTools } from "../../../../proxy/dialects/responses-to-chat/client-tools.js";
import type { JsonObject } from "../../../../proxy/dialects/shared/translation.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { options } from "../request-options.js";
import { context } from "../sample-answers.js";

const hello = { type: "message", role: "user", content: "hi" };
const exec = { type: "custom", name: "exec" };
const item = (...tools: unknown[]): JsonObject => ({
  type: "additional_tools",
  role: "developer",
  id: "at_1",
  tools,
});
const namespace = { type: "namespace", name: "functions", tools: [exec] };

t.test("tools in the input are the request's, the newest of each name", async (t) => {
  const read = (description: string): JsonObject => ({
    type: "function",
    name: "read",
    description,
  });
  const body = {
    model: "m",
    tools: [read("a"), { type: "web_search" }],
    input: [item(namespace), hello, item(read("b"), namespace)],
  };
  t.same(hoistTools(body), {
    model: "m",
    tools: [read("b"), { type: "web_search" }, namespace],
    input: [hello],
  });
});

t.test("a request without them is itself, and one that is wrong is refused", async (t) => {
  for (const input of ["hi", [hello], undefined, [null, 1]]) {
    const body = { model: "m", input };
    t.equal(hoistTools(body), body);
  }
  const wrong = { model: "m", input: [hello, { type: "additional_tools" }] };
  t.match(responsesToChat.request(wrong, options), { failure: { param: "input[1].type" } });
});

t.test("and the model's calls of them have the client's names again", async (t) => {
  const body = { model: "m", input: [item(namespace), hello] };
  const custom = { ...options, takesCustomTools: false };
  t.match(
    responsesToChat.request(body, custom),
    exactly({
      body: { tools: [{ type: "function", function: { name: "functions__exec" } }] },
    }),
  );
  const call = { name: "functions__exec", arguments: '{"input":"ls"}' };
  const message = { tool_calls: [{ id: "c", type: "function", function: call }] };
  const answer = responsesToChat.answer(
    { choices: [{ index: 0, message, finish_reason: "tool_calls" }] },
    { ...context, request: responsesToChat.echoSource!(body) },
  );
  t.match(
    answer["output"],
    exactly([{ type: "custom_tool_call", namespace: "functions", name: "exec", input: "ls" }]),
  );
});
