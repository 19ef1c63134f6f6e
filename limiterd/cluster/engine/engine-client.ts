/**
 * The port to one connection to the engine, or to the nodes of one that is a Cluster: from when it
 * stands until it breaks, then another one is opened. Nothing is sent twice, nothing waits for a
 * connection, and no answer comes after its end. The adapter is `open-client.ts`.
 */

export interface ClientOptions {
  /** Whether the addresses are nodes of a Cluster; else one of them, or its Sentinels, is asked. */
  readonly asCluster: boolean;
  /** Counts the attempts: several addresses are tried in turn. */
  readonly attempt: number;
  /** Told once, when the connection breaks by itself. */
  readonly broken: (error: Error) => void;
  /** The channels to listen on, and what is heard there. */
  readonly heard: (channel: string, message: string) => void;
}

/** A command, and what follows its name. */
export type Send = (name: string, words: readonly (string | number)[]) => Promise<unknown>;

export interface EngineClient {
  /** Goes where the first key among the words is. Rejects with what the engine or socket said. */
  readonly send: Send;
  /** The same, answered with bytes in place of texts. */
  readonly sendForBytes: Send;
  /**
   * The servers that take writes: of a Cluster several, by their addresses, those that are away
   * too; else one, as "".
   */
  primaries(): ReadonlyMap<string, Send>;
  /** `reconnect`: on a new connection; the earlier one is closed. */
  subscribe(channels: readonly string[], reconnect: boolean): Promise<void>;
  /** Closes at once; what waits for an answer is rejected. */
  drop(): void;
}

/** Resolved when the engine has taken the user and password. */
export type OpenClient = (options: ClientOptions) => Promise<EngineClient>;
