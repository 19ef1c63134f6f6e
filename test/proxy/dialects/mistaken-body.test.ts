import t from "tap";
import { bodyOfPath } from "../../../proxy/dialects/mistaken-body.js";
import { exactly } from "../../support/patterns/exactly.js";

t.test("a response's request becomes a chat request", async (t) => {
  t.strictSame(
    bodyOfPath("chat_completions", {
      model: "m",
      input: "x",
      stream: true,
      max_output_tokens: 9,
      background: false,
      truncation: "auto",
    }),
    {
      ok: true,
      body: {
        model: "m",
        messages: [{ role: "user", content: "x" }],
        stream: true,
        max_completion_tokens: 9,
      },
      dropped: ["truncation"],
    },
  );
});

t.test("the options of a chat completion's stream stay", async (t) => {
  const options = { include_usage: false };
  t.match(bodyOfPath("chat_completions", { model: "m", input: "x", stream_options: options }), {
    body: { stream_options: options },
  });
});

t.test("turns in place of items stay turns, after the instructions", async (t) => {
  const call = { id: "a", type: "function", function: { name: "f", arguments: "{}" } };
  const input = [
    { role: "user", content: [{ type: "input_text", text: "x" }] },
    { role: "assistant", content: null, tool_calls: [call] },
    { role: "tool", tool_call_id: "a", content: "y" },
  ];
  const messages = [
    { role: "system", content: "s" },
    { role: "user", content: [{ type: "text", text: "x" }] },
    ...input.slice(1),
  ];
  t.match(
    bodyOfPath("chat_completions", { model: "m", instructions: "s", input }),
    exactly({ body: { messages } }),
  );
});

t.test("items among turns are refused by their type", async (t) => {
  const input = [{ type: "item_reference", id: "msg_1" }];
  t.match(bodyOfPath("chat_completions", { model: "m", input }), {
    ok: false,
    failure: { param: "input[0]" },
  });
});

t.test("a chat request becomes a response's request", async (t) => {
  const chat = { model: "m", messages: [{ role: "user", content: "x" }], max_tokens: 100, n: 1 };
  t.match(
    bodyOfPath("responses", chat),
    exactly({ body: { model: "m", input: [{ role: "user" }], max_output_tokens: 100 } }),
  );
  t.match(bodyOfPath("responses", { ...chat, n: 2 }), { ok: false, failure: { param: "n" } });
});

t.test("a body that is nested too deeply is refused, wherever it is", async (t) => {
  const deep = JSON.parse(`${"[".repeat(20_000)}${"]".repeat(20_000)}`) as unknown;
  const input = [
    {
      role: "assistant",
      content: [{ type: "tool_use", id: "a", name: "f", input: { deep } }],
    },
  ];
  t.match(bodyOfPath("chat_completions", { model: "m", input }), {
    ok: false,
    failure: { param: "input" },
  });
  t.match(bodyOfPath("chat_completions", { model: "m", input: "x", stream_options: { deep } }), {
    ok: false,
    failure: { param: "stream_options" },
  });
  t.match(bodyOfPath("responses", { model: "m", messages: [deep] }), {
    ok: false,
    failure: { param: "messages" },
  });
});

t.test("fields of the path's own API stay, such as a limit of the output", async (t) => {
  const ofChat = { max_tokens: 9, stop: ["a"], reasoning_effort: "low", metadata: { a: "b" } };
  t.strictSame(bodyOfPath("chat_completions", { model: "m", input: "x", ...ofChat, n: null }), {
    ok: true,
    body: { model: "m", messages: [{ role: "user", content: "x" }], ...ofChat },
    dropped: [],
  });
  const ofResponses = {
    max_output_tokens: 9,
    instructions: "s",
    previous_response_id: "resp_1",
    reasoning: { effort: "low", summary: "auto" },
    store: true,
  };
  const messages = [{ role: "user", content: "x" }];
  t.match(
    bodyOfPath("responses", { model: "m", messages, ...ofResponses, system: "t" }),
    exactly({
      body: { ...ofResponses, input: [{ role: "system" }, { role: "user" }] },
      dropped: [],
    }),
  );
});
