import t from "tap";
import { chatToResponses, messagesToChat } from "../../../../proxy/dialects/choose-dialect.js";
import { composeTranslations } from "../../../../proxy/dialects/compose-translations.js";
import type {
  ClientEvent,
  JsonObject,
  Translation,
} from "../../../../proxy/dialects/shared/translation.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { assembleChat, assembleMessages } from "../assemble-stream.js";
import { context } from "../sample-answers.js";
import { response, responseAsChat, responseEvents } from "./sample-responses.js";

function streamed(
  events: readonly ClientEvent[],
  translation: Translation = chatToResponses,
): readonly ClientEvent[] {
  const translator = translation.events(context);
  return [
    ...events.flatMap(({ event, data }) => translator.push(event, data)),
    ...translator.end(),
  ];
}

const event = (value: JsonObject): ClientEvent => ({
  event: value["type"] as string,
  data: JSON.stringify(value),
});

t.test("a stream gives the same as the complete answer", async (t) => {
  t.same(assembleChat(streamed(responseEvents)), responseAsChat);
  t.same(assembleChat(streamed(chatToResponses.asEvents(response))), responseAsChat);
});

t.test("and for an Anthropic client, through chat completions", async (t) => {
  const toMessages = composeTranslations(messagesToChat, chatToResponses);
  const whole = toMessages.answer(response, context);
  const stream = assembleMessages(streamed(responseEvents, toMessages));
  // A chat message has its reasoning before its text; a stream keeps the order.
  const sorted = (message: JsonObject): unknown =>
    (message["content"] as { type: string }[]).map((block) => JSON.stringify(block)).sort();
  t.same(sorted(stream), sorted(whole));
  t.same(stream["usage"], whole["usage"]);
  t.equal(stream["stop_reason"], "tool_use");
});

t.test("custom calls, refusals and log probabilities are streamed", async (t) => {
  const logprobs = [{ token: "a", logprob: -1 }];
  const chunks = streamed([
    event({ type: "response.output_item.added", output_index: 0, item: { type: "message" } }),
    event({ type: "response.output_text.delta", output_index: 0, delta: "a", logprobs }),
    event({ type: "response.refusal.delta", output_index: 0, delta: "no" }),
    event({
      type: "response.output_item.added",
      output_index: 1,
      item: { type: "custom_tool_call", call_id: "c", name: "patch" },
    }),
    event({ type: "response.custom_tool_call_input.delta", output_index: 1, delta: "***" }),
    event({ type: "response.incomplete", response: { status: "incomplete" } }),
  ]).map(({ data }) => (data === "[DONE]" ? data : JSON.parse(data).choices[0]));
  t.match(
    chunks,
    exactly([
      { delta: { role: "assistant" } },
      { delta: { content: "a" }, logprobs: { content: logprobs } },
      { delta: { refusal: "no" } },
      { delta: { tool_calls: [{ index: 0, id: "c", type: "custom", custom: { name: "patch" } }] } },
      { delta: { tool_calls: [{ index: 0, custom: { input: "***" } }] } },
      { delta: {}, finish_reason: "length" },
      "[DONE]",
    ]),
  );
});

t.test("what the answer is charged knows the tier and the searches of the response", async (t) => {
  const usage = { input_tokens: 10, output_tokens: 2, total_tokens: 12 };
  const output = [{ type: "web_search_call", action: { type: "search" } }];
  for (const type of ["response.completed", "response.incomplete", "response.failed"]) {
    const translator = chatToResponses.events(context);
    const { data } = event({ type, response: { service_tier: "flex", output, usage } });
    translator.push(type, data);
    t.same(
      translator.usage,
      {
        ...usage,
        service_tier: "flex",
        server_tool_use: { web_search_requests: 1, file_search_requests: 0 },
      },
      type,
    );
  }
});

t.test("the thinking of an open item counts as held until the item is done", async (t) => {
  const translator = chatToResponses.events(context);
  const at = { output_index: 0 };
  const item = { type: "reasoning", id: "rs_1", encrypted_content: "gAAAAB" };
  const held = (value: JsonObject): number => {
    const { event: name, data } = event({ ...at, ...value });
    translator.push(name, data);
    return translator.heldBytes;
  };
  t.equal(held({ type: "response.output_item.added", item }), 0);
  const delta = "x".repeat(5000);
  t.equal(held({ type: "response.reasoning_summary_text.delta", delta }), 5000);
  t.equal(held({ type: "response.reasoning_summary_text.delta", delta }), 10_000);
  t.equal(held({ type: "response.output_item.done", item }), 0);
});

t.test("failures end the stream with an error, the first without a chunk before it", async (t) => {
  const created = event({ type: "response.created", response: { id: "resp_1" } });
  const error = { code: "rate_limit_exceeded", message: "slow down" };
  const failures: readonly (readonly [JsonObject, string])[] = [
    [{ type: "response.failed", response: { status: "failed", error } }, "slow down"],
    [{ type: "error", ...error, param: null }, "slow down"],
    [{ type: "error", error }, "slow down"],
  ];
  for (const [failure, message] of failures) {
    const [first, ...more] = streamed([created, event(failure), ...responseEvents]);
    t.match(JSON.parse(first!.data), { error: { type: "rate_limit_error", message } });
    t.same(more, []);
  }
  const untranslatable: readonly (readonly [JsonObject, RegExp])[] = [
    [{ type: "response.output_item.added", output_index: 0, item: 1 }, /not an object/],
    [{ type: "response.output_text.delta", output_index: 0, delta: 1 }, /not a text/],
    [{ type: "response.function_call_arguments.delta", output_index: 0, delta: "" }, /isn't open/],
    [{ type: "response.completed", response: null }, /without a response/],
  ];
  for (const [value, message] of untranslatable)
    t.match(JSON.parse(streamed([created, event(value)]).at(-1)!.data).error.message, message);
  t.match(JSON.parse(streamed([created])[0]!.data).error.message, /ended before/);
});
