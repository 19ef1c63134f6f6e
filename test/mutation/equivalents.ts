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
    file: "limiterd/budgets/account-sweep.ts",
    line: "const lastStartMs = spends.findLast(({ startMs }) => startMs <= nowMs)?.startMs ?? 0;",
    what: "<= becomes <",
    why: "a period that begins now is near, and its account isn't forgotten",
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
  {
    file: "limiterd/handlers/admin/explain-verdict.ts",
    line: "const requestsWait = periodMs === 0 ? 0 : waitOfRequests(counter, options);",
    what: "the condition is always false",
    why: "a gauge's window stays empty, and there is room in it",
  },
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
    file: "limiterd/handlers/admin/summarize-usage.ts",
    line: "keepLargest(largest, rest, 2 * usageGroupsMax);",
    what: "2 becomes 3",
    why: "the groups are sorted less often, with the same result",
  },
  {
    file: "limiterd/handlers/admin/summarize-usage.ts",
    line: "keepLargest(largest, rest, 2 * usageGroupsMax);",
    what: "* becomes /",
    why: "the groups are sorted more often, with the same result",
  },
  {
    file: "limiterd/handlers/admin/summarize-usage.ts",
    line: "if (keepLargest(largest, rest, 2 * usageGroupsMax))",
    what: "2 becomes 3",
    why: "the groups are sorted less often, with the same result",
  },
  {
    file: "limiterd/handlers/admin/summarize-usage.ts",
    line: 'const [key] = state.store.keys("rollups", { from: next, before, limit: 1 });',
    what: "1 becomes 2",
    why: "the second isn't looked at",
  },
  {
    file: "limiterd/handlers/apply-settle.ts",
    line: "if (seq > proxy.durableSeq)",
    what: "the condition is always true",
    why: "settles are durable in the order of their numbers",
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
    file: "limiterd/lists/list-children.ts",
    line: "const sorted = [...children.values()].sort((a, b) => b.item.used_ratio - a.item.used_ratio || (a.name < b.name ? -1 : 1));",
    what: "1 becomes 2",
    why: "an order is told by the sign alone",
  },
  {
    file: "limiterd/lists/list-leases.ts",
    line: "return a.proxyId < b.proxyId ? -1 : 1;",
    what: "1 becomes 2",
    why: "an order is told by the sign alone",
  },
  {
    file: "limiterd/rules/count-settle.ts",
    line: "return held !== undefined && isSameTarget(held.target, target) ? stillMet(held, book) : null;",
    what: "the condition is always false",
    why: "matching finds the counters that were met, and takes longer",
  },
  {
    file: "limiterd/store/lmdb/key-bytes.ts",
    line: "for (let at = 0; at < bytes.length; at++) {",
    what: "< becomes <=",
    why: "behind the last byte there is none, and so no half of a character",
  },
  {
    file: "limiterd/store/lmdb/key-bytes.ts",
    line: "return !key.includes(replacement) || keyToBytes(key).equals(stored)",
    what: "|| becomes &&",
    why: "decoding with more care gives the same text, and takes longer",
  },
  {
    file: "limiterd/store/lmdb/key-bytes.ts",
    line: "const bytes = Buffer.alloc(9);",
    what: "9 becomes 10",
    why: "the tenth byte is zero, and left out",
  },
  {
    file: "limiterd/store/lmdb/lmdb-file.ts",
    line: 'root.putSync("check", Buffer.alloc(0));',
    what: "0 becomes 1",
    why: "the transaction is given up",
  },
  {
    file: "limiterd/store/lmdb/lmdb-store.ts",
    line: "if (nowMs - this.#touchedAtMs < touchMs)",
    what: "< becomes <=",
    why: "the mark is touched some microseconds later",
  },
  {
    file: "limiterd/store/lmdb/store-file.ts",
    line: "export const trialBytes = 64 * 1024;",
    what: "1024 becomes 1025",
    why: "a trial is a little larger",
  },
  {
    file: "limiterd/store/lmdb/store-file.ts",
    line: "export const trialBytes = 64 * 1024;",
    what: "64 becomes 65",
    why: "a trial is a little larger",
  },
  {
    file: "limiterd/store/lmdb/store-file.ts",
    line: "await probeDisk(trialFile(file), { at: fileBytes(file) ?? 0, bytes: trialBytes });",
    what: "?? has no fallback",
    why: "a position that is no number is where the new file begins",
  },
  {
    file: "limiterd/usage/rollups-of-record.ts",
    line: "if (dayNumber !== this.#dayNumber) {",
    what: "the condition is always true",
    why: "the day is calculated again, and is the same",
  },
  {
    file: "limiterd/usage/trim-usage.ts",
    line: "const oldest = dayOf(Math.max(0, nowMs - Math.max(retentionDays, rollupDaysMin) * dayMs));",
    what: "0 becomes 1",
    why: "the first millisecond of 1970 is of the same day as the second",
  },
  {
    file: "limiterd/usage/trim-usage.ts",
    line: "if (limit <= 0)",
    what: "0 becomes 1",
    why: "with room for one entry left, the rest waits for the next turn",
  },
  {
    file: "proxy/limiter/denied-jwts.ts",
    line: "if (this.#byName.size === 0)",
    what: "the condition is always false",
    why: "of no names none is found: what is left out is quicker, and no more",
  },
  {
    file: "proxy/limiter/settle-backlog.ts",
    line: "if (Array.isArray(last) && this.size > settlesKeptAsTheyAre)",
    what: "> becomes >=",
    why: "one more is packed, and is the same when it is read",
  },
  {
    file: "proxy/limiter/spool/settle-directory.ts",
    line: "const pieceBytes = 256 * 1024;",
    what: "256 becomes 257",
    why: "a piece is a little larger",
  },
  {
    file: "proxy/limiter/spool/settle-directory.ts",
    line: "const pieceBytes = 256 * 1024;",
    what: "1024 becomes 1025",
    why: "a piece is a little larger",
  },
  {
    file: "proxy/limiter/spool/settle-directory.ts",
    line: "const settlesPerPiece = 500;",
    what: "500 becomes 501",
    why: "a piece holds one more, and the file the same",
  },
  {
    file: "proxy/routing/order-targets.ts",
    line: "const noLoad = { inFlight: () => 0, latencyClass: () => 0 };",
    what: "0 becomes 1",
    why: "all targets are as busy and as fast as each other",
  },
  {
    file: "proxy/routing/target-load.ts",
    line: "return this.#byName.size === 0 ? undefined : this.#byName.get(targetName(target));",
    what: "the condition is always false",
    why: "of no targets none is found: what is left out is quicker, and no more",
  },
  {
    file: "proxy/usage/event-reader.ts",
    line: "if (lines === 0)",
    what: "the condition is always false",
    why: "a blank event has no data, in which nothing is found",
  },
  {
    file: "proxy/usage/find-usage.ts",
    line: "if (at === -1)",
    what: "1 becomes 2",
    why: "of a text without usage the last character is parsed, which holds none",
  },
  {
    file: "proxy/usage/find-usage.ts",
    line: "if (at === -1 || text.includes('\"error\"'))",
    what: "1 becomes 2",
    why: "of a text without usage the last character is parsed, which holds none",
  },
  {
    file: "proxy/usage/price-usage.ts",
    line: "webSearches * (price.perWebSearch ?? 0) +",
    what: "?? has no fallback",
    why: "null counts as 0 in a product",
  },
  {
    file: "proxy/usage/price-usage.ts",
    line: "fileSearches * (price.perFileSearch ?? 0));",
    what: "?? has no fallback",
    why: "null counts as 0 in a product",
  },
  {
    file: "proxy/usage/response-meter.ts",
    line: "this.#keptBytes = 0;",
    what: "the statement is left out",
    why: "nothing is kept, or given back, after it",
  },
  {
    file: "proxy/usage/tap-stream.ts",
    line: "if (start < chunk.length) {",
    what: "the condition is always true",
    why: "nothing is added to what is open",
  },
  {
    file: "proxy/usage/tap-stream.ts",
    line: "this.#lines = 0;",
    what: "0 becomes 1",
    why: "a count that is too large has the event read in the slower way, with the same result",
  },
  {
    file: "proxy/usage/tap-stream.ts",
    line: "if (held.length > 0)",
    what: "the condition is always true",
    why: "nothing is added, or sent",
  },
  {
    file: "shared/domain/budget.ts",
    line: "return a.scope < b.scope ? -1 : 1;",
    what: "< becomes <=",
    why: "the scopes differ",
  },
  {
    file: "shared/domain/budget.ts",
    line: "return a.subject < b.subject ? -1 : 1;",
    what: "< becomes <=",
    why: "the subjects differ",
  },
  {
    file: "shared/domain/budget.ts",
    line: "return a.scope < b.scope ? -1 : 1;",
    what: "1 becomes 2",
    why: "only the sign of a comparison is read",
  },
  {
    file: "shared/domain/budget.ts",
    line: "return a.subject < b.subject ? -1 : 1;",
    what: "1 becomes 2",
    why: "only the sign of a comparison is read",
  },
  {
    file: "shared/domain/rule.ts",
    line: "return a < b ? -1 : a > b ? 1 : 0;",
    what: "1 becomes 2",
    why: "only the sign of a comparison is read",
  },
  {
    file: "shared/wire/codec.ts",
    line: "if (held.length > 0) {",
    what: "the condition is always true",
    why: "a chunk behind nothing is itself, copied",
  },
  {
    file: "shared/wire/daemon-client.ts",
    line: "this.#waiting.delete(0);",
    what: "the statement is left out",
    why: "a promise that is resolved isn't rejected any more",
  },
  {
    file: "shared/wire/jwt-change.ts",
    line: "const name = nameFromWire(flatDenied.slice(i, i + 3));",
    what: "3 becomes 4",
    why: "a name is read from the first three",
  },
];
