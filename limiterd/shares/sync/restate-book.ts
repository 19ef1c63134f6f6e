/**
 * Reports this host's counts again to the engine, of all counters, also of those without a share:
 * for all rules after the engine has lost its data, or for a rule that was host-only.
 */
import { windowsPerSlice } from "../../../shared/bounds.js";
import { Turns } from "../../../shared/long-lists.js";
import type { Counter, Rule } from "../../counters/counter.js";
import { rollWindow } from "../../counters/window.js";
import type { RuleBook } from "../../rules/rule-book.js";
import type { ShareSync } from "./share-sync.js";

interface Slices {
  readonly nowMs: number;
  yieldToEventLoop(): Promise<void>;
}

export async function restateBook(
  book: RuleBook,
  sync: ShareSync,
  { nowMs, yieldToEventLoop }: Slices,
  rules: Iterable<Rule> = book.rules.values(),
): Promise<void> {
  const turns = new Turns(windowsPerSlice);
  for (const counter of counters(book, rules)) {
    const { rule, child, window } = counter;
    rollWindow(window, rule.periodMs, nowMs);
    if (countsSomething(counter)) sync.restate(rule, child, window);
    if (turns.isOver()) {
      await yieldToEventLoop();
      sync.enter();
    }
  }
}

/** The counters of rules and of their parts; those of children are copies. */
function* counters(book: RuleBook, rules: Iterable<Rule>): Generator<Counter> {
  for (const stale of rules) {
    const rule = book.fresh(stale);
    yield* countersOfRule(rule);
    for (const part of rule.parts) yield* countersOfRule(part);
  }
}

function* countersOfRule(rule: Rule): Generator<Counter> {
  if (rule.shares === null) return;
  if (rule.counted !== null) yield rule.counted;
  if (!rule.definition.perChild) return;
  const { children } = rule;
  const walk = children.walk();
  for (let place = walk.next(); place !== -1; place = walk.next()) {
    const copy = children.copy(children.name(place));
    if (copy !== undefined) yield copy;
  }
}

function countsSomething({ rule, window, inFlight }: Counter): boolean {
  if (rule.periodMs === 0) return inFlight > 0;
  const { previousRequests, currentRequests, previousTokens, currentTokens } = window;
  return previousRequests + currentRequests + previousTokens + currentTokens > 0;
}
