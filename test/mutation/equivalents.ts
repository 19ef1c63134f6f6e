/**
 * Mutations that change nothing which a caller can see, each with the reason. They don't count
 * against the score.
 */
export interface Equivalent {
  /** From the root, as in `limiterd/rules/admit.ts`. */
  readonly file: string;
  /** The compiled line, trimmed. */
  readonly line: string;
  /** As `mutationsOf` says it. */
  readonly what: string;
  readonly why: string;
}

export const equivalents: readonly Equivalent[] = [];
