/**
 * Assertions about our own code, active in production: in the proxy a failed assertion ends its
 * request, in the daemon the process. Not for input (a request, a frame, a file).
 */

/** Throws if the condition is false: our own reasoning was wrong. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${message}`);
}

/** The end of an exhausted union: the compiler proves that no value reaches it. */
export function unreachable(value: never): never {
  throw new Error(`assertion failed: unreachable value ${JSON.stringify(value)}`);
}
