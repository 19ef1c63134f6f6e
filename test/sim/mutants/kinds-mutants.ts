/**
 * Bugs in what a limit counts and when: kinds of tokens, money, tools, hours, raised caps, other
 * models instead, enqueued tokens, loops. Those in limits for some models, in calendars, in raises
 * and in webhooks are in `counting-mutants.ts` and `durability-mutants.ts`.
 */
import type { Mutant } from "./mutant.js";

const charge = "limiterd/rules/charge.js";
const judge = "limiterd/rules/judge.js";
const pendingResponses = "limiterd/usage/pending-responses.js";
const turns = "proxy/body/repeated-turns.js";

export const kindsMutants: readonly Mutant[] = [
  {
    name: "weights of a rule are ignored",
    file: charge,
    find: "definition.tokenWeights ?? use?.tokenWeights ?? null",
    put: "use?.tokenWeights ?? null",
    often: true,
  },
  {
    name: "a cap on input tokens counts the output",
    file: charge,
    find: 'measure === "input_tokens" ? recorded.inputTokens : recorded.outputTokens',
    put: "recorded.outputTokens",
    often: true,
  },
  {
    name: "reasoning weighs as other output",
    file: "shared/domain/token-weights.js",
    find: "reasoned * partsOf(reasoning)",
    put: "reasoned * partsOf(output)",
    often: true,
  },
  {
    name: "what has a cost and no tokens isn't charged",
    file: charge,
    find: "if (tokens === 0 && facts.recorded === null) return;",
    put: "if (tokens === 0) return;",
    often: true,
  },
  {
    name: "a cap on cost that is added later counts from the rule's beginning",
    file: "limiterd/rules/stored-rule.js",
    find: "[cap, part?.sinceLsn ?? 0]",
    put: "[cap, 0]",
    often: false,
  },
  {
    name: "a rule refuses outside its hours",
    file: judge,
    find: "if (isOff(counter.rule, options.nowMs)) continue;",
    put: "",
    often: true,
  },
  {
    name: "a rule counts tokens outside its hours",
    file: charge,
    find: "if (isOff(rule, atMs)) continue;",
    put: "",
    often: true,
  },
  {
    name: "a wait is longer than the rule's hours",
    file: judge,
    find: "return Math.min(seconds, Math.ceil((hours.endAfter(nowMs) - nowMs) / 1000));",
    put: "return seconds;",
    often: false,
  },
  {
    name: "a raised cap on cost doesn't end",
    file: "shared/domain/raise.js",
    find: "return [{ ...raise, maxRequests: null,",
    put: "return [{ ...raise, untilMs: 2 ** 50, maxRequests: null,",
    often: false,
  },
  {
    name: "an exhausted rule doesn't count what goes to a cheaper model",
    file: "limiterd/rules/admit.js",
    find: "if (request.targets.length > 0) countRequest(book, counters,",
    put: 'if (request.targets.length > 0) countRequest(book, counters.filter(({ rule }) => typeof rule.definition.onExhausted !== "object" || !options.uses?.length),',
    often: true,
  },
  {
    name: "a cheaper model isn't charged",
    file: charge,
    find: "const isThere = held !== undefined && isSameTarget(held.target, target);",
    put: 'const isThere = held !== undefined && isSameTarget(held.target, target); if (target?.model === "Cheap") target = null;',
    often: false,
  },
  {
    name: "a rule that only warns refuses",
    file: "shared/domain/on-exhausted.js",
    find: 'return onExhausted === "warn" || uses',
    put: "return uses",
    often: true,
  },
  {
    name: "a reroute forgets to which model the request may go",
    file: "proxy/limiter/client/pending-admissions.js",
    find: "uses: rerouted.uses, metered }",
    put: "uses: undefined, metered }",
    often: false,
  },
  {
    name: "calls of tools that a request didn't name aren't counted",
    file: charge,
    find: "tools: [...(target.tools ?? []), ...Object.keys(calls)]",
    put: "tools: [...(target.tools ?? [])]",
    often: true,
  },
  {
    name: "calls of tools that a rule leaves out are counted",
    file: "shared/config/model-filter.js",
    find: "&& !this.#excluded.some((pattern) => contains(pattern, tool))",
    put: "",
    often: true,
  },
  {
    name: "a batch that has ended keeps its enqueued tokens",
    file: pendingResponses,
    find: "this.#pending.delete(name); this.#dropReplaced(nowMs);",
    put: "this.#dropReplaced(nowMs);",
    simulation: "batches",
    often: true,
  },
  {
    name: "the children of a template share its cap on enqueued tokens",
    file: "limiterd/lists/list-queues.js",
    find: "[{ path: counter.subject, tokens }]",
    put: "[{ path: counter.rule.definition.subject, tokens }]",
    simulation: "batches",
    often: true,
  },
  {
    name: "a deleted rule still caps enqueued tokens",
    file: "limiterd/rules/rule-book.js",
    find: "this.raised.delete(rule); this.#onBatches.delete(rule);",
    put: "this.raised.delete(rule);",
    simulation: "batches",
    often: true,
  },
  {
    name: "a batch that is submitted counts twice",
    file: pendingResponses,
    find: "this.withdraw({ userPath: record.userPath, tokens: batchTokens });",
    put: "",
    simulation: "batches",
    often: true,
  },
  {
    name: "a batch is forgotten over a restart",
    file: pendingResponses,
    find: "const ofBatch = batchTokens === null ? [] : [[batchTokens]];",
    put: "const ofBatch = [];",
    simulation: "batches",
    often: true,
  },
  {
    name: "only the same turn again is a loop",
    file: turns,
    find: "cycle <= turnsInCycleMax && times < timesMax",
    put: "cycle <= 1",
    simulation: "loops",
    often: true,
  },
  {
    name: "other results are a loop too",
    file: turns,
    find: "return !comparesResults || isSame(a.results, b.results, withoutHeaders(texts));",
    put: "return true;",
    simulation: "loops",
    often: true,
  },
  {
    name: "a loop is counted once too seldom",
    file: turns,
    find: "const found = 1 + Math.floor(same / cycle);",
    put: "const found = Math.floor(same / cycle);",
    simulation: "loops",
    often: true,
  },
];
