/** The requests that the provider of `model-api.ts` receives, and how it replies to them. */
import { createHash } from "node:crypto";
import type { IncomingHttpHeaders, ServerResponse } from "node:http";

export interface ApiCall {
  readonly method: string;
  /** Below the base URL, without the query. */
  readonly path: string;
  readonly query: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: Buffer;
}

export type Json = Record<string, unknown>;

export const openaiKey = "openai-secret";
export const anthropicKey = "anthropic-secret";

export const jsonOf = (call: ApiCall): Json => JSON.parse(call.body.toString()) as Json;
export const digestOf = (bytes: Uint8Array): string =>
  createHash("sha256").update(bytes).digest("hex");

/** Read by Node, so that a malformed form fails. */
export function formOf(call: ApiCall): Promise<FormData> {
  return new Response(new Uint8Array(call.body), {
    headers: { "content-type": call.headers["content-type"] ?? "" },
  }).formData();
}

export function reply(
  response: ServerResponse,
  status: number,
  body: unknown,
  headers: Record<string, string> = {},
): void {
  response
    .writeHead(status, { "content-type": "application/json", ...headers })
    .end(JSON.stringify(body));
}

/** Writes that split the events anywhere, also within a character. */
export function replyEvents(response: ServerResponse, events: readonly string[]): void {
  response.writeHead(200, { "content-type": "text/event-stream; charset=utf-8" });
  const bytes = Buffer.from(events.join(""));
  for (let at = 0; at < bytes.length; at += 61) response.write(bytes.subarray(at, at + 61));
  response.end();
}

export function namedEvent(event: { readonly type: string }): string {
  return `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`;
}
