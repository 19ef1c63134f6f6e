/**
 * The port to the engine: the Valkey or Redis server that all hosts of a cluster share. Commands,
 * scripts and channels, and whether it can be reached. Which keys there are is with their subjects;
 * the client is `connect-engine.ts`, and the tests have an engine in memory.
 */

/** What a script answers with: a number is an integer. */
export type EngineValue = string | number | null | readonly EngineValue[];

/**
 * A Lua script that the engine runs as one step. All of its keys are in `keys`, and in one slot:
 * they share what stands in braces. `name` is for messages, and for the twins of the tests.
 */
export interface EngineScript {
  readonly name: string;
  readonly source: string;
}

/**
 * - `connecting`: not reached yet since the start.
 * - `connected`: `epoch` is another text than before if, and only if, the engine may have lost what
 *   it was told: it was started again, emptied, or another server took over. Compare it with the
 *   epoch that you last told all to, also over the daemon's restarts.
 * - `away`: `reason` is a sentence for the log and for people.
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
 * The engine can't be asked, or hasn't answered in time: it is not known whether it has done what
 * it was asked. The answer can't come later.
 */
export class EngineAwayError extends Error {
  override readonly name = "EngineAwayError";
}

/**
 * The engine has answered this one command with an error, or with what isn't understood. The
 * message is a sentence for the log and for people, or what the engine said.
 */
export class EngineRefusedError extends Error {
  override readonly name = "EngineRefusedError";
}

/**
 * Each method is one command of the engine under its usual name. They reject with
 * `EngineAwayError`, at once while the engine is away, or `EngineRefusedError`. Commands that are
 * given in one turn of the event loop travel together, and those to one key are done in their
 * order.
 */
export interface EngineCommands {
  get(key: string): Promise<string | null>;
  set(key: string, value: string, options?: { readonly expiresMs?: number }): Promise<void>;
  del(key: string): Promise<number>;
  pexpire(key: string, ms: number): Promise<boolean>;
  hget(key: string, field: string): Promise<string | null>;
  hgetall(key: string): Promise<ReadonlyMap<string, string>>;
  /** How many fields are new. */
  hset(key: string, fields: Readonly<Record<string, string>>): Promise<number>;
  hdel(key: string, fields: readonly string[]): Promise<number>;
  /** The engine's clock, in milliseconds since the epoch. */
  time(): Promise<number>;
}

/** Whether changes of other hosts arrive at once. */
export interface Reception {
  /** What this host published a second ago has come back to it. */
  readonly isConfirmed: boolean;
  /** Subscribers of the channel, this host included, as last reported; null: not yet. */
  readonly subscribers: number | null;
}

export interface EngineConnection {
  readonly state: EngineState;
  readonly commands: EngineCommands;
  /** As a command: numbers in `args` are integers. */
  call(
    script: EngineScript,
    keys: readonly string[],
    args: readonly (string | number)[],
  ): Promise<EngineValue>;
  /**
   * Hears what is published from when the engine is reached on; what is published while it is away
   * is lost, so ask when `state` says `connected`. Returns what ends it.
   */
  subscribe(channel: string, heard: (message: string) => void): () => void;
  reception(channel: string): Reception;
  /** Told of each change of `state`, and of no other. Returns what ends it. */
  watch(changed: (state: EngineState) => void): () => void;
  close(): Promise<void>;
}
