/** In the routing of the proxy, and in what it reads of usage. By file. */
import type { Equivalent } from "./equivalent.js";

export const proxyUsageEquivalents: readonly Equivalent[] = [
  {
    file: "proxy/routing/affinity.ts",
    line: "let own = 0;",
    what: "0 becomes 1",
    why: "the first target's rank is above none, and makes it 0",
  },
  {
    file: "proxy/routing/affinity.ts",
    line: "let sum = 0x811c9dc5;",
    what: "2166136261 becomes 2166136262",
    why: "any number to begin with spreads conversations alike",
  },
  {
    file: "proxy/routing/affinity.ts",
    line: "sum = Math.imul(sum ^ (sum >>> 16), 0x85ebca6b);",
    what: "2246822507 becomes 2246822508",
    why: "another hash that spreads conversations alike",
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
    file: "proxy/usage/response-meter.ts",
    line: "return unread === null",
    what: "the condition is always false",
    why: "what is put together has the same fields",
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
];
