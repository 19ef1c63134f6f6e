/**
 * The usage of a path, split by day, model, provider, direct child or origin, and the course of the
 * largest parts over time. It reads only sums, in slices, with their values when the operation
 * began. For sessions and hours it reads the records.
 */

import type { ReportHosts, UsageGroup, UsageSummary } from "../../../shared/api/usage-report.js";
import { recordsPerTurn, usageGroupsMax } from "../../../shared/bounds.js";
import { keyNumber } from "../../../shared/domain/managed-key.js";
import { targetName } from "../../../shared/domain/target-name.js";
import { childPath } from "../../../shared/domain/user-path.js";
import { Turns } from "../../../shared/long-lists.js";
import { dayMs, dayOf, formatMillis, parseDay } from "../../../shared/time.js";
import type { Grouping } from "../../../shared/wire/admin-op.js";
import { isWithin } from "../../lists/show-record.js";
import type { DaemonState } from "../../state.js";
import { readStoredChildDays } from "../read-days.js";
import { addRollup, emptyRollup, isEmptyRollup, type Rollup, rollupOf } from "../rollup.js";
import {
  childNameIn,
  childrenPrefix,
  dayIn,
  dayOfKey,
  isAtOrBelow,
  modelIn,
  modelsPrefix,
  type Origin,
  originIn,
  originsUnder,
  totalPrefix,
} from "../rollup-keys.js";
import type { EachSum, OtherHostsSums, RollupView, SumsQuestion } from "../rollups.js";
import { spanOf, type UsageSplit, type UsageWindow } from "../usage-query.js";
import {
  eachUnstored,
  newestBatches,
  readRange,
  readRollups,
  type UsageReader,
} from "../usage-reader.js";
import type { UsageRecord } from "../usage-records.js";
import {
  addTo,
  differenceOfSums,
  type Group,
  groupItem,
  keepLargest,
  NamedSums,
  withRestLast,
} from "./usage-groups.js";
import { SeriesSums } from "./usage-series.js";
import { usageTotals } from "./usage-totals.js";

/**
 * Without `by`, `groups` are empty. Days are in ascending order, other groups by cost, then by
 * requests. Rejects with `StoreUnreadableError`.
 */
export async function summarizeUsage(
  state: DaemonState,
  window: UsageWindow,
  split: UsageSplit,
  nowMs: number,
): Promise<UsageSummary> {
  const { otherHosts } = state.usage;
  if (window.span !== undefined) {
    const summary = await summarizeRecords(state, window, split, nowMs);
    return otherHosts === null ? summary : { ...summary, hosts: hostsOfRecords };
  }
  if (otherHosts === null) return summarize(state, { window, otherHosts }, split, nowMs);
  const { answer, hosts } = await otherHosts.withOtherHosts((open) =>
    summarize(state, { window, otherHosts: open }, split, nowMs),
  );
  return { ...answer, hosts };
}

/** Other hosts have only sums of days. */
export const hostsOfRecords = {
  scope: "this_host",
  count: 1,
  oldest_seconds: 0,
  complete: false,
  reason: "a range with times is of this host's records",
} as const satisfies ReportHosts;

/** As `summarize`, of the records that ended in a range with times. */
async function summarizeRecords(
  state: DaemonState,
  window: UsageWindow,
  { by, step }: UsageSplit,
  nowMs: number,
): Promise<UsageSummary> {
  const total = emptyRollup();
  const sums = new NamedSums();
  await eachRecord(state, window, by, (names, sum) => {
    addRollup(total, sum);
    for (const name of names) sums.add(name, sum);
  });
  const groups = await sums.groups(state);
  if (by === "day") groups.sort(([a], [b]) => (a < b ? -1 : 1));
  const series = step === null ? null : new SeriesSums(groups, { window, step, nowMs });
  if (series !== null)
    await eachRecord(state, window, by, (names, sum, atMs) =>
      series.add(names, sum, series.timeOf(atMs)),
    );
  return shownSummary(state, { window, by, total, groups, series }, nowMs);
}

interface UsageSum {
  readonly window: UsageWindow;
  readonly by: Grouping | null;
  readonly total: Rollup;
  readonly groups: readonly Group[];
  readonly series: SeriesSums | null;
}

function shownSummary(
  state: DaemonState,
  { window, by, total, groups, series }: UsageSum,
  nowMs: number,
): UsageSummary {
  return {
    user_path: window.userPath,
    usage: usageTotals(total, window),
    groups: groups.map((group) => ({ ...groupItem(group), ...nameOf(state, by, group) })),
    ...(series === null ? {} : { series: series.item((group) => nameOf(state, by, group)) }),
    server_time: formatMillis(nowMs),
  };
}

/** The window of a summary, and the other hosts' sums if there are any. */
interface SummaryQuery {
  readonly window: UsageWindow;
  readonly otherHosts: OtherHostsSums | null;
}

async function summarize(
  state: DaemonState,
  { window, otherHosts }: SummaryQuery,
  { by, step }: UsageSplit,
  nowMs: number,
): Promise<UsageSummary> {
  const view = state.usage.rollups.open();
  const source: Source = {
    window,
    view,
    readOtherHosts: async (kind, each) => otherHosts?.read({ kind, ...window }, each),
  };
  try {
    const days = new Map<string, Rollup>();
    const total = emptyRollup();
    const prefix = totalPrefix(window.userPath);
    const addDay: EachSum = (key, sum) => {
      addRollup(total, sum);
      if (by === "day" || step === "day") addTo(days, dayIn(key, prefix), sum);
    };
    await readRollups(state, { prefix, days: window, view }, addDay);
    await source.readOtherHosts("totals", addDay);
    const groups =
      by === null
        ? []
        : by === "day"
          ? [...days].sort(([a], [b]) => (a < b ? -1 : 1))
          : by === "path"
            ? await children(state, source, total)
            : await withNames(state, source, { by, total });
    // No sums of days are stored for usage at the path itself: the series has it in the rest.
    const isInRest = (name: string): boolean =>
      by === "path" && step === "day" && name === window.userPath;
    const inSeries = groups.filter(([name]) => !isInRest(name));
    const series = step === null ? null : new SeriesSums(inSeries, { window, step, nowMs });
    if (series !== null && step === "hour")
      await eachRecord(state, window, by, (names, sum, atMs) =>
        series.add(names, sum, series.timeOf(atMs)),
      );
    if (series !== null && step === "day") {
      await eachOfDay(state, source, { by, names: series.names }, series.add);
      series.setTotals(days);
    }
    return shownSummary(state, { window, by, total, groups, series }, nowMs);
  } finally {
    view.close();
  }
}

/** The sums that a summary reads: this host's, and the other hosts'. */
interface Source {
  readonly window: UsageWindow;
  readonly view: RollupView;
  /** Passes the sums of the other hosts to `each`, if there are any. */
  readOtherHosts(kind: SumsQuestion["kind"], each: EachSum): Promise<void>;
}

/** Receives each sum with the groups that it is in, and its day. */
type EachGrouped = (names: readonly string[], sum: Rollup, day: string) => void;

/** A split by neither day nor direct child. */
type NamedGrouping = Exclude<Grouping, "day" | "path">;

/** The groups by name. Usage without a sum by name is in the group of the rest. */
async function withNames(
  state: DaemonState,
  source: Source,
  { by, total }: { readonly by: NamedGrouping; readonly total: Rollup },
): Promise<Group[]> {
  const sums = new NamedSums();
  const namedSum = emptyRollup();
  await eachOfGrouping(state, source, by, (names, sum) => {
    addRollup(namedSum, sum);
    for (const name of names) sums.add(name, sum);
  });
  // Each sum of a path is split by model as a whole.
  if (by !== "model" && by !== "provider") addRollup(sums.rest, differenceOfSums(total, namedSum));
  return sums.groups(state);
}

async function eachOfGrouping(
  state: DaemonState,
  source: Source,
  by: NamedGrouping,
  each: EachGrouped,
): Promise<void> {
  if (by === "model" || by === "provider") return eachTarget(state, source, by, each);
  if (by !== "session") return eachOrigin(state, source, by, each);
  await eachRecord(state, source.window, by, (names, sum, atMs) => each(names, sum, dayOf(atMs)));
}

async function eachTarget(
  state: DaemonState,
  { window, view, readOtherHosts }: Source,
  by: "model" | "provider",
  each: EachGrouped,
): Promise<void> {
  const prefix = modelsPrefix(window.userPath);
  const add: EachSum = (key, sum) => {
    const { provider, model } = modelIn(key, prefix);
    each([by === "provider" ? provider : targetName({ provider, model })], sum, dayIn(key, prefix));
  };
  await readRollups(state, { prefix, days: window, view }, add);
  await readOtherHosts("models", add);
}

/** The group of usage without a key, a label or a session. */
const noneOf = "(none)";

/** A request of a key with several labels is in the group of each label. */
async function eachOrigin(
  state: DaemonState,
  { window, view, readOtherHosts }: Source,
  by: "requested_model" | "key" | "label",
  each: EachGrouped,
): Promise<void> {
  const add = ({ day, keyId, provider, model }: Origin, sum: Rollup): void => {
    const requested = provider === "" ? model : targetName({ provider, model });
    each(by === "requested_model" ? [requested] : namesOfKey(state, by, keyId), sum, day);
  };
  await readOrigins(state, view, window, add);
  await readOtherHosts("origins", (key, sum) => {
    const origin = originIn(key);
    if (origin !== null) add(origin, sum);
  });
}

function namesOfKey(
  { labelsOf }: Pick<DaemonState, "labelsOf">,
  by: "key" | "label",
  keyId: string,
): readonly string[] {
  if (by === "key") return [keyId === "" ? noneOf : keyId];
  const labels = labelsOf(keyId);
  return labels.length === 0 ? [noneOf] : labels;
}

/**
 * Passes the records of this host, newest first, as sums. Deleted records, and those of other
 * hosts, aren't among them.
 */
async function eachRecord(
  state: DaemonState,
  window: UsageWindow,
  by: Grouping | null,
  each: (names: readonly string[], sum: Rollup, atMs: number) => void,
): Promise<void> {
  await eachRecordIn(state, window, (record, sum) =>
    each(namesOfRecord(state, by, record, window.userPath), sum, record.atMs),
  );
}

/** Passes the records of this host in a window, newest first, each with its sum. */
export async function eachRecordIn(
  state: UsageReader,
  window: UsageWindow,
  each: (record: UsageRecord, sum: Rollup) => void,
): Promise<void> {
  const within = { userPath: window.userPath, ...spanOf(window) };
  const turns = new Turns(recordsPerTurn);
  for (const { records } of newestBatches(state, within, Number.POSITIVE_INFINITY)) {
    for (const record of records)
      if (!record.cacheHit && isWithin(record, within)) each(record, rollupOf(record) as Rollup);
    // Finding an entry of the store costs as much as some records.
    if (turns.isOver(records.length + 4)) await state.yieldToEventLoop();
  }
}

function namesOfRecord(
  state: Pick<DaemonState, "labelsOf">,
  by: Grouping | null,
  { provider, model, requestedModel, keyId, session, userPath, atMs }: UsageRecord,
  top: string,
): readonly string[] {
  switch (by) {
    case null:
      return [];
    case "day":
      return [dayOf(atMs)];
    case "model":
      return [targetName({ provider, model })];
    case "requested_model":
      return [requestedModel === "" ? targetName({ provider, model }) : requestedModel];
    case "provider":
      return [provider];
    case "path": {
      const below = userPath.slice(top === "/" ? 1 : top.length + 1);
      return [childPath(top, below.split("/", 1)[0]!)];
    }
    case "session":
      return [session === "" ? noneOf : session];
    default:
      return namesOfKey(state, by, keyId);
  }
}

/** Passes the sums of each day of these groups; it may also pass those of further groups. */
async function eachOfDay(
  state: DaemonState,
  source: Source,
  { by, names }: { readonly by: Grouping | null; readonly names: readonly string[] },
  each: EachGrouped,
): Promise<void> {
  if (by === null || by === "day") return;
  if (by !== "path") return eachOfGrouping(state, source, by, each);
  const { window, view, readOtherHosts } = source;
  const top = childrenPrefix(window.userPath);
  for (const name of names) {
    const prefix = totalPrefix(name);
    await readRollups(state, { prefix, days: window, view }, (key, sum) =>
      each([name], sum, dayIn(key, prefix)),
    );
  }
  await readOtherHosts("children", (key, sum) =>
    each([childPath(window.userPath, childNameIn(key, top))], sum, dayOfKey(key)),
  );
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

/** The groups by direct child. The rest of the total was used at the path itself. */
async function children(
  state: DaemonState,
  { window, view, readOtherHosts }: Source,
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
  await readOtherHosts("children", (key, sum) => addTo(unstored, childNameIn(key, prefix), sum));
  const unstoredKeys = new Set<string>();
  await eachUnstored(state, view, (key, sum) => {
    if (!key.startsWith(prefix) || dayOfKey(key) < fromDay || dayOfKey(key) > toDay) return;
    unstoredKeys.add(key);
    addTo(unstored, childNameIn(key, prefix), sum);
  });
  const span = { fromMs: parseDay(fromDay)!, toMs: parseDay(toDay)! };
  const child = { name: "", sum: emptyRollup() };
  await readStoredChildDays(state, view, { parent: userPath, span }, (name, ofDay, key) => {
    if (child.name !== name) {
      add(child.name, child.sum);
      child.name = name;
      child.sum = unstored.get(name) ?? emptyRollup();
      unstored.delete(name);
    }
    if (!unstoredKeys.has(key)) addRollup(child.sum, ofDay);
  });
  add(child.name, child.sum);
  const turns = new Turns(usageGroupsMax);
  for (const [name, sum] of unstored) {
    add(name, sum);
    if (turns.isOver()) await state.yieldToEventLoop();
  }
  const atPath = differenceOfSums(total, below);
  if (!isEmptyRollup(atPath)) largest.push([userPath, atPath]);
  return withRestLast(largest, rest);
}

/** Passes every sum by origin in the window to `each`. Rejects with `StoreUnreadableError`. */
export async function readOrigins(
  reader: UsageReader,
  view: RollupView,
  { userPath, fromDay, toDay }: UsageWindow,
  each: (origin: Origin, sum: Rollup) => void,
): Promise<void> {
  const unstoredKeys = new Set<string>();
  await eachUnstored(reader, view, (key, sum) => {
    const origin = originIn(key);
    if (origin === null || origin.day < fromDay || origin.day > toDay) return;
    if (!isAtOrBelow(origin.userPath, userPath)) return;
    unstoredKeys.add(key);
    each(origin, sum);
  });
  const last = parseDay(toDay)!;
  for (let ms = parseDay(fromDay)!; ms <= last; ms += dayMs) {
    for (const range of originsUnder(dayOf(ms), userPath))
      await readRange(reader, { ...range, view }, (key, sum) => {
        const origin = unstoredKeys.has(key) ? null : originIn(key);
        if (origin !== null) each(origin, sum);
      });
    await reader.yieldToEventLoop();
  }
}
