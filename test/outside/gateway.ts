/**
 * A gateway of real processes before a provider of each type, all of them one server on loopback
 * that answers as a case says. Without a word of the case it answers as the provider's published
 * description has it.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Test } from "tap";
import { parseJson } from "../../shared/checked.js";
import { hosts, type Operation } from "../clients/providers/hosts.js";
import { firstProblem, type Json } from "../clients/providers/shape.js";
import { makeSite } from "../support/processes/processes.js";
import { type Description, describedProblem } from "./described.js";
import type { OutsideCase, ProviderAnswer, Seen, Sent } from "./outside-case.js";

const providers: Readonly<Record<string, string>> = {
  openai: "models: [gpt-4o, gpt-4.1, gpt-5, gpt-5.5, gpt-5.6-sol, gpt-6-astra, gpt-6-sol, o3]",
  azure: "models: [gpt-4o, gpt-5], api_version: 2024-06-01",
  anthropic:
    "models: [claude-sonnet-4-5, claude-opus-4-6, claude-opus-4-8, claude-3-7-sonnet, claude-opus-5, claude-opus-5-5, claude-sonnet-5-5]",
  gemini: "models: [gemini-2.5-pro, gemini-3-pro-preview, gemini-3.1-flash-lite, gemini-3.7-flash]",
  deepseek: "models: [deepseek-v4-pro]",
  bedrock: "models: [us.openai.gpt-6-sol]",
  vllm: "models: [qwen3-coder, llama-3.3, limited, limited-too, measured]",
  ollama: "models: [qwen3]",
  openrouter: "models: [google/gemini-3-pro-preview, anthropic/claude-opus-4.8]",
  "openrouter-2": "models: [google/gemini-3-pro-preview]",
};

/** The types of the others are their names. */
const types: Readonly<Record<string, string>> = {
  bedrock: "openai",
  deepseek: "anthropic",
  openrouter: "openai",
  "openrouter-2": "openai",
};

const usage = { prompt_tokens: 9, completion_tokens: 3, total_tokens: 12 };

/** A valid answer of the dialect that the path is of. */
function validAnswer(path: string): object {
  if (path.endsWith("/messages"))
    return {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model: "m",
      content: [{ type: "text", text: "hello" }],
      stop_reason: "end_turn",
      stop_sequence: null,
      usage: { input_tokens: 9, output_tokens: 3 },
    };
  if (path.endsWith("/responses"))
    return {
      id: "resp_1",
      object: "response",
      created_at: 1,
      status: "completed",
      model: "m",
      output: [
        {
          id: "msg_1",
          type: "message",
          role: "assistant",
          status: "completed",
          content: [{ type: "output_text", text: "hello", annotations: [] }],
        },
      ],
      usage: {
        input_tokens: 9,
        output_tokens: 3,
        total_tokens: 12,
        input_tokens_details: { cached_tokens: 0 },
        output_tokens_details: { reasoning_tokens: 0 },
      },
    };
  if (path.includes("generateContent"))
    return {
      candidates: [
        { index: 0, content: { role: "model", parts: [{ text: "hello" }] }, finishReason: "STOP" },
      ],
      usageMetadata: { promptTokenCount: 9, candidatesTokenCount: 3, totalTokenCount: 12 },
    };
  if (path.includes("/images/")) return { created: 1, data: [{ b64_json: "aGVsbG8=" }] };
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [
      { index: 0, message: { role: "assistant", content: "hello" }, finish_reason: "stop" },
    ],
    usage,
  };
}

/** The chunks of a chat completion: each event is a delta, or an object with `finish_reason`. */
function chatChunks(events: readonly Record<string, unknown>[]): string {
  const chunk = (choices: readonly object[], more: object = {}): string =>
    `data: ${JSON.stringify({ id: "c", object: "chat.completion.chunk", created: 1, model: "m", choices, ...more })}\n\n`;
  return [
    ...events.map(({ finish_reason = null, ...delta }) =>
      chunk([{ index: 0, delta, finish_reason }]),
    ),
    chunk([], { usage }),
    "data: [DONE]\n\n",
  ].join("");
}

function reply(response: ServerResponse, answer: ProviderAnswer): void {
  const { body: given } = answer;
  const body = typeof given === "string" || Buffer.isBuffer(given) ? given : JSON.stringify(given);
  response.writeHead(answer.status ?? 200, {
    "content-type": "application/json",
    ...answer.headers,
  });
  const pieces = [...(answer.pieces ?? [body])];
  const writeNext = (): void => {
    const piece = pieces.shift();
    if (piece !== undefined) response.write(piece, writeNext);
    else if (answer.staysOpen !== true) response.end();
  };
  writeNext();
}

const descriptions: Readonly<Partial<Record<Operation, Description>>> = {
  "chat/completions": "chat",
  messages: "messages",
  // That of the Responses API is a rule of the hosts' own, since OpenAI's agents send less.
};
/** They take what OpenAI publishes, and more. */
const extended = ["vllm", "ollama", "gemini", "openrouter", "openrouter-2", "bedrock", "deepseek"];

/** Why the provider refuses a request, by what it publishes and by its rules for the model. */
function refusal(
  provider: string,
  path: string,
  { headers, body }: { readonly headers: Json; readonly body: Json },
): string | null {
  const ofGoogle = /^\/models\/([^:]+):(?:stream)?[gG]enerateContent/.exec(path);
  const operation = (
    ofGoogle === null
      ? /(?:chat\/completions|messages|responses)$/.exec(path.replace(/\?.*/, ""))?.[0]
      : "generateContent"
  ) as Operation | undefined;
  if (operation === undefined) return null;
  const { "anthropic-beta": beta } = headers;
  const description = descriptions[operation];
  if (description !== undefined && !extended.includes(provider)) {
    const problem = describedProblem(
      description === "messages" && beta !== undefined ? "messages-beta" : description,
      body,
    );
    if (problem !== null) return problem;
  }
  const rules = hosts.find(({ name }) => name === provider)?.rules[operation] ?? [];
  return firstProblem({ model: ofGoogle?.[1], ...body }, headers, rules);
}

/** The text of an answer, also of one that was cut. */
async function readToEnd(response: Response): Promise<{ text: string; cut: boolean }> {
  const pieces: Uint8Array[] = [];
  let cut = false;
  try {
    for await (const piece of response.body ?? []) pieces.push(piece as Uint8Array);
  } catch {
    cut = true;
  }
  return { text: Buffer.concat(pieces).toString(), cut };
}

export interface OutsideGateway {
  play(one: OutsideCase): Promise<Seen>;
}

export async function startOutsideGateway(t: Pick<Test, "teardown">): Promise<OutsideGateway> {
  const sent: Sent[] = [];
  /** What the providers have refused in the case. */
  const refused: string[] = [];
  let playing: OutsideCase | null = null;
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const [, provider = "", ...rest] = (request.url ?? "").split("/");
      const path = `/${rest.join("/")}`;
      // Models are listed in the configuration.
      if (playing === null || path.includes("/models?")) return void response.writeHead(404).end();
      const text = Buffer.concat(pieces).toString();
      const { method = "" } = request;
      let body: Record<string, unknown> = {};
      try {
        body = JSON.parse(text) as Record<string, unknown>;
      } catch {
        // A case may be about one that isn't.
      }
      sent.push({ provider, method, path, headers: request.headers, text, body });
      const problem = refusal(provider, path, { headers: request.headers as Json, body });
      if (problem !== null) {
        refused.push(`${provider} ${path}: ${problem}`);
        return reply(response, {
          status: 400,
          body: { type: "error", error: { type: "invalid_request_error", message: problem } },
        });
      }
      const { answer, events } = playing;
      if (typeof answer === "function") return reply(response, answer(sent));
      if (answer !== undefined) return reply(response, answer);
      if (events === undefined) return reply(response, { body: validAnswer(path) });
      const stream = typeof events === "string" ? events : chatChunks(events);
      response.writeHead(200, { "content-type": "text/event-stream" }).end(stream);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.teardown(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  const site = makeSite(
    t,
    `
server: { default_models: [moderations=openai/gpt-4o, images=openai/gpt-4o, responses=openai/gpt-5, input_tokens=openai/gpt-5] }
providers:
${Object.entries(providers)
  .map(
    ([name, more]) =>
      `  ${name}: { type: ${types[name] ?? name}, base_url: "http://127.0.0.1:${port}/${name}", api_key: key-of-the-operator, retries: 0, breaker_failures: 0, ${more} }`,
  )
  .join("\n")}
rate_limits:
  user_paths:
    - path: /
      limits:
        - { period: minute, max_tokens: 10, models: [vllm/limited] }
        - { period: minute, max_tokens: 10, models: [vllm/limited-too] }
        - { period: minute, max_tokens: 1000000, models: [vllm/measured] }
virtual_models:
  both: { strategy: round_robin, targets: [{ model: openai/gpt-5 }, { model: azure/gpt-5 }] }
  makers: { strategy: failover, targets: [{ model: openai/gpt-4o }, { model: openai/gpt-5 }] }
  flash: { strategy: failover, targets: [{ model: gemini/gemini-3.7-flash }] }
  opus: { strategy: failover, targets: [{ model: anthropic/claude-opus-5 }] }
  details: { strategy: failover, targets: [{ model: openrouter/google/gemini-3-pro-preview }, { model: openrouter-2/google/gemini-3-pro-preview }] }
`,
  );
  await site.startDaemon();
  const { ready: url } = await site.startProxy();
  const send = ({ path, method = "POST", body, raw, headers }: OutsideCase["request"]) =>
    fetch(`${url}${path}`, {
      method,
      headers: { "content-type": "application/json", ...headers },
      ...(method !== "POST" ? {} : { body: raw ?? JSON.stringify(body) }),
    });
  return {
    async play(one) {
      if (one.before !== undefined) {
        const { answer: _answer, events: _events, ...rest } = one;
        playing = rest;
        await (await send(one.before)).arrayBuffer();
      }
      playing = one;
      sent.length = 0;
      refused.length = 0;
      const response = await send(one.request);
      const { text, cut } = await readToEnd(response);
      const isStream = (response.headers.get("content-type") ?? "").includes("event-stream");
      const data = isStream ? [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => json!) : [];
      return {
        sent: [...sent],
        refused: [...refused],
        status: response.status,
        headers: response.headers,
        text,
        cut,
        body: isStream || text === "" ? null : parseJson(text),
        events: data.map((json) => JSON.parse(json) as Record<string, unknown>),
      };
    },
  };
}
