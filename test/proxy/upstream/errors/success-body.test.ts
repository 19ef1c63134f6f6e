import t from "tap";
import {
  errorInsideSuccess,
  isBrokenChat,
  isEmptyAnswer,
  isSomeAnswer,
} from "../../../../proxy/upstream/errors/success-body.js";
import { heldResponseBytesMax } from "../../../../shared/bounds.js";

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

t.test(
  "an error without a field of that name is one, unless something says it is an answer",
  async (t) => {
    for (const value of [
      { detail: "Internal error" },
      { detail: [{ msg: "x" }] },
      { message: "Service unavailable", status: 503 },
      { success: false, errors: [] },
      { errors: [{ message: "x" }] },
    ])
      t.equal(errorInsideSuccess(value), true, JSON.stringify(value));
    for (const value of [
      { message: "" },
      { message: { role: "assistant", content: "text" } },
      { id: "x", message: "queued" },
      { object: "thing", detail: "x" },
      { success: true },
      { message: "x", choices: [{}] },
      { message: "x", usage: {} },
    ])
      t.equal(errorInsideSuccess(value), false, JSON.stringify(value));
  },
);

t.test("what isn't JSON is an answer only if clients read it all the same", async (t) => {
  for (const text of [
    '{"data":[{"embedding":[NaN,-Infinity,1]}]}',
    '\ufeff{"choices":[1]}',
    '\u00ef\u00bb\u00bf {"choices":[1]}\n',
    `{${"x".repeat(heldResponseBytesMax)}}`,
  ])
    t.equal(isSomeAnswer(undefined, text), true, text.slice(0, 50));
  for (const text of [
    "{upstream timed out}",
    "{}}",
    '{"text":NaNs}',
    "",
    "[NaN]",
    "<html>{}</html>",
  ])
    t.equal(isSomeAnswer(undefined, text), false, text);
});

t.test("an error beside usage is no answer", async (t) => {
  const text = JSON.stringify({
    error: { message: "busy" },
    choices: [],
    usage: { total_tokens: 0 },
  });
  t.equal(isSomeAnswer({ usage: {} }, text), false);
  const answer = JSON.stringify({
    error: { message: "busy" },
    choices: [{ message: { content: "hi" } }],
  });
  t.equal(isSomeAnswer({ usage: {} }, answer), true);
});

t.test("a chat that says it broke off is told from a text that quotes it", async (t) => {
  const chat = (reason: string | null, content: string): string =>
    JSON.stringify({ choices: [{ message: { content }, finish_reason: reason }] });
  t.equal(isBrokenChat(chat("error", "half")), true);
  t.equal(isBrokenChat(chat("stop", "half")), false);
  t.equal(isBrokenChat(chat(null, '{"finish_reason":"error"}')), false);
  t.equal(isBrokenChat("{}"), false);
});
