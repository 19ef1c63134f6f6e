/**
 * The page of usage: sums with those of the period before, the largest groups over time, and a
 * table.
 */

import type { ComponentChildren } from "preact";
import type { DaemonStatus } from "../../../../../shared/api/gateway-status.js";
import type { UsageGroup, UsageSummary } from "../../../../../shared/api/usage-report.js";
import { formatShare } from "../../../../../shared/text/percent.js";
import { hostsText } from "../../../../../shared/usage/hosts-text.js";
import { hrefOf, tenantHref } from "../../data/router.js";
import { periodBefore } from "../../logic/day-series.js";
import { formatChange, formatCount, formatMoney } from "../../logic/numbers.js";
import { rangeParameters, stepOf } from "../../logic/usage-range.js";
import { useApp } from "../../parts/app.js";
import { Icon } from "../../parts/icon.js";
import { FilterSelect, PathFilter } from "../../parts/lists/filters.js";
import { DaysFilter } from "../../parts/lists/range-filter.js";
import { Card, Empty, PageHead, WhenReady } from "../../parts/page.js";
import { type Column, Table } from "../../parts/table.js";
import { UsageChart } from "../../parts/usage/usage-chart.js";
import { unknownUsageText } from "../../parts/usage/usage-figures.js";
import { UsageSums } from "../../parts/usage/usage-sums.js";
import { useListPoll } from "../../parts/use-poll.js";
import { shellTexts } from "../../texts/shell-texts.js";
import { usageTexts as texts } from "../../texts/usage-texts.js";

const polling = { everyMs: 15_000, news: ({ settled }: DaemonStatus) => settled };

export function UsagePage() {
  const { query } = useApp().router.place.value;
  const by = query.get("by") ?? "model";
  const step = stepOf(query);
  const path = usagePath(query, by);
  const { polled, refresh } = useListPoll<UsageSummary>(`${path}&step=${step}`, polling);
  return (
    <>
      <PageHead title={shellTexts.pages.usage}>{texts.about}</PageHead>
      <div class="stack">
        <div class="filters">
          <PathFilter />
          <DaysFilter times />
          <FilterSelect
            name="by"
            label={texts.by}
            options={Object.entries(texts.groupings).map(([value, text]) => [
              value === "model" ? "" : value,
              texts.byOf(text),
            ])}
          />
          <a class="button" href={`${path}&format=csv`} download>
            <Icon name="download" />
            {texts.csv}
          </a>
        </div>
        <WhenReady polled={polled} onRetry={refresh}>
          {(summary) => <Report by={by} summary={summary} />}
        </WhenReady>
      </div>
    </>
  );
}

function usagePath(
  query: URLSearchParams,
  by: string,
  parameters = rangeParameters(query, Date.now()),
): string {
  parameters.set("by", by);
  const path = query.get("path");
  if (path !== null && path !== "") parameters.set("user_path", path);
  return `/admin/usage?${parameters}`;
}

interface ReportProps {
  readonly by: string;
  readonly summary: UsageSummary;
}

/** Compares each sum with that of the same number of days before. */
function Report({ by, summary }: ReportProps) {
  const { query } = useApp().router.place.value;
  const { usage, groups, hosts, series } = summary;
  const parameters = new URLSearchParams(periodBefore(usage));
  const before = useListPoll<UsageSummary>(usagePath(query, by, parameters), { everyMs: 60_000 });
  const earlier = before.polled.body;
  const range = { days: null, start: null, end: null };
  const dayHref = (day: string): string =>
    hrefOf("usage", { ...Object.fromEntries(query), ...range, start_date: day, end_date: day });
  // In the first days of a gateway every change would be "new".
  const wasUsed = earlier !== null && earlier.usage.total_requests > 0;
  return (
    <>
      {hosts !== undefined && <p class="soft">{texts.ofHosts(hostsText(hosts))}</p>}
      <UsageSums usage={usage} before={wasUsed ? earlier?.usage : undefined} />
      {series !== undefined && <UsageChart series={series} dayHref={dayHref} />}
      <Card title={texts.groupings[by as keyof typeof texts.groupings] ?? texts.by}>
        {groups.length === 0 ? (
          <Empty icon="usage" title={texts.none.title}>
            {texts.none.text}
          </Empty>
        ) : (
          <UsageGroups by={by} summary={summary} before={wasUsed ? earlier : null} />
        )}
      </Card>
    </>
  );
}

interface UsageGroupsProps extends ReportProps {
  readonly before: UsageSummary | null;
}

function UsageGroups({ by, summary, before }: UsageGroupsProps) {
  const { query } = useApp().router.place.value;
  const { usage, groups } = summary;
  const total = usage.total_cost;
  const costs = new Map(before?.groups.map(({ key, total_cost }) => [key, total_cost]));
  const costBefore = ({ key }: UsageGroup): number => costs.get(key) ?? 0;
  const number = (
    key: keyof typeof texts.columns,
    sortBy: (group: UsageGroup) => number | null,
    cell: (group: UsageGroup) => ComponentChildren,
  ): Column<UsageGroup> => ({ key, head: texts.columns[key], kind: "number", sortBy, cell });
  const count = (key: keyof typeof texts.columns, countOf: (group: UsageGroup) => number) =>
    number(key, countOf, (group) => (countOf(group) === 0 ? null : formatCount(countOf(group))));
  return (
    <Table
      caption={texts.groupsCaption}
      rows={groups}
      isCompact
      keyOf={({ key }) => key}
      columns={[
        {
          key: "lead",
          head: texts.groupings[by as keyof typeof texts.groupings] ?? texts.by,
          kind: "lead",
          sortBy: ({ key, name }) => name ?? key,
          cell: (group) => {
            const href = groupHref(by, group.key, query);
            const name = <GroupName group={group} />;
            return href === null ? name : <a href={href}>{name}</a>;
          },
        },
        {
          key: "brief",
          head: texts.columns.cost,
          isBrief: true,
          cell: ({ total_cost }) => formatMoney(total_cost),
        },
        count("requests", ({ requests }) => requests),
        count("input", ({ input_tokens }) => input_tokens),
        count("output", ({ output_tokens }) => output_tokens),
        ...(usage.unpriced_requests === 0
          ? []
          : [count("unpriced", ({ unpriced_requests }) => unpriced_requests)]),
        ...(usage.unknown_calls === undefined
          ? []
          : [
              number(
                "unknown",
                ({ unknown_calls }) => unknown_calls ?? null,
                (group) => (group.unknown_calls === undefined ? null : unknownUsageText(group)),
              ),
            ]),
        number(
          "cost",
          ({ total_cost }) => total_cost,
          ({ total_cost }) => formatMoney(total_cost),
        ),
        number(
          "share",
          ({ total_cost }) => total_cost,
          ({ total_cost }) => (total > 0 ? formatShare(total_cost / total) : null),
        ),
        ...(before === null
          ? []
          : [
              number("before", costBefore, (group) => (
                <span class="nowrap">
                  <span class="soft">{formatMoney(costBefore(group))}</span>{" "}
                  {formatChange(group.total_cost, costBefore(group))}
                </span>
              )),
            ]),
      ]}
    />
  );
}

/** The page that a group links to; null for none, as for the sum of all small groups. */
function groupHref(by: string, key: string, query: URLSearchParams): string | null {
  if (key === "other") return null;
  const path = query.get("path");
  const recent = (filter: Readonly<Record<string, string>>): string =>
    hrefOf("requests", { tab: "recent", path, ...filter });
  switch (by) {
    case "path":
      return key === (path ?? "/")
        ? tenantHref(key)
        : hrefOf("usage", { ...Object.fromEntries(query), path: key });
    case "key":
      return key === "(none)" ? recent({ key: "none" }) : hrefOf("keys", { search: key });
    case "model":
    case "requested_model":
      return recent({ model: key });
    case "provider":
      return hrefOf("providers");
    case "label":
      return key === "(none)" ? null : hrefOf("budgets", { scope: "label", search: key });
    case "session":
      return key === "(none)" ? null : hrefOf("requests", { tab: "sessions", path });
    default:
      return null;
  }
}

/** The name of a key, with its id beside it. */
function GroupName({ group: { key, name } }: { readonly group: UsageGroup }) {
  if (typeof name !== "string") return <span class="wrap">{key}</span>;
  return (
    <span class="two-lines">
      <span class="strong">{name}</span>
      <span class="soft small">{key}</span>
    </span>
  );
}
