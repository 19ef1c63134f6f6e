import t from "tap";
import {
  errorInsideSuccess,
  isEmptyAnswer,
} from "../../../../proxy/upstream/errors/success-body.js";

t.test("an error instead of an answer is an error, whatever the status", async (t) => {
  for (const value of [
    { error: {} },
    { error: { message: "x" } },
    { id: "1", choices: [], error: { code: 429 } },
    { choices: null, error: {} },
    { error: "text" },
    { error: "text", data: [], content: [], text: "" },
    { object: "error", message: "x" },
  ])
    t.equal(errorInsideSuccess(value), true, JSON.stringify(value));
  for (const value of [
    { error: null },
    { error: "" },
    { error: " " },
    { error: [] },
    { error: "x", content: [{ type: "text" }] },
    { error: "x", data: [{}] },
    { error: "", text: "said" },
    { object: "response", error: { message: "x" } },
    { object: "list", message: "x" },
    {},
    null,
    undefined,
    [],
    [{ error: {} }],
    "error",
    { choices: [{}], error: { message: "x" } },
    { choices: [{ error: {} }] },
  ])
    t.equal(errorInsideSuccess(value), false, JSON.stringify(value));
});

t.test("an answer is empty if no choice has a text, however it is written", async (t) => {
  const chat = (choices: unknown): object => ({ object: "chat.completion", choices });
  const failed = { finish_reason: "MALFORMED_FUNCTION_CALL" };
  for (const value of [
    chat([]),
    chat(null),
    { choices: null, provider: { choices: [{ message: { content: "text" } }] } },
    { content: "text", ...chat(null) },
    { ...chat(null), content: "text" },
    chat([{ ...failed, message: { content: "" } }]),
    chat([{ ...failed, message: { content: null, reasoning_content: "thought" } }]),
  ])
    for (const text of [JSON.stringify(value), JSON.stringify(value, null, 2)])
      t.equal(isEmptyAnswer(text), true, text);
  for (const value of [
    chat([{ message: { content: "text" } }]),
    chat([{ ...failed, message: { content: "text" } }]),
    chat([{ message: { content: "", tool_calls: [{ id: "call_1" }] } }]),
    chat([{ message: { content: '"choices":null' }, logprobs: { content: [] } }]),
  ])
    for (const text of [JSON.stringify(value), JSON.stringify(value, null, 2)])
      t.equal(isEmptyAnswer(text), false, text);
});
