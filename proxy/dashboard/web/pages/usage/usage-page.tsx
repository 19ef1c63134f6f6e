/** What was used: sums, days as a chart, and groups as a table. */
import type { DaemonStatus } from "../../../../../shared/api/gateway-status.js";
import type { UsageGroup, UsageSummary } from "../../../../../shared/api/usage-report.js";
import { hostsText } from "../../../../../shared/usage/hosts-text.js";
import { hrefOf } from "../../data/router.js";
import { formatCount, formatMoney, formatShare } from "../../logic/numbers.js";
import { useApp } from "../../parts/app.js";
import { Icon } from "../../parts/icon.js";
import { FilterSelect, PathFilter } from "../../parts/lists/filters.js";
import { DaysFilter, daysAsked } from "../../parts/lists/range-filter.js";
import { useSorting } from "../../parts/lists/use-sorting.js";
import { Card, Empty, PageHead, WhenReady } from "../../parts/page.js";
import { type Column, Table } from "../../parts/table.js";
import { UsageDays } from "../../parts/usage/usage-days.js";
import { unknownBound } from "../../parts/usage/usage-figures.js";
import { UsageSums } from "../../parts/usage/usage-sums.js";
import { useListPoll } from "../../parts/use-poll.js";
import { shellTexts } from "../../texts/shell-texts.js";
import { usageTexts as texts } from "../../texts/usage-texts.js";

const times = { everyMs: 15_000, news: ({ settled }: DaemonStatus) => settled };

export function UsagePage() {
  const { query } = useApp().router.place.value;
  const by = query.get("by") ?? "model";
  const days = useListPoll<UsageSummary>(usagePath(query, "day"), times);
  const groups = useListPoll<UsageSummary>(usagePath(query, by), times);
  return (
    <>
      <PageHead title={shellTexts.pages.usage}>{texts.about}</PageHead>
      <div class="stack">
        <div class="filters">
          <PathFilter />
          <DaysFilter />
          <a class="button" href={`${usagePath(query, by)}&format=csv`} download>
            <Icon name="download" />
            {texts.csv}
          </a>
        </div>
        <WhenReady polled={days.polled} onRetry={days.refresh}>
          {({ usage, groups: byDay, hosts }) => (
            <>
              {hosts !== undefined && <p class="soft">{texts.ofHosts(hostsText(hosts))}</p>}
              <UsageSums usage={usage} />
              <UsageDays usage={usage} groups={byDay} />
            </>
          )}
        </WhenReady>
        <Card
          title={texts.by}
          note={
            <FilterSelect
              name="by"
              label={texts.by}
              options={Object.entries(texts.groupings).map(([value, text]) => [
                value === "model" ? "" : value,
                text,
              ])}
            />
          }
        >
          <WhenReady polled={groups.polled} onRetry={groups.refresh}>
            {(summary) =>
              summary.groups.length === 0 ? (
                <Empty icon="usage" title={texts.none.title}>
                  {texts.none.text}
                </Empty>
              ) : (
                <UsageGroups by={by} summary={summary} />
              )
            }
          </WhenReady>
        </Card>
      </div>
    </>
  );
}

function usagePath(query: URLSearchParams, by: string): string {
  const asked = daysAsked(query);
  asked.set("by", by);
  const path = query.get("path");
  if (path !== null && path !== "") asked.set("user_path", path);
  return `/admin/usage?${asked}`;
}

interface UsageGroupsProps {
  readonly by: string;
  readonly summary: UsageSummary;
}

function UsageGroups({ by, summary }: UsageGroupsProps) {
  const { query } = useApp().router.place.value;
  const { sorting, sorted } = useSorting(groupOrders);
  const total = summary.usage.total_cost;
  const number = (
    key: keyof typeof texts.columns,
    cell: (group: UsageGroup) => string | null,
  ): Column<UsageGroup> => ({ key, head: texts.columns[key], kind: "number", sort: key, cell });
  const lead: Column<UsageGroup> = {
    key: "lead",
    head: texts.groupings[by as keyof typeof texts.groupings] ?? texts.by,
    kind: "lead",
    sort: "lead",
    cell: (group) =>
      by === "path" && group.key.startsWith("/") ? (
        <a class="path" href={hrefOf("usage", { ...Object.fromEntries(query), path: group.key })}>
          {group.key}
        </a>
      ) : by === "key" && group.key.startsWith("key_") ? (
        <a href={hrefOf("keys", { search: group.key })}>
          <GroupName of={group} />
        </a>
      ) : (
        <GroupName of={group} />
      ),
  };
  return (
    <Table
      caption={texts.groupsCaption}
      rows={sorted(summary.groups)}
      sorting={sorting}
      keyOf={({ key }) => key}
      columns={[
        lead,
        number("requests", ({ requests }) => formatCount(requests)),
        number("input", ({ input_tokens }) => formatCount(input_tokens)),
        number("output", ({ output_tokens }) => formatCount(output_tokens)),
        number("unpriced", ({ unpriced_requests }) =>
          unpriced_requests === 0 ? null : formatCount(unpriced_requests),
        ),
        ...(summary.usage.unknown_calls === undefined
          ? []
          : [
              number("unknown", (group) =>
                group.unknown_calls === undefined ? null : unknownBound(group),
              ),
            ]),
        number("cost", ({ total_cost }) => formatMoney(total_cost)),
        number("share", ({ total_cost }) => (total > 0 ? formatShare(total_cost / total) : null)),
      ]}
    />
  );
}

const groupOrders = {
  lead: ({ key, name }: UsageGroup) => name ?? key,
  requests: ({ requests }: UsageGroup) => requests,
  input: ({ input_tokens }: UsageGroup) => input_tokens,
  output: ({ output_tokens }: UsageGroup) => output_tokens,
  unpriced: ({ unpriced_requests }: UsageGroup) => unpriced_requests,
  unknown: ({ unknown_calls }: UsageGroup) => unknown_calls ?? 0,
  cost: ({ total_cost }: UsageGroup) => total_cost,
  share: ({ total_cost }: UsageGroup) => total_cost,
};

/** A key by its name, with its id beside it. */
function GroupName({ of: { key, name } }: { readonly of: UsageGroup }) {
  if (typeof name !== "string") return <span class="wrap">{key}</span>;
  return (
    <span class="two-lines">
      <span class="strong">{name}</span>
      <span class="soft small">{key}</span>
    </span>
  );
}
