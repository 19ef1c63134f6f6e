/** An OpenAI-compatible provider that answers as a test decides: a real HTTP server on loopback. */
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";

export interface ReceivedCall {
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  readonly response: ServerResponse;
  /** Resolved when the caller's side of the connection closes before the response is complete. */
  readonly abandoned: Promise<void>;
}

export interface ScriptedUpstream {
  readonly baseUrl: string;
  readonly calls: ReceivedCall[];
  /** What to do with each call from now on. */
  answer: (call: ReceivedCall) => void;
  /** Resolved with the next call that arrives. */
  nextCall(): Promise<ReceivedCall>;
  close(): Promise<void>;
}

/** A plain completion with the given usage. */
export function completion(totalTokens: number | null, content = "hello"): string {
  return JSON.stringify({
    id: "chatcmpl-test",
    object: "chat.completion",
    created: 1767225600,
    model: "test",
    choices: [{ index: 0, message: { role: "assistant", content }, finish_reason: "stop" }],
    ...(totalTokens === null
      ? {}
      : { usage: { prompt_tokens: totalTokens, completion_tokens: 0, total_tokens: totalTokens } }),
  });
}

export function replyCompletion(call: ReceivedCall, totalTokens: number | null): void {
  call.response.writeHead(200, { "content-type": "application/json" }).end(completion(totalTokens));
}

/** One event of a streamed completion. */
export function chunk(content: string, finishReason: string | null = null): string {
  return `data: ${JSON.stringify({ id: "chatcmpl-test", object: "chat.completion.chunk", created: 1, model: "test", choices: [{ index: 0, delta: content === "" ? {} : { content }, finish_reason: finishReason }] })}\n\n`;
}

export function usageChunk(totalTokens: number): string {
  return `data: ${JSON.stringify({ id: "chatcmpl-test", object: "chat.completion.chunk", created: 1, model: "test", choices: [], usage: { prompt_tokens: totalTokens, completion_tokens: 0, total_tokens: totalTokens } })}\n\n`;
}

export function beginStream(call: ReceivedCall): ServerResponse {
  call.response.writeHead(200, { "content-type": "text/event-stream" });
  call.response.flushHeaders();
  return call.response;
}

/** A whole stream that says hello. */
export function replyStream(call: ReceivedCall): void {
  const stream = beginStream(call);
  stream.write(chunk("hello"));
  stream.write(chunk("", "stop"));
  stream.end(`${usageChunk(7)}data: [DONE]\n\n`);
}

export function replyError({ response }: ReceivedCall): void {
  response.writeHead(500, { "content-type": "application/json" });
  response.end('{"error":{"message":"out of thoughts","type":"server_error"}}');
}

const batchLine = JSON.stringify({
  custom_id: "one",
  method: "POST",
  url: "/v1/chat/completions",
  body: { model: "test", messages: [{ role: "user", content: "hello" }] },
});

/** Until a test sets `answer`, it answers with a completion of 10 tokens. It lists no models. */
export async function startScriptedUpstream(): Promise<ScriptedUpstream> {
  const waiters: ((call: ReceivedCall) => void)[] = [];
  const server: Server = createServer((request, response) => {
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("end", () => {
      const abandoned = new Promise<void>((resolve) =>
        response.on("close", () => void (response.writableEnded || resolve())),
      );
      const call: ReceivedCall = {
        path: request.url ?? "",
        headers: request.headers,
        body: Buffer.concat(pieces).toString(),
        response,
        abandoned,
      };
      // The input of a batch is read before it is submitted.
      if (request.method === "GET" && call.path.endsWith("/content"))
        return void response.end(`${batchLine}\n`);
      if (request.method === "GET") return void response.writeHead(404).end();
      upstream.calls.push(call);
      upstream.answer(call);
      for (const resolve of waiters.splice(0)) resolve(call);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const upstream: ScriptedUpstream = {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    calls: [],
    answer: (call) => replyCompletion(call, 10),
    nextCall: () => new Promise((resolve) => waiters.push(resolve)),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return upstream;
}
