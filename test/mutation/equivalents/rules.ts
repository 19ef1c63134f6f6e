/** In the rules. By file. */
import type { Equivalent } from "./equivalent.js";

export const ruleEquivalents: readonly Equivalent[] = [
  {
    file: "limiterd/rules/charge.ts",
    line: "if (counter.inFlight === 0 && counter.place !== -1)",
    what: "the condition is always true",
    why: "one that is in no table is passed over when it would be put back",
  },
  {
    file: "limiterd/rules/count-settle.ts",
    line: "return held !== undefined && !held.submission && held.bookVersion === book.version",
    what: "the condition is always false",
    why: "matching finds the counters that were met, and takes longer",
  },
  {
    file: "limiterd/rules/longest-breach.ts",
    line: "return a.waitSeconds > b.waitSeconds ? a : b;",
    what: "> becomes >=",
    why: "the two differ here",
  },
  {
    file: "limiterd/rules/rule-index.ts",
    line: "if (byModel.size > 0) {",
    what: "the condition is always true",
    why: "without rules on models none is found: what is left out is quicker, and no more",
  },
  {
    file: "limiterd/rules/stored-rule.ts",
    line: 'return typeof key === "string" &&',
    what: "=== becomes !==",
    why: "the id is put together instead of taken from the key, and is the same text",
  },
  {
    file: "limiterd/rules/stored-rule.ts",
    line: "key.length === scope.length + 1 + effective.length + period.length &&",
    what: "+ becomes -",
    why: "the id is put together instead of taken from the key, and is the same text",
  },
  {
    file: "limiterd/rules/stored-rule.ts",
    line: "key.length === scope.length + 1 + effective.length + period.length &&",
    what: "=== becomes !==",
    why: "the id is put together instead of taken from the key, and is the same text",
  },
  {
    file: "limiterd/rules/stored-rule.ts",
    line: 'text += `${scope}\\n${subject}\\n${periodSeconds}\\n${maxRequests}\\n${maxTokens}\\n${perChild}\\n${hostOnly === true ? "host_only\\n" : ""}`;',
    what: "=== becomes !==",
    why: "the texts of the two differ all the same, and are only compared",
  },
];
