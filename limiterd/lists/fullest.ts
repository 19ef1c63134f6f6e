/**
 * Finds the fullest of up to a million children of a template, or of 100,000 rules. It examines
 * them in slices, and keeps only a few times as many as it lists. `sluice top` and the dashboard
 * ask each second. So an answer that took long is reused for a while: its items are then shown with
 * their present counts.
 */
import { childrenPerSweep } from "../../shared/bounds.js";
import { isPerSession } from "../../shared/domain/budget.js";
import { Turns } from "../../shared/long-lists.js";
import type { Budget } from "../budgets/budget-account.js";
import type { BudgetBook } from "../budgets/budget-book.js";
import type { Rule } from "../counters/counter.js";
import type { RuleBook } from "../rules/rule-book.js";
import { childAtQueryPath, type ListQuery } from "./list-query.js";

export interface Slices {
  readonly nowMs: number;
  yieldToEventLoop(): Promise<void>;
}

interface RankedLimit {
  readonly name: string;
  readonly usedRatio: number;
}

/** Names per turn of the event loop: about 5 ms. */
const namesPerSlice = childrenPerSweep / 10;

/**
 * Up to `limit` names, the fullest first; equally full ones in the order of their names.
 * `usedRatio` returns the used ratio of a name, or null to leave it out.
 */
export async function fullest(
  names: Iterable<string>,
  limit: number,
  usedRatio: (name: string) => number | null,
  { yieldToEventLoop }: Pick<Slices, "yieldToEventLoop">,
): Promise<readonly string[]> {
  // By name, because a walk may visit a child twice.
  let byId = new Map<string, RankedLimit>();
  let last: RankedLimit | null = null;
  const turns = new Turns(namesPerSlice);
  for (const name of names) {
    const ratio = usedRatio(name);
    if (ratio !== null) {
      const ranked = { name, usedRatio: ratio };
      if (last === null || compare(ranked, last) < 0) byId.set(name, ranked);
      if (byId.size >= 4 * limit) {
        byId = firstOf(byId, limit);
        last = [...byId.values()].at(-1)!;
      }
    }
    if (turns.isOver()) await yieldToEventLoop();
  }
  return [...firstOf(byId, limit).keys()];
}

/** The names of a template's children. `uncounted`: names of children without counters. */
export function* childNames(
  { children }: Pick<Rule, "children">,
  uncounted: readonly string[],
): Generator<string> {
  yield* uncounted;
  const walk = children.walk();
  for (let place = walk.next(); place !== -1; place = walk.next()) yield children.name(place);
}

/** Separates a template's id from its child's name; neither contains it. */
const childSeparator = "\u0000";

/** A reference to a child of a template. */
function childRef(id: string, child: string): string {
  return id + childSeparator + child;
}

/** The id, and the child's name; null if the reference is to the rule or budget itself. */
export function splitRef(ref: string): readonly [id: string, child: string | null] {
  const end = ref.indexOf(childSeparator);
  return end === -1 ? [ref, null] : [ref.slice(0, end), ref.slice(end + childSeparator.length)];
}

/** A template of rules or budgets, whose children are examined. */
interface Template {
  readonly id: string;
  readonly size: number;
  names(): Iterable<string>;
}

/** The templates of rules, as far as their children are in memory. */
export function templatesOfRules(
  book: Pick<RuleBook, "rules" | "unread" | "uncountedChildren">,
  isExamined: (rule: Rule) => boolean,
  nowMs: number,
): readonly Template[] {
  const templates: Template[] = [];
  // After a start, rules and children are still being loaded in slices: reading all rules now would
  // load all of them in one turn.
  if (book.unread !== null) return templates;
  for (const [id, rule] of book.rules) {
    if (!rule.definition.perChild || !isExamined(rule)) continue;
    const names = () => childNames(rule, book.uncountedChildren(rule, nowMs));
    templates.push({ id, size: rule.children.size, names });
  }
  return templates;
}

/** As `templatesOfRules`, of budgets. */
export function templatesOfBudgets(
  { budgets }: Pick<BudgetBook, "budgets">,
  isExamined: (budget: Budget) => boolean,
): readonly Template[] {
  const templates: Template[] = [];
  for (const [id, budget] of budgets) {
    const { own, loadSpend, children, definition } = budget;
    // Sessions aren't ranked: there are many, each for a short time.
    if (isPerSession(definition)) continue;
    if (own === null && loadSpend === null && isExamined(budget))
      templates.push({ id, size: children.size, names: () => children.keys() });
  }
  return templates;
}

/** What is ranked for a query. */
interface RankingInput {
  readonly query: ListQuery;
  /** By id; empty if only children are ranked. */
  readonly limits: ReadonlyMap<string, unknown>;
  readonly templates: readonly Template[];
}

/** As `fullest`, of rules or budgets and their children: their names are references. */
export function rank(
  last: LastAnswers<readonly string[]>,
  { query, limits, templates }: RankingInput,
  usedRatio: (ref: string) => number | null,
  slices: Pick<Slices, "yieldToEventLoop">,
): Promise<readonly string[]> {
  let walked = limits.size;
  for (const { size } of templates) walked += size;
  return last.of({ key: JSON.stringify(query), walked }, () =>
    fullest(refsOf(limits, templates), query.limit, usedRatio, slices),
  );
}

/**
 * The children that `rank` leaves out: those on exactly the query's path that have used nothing.
 */
export function unusedChildrenOnPath(
  limits: Iterable<Parameters<typeof childAtQueryPath>[0] & { readonly id: string }>,
  query: ListQuery,
  ranked: readonly string[],
): readonly string[] {
  if (query.userPath === "/") return [];
  const unused: string[] = [];
  for (const limit of limits) {
    const child = childAtQueryPath(limit, query);
    if (child === null) continue;
    const ref = childRef(limit.id, child);
    if (!ranked.includes(ref)) unused.push(ref);
  }
  return unused.slice(0, query.limit - ranked.length);
}

function* refsOf(
  limits: ReadonlyMap<string, unknown>,
  templates: readonly Template[],
): Generator<string> {
  yield* limits.keys();
  for (const template of templates)
    for (const name of template.names()) yield childRef(template.id, name);
}

interface RankingQuestion {
  readonly key: string;
  /** How many names the answer's walk visits. */
  readonly walked: number;
}

/** A walk over this many names is repeated at most once a second, a longer walk less often. */
const namesPerSecond = 50_000;
/** The tree of the dashboard asks once for each open level. */
const answersMax = 16;

interface KeptAnswer<T> {
  readonly answer: Promise<T>;
  /** Set when the answer arrives, which may be seconds after the question. */
  fromMs: number;
  untilMs: number;
}

/**
 * The last answers to questions that walk over all children. An answer for a million children is
 * reused for 20 s. A question that is asked while its answer is being made gets the same answer.
 */
export class LastAnswers<T> {
  readonly #answers = new Map<string, KeptAnswer<T>>();
  readonly #nowMs: () => number;

  constructor(nowMs: () => number) {
    this.#nowMs = nowMs;
  }

  of({ key, walked }: RankingQuestion, make: () => Promise<T>): Promise<T> {
    if (walked < namesPerSecond) return make();
    const nowMs = this.#nowMs();
    const existing = this.#answers.get(key);
    if (existing !== undefined && nowMs >= existing.fromMs && nowMs < existing.untilMs)
      return existing.answer;
    const answer = { answer: make(), fromMs: nowMs, untilMs: Number.POSITIVE_INFINITY };
    this.#answers.delete(key);
    this.#answers.set(key, answer);
    for (const oldest of this.#answers.keys())
      if (this.#answers.size > answersMax) this.#answers.delete(oldest);
    answer.answer.then(
      () => {
        answer.fromMs = this.#nowMs();
        answer.untilMs = answer.fromMs + (1000 * walked) / namesPerSecond;
      },
      // The asker gets the error; the next question makes a new answer.
      () => {
        answer.untilMs = 0;
      },
    );
    return answer.answer;
  }
}

function compare(a: RankedLimit, b: RankedLimit): number {
  return b.usedRatio - a.usedRatio || (a.name < b.name ? -1 : 1);
}

function firstOf(byId: ReadonlyMap<string, RankedLimit>, limit: number): Map<string, RankedLimit> {
  const sorted = [...byId.values()].sort(compare).slice(0, limit);
  return new Map(sorted.map((ranked) => [ranked.name, ranked]));
}
