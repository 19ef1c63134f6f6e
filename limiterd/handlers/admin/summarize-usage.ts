/**
 * What a path used, split by day, model, provider, direct child, or by who asked for what. From
 * sums alone, in slices, as they were when the operation began.
 */
import type { UsageGroup, UsageSummary } from "../../../shared/api/usage-report.js";
import { usageGroupsHeldMax, usageGroupsMax } from "../../../shared/bounds.js";
import { keyNumber } from "../../../shared/domain/managed-key.js";
import { addSum, compareSums, differenceOf, sumUsd } from "../../../shared/domain/money.js";
import { targetName } from "../../../shared/domain/target-name.js";
import { formatMillis } from "../../../shared/time.js";
import type { Grouping } from "../../../shared/wire/admin-op.js";
import type { DaemonState } from "../../state.js";
import { readOrigins } from "../../usage/read-origins.js";
import {
  addRollup,
  copyRollup,
  emptyRollup,
  isEmptyRollup,
  type Rollup,
} from "../../usage/rollup.js";
import {
  childrenPrefix,
  dayIn,
  dayOfKey,
  modelIn,
  modelsPrefix,
  nameIn,
  totalPrefix,
  under,
} from "../../usage/rollup-keys.js";
import type { RollupView } from "../../usage/rollups.js";
import type { UsageWindow } from "../../usage/usage-query.js";
import { readRollups, readStored, readUnstored } from "../../usage/usage-reader.js";
import { usageSummary } from "./usage-status.js";

/**
 * `groups` are empty without `by`; days in their order, everything else by cost, then by requests.
 * Rejects with `StoreUnreadableError`.
 */
export async function summarizeUsage(
  state: DaemonState,
  window: UsageWindow,
  by: Grouping | null,
  nowMs: number,
): Promise<UsageSummary> {
  const view = state.usage.rollups.open();
  try {
    const days: Group[] = [];
    const total = emptyRollup();
    const prefix = totalPrefix(window.userPath);
    await readRollups(state, { prefix, days: window, view }, (key, sum) => {
      addRollup(total, sum);
      if (by === "day") days.push([dayIn(key, prefix), copyRollup(sum)]);
    });
    const groups =
      by === null || by === "day"
        ? days.sort(([a], [b]) => (a < b ? -1 : 1))
        : by === "path"
          ? await children(state, window, view, total)
          : by === "model" || by === "provider"
            ? await targets(state, window, view, by)
            : await origins(state, window, view, { by, total });
    return {
      user_path: window.userPath,
      usage: usageSummary(total, window),
      groups: groups.map((group) => ({ ...groupItem(group), ...nameOf(state, by, group) })),
      server_time: formatMillis(nowMs),
    };
  } finally {
    view.close();
  }
}

type Group = [key: string, sum: Rollup];

/** The group of all that are left out where there are too many. */
const others = "other";

async function targets(
  state: DaemonState,
  window: UsageWindow,
  view: RollupView,
  by: "model" | "provider",
): Promise<Group[]> {
  const sums = new NamedSums();
  const prefix = modelsPrefix(window.userPath);
  await readRollups(state, { prefix, days: window, view }, (key, sum) => {
    const { provider, model } = modelIn(key, prefix);
    sums.add(by === "provider" ? provider : targetName({ provider, model }), sum);
  });
  return sums.groups(state);
}

/** Sums by name: as many as are told apart, and one of the rest. */
class NamedSums {
  readonly rest = emptyRollup();
  readonly #byName = new Map<string, Rollup>();

  add(name: string, sum: Rollup): void {
    const known = this.#byName.get(name);
    if (known !== undefined) addRollup(known, sum);
    else if (this.#byName.size < usageGroupsHeldMax && name !== others)
      this.#byName.set(name, copyRollup(sum));
    else addRollup(this.rest, sum);
  }

  async groups({ yieldToEventLoop }: Pick<DaemonState, "yieldToEventLoop">): Promise<Group[]> {
    const largest: Group[] = [];
    for (const group of this.#byName) {
      largest.push(group);
      if (keepLargest(largest, this.rest, 2 * usageGroupsMax)) await yieldToEventLoop();
    }
    return inOrder(largest, this.rest);
  }
}

/** The group of what has no key, or no label. */
const noneOf = "(none)";

/**
 * Days that an earlier release has recorded have no sums by origin: they are among the others. A
 * request of a key with several labels is in the group of each.
 */
async function origins(
  state: DaemonState,
  window: UsageWindow,
  view: RollupView,
  { by, total }: { readonly by: "requested_model" | "key" | "label"; readonly total: Rollup },
): Promise<Group[]> {
  const sums = new NamedSums();
  const known = emptyRollup();
  await readOrigins(state, view, window, ({ keyId, provider, model }, sum) => {
    addRollup(known, sum);
    if (by === "requested_model")
      sums.add(provider === "" ? model : targetName({ provider, model }), sum);
    else if (by === "key") sums.add(keyId === "" ? noneOf : keyId, sum);
    else {
      const labels = state.labelsOf(keyId);
      for (const label of labels.length === 0 ? [noneOf] : labels) sums.add(label, sum);
    }
  });
  addRollup(sums.rest, differenceOfSums(total, known));
  return sums.groups(state);
}

/** A key's name, which a deleted key has no longer. */
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
 * Each direct child is looked up by name, so that days outside the window cost nothing; the rest of
 * the total was used at the path itself.
 */
async function children(
  state: DaemonState,
  window: UsageWindow,
  view: RollupView,
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
    largest.push([`${userPath === "/" ? "" : userPath}/${name}`, sum]);
    keepLargest(largest, rest, 2 * usageGroupsMax);
  };
  const unstored = new Map<string, Rollup>();
  const early = new Set<string>();
  await readUnstored(state, view, (key, sum) => {
    if (!key.startsWith(prefix) || dayOfKey(key) < fromDay || dayOfKey(key) > toDay) return;
    early.add(key);
    const name = nameIn(key, prefix);
    const known = unstored.get(name);
    if (known === undefined) unstored.set(name, copyRollup(sum));
    else addRollup(known, sum);
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
  let sinceTurn = 0;
  for (const [name, sum] of unstored) {
    add(name, sum);
    if (++sinceTurn % usageGroupsMax === 0) await state.yieldToEventLoop();
  }
  const own = differenceOfSums(total, below);
  if (!isEmptyRollup(own)) largest.push([userPath, own]);
  return inOrder(largest, rest);
}

/**
 * A total without its parts, as far as a group shows them. It is never negative, though parts may
 * be kept longer than the total.
 */
function differenceOfSums(total: Rollup, below: Rollup): Rollup {
  const own = emptyRollup();
  own.requests = Math.max(0, total.requests - below.requests);
  own.inputTokens = Math.max(0, total.inputTokens - below.inputTokens);
  own.outputTokens = Math.max(0, total.outputTokens - below.outputTokens);
  own.unpricedRequests = Math.max(0, total.unpricedRequests - below.unpricedRequests);
  addSum(own.totalCost, differenceOf(total.totalCost, below.totalCost));
  return own;
}

function bySize([aKey, a]: Group, [bKey, b]: Group): number {
  return compareSums(b.totalCost, a.totalCost) || b.requests - a.requests || (aKey < bKey ? -1 : 1);
}

/**
 * When there are `max` groups or more, what is beyond the largest is added to `rest`. Sorts only
 * then: true.
 */
function keepLargest(groups: Group[], rest: Rollup, max: number): boolean {
  if (groups.length < max) return false;
  groups.sort(bySize);
  for (const [, sum] of groups.splice(usageGroupsMax)) addRollup(rest, sum);
  return true;
}

function inOrder(groups: Group[], rest: Rollup): Group[] {
  keepLargest(groups, rest, 0);
  return isEmptyRollup(rest) ? groups : [...groups, [others, rest]];
}

function groupItem([key, sum]: Group): UsageGroup {
  return {
    key,
    requests: sum.requests,
    input_tokens: sum.inputTokens,
    output_tokens: sum.outputTokens,
    total_tokens: sum.inputTokens + sum.outputTokens,
    total_cost: sumUsd(sum.totalCost),
    unpriced_requests: sum.unpricedRequests,
  };
}
