/**
 * Tables of how the fields of one kind of object are translated. The code checks requests against
 * them, and docs/reference/dialects.md shows them.
 *
 * A field is left out when the answer means the same without it. A field whose absence changes how
 * the answer turns out, but not what it is, is dropped, and so is a field that isn't in the table.
 * A field that the client couldn't do without is refused.
 */

type FieldRule =
  | {
      readonly how: "mapped";
      /** What it becomes. */
      readonly note: string;
    }
  | {
      readonly how: "left out";
      /** Why that is harmless. */
      readonly note: string;
    }
  | {
      readonly how: "refused";
      /** What it must be instead: `must be 1`. */
      readonly must: string;
      /** What the other dialect is like: `which returns one answer`. */
      readonly note: string;
      /** Whether a value means the same as the field's absence, and is accepted. */
      readonly allows: (value: unknown) => boolean;
    }
  | {
      /** Left out with a word to the client, or refused where the operator wants that. */
      readonly how: "dropped";
      /** As for a field that is refused. */
      readonly must: string;
      readonly note: string;
      /** Whether a value means the same as the field's absence, so that there is no word. */
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

export function dropped(
  note: string,
  must = "must be left out",
  allows: (value: unknown) => boolean = () => false,
): FieldRule {
  return { how: "dropped", must, note, allows };
}

/** An empty list means the same as its absence. */
export function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
