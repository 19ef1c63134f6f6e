/** In budgets and counters. By file. */
import type { Equivalent } from "./equivalent.js";

export const counterEquivalents: readonly Equivalent[] = [
  {
    file: "limiterd/budgets/account-periods.ts",
    line: "if (nowMs < budget.bounds.startMs || nowMs >= budget.bounds.endMs)",
    what: "< becomes <=",
    why: "at the first moment of a period its bounds are calculated again, and are the same",
  },
  {
    file: "limiterd/budgets/account-sweep.ts",
    line: "const lastStartMs = spends.findLast(({ startMs }) => startMs <= nowMs)?.startMs ?? 0;",
    what: "<= becomes <",
    why: "a period that begins now is near, and its account isn't forgotten",
  },
  {
    file: "limiterd/budgets/backfill-budget.ts",
    line: "if (slice.length > 0)",
    what: "the condition is always true",
    why: "a commit of nothing changes nothing",
  },
  {
    file: "limiterd/budgets/backfill-budget.ts",
    line: "if (untilMs === fromMs || isOver(ports, gap))",
    what: "|| becomes &&",
    why: "records are read of which none is in the time, or that nothing takes any more",
  },
  {
    file: "limiterd/budgets/budget-account.ts",
    line: "if (generation === budget.generation)",
    what: "the condition is always false",
    why: "no reset has a later generation than its budget, so none is applied",
  },
  {
    file: "limiterd/budgets/budget-book.ts",
    line: "const resets = periods.map((period, i) => ({ ...period, generation: i + 1 }));",
    what: "1 becomes 2",
    why: "the numbers are compared with each other alone",
  },
  {
    file: "limiterd/budgets/budget-index.ts",
    line: "#size = 0;",
    what: "0 becomes 1",
    why: "an index without budgets takes the long way to the same empty list",
  },
  {
    file: "limiterd/budgets/budget-index.ts",
    line: 'const next = userPath.indexOf("/", end + 1);',
    what: "1 becomes 2",
    why: "no segment of a path is empty, so the next slash is further on",
  },
  {
    file: "limiterd/budgets/judge-budgets.ts",
    line: "let worstEndMs = 0;",
    what: "0 becomes 1",
    why: "it is read only when there is a worst one, and then it is that one's end",
  },
  {
    file: "limiterd/budgets/judge-budgets.ts",
    line: "compareBudgets(account.budget.definition, worst.budget.definition) >= 0)))",
    what: ">= becomes >",
    why: "no two budgets of a request have the same name",
  },
  {
    file: "limiterd/budgets/spend.ts",
    line: "const at = spends.findIndex(({ startMs }) => startMs > period.startMs);",
    what: "> becomes >=",
    why: "a period is added only while none begins at the same moment",
  },
  {
    file: "limiterd/counters/checked-out-counters.ts",
    line: "return counter.slot !== -1 && this.#counters[counter.slot] === counter;",
    what: "1 becomes 2",
    why: "there is no counter at -1: what is left out is quicker, and no more",
  },
  {
    file: "limiterd/counters/child-blocks.ts",
    line: "for (let i = 0, count = nameWords(head); i < count; i++)",
    what: "< becomes <=",
    why: "what lies behind the name is filler, or a number that is set afterwards",
  },
  {
    file: "limiterd/counters/child-blocks.ts",
    line: "if (open.usedUnits + units <= open.numbers.length)",
    what: "<= becomes <",
    why: "a block is left a record earlier, and the record is in the next one",
  },
  {
    file: "limiterd/counters/child-buckets.ts",
    line: "this.#firsts.pop();",
    what: "the statement is left out",
    why: "the 64 KiB stay until the next bucket needs them",
  },
  {
    file: "limiterd/counters/child-name.ts",
    line: "head = 0;",
    what: "0 becomes 1",
    why: "it is asked for once a name was read, which sets it",
  },
  {
    file: "limiterd/counters/child-name.ts",
    line: "hash = 0;",
    what: "0 becomes 1",
    why: "it is asked for once a name was read, which sets it",
  },
  {
    file: "limiterd/counters/child-name.ts",
    line: "for (let i = 0; i < length; i++) {",
    what: "< becomes <=",
    why: "behind the last character there is nothing, which is written as 0, as what fills the word",
  },
  {
    file: "limiterd/counters/child-name.ts",
    line: "for (let i = 0; i < length; i++)",
    what: "< becomes <=",
    why: "behind the last character there is nothing, which is written as 0, as what fills the word",
  },
  {
    file: "limiterd/counters/child-table.ts",
    line: "if (this.size > this.#buckets.count)",
    what: "the condition is always true",
    why: "a bucket more or less for some records makes none of them harder to find",
  },
  {
    file: "limiterd/counters/child-table.ts",
    line: "if (this.size > this.#buckets.count)",
    what: "> becomes >=",
    why: "a bucket more makes no record harder to find",
  },
  {
    file: "limiterd/counters/children.ts",
    line: "const place = kept?.table.find(name) ?? -1;",
    what: "?? has no fallback",
    why: "without a table the next line returns, whatever the place",
  },
  {
    file: "limiterd/counters/window.ts",
    line: "const largest = product <= exactQuotientMax",
    what: "the condition is always false",
    why: "the quotient in BigInt is the same, and slower",
  },
  {
    file: "limiterd/counters/window.ts",
    line: "const weighed = product <= exactQuotientMax",
    what: "the condition is always false",
    why: "the quotient in BigInt is the same, and slower",
  },
];
