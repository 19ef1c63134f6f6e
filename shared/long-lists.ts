/**
 * What is done with a list of any length. A list that is spread into a call goes onto the stack,
 * item by item, and at some 120,000 items the stack is full; `test/tidy.test.ts` refuses it.
 */

/** Adds the items at the end. */
export function append<Item>(to: Item[], items: Iterable<Item>): void {
  for (const item of items) to.push(item);
}

/** The greatest of the values and `atLeast`. */
export function greatest(values: Iterable<number>, atLeast = Number.NEGATIVE_INFINITY): number {
  let found = atLeast;
  for (const value of values) found = Math.max(found, value);
  return found;
}
