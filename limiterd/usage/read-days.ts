/**
 * Reads the sums of whole days as a view shows them: of one path or label, or of every direct child
 * of a path. It works in slices, so that the daemon does its other work between two of them.
 */
import { rollupsPerSlice } from "../../shared/bounds.js";
import type { Target } from "../../shared/domain/target-name.js";
import { Turns } from "../../shared/long-lists.js";
import { dayMs, dayOf } from "../../shared/time.js";
import { throwMalformed } from "../store/store.js";
import { isEmptyRollup, type Rollup, rollupFromStored } from "./rollup.js";
import {
  childNameIn,
  childrenPrefix,
  dayIn,
  keysUnder,
  modelIn,
  modelsPrefix,
} from "./rollup-keys.js";
import type { RollupView } from "./rollups.js";
import { type Days, eachUnstored, readRollups, type UsageReader } from "./usage-reader.js";

/** From a midnight to the day of `toMs`, both included. */
export interface DaySpan {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A query of the store takes as long as reading this many further keys. */
const keysPerQuery = 4;

/** Passes the sums under a prefix to `each`. Rejects with `StoreUnreadableError`. */
export async function readDays(
  reader: UsageReader,
  view: RollupView,
  { prefix, span }: { readonly prefix: string; readonly span: DaySpan },
  each: (sum: Rollup, day: string) => void,
): Promise<void> {
  const turns = new Turns(rollupsPerSlice);
  for (let ms = span.fromMs; ms <= span.toMs; ms += dayMs) {
    const day = dayOf(ms);
    const sum = sumAt(reader, view, prefix + day);
    if (sum !== undefined && !isEmptyRollup(sum)) each(sum, day);
    if (turns.isOver()) await reader.yieldToEventLoop();
  }
}

/** The direct children of a path, on some days. */
interface ChildDays {
  readonly parent: string;
  readonly span: DaySpan;
}

/** Passes the sums of every direct child of a path to `each`. Rejects as `readDays`. */
export async function readChildDays(
  reader: UsageReader,
  view: RollupView,
  { parent, span }: ChildDays,
  each: (child: string, sum: Rollup, day: string) => void,
): Promise<void> {
  if (span.toMs < span.fromMs) return;
  const prefix = childrenPrefix(parent);
  const childAndDay = childAndDayReader(prefix, span);
  const unstoredKeys = new Set<string>();
  await eachUnstored(reader, view, (key, sum) => {
    if (!key.startsWith(prefix)) return;
    const { child, day, isInSpan } = childAndDay(key);
    if (!isInSpan) return;
    unstoredKeys.add(key);
    each(child, sum, day);
  });
  await readStoredChildDays(reader, view, { parent, span }, (child, sum, key) => {
    if (!unstoredKeys.has(key)) each(child, sum, childAndDay(key).day);
  });
}

/**
 * As `readChildDays`, of the stored sums: child by child. Keys are read in sequence, many at a time
 * if children have few days, and a child's days outside of the span are skipped. So the time is
 * proportional to the number of sums passed and of children.
 */
export async function readStoredChildDays(
  reader: UsageReader,
  view: RollupView,
  { parent, span }: ChildDays,
  each: (child: string, sum: Rollup, key: string) => void,
): Promise<void> {
  const { store, yieldToEventLoop } = reader;
  const prefix = childrenPrefix(parent);
  const childAndDay = childAndDayReader(prefix, span);
  const days = { fromDay: dayOf(span.fromMs), toDay: dayOf(span.toMs) };
  const { from, before } = keysUnder(prefix);
  const limitMin = Math.min(rollupsPerSlice, 2 + Math.ceil((span.toMs - span.fromMs) / dayMs));
  let next = from;
  let limit = limitMin;
  let last = "";
  for (const turns = new Turns(rollupsPerSlice); ; ) {
    const keys = store.keys("rollups", { from: next, before, limit }).map(String);
    let count = 0;
    for (const key of keys) {
      const { child, isInSpan } = childAndDay(key);
      if (!isInSpan) continue;
      count++;
      if (key === last) continue;
      const sum = sumAt(reader, view, key);
      if (sum !== undefined && !isEmptyRollup(sum)) each(child, sum, key);
    }
    if (keys.length < limit) return;
    last = keys.at(-1)!;
    next = nextKeyFrom(last, prefix, days);
    limit = Math.min(rollupsPerSlice, Math.max(limitMin, 2 * count));
    if (turns.isOver(keys.length + keysPerQuery)) await yieldToEventLoop();
  }
}

interface ChildAndDay {
  readonly child: string;
  readonly day: string;
  readonly isInSpan: boolean;
}

function childAndDayReader(prefix: string, span: DaySpan): (key: string) => ChildAndDay {
  const fromDay = dayOf(span.fromMs);
  const toDay = dayOf(span.toMs);
  return (key) => {
    const child = childNameIn(key, prefix);
    const day = dayIn(key, `${prefix}${child}\n`);
    return { child, day, isInSpan: day >= fromDay && day <= toDay };
  };
}

/** Passes the sums of a path by model to `each`. Rejects as `readDays`. */
export async function readModelDays(
  reader: UsageReader,
  view: RollupView,
  { path, span }: { readonly path: string; readonly span: DaySpan },
  each: (target: Target, sum: Rollup, day: string) => void,
): Promise<void> {
  if (span.toMs < span.fromMs) return;
  const prefix = modelsPrefix(path);
  const days = { fromDay: dayOf(span.fromMs), toDay: dayOf(span.toMs) };
  await readRollups(reader, { prefix, days, view }, (key, sum) => {
    if (!isEmptyRollup(sum)) each(modelIn(key, prefix), sum, dayIn(key, prefix));
  });
}

/** The lower bound of the next key that may be in the days; it may be this key again. */
function nextKeyFrom(key: string, prefix: string, { fromDay, toDay }: Days): string {
  const ofChild = `${prefix}${childNameIn(key, prefix)}\n`;
  const day = dayIn(key, ofChild);
  if (day >= toDay) return keysUnder(ofChild).before;
  return day < fromDay ? ofChild + fromDay : key;
}

/** The sum under a key, as the view shows it. Throws `StoreUnreadableError`. */
function sumAt({ store }: UsageReader, view: RollupView, key: string): Rollup | undefined {
  const inMemory = view.inMemory(key);
  if (inMemory !== undefined) return inMemory;
  const value = store.get("rollups", key);
  return value === undefined
    ? undefined
    : (rollupFromStored(value) ?? throwMalformed(store, "rollups", key));
}
