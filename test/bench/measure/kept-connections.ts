/**
 * A fixed number of requests over connections that are kept, so that a burst of them opens nothing
 * and leaves nothing behind: for programs that are compared in many short turns.
 */
import net from "node:net";
import { createResponseReader, pending } from "../load/response-reader.js";

export interface KeptConnections {
  /** How many answers weren't a 200. */
  readonly errors: number;
  /** Sends so many, one at a time on each connection; resolves with the last answer. */
  send(count: number): Promise<void>;
}

export function keepConnections(url: string, request: string, count: number): KeptConnections {
  const { hostname, port } = new URL(url);
  const bytes = Buffer.from(request);
  let errors = 0;
  /** Of the burst that is under way. */
  let unsent = 0;
  let working = 0;
  let done: { resolve(): void; reject(error: Error): void } | null = null;

  const next = (socket: net.Socket): void => {
    if (unsent-- > 0) socket.write(bytes);
    else if (--working === 0) done?.resolve();
  };
  const sockets = Array.from({ length: count }, () => {
    const reader = createResponseReader();
    const socket = net.connect({ host: hostname, port: Number(port), noDelay: true });
    socket.on("data", (chunk) => {
      const status = reader.feed(chunk);
      if (status === pending) return;
      if (status !== 200) errors++;
      next(socket);
    });
    const lost = (error?: Error): void =>
      done?.reject(new Error(`a connection was lost: ${error?.message ?? "it was closed"}`));
    socket.on("error", lost);
    socket.on("close", () => lost());
    return socket;
  });
  return {
    get errors() {
      return errors;
    },
    send: (wanted) =>
      new Promise((resolve, reject) => {
        done = { resolve, reject };
        unsent = wanted;
        working = sockets.length;
        for (const socket of sockets) next(socket);
      }),
  };
}
