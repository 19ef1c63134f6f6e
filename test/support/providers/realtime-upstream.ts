/**
 * The provider's side of realtime sessions, with `ws` on a passthrough provider: each response
 * reports its usage, as OpenAI's do.
 */
import type { IncomingMessage } from "node:http";
import { type WebSocket, WebSocketServer } from "ws";
import type { PassthroughProvider } from "./passthrough-provider.js";

export interface RealtimePeer {
  readonly socket: WebSocket;
  readonly request: IncomingMessage;
}

export interface RealtimeUpstream {
  readonly peers: RealtimePeer[];
  /** The next session that opens. */
  next(): Promise<RealtimePeer>;
}

export const created = JSON.stringify({
  type: "response.created",
  response: { id: "resp_1", status: "in_progress", usage: null },
});
export const delta = (text: string): string =>
  JSON.stringify({ type: "response.output_text.delta", delta: text });
export const done = (input: number, output: number): string =>
  JSON.stringify({
    type: "response.done",
    response: {
      id: "resp_1",
      status: "completed",
      usage: {
        total_tokens: input + output,
        input_tokens: input,
        output_tokens: output,
        input_token_details: { cached_tokens: 1, text_tokens: input, audio_tokens: 0 },
        output_token_details: { text_tokens: output, audio_tokens: 0 },
      },
    },
  });

/**
 * Accepts sessions on `upstream` from now on. A `response.create` is answered with a response of 10
 * input and 5 output tokens.
 */
export function serveRealtime(upstream: PassthroughProvider): RealtimeUpstream {
  const waiting: ((peer: RealtimePeer) => void)[] = [];
  const peers: RealtimePeer[] = [];
  const server = new WebSocketServer({
    noServer: true,
    perMessageDeflate: true,
    handleProtocols: (offered) => (offered.has("realtime") ? "realtime" : false),
  });
  upstream.upgrade = ({ request, socket, head }) =>
    server.handleUpgrade(request, socket, head, (ws) => {
      const peer = { socket: ws, request };
      ws.on("error", () => {});
      ws.on("message", (message: Buffer, isBinary) => {
        if (isBinary) return ws.send(message);
        const { type } = JSON.parse(message.toString()) as { type: string };
        if (type === "response.create")
          for (const event of [created, delta("hello"), done(10, 5)]) ws.send(event);
      });
      peers.push(peer);
      for (const resolve of waiting.splice(0)) resolve(peer);
    });
  return { peers, next: () => new Promise((resolve) => waiting.push(resolve)) };
}
