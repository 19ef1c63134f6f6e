/**
 * Compares the daemon's counters with the truth, and derives from the truth what its verdicts must
 * be. After a clock step windows can't be known exactly: a verdict is then derived from the window
 * itself.
 */
import { Counter, copyCounter, type Rule } from "../../../limiterd/counters/counter.js";
import { clearWindow } from "../../../limiterd/counters/window.js";
import type { RuleBook } from "../../../limiterd/rules/rule-book.js";
import { type RuleDefinition, ruleId } from "../../../shared/domain/rule.js";
import { childNames } from "../../limiterd/counters/child-names.js";
import type { OracleKind, OracleMeasure } from "../../limiterd/oracle.js";
import {
  type Cell,
  definitionText,
  type Generation,
  noCounts,
  periodOf,
  type Truth,
} from "./truth.js";

/**
 * So long a period that no step of the clock leaves it: it counts everything since its rule was
 * made.
 */
export const ledgerSeconds = 3_153_600_000;

function cellAt({ cells }: Generation, subject: string, period: number): Readonly<Cell> {
  return cells.get(period)?.get(subject) ?? noCounts;
}

/** The counter of a subject as the truth names it: a child's path, or empty for a rule's own. */
function counterOf(book: RuleBook, rule: Rule, subject: string): Counter | undefined {
  return rule.own === null
    ? childOf(book, rule, subject.slice(subject.lastIndexOf("/") + 1))
    : rule.own;
}

/**
 * A copy of a child's counter. One that was dropped by a reset while its requests run will
 * return with its gauge and a cleared window; one that still lies in the store isn't taken into
 * memory by this.
 */
function childOf(book: RuleBook, rule: Rule, name: string): Counter | undefined {
  const known = rule.children.copy(name);
  if (known !== undefined) return known;
  const busy = rule.retired
    .map((retired) => retired.busy(name))
    .find((retired) => retired !== null);
  if (busy === undefined || busy === null) {
    const stored = book.unread?.find(rule, name) ?? null;
    return stored === null ? undefined : new Counter(rule, name, stored);
  }
  const back = copyCounter(busy);
  clearWindow(back.window);
  return back;
}

function allNames({ children, retired }: Rule): Set<string> {
  return new Set([
    ...childNames(children),
    ...retired.flatMap((dropped) =>
      childNames(dropped).filter((name) => dropped.busy(name) !== null),
    ),
  ]);
}

export interface CompareOptions {
  readonly nowMs: number;
  /** Whether the wall clock has ever stepped: then only ledgers can be compared. */
  readonly clockStepped: boolean;
}

/** The first difference, or null. */
export function counterDifference(
  truth: Truth,
  book: RuleBook,
  options: CompareOptions,
): string | null {
  const enforced = [...book.rules.values()].filter(
    ({ wouldRefuse }) => wouldRefuse === null,
  ).length;
  if (enforced !== truth.generations.size)
    return `the daemon has ${enforced} rules, not ${truth.generations.size}`;
  for (const [id, generation] of truth.generations) {
    const known = book.rules.get(id);
    const rule = known === undefined ? undefined : book.fresh(known);
    const name = id.replaceAll("\n", " ");
    if (rule === undefined) return `the daemon has no rule ${name}`;
    if (definitionText(rule.definition) !== definitionText(generation.definition))
      return `rule ${name} is ${JSON.stringify(rule.definition)}`;
    const capped = Object.keys(generation.definition.measureCaps ?? {});
    if (rule.parts.length !== capped.length)
      return `rule ${name} has windows of ${rule.parts.map(({ measure }) => measure).join()}, not of ${capped.join()}`;
    const windows =
      rule.periodMs > 0 &&
      (!options.clockStepped || generation.definition.periodSeconds >= ledgerSeconds / 2);
    const found =
      slotDifference(book, generation, rule) ??
      (windows ? windowDifference(book, generation, rule, options.nowMs) : null);
    if (found !== null) return `rule ${name}: ${found}`;
    for (const part of windows ? rule.parts : []) {
      const ofPart = windowDifference(book, generation, part, options.nowMs);
      if (ofPart !== null) return `rule ${name}, ${part.measure}: ${ofPart}`;
    }
  }
  return null;
}

/** Compares each counter of a rule until one differs. */
function firstDifference(
  book: RuleBook,
  rule: Rule,
  compare: (subject: string, counter: Counter) => string | null,
): string | null {
  if (rule.own !== null) return compare("", rule.own);
  for (const name of allNames(rule)) {
    const counter = childOf(book, rule, name)!;
    const found = compare(counter.subject, counter);
    if (found !== null) return found;
  }
  return null;
}

function slotDifference(book: RuleBook, { slots }: Generation, rule: Rule): string | null {
  for (const [subject, held] of slots)
    if (held > 0 && counterOf(book, rule, subject) === undefined)
      return `${subject} is forgotten with ${held} in flight`;
  return firstDifference(book, rule, (subject, { inFlight }) =>
    inFlight === (slots.get(subject) ?? 0)
      ? null
      : `${subject} has ${inFlight} in flight, but ${slots.get(subject) ?? 0} leases are held`,
  );
}

function windowDifference(
  book: RuleBook,
  generation: Generation,
  rule: Rule,
  nowMs: number,
): string | null {
  const { periodMs, measure } = rule;
  const now = periodOf(generation.definition, nowMs);
  for (const period of [now - 1, now]) {
    for (const [subject, cell] of generation.cells.get(period) ?? []) {
      const { requests, tokens } = countsFor(measure, cell);
      if (requests === 0 && tokens === 0) continue;
      const counter = counterOf(book, rule, subject);
      if (counter === undefined || counter.window.startMs / periodMs < period)
        return `${subject} counts nothing for period ${period}, not ${requests} requests and ${tokens} ${measure ?? "tokens"}`;
    }
  }
  return firstDifference(book, rule, (subject, { window }) => {
    if (window.startMs % periodMs !== 0)
      return `${subject} has a window that begins at ${window.startMs}`;
    const period = window.startMs / periodMs;
    // It counts no more, whatever came for it since.
    if (period < now - 1) return null;
    const found =
      cellDifference(
        countsFor(measure, cellAt(generation, subject, period)),
        measure === null ? window.currentRequests : 0,
        window.currentTokens,
      ) ??
      cellDifference(
        countsFor(measure, cellAt(generation, subject, period - 1)),
        measure === null ? window.previousRequests : 0,
        window.previousTokens,
      );
    return found === null ? null : `${subject} in the window of ${window.startMs}: ${found}`;
  });
}

type Counts = Readonly<Pick<Cell, "requests" | "tokens">>;

/** What the window of a rule counts, or that of one of its measures, which needs no requests. */
function countsFor(measure: OracleMeasure | null, cell: Readonly<Cell>): Counts {
  return measure === null ? cell : { requests: 0, tokens: cell[measure] };
}

function cellDifference(
  { requests, tokens }: Counts,
  requestsCounted: number,
  tokensCounted: number,
): string | null {
  if (requestsCounted !== requests) return `${requestsCounted} requests, not ${requests}`;
  return tokensCounted === tokens ? null : `${tokensCounted} tokens, not ${tokens}`;
}

/**
 * What a rule counts for a subject now or later, if nothing else happens; for the oracle's judge.
 */
export function estimateFrom(
  truth: Truth,
  book: RuleBook,
  { nowMs, clockStepped }: CompareOptions,
) {
  return (definition: RuleDefinition, caller: string, kind: OracleKind, atMs: number): bigint => {
    const subject = definition.perChild ? caller : "";
    const generation = truth.generations.get(ruleId(definition))!;
    if (kind === "concurrent") return BigInt(generation.slots.get(subject) ?? 0);
    const [periodMs, now] = [definition.periodSeconds * 1000, periodOf(definition, nowMs)];
    // Asked for where it is needed: looking reads what the daemon has left in its store.
    const rule = clockStepped ? book.fresh(book.rules.get(ruleId(definition))!) : undefined;
    const ofKind = rule?.parts.find(({ measure }) => measure === kind) ?? rule;
    const counter = ofKind === undefined ? undefined : counterOf(book, ofKind, subject);
    if (counter === undefined) {
      const period = periodOf(definition, atMs);
      return weighed(
        cellAt(generation, subject, period - 1)[kind],
        cellAt(generation, subject, period)[kind],
        (period + 1) * periodMs - atMs,
        periodMs,
      );
    }
    const { window } = counter;
    // A step back by more than a period has moved the window with it.
    const startMs = nowMs - window.startMs < -periodMs ? now * periodMs : window.startMs;
    const [previous, current] =
      kind === "requests"
        ? [window.previousRequests, window.currentRequests]
        : [window.previousTokens, window.currentTokens];
    const ageMs = atMs - startMs;
    if (ageMs >= 2 * periodMs) return 0n;
    return ageMs >= periodMs
      ? weighed(current, 0, 2 * periodMs - ageMs, periodMs)
      : weighed(previous, current, Math.min(periodMs, periodMs - ageMs), periodMs);
  };
}

function weighed(previous: number, current: number, leftMs: number, periodMs: number): bigint {
  return (BigInt(previous) * BigInt(leftMs)) / BigInt(periodMs) + BigInt(current);
}
