/** The watched pages of rules and budgets, and their changes since they were last requested. */
import type { BudgetItem } from "../../shared/api/budget-item.js";
import type { ListPage } from "../../shared/api/list-page.js";
import type { LiveLists } from "../../shared/api/live-event.js";
import type { RuleItem } from "../../shared/api/rule-item.js";
import { itemsPerPage } from "../../shared/bounds.js";
import { append } from "../../shared/long-lists.js";
import type { AdminOp, DaemonAnswer } from "../../shared/wire/admin-op.js";

/** The watchable lists: the name of the event, and of the parameter that requests it. */
export const liveLists = {
  rules: { op: "rate-limits.list", items: "rate_limits" },
  budgets: { op: "budgets.list", items: "budgets" },
} as const satisfies Record<
  keyof LiveLists,
  { readonly op: AdminOp; readonly items: "rate_limits" | "budgets" }
>;

/** A page of a list, with the parameters of GET. */
export interface ListWatch {
  readonly list: keyof LiveLists;
  /** The subtree to which the watcher's role confines it; `/` for everything. */
  readonly within: string;
  /** Unique for each watch. */
  readonly key: string;
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** The daemon's answer. */
interface Answer extends ListPage {
  readonly rate_limits?: readonly RuleItem[];
  readonly budgets?: readonly BudgetItem[];
}

/** A page of either list with its items. */
interface FetchedPage extends ListPage {
  readonly items: readonly (RuleItem | BudgetItem)[];
}

/** Asks the daemon for the part that a role for a subtree, or for everything (`/`), may see. */
export type CallWithin = (op: AdminOp, body: unknown, within: string) => Promise<DaemonAnswer>;

/**
 * A page that is full unless it is the last: the daemon examines a bounded number of items per
 * call, and a search may match few of them. Null if it doesn't answer.
 */
export async function wholePage(
  { list, parameters, within }: ListWatch,
  call: CallWithin,
): Promise<FetchedPage | null> {
  const { op, items: field } = liveLists[list];
  const { limit = itemsPerPage } = parameters;
  const items: (RuleItem | BudgetItem)[] = [];
  let query = parameters;
  for (;;) {
    const answer = await call(op, query, within);
    if (!answer.ok) return null;
    const page = answer.body as Answer;
    append(items, page[field] ?? []);
    const room = Number(limit) - items.length;
    const { next, server_time } = page;
    if (next === null || room <= 0) return { items, next, server_time };
    query = { ...parameters, limit: room, after: next };
  }
}

/** The data of an event. */
interface PageChange {
  /** Null if nothing has changed. */
  readonly changed: string | null;
  /** All items, for watchers that don't have the page yet. */
  whole(): string;
}

interface ItemText {
  readonly text: string;
  /** The item without the fields that change as time passes, for comparison. */
  readonly compared: string;
}

/** Items by name. */
type Page = ReadonlyMap<string, ItemText>;

/** The pause after a page, as a multiple of the time that the daemon took for it. */
const pauseFactor = 50;

export class LivePages {
  /** The pages as they were last received, by watch key. */
  readonly #pages = new Map<string, Page>();
  /** When each page may be requested again. */
  readonly #pausedUntilMs = new Map<string, number>();
  /** The number of turns given so far. */
  #turn = 0;

  /** Drops the pages that have no watchers. */
  keep(keys: ReadonlySet<string>): void {
    for (const key of this.#pages.keys()) if (!keys.has(key)) this.#pages.delete(key);
    for (const key of this.#pausedUntilMs.keys())
      if (!keys.has(key)) this.#pausedUntilMs.delete(key);
  }

  /** The watches to serve next, in rotation. */
  listsDue(watches: readonly ListWatch[], max: number, nowMonoMs: number): readonly ListWatch[] {
    const count = Math.min(watches.length, max);
    const first = this.#turn;
    this.#turn = watches.length === 0 ? 0 : (first + count) % watches.length;
    return Array.from({ length: count }, (_, i) => watches[(first + i) % watches.length]!).filter(
      ({ key }) => nowMonoMs >= (this.#pausedUntilMs.get(key) ?? 0),
    );
  }

  /** The changes of a page that the daemon has just sent, and the time that it took. */
  next(
    { list, key }: ListWatch,
    { items, next, server_time }: FetchedPage,
    took: Took,
  ): PageChange {
    const field = liveLists[list].items;
    const page = new Map(items.map((item) => [nameOf(item), itemText(item)] as const));
    const before = this.#pages.get(key);
    this.#pages.set(key, page);
    this.#pausedUntilMs.set(key, took.endedMonoMs + pauseFactor * took.ms);
    const dataOf = (isWhole: boolean, texts: readonly ItemText[]): string => {
      const head = JSON.stringify({ whole: isWhole, server_time, next });
      return `${head.slice(0, -1)},"${field}":[${texts.map(({ text }) => text).join(",")}]}`;
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

function nameOf(item: RuleItem | BudgetItem): string {
  const { scope, subject, template, period_seconds, models } = item;
  const { when, mode } = "in_flight" in item ? item : {};
  return JSON.stringify([scope, subject, template, period_seconds, models, when, mode]);
}

/** The comparison ignores the fields that change as time passes. */
function itemText(item: RuleItem | BudgetItem): ItemText {
  return {
    text: JSON.stringify(item),
    compared: JSON.stringify(
      "period_ratio" in item
        ? { ...item, period_ratio: null, forecast: null }
        : { ...item, exhausted_in_seconds: null },
    ),
  };
}

function hasSameNames(before: Page, after: Page): boolean {
  const names = [...after.keys()];
  return before.size === after.size && [...before.keys()].every((name, i) => name === names[i]);
}
