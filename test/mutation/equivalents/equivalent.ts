/** A mutation that changes nothing which a caller can see, with the reason. */
export interface Equivalent {
  /** From the root, as in `limiterd/rules/admit.ts`. */
  readonly file: string;
  /** The compiled line, trimmed. */
  readonly line: string;
  /** As `mutationsOf` says it. */
  readonly what: string;
  readonly why: string;
}
