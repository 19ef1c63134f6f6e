import fc from "fast-check";
import t from "tap";
import { responsesNeeds } from "../../../proxy/body/call-needs.js";
import { bodyText, parseModelBody } from "../../../proxy/body/model-body.js";

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
  for (const [name, body, usesAgentTools, stored] of cases) {
    t.strictSame(responsesNeeds("responses", body), { usesAgentTools, stored }, name);
    t.strictSame(
      responsesNeeds("chat_completions", body),
      { usesAgentTools: false, stored: false },
      `${name}, in chat completions`,
    );
  }
});

function mayRunOthers(members: string): boolean {
  const body = Buffer.from(`{"model":"cheap-1",${members}"messages":[]}`);
  const result = parseModelBody("chat_completions", bodyText("chat_completions", body));
  if (!result.ok) throw new Error(result.failure.message);
  return result.body.mayRunOthers;
}

t.test("a body that could run other models than the one that it names is recognized", (t) => {
  const table: readonly string[] = [
    '"models":["expensive"]',
    '"models":["expensive"],"route":"fallback"',
    '"route":"fallback"',
    '"MODELS":["expensive"]',
    '"model\\u0073":["expensive"]',
    '"model\\u017f":["expensive"]',
    '"modelſ":["expensive"]',
    '"fallbac\u212as":[{"model":"expensive"}]',
    '"models":["expensive"],"models":null',
    '"fallbacks":[{"model":"expensive"}]',
    '"Fallbacks":["expensive"]',
    '"context_window_fallbacks":[{"cheap-1":["expensive"]}]',
    '"preset":"ours"',
    '"tools":[{"type":"advisor_20260301","name":"advisor","model":"expensive"}]',
    '"tools":[{"type":"custom","name":"x"},{"type":"ADVISOR_1"}]',
    '"Tools":[{"type":"advisor_1","model":"expensive"}]',
    '"tools":[{"type":"advisor_1","type":"custom","model":"expensive"}]',
    '"tools":[{"type":"new_20270101","Model":"expensive"}]',
    '"tools":[{"type":"openrouter:advisor","parameters":{"model":"expensive"}}]',
    '"tools":[{"type":"openrouter:new","parameters":{"analysis_models":["expensive"]}}]',
    '"tools":[{"type":"openrouter:fusion"}]',
    '"tools":{"type":"advisor_1","model":"expensive"}',
    '"plugins":[{"id":"web"},{"id":"fusion","analysis_models":["expensive"]}]',
    '"plugins":[{"id":"fusion"}]',
    '"plugins":[{"id":"new","model":"expensive"}]',
    '"providerOptions":{"gateway":{"models":["expensive"]}}',
  ];
  for (const members of table) t.equal(mayRunOthers(`${members},`), true, members);
  t.end();
});

t.test("any other body could not", (t) => {
  const table: readonly string[] = [
    "",
    '"metadata":{"models":["x"],"fallbacks":"y","route":"z"},',
    '"tools":[{"type":"function","function":{"name":"advisor","parameters":{"type":"object","properties":{"model":{"type":"string"},"route":{"type":"string"}}}}}],',
    '"tools":[{"type":"function","name":"f","parameters":{"properties":{"models":{}}}}],',
    '"tools":[{"name":"models","input_schema":{"properties":{"model":{}}}}],',
    '"tools":[{"type":"image_generation","model":"gpt-image-1"}],',
    '"tools":[{"functionDeclarations":[{"name":"model"}]}],"tool_choice":"auto",',
    '"tools":null,"plugins":"x","providerOptions":[],',
    '"plugins":[{"id":"web","max_results":3}],"providerOptions":{"gateway":{"order":["x"]}},',
    '"provider":{"order":["x"],"allow_fallbacks":false},',
  ];
  for (const members of table) t.equal(mayRunOthers(members), false, members);
  t.end();
});

t.test("no letter case hides a field", (t) => {
  const spelled = fc
    .constantFrom("models", "fallbacks", "route", "preset")
    .chain((name) =>
      fc
        .array(fc.boolean(), { minLength: name.length, maxLength: name.length })
        .map((capitals) =>
          [...name].map((c, i) => (capitals[i] === true ? c.toUpperCase() : c)).join(""),
        ),
    );
  fc.assert(fc.property(spelled, (name) => mayRunOthers(`"${name}":["x"],`)));
  t.end();
});

t.test("a field that would have to be judged twice is refused", (t) => {
  for (const name of ["tools", "plugins", "providerOptions"]) {
    const body = `{"model":"m","messages":[],"${name}":[{"type":"advisor_1"}],"${name}":[]}`;
    const result = parseModelBody("messages", bodyText("messages", Buffer.from(body)));
    t.match(result, { ok: false, failure: { status: 400, param: name } }, name);
  }
  t.end();
});
