import t from "tap";
import {
  addedCalls,
  areCalls,
  callsAsTexts,
  callsBeyond,
  callsFromFlat,
  callsToFlat,
  mcpTool,
  toolName,
  toolNamesMax,
  withCalls,
} from "../../../shared/usage/tool-calls.js";

t.test("one tool has one name, whoever runs it", async (t) => {
  for (const [written, name] of [
    ["google_search", "web_search"],
    ["Code_Interpreter", "code_execution"],
    ["a b,c*\u0000", "a_b_c__"],
    ["x".repeat(300), "x".repeat(256)],
  ] as const)
    t.equal(toolName(written), name);
  t.equal(mcpTool("GitHub", "create_issue"), "mcp:github/create_issue");
});

t.test("calls add up, and names are bounded", async (t) => {
  t.same(addedCalls({ a: 1, b: 2 }, { b: 3, c: 1 }), { a: 1, b: 5, c: 1 });
  t.equal(addedCalls(undefined, undefined), undefined);
  t.same(addedCalls(undefined, { a: 1 }), { a: 1 });
  t.same(callsBeyond({ a: 3, b: 1, constructor: 2 }, { a: 1, b: 1 }), { a: 2, constructor: 2 });
  t.equal(callsBeyond({ a: 1 }, { a: 1 }), undefined);
  t.same(callsBeyond({ a: 1 }, undefined), { a: 1 });
  let calls = withCalls(null, "a");
  for (let i = 0; i < 100; i++) calls = withCalls(calls, `t${i}`);
  t.equal(Object.keys(calls).length, toolNamesMax);
  t.equal(calls["other"], 101 - (toolNamesMax - 1));
  t.ok(areCalls(calls));
  t.same(withCalls(null, "constructor"), { constructor: 1 });
});

t.test("they survive the wire and the store; nothing else is taken for them", async (t) => {
  const calls = { web_search: 3, "mcp:github/create_issue": 1 };
  t.same(callsFromFlat(callsToFlat(calls)), calls);
  t.same(callsAsTexts(calls), ["web_search=3", "mcp:github/create_issue=1"]);
  t.same(callsToFlat(undefined), []);
  t.equal(callsFromFlat([]), "none");
  for (const wrong of [
    null,
    {},
    ["a"],
    [1, "a"],
    ["a", "1"],
    ["__proto__", 1],
    new Array(200).fill(1),
  ])
    t.equal(callsFromFlat(wrong), undefined);
  for (const wrong of [{ "": 1 }, { a: 0 }, { a: 1.5 }, { a: 1e9 }, { "a\n": 1 }])
    t.notOk(areCalls(wrong), JSON.stringify(wrong));
});
