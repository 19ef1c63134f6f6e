/** What `npm run heavy -- bench:endpoints` asks of each peer, endpoint by endpoint. */
import { benchModel, requestBody } from "../load/chat-exchange.js";
import { chatModel, embeddingModel, messagesModel } from "../peers/recorded-answers.js";

export type PeerKind = "direct" | "undici" | "http-proxy" | "sluice";

export interface Scenario {
  readonly name: string;
  /** In the report. */
  readonly label: string;
  /** Where Sluice has it. */
  readonly path: string;
  /** Where the provider has it: the peers that only forward are asked for this. */
  readonly upstreamPath: string;
  readonly body: string;
  /** What Sluice's answer must hold: the real thing is measured. */
  readonly expected: readonly string[];
  readonly peers: readonly PeerKind[];
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

const bare: readonly PeerKind[] = ["direct", "undici", "sluice"];
const completions = "/v1/chat/completions";

export const scenarios: readonly Scenario[] = [
  {
    name: "chat",
    label: "chat",
    path: completions,
    upstreamPath: completions,
    body: requestBody,
    expected: ['"total_tokens":120'],
    peers: bare,
  },
  {
    name: "translated",
    label: "chat → Anthropic",
    path: completions,
    upstreamPath: "/v1/messages",
    body: chat({ model: messagesModel }),
    expected: ['"chat.completion"', '"total_tokens":120'],
    peers: bare,
  },
  {
    name: "stream",
    label: "stream of 200 events",
    path: completions,
    upstreamPath: completions,
    body: chat({ stream: true }),
    expected: ['"finish_reason":"stop"', "data: [DONE]\n\n"],
    peers: bare,
  },
  {
    name: "translated-stream",
    label: "stream → Anthropic",
    path: completions,
    upstreamPath: "/v1/messages",
    body: chat({ model: messagesModel, stream: true }),
    expected: ['"chat.completion.chunk"', '"finish_reason":"stop"', "data: [DONE]\n\n"],
    peers: bare,
  },
  {
    name: "messages",
    label: "Messages → OpenAI",
    path: "/v1/messages",
    upstreamPath: completions,
    body: messages({ model: chatModel }),
    expected: ['"type":"message"', '"output_tokens":46'],
    peers: bare,
  },
  {
    name: "messages-stream",
    label: "Messages stream → OpenAI",
    path: "/v1/messages",
    upstreamPath: completions,
    body: messages({ model: chatModel, stream: true }),
    expected: ['"stop_reason":"end_turn"', "event: message_stop"],
    peers: bare,
  },
  {
    name: "embeddings",
    label: "embeddings",
    path: "/v1/embeddings",
    upstreamPath: "/v1/embeddings",
    body: JSON.stringify({
      model: embeddingModel,
      input:
        "My parcel was announced for Tuesday and it still hasn't arrived. Whom do I ask, and can I get my money back if it is lost?",
      encoding_format: "base64",
    }),
    expected: ['"total_tokens":31'],
    peers: bare,
  },
  {
    name: "passthrough",
    label: "passthrough",
    path: "/p/bench/chat/completions",
    upstreamPath: completions,
    body: requestBody,
    expected: ['"total_tokens":120'],
    peers: ["direct", "undici", "http-proxy", "sluice"],
  },
  {
    name: "large",
    label: "chat of 1 MB",
    path: completions,
    upstreamPath: completions,
    body: largeChat({}),
    expected: ['"total_tokens":120'],
    peers: bare,
  },
  {
    name: "large-messages",
    label: "Messages of 1 MB",
    path: "/v1/messages",
    upstreamPath: "/v1/messages",
    body: messages({
      model: claudeModel,
      messages: [{ role: "user", content: "Find the bug." }, ...agentMessages(largeBytes)],
    }),
    expected: ['"output_tokens":46'],
    peers: bare,
  },
  {
    name: "large-translated",
    label: "chat of 1 MB → Anthropic",
    path: completions,
    upstreamPath: "/v1/messages",
    body: largeChat({ model: messagesModel }),
    expected: ['"chat.completion"', '"total_tokens":120'],
    peers: bare,
  },
  {
    name: "large-answer",
    label: "answer of 2 MB",
    path: "/v1/embeddings",
    upstreamPath: "/v1/embeddings",
    body: JSON.stringify({
      model: embeddingModel,
      input: ["My parcel was announced for Tuesday and it still hasn't arrived."],
      encoding_format: "base64",
    }),
    expected: ['"total_tokens":7936'],
    peers: bare,
  },
  {
    name: "large-numbers",
    label: "answer of 2 MB of numbers",
    path: "/v1/embeddings",
    upstreamPath: "/v1/embeddings",
    body: JSON.stringify({
      model: embeddingModel,
      input: ["My parcel was announced for Tuesday and it still hasn't arrived."],
      encoding_format: "float",
    }),
    expected: ['"total_tokens":7936'],
    peers: bare,
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
