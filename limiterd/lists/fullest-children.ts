/**
 * The children of a template that have used most of it: there may be a million, so they are looked
 * at in slices, and no more are kept than are listed.
 */
import { childrenPerSweep } from "../../shared/bounds.js";
import { type ListQuery, matches } from "./list-query.js";

export interface Slices {
  readonly nowMs: number;
  yieldToEventLoop(): Promise<void>;
}

interface ListedChild<Item> {
  readonly name: string;
  readonly usedRatio: number;
  readonly item: Item;
}

/** How a child is listed. */
interface ShownChild<Item> {
  readonly usedRatio: number;
  readonly item: Item;
}

/** Some 5 ms of the event loop. */
const childrenPerSlice = childrenPerSweep / 10;

/**
 * Up to `limit` children with a part of the query's in their names, the fullest first; `show` makes
 * the item of one.
 */
export async function fullestChildren<Item>(
  names: Iterable<string>,
  { search, limit }: Pick<ListQuery, "search" | "limit">,
  show: (name: string) => ShownChild<Item>,
  { yieldToEventLoop }: Slices,
): Promise<readonly Item[]> {
  // By name: a walk may come to a child twice.
  const fullest = new Map<string, ListedChild<Item>>();
  let looked = 0;
  for (const name of names) {
    if (matches({ search }, name)) fullest.set(name, { name, ...show(name) });
    if (fullest.size >= 4 * limit) keepFullest(fullest, limit);
    if (++looked % childrenPerSlice === 0) await yieldToEventLoop();
  }
  keepFullest(fullest, limit);
  return [...fullest.values()].map(({ item }) => item);
}

function keepFullest<Item>(children: Map<string, ListedChild<Item>>, limit: number): void {
  const sorted = [...children.values()].sort(
    (a, b) => b.usedRatio - a.usedRatio || (a.name < b.name ? -1 : 1),
  );
  children.clear();
  for (const child of sorted.slice(0, limit)) children.set(child.name, child);
}
