/**
 * The port to one connection to the engine, or to the nodes of a Cluster. A broken connection is
 * replaced by a new one. No command is resent or queued, and no answer arrives after the connection
 * has ended. The adapter is `open-client.ts`.
 */

export interface ClientOptions {
  /**
   * Whether the addresses are nodes of a Cluster; otherwise they are servers or Sentinels, of which
   * one is used.
   */
  readonly asCluster: boolean;
  /** The number of earlier attempts: several addresses are tried in turn. */
  readonly attempt: number;
  /** Called once when the connection breaks. */
  readonly onBroken: (error: Error) => void;
  /** Called with each published message. */
  readonly onMessage: (channel: string, message: string) => void;
}

/** Sends a command's name and its further words. */
export type Send = (name: string, words: readonly (string | number)[]) => Promise<unknown>;

export interface EngineClient {
  /**
   * Sends to the server of the first key among the words. Rejects with the error of the engine or
   * the socket.
   */
  readonly send: Send;
  /** As `send`, with bytes in place of texts. */
  readonly sendForBytes: Send;
  /**
   * The servers that take writes, by address: several in a Cluster, including those that are away;
   * otherwise one, as "".
   */
  primaries(): ReadonlyMap<string, Send>;
  /** `reconnect`: on a new connection; the earlier one is closed. */
  subscribe(channels: readonly string[], reconnect: boolean): Promise<void>;
  /** Closes immediately and rejects everything that waits for an answer. */
  drop(): void;
}

/** Resolves when the engine has accepted the user and password. */
export type OpenClient = (options: ClientOptions) => Promise<EngineClient>;
