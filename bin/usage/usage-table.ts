/** The table of `sluice usage --by`, by day, model, provider, path, key and so on. Pure. */
import type { UsageGroup } from "../../shared/api/usage-report.js";
import { greatest } from "../../shared/long-lists.js";
import type { Grouping } from "../../shared/wire/admin-op.js";
import { formatCount, formatUsd, usdDecimals } from "../text/number-text.js";
import { type Column, renderTable, type TableView } from "../text/table.js";
import type { UsedHour } from "./read-summary.js";

/** A row for each group, in the given order. `userPath` is the path of the query. */
export function renderGroups(
  groups: readonly UsageGroup[],
  {
    by,
    userPath,
    view,
  }: { readonly by: Grouping; readonly userPath: string; readonly view: TableView },
): string {
  const decimals = usdDecimals(
    greatest(
      groups.map((group) => group.total_cost),
      0,
    ),
  );
  const someUnknown = groups.some(({ unknown_calls: calls = 0 }) => calls > 0);
  const someUnpriced = groups.some((group) => group.unpriced_requests > 0);
  const count = (title: string, countOf: (group: UsageGroup) => number): Column<UsageGroup> => ({
    title,
    align: "right",
    text: (group) => formatCount(countOf(group)),
  });
  return renderTable<UsageGroup>(
    [
      {
        title: by.toUpperCase().replace("_", " "),
        align: "left",
        text: ({ key, name }) => {
          if (by === "path" && key === userPath) return `${key} (itself)`;
          return printable((name ?? null) === null ? key : `${key} ${name}`);
        },
      },
      count("REQUESTS", (group) => group.requests),
      { ...count("INPUT", (group) => group.input_tokens), detail: true },
      { ...count("OUTPUT", (group) => group.output_tokens), detail: true },
      count("TOTAL", (group) => group.total_tokens),
      {
        title: "COST",
        align: "right",
        text: (group) =>
          group.unpriced_requests === group.requests ? "-" : formatUsd(group.total_cost, decimals),
      },
      ...(someUnknown
        ? [
            count("UNKNOWN", ({ unknown_calls: calls = 0 }) => calls),
            count("AT MOST", ({ unknown_tokens_at_most: tokens = 0 }) => tokens),
          ]
        : []),
      ...(someUnpriced ? [count("UNPRICED", (group) => group.unpriced_requests)] : []),
    ],
    groups,
    view,
  );
}

/**
 * Callers choose the names of models: characters that would move the cursor of a terminal are shown
 * as question marks.
 */
function printable(text: string): string {
  return text.replaceAll(/[\p{C}\p{Zl}\p{Zp}]/gu, "?");
}

/** The table of `--by hour`: the hours since the first that has usage. */
export function renderHours(hours: readonly UsedHour[], view: TableView): string {
  const first = hours.findIndex(({ requests, tokens }) => requests > 0 || tokens > 0);
  const visible = hours.slice(Math.max(0, first));
  const decimals = usdDecimals(
    greatest(
      visible.map(({ cost }) => cost),
      0,
    ),
  );
  return renderTable<UsedHour>(
    [
      // `2026-02-01 10:00`
      {
        title: "HOUR (UTC)",
        align: "left",
        text: ({ hour }) => hour.slice(0, 16).replace("T", " "),
      },
      { title: "REQUESTS", align: "right", text: ({ requests }) => formatCount(requests) },
      { title: "TOTAL", align: "right", text: ({ tokens }) => formatCount(tokens) },
      { title: "COST", align: "right", text: ({ cost }) => formatUsd(cost, decimals) },
    ],
    visible,
    view,
  );
}
