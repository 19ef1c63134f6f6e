/** A mutation that changes nothing which a caller can see, with the reason. */
export interface Equivalent {
  /** From the root, as in `limiterd/rules/admit.ts`. */
  readonly file: string;
  /** The compiled line, trimmed. */
  readonly line: string;
  /** As `mutationsOf` says it. */
  readonly what: string;
  /** Of several of this name on the line: which one, from 1 on; undefined: each of them. */
  readonly nth?: number;
  readonly why: string;
}
