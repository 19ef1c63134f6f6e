/**
 * One HTTP request and its response, as the steps see them. `http-listener.ts` puts it around
 * Node's objects; a simulation can put it around anything.
 */

import type { Duplex } from "node:stream";
import type { MemoryShare } from "../capacity/memory-ledger.js";

export type BodyResult =
  | { readonly ok: true; readonly bytes: Buffer }
  | {
      readonly ok: false;
      readonly reason:
        | "too_large"
        | "too_dense"
        | "no_memory"
        | "unknown_coding"
        | "undecodable"
        | "gone";
    };

/** The client's side of a WebSocket, for a tunnel. */
export interface ClientSocket {
  readonly socket: Duplex;
  /**
   * From here on the socket belongs to the tunnel, with all bytes that have arrived on it, and the
   * exchange must not answer.
   */
  takeOver(): void;
}

/** The headers of a request, by lower-case name. */
export interface RequestHeaders {
  /** Repeated ones joined as HTTP says. */
  header(name: string): string | undefined;
  /** Whether a header came more than once. */
  isRepeated(name: string): boolean;
}

export interface Exchange extends RequestHeaders {
  /** The caller's `X-Request-ID`, or our own. */
  readonly id: string;
  /** Unique, whatever the caller named the request: ids in answers are made of it. */
  readonly ownId: string;
  /** The IP address at the other end of the connection: the client's, or that of a proxy. */
  readonly remoteAddress: string;
  readonly method: string;
  /** The endpoint's (`paths/endpoint-path.ts`), without the query. */
  readonly path: string;
  /** Without its question mark; empty when there is none. */
  readonly query: string;
  /** The model that the path names, in Azure's way; null: the body does, or nothing. */
  readonly modelInPath: string | null;
  /** Names and values in turn, as they were received. */
  readonly rawHeaders: readonly string[];
  /** What this request holds of the proxy's memory. */
  readonly memory: MemoryShare;
  /**
   * The body must arrive within `ms`, or the client gets 408 and is cut off. `then` runs once it
   * has, or the client is gone.
   */
  awaitBody(ms: number, then: () => void): void;
  /** Reads the body to its end, once, decoded if it is compressed, up to `bytesMax` either way. */
  readBody(bytesMax: number): Promise<BodyResult>;
  /**
   * Reads the body once, in pieces as they arrive. Throws `UploadTooLarge` beyond `bytesMax`,
   * `UploadGone` when the client leaves.
   */
  readPieces(bytesMax: number): AsyncIterable<Buffer>;
  /** Set for the handshake of a WebSocket: it wants a tunnel, and any answer is a refusal. */
  readonly webSocket: ClientSocket | null;
  /** Whether the client left, or was cut off, before the response was complete. */
  readonly gone: boolean;
  /** Whether it was cut off by the proxy, which stops and has waited long enough. */
  readonly cutByStop: boolean;
  /**
   * `run` is called once if the client leaves before the response is complete, or has left already;
   * never before this returns. A later call replaces it.
   */
  onGone(run: () => void): void;
  /** Adds headers to the response, whatever it will be. To be called once. */
  addHeaders(headers: readonly string[]): void;
  /** Whether a response has begun. */
  readonly begun: boolean;
  /** The response's head: flat names and values. */
  begin(status: number, headers: readonly string[]): void;
  /** A piece of the body. False: the client reads too slowly, wait for `onDrain`. */
  write(chunk: Buffer): boolean;
  onDrain(run: () => void): void;
  /** Ends a response that has begun. */
  end(): void;
  /**
   * The complete response. It is sent in one write with its head; in `latin1` each character is one
   * byte as it was received.
   */
  reply(
    status: number,
    headers: readonly string[],
    body: string,
    encoding: "latin1" | "utf8",
  ): void;
  /** Ends the connection so that the client sees a cut response. */
  cut(): void;
}
