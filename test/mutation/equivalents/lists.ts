/** In the keys, lists and lifecycle of the daemon. By file. */
import type { Equivalent } from "./equivalent.js";

export const listEquivalents: readonly Equivalent[] = [
  {
    file: "limiterd/keys/key-ring.ts",
    line: "const old = key.hash === hash ? undefined : key.oldSecrets.find((one) => one.hash === hash);",
    what: "the condition is always false",
    why: "no old secret has the hash of the present one: what is left out is quicker, and no more",
  },
  {
    file: "limiterd/keys/key-ring.ts",
    line: "return a === null || b === null ? (a ?? b) : Math.max(a, b);",
    what: "|| becomes &&",
    why: "beside a moment null is 0 to Math.max, and no moment is before it",
  },
  {
    file: "limiterd/keys/stored-key.ts",
    line: "labels: labels.length === 0 ? none : labels,",
    what: "the condition is always false",
    why: "an empty list of its own is the same, in more memory",
  },
  {
    file: "limiterd/keys/stored-key.ts",
    line: "if (value.length === 0)",
    what: "the condition is always false",
    why: "an empty list of its own is the same, in more memory",
  },
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
    file: "limiterd/lists/follow-records.ts",
    line: 'const [first = end] = store.keys("usage", { from: 0, before: end, limit: 1 }).map(Number);',
    what: "0 becomes 1",
    why: "the first record has the key 1",
  },
  {
    file: "limiterd/lists/follow-records.ts",
    line: 'const [first = end] = store.keys("usage", { from: 0, before: end, limit: 1 }).map(Number);',
    what: "1 becomes 2",
    why: "the second isn't looked at",
  },
  {
    file: "limiterd/lists/fullest.ts",
    line: "last = [...found.values()].at(-1);",
    what: "the statement is left out",
    why: "it spares names that are too empty a place; without it they are cut off later",
  },
  {
    file: "limiterd/lists/fullest.ts",
    line: "const namesPerSlice = childrenPerSweep / 10;",
    what: "10 becomes 11",
    why: "a slice is a little shorter",
  },
  {
    file: "limiterd/lists/fullest.ts",
    line: "if (last === null || compare(ranked, last) < 0)",
    what: "< becomes <=",
    why: "no two names are equal: one that comes again is noted as it was",
  },
  {
    file: "limiterd/lists/fullest.ts",
    line: "if (found.size >= 4 * limit) {",
    what: "4 becomes 5",
    why: "more of them are kept until the end, of which the same are the first",
  },
  {
    file: "limiterd/lists/fullest.ts",
    line: "if (found.size >= 4 * limit) {",
    what: ">= becomes >",
    why: "more of them are kept until the end, of which the same are the first",
  },
  {
    file: "limiterd/lists/fullest.ts",
    line: "return b.usedRatio - a.usedRatio || (a.name < b.name ? -1 : 1);",
    what: "< becomes <=",
    why: "no two names are equal",
  },
  {
    file: "limiterd/lists/list-leases.ts",
    line: "if (!keepFirst(first, query.limit, 4 * query.limit))",
    what: "the condition is always true",
    why: "more of them are kept until the end, of which the same are the first",
  },
  {
    file: "limiterd/lists/list-leases.ts",
    line: "latestMs = first.at(-1).held.admittedAtMs;",
    what: "the statement is left out",
    why: "more of them are compared, of which the same are the first",
  },
  {
    file: "limiterd/lists/list-leases.ts",
    line: "if (list.length <= max)",
    what: "the condition is always false",
    why: "fewer are kept meanwhile, of which the same are the first",
  },
  {
    file: "limiterd/lists/list-leases.ts",
    line: "return a.proxyId < b.proxyId ? -1 : 1;",
    what: "< becomes <=",
    why: "the two differ here",
  },
  {
    file: "limiterd/lists/list-records.ts",
    line: "const examinedMax = 20_000;",
    what: "20000 becomes 20001",
    why: "the next page goes on behind the last record that was looked at, whichever it was",
  },
  {
    file: "limiterd/lists/list-records.ts",
    line: "const recordsPerEntry = 4;",
    what: "4 becomes 5",
    why: "the next page goes on behind the last record that was looked at, whichever it was",
  },
  {
    file: "limiterd/lists/list-records.ts",
    line: "let examined = 0;",
    what: "0 becomes 1",
    why: "the next page goes on behind the last record that was looked at, whichever it was",
  },
];
