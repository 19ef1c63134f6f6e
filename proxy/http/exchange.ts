/**
 * One HTTP request and its response, as the steps see them. `node-exchange.ts` implements it with
 * Node's objects; tests implement it without a network.
 */

import type { Duplex } from "node:stream";
import type { Failure } from "../../shared/error-code.js";
import type { RpcId } from "../body/rpc-message.js";
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
   * Passes the socket and the received bytes to the tunnel; the exchange must not answer
   * afterwards.
   */
  takeOver(): void;
  /** Called when a stop cuts the connection: the tunnel says so and closes it. */
  onStop?: () => void;
}

/** The headers of a request, by lower-case name. */
export interface RequestHeaders {
  /** Repeated ones joined as HTTP says. */
  header(name: string): string | undefined;
  /** Whether a header came more than once. */
  isRepeated(name: string): boolean;
}

export interface ClientTls {
  /** The user path that the client's certificate gives; null without one. */
  readonly userPath: string | null;
}

export interface Exchange extends RequestHeaders {
  /** The caller's `X-Request-ID`, or our own. */
  readonly id: string;
  /** Unique, unlike the caller's id; ids in answers derive from it. */
  readonly ownId: string;
  /** The peer's IP address: the client's, or a proxy's. */
  readonly remoteAddress: string;
  /** The client's TLS connection to this proxy; null for plain HTTP. */
  readonly tls: ClientTls | null;
  readonly method: string;
  /** The endpoint's (`endpointAddress`), without the query. */
  readonly path: string;
  /** Without its question mark; empty when there is none. */
  readonly query: string;
  /** The model in the path, as in Azure's API; null without one. */
  readonly modelInPath: string | null;
  /** The id of the JSON-RPC request in the body, once it is read; failures repeat it. */
  rpcId?: RpcId;
  /** The failure that the client got; absent without one. */
  failure?: Pick<Failure, "code" | "message">;
  /** Names and values in turn, as they were received. */
  readonly rawHeaders: readonly string[];
  /** The memory that this request uses. */
  readonly memory: MemoryShare;
  /**
   * The body must arrive within `ms`, or the client gets a 408 and is disconnected. `then` runs
   * once it has arrived or the client disconnected.
   */
  awaitBody(ms: number, then: () => void): void;
  /** Reads and decompresses the whole body, once. `bytesMax` applies before and after. */
  readBody(bytesMax: number): Promise<BodyResult>;
  /**
   * Reads the body once, in pieces as they arrive. Throws `UploadTooLarge` beyond `bytesMax`,
   * `UploadGone` when the client leaves.
   */
  readPieces(bytesMax: number): AsyncIterable<Buffer>;
  /** Set for a WebSocket handshake, where any HTTP answer is a refusal. */
  readonly webSocket: ClientSocket | null;
  /** Whether the client disconnected, or was cut off, before the end of the response. */
  readonly gone: boolean;
  /** Whether a stopping proxy cut it off. */
  readonly isCutByStop: boolean;
  /**
   * Runs `run` once if the client disconnects before the end of the response, or has already;
   * always after this returns. A later call replaces it.
   */
  onGone(run: () => void): void;
  /** Adds headers to the response, whatever it will be. Call it once. */
  addHeaders(headers: readonly string[]): void;
  /** Whether a response has begun. */
  readonly hasBegun: boolean;
  /** The response's head: flat names and values. */
  begin(status: number, headers: readonly string[]): void;
  /** Writes a chunk. False if the client reads too slowly: wait for `onDrain`. */
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
