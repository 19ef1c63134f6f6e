/**
 * Reads the sums of whole days as a view shows them, in slices: of one path or label, or of every
 * direct child of a path. Between two slices the daemon does its other work.
 */
import { rollupsPerSlice } from "../../shared/bounds.js";
import { dayMs, dayOf } from "../../shared/utc-day.js";
import { throwMalformed } from "../store/store.js";
import { isEmptyRollup, type Rollup, rollupFromStored } from "./rollup.js";
import { childrenPrefix, dayIn, nameIn, under } from "./rollup-keys.js";
import type { RollupView } from "./rollups.js";
import { readStored, readUnstored, type UsageReader } from "./usage-reader.js";

/** From a midnight to the day of a later moment, both included. */
interface DaySpan {
  readonly fromMs: number;
  readonly toMs: number;
}

/** Children that are read before other work has its turn. */
const childrenPerSlice = 25;

/** Hands over the sums under a prefix. Rejects with `StoreUnreadableError`. */
export async function readDays(
  { store, yieldToEventLoop }: UsageReader,
  view: RollupView,
  { prefix, span }: { readonly prefix: string; readonly span: DaySpan },
  each: (sum: Rollup) => void,
): Promise<void> {
  let sinceYield = 0;
  for (let ms = span.fromMs; ms <= span.toMs; ms += dayMs) {
    const key = prefix + dayOf(ms);
    const value = view.held(key) === undefined ? store.get("rollups", key) : undefined;
    const sum =
      value === undefined
        ? view.held(key)
        : (rollupFromStored(value) ?? throwMalformed(store, "rollups", key));
    if (sum !== undefined && !isEmptyRollup(sum)) each(sum);
    if (++sinceYield < rollupsPerSlice) continue;
    sinceYield = 0;
    await yieldToEventLoop();
  }
}

/** Hands over the sums of every direct child of a path. Rejects as `readDays`. */
export async function readChildDays(
  reader: UsageReader,
  view: RollupView,
  { parent, span }: { readonly parent: string; readonly span: DaySpan },
  each: (child: string, sum: Rollup) => void,
): Promise<void> {
  const { store, yieldToEventLoop } = reader;
  const prefix = childrenPrefix(parent);
  const days = { fromDay: dayOf(span.fromMs), toDay: dayOf(span.toMs) };
  const early = new Set<string>();
  await readUnstored(reader, view, (key, sum) => {
    if (!key.startsWith(prefix)) return;
    const child = nameIn(key, prefix);
    const day = dayIn(key, `${prefix}${child}\n`);
    if (day < days.fromDay || day > days.toDay) return;
    early.add(key);
    each(child, sum);
  });
  const { from, before } = under(prefix);
  let next = from;
  for (let children = 1; ; children++) {
    const [key] = store.keys("rollups", { from: next, before, limit: 1 });
    if (key === undefined) return;
    const child = nameIn(String(key), prefix);
    const ofChild = `${prefix}${child}\n`;
    await readStored(reader, { prefix: ofChild, days, view }, (key, sum) => {
      if (!early.has(key)) each(child, sum);
    });
    next = under(ofChild).before;
    if (children % childrenPerSlice === 0) await yieldToEventLoop();
  }
}
