/** In the routing of the proxy. By file. */
import type { Equivalent } from "./equivalent.js";

export const proxyRoutingEquivalents: readonly Equivalent[] = [
  {
    file: "proxy/routing/affinity.ts",
    line: "let own = 0;",
    what: "0 becomes 1",
    why: "the first target's rank is above none, and makes it 0",
  },
  {
    file: "proxy/routing/affinity.ts",
    line: "if (rank > best || (rank === best && targetName(target) < targetName(ordered[own]))) {",
    what: "< becomes <=",
    why: "of two with the same name either is the same target",
  },
  {
    file: "proxy/routing/affinity.ts",
    line: "if (own === 0)",
    what: "the condition is always false",
    why: "the same order in another array",
  },
  {
    file: "proxy/routing/circuit-breaker.ts",
    line: "#openedMs = 0;",
    what: "0 becomes 1",
    why: "it is read while the breaker is open, which sets it",
  },
  {
    file: "proxy/routing/conversation.ts",
    line: 'const cut = (_, value) => typeof value === "string" ? value.slice(0, messageCharsMax) : value;',
    what: "the condition is always false",
    why: "what is added beyond the bound is cut off again: it is spared work, and no more",
  },
  {
    file: "proxy/routing/conversation.ts",
    line: "if (!Array.isArray(content))",
    what: "the condition is always true",
    why: "the JSON of an array is put together of the same parts",
  },
  {
    file: "proxy/routing/conversation.ts",
    line: "let chars = 0;",
    what: "0 becomes 1",
    why: "the bracket before the parts is a character of the bound, too",
  },
  {
    file: "proxy/routing/conversation.ts",
    line: "if (chars >= messageCharsMax)",
    what: ">= becomes >",
    why: "what is added beyond the bound is cut off again: it is spared work, and no more",
  },
  {
    file: "proxy/routing/conversation.ts",
    line: "if (chars >= messageCharsMax)",
    what: "the condition is always false",
    why: "what is added beyond the bound is cut off again: it is spared work, and no more",
  },
  {
    file: "proxy/routing/conversation.ts",
    line: "chars += json.length;",
    what: "the statement is left out",
    why: "what is added beyond the bound is cut off again: it is spared work, and no more",
  },
  {
    file: "proxy/routing/model-aliases.ts",
    line: "return exact.size === 0 ? undefined : exact.get(name.toLowerCase());",
    what: "the condition is always false",
    why: "of no aliases none is found: what is left out is quicker, and no more",
  },
  {
    file: "proxy/routing/model-aliases.ts",
    line: "if (beginnings.length === 0)",
    what: "the condition is always false",
    why: "of no aliases none is found: what is left out is quicker, and no more",
  },
  {
    file: "proxy/routing/model-catalog.ts",
    line: "waiters = [];",
    what: "the statement is left out",
    why: "a promise that is resolved again stays as it is",
  },
  {
    file: "proxy/routing/model-catalog.ts",
    line: "let status = 0;",
    what: "0 becomes 1",
    why: "an answer has a head before its end, which sets it",
  },
  {
    file: "proxy/routing/order-targets.ts",
    line: "const noLoad = { inFlight: () => 0, latencyClass: () => 0 };",
    what: "0 becomes 1",
    why: "all targets are as busy and as fast as each other",
  },
  {
    file: "proxy/routing/order-targets.ts",
    line: ".sort((a, b) => (a.cost === b.cost ? 0 : a.cost - b.cost))",
    what: "the condition is always false",
    why: "of two that are unpriced the difference is NaN, which a sort takes for 0",
  },
  {
    file: "proxy/routing/order-targets.ts",
    line: ".sort((a, b) => (a.cost === b.cost ? 0 : a.cost - b.cost))",
    what: "0 becomes 1",
    why: "the engine's sort asks only which of two is less",
  },
  {
    file: "proxy/routing/order-targets.ts",
    line: "current: targets.map(() => 0),",
    what: "0 becomes 1",
    why: "all begin alike, and are compared with each other alone",
  },
  {
    file: "proxy/routing/target-load.ts",
    line: "return this.#byName.size === 0 ? undefined : this.#byName.get(targetName(target));",
    what: "the condition is always false",
    why: "of no targets none is found: what is left out is quicker, and no more",
  },
];
