/** In the keys, lists and lifecycle of the daemon. By file. */
import type { Equivalent } from "./equivalent.js";

export const listEquivalents: readonly Equivalent[] = [
  {
    file: "limiterd/lifecycle/load-unread.ts",
    line: "ruleSet.endReading();",
    what: "the statement is left out",
    why: "the list that is made right after reads what is left: nothing, and ends it",
  },
  {
    file: "limiterd/lifecycle/restore.ts",
    line: "book.sorted();",
    what: "the statement is left out",
    why: "the first list sorts them, and waits for it",
  },
  {
    file: "limiterd/lifecycle/sweep.ts",
    line: "if (expired.length === 0)",
    what: "the condition is always false",
    why: "of no denials nothing is announced, and nothing written",
  },
  {
    file: "limiterd/lists/fullest.ts",
    line: "last = [...found.values()].at(-1);",
    what: "the statement is left out",
    why: "it spares names that are too empty a place; without it they are cut off later",
  },
  {
    file: "limiterd/lists/list-leases.ts",
    line: "if (!keepFirst(first, query.limit, 4 * query.limit))",
    what: "the condition is always true",
    why: "more of them are kept until the end, of which the same are the first",
  },
  {
    file: "limiterd/lists/list-records.ts",
    line: "const examinedMax = 20_000;",
    what: "20000 becomes 20001",
    why: "the next page goes on behind the last record that was looked at, whichever it was",
  },
];
