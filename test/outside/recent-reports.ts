/** Reports of the second half of 2026 about agents and the hosts behind them, of several kinds. */
import { exactly } from "../support/patterns/exactly.js";
import type { OutsideCase, Seen } from "./outside-case.js";
import {
  chat,
  chatCall,
  chatTool,
  chunk,
  completionOf,
  done,
  events,
  google,
  messages,
  noArguments,
  responses,
  usageChunk,
} from "./requests.js";

const vllm = "vllm/qwen3-coder";
const claude = "anthropic/claude-opus-4-8";
const tools = [{ name: "read", input_schema: { type: "object", properties: { path: {} } } }];
const piece = (call: object): object => chunk({ tool_calls: [{ index: 0, ...call }] });
const typesOf = ({ events }: Seen): unknown[] => events.map(({ type }) => type);

/** The blocks that a stream of messages begins. */
function blocksOf({ events }: Seen): { type: string; id?: string; name?: string }[] {
  return events.flatMap(({ content_block: block }) =>
    block === undefined ? [] : [block as never],
  );
}

function argumentsOf({ events }: Seen): string {
  return events
    .map(({ delta }) => (delta as { partial_json?: string } | undefined)?.partial_json ?? "")
    .join("");
}

export const recentReports: readonly OutsideCase[] = [
  {
    id: "placeholder-first",
    kind: "streams",
    source: ["vercel/ai#20829", "vercel/ai#20837"],
    request: messages({ model: vllm, stream: true }),
    events: events([
      { id: "", object: "", created: 0, model: "", choices: [], prompt_filter_results: [] },
      chunk({ role: "assistant", content: "hi" }),
      chunk({}, {}, "stop"),
      usageChunk,
      done,
    ]),
    result: "passed",
    right: "a first chunk without id, model and choices begins no answer of its own",
    check(t, seen) {
      t.equal(typesOf(seen).filter((type) => type === "message_start").length, 1);
      const [{ message }] = seen.events as unknown as [{ message: { id: string; model: string } }];
      t.not(message.id, "");
      t.not(message.model, "");
    },
  },
  {
    id: "no-done-after-the-end",
    kind: "streams",
    source: ["openai/codex#41989"],
    request: responses({ model: vllm, stream: true }),
    events: events([chunk({ content: "hi" }), chunk({}, {}, "stop")]),
    result: "passed",
    right: "Codex needs response.completed, also of a host that sends no [DONE] and no usage",
    check: (t, seen) => t.equal(typesOf(seen).at(-1), "response.completed"),
  },
  {
    id: "cut-without-a-reason",
    kind: "streams",
    source: ["ollama/ollama#18332", "openai/codex#45412"],
    request: responses({ model: vllm, stream: true }),
    events: events([chunk({ content: "hi" })]),
    result: "passed",
    right:
      "a stream that ends in the middle is a failure for Codex, and no answer that is complete",
    check(t, seen) {
      t.notOk(typesOf(seen).includes("response.completed"));
      t.ok(seen.cut || ["response.failed", "error"].includes(String(typesOf(seen).at(-1))));
    },
  },
  {
    id: "pieces-with-an-empty-name",
    kind: "pieces of calls",
    source: ["anomalyco/opencode#43199"],
    request: messages({ model: vllm, tools, stream: true }),
    events: events([
      piece({ id: "c1", type: "function", function: { name: "read", arguments: '{"path":"C:' } }),
      piece({ type: "function", function: { name: "", arguments: '\\\\x"}' } }),
      chunk({}, {}, "tool_calls"),
      usageChunk,
      done,
    ]),
    result: "passed",
    right: "pieces of Mistral's GLM without an id and with an empty name continue their call",
    check(t, seen) {
      t.match(blocksOf(seen), exactly([{ type: "tool_use", id: "c1", name: "read" }]));
      t.same(JSON.parse(argumentsOf(seen)), { path: "C:\\x" });
    },
  },
  {
    id: "calls-without-a-finish-reason",
    kind: "pieces of calls",
    source: ["ltmoerdani/opencode-copilot-chat#97"],
    request: messages({ model: vllm, tools, stream: true }),
    events: events([
      piece({ id: "c1", type: "function", function: { name: "read", arguments: "{}" } }),
      usageChunk,
      done,
    ]),
    result: "passed",
    right: "a call at the end of a stream whose last chunk has no reason is for the client to run",
    check(t, seen) {
      t.match(blocksOf(seen), exactly([{ type: "tool_use", id: "c1", name: "read" }]));
      const ended = seen.events.find(({ type }) => type === "message_delta");
      t.match(ended, { delta: { stop_reason: "tool_use" } });
    },
  },
  {
    id: "two-calls-of-one-id",
    kind: "pieces of calls",
    source: ["vercel/ai#3953", "zed-industries/zed#58235"],
    request: messages({ model: vllm, tools }),
    answer: completionOf({
      message: {
        role: "assistant",
        content: null,
        tool_calls: [chatCall("call_0", "read"), chatCall("call_0", "read")],
      },
      finish_reason: "tool_calls",
    }),
    right: "each call has an id of its own, by which its result is found",
    receives: { content: [{ id: "call_0" }, { id: "call_0_2" }] },
  },
  {
    id: "items-of-two-turns",
    kind: "history order",
    source: ["earendil-works/pi#5151", "vercel/ai#7883"],
    request: responses({
      model: "openai/gpt-5",
      input: [
        { role: "user", content: "x" },
        { role: "assistant", content: "a" },
        { type: "function_call", call_id: "c1", name: "read", arguments: "{}" },
        { type: "function_call_output", call_id: "c1", output: "b" },
      ],
    }),
    result: "passed",
    right: "items without ids get none on the way, so that none occurs twice",
    check(t, { sent }) {
      const { input } = sent.at(-1)!.body as { input: { id?: string }[] };
      const ids = input.flatMap(({ id }) => (id === undefined ? [] : [id]));
      t.equal(new Set(ids).size, ids.length);
    },
  },
  {
    id: "newer-betas",
    kind: "fields by host",
    source: ["router-for-me/CLIProxyAPI#5738", "router-for-me/CLIProxyAPI#5745"],
    request: {
      ...messages({ model: claude }),
      headers: { "anthropic-beta": "per-turn-control-2026-07-01,not-known-yet-2027-01-01" },
    },
    result: "passed",
    right: "Anthropic gets the betas of a Claude Code that is newer than the gateway",
    check(t, { sent }) {
      t.equal(
        sent.at(-1)!.headers["anthropic-beta"],
        "per-turn-control-2026-07-01,not-known-yet-2027-01-01",
      );
    },
  },
  {
    id: "diagnostics-of-claude-code",
    kind: "fields by host",
    source: ["experientiallabs/experiential#679"],
    request: {
      ...messages({
        model: "openai/gpt-4o",
        diagnostics: { previous_message_id: null },
        speed: "fast",
      }),
      headers: { "anthropic-beta": "cache-diagnosis-2026-04-07,fast-mode-2026-02-01" },
    },
    result: "passed",
    right: "OpenAI gets no diagnostics of Anthropic's cache, and its own name for the speed",
    sends: { service_tier: "priority" },
    lacks: ["diagnostics", "speed"],
  },
  {
    id: "model-in-the-query",
    kind: "HTTP",
    source: ["BerriAI/litellm#41810"],
    request: { ...chat({ model: vllm }), path: "/v1/chat/completions?model=openai/gpt-4o" },
    result: "passed",
    right: "the model is the body's, whatever the query says",
    check(t, { sent }) {
      t.equal(sent.at(-1)!.provider, "vllm");
      t.equal(sent.at(-1)!.body["model"], "qwen3-coder");
    },
  },
  {
    id: "custom-tool-in-a-namespace",
    kind: "tools",
    source: ["router-for-me/CLIProxyAPI#4850", "openai/codex#32318", "openai/codex#26234"],
    request: responses({
      model: vllm,
      input: [
        {
          type: "additional_tools",
          role: "developer",
          tools: [
            {
              type: "namespace",
              name: "functions",
              description: "d",
              tools: [{ type: "custom", name: "exec", description: "runs" }],
            },
          ],
        },
        { role: "user", content: "x" },
      ],
    }),
    answer: (sent) => {
      const { tools: given } = sent.at(-1)!.body as { tools: { function: { name: string } }[] };
      return completionOf({
        message: {
          role: "assistant",
          content: null,
          tool_calls: [chatCall("c1", given[0]!.function.name, '{"input":"ls"}')],
        },
        finish_reason: "tool_calls",
      });
    },
    result: "passed",
    right: "Codex gets its own name and namespace back, and the tool's free text",
    check(t, { body }) {
      const { output } = body as { output: readonly object[] };
      t.match(output.at(-1), {
        type: "custom_tool_call",
        name: "exec",
        namespace: "functions",
        input: "ls",
      });
    },
  },
  {
    id: "tools-at-gpt-5-6",
    kind: "tools",
    source: ["HKUDS/DeepTutor#708", "aronjanosch/chronicle-keeper#15"],
    request: chat({
      model: "openai/gpt-5.6-sol",
      tools: [chatTool("read")],
      reasoning_effort: "high",
    }),
    result: "passed",
    right: "GPT-5.6 takes tools beside an effort in the Responses API alone",
    check: (t, { sent }) => t.match(sent.at(-1)!.path, /\/responses$/),
  },
  {
    id: "two-calls-of-one-id-for-google",
    kind: "pieces of calls",
    source: ["vercel/ai#3953"],
    request: google(
      vllm,
      { tools: [{ functionDeclarations: [{ name: "read", parameters: noArguments }] }] },
      "streamGenerateContent?alt=sse",
    ),
    events: events([
      chunk({ tool_calls: [{ index: 0, ...chatCall("call_0", "read") }] }),
      chunk({ tool_calls: [{ index: 1, ...chatCall("call_0", "read") }] }),
      chunk({}, {}, "tool_calls"),
      usageChunk,
      done,
    ]),
    right: "each call has an id of its own, by which its result is found",
    check(t, { text }) {
      const ids = [...text.matchAll(/"functionCall":\{"id":"([^"]*)"/g)].map(([, id]) => id);
      t.same(ids, ["call_0", "call_0_2"]);
    },
  },
];
