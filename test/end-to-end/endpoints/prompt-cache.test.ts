/**
 * A growing conversation with an Anthropic model through each other dialect: the requests use
 * Anthropic's prompt cache, unless the provider's `cache` is off.
 */
import t from "tap";
import { makeSite } from "../../support/processes/processes.js";
import { MessagesCache } from "../../support/providers/caching-messages.js";
import {
  replyJson,
  startPassthroughProvider,
} from "../../support/providers/passthrough-provider.js";

type Json = Readonly<Record<string, unknown>>;

const provider = await startPassthroughProvider();
t.teardown(() => provider.close());
let cache = new MessagesCache();
const sent: Json[] = [];

provider.answer = (received) =>
  void received.body.then((text) => {
    const body = JSON.parse(text) as Json;
    sent.push(body);
    const usage = cache.usageOf(body);
    const message = { id: "msg_1", type: "message", role: "assistant", model: "m" };
    const block = { type: "text", text: "done" };
    if (body["stream"] !== true)
      return replyJson(received, {
        ...message,
        content: [block],
        stop_reason: "end_turn",
        stop_sequence: null,
        usage,
      });
    const events = [
      { type: "message_start", message: { ...message, content: [], usage } },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: "done" } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 200 } },
      { type: "message_stop" },
    ];
    received.response.writeHead(200, { "content-type": "text/event-stream" });
    received.response.end(
      events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join(""),
    );
  });

const site = makeSite(
  t,
  `
providers:
  anthropic: { type: anthropic, base_url: "${provider.origin}/a", api_key: k, models: [claude-sonnet-4-5] }
  plain: { type: anthropic, base_url: "${provider.origin}/p", api_key: k, models: [claude-sonnet-4-5], cache: off }
prices:
  anthropic/claude-sonnet-4-5: { input: 3, output: 15, cached_input: 0.3, cache_write: 3.75 }
  plain/claude-sonnet-4-5: { input: 3, output: 15, cached_input: 0.3, cache_write: 3.75 }
`,
);
await site.startDaemon();
const { ready: url } = await site.startProxy();

const words = (count: number, word: string): string => `${word} `.repeat(count);
const schema = { type: "object", properties: { command: { type: "string" } } };
const tools = ["shell", "apply_patch", "plan"].map((name) => ({
  name,
  description: words(400, `how-to-${name}`),
  parameters: schema,
}));
const instructions = words(2000, "rule");

/** One dialect: a request after some turns of tools, each with several calls, and its usage. */
interface Dialect {
  readonly path: (model: string, stream: boolean) => string;
  readonly body: (turns: number) => Json;
  /** Cached tokens, and the written ones where the dialect has a field, from the last event. */
  readonly usage: (text: string) => readonly unknown[];
}

const output = (turn: number, call: number): string => words(150, `line-${turn}-${call}`);
const turnsOf = <T>(turns: number, turn: (i: number) => readonly T[]): T[] =>
  Array.from({ length: turns }, (_, i) => turn(i)).flat();
/** More than the 20 blocks that Anthropic looks back. */
const calls = Array.from({ length: 12 }, (_, i) => i);
const numbers = (text: string, ...fields: string[]): readonly unknown[] =>
  fields.map((field) => {
    const found = [...text.matchAll(new RegExp(`"${field}": ?(\\d+)`, "g"))].at(-1);
    return found === undefined ? undefined : Number(found[1]);
  });

const dialects: Readonly<Record<string, Dialect>> = {
  responses: {
    path: () => "/v1/responses",
    body: (turns) => ({
      instructions,
      tools: tools.map((tool) => ({ type: "function", strict: false, ...tool })),
      prompt_cache_key: "0197",
      store: false,
      input: [
        { type: "message", role: "developer", content: [{ type: "input_text", text: "Ask." }] },
        { type: "message", role: "user", content: [{ type: "input_text", text: "Fix it." }] },
        ...turnsOf<Json>(turns, (i) => [
          ...calls.map((j) => ({
            type: "function_call",
            call_id: `call_${i}_${j}`,
            name: "shell",
            arguments: '{"command":"ls"}',
          })),
          ...calls.map((j) => ({
            type: "function_call_output",
            call_id: `call_${i}_${j}`,
            output: output(i, j),
          })),
        ]),
      ],
    }),
    usage: (text) => numbers(text, "cached_tokens", "cache_write_tokens"),
  },
  chat: {
    path: () => "/v1/chat/completions",
    body: (turns) => ({
      stream_options: { include_usage: true },
      tools: tools.map((tool) => ({ type: "function", function: tool })),
      messages: [
        { role: "system", content: instructions },
        { role: "user", content: "Fix it." },
        ...turnsOf<Json>(turns, (i) => [
          {
            role: "assistant",
            tool_calls: calls.map((j) => ({
              id: `call_${i}_${j}`,
              type: "function",
              function: { name: "shell", arguments: '{"command":"ls"}' },
            })),
          },
          ...calls.map((j) => ({
            role: "tool",
            tool_call_id: `call_${i}_${j}`,
            content: output(i, j),
          })),
        ]),
      ],
    }),
    usage: (text) => numbers(text, "cached_tokens", "cache_write_tokens"),
  },
  google: {
    path: (model, stream) =>
      `/v1beta/models/${model}:${stream ? "streamGenerateContent?alt=sse" : "generateContent"}`,
    body: (turns) => ({
      systemInstruction: { parts: [{ text: instructions }] },
      tools: [{ functionDeclarations: tools }],
      contents: [
        { role: "user", parts: [{ text: "Fix it." }] },
        ...turnsOf<Json>(turns, (i) => [
          {
            role: "model",
            parts: calls.map(() => ({ functionCall: { name: "shell", args: { command: "ls" } } })),
          },
          {
            role: "user",
            parts: calls.map((j) => ({
              functionResponse: { name: "shell", response: { output: output(i, j) } },
            })),
          },
        ]),
      ],
    }),
    usage: (text) => numbers(text, "cachedContentTokenCount"),
  },
};

async function ask(
  dialect: Dialect,
  model: string,
  { turns, stream }: { readonly turns: number; readonly stream: boolean },
): Promise<readonly unknown[]> {
  const named = dialect.path("", false).startsWith("/v1/") ? { model, stream } : {};
  const { stream_options: options, ...body } = dialect.body(turns);
  const response = await fetch(`${url}${dialect.path(model, stream)}`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      ...body,
      ...named,
      ...(stream && options !== undefined ? { stream_options: options } : {}),
    }),
  });
  const text = await response.text();
  if (response.status !== 200) throw new Error(text);
  return dialect.usage(text);
}

async function totalCost(): Promise<number> {
  const response = await fetch(`${url}/v1/usage`);
  const { usage } = (await response.json()) as { readonly usage: { readonly total_cost: number } };
  return usage.total_cost;
}

/** The cost of a session of six requests, and the usage that the client read. */
async function session(
  dialect: Dialect,
  model: string,
  stream: boolean,
): Promise<{ readonly cost: number; readonly usages: readonly (readonly unknown[])[] }> {
  cache = new MessagesCache();
  sent.length = 0;
  const before = await totalCost();
  const usages: (readonly unknown[])[] = [];
  for (let turns = 0; turns < 6; turns++) usages.push(await ask(dialect, model, { turns, stream }));
  return { cost: (await totalCost()) - before, usages };
}

for (const [name, dialect] of Object.entries(dialects))
  for (const stream of [false, true])
    t.test(`${name}, ${stream ? "streamed" : "whole"}: a session is cached`, async (t) => {
      const cached = await session(dialect, "anthropic/claude-sonnet-4-5", stream);
      for (const [i, body] of sent.entries()) {
        const { cache_read_input_tokens: read, cache_creation_input_tokens: written } =
          new MessagesCacheOf(sent.slice(0, i)).usageOf(body);
        const [readTokens, writtenTokens] = cached.usages[i]!;
        t.equal(readTokens ?? 0, read, "the client sees what was read");
        if (name !== "google") t.equal(writtenTokens, written, "and what was written");
        if (i > 0) t.ok(read > 2000 * i, `request ${i} reads the earlier ones: ${read}`);
      }
      const plain = await session(dialect, "plain/claude-sonnet-4-5", stream);
      t.notMatch(JSON.stringify(sent), /cache_control/, "off: no breakpoints");
      t.ok(cached.cost < 0.45 * plain.cost, `${cached.cost} instead of ${plain.cost} USD`);
    });

/** A cache that has seen these requests. */
class MessagesCacheOf extends MessagesCache {
  constructor(earlier: readonly Json[]) {
    super();
    for (const body of earlier) this.usageOf(body);
  }
}

t.test("a single question without tools isn't cached", async (t) => {
  sent.length = 0;
  const response = await fetch(`${url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({
      model: "anthropic/claude-sonnet-4-5",
      messages: [
        { role: "system", content: instructions },
        { role: "user", content: "Sum it up." },
      ],
    }),
  });
  await response.text();
  t.equal(response.status, 200);
  t.notMatch(JSON.stringify(sent), /cache_control/);
});
