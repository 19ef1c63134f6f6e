/**
 * Bugs planted on purpose, to prove that the simulation can fail: each is a text of a compiled file
 * and its replacement. The product has no hooks for them. A text that is gone, because the code
 * has changed, fails a test: the mutant must be written again.
 */
export interface Mutant {
  readonly name: string;
  /** Below `dist/`. */
  readonly file: string;
  /** What finds it: the simulation of one host, unless another is named; or the ledger. */
  readonly simulation?:
    | "hosts"
    | "caps"
    | "shared-caps"
    | "shares"
    | "together"
    | "batches"
    | "loops"
    | "waiting"
    | "ledger";
  /** Occurs exactly once, however its lines are broken. */
  readonly find: string;
  readonly put: string;
  /**
   * Caught in a quarter of the seeds or more: `npm test` may plant it too, the others are left to
   * `npm run heavy -- sim --mutants`.
   */
  readonly often: boolean;
  /** The first seed that `npm test` tries, for one whose faults are in few seeds; by default 1. */
  readonly from?: number;
}
