/**
 * What the operator says of requests to some models of a provider (docs/reference/configuration.md,
 * `per_model`): deadlines, and fields of the body.
 */
import type { Operation } from "../operation.js";

/** Those whose parameters an entry may change; deadlines are for all requests to a model. */
export const tunedOperations = [
  "chat_completions",
  "completions",
  "responses",
  "messages",
] as const satisfies readonly Operation[];

/**
 * Fields that no entry may change: which model executes the request, what it is asked, and whether
 * the answer is a stream, which Sluice meters.
 */
export const fixedFields: ReadonlySet<string> = new Set([
  "model",
  "messages",
  "input",
  "prompt",
  "stream",
  "stream_options",
  "background",
]);

/** A field of a body, its value as JSON in ASCII. */
export interface SetField {
  readonly name: string;
  readonly json: string;
}

export interface ModelOverrides {
  /** Names at the provider, in lower case; `*` stands for any characters. */
  readonly models: readonly string[];
  /** Null: requests of any operation. */
  readonly operations: readonly Operation[] | null;
  /** Null: as the provider's. */
  readonly firstByteTimeoutMs: number | null;
  /** Of one attempt, from its connection to its last byte; null: none. */
  readonly totalTimeoutMs: number | null;
  /** Instead of what the client says. */
  readonly set: readonly SetField[];
  /** Unless the client says otherwise. */
  readonly defaults: readonly SetField[];
  /** Left out. */
  readonly drop: readonly string[];
}
