import t from "tap";
import { JsonPicker } from "../../../proxy/body/json-picker.js";
import { toolCallsIn, withCountedCalls } from "../../../proxy/usage/answered-tools.js";
import { usageAtEnd, usagePicks } from "../../../proxy/usage/find-usage.js";
import { createStreamTap } from "../../../proxy/usage/tap-stream.js";
import type { Operation } from "../../../shared/operation.js";
import { detailsOf } from "../../../shared/usage/usage-details.js";

const usage = { input_tokens: 9, output_tokens: 3, total_tokens: 12 };

/** An answer of each dialect, and the calls in it. */
const answers: readonly {
  readonly name: string;
  readonly operation: Operation;
  readonly whole: object;
  readonly calls: Readonly<Record<string, number>> | undefined;
}[] = [
  {
    name: "items of the Responses API",
    operation: "responses",
    whole: {
      output: [
        { type: "mcp_list_tools", server_label: "GitHub", tools: [] },
        { type: "mcp_call", server_label: "GitHub", name: "create_issue", output: "{}" },
        { type: "mcp_call", server_label: "GitHub", name: "create_issue", error: "no" },
        { type: "web_search_call", action: { type: "search" } },
        { type: "web_search_call", action: { type: "open_page" } },
        { type: "code_interpreter_call", container_id: "c" },
        { type: "image_generation_call", result: "AAAA" },
        { type: "function_call", name: "mcp_call", arguments: '{"type":"mcp_call"}' },
      ],
      usage,
    },
    calls: {
      "mcp:github/create_issue": 2,
      web_search: 2,
      code_execution: 1,
      image_generation: 1,
    },
  },
  {
    name: "blocks of Messages",
    operation: "messages",
    whole: {
      content: [
        { type: "text", text: '"type":"mcp_tool_use"' },
        { type: "mcp_tool_use", server_name: "linear", name: "search", input: {} },
        { type: "server_tool_use", name: "web_search", input: { query: "x" } },
        { type: "server_tool_use", name: "bash_code_execution", input: {} },
        { type: "server_tool_use", name: "web_fetch", input: {} },
        { type: "tool_use", name: "web_search", input: {} },
      ],
      usage: { input_tokens: 9, output_tokens: 3, server_tool_use: { web_search_requests: 1 } },
    },
    calls: { "mcp:linear/search": 1, web_search: 1, code_execution: 1, web_fetch: 1 },
  },
  {
    name: "parts of Gemini",
    operation: "stream_generate_content",
    whole: {
      candidates: [
        {
          content: { parts: [{ executableCode: { code: "1" } }, { text: "one" }] },
          urlContextMetadata: { urlMetadata: [{ retrievedUrl: "a" }, { retrievedUrl: "b" }] },
        },
      ],
      usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 3, totalTokenCount: 12 },
    },
    calls: { code_execution: 1, web_fetch: 2 },
  },
  {
    name: "an answer without tools",
    operation: "responses",
    whole: { output: [{ type: "message", content: [{ type: "output_text", text: "a" }] }], usage },
    calls: undefined,
  },
];

function eventsOf({ operation, whole }: (typeof answers)[number]): readonly object[] {
  const { output, content } = whole as {
    readonly output?: readonly object[];
    readonly content?: readonly object[];
  };
  if (operation === "responses")
    return [
      ...(output ?? []).flatMap((item) => [
        { type: "response.output_item.added", item: { ...item, status: "in_progress" } },
        { type: "response.output_item.done", item },
      ]),
      { type: "response.completed", response: whole },
    ];
  if (operation === "messages")
    return [
      { type: "message_start", message: { usage: { input_tokens: 9, output_tokens: 1 } } },
      ...(content ?? []).map((block) => ({ type: "content_block_start", content_block: block })),
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 3 } },
      { type: "message_stop" },
    ];
  return [whole];
}

for (const answer of answers)
  t.test(answer.name, async (t) => {
    const text = JSON.stringify(answer.whole);
    const read = usageAtEnd(text) ?? JSON.parse(text);
    t.same(toolCallsIn(read), answer.calls, "whole");
    const picker = new JsonPicker(usagePicks);
    for (const byte of Buffer.from(text)) picker.append(Buffer.of(byte));
    if (answer.operation !== "stream_generate_content")
      t.same(toolCallsIn(picker.value()), answer.calls, "too large to hold");
    const tap = createStreamTap({ operation: answer.operation, hideUsageChunk: false });
    for (const event of eventsOf(answer))
      tap.push(Buffer.from(`data: ${JSON.stringify(event)}\n\n`));
    tap.end();
    t.same(tap.toolCalls, answer.calls, "streamed");
  });

t.test("calls that only the usage counts are added once", async (t) => {
  const details = detailsOf(null, { webSearches: 3, fileSearches: 1, mapsSearches: 2 });
  t.same(withCountedCalls({ web_search: 2 }, details), {
    web_search: 2,
    file_search: 1,
    maps_search: 2,
  });
  t.equal(withCountedCalls(undefined, null), undefined);
});
