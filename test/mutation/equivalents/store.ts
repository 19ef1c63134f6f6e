/** In the store, and in usage. By file. */
import type { Equivalent } from "./equivalent.js";

export const storeEquivalents: readonly Equivalent[] = [
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
    file: "limiterd/store/lmdb/key-bytes.ts",
    line: "return !key.includes(replacement) || keyToBytes(key).equals(stored)",
    what: "the condition is always false",
    why: "each key is decoded with the care that few need",
  },
  {
    file: "limiterd/store/lmdb/lmdb-file.ts",
    line: 'root.putSync("check", Buffer.alloc(0));',
    what: "0 becomes 1",
    why: "the transaction is given up",
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
    file: "limiterd/store/store-size.ts",
    line: ".map((table) => ({ table, bytes: store.usedBytes(table) ?? 0 }))",
    what: "?? has no fallback",
    why: "null counts as 0 in a difference and a quotient",
  },
  {
    file: "limiterd/usage/reports/summarize-usage.ts",
    line: "keepLargest(largest, rest, 2 * usageGroupsMax);",
    what: "2 becomes 3",
    why: "the groups are sorted less often, with the same result",
  },
  {
    file: "limiterd/usage/reports/summarize-usage.ts",
    line: "keepLargest(largest, rest, 2 * usageGroupsMax);",
    what: "* becomes /",
    why: "the groups are sorted more often, with the same result",
  },
  {
    file: "limiterd/usage/reports/summarize-usage.ts",
    line: 'const [key] = state.store.keys("rollups", { from: next, before, limit: 1 });',
    what: "1 becomes 2",
    why: "the second isn't looked at",
  },
  {
    file: "limiterd/usage/reports/summarize-usage.ts",
    line: "return { name: number === null ? null : (keys.byNumber(number)?.name ?? null) };",
    what: "the condition is always false",
    why: "no key has the number null",
  },
  {
    file: "limiterd/usage/reports/usage-groups.ts",
    line: "if (keepLargest(largest, this.rest, 2 * usageGroupsMax))",
    what: "2 becomes 3",
    why: "the groups are sorted less often, with the same result",
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
];
