/**
 * The operator's settings for requests to some models of a provider
 * (docs/reference/configuration.md, `per_model`): deadlines, and fields of the body.
 */
import type { Operation } from "../operation.js";

/** Operations whose parameters an entry may change; deadlines apply to all operations. */
export const tunedOperations = [
  "chat_completions",
  "completions",
  "responses",
  "messages",
] as const satisfies readonly Operation[];

/**
 * Fields that no entry may change: the model, the prompt, and whether the answer is a stream, which
 * Sluice must know for metering.
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

/** A field of a body; its value is JSON in ASCII. */
export interface SetField {
  readonly name: string;
  readonly json: string;
}

export interface ModelOverrides {
  /** Model names at the provider, in lower case; `*` matches any characters. */
  readonly models: readonly string[];
  /** Null for all operations. */
  readonly operations: readonly Operation[] | null;
  /** Null to use the provider's. */
  readonly firstByteTimeoutMs: number | null;
  /** For one attempt, from connecting to the last byte; null for none. */
  readonly totalTimeoutMs: number | null;
  /** Fields that replace the client's. */
  readonly set: readonly SetField[];
  /** Fields added if the client leaves them out. */
  readonly defaults: readonly SetField[];
  /** Fields removed from the body. */
  readonly drop: readonly string[];
}
