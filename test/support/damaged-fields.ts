/** What a reader of the store makes of entries in which one field is damaged. */

/** Values that no field of this kind holds; of each, beside `undefined` and an object. */
export const never = {
  text: [1, null, true],
  flag: [0, 1, null, "true"],
  count: [-1, 0.5, "1", null, true, 2 ** 53],
  /** A count, or null. */
  maybeCount: [-1, 0.5, "1", true, 2 ** 53],
} as const;

/**
 * Those damaged entries that are read as if nothing were wrong, as `field: value`: there should be
 * none. `wrong`: for each field the values that it never holds.
 */
export function takenDespite(
  stored: readonly unknown[],
  wrong: readonly (readonly unknown[])[],
  read: (damaged: readonly unknown[]) => unknown,
): string[] {
  if (wrong.length !== stored.length)
    throw new Error(`${stored.length} fields, not ${wrong.length}`);
  return wrong.flatMap((values, field) =>
    [undefined, {}, ...values]
      .filter((value) => read(stored.with(field, value)) !== null)
      .map((value) => `${field}: ${String(value)}`),
  );
}
