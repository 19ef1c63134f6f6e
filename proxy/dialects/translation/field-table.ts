/**
 * How the fields of one kind of object are translated, as tables: the code goes by them, and
 * docs/dialects.md shows them.
 *
 * A field is left out only when the answer means the same without it. What would change its meaning
 * is refused, and so is a field that no table knows.
 */

export type FieldRule =
  | { readonly how: "mapped" /** What it becomes. */; readonly note: string }
  | { readonly how: "left out" /** Why that is harmless. */; readonly note: string }
  | {
      readonly how: "refused";
      /** What it must be instead: `must be 1`. */
      readonly must: string;
      /** What the other dialect is like: `which returns one answer`. */
      readonly note: string;
      /** Whether a value says no more than its absence does. */
      readonly allows: (value: unknown) => boolean;
    };

export type FieldTable = ReadonlyMap<string, FieldRule>;

export function fieldTable(rules: Readonly<Record<string, FieldRule>>): FieldTable {
  return new Map(Object.entries(rules));
}

export function mapped(note: string): FieldRule {
  return { how: "mapped", note };
}

export function leftOut(note: string): FieldRule {
  return { how: "left out", note };
}

export function refused(
  note: string,
  must = "must be left out",
  allows: (value: unknown) => boolean = () => false,
): FieldRule {
  return { how: "refused", must, note, allows };
}

/** A list that asks for nothing. */
export function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
