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
      models: [messagesModel],
    },
  };
}
