/**
 * The port to the engine, the Valkey or Redis server that all hosts of a cluster share: commands,
 * scripts, channels and the connection's state. Each key is declared in the module that uses it.
 * `connect-engine.ts` implements it; the tests have an engine in memory.
 */

/** The answer of a script; a number is an integer. */
export type EngineValue = string | number | null | readonly EngineValue[];

/**
 * A Lua script that the engine runs as one step. All of its keys are passed in `keys` and share one
 * hash slot, because their text in braces is the same. `name` is for messages and for the tests'
 * TypeScript versions of scripts.
 */
export interface EngineScript {
  readonly name: string;
  readonly source: string;
}

/**
 * - `connecting`: not reached since the start.
 * - `connected`: `epoch` changes if, and only if, the engine may have lost its data: it was
 *   restarted or emptied, or another server took over. Compare it with the epoch to which you last
 *   sent everything, also across restarts of the daemon.
 * - `away`: `reason` is a sentence for the log and for users.
 */
export type EngineState =
  | { readonly kind: "connecting" }
  | {
      readonly kind: "connected";
      readonly epoch: string;
      /** Servers of a Cluster that don't answer, by their addresses. */
      readonly serversAway: readonly string[];
    }
  | { readonly kind: "away"; readonly reason: string; readonly sinceMs: number };

/**
 * The engine is unreachable, or hasn't answered in time and may have run the command. No answer
 * arrives later.
 */
export class EngineAwayError extends Error {
  override readonly name = "EngineAwayError";
}

/**
 * The engine has answered this command with an error or in an unexpected form. The message is a
 * sentence for the log and for users, or the engine's own message.
 */
export class EngineRefusedError extends Error {
  override readonly name = "EngineRefusedError";
}

/**
 * Each method is one command of the engine under its usual name. They reject with
 * `EngineAwayError`, immediately while the engine is away, or with `EngineRefusedError`. Commands
 * of one turn of the event loop are sent together; commands to one key run in order.
 */
export interface EngineCommands {
  get(key: string): Promise<string | null>;
  set(key: string, value: string, options?: { readonly expiresMs?: number }): Promise<void>;
  del(key: string): Promise<number>;
  pexpire(key: string, ms: number): Promise<boolean>;
  hget(key: string, field: string): Promise<string | null>;
  hgetall(key: string): Promise<ReadonlyMap<string, string>>;
  /** Returns the number of new fields. */
  hset(key: string, fields: Readonly<Record<string, string>>): Promise<number>;
  hdel(key: string, fields: readonly string[]): Promise<number>;
  /** The engine's clock, in milliseconds since the epoch. */
  time(): Promise<number>;
}

/** Whether messages of other hosts arrive. */
export interface Reception {
  /** Whether the message that this host published a second ago has arrived. */
  readonly isConfirmed: boolean;
  /** Subscribers of the channel, including this host, as last reported; null: not known yet. */
  readonly subscribers: number | null;
}

export interface EngineConnection {
  readonly state: EngineState;
  readonly commands: EngineCommands;
  /** Runs a script; rejects like a command. Numbers in `args` must be integers. */
  call(
    script: EngineScript,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<EngineValue>;
  /**
   * Receives messages while the engine is reached; those published while it is away are lost, so
   * read the data when `state` becomes `connected`. Returns a function that unsubscribes.
   */
  subscribe(channel: string, listener: (message: string) => void): () => void;
  reception(channel: string): Reception;
  /** Calls `changed` with each new state. Returns a function that ends this. */
  watch(changed: (state: EngineState) => void): () => void;
  close(): Promise<void>;
}
