/**
 * Tables of how the fields of one kind of object are translated. The code checks requests against
 * them, and docs/reference/dialects.md shows them.
 *
 * A field is left out if the answer means the same without it. A field is dropped if the answer is
 * still valid without it, but may differ; so is a field that isn't in the table. A field that the
 * client can't do without is refused.
 */

type FieldRule =
  | {
      readonly how: "mapped";
      /** The field or value that it becomes. */
      readonly note: string;
    }
  | {
      readonly how: "left out";
      /** Why leaving it out is harmless. */
      readonly note: string;
    }
  | {
      readonly how: "refused";
      /** The required value: `must be 1`. */
      readonly must: string;
      /** The reason, a clause about the other dialect: `which returns one answer`. */
      readonly note: string;
      /** Whether a value means the same as the field's absence, and is accepted. */
      readonly allows: (value: unknown) => boolean;
    }
  | {
      /** Left out and reported to the client, or refused if the operator configures that. */
      readonly how: "dropped";
      /** The required value, as for a refused field. */
      readonly must: string;
      readonly note: string;
      /** Whether a value means the same as the field's absence, so that nothing is reported. */
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

/** An empty list means the same as an absent field. */
export function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}
