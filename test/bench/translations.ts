/**
 * `npm run heavy -- bench:translations`: the CPU that the translation of a request, of a whole
 * answer and of one event of a stream takes, for every pair of dialects. No processes: the
 * translations alone, with reading and writing their JSON. docs/contributing/benchmark.md has
 * figures.
 */
import { Command } from "commander";
import { parseBodyExactly, writeExactly } from "../../proxy/body/exact-json.js";
import { chooseDialect } from "../../proxy/dialects/choose-dialect.js";
import type { JsonObject, Translation } from "../../proxy/dialects/shared/translation.js";
import { createAnswerTranslator } from "../../proxy/dialects/translate-answer.js";
import type { Operation } from "../../shared/operation.js";
import { atLeastOne } from "./report/describe-run.js";
import { formatTable, micro } from "./report/table.js";

const options = new Command("bench:translations")
  .description("Measures the CPU of translations between dialects.")
  .option("--seconds <n>", "how long each figure is measured", atLeastOne, 1)
  .option("--turns <n>", "turns of the conversation in the request", atLeastOne, 20)
  .parse()
  .opts<{ seconds: number; turns: number }>();

type Provider = Extract<Operation, "chat_completions" | "messages" | "responses">;
type Client = Provider | "stream_generate_content";
const providers: readonly Provider[] = ["chat_completions", "messages", "responses"];
const clients: readonly Client[] = [...providers, "stream_generate_content"];
const requestOptions = {
  maxTokensDefault: 4096,
  isStrict: false,
  takesCustomTools: false,
  provider: "openai",
  takesFilesInResults: false,
  takesUnsignedThinking: false,
  takesFileUrls: false,
};
const context = {
  model: "m",
  nowSeconds: 1,
  requestId: "req_1",
  provider: "openai",
  request: { stream: true },
};
const memory = { takeForAnswer: () => true, give: () => {} };
const words = "The quick brown fox jumps over the lazy dog. ".repeat(20);
const schema = { type: "object", properties: { path: { type: "string", description: words } } };
const input = JSON.stringify({ path: "/src/main.ts" });

/** An agent's conversation: each turn calls a tool and gets its result. */
const requests: Readonly<Record<Client, () => JsonObject>> = {
  chat_completions: () => ({
    model: "m",
    messages: [
      { role: "system", content: words },
      ...turns((id) => [
        { role: "user", content: words },
        {
          role: "assistant",
          content: words,
          tool_calls: [{ id, type: "function", function: { name: "read", arguments: input } }],
        },
        { role: "tool", tool_call_id: id, content: words },
      ]),
    ],
    tools: tools((name) => ({ type: "function", function: { name, parameters: schema } })),
    stream: true,
  }),
  messages: () => ({
    model: "m",
    max_tokens: 4096,
    system: words,
    messages: turns((id) => [
      { role: "user", content: words },
      {
        role: "assistant",
        content: [
          { type: "text", text: words },
          { type: "tool_use", id, name: "read", input: JSON.parse(input) },
        ],
      },
      { role: "user", content: [{ type: "tool_result", tool_use_id: id, content: words }] },
    ]),
    tools: tools((name) => ({ name, input_schema: schema })),
    stream: true,
  }),
  responses: () => ({
    model: "m",
    instructions: words,
    input: turns((id) => [
      { role: "user", content: words },
      { type: "message", role: "assistant", content: [{ type: "output_text", text: words }] },
      { type: "function_call", call_id: id, name: "read", arguments: input },
      { type: "function_call_output", call_id: id, output: words },
    ]),
    tools: tools((name) => ({ type: "function", name, parameters: schema })),
    stream: true,
  }),
  stream_generate_content: () => ({
    systemInstruction: { parts: [{ text: words }] },
    contents: turns((id) => [
      { role: "user", parts: [{ text: words }] },
      {
        role: "model",
        parts: [
          { text: words },
          { functionCall: { id, name: "read", args: JSON.parse(input) }, thoughtSignature: "CvcB" },
        ],
      },
      {
        role: "user",
        parts: [{ functionResponse: { id, name: "read", response: { output: words } } }],
      },
    ]),
    tools: [{ functionDeclarations: tools((name) => ({ name, parametersJsonSchema: schema })) }],
  }),
};

function turns(turn: (id: string) => readonly JsonObject[]): JsonObject[] {
  return Array.from({ length: options.turns }, (_, i) => turn(`call_${i}`)).flat();
}

function tools(tool: (name: string) => JsonObject): JsonObject[] {
  return Array.from({ length: 20 }, (_, i) => tool(`tool_${i}`));
}

const usage = { input_tokens: 1000, output_tokens: 300, total_tokens: 1300 };
const deltas = 300;

/** A long text, and what begins and ends it. */
const streams: Readonly<Record<Provider, readonly JsonObject[]>> = {
  chat_completions: [
    ...texts((content) => ({ id: "c", choices: [{ index: 0, delta: { content } }] })),
    { id: "c", choices: [{ index: 0, delta: {}, finish_reason: "stop" }], usage },
  ],
  messages: [
    { type: "message_start", message: { id: "m", type: "message", content: [], usage } },
    { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
    ...texts((text) => ({
      type: "content_block_delta",
      index: 0,
      delta: { type: "text_delta", text },
    })),
    { type: "content_block_stop", index: 0 },
    { type: "message_delta", delta: { stop_reason: "end_turn" }, usage },
    { type: "message_stop" },
  ],
  responses: [
    { type: "response.created", response: { id: "r", status: "in_progress", output: [] } },
    { type: "response.output_item.added", output_index: 0, item: { type: "message" } },
    ...texts((delta) => ({ type: "response.output_text.delta", output_index: 0, delta })),
    { type: "response.output_item.done", output_index: 0, item: { type: "message" } },
    { type: "response.completed", response: { id: "r", status: "completed", output: [], usage } },
  ],
};

function texts(event: (text: string) => JsonObject): JsonObject[] {
  return Array.from({ length: deltas }, (_, i) => event(`word ${i} `));
}

/** CPU of one run, in microseconds. */
function cpuOf(run: () => void): number {
  const until = Date.now() + options.seconds * 1000;
  for (let i = 0; i < 20; i++) run();
  const before = process.cpuUsage();
  let runs = 0;
  while (Date.now() < until) {
    run();
    runs++;
  }
  const { user, system } = process.cpuUsage(before);
  return (user + system) / runs;
}

function measure(client: Client, provider: Provider, translation: Translation): string[] {
  const body = JSON.stringify(requests[client]());
  const ofRequest = cpuOf(() => {
    const result = translation.request(parseBodyExactly(body) as JsonObject, requestOptions);
    if (!result.ok) throw new Error(result.failure.message);
    writeExactly(result.body);
  });
  const chunks = streams[provider].map((event) => {
    const name = provider === "chat_completions" ? "" : `event: ${event["type"]}\n`;
    return Buffer.from(`${name}data: ${JSON.stringify(event)}\n\n`);
  });
  const ofStream = cpuOf(() => {
    const translator = createAnswerTranslator(translation, context, { memory });
    for (const chunk of chunks) translator.push(chunk);
    translator.end();
    if (translator.hasFailed) throw new Error("the stream can't be translated");
  });
  return [`${client} → ${provider}`, micro(ofRequest), micro(ofStream / chunks.length)];
}

const rows: string[][] = [];
for (const client of clients)
  for (const provider of providers) {
    const translation = chooseDialect(client, new Set([provider]))?.translation ?? null;
    if (translation !== null) rows.push(measure(client, provider, translation));
  }
const head = ["client → provider", "request, CPU µs", "event, CPU µs"];
process.stdout.write(`${formatTable(head, rows).join("\n")}\n`);
