/**
 * The pages of rules and budgets that somebody watches: what of each has changed since the last
 * look.
 */
import type { BudgetItem } from "../../shared/api/budget-item.js";
import type { ListPage } from "../../shared/api/list-page.js";
import type { LiveLists } from "../../shared/api/live-event.js";
import type { RuleItem } from "../../shared/api/rule-item.js";
import { itemsPerPage } from "../../shared/bounds.js";
import { append } from "../../shared/long-lists.js";
import type { AdminOp } from "../../shared/wire/admin-op.js";
import type { CallOutcome } from "../limiter/limiter.js";

/** The lists that can be watched: the name of the event, and of the parameter that asks for it. */
export const liveLists = {
  rules: { op: "rate-limits.list", items: "rate_limits" },
  budgets: { op: "budgets.list", items: "budgets" },
} as const satisfies Record<
  keyof LiveLists,
  { readonly op: AdminOp; readonly items: "rate_limits" | "budgets" }
>;

/** A page of one of them, as GET is asked for it. */
export interface ListWatch {
  readonly list: keyof LiveLists;
  /** One text for each. */
  readonly key: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** As the daemon answers. */
interface Answer extends ListPage {
  readonly rate_limits?: readonly RuleItem[];
  readonly budgets?: readonly BudgetItem[];
}

/** A page with its items, of either list. */
interface FoundPage extends ListPage {
  readonly items: readonly (RuleItem | BudgetItem)[];
}

/**
 * A page that is full unless it is the last: the daemon looks at a bounded number of items at once,
 * and a search may find few among them. Null if it doesn't answer.
 */
export async function wholePage(
  { list, parameters }: ListWatch,
  call: (op: AdminOp, body: unknown) => Promise<CallOutcome>,
): Promise<FoundPage | null> {
  const { op, items: field } = liveLists[list];
  const { limit = itemsPerPage } = parameters;
  const items: (RuleItem | BudgetItem)[] = [];
  let asked = parameters;
  for (;;) {
    const answer = await call(op, asked);
    if (!answer.ok) return null;
    const page = answer.body as Answer;
    append(items, page[field] ?? []);
    const room = Number(limit) - items.length;
    const { next, server_time } = page;
    if (next === null || room <= 0) return { items, next, server_time };
    asked = { ...parameters, limit: room, after: next };
  }
}

/** The data of an event. */
interface PageChange {
  /** Null: nothing has changed. */
  readonly changed: string | null;
  /** For who hasn't the page yet. */
  whole(): string;
}

interface ItemText {
  readonly text: string;
  /** Without what changes as time passes. */
  readonly compared: string;
}

/** By each item's name. */
type Page = ReadonlyMap<string, ItemText>;

/** A page that takes the daemon so many milliseconds rests for this many times as long. */
const restFactor = 50;

export class LivePages {
  /** By the key of what is watched, as they were at the last look. */
  readonly #pages = new Map<string, Page>();
  /** When each may be asked for again. */
  readonly #restsUntilMs = new Map<string, number>();
  /** How many have had their turn. */
  #turn = 0;

  /** Forgets the pages that nobody watches any more. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#pages.keys()) if (!keys.has(key)) this.#pages.delete(key);
    for (const key of this.#restsUntilMs.keys()) if (!keys.has(key)) this.#restsUntilMs.delete(key);
  }

  /** Whose turn it is, so that each of many comes round. */
  turns(watches: readonly ListWatch[], max: number, nowMonoMs: number): readonly ListWatch[] {
    const count = Math.min(watches.length, max);
    const first = this.#turn;
    this.#turn = watches.length === 0 ? 0 : (first + count) % watches.length;
    return Array.from({ length: count }, (_, i) => watches[(first + i) % watches.length]!).filter(
      ({ key }) => nowMonoMs >= (this.#restsUntilMs.get(key) ?? 0),
    );
  }

  /** What has changed on a page that the daemon has just told, after so long. */
  next({ list, key }: ListWatch, { items, next, server_time }: FoundPage, took: Took): PageChange {
    const field = liveLists[list].items;
    const page = new Map(items.map((item) => [nameOf(item), textOf(item)] as const));
    const before = this.#pages.get(key);
    this.#pages.set(key, page);
    this.#restsUntilMs.set(key, took.endedMonoMs + restFactor * took.ms);
    const dataOf = (isWhole: boolean, told: readonly ItemText[]): string => {
      const head = JSON.stringify({ whole: isWhole, server_time, next });
      return `${head.slice(0, -1)},"${field}":[${told.map(({ text }) => text).join(",")}]}`;
    };
    const whole = (): string => dataOf(true, [...page.values()]);
    if (before === undefined || !hasSameNames(before, page)) return { changed: whole(), whole };
    const changed = [...page]
      .filter(([name, { compared }]) => before.get(name)?.compared !== compared)
      .map(([, item]) => item);
    return { changed: changed.length === 0 ? null : dataOf(false, changed), whole };
  }
}

/** How long the daemon took for a page. */
interface Took {
  readonly ms: number;
  readonly endedMonoMs: number;
}

function nameOf({ scope, subject, period_seconds: period }: RuleItem | BudgetItem): string {
  return JSON.stringify([scope, subject, period]);
}

function textOf(item: RuleItem | BudgetItem): ItemText {
  const text = JSON.stringify(item);
  return {
    text,
    compared: "period_ratio" in item ? JSON.stringify({ ...item, period_ratio: null }) : text,
  };
}

function hasSameNames(one: Page, other: Page): boolean {
  const names = [...other.keys()];
  return one.size === other.size && [...one.keys()].every((name, i) => name === names[i]);
}
