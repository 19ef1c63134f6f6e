/** Properties that hold for every request of the Responses API. */
import assert from "node:assert/strict";
import fc from "fast-check";
import type { ResponseInputItem } from "openai/resources/responses/responses";
import t from "tap";
import { responsesToChat } from "../../../../proxy/dialects/choose-dialect.js";
import type { JsonObject } from "../../../../proxy/dialects/shared/translation.js";
import { options } from "../request-options.js";
import { translated } from "./translate-responses-request.js";

const text = fc.string({ unit: "grapheme" });
const name = fc.stringMatching(/^[a-z_]{1,8}$/);
const item: fc.Arbitrary<ResponseInputItem> = fc.oneof(
  fc.record({
    role: fc.constantFrom(
      "user" as const,
      "assistant" as const,
      "system" as const,
      "developer" as const,
    ),
    content: fc.oneof(
      text,
      fc.array(fc.record({ type: fc.constant("input_text" as const), text }), { maxLength: 3 }),
    ),
  }),
  fc.record({
    type: fc.constant("function_call" as const),
    call_id: name,
    name,
    arguments: fc.json(),
  }),
  fc.record({ type: fc.constant("custom_tool_call" as const), call_id: name, name, input: text }),
  fc.record({ type: fc.constant("function_call_output" as const), call_id: name, output: text }),
  fc.record({ type: fc.constant("reasoning" as const), id: name, summary: fc.constant<[]>([]) }),
);
const functionTool = fc.record({
  type: fc.constant("function" as const),
  name,
  description: text,
  parameters: fc.dictionary(name, fc.jsonValue()),
  strict: fc.constantFrom(true, false, null),
});

/** The content of a conversation in order: roles and texts, calls and outputs with their ids. */
function contentOfItems(items: readonly ResponseInputItem[]): unknown[] {
  return items.flatMap((each): unknown[] => {
    if (each.type === "function_call") return [["call", each.call_id, each.name, each.arguments]];
    if (each.type === "custom_tool_call") return [["call", each.call_id, each.name, each.input]];
    if (each.type === "function_call_output") return [["output", each.call_id, each.output]];
    if (!("role" in each) || each.type === "additional_tools") return [];
    const texts =
      typeof each.content === "string"
        ? [each.content]
        : each.content!.map((part) => (part as { text: string }).text);
    return [[each.role === "developer" ? "system" : each.role, texts.join("|")]];
  });
}

function contentOfMessages(messages: readonly JsonObject[]): unknown[] {
  return messages.flatMap((message): unknown[] => {
    const content = message["content"] as string | readonly { text: string }[] | null;
    const texts =
      content === null
        ? null
        : typeof content === "string"
          ? content
          : content.map((part) => part.text).join("|");
    if (message["role"] === "tool") return [["output", message["tool_call_id"], texts]];
    const calls = (
      (message["tool_calls"] ?? []) as {
        id: string;
        function?: { name: string; arguments: string };
        custom?: { name: string; input: string };
      }[]
    ).map((call) => [
      "call",
      call.id,
      (call.function ?? call.custom)!.name,
      call.function?.arguments ?? call.custom!.input,
    ]);
    return texts === null ? calls : [[message["role"], texts], ...calls];
  });
}

t.test("every text, call, output and tool is kept, in order", async () => {
  fc.assert(
    fc.property(
      fc.array(item, { maxLength: 12 }),
      fc.array(functionTool, { maxLength: 3 }),
      text,
      (items, tools, instructions) => {
        const input: ResponseInputItem[] = [{ role: "user", content: "begin" }];
        // A text of the assistant after a call is moved before it;
        // `responses-input-to-chat.test.ts` has those cases.
        for (const each of items)
          if (
            !(
              "role" in each &&
              each.role === "assistant" &&
              /_call$/.test(input.findLast(({ type }) => type !== "reasoning")!.type ?? "")
            )
          )
            input.push(each);
        const chat = translated({ model: "m", instructions, input, tools });
        assert.deepEqual(contentOfMessages(chat["messages"] as JsonObject[]), [
          ["system", instructions],
          ...contentOfItems(input),
        ]);
        const expected = tools.map(({ name, description, parameters, strict }) => ({
          type: "function",
          function: { name, description, parameters, ...(strict === null ? {} : { strict }) },
        }));
        assert.deepEqual(chat["tools"] ?? [], JSON.parse(JSON.stringify(expected)));
      },
    ),
    { numRuns: 300 },
  );
});

const fieldNames = [
  "model",
  "instructions",
  "input",
  "tools",
  "tool_choice",
  "parallel_tool_calls",
  "text",
  "reasoning",
  "include",
  "stream",
  "stream_options",
  "max_output_tokens",
  "metadata",
  "store",
  "top_logprobs",
  "prompt",
  "nope",
];

t.test("any JSON is translated or refused with the field's name, and isn't modified", async () => {
  const odd = fc.oneof(
    fc.jsonValue(),
    fc.array(
      fc.record(
        {
          type: fc.constantFrom(
            "function",
            "custom",
            "message",
            "function_call",
            "input_text",
            "grammar",
            "allowed_tools",
          ),
          name: fc.jsonValue(),
          content: fc.jsonValue(),
          role: fc.constantFrom("user", "assistant", 1),
          format: fc.jsonValue(),
        },
        { requiredKeys: [] },
      ),
    ),
  );
  fc.assert(
    fc.property(fc.dictionary(fc.constantFrom(...fieldNames), odd), (body) => {
      const before = JSON.stringify(body);
      const result = responsesToChat.request(body, options);
      assert.equal(JSON.stringify(body), before);
      if (!result.ok)
        assert.ok(
          fieldNames.includes(result.failure.param!.split(/[.[]/)[0]!),
          result.failure.message,
        );
    }),
    { numRuns: 300 },
  );
});
