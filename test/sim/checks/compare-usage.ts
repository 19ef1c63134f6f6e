/**
 * Compares what the daemon reports as used and spent, and what of it is on the disk, with the
 * records on the disk, added up slowly. For moments at which every record is there: after a start,
 * and at rest.
 */

import { sessionOf } from "../../../limiterd/budgets/budget-account.js";
import { spentOf } from "../../../limiterd/budgets/judge-budgets.js";
import type { DaemonState } from "../../../limiterd/state.js";
import { rollupFromStored } from "../../../limiterd/usage/rollup.js";
import { recordsFromStored, type UsageRecord } from "../../../limiterd/usage/usage-records.js";
import type { BudgetDefinition } from "../../../shared/domain/budget.js";
import { perSession } from "../../../shared/domain/budget-calendar.js";
import { dayMs } from "../../../shared/time.js";
import { accountsOf, picosOf, rollupsOf } from "../../limiterd/usage/usage-oracle.js";
import type { Disk } from "../processes/disk.js";
import { paths, sessionNames } from "../workload.js";

/** So large that no request is refused: what was spent is compared, no verdict depends on them. */
export const simulatedBudgets: readonly BudgetDefinition[] = [
  { scope: "user_path", subject: "/", periodSeconds: 86_400, amountUsd: 1e6, perChild: false },
  { scope: "user_path", subject: "/a", periodSeconds: 86_400, amountUsd: 1e6, perChild: true },
  {
    scope: "user_path",
    subject: "/",
    periodSeconds: 86_400,
    amountUsd: 1e6,
    perChild: false,
    models: "gpt-4o local/*",
  },
  {
    scope: "user_path",
    subject: "/a",
    periodSeconds: 86_400,
    amountUsd: 1e6,
    perChild: true,
    models: "* !openai/*",
  },
  {
    scope: "user_path",
    subject: "/b",
    periodSeconds: 60,
    amountUsd: 1e6,
    perChild: false,
    rolling: true,
  },
  {
    scope: "user_path",
    subject: "/ab",
    periodSeconds: 86_400,
    amountUsd: 1e6,
    perChild: false,
    timeZone: "Asia/Kathmandu",
    rollover: 0.5,
  },
  { scope: "user_path", subject: "/a", periodSeconds: perSession, amountUsd: 1e6, perChild: false },
  {
    scope: "user_path",
    subject: "/",
    periodSeconds: perSession,
    amountUsd: 1e6,
    perChild: true,
    models: "gpt-4o local/*",
  },
  { scope: "provider", subject: "openai", periodSeconds: 86_400, amountUsd: 1e6, perChild: false },
  {
    scope: "model",
    subject: "gpt-4o",
    periodSeconds: 86_400,
    amountUsd: 1e6,
    perChild: false,
  },
  {
    scope: "model",
    subject: "local/llama",
    periodSeconds: 3600,
    amountUsd: 1e6,
    perChild: false,
    rolling: true,
  },
];

const noLabels = (): readonly string[] => [];

export function recordsOn(disk: Disk): UsageRecord[] {
  return disk.entries("usage").flatMap(({ value }) => recordsFromStored(value)!);
}

/**
 * The first difference between the daemon's memory and the records, or null. A clock that has
 * stepped back may have been in a period of an account of which there is no other record.
 */
export function usageDifference(
  disk: Disk,
  { usage, budgets }: DaemonState,
  {
    nowMs,
    clockStepped,
    hasStarted = false,
  }: {
    readonly nowMs: number;
    readonly clockStepped: boolean;
    /** Whether it may still look up what was spent on budgets that the store didn't have. */
    readonly hasStarted?: boolean;
  },
): string | null {
  const records = recordsOn(disk);
  const ids = new Set(records.map(({ requestId }) => requestId));
  if (ids.size !== records.length) return `${records.length} records of ${ids.size} requests`;
  const misplaced = recordOutsideItsDays(disk);
  if (misplaced !== null) return misplaced;
  const expected = rollupsOf(records, noLabels);
  for (const [key, { requests, tokens, cost }] of expected) {
    const sum = usage.rollups.find(key);
    const found =
      sum === undefined
        ? "nothing"
        : `${sum.requests} requests, ${sum.inputTokens + sum.outputTokens} tokens, ${picosOf(sum.totalCost)} pico-dollars`;
    const right = `${requests} requests, ${tokens} tokens, ${cost} pico-dollars`;
    if (found !== right)
      return `the sum ${JSON.stringify(key)} is ${found}, its records are ${right}`;
  }
  const more = [
    ...usage.rollups.unstoredKeys(),
    ...disk.entries("rollups").map(({ key }) => String(key)),
  ].find((key) => !expected.has(key));
  if (more !== undefined) return `the sum ${JSON.stringify(more)} is of no record`;
  if (clockStepped) return null;
  const owed = accountsOf(records, budgets.sorted(), noLabels, nowMs);
  const all = paths.flatMap((userPath) =>
    ["", ...sessionNames].flatMap((session) => [
      ...budgets.match({ userPath, session }, [], nowMs),
      ...budgets.copyForModels(null, { userPath, session }, nowMs),
    ]),
  );
  for (const account of new Set(all)) {
    if (hasStarted && account.budget.isBackfilling) continue;
    const { scope, subject, models } = account.budget.definition;
    const spent = picosOf(spentOf(budgets, account, nowMs));
    const ofSession = sessionOf(account);
    const whose = ofSession === null ? account.subject : `${account.subject} ${ofSession}`;
    const key = `${scope} ${subject} ${whose}`;
    const right = owed.get(models === undefined ? key : `${key} ${models}`) ?? 0n;
    if (spent !== right)
      return `${whose} has spent ${spent} pico-dollars of the budget of ${subject}, its records are ${right}`;
  }
  return null;
}

/** Whether the index of days on the disk leads to every record. */
function recordOutsideItsDays(disk: Disk): string | null {
  const runs = disk.entries("days");
  for (const { key, value } of disk.entries("usage")) {
    const [fromDay, toDay] = runs.findLast((run) => run.key <= key)?.value ?? [];
    for (const { atMs, requestId } of recordsFromStored(value)!) {
      const day = Math.floor(atMs / dayMs);
      if (!(day >= Number(fromDay) && day <= Number(toDay)))
        return `the record ${requestId} of the day ${day} is in a run of ${fromDay} to ${toDay}`;
    }
  }
  return null;
}

/**
 * After a stop that has written everything: the sums are on the disk without a record being added
 * to them.
 */
export function unwrittenSum(disk: Disk): string | null {
  const stored = new Map(
    disk.entries("rollups").map(({ key, value }) => [String(key), rollupFromStored(value)!]),
  );
  for (const [key, { requests, cost }] of rollupsOf(recordsOn(disk), noLabels)) {
    const sum = stored.get(key);
    if (sum?.requests !== requests || picosOf(sum.totalCost) !== cost)
      return `the stop didn't write the sum ${JSON.stringify(key)}`;
  }
  return null;
}
