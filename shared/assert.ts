/**
 * Assertions about our own code. They stay on in production: a failed one ends the request on whose
 * way it is thrown, and in the daemon the process. Nothing from outside (a request, a frame, a
 * file) is judged here.
 */

/** Throws when our own reasoning was wrong. */
export function assert(condition: boolean, message: string): asserts condition {
  if (!condition) throw new Error(`assertion failed: ${message}`);
}

/** The end of an exhausted union: the compiler proves that it can't be reached. */
export function unreachable(value: never): never {
  throw new Error(`assertion failed: unreachable value ${JSON.stringify(value)}`);
}
