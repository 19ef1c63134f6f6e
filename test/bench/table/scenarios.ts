/** What benchmarks ask of Sluice and of its peers, endpoint by endpoint. */
import { benchModel, requestBody } from "../load/chat-exchange.js";
import { chatModel, embeddingModel, messagesModel } from "../peers/recorded-answers.js";

export interface Scenario {
  readonly name: string;
  /** Where Sluice has it. */
  readonly path: string;
  /** Where the provider has it: forwarders are asked for this. */
  readonly upstreamPath: string;
  readonly body: string;
  /** What the answer must hold: the real thing is measured. Forwarders give the provider's. */
  readonly expected: readonly string[];
}

/** The chat request with other fields. */
function chat(fields: object): string {
  return JSON.stringify({ ...(JSON.parse(requestBody) as object), ...fields });
}

/** The chat request as a Messages client writes it. */
function messages(fields: object): string {
  const { messages: turns, ...rest } = JSON.parse(requestBody) as {
    messages: readonly [{ content: string }, object];
  };
  return JSON.stringify({ ...rest, system: turns[0].content, messages: [turns[1]], ...fields });
}

/** The turns of a coding agent: texts of files with their escapes, and calls of tools. */
function agentTurns(bytes: number): readonly object[] {
  const line = (i: number): string =>
    `  if (entry.name === "item-${i}" && !seen.has(entry.id)) {\n    log.debug({ path: \`src/${i}.ts\` }, "read\\tagain");\n  }\n`;
  const file = Array.from({ length: 40 }, (_, i) => line(i)).join("");
  const turns: object[] = [];
  for (let n = 0; n * (file.length * 1.15 + 250) < bytes; n++) {
    const id = `call_${String(n).padStart(20, "0")}`;
    const call = { name: "read_file", arguments: JSON.stringify({ path: `src/${n}.ts` }) };
    turns.push(
      { role: "assistant", content: null, tool_calls: [{ id, type: "function", function: call }] },
      { role: "tool", tool_call_id: id, content: file },
    );
  }
  return turns;
}

/** The same as a Messages client writes them. */
function agentMessages(bytes: number): readonly object[] {
  type Turn = { readonly content: string | null; readonly tool_call_id?: string };
  return (agentTurns(bytes) as readonly Turn[]).map(({ content, tool_call_id: id }, i, turns) =>
    content === null
      ? {
          role: "assistant",
          content: [
            {
              type: "tool_use",
              id: turns[i + 1]!.tool_call_id,
              name: "read_file",
              input: { path: `src/${i}.ts` },
            },
          ],
        }
      : { role: "user", content: [{ type: "tool_result", tool_use_id: id, content }] },
  );
}

/** Sluice knows what Anthropic's own models accept, and leaves their requests as they are. */
const claudeModel = "claude-sonnet-4-5";

const largeBytes = 1_000_000;
const largeChat = (fields: object): string =>
  chat({
    messages: [{ role: "user", content: "Find the bug." }, ...agentTurns(largeBytes)],
    ...fields,
  });

const completions = "/v1/chat/completions";

export const scenarios: readonly Scenario[] = [
  {
    name: "chat",
    path: completions,
    upstreamPath: completions,
    body: requestBody,
    expected: ['"total_tokens":120'],
  },
  {
    name: "translated",
    path: completions,
    upstreamPath: "/v1/messages",
    body: chat({ model: messagesModel }),
    expected: ['"chat.completion"', '"total_tokens":120'],
  },
  {
    name: "stream",
    path: completions,
    upstreamPath: completions,
    body: chat({ stream: true }),
    expected: ['"finish_reason":"stop"', "data: [DONE]\n\n"],
  },
  {
    name: "translated-stream",
    path: completions,
    upstreamPath: "/v1/messages",
    body: chat({ model: messagesModel, stream: true }),
    expected: ['"chat.completion.chunk"', '"finish_reason":"stop"', "data: [DONE]\n\n"],
  },
  {
    name: "messages",
    path: "/v1/messages",
    upstreamPath: completions,
    body: messages({ model: chatModel }),
    expected: ['"type":"message"', '"output_tokens":46'],
  },
  {
    name: "messages-stream",
    path: "/v1/messages",
    upstreamPath: completions,
    body: messages({ model: chatModel, stream: true }),
    expected: ['"stop_reason":"end_turn"', "event: message_stop"],
  },
  {
    name: "embeddings",
    path: "/v1/embeddings",
    upstreamPath: "/v1/embeddings",
    body: JSON.stringify({
      model: embeddingModel,
      input:
        "My parcel was announced for Tuesday and it still hasn't arrived. Whom do I ask, and can I get my money back if it is lost?",
      encoding_format: "base64",
    }),
    expected: ['"total_tokens":31'],
  },
  {
    name: "passthrough",
    path: "/p/bench/chat/completions",
    upstreamPath: completions,
    body: requestBody,
    expected: ['"total_tokens":120'],
  },
  {
    name: "large",
    path: completions,
    upstreamPath: completions,
    body: largeChat({}),
    expected: ['"total_tokens":120'],
  },
  {
    name: "large-messages",
    path: "/v1/messages",
    upstreamPath: "/v1/messages",
    body: messages({
      model: claudeModel,
      messages: [{ role: "user", content: "Find the bug." }, ...agentMessages(largeBytes)],
    }),
    expected: ['"output_tokens":46'],
  },
  {
    name: "large-translated",
    path: completions,
    upstreamPath: "/v1/messages",
    body: largeChat({ model: messagesModel }),
    expected: ['"chat.completion"', '"total_tokens":120'],
  },
  {
    name: "large-answer",
    path: "/v1/embeddings",
    upstreamPath: "/v1/embeddings",
    body: JSON.stringify({
      model: embeddingModel,
      input: ["My parcel was announced for Tuesday and it still hasn't arrived."],
      encoding_format: "base64",
    }),
    expected: ['"total_tokens":7936'],
  },
  {
    name: "large-numbers",
    path: "/v1/embeddings",
    upstreamPath: "/v1/embeddings",
    body: JSON.stringify({
      model: embeddingModel,
      input: ["My parcel was announced for Tuesday and it still hasn't arrived."],
      encoding_format: "float",
    }),
    expected: ['"total_tokens":7936'],
  },
];

export function scenarioOf(name: string): Scenario {
  return scenarios.find((scenario) => scenario.name === name)!;
}

/** The provider, once for each dialect. */
export function providersAt(upstreamUrl: string): object {
  return {
    bench: {
      type: "openai",
      base_url: `${upstreamUrl}/v1`,
      api_key: "none",
      models: [benchModel, embeddingModel],
    },
    chat: {
      type: "openai",
      base_url: `${upstreamUrl}/v1`,
      api_key: "none",
      models: [chatModel],
    },
    claude: {
      type: "anthropic",
      base_url: `${upstreamUrl}/v1`,
      api_key: "none",
      models: [messagesModel, claudeModel],
    },
  };
}
