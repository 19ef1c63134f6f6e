/** In what the proxy reads of usage. By file. */
import type { Equivalent } from "./equivalent.js";

export const proxyUsageEquivalents: readonly Equivalent[] = [
  {
    file: "proxy/usage/count-usage.ts",
    line: 'return reading.kind === "usage"',
    what: "the condition is always true",
    why: "what is no usage is handed back all the same",
  },
  {
    file: "proxy/usage/event-reader.ts",
    line: "if (lines === 0)",
    what: "the condition is always false",
    why: "a blank event has no data, in which nothing is found",
  },
  {
    file: "proxy/usage/event-reader.ts",
    line: 'if ((lines === 1 || line > 0) && event.startsWith("data:", line))',
    what: "the condition is always false",
    why: "one line of data is read alike in the way for several, which is slower",
  },
  {
    file: "proxy/usage/event-reader.ts",
    line: "places.lastIndex = 0;",
    what: "0 becomes 1",
    why: "data begins with a space or a brace, where no place begins",
  },
  {
    file: "proxy/usage/event-reader.ts",
    line: "places.lastIndex = end;",
    what: "the statement is left out",
    why: "quotes are escaped within a text, so that nothing is found in it: it is passed over at once",
  },
  {
    file: "proxy/usage/find-usage.ts",
    line: "if (position === -1)",
    what: "1 becomes 2",
    why: "of a text without usage the last character is parsed, which holds none",
  },
  {
    file: "proxy/usage/find-usage.ts",
    line: "return value.length > 0 && !Array.isArray(value.at(-1)) ? findUsage(value.at(-1)) : undefined;",
    what: "> becomes >=",
    why: "an empty list has no last item, in which nothing is found",
  },
  {
    file: "proxy/usage/find-usage.ts",
    line: "if (position === -1)",
    what: "the condition is always false",
    why: "of a text without usage the last character is parsed, which holds none",
  },
  {
    file: "proxy/usage/price-usage.ts",
    line: "const tokenCost = priced === null ? 0 : priced.inputCost + priced.outputCost;",
    what: "0 becomes 1",
    why: "it is read only where there is a price",
  },
  {
    file: "proxy/usage/read-usage.ts",
    line: 'if (typeof value !== "number" || value === 0)',
    what: "the condition is always false",
    why: "what is no number is no count either: what is left out is quicker, and no more",
  },
  {
    file: "proxy/usage/read-usage.ts",
    line: 'if (typeof value !== "number" || value === 0)',
    what: "|| becomes &&",
    why: "what is no number is no count either: what is left out is quicker, and no more",
  },
  {
    file: "proxy/usage/read-usage.ts",
    line: "const inputTokens = input ?? Math.max((total ?? 0) - (output ?? 0), 0);",
    what: "?? has no fallback",
    why: "null counts as 0 in a difference, and in what is the largest",
  },
  {
    file: "proxy/usage/read-usage.ts",
    line: "const outputTokens = Math.max(output ?? 0, (total ?? 0) - inputTokens);",
    what: "?? has no fallback",
    why: "null counts as 0 in a difference, and in what is the largest",
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
    file: "proxy/usage/response-meter.ts",
    line: "this.#keptBytes = 0;",
    what: "0 becomes 1",
    why: "nothing is kept, or given back, after it",
  },
  {
    file: "proxy/usage/response-meter.ts",
    line: 'return (pieces.length === 1 ? pieces[0] : Buffer.concat(pieces)).toString("latin1");',
    what: "the condition is always false",
    why: "a copy of one piece is the same text",
  },
  {
    file: "proxy/usage/session-usage.ts",
    line: "#second = -1;",
    what: "1 becomes 2",
    why: "no second is negative, so the first one is another",
  },
  {
    file: "proxy/usage/session-usage.ts",
    line: "#takenInSecond = 0;",
    what: "0 becomes 1",
    why: "it is set when the first second begins, and not read before",
  },
  {
    file: "proxy/usage/tap-stream.ts",
    line: "if (start < chunk.length) {",
    what: "the condition is always true",
    why: "nothing is added to what is open",
  },
  {
    file: "proxy/usage/tap-stream.ts",
    line: "#lineCount = 0;",
    what: "0 becomes 1",
    why: "a count that is too large has the event read in the slower way, with the same result",
  },
  {
    file: "proxy/usage/tap-stream.ts",
    line: "this.#lineCount = 0;",
    what: "0 becomes 1",
    why: "a count that is too large has the event read in the slower way, with the same result",
  },
  {
    file: "proxy/usage/tap-stream.ts",
    line: 'if (this.#openLine !== "empty")',
    what: "the condition is always true",
    why: "a count that is too large has the event read in the slower way, with the same result",
  },
  {
    file: "proxy/usage/tap-stream.ts",
    line: "if (openEvent.length > 0)",
    what: "the condition is always true",
    why: "nothing is added, or sent",
  },
];
