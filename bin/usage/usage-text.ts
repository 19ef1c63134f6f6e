/**
 * What `sluice usage` prints: the totals, a chart of the days, and with `--by` a table, which is in
 * `usage-table.ts`. Pure.
 */
import type { ReportHosts, UsageGroup } from "../../shared/api/usage-report.js";
import { greatest } from "../../shared/long-lists.js";
import { ageText, hostsText } from "../../shared/usage/hosts-text.js";
import type { Grouping } from "../../shared/wire/admin-op.js";
import { formatCount, formatUsd, usdDecimals } from "../text/number-text.js";
import { renderFields, type TableView } from "../text/table.js";
import { dayChart } from "./day-chart.js";
import type { ShownSummary, ShownTotals } from "./read-summary.js";
import { renderGroups, renderHours } from "./usage-table.js";
import { daysOf, type ReportWindow, windowText } from "./window-flags.js";

interface UsageView extends ReportWindow {
  readonly userPath: string;
  /** Null to print the chart without a table. */
  readonly by: Grouping | "hour" | null;
  readonly columns: number;
  readonly table: TableView;
  readonly unicode: boolean;
}

/**
 * The complete text. Groups other than days stay in the daemon's order: by cost, highest first, and
 * `other` last.
 */
export function renderUsage(
  { usage, groups, hours, hosts }: ShownSummary,
  view: UsageView,
): string {
  const heading = [
    `usage of ${view.userPath}, ${windowText(view)}`,
    ...(hosts === null ? [] : renderHosts(hosts)),
  ].join("\n");
  if (usage.total_requests === 0 && usage.total_tokens === 0) return `${heading}: none`;
  const parts = [`${heading}\n${renderTotals(usage)}`];
  const byDay = view.by === null || view.by === "day" ? everyDay(groups, view) : null;
  if (byDay !== null) parts.push(renderChart(byDay, view));
  if (view.by === "hour")
    parts.push(
      renderHours(hours, view.table) +
        (hosts?.scope === "all_hosts" ? "\nhours are of this host alone" : ""),
    );
  else if (view.by !== null)
    parts.push(
      renderGroups(byDay ?? groups, { by: view.by, userPath: view.userPath, view: view.table }),
    );
  return parts.join("\n\n");
}

/** A host's part is named if it is incomplete or at least this old. */
const namedFromSeconds = 10;

function renderHosts(hosts: ReportHosts): readonly string[] {
  const late = (hosts.parts ?? []).filter(
    ({ age_seconds: age, complete }) => !complete || age === null || age >= namedFromSeconds,
  );
  return [
    hostsText(hosts),
    ...late.map(({ host, name, age_seconds: age, complete }) => {
      const ageOf = age === null ? "not published again yet" : `as of ${ageText(age)}`;
      return `  ${name} (${host}): ${ageOf}${complete || age === null ? "" : ", publishing"}`;
    }),
  ];
}

function renderTotals(usage: ShownTotals): string {
  const {
    unknown_calls: unknown = 0,
    unknown_tokens_at_most: tokensAtMost = 0,
    unknown_cost_at_most: costAtMost = 0,
  } = usage;
  const decimals = usdDecimals(usage.total_cost);
  const usd = (amount: number): string => formatUsd(amount, decimals);
  const areAllUnpriced =
    usage.total_requests > 0 && usage.unpriced_requests === usage.total_requests;
  const caches = [
    ...(usage.cached_input_tokens > 0
      ? [`${formatCount(usage.cached_input_tokens)} read from a cache`]
      : []),
    ...(usage.cache_write_input_tokens > 0
      ? [`${formatCount(usage.cache_write_input_tokens)} written to a cache`]
      : []),
  ].join(", ");
  const saved =
    usage.rewrite_cost_saved === undefined
      ? ""
      : `, ${formatUsd(usage.rewrite_cost_saved, usdDecimals(usage.rewrite_cost_saved))}`;
  const lines: readonly (readonly [name: string, value: string, remark: string])[] = [
    ["requests", formatCount(usage.total_requests), ""],
    ["input tokens", formatCount(usage.total_input_tokens), caches],
    ["output tokens", formatCount(usage.total_output_tokens), ""],
    ["total tokens", formatCount(usage.total_tokens), ""],
    [
      "cost",
      areAllUnpriced ? "unpriced" : usd(usage.total_cost),
      areAllUnpriced
        ? ""
        : `input ${usd(usage.total_input_cost)}, output ${usd(usage.total_output_cost)}`,
    ],
    ...(usage.unpriced_requests > 0
      ? [
          [
            "unpriced requests",
            formatCount(usage.unpriced_requests),
            "without a price: not in the cost",
          ] as const,
        ]
      : []),
    ...(unknown > 0
      ? [
          [
            "usage unknown",
            formatCount(unknown),
            `estimated above; at most ${formatCount(tokensAtMost)} tokens, ${formatUsd(costAtMost, usdDecimals(costAtMost))}`,
          ] as const,
        ]
      : []),
    ...(usage.rewrite_tokens_saved > 0
      ? [
          [
            "rewrites saved",
            formatCount(usage.rewrite_tokens_saved),
            `input tokens${saved}`,
          ] as const,
        ]
      : []),
  ];
  const widest = greatest(lines.map(([, value]) => value.length));
  return renderFields(
    lines.map(([name, value, remark]) => [name, `${value.padStart(widest)}  ${remark}`] as const),
  );
}

/** A chart of the costs if there are any, else of the tokens, else of the requests. */
function renderChart(days: readonly UsageGroup[], { columns, unicode }: UsageView): string {
  const texts = (
    [
      ["cost", "total_cost"],
      ["tokens", "total_tokens"],
      ["requests", "requests"],
    ] as const
  ).find(([, field]) => days.some((day) => day[field] > 0)) ?? ["requests", "requests"];
  const [name, field] = texts;
  const { lines, daysPerColumn, highest } = dayChart(
    days.map((day) => ({ date: day.key, value: day[field] })),
    { columns, unicode },
  );
  const per = daysPerColumn === 1 ? "day" : `${daysPerColumn} days`;
  const highestText =
    name === "cost" ? formatUsd(highest, usdDecimals(highest)) : formatCount(highest);
  return [`${name} per ${per}, at most ${highestText}`, ...lines].join("\n");
}

/** All days of the window in order, including days without usage. */
function everyDay(groups: readonly UsageGroup[], window: ReportWindow): readonly UsageGroup[] {
  const groupsByDay = new Map(groups.map((group) => [group.key, group]));
  return daysOf(window).map(
    (key) =>
      groupsByDay.get(key) ?? {
        key,
        requests: 0,
        input_tokens: 0,
        output_tokens: 0,
        total_tokens: 0,
        total_cost: 0,
        unpriced_requests: 0,
      },
  );
}
