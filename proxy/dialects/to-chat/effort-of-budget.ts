/** Chat completions have no token budget for thinking, so a client's becomes an effort. */

/** The efforts for budgets up to these; above the last it is `high`. */
const efforts = [
  [4096, "low"],
  [16_384, "medium"],
] as const;

export function effortOfBudget(tokens: number): string {
  return efforts.find(([most]) => tokens <= most)?.[1] ?? "high";
}
