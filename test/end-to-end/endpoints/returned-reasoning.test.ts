/**
 * The reasoning of translated responses, through real processes: a client gets it as
 * `encrypted_content`, sends it back as Codex does, and the provider receives its own form of it.
 */
import t from "tap";
import { signature } from "../../clients/providers/messages-rules.js";
import { startOutsideGateway } from "../../outside/gateway.js";
import type { OutsideCase, ProviderAnswer, Seen } from "../../outside/outside-case.js";
import { completionOf, google, messages, responses } from "../../outside/requests.js";
import { exactly } from "../../support/patterns/exactly.js";

const gateway = await startOutsideGateway(t);

type Item = Readonly<Record<string, unknown>>;

const ofClaude = [
  { type: "thinking", thinking: "the weather, then", signature },
  { type: "redacted_thinking", data: "cmVkYWN0ZWQ=" },
];
const claudeBlocks: readonly Item[] = [
  ...ofClaude,
  { type: "tool_use", id: "toolu_1", name: "weather", input: {} },
];
const claudeAnswer = {
  id: "msg_1",
  type: "message",
  role: "assistant",
  model: "m",
  content: claudeBlocks,
  stop_reason: "tool_use",
  stop_sequence: null,
  usage: { input_tokens: 9, output_tokens: 3 },
};

function claudeStream(blocks = claudeBlocks): string {
  const { content: _, ...message } = claudeAnswer;
  const deltas = (block: Item): Item[] =>
    block["type"] === "thinking"
      ? [
          { type: "thinking_delta", thinking: block["thinking"] },
          { type: "signature_delta", signature: block["signature"] },
        ]
      : [];
  const begun = (block: Item): Item =>
    block["type"] === "thinking" ? { ...block, thinking: "", signature: "" } : block;
  const events: Item[] = [
    { type: "message_start", message: { ...message, content: [], stop_reason: null } },
    ...blocks.flatMap((block, index): Item[] => [
      { type: "content_block_start", index, content_block: begun(block) },
      ...deltas(block).map((delta) => ({ type: "content_block_delta", index, delta })),
      { type: "content_block_stop", index },
    ]),
    {
      type: "message_delta",
      delta: { stop_reason: "tool_use", stop_sequence: null },
      usage: { output_tokens: 3 },
    },
    { type: "message_stop" },
  ];
  return events
    .map((event) => `event: ${String(event["type"])}\ndata: ${JSON.stringify(event)}\n\n`)
    .join("");
}

const call = {
  id: "call_1",
  type: "function",
  function: { name: "weather", arguments: "{}" },
};
const signed = { extra_content: { google: { thought_signature: "dGhvdWdodA==" } } };

/** An answer of chat completions that reasons and calls the tool. */
function chatAnswer(more: object): OutsideCase["answer"] {
  return {
    body: {
      id: "chatcmpl-1",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [
        {
          index: 0,
          message: {
            role: "assistant",
            content: null,
            reasoning_content: "the weather, then",
            tool_calls: [{ ...call, ...more }],
          },
          finish_reason: "tool_calls",
        },
      ],
      usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 },
    },
  };
}

const chatDeltas = (more: object): OutsideCase["events"] => [
  { role: "assistant", reasoning_content: "the weather, " },
  { reasoning_content: "then" },
  { tool_calls: [{ index: 0, ...call, ...more }] },
  { finish_reason: "tool_calls" },
];

const include = { include: ["reasoning.encrypted_content"] };

const providers: readonly {
  readonly model: string;
  readonly answer: OutsideCase["answer"];
  readonly events: OutsideCase["events"];
  /** What the provider must receive of its own answer with the next request. */
  readonly back: object;
  /** Whether a client that relies on stored responses gets the reasoning without asking. */
  readonly unasked: boolean;
}[] = [
  {
    model: "anthropic/claude-opus-4-8",
    answer: { body: claudeAnswer },
    events: claudeStream(),
    back: { role: "assistant", content: claudeBlocks },
    unasked: true,
  },
  {
    model: "gemini/gemini-3-pro-preview",
    answer: chatAnswer(signed),
    events: chatDeltas(signed),
    back: { role: "assistant", tool_calls: [{ ...call, ...signed }] },
    unasked: false,
  },
  {
    model: "vllm/qwen3-coder",
    answer: chatAnswer({}),
    events: chatDeltas({}),
    back: { role: "assistant", reasoning_content: "the weather, then", tool_calls: [call] },
    unasked: false,
  },
];

const question = { role: "user", content: "What is the weather?" };
const kept = {
  id: "returned-reasoning",
  kind: "encrypted reasoning",
  source: ["openai/codex"],
  right: "the reasoning comes back to its provider",
};

function requestOf(model: string, input: readonly Item[], fields: object): OutsideCase["request"] {
  const tools = [{ type: "function", name: "weather", parameters: { type: "object" } }];
  const body = { model, tools, input, reasoning: { effort: "high" }, ...fields };
  return { path: "/v1/responses", body };
}

function outputOf({ body, events }: Seen): readonly Item[] {
  const { response } = (events.at(-1) ?? { response: body }) as { response: { output: Item[] } };
  return response.output;
}

/** As Codex sends items back: without ids, and of reasoning only what is encrypted. */
function fromCodex({ id: _id, status: _status, ...item }: Item): Item {
  if (item["type"] !== "reasoning") return item;
  return { type: "reasoning", summary: [], encrypted_content: item["encrypted_content"] };
}

t.test("a conversation is compacted, and its summary comes back as a message", async (t) => {
  const model = "anthropic/claude-opus-4-8";
  const events = claudeStream([{ type: "text", text: "the summary" }]);
  const fields = { ...include, store: false, stream: true };
  const compacted = await gateway.play({
    ...kept,
    request: requestOf(model, [question, { type: "compaction_trigger" }], fields),
    events,
  });
  t.match(compacted.sent.at(-1)!.body, { tool_choice: { type: "none" } });
  const item = outputOf(compacted).at(-1)!;
  t.match(item, { type: "compaction", encrypted_content: /^sluice_/ });
  t.match(compacted.events.at(-2), { type: "response.output_item.done", item });
  const { sent } = await gateway.play({
    ...kept,
    request: requestOf(model, [item, question], fields),
    events,
  });
  t.match(JSON.stringify(sent.at(-1)!.body["messages"]), /the summary.*What is the weather/);
});

const counted = { usage: { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 } };
const said = (content: string): object => ({
  message: { role: "assistant", content },
  finish_reason: "stop",
});

/** The models and what they say when asked for a summary. */
const summaries: readonly (readonly [model: string, answer: ProviderAnswer])[] = [
  [
    "anthropic/claude-opus-4-8",
    {
      body: {
        ...claudeAnswer,
        content: [...ofClaude, { type: "text", text: "the summary" }],
        stop_reason: "end_turn",
      },
    },
  ],
  ...["gemini/gemini-3-pro-preview", "vllm/qwen3-coder"].map(
    (model) => [model, completionOf(said("the summary"), counted)] as const,
  ),
];

/** `POST /v1/responses/compact` with the fields that Codex and OpenAI's types send. */
function compactOf(model: string, input: unknown): OutsideCase["request"] {
  const tools = [{ type: "function", name: "weather", parameters: { type: "object" } }];
  const fields = { instructions: "Be brief.", tools, parallel_tool_calls: true };
  return { path: "/v1/responses/compact", body: { model, input, ...fields } };
}

const longInput = [
  question,
  { type: "function_call", call_id: "c1", name: "weather", arguments: "{}" },
  { type: "function_call_output", call_id: "c1", output: "rain" },
  { role: "assistant", content: "Rain." },
];

for (const [model, answer] of summaries)
  t.test(`${model} compacts a conversation, which goes on at any provider`, async (t) => {
    const compacted = await gateway.play({ ...kept, request: compactOf(model, longInput), answer });
    t.equal(compacted.status, 200, compacted.text.slice(0, 300));
    t.same(compacted.refused, []);
    const { sent, body } = compacted;
    const asked = sent.at(-1)!.body;
    t.equal(sent.length, 1);
    t.match(JSON.stringify(asked), /Summarize this conversation/);
    t.match(asked["tool_choice"], model.startsWith("anthropic") ? { type: "none" } : "none");
    t.match(
      body,
      exactly({
        id: /^resp_/,
        object: "response.compaction",
        created_at: Number,
        output: [
          {
            type: "message",
            status: "completed",
            role: "user",
            content: [{ type: "input_text", text: question.content }],
          },
          { id: /^cmp_/, type: "compaction", encrypted_content: /^sluice_/ },
        ],
        usage: { input_tokens: 9, output_tokens: 3, total_tokens: 12 },
      }),
    );
    const { output } = body as { output: Item[] };
    for (const next of ["openai/gpt-5.5", ...summaries.map(([other]) => other)]) {
      const { sent, status, text } = await gateway.play({
        ...kept,
        request: responses({ model: next, input: [...output, question], store: false }),
      });
      t.equal(status, 200, `${next}: ${text.slice(0, 300)}`);
      t.match(sent.at(-1)!.text, /the summary/, next);
    }
    const again = await gateway.play({
      ...kept,
      request: compactOf(model, [...output, question]),
      answer,
    });
    t.match(again.sent.at(-1)!.text, /the summary/, "an earlier summary is a part of the next");
    const ofText = await gateway.play({ ...kept, request: compactOf(model, "Hello."), answer });
    const { output: short } = ofText.body as { output: Item[] };
    t.match(short, exactly([{ content: [{ text: "Hello." }] }, { type: "compaction" }]));
  });

t.test("without a complete summary there is no compaction", async (t) => {
  const { content: _, ...message } = claudeAnswer;
  const text = { type: "text", text: "the beginning of" };
  const cut = { body: { ...message, content: [text], stop_reason: "max_tokens" } };
  for (const answer of [cut, { body: claudeAnswer }]) {
    const { status, body } = await gateway.play({
      ...kept,
      request: compactOf("anthropic/claude-opus-4-8", longInput),
      answer,
    });
    t.equal(status, 502);
    t.match(body, { error: { message: /no complete summary of the conversation/ } });
  }
});

t.test("a compaction needs the conversation, which nothing stores", async (t) => {
  const { path, body } = compactOf("vllm/qwen3-coder", undefined);
  const request = { path, body: { ...body, previous_response_id: "resp_1" } };
  const { status, body: refusal, sent } = await gateway.play({ ...kept, request });
  t.same([status, sent.length], [400, 0]);
  t.match(refusal, { error: { param: "previous_response_id" } });
});

const format = "google-gemini-v1";
const sealed = {
  type: "reasoning.encrypted",
  data: "dGhvdWdodA==",
  id: "call_1",
  format,
  index: 1,
};
const thought = { type: "reasoning.text", format: "anthropic-claude-v1", index: 0 };
const signedThought = { ...thought, text: "the weather, then", signature: "c2ln" };
const toolCalls = { tool_calls: [{ index: 0, ...call }] };

/** What OpenRouter answers with `reasoning_details`, and which of them it must get back. */
const detailed: readonly {
  readonly model: string;
  readonly details: readonly Item[];
  readonly deltas: readonly Item[];
  readonly back: readonly Item[];
}[] = [
  {
    model: "google/gemini-3-pro-preview",
    details: [{ type: "reasoning.text", text: "the weather, then", format, index: 0 }, sealed],
    deltas: [
      {
        reasoning: "the weather, then",
        reasoning_details: [
          { type: "reasoning.text", text: "the weather, then", format, index: 0 },
        ],
      },
      toolCalls,
      { reasoning_details: [sealed] },
    ],
    back: [sealed],
  },
  {
    model: "anthropic/claude-opus-4.8",
    details: [signedThought],
    deltas: [
      ...["the weather, ", "then"].map((text) => ({
        reasoning: text,
        reasoning_details: [{ ...thought, text }],
      })),
      { reasoning_details: [{ ...thought, signature: "c2ln" }] },
      toolCalls,
    ],
    back: [signedThought],
  },
];

/** A client of each dialect that is translated: its first request, and the next one. */
const askers: readonly {
  readonly provider: string;
  readonly name: string;
  readonly first: (model: string, stream: boolean) => OutsideCase["request"];
  readonly next: (model: string, seen: Seen) => OutsideCase["request"];
}[] = [
  {
    name: "Gemini's",
    provider: "openrouter",
    first: (model, stream) => google(model, googleTools, stream ? streamed : undefined),
    next(model, { body, events }) {
      const answers = events.length > 0 ? events : [body as Item];
      const parts = answers.flatMap((answer) => {
        const [candidate] = answer["candidates"] as { content?: { parts: Item[] } }[];
        return candidate?.content?.parts ?? [];
      });
      const contents = [
        { role: "user", parts: [{ text: "x" }] },
        // Many clients send back only calls with their signatures.
        { role: "model", parts: parts.filter(({ functionCall }) => functionCall !== undefined) },
        {
          role: "user",
          parts: [{ functionResponse: { id: "call_1", name: "weather", response: {} } }],
        },
      ];
      return google(model, { ...googleTools, contents });
    },
  },
  {
    name: "Anthropic's",
    provider: "vllm",
    first: (model, stream) => messages({ model, stream, tools: messagesTools }),
    next(model, { body, events }) {
      const content = events.length > 0 ? blocksOf(events) : (body as { content: Item[] }).content;
      const result = { type: "tool_result", tool_use_id: "call_1", content: "rain" };
      const turns = [
        { role: "user", content: "x" },
        { role: "assistant", content },
        { role: "user", content: [result] },
      ];
      return messages({ model, tools: messagesTools, messages: turns });
    },
  },
  {
    name: "OpenAI's Responses",
    provider: "vllm",
    first: (model, stream) => requestOf(model, [question], { stream, ...include }),
    next(model, seen) {
      const result = { type: "function_call_output", call_id: "call_1", output: "rain" };
      return requestOf(model, [question, ...outputOf(seen).map(fromCodex), result], include);
    },
  },
];

const streamed = "streamGenerateContent?alt=sse";
const googleTools = { tools: [{ functionDeclarations: [{ name: "weather" }] }] };
const messagesTools = [{ name: "weather", input_schema: { type: "object", properties: {} } }];

/** The blocks of a streamed message, as Anthropic's SDKs assemble them. */
function blocksOf(events: readonly Item[]): readonly Item[] {
  const blocks: Record<string, unknown>[] = [];
  for (const event of events) {
    if (event["type"] === "content_block_start")
      blocks.push({ ...(event["content_block"] as Item) });
    const { thinking, signature } = (event["delta"] ?? {}) as Item;
    const block = blocks.at(-1);
    if (thinking !== undefined) block!["thinking"] = `${block!["thinking"]}${thinking}`;
    if (signature !== undefined) block!["signature"] = signature;
  }
  return blocks;
}

for (const { name, provider, first, next } of askers)
  for (const { model: named, details, deltas, back } of detailed)
    for (const stream of [false, true])
      t.test(`${name} client returns the details of ${named}, ${stream}`, async (t) => {
        const model = provider === "openrouter" ? `openrouter/${named}` : "vllm/qwen3-coder";
        const message = { role: "assistant", content: null, tool_calls: [call] };
        const reasoned = { reasoning: "the weather, then", reasoning_details: details };
        const choice = { message: { ...message, ...reasoned }, finish_reason: "tool_calls" };
        const seen = await gateway.play({
          ...kept,
          request: first(model, stream),
          ...(stream
            ? { events: [...deltas, { finish_reason: "tool_calls" }] }
            : { answer: completionOf(choice) }),
        });
        t.equal(seen.status, 200, seen.text.slice(0, 300));
        const { sent, status, text } = await gateway.play({ ...kept, request: next(model, seen) });
        t.equal(status, 200, text.slice(0, 300));
        t.match(sent.at(-1)!.path, /chat\/completions$/);
        const { messages: turns } = sent.at(-1)!.body as { messages: readonly Item[] };
        const turn = turns.find(({ role }) => role === "assistant");
        t.same(turn?.["reasoning_details"], back);
      });

/** What a chat client gets of the sealed reasoning, and what each of two accounts gets back. */
for (const stream of [false, true])
  t.test(`details of an account go back to it alone, ${stream}`, async (t) => {
    const [{ details, deltas }] = detailed as readonly [(typeof detailed)[number]];
    const tools = [{ type: "function", function: { name: "weather" } }];
    const ask = (turns: readonly object[], more: object = {}): OutsideCase["request"] => ({
      path: "/v1/chat/completions",
      body: { model: "details", tools, messages: [question, ...turns], ...more },
    });
    const message = { role: "assistant", content: null, tool_calls: [call] };
    const { body, events } = await gateway.play({
      ...kept,
      request: ask([], { stream }),
      ...(stream
        ? { events: [...deltas, { finish_reason: "tool_calls" }] }
        : {
            answer: completionOf({
              message: { ...message, reasoning_details: details },
              finish_reason: "tool_calls",
            }),
          }),
    });
    const got = (stream ? events : [body as Item]).flatMap(({ choices }) => {
      const [choice] = choices as readonly { delta?: Item; message?: Item }[];
      return ((choice?.delta ?? choice?.message)?.["reasoning_details"] ?? []) as readonly Item[];
    });
    const marked = got.find(({ type }) => type === "reasoning.encrypted");
    t.type(marked?.["data"], "string");
    t.not(marked?.["data"], sealed.data, "the client's copy is marked");
    const result = { role: "tool", tool_call_id: "call_1", content: "rain" };
    const next = ask([{ ...message, reasoning_details: got }, result]);
    const back = ({ sent }: Seen): readonly unknown[] => {
      const { messages } = sent.at(-1)!.body as { messages: readonly Item[] };
      const turn = messages.find(({ role }) => role === "assistant");
      const given = turn?.["reasoning_details"] as readonly Item[];
      return [sent.at(-1)!.provider, given.filter(({ type }) => type === "reasoning.encrypted")];
    };
    const answer = completionOf(said("Rain."));
    const own = await gateway.play({ ...kept, request: next, answer });
    t.same(back(own), ["openrouter", [sealed]]);
    const moved = await gateway.play({
      ...kept,
      request: next,
      answer: (sent) =>
        sent.at(-1)!.provider === "openrouter" ? { status: 500, body: {} } : answer,
    });
    t.equal(moved.status, 200, moved.text.slice(0, 300));
    const dummy = { ...sealed, data: "skip_thought_signature_validator", index: 0 };
    t.same(back(moved), ["openrouter-2", [dummy]]);
  });

const isReasoning = ({ type }: Item): boolean => type === "reasoning";

for (const { model, answer, events, back, unasked } of providers)
  for (const stream of [false, true])
    t.test(`${model}, ${stream ? "streamed" : "whole"}`, async (t) => {
      const reply = stream ? { events } : { answer };
      const first = async (fields: object): Promise<Seen> =>
        gateway.play({
          ...kept,
          request: requestOf(model, [question], { stream, ...fields }),
          ...(reply as Pick<OutsideCase, "answer">),
        });

      for (const fields of [include, { ...include, store: false }, { ...include, store: true }]) {
        const output = outputOf(await first(fields));
        const [reasoning] = output;
        t.type(reasoning?.["encrypted_content"], "string", JSON.stringify(fields));
        const callId = output.at(-1)?.["call_id"];
        const input = [
          question,
          ...output.map(fromCodex),
          { type: "function_call_output", call_id: callId, output: "rain" },
        ];
        const { sent, status, text } = await gateway.play({
          ...kept,
          request: requestOf(model, input, fields),
        });
        t.equal(status, 200, text.slice(0, 300));
        const { messages } = sent.at(-1)!.body as { messages: readonly object[] };
        t.match(messages[1], back);
      }

      const refused = outputOf(await first({ store: false })).find(isReasoning);
      t.equal(refused?.["encrypted_content"], undefined, "a client that doesn't ask gets none");
      const relying = outputOf(await first({})).find(isReasoning);
      t.equal(
        typeof relying?.["encrypted_content"],
        unasked ? "string" : "undefined",
        "signed reasoning comes to a client that relies on stored responses",
      );
    });
