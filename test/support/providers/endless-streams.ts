/**
 * A provider whose answers don't end: a token in each event, in every dialect, until the client
 * leaves or the request's maximum is reached. An answer that isn't streamed has the request's
 * maximum of tokens. It counts what it has put out, which is what a real provider bills.
 */
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { createGzip } from "node:zlib";
import { type Json, namedEvent } from "./model-api-call.js";

export interface EndlessCall {
  readonly path: string;
  readonly body: Json;
  /** The tokens that were put out. */
  tokens: number;
  isLeft: boolean;
}

export interface EndlessStreams {
  readonly baseUrl: string;
  readonly calls: EndlessCall[];
  /** What the answers hold. */
  kind: "text" | "thinking" | "call" | "audio";
  /** The path in whose dialect a stream is answered; null: the request's own. */
  answersAs: string | null;
  /** The text of a token. */
  token: string;
  /** When the streams of chat completions report their tokens. */
  reports: "never" | "at the end" | "as they flow";
  /** How many tokens are written at a time. */
  atOnce: number;
  /**
   * How a stream is sent. `length`: with its length, and all of its tokens at once; `close`: until
   * the connection ends, as HTTP/1.0 does.
   */
  framing: "chunked" | "length" | "close" | "gzip";
  /** The pause between them, also of streams that flow. */
  pauseMs: number;
  /** The most tokens of one answer, so that a test ends. */
  tokensMax: number;
  close(): Promise<void>;
}

/** Four bytes each, as the estimate of Sluice counts a token. */
export const token = "four";
interface Form {
  readonly begin: readonly string[];
  readonly one: string;
  /** After so many tokens. */
  readonly end: (tokens: number) => readonly string[];
  /** Reports so many tokens. */
  readonly usage?: (tokens: number) => string;
}

/** A token of sound, 50 ms of PCM, in base64. */
const sound = "A".repeat(3200);
const eventOf = (type: string, fields: object): string => namedEvent({ type, ...fields });
const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`;

function chatForm({ kind, token, reports }: Shown, model: unknown, choices: number): Form {
  const head = { id: "chatcmpl-1", object: "chat.completion.chunk", created: 1, model };
  const choice = { index: 0, delta: {}, logprobs: null, finish_reason: null };
  const chunk = (delta: object, finish: string | null = null, index = 0): string =>
    data({ ...head, choices: [{ ...choice, index, delta, finish_reason: finish }] });
  const usage = (tokens: number): string =>
    data({
      ...head,
      choices: reports === "as they flow" ? [choice] : [],
      usage: { prompt_tokens: 10, completion_tokens: tokens, total_tokens: tokens + 10 },
    });
  const call = (fields: object): object => ({ tool_calls: [{ index: 0, ...fields }] });
  const begun = {
    id: "call_1",
    type: "function",
    function: { name: "search", arguments: '{"q":"' },
  };
  return {
    begin: [
      chunk({ role: "assistant", content: kind === "call" ? null : "" }),
      ...(kind === "call" ? [chunk(call(begun))] : []),
    ],
    one:
      kind === "call"
        ? chunk(call({ function: { arguments: token } }))
        : kind === "audio"
          ? chunk({ audio: { id: "audio_1", data: sound } })
          : Array.from({ length: choices }, (_, index) =>
              chunk(
                kind === "thinking" ? { reasoning_content: token } : { content: token },
                null,
                index,
              ),
            ).join(""),
    end: () => [chunk({}, "stop"), "data: [DONE]\n\n"],
    usage,
  };
}

function completionsForm(model: unknown): Form {
  const chunk = (text: string, finish: string | null = null): string =>
    data({
      id: "cmpl-1",
      object: "text_completion",
      created: 1,
      model,
      choices: [{ index: 0, text, logprobs: null, finish_reason: finish }],
    });
  return { begin: [], one: chunk(token), end: () => [chunk("", "stop"), "data: [DONE]\n\n"] };
}

function messagesForm(kind: Exclude<EndlessStreams["kind"], "audio">, model: unknown): Form {
  const message = {
    id: "msg_1",
    type: "message",
    role: "assistant",
    model,
    content: [],
    stop_reason: null,
    stop_sequence: null,
    usage: { input_tokens: 10, output_tokens: 1 },
  };
  const blocks = {
    text: { type: "text", text: "" },
    thinking: { type: "thinking", thinking: "", signature: "" },
    call: { type: "tool_use", id: "toolu_1", name: "search", input: {} },
  };
  const deltas = {
    text: { type: "text_delta", text: token },
    thinking: { type: "thinking_delta", thinking: token },
    call: { type: "input_json_delta", partial_json: token },
  };
  const block = (type: string, fields: object): string => eventOf(type, { index: 0, ...fields });
  const opened = { type: "input_json_delta", partial_json: '{"q":"' };
  return {
    begin: [
      eventOf("message_start", { message }),
      block("content_block_start", { content_block: blocks[kind] }),
      ...(kind === "call" ? [block("content_block_delta", { delta: opened })] : []),
    ],
    one: block("content_block_delta", { delta: deltas[kind] }),
    end: (tokens) => [
      block("content_block_stop", {}),
      eventOf("message_delta", {
        delta: { stop_reason: "end_turn", stop_sequence: null },
        usage: { output_tokens: tokens },
      }),
      eventOf("message_stop", {}),
    ],
  };
}

function responsesForm(kind: EndlessStreams["kind"], model: unknown): Form {
  const response = {
    id: "resp_1",
    object: "response",
    created_at: 1,
    status: "in_progress",
    error: null,
    incomplete_details: null,
    model,
    output: [],
    parallel_tool_calls: true,
    tool_choice: "auto",
    tools: [],
  };
  let sequence = 0;
  const event = (type: string, fields: object): string =>
    eventOf(type, { sequence_number: sequence++, ...fields });
  const place = { item_id: "item_1", output_index: 0, content_index: 0 };
  const part = { type: "output_text", text: "", annotations: [] };
  const isCall = kind === "call";
  const item = isCall
    ? { id: "item_1", type: "function_call", call_id: "call_1", name: "search", arguments: "" }
    : { id: "item_1", type: "message", role: "assistant", content: [] };
  return {
    begin: [
      event("response.created", { response }),
      event("response.output_item.added", {
        output_index: 0,
        item: { ...item, status: "in_progress" },
      }),
      ...(isCall ? [] : [event("response.content_part.added", { ...place, part })]),
    ],
    one: isCall
      ? event("response.function_call_arguments.delta", {
          item_id: "item_1",
          output_index: 0,
          delta: token,
        })
      : event("response.output_text.delta", { ...place, delta: token, logprobs: [] }),
    end: () => [event("response.completed", { response: { ...response, status: "completed" } })],
  };
}

function googleForm(): Form {
  const chunk = (text: string, more: object = {}): string =>
    data({
      candidates: [{ content: { parts: [{ text }], role: "model" }, index: 0, ...more }],
      modelVersion: "gemini-test",
      responseId: "r1",
    });
  return { begin: [], one: chunk(token), end: () => [chunk("", { finishReason: "STOP" })] };
}

type Shown = Pick<EndlessStreams, "kind" | "token" | "reports">;

/** The events of a stream in the dialect of a path. */
export function formOf(path: string, provider: Shown, { model, n }: Json): Form {
  const { kind } = provider;
  if (path.endsWith("/chat/completions")) return chatForm(provider, model, Number(n ?? 1));
  if (path.endsWith("/completions")) return completionsForm(model);
  if (path.endsWith("/messages")) return messagesForm(kind === "audio" ? "text" : kind, model);
  return path.endsWith("/responses") ? responsesForm(kind, model) : googleForm();
}

/** The maximum that the request asks for. */
function maximumIn(body: Json, { tokensMax }: Pick<EndlessStreams, "tokensMax">): number {
  const config = (body["generationConfig"] ?? {}) as Json;
  const asked =
    body["max_completion_tokens"] ??
    body["max_tokens"] ??
    body["max_output_tokens"] ??
    config["maxOutputTokens"];
  return Math.min(typeof asked === "number" ? asked : tokensMax, tokensMax);
}

function whole(path: string, model: unknown, tokens: number): object {
  const text = token.repeat(tokens);
  if (path.endsWith("/messages"))
    return {
      id: "msg_1",
      type: "message",
      role: "assistant",
      model,
      content: [{ type: "text", text }],
      stop_reason: "max_tokens",
      stop_sequence: null,
      usage: { input_tokens: 10, output_tokens: tokens },
    };
  if (path.endsWith("/responses"))
    return {
      id: "resp_1",
      object: "response",
      created_at: 1,
      status: "incomplete",
      incomplete_details: { reason: "max_output_tokens" },
      model,
      output: [],
      usage: { input_tokens: 10, output_tokens: tokens, total_tokens: tokens + 10 },
    };
  if (path.includes(":generateContent"))
    return {
      candidates: [
        { content: { parts: [{ text }], role: "model" }, finishReason: "MAX_TOKENS", index: 0 },
      ],
      usageMetadata: {
        promptTokenCount: 10,
        candidatesTokenCount: tokens,
        totalTokenCount: tokens + 10,
      },
    };
  const message = { role: "assistant", content: text, refusal: null };
  const said = path.endsWith("/chat/completions") ? { message } : { text };
  return {
    id: "chatcmpl-1",
    object: "chat.completion",
    created: 1,
    model,
    choices: [{ index: 0, ...said, logprobs: null, finish_reason: "length" }],
    usage: { prompt_tokens: 10, completion_tokens: tokens, total_tokens: tokens + 10 },
  };
}

/** Writes as fast as the client reads, but with a pause. */
function stream(
  response: ServerResponse,
  call: EndlessCall,
  form: Form,
  provider: Pick<EndlessStreams, "atOnce" | "framing" | "pauseMs" | "tokensMax" | "reports">,
): void {
  const { framing } = provider;
  const type = { "content-type": "text/event-stream" };
  if (framing === "length") return sendWhole(response, call, form, provider);
  response.useChunkedEncodingByDefault = framing !== "close";
  response.writeHead(200, framing === "gzip" ? { ...type, "content-encoding": "gzip" } : type);
  const out = framing === "gzip" ? createGzip() : response;
  if (out !== response) out.pipe(response);
  out.write(form.begin.join(""));
  const most = maximumIn(call.body, provider);
  const { atOnce, reports } = provider;
  const report = (): string => form.usage?.(call.tokens) ?? "";
  response.on("close", () => {
    call.isLeft = true;
  });
  const next = (): void => {
    if (call.isLeft) return;
    if (call.tokens >= most) {
      const last = reports === "never" ? "" : report();
      const end = form.end(call.tokens);
      return void out.end([...end.slice(0, -1), last, end.at(-1)].join(""));
    }
    const count = Math.min(atOnce, most - call.tokens);
    call.tokens += count;
    const flows = out.write(form.one.repeat(count) + (reports === "as they flow" ? report() : ""));
    if (flows) setTimeout(next, provider.pauseMs);
    else out.once("drain", next);
  };
  next();
}

function sendWhole(
  response: ServerResponse,
  call: EndlessCall,
  form: Form,
  provider: Pick<EndlessStreams, "tokensMax">,
): void {
  call.tokens = maximumIn(call.body, provider);
  response.on("close", () => {
    call.isLeft = true;
  });
  const events = [...form.begin, form.one.repeat(call.tokens), ...form.end(call.tokens)].join("");
  const length = String(Buffer.byteLength(events));
  response.writeHead(200, { "content-type": "text/event-stream", "content-length": length });
  response.end(events);
}

export async function startEndlessStreams(): Promise<EndlessStreams> {
  const server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const path = request.url ?? "/";
      if (request.method === "GET") return void response.writeHead(404).end();
      const body = JSON.parse(Buffer.concat(pieces).toString()) as Json;
      const call: EndlessCall = { path, body, tokens: 0, isLeft: false };
      provider.calls.push(call);
      const { pathname } = new URL(path, "http://x");
      const isStream = body["stream"] === true || pathname.endsWith(":streamGenerateContent");
      if (isStream)
        return stream(
          response,
          call,
          formOf(provider.answersAs ?? pathname, provider, body),
          provider,
        );
      call.tokens = maximumIn(body, provider);
      response
        .writeHead(200, { "content-type": "application/json" })
        .end(JSON.stringify(whole(pathname, body["model"], call.tokens)));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const provider: EndlessStreams = {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    calls: [],
    kind: "text",
    answersAs: null,
    token,
    reports: "never",
    atOnce: 4,
    framing: "chunked",
    pauseMs: 1,
    tokensMax: 50_000,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return provider;
}
