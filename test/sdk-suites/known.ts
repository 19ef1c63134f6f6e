/** What the SDKs' tests meet through Sluice and not without it, each with its reason. */

export interface KnownDifference {
  readonly sdk: string;
  readonly way: string;
  /** Of tests, as `file::class::test`. */
  readonly tests: RegExp;
  readonly reason: string;
}

export const known: readonly KnownDifference[] = [];
