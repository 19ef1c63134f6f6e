/** `sluice budgets forecast --check`: forecasts of past periods against what was really spent. */

import { formatPercent } from "../../../shared/text/percent.js";
import {
  type CheckedBudget,
  type CheckedForecast,
  ForecastCheck,
  type ForecastErrors,
} from "../../limits/forecast-errors.js";
import { budgetKind } from "../../limits/limit-kind.js";
import { type ListedLimit, listLimits } from "../../limits/list-limits.js";
import { usageFailure } from "../../session/command-failure.js";
import { type CommandFlags, tableView } from "../../session/command-flags.js";
import type { Session } from "../../session/terminal.js";
import { withDaemon } from "../../session/with-daemon.js";
import { type Column, renderTable } from "../../text/table.js";
import { usagePages } from "../../usage/usage-pages.js";

export interface ForecastFlags extends CommandFlags {
  readonly check?: boolean;
}

export async function checkForecasts(session: Session, flags: ForecastFlags): Promise<void> {
  if (flags.check !== true)
    throw usageFailure([
      {
        message:
          "--check is required: it compares forecasts with records; sluice budgets list has the present ones",
        param: "--check",
      },
    ]);
  const checked = await withDaemon(session, flags, async (client) => {
    const { items } = await listLimits(client, budgetKind);
    const check = new ForecastCheck(items.flatMap(checkedBudget));
    const all = { userPath: "/", startDate: null, endDate: null };
    for await (const { records } of usagePages(client, all))
      for (const record of records) {
        const { labels, total_cost: cost, cache_hit: isHit } = record;
        if (typeof cost !== "number" || isHit === true) continue;
        check.add({
          userPath: String(record["user_path"]),
          labels: Array.isArray(labels) ? labels : [],
          atMs: Date.parse(String(record["time"])),
          costUsd: cost,
        });
      }
    return check.result(session.nowMs());
  });
  session.terminal.out(
    flags.json === true
      ? JSON.stringify({ budgets: checked.map(jsonOf) })
      : checked.length === 0
        ? "no budgets whose forecasts can be checked"
        : renderTable(columns, checked, tableView(session, flags)),
  );
}

/** Budgets on some models, rolling ones and short ones are left out. */
function checkedBudget(item: ListedLimit): readonly CheckedBudget[] {
  const { scope, subject, per_child: perChild, period_end: end, models, rolling } = item;
  const { amount, period_label: label, period_seconds: seconds } = item;
  // The steps of the check are five minutes long.
  if (models !== undefined || rolling === true || Number(seconds) < 3600) return [];
  if (scope !== "user_path" && scope !== "label") return [];
  return [
    {
      scope,
      subject: String(subject),
      perChild: perChild === true,
      periodLabel: String(label),
      periodSeconds: Number(seconds),
      amountUsd: Number(amount),
      endMs: Date.parse(String(end)),
    },
  ];
}

const columns: readonly Column<CheckedForecast>[] = [
  { title: "SCOPE", align: "left", text: ({ budget }) => budget.scope },
  {
    title: "SUBJECT",
    align: "left",
    text: ({ budget }) => (budget.perChild ? `${budget.subject} (each child)` : budget.subject),
  },
  { title: "PERIOD", align: "left", text: ({ budget }) => budget.periodLabel },
  { title: "PERIODS", align: "right", text: ({ periods }) => String(periods) },
  { title: "FORECASTS", align: "right", text: ({ chosen }) => String(chosen.predictions) },
  { title: "ERROR 50%", align: "right", text: ({ chosen }) => percent(chosen.median) },
  { title: "90%", align: "right", text: ({ chosen }) => percent(chosen.p90) },
  { title: "BY RECENT 90%", align: "right", text: ({ recent }) => percent(recent.p90) },
  { title: "BY PERIOD 90%", align: "right", text: ({ period }) => percent(period.p90) },
];

function percent(error: number | null): string {
  return error === null ? "-" : formatPercent(error);
}

function jsonOf({ budget, periods, chosen, recent, period }: CheckedForecast): object {
  const { scope, subject, perChild, periodLabel, periodSeconds } = budget;
  const errors = ({ predictions, median, p90 }: ForecastErrors): object => ({
    forecasts: predictions,
    error_median: median,
    error_p90: p90,
  });
  return {
    scope,
    subject,
    per_child: perChild,
    period_label: periodLabel,
    period_seconds: periodSeconds,
    periods,
    ...errors(chosen),
    by_recent: errors(recent),
    by_period: errors(period),
  };
}
