/**
 * The usage of a path, split by day, model, provider, direct child or origin. It reads only sums,
 * in slices, with their values when the operation began.
 */

import type { UsageGroup, UsageSummary } from "../../../shared/api/usage-report.js";
import { recordsPerTurn, usageGroupsMax } from "../../../shared/bounds.js";
import { keyNumber } from "../../../shared/domain/managed-key.js";
import { targetName } from "../../../shared/domain/target-name.js";
import { childPath } from "../../../shared/domain/user-path.js";
import { Turns } from "../../../shared/long-lists.js";
import { dayMs, dayOf, formatMillis, parseDay } from "../../../shared/time.js";
import type { Grouping } from "../../../shared/wire/admin-op.js";
import { isWithin } from "../../lists/show-record.js";
import type { DaemonState } from "../../state.js";
import { addRollup, emptyRollup, isEmptyRollup, type Rollup, rollupOf } from "../rollup.js";
import {
  childrenPrefix,
  dayIn,
  dayOfKey,
  isAtOrBelow,
  modelIn,
  modelsPrefix,
  nameIn,
  type Origin,
  originIn,
  originsUnder,
  totalPrefix,
  under,
} from "../rollup-keys.js";
import type { EachSum, OthersSums, RollupView, SumsQuestion } from "../rollups.js";
import type { UsageWindow } from "../usage-query.js";
import {
  newestBatches,
  readRange,
  readRollups,
  readStored,
  readUnstored,
  type UsageReader,
} from "../usage-reader.js";
import {
  addTo,
  differenceOfSums,
  type Group,
  groupItem,
  inOrder,
  keepLargest,
  NamedSums,
} from "./usage-groups.js";
import { usageTotals } from "./usage-totals.js";

/**
 * Without `by`, `groups` are empty. Days are in ascending order, other groups by cost, then by
 * requests. Rejects with `StoreUnreadableError`.
 */
export async function summarizeUsage(
  state: DaemonState,
  window: UsageWindow,
  by: Grouping | null,
  nowMs: number,
): Promise<UsageSummary> {
  const { others } = state.usage;
  if (others === null) return summarize(state, { window, others }, by, nowMs);
  const { answer, hosts } = await others.withOthers((open) =>
    summarize(state, { window, others: open }, by, nowMs),
  );
  return { ...answer, hosts };
}

/** The window of a summary, and the other hosts' sums if there are any. */
interface SummaryQuery {
  readonly window: UsageWindow;
  readonly others: OthersSums | null;
}

async function summarize(
  state: DaemonState,
  { window, others: otherSums }: SummaryQuery,
  by: Grouping | null,
  nowMs: number,
): Promise<UsageSummary> {
  const view = state.usage.rollups.open();
  const of: Source = {
    window,
    view,
    readOthers: async (kind, each) => otherSums?.read({ kind, ...window }, each),
  };
  try {
    const days = new Map<string, Rollup>();
    const total = emptyRollup();
    const prefix = totalPrefix(window.userPath);
    const addDay: EachSum = (key, sum) => {
      addRollup(total, sum);
      if (by === "day") addTo(days, dayIn(key, prefix), sum);
    };
    await readRollups(state, { prefix, days: window, view }, addDay);
    await of.readOthers("totals", addDay);
    const groups =
      by === null || by === "day"
        ? [...days].sort(([a], [b]) => (a < b ? -1 : 1))
        : by === "path"
          ? await children(state, of, total)
          : by === "model" || by === "provider"
            ? await targets(state, of, by)
            : by === "session"
              ? await sessions(state, window, total)
              : await origins(state, of, { by, total });
    return {
      user_path: window.userPath,
      usage: usageTotals(total, window),
      groups: groups.map((group) => ({ ...groupItem(group), ...nameOf(state, by, group) })),
      server_time: formatMillis(nowMs),
    };
  } finally {
    view.close();
  }
}

/** What a summary reads. */
interface Source {
  readonly window: UsageWindow;
  readonly view: RollupView;
  /** Passes the sums of the other hosts to `each`, if there are any. */
  readOthers(kind: SumsQuestion["kind"], each: EachSum): Promise<void>;
}

async function targets(
  state: DaemonState,
  { window, view, readOthers }: Source,
  by: "model" | "provider",
): Promise<Group[]> {
  const sums = new NamedSums();
  const prefix = modelsPrefix(window.userPath);
  const add: EachSum = (key, sum) => {
    const { provider, model } = modelIn(key, prefix);
    sums.add(by === "provider" ? provider : targetName({ provider, model }), sum);
  };
  await readRollups(state, { prefix, days: window, view }, add);
  await readOthers("models", add);
  return sums.groups(state);
}

/** The group of usage without a key, or without a label. */
const noneOf = "(none)";

/**
 * The groups by requested model, key or label. Usage without a sum by origin is in the group of the
 * rest. A request of a key with several labels is in the group of each label.
 */
async function origins(
  state: DaemonState,
  { window, view, readOthers }: Source,
  { by, total }: { readonly by: "requested_model" | "key" | "label"; readonly total: Rollup },
): Promise<Group[]> {
  const sums = new NamedSums();
  const known = emptyRollup();
  const addOrigin = ({ keyId, provider, model }: Origin, sum: Rollup): void => {
    addRollup(known, sum);
    if (by === "requested_model")
      sums.add(provider === "" ? model : targetName({ provider, model }), sum);
    else if (by === "key") sums.add(keyId === "" ? noneOf : keyId, sum);
    else {
      const labels = state.labelsOf(keyId);
      for (const label of labels.length === 0 ? [noneOf] : labels) sums.add(label, sum);
    }
  };
  await readOrigins(state, view, window, addOrigin);
  await readOthers("origins", (key, sum) => {
    const origin = originIn(key);
    if (origin !== null) addOrigin(origin, sum);
  });
  addRollup(sums.rest, differenceOfSums(total, known));
  return sums.groups(state);
}

/**
 * The groups by session, from the records of this host, newest first. Usage whose records are
 * deleted, or on other hosts, is in the group of the rest.
 */
async function sessions(
  state: DaemonState,
  { userPath, fromDay, toDay }: UsageWindow,
  total: Rollup,
): Promise<Group[]> {
  const sums = new NamedSums();
  const known = emptyRollup();
  const within = { userPath, fromMs: parseDay(fromDay)!, beforeMs: parseDay(toDay)! + dayMs };
  const turns = new Turns(recordsPerTurn);
  for (const { records } of newestBatches(state, within, Number.POSITIVE_INFINITY)) {
    for (const record of records) {
      if (record.cacheHit || !isWithin(record, within)) continue;
      const one = rollupOf(record);
      addRollup(known, one);
      sums.add(record.session === "" ? noneOf : record.session, one);
    }
    // Finding an entry of the store costs as much as some records.
    if (turns.isOver(records.length + 4)) await state.yieldToEventLoop();
  }
  addRollup(sums.rest, differenceOfSums(total, known));
  return sums.groups(state);
}

/** The name of a key; null for a deleted key. */
function nameOf(
  { keys }: DaemonState,
  by: Grouping | null,
  [key]: Group,
): Pick<UsageGroup, "name"> {
  if (by !== "key") return {};
  const number = keyNumber(key);
  return { name: number === null ? null : (keys.byNumber(number)?.name ?? null) };
}

/**
 * The groups by direct child. Each child is looked up by name, so days outside the window aren't
 * read. The rest of the total was used at the path itself.
 */
async function children(
  state: DaemonState,
  { window, view, readOthers }: Source,
  total: Rollup,
): Promise<Group[]> {
  const { userPath, fromDay, toDay } = window;
  const prefix = childrenPrefix(userPath);
  const largest: Group[] = [];
  const rest = emptyRollup();
  const below = emptyRollup();
  const add = (name: string, sum: Rollup): void => {
    if (isEmptyRollup(sum)) return;
    addRollup(below, sum);
    largest.push([childPath(userPath, name), sum]);
    keepLargest(largest, rest, 2 * usageGroupsMax);
  };
  /** The children's sums that this host's store doesn't have. */
  const unstored = new Map<string, Rollup>();
  await readOthers("children", (key, sum) => addTo(unstored, nameIn(key, prefix), sum));
  const early = new Set<string>();
  await readUnstored(state, view, (key, sum) => {
    if (!key.startsWith(prefix) || dayOfKey(key) < fromDay || dayOfKey(key) > toDay) return;
    early.add(key);
    addTo(unstored, nameIn(key, prefix), sum);
  });
  const { from, before } = under(prefix);
  for (let next = from; ; ) {
    const [key] = state.store.keys("rollups", { from: next, before, limit: 1 });
    if (key === undefined) break;
    const name = nameIn(String(key), prefix);
    const sum = unstored.get(name) ?? emptyRollup();
    unstored.delete(name);
    await readStored(state, { prefix: `${prefix}${name}\n`, days: window, view }, (day, ofDay) => {
      if (!early.has(day)) addRollup(sum, ofDay);
    });
    add(name, sum);
    next = under(`${prefix}${name}\n`).before;
    await state.yieldToEventLoop();
  }
  const turns = new Turns(usageGroupsMax);
  for (const [name, sum] of unstored) {
    add(name, sum);
    if (turns.isOver()) await state.yieldToEventLoop();
  }
  const own = differenceOfSums(total, below);
  if (!isEmptyRollup(own)) largest.push([userPath, own]);
  return inOrder(largest, rest);
}

/** Passes every sum by origin in the window to `each`. Rejects with `StoreUnreadableError`. */
export async function readOrigins(
  reader: UsageReader,
  view: RollupView,
  { userPath, fromDay, toDay }: UsageWindow,
  each: (origin: Origin, sum: Rollup) => void,
): Promise<void> {
  const early = new Set<string>();
  await readUnstored(reader, view, (key, sum) => {
    const origin = originIn(key);
    if (origin === null || origin.day < fromDay || origin.day > toDay) return;
    if (!isAtOrBelow(origin.userPath, userPath)) return;
    early.add(key);
    each(origin, sum);
  });
  const last = parseDay(toDay)!;
  for (let ms = parseDay(fromDay)!; ms <= last; ms += dayMs) {
    for (const range of originsUnder(dayOf(ms), userPath))
      await readRange(reader, { ...range, view }, (key, sum) => {
        const origin = early.has(key) ? null : originIn(key);
        if (origin !== null) each(origin, sum);
      });
    await reader.yieldToEventLoop();
  }
}
