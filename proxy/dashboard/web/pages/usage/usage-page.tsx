/** What was used: sums, days as a chart, and groups as a table. */
import type { DaemonStatus } from "../../../../../shared/api/gateway-status.js";
import type { UsageSummary } from "../../../../../shared/api/usage-report.js";
import { hostsText } from "../../../../../shared/usage/hosts-text.js";
import { useApp } from "../../parts/app.js";
import { Icon } from "../../parts/icon.js";
import { FilterSelect } from "../../parts/lists/filters.js";
import { PathFilter } from "../../parts/lists/text-filter.js";
import { Card, Empty, PageHead, WhenReady } from "../../parts/page.js";
import { DaysFilter } from "../../parts/usage/days-filter.js";
import { UsageDays } from "../../parts/usage/usage-days.js";
import { UsageSums } from "../../parts/usage/usage-sums.js";
import { useListPoll } from "../../parts/use-poll.js";
import { shellTexts } from "../../texts/shell-texts.js";
import { usageTexts as texts } from "../../texts/usage-texts.js";
import { UsageGroups } from "./usage-groups.js";

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
  const asked = new URLSearchParams({ by });
  const path = query.get("path");
  if (path !== null && path !== "") asked.set("user_path", path);
  const days = query.get("days");
  if (days !== null && days !== "") asked.set("days", days);
  return `/admin/usage?${asked}`;
}
