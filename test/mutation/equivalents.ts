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

export const equivalents: readonly Equivalent[] = [
  {
    file: "limiterd/budgets/account-periods.ts",
    line: "if (nowMs < budget.bounds.startMs || nowMs >= budget.bounds.endMs)",
    what: "< becomes <=",
    why: "at the first moment of a period its bounds are calculated again, and are the same",
  },
  {
    file: "limiterd/budgets/judge-budgets.ts",
    line: "let worstEndMs = 0;",
    what: "the number grows",
    why: "it is read only when there is a worst one, and then it is that one's end",
  },
  {
    file: "limiterd/budgets/spend.ts",
    line: "const at = spends.findIndex(({ startMs }) => startMs > period.startMs);",
    what: "> becomes >=",
    why: "a period is added only while none begins at the same moment",
  },
];
