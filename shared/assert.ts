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

/** Whether a value from outside is a safe integer from `min` up. */
export function isCount(value: unknown, min = 0): value is number {
  return Number.isSafeInteger(value) && (value as number) >= min;
}

/** Whether a value from outside is an object with fields: neither null nor a list. */
export function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether a field from outside is missing; JSON's null counts as missing too. */
export function isAbsent(value: unknown): value is null | undefined {
  return value === undefined || value === null;
}
