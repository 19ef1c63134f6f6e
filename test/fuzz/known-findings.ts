/**
 * Findings that have an issue and aren't mended yet, so that a fuzzer goes on to the next one. The
 * list is temporary: an entry goes with the commit that mends it.
 */

export interface KnownFinding {
  readonly issue: number;
  /** Its place in the issue. */
  readonly finding: string;
  readonly target: string;
  /** Found in the error's stack, message included. */
  readonly pattern: RegExp;
}

export const known: readonly KnownFinding[] = [];
