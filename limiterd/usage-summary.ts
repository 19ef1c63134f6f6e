/** What a path used, split by day, model, provider or direct child: for the command line. From sums alone, in slices. */
import { usageGroupsHeldMax, usageGroupsMax } from "../shared/bounds.js";
import { compareSums, sumUsd } from "../shared/money.js";
import { targetName } from "../shared/target-name.js";
import { formatMillis } from "../shared/time.js";
import { addRollup, emptyRollup, type Rollup } from "./rollup.js";
import { childrenPrefix, dayIn, modelIn, modelsPrefix, nameIn, totalPrefix, under } from "./rollup-keys.js";
import type { DaemonState } from "./state.js";
import { readRollups } from "./usage-reader.js";
import { sumOf, usageSummary } from "./usage-status.js";
import type { Grouping, UsageWindow } from "./usage-window.js";

/** `groups` are empty without `by`; days in their order, everything else by cost, then by requests. Rejects with `StoreUnreadableError`. */
export async function summarizeUsage(state: DaemonState, window: UsageWindow, by: Grouping | null, nowMs: number): Promise<Record<string, unknown>> {
  const total = await sumOf(state, window);
  const groups = by === null ? [] : (await groupsOf(state, window, by)).map(([key, sum]) => groupItem(key, sum));
  return { user_path: window.userPath, usage: usageSummary(total, window), groups, server_time: formatMillis(nowMs) };
}

async function groupsOf(state: DaemonState, window: UsageWindow, by: Grouping): Promise<[string, Rollup][]> {
  const groups = new Map<string, Rollup>();
  const add = (key: string, sum: Rollup): void => {
    const group = groups.has(key) || groups.size < usageGroupsHeldMax ? key : others;
    const known = groups.get(group) ?? emptyRollup();
    addRollup(known, sum);
    groups.set(group, known);
  };
  if (by === "path") await readChildren(state, window, add);
  else if (by === "day") {
    const prefix = totalPrefix(window.userPath);
    await readRollups(state, prefix, window, (key, sum) => add(dayIn(key, prefix), sum));
    return [...groups].sort(([a], [b]) => (a < b ? -1 : 1));
  } else {
    const prefix = modelsPrefix(window.userPath);
    await readRollups(state, prefix, window, (key, sum) => {
      const { provider, model } = modelIn(key, prefix);
      add(by === "provider" ? provider : targetName({ provider, model }), sum);
    });
  }
  return largest(groups);
}

/** What is summed up where there are too many. */
const others = "other";

function largest(groups: Map<string, Rollup>): [string, Rollup][] {
  const rest = groups.get(others) ?? emptyRollup();
  groups.delete(others);
  const sorted = [...groups].sort(([aKey, a], [bKey, b]) => compareSums(b.totalCost, a.totalCost) || b.requests - a.requests || (aKey < bKey ? -1 : 1));
  for (const [, sum] of sorted.slice(usageGroupsMax)) addRollup(rest, sum);
  return rest.requests === 0 ? sorted : [...sorted.slice(0, usageGroupsMax), [others, rest]];
}

/** Each direct child is looked for by name, so that days outside the window cost nothing. */
async function readChildren(state: DaemonState, window: UsageWindow, add: (key: string, sum: Rollup) => void): Promise<void> {
  const { store, usage } = state;
  const prefix = childrenPrefix(window.userPath);
  const sumChild = async (name: string): Promise<void> => {
    const child = `${window.userPath === "/" ? "" : window.userPath}/${name}`;
    const sum = emptyRollup();
    await readRollups(state, totalPrefix(child), window, (_, day) => addRollup(sum, day));
    if (sum.requests > 0) add(child, sum);
  };
  const early = new Set<string>();
  for (const [key] of usage.rollups.unstored()) if (key.startsWith(prefix)) early.add(nameIn(key, prefix));
  for (const name of early) await sumChild(name);
  const { from, before } = under(prefix);
  for (let next = from; ;) {
    const [key] = store.keys("rollups", { from: next, before, limit: 1 });
    if (key === undefined) return;
    const name = nameIn(String(key), prefix);
    if (!early.has(name)) await sumChild(name);
    next = under(`${prefix}${name}\n`).before;
    await state.turn();
  }
}

function groupItem(key: string, sum: Rollup): Record<string, unknown> {
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
