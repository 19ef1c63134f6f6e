/** In the handlers of the daemon. By file. */
import type { Equivalent } from "./equivalent.js";

export const handlerEquivalents: readonly Equivalent[] = [
  {
    file: "limiterd/handlers/admin/explain-verdict.ts",
    line: "const tokensWait = periodMs === 0 ? 0 : waitOfTokens(counter, options);",
    what: "the condition is always false",
    why: "a gauge has no cap of tokens",
  },
  {
    file: "limiterd/handlers/admin/export-records.ts",
    line: "const end = ranges.at(-1)?.before ?? 0;",
    what: "?? has no fallback",
    why: "without a range there is no record, and nothing reads it",
  },
  {
    file: "limiterd/handlers/admin/export-records.ts",
    line: "const first = ranges[0]?.from ?? 0;",
    what: "?? has no fallback",
    why: "without a range there is no record, and nothing reads it",
  },
  {
    file: "limiterd/handlers/admin/export-records.ts",
    line: "const first = ranges[0]?.from ?? 0;",
    what: "0 becomes 1",
    why: "without a range there is no record, and nothing reads it",
  },
  {
    file: "limiterd/handlers/admin/export-records.ts",
    line: "const end = ranges.at(-1)?.before ?? 0;",
    what: "0 becomes 1",
    why: "without a range there is no record, and nothing reads it",
  },
  {
    file: "limiterd/handlers/admin/handle-usage.ts",
    line: 'if (op !== "usage.summary")',
    what: "the condition is always false",
    why: "no other operation gets here, as the compiler checks",
  },
  {
    file: "limiterd/handlers/admin/usage-status.ts",
    line: "...(rule.periodMs > 0",
    what: "0 becomes 1",
    why: "periods are whole seconds",
  },
];
