/**
 * A provider with the APIs of both OpenAI and Anthropic: a real HTTP server on loopback that checks
 * credentials and required fields.
 */
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { answerCall } from "./model-api-answers.js";
import type { ApiCall } from "./model-api-call.js";
import { createStoredObjects } from "./stored-objects.js";

export interface ModelApi {
  readonly baseUrl: string;
  /** Every request whose body has arrived, oldest first. */
  readonly calls: ApiCall[];
  /** The last of them. */
  last(): ApiCall;
  /** Answers the next request instead, before its body is read; then it is null again. */
  intercept: ((request: IncomingMessage, response: ServerResponse) => void) | null;
  close(): Promise<void>;
}

export async function startModelApi(): Promise<ModelApi> {
  const stored = createStoredObjects();
  const server = createServer((request, response) => {
    const { intercept } = api;
    if (intercept !== null) {
      api.intercept = null;
      return intercept(request, response);
    }
    const pieces: Buffer[] = [];
    request.on("data", (piece: Buffer) => pieces.push(piece));
    request.on("error", () => {});
    request.on("end", () => {
      const url = new URL(request.url ?? "/", "http://x");
      const call: ApiCall = {
        method: request.method ?? "",
        path: url.pathname.slice("/v1".length),
        query: url.search,
        headers: request.headers,
        body: Buffer.concat(pieces),
      };
      api.calls.push(call);
      void answerCall(stored, call, response);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const api: ModelApi = {
    baseUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`,
    calls: [],
    last: () => api.calls.at(-1)!,
    intercept: null,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
  return api;
}
