/** The page for the holder of a managed key or a JWT: their usage, budgets and limits. */
import type { BudgetStatus } from "../../../../../shared/api/budget-item.js";
import type { RateLimitStatus, UsageStatus } from "../../../../../shared/api/usage-report.js";
import { hostsText } from "../../../../../shared/usage/hosts-text.js";
import { budgetAmount } from "../../logic/budget-amount.js";
import { itemKey } from "../../logic/list-page.js";
import { formatDuration, formatMoney } from "../../logic/numbers.js";
import { rangeParameters } from "../../logic/usage-range.js";
import { capUses, formatOf, fullestCap, shareOf } from "../../logic/used-share.js";
import { useApp } from "../../parts/app.js";
import { periodText } from "../../parts/limits/limit-row.js";
import { TableOrEmpty } from "../../parts/lists/list-card.js";
import { DaysFilter } from "../../parts/lists/range-filter.js";
import { Meter } from "../../parts/meter.js";
import { Card, Empty, PageHead, WhenReady } from "../../parts/page.js";
import type { Column } from "../../parts/table.js";
import { UsageDays } from "../../parts/usage/usage-days.js";
import { UsageSums } from "../../parts/usage/usage-sums.js";
import { useListPoll } from "../../parts/use-poll.js";
import { limitsTexts } from "../../texts/limits-texts.js";
import { shellTexts } from "../../texts/shell-texts.js";
import { selfTexts as texts, usageTexts } from "../../texts/usage-texts.js";

export function SelfPage() {
  const { query } = useApp().router.place.value;
  const parameters = rangeParameters(query, Date.now());
  parameters.set("by", "day");
  const { polled, refresh } = useListPoll<UsageStatus>(`/v1/usage?${parameters}`);
  return (
    <>
      <PageHead title={shellTexts.pages.self}>
        {polled.body !== null && texts.about(polled.body.user_path)}
      </PageHead>
      <WhenReady polled={polled} onRetry={refresh}>
        {(status) => (
          <div class="stack">
            <Limits rules={status.rate_limits} />
            <Budgets budgets={status.budgets} />
            <div class="filters">
              <DaysFilter />
            </div>
            <UsedCard status={status} />
          </div>
        )}
      </WhenReady>
    </>
  );
}

function UsedCard({ status: { usage, groups, hosts } }: { readonly status: UsageStatus }) {
  if (usage === null)
    return (
      <Card>
        <Empty icon="usage" title={texts.untracked.title}>
          {texts.untracked.text}
        </Empty>
      </Card>
    );
  return (
    <>
      {hosts !== undefined && <p class="soft">{usageTexts.ofHosts(hostsText(hosts))}</p>}
      <UsageSums usage={usage} />
      <UsageDays usage={usage} groups={groups ?? []} />
    </>
  );
}

function Limits({ rules }: { readonly rules: readonly RateLimitStatus[] }) {
  return (
    <Card title={texts.limits}>
      <TableOrEmpty
        caption={texts.limits}
        rows={rules}
        keyOf={itemKey}
        columns={limitColumns}
        icon="limits"
        none={texts.noLimits}
      />
    </Card>
  );
}

const limitColumns: readonly Column<RateLimitStatus>[] = [
  {
    key: "subject",
    head: texts.limit,
    kind: "lead",
    sortBy: ({ subject }) => subject,
    cell: ({ subject, models, inert }) => (
      <span class="two-lines">
        <span class="path">{subject}</span>
        {models !== undefined && <span class="soft small">{limitsTexts.onModels(models)}</span>}
        {inert !== undefined && <span class="soft small">{inert}</span>}
      </span>
    ),
  },
  {
    key: "per",
    head: texts.per,
    sortBy: ({ period_seconds }) => period_seconds,
    cell: (item) => periodText(item, limitsTexts.periods),
  },
  {
    key: "used",
    head: texts.used,
    sortBy: (rule) => shareOf(fullestCap(rule) ?? { used: 0, cap: 0 }),
    cell: (rule) => (
      <span class="meters">
        {capUses(rule).map(({ kind, used, cap }) => (
          <Meter
            key={kind}
            used={used}
            cap={cap}
            format={formatOf(kind)}
            unit={shellTexts.units[kind]}
          />
        ))}
      </span>
    ),
  },
  {
    key: "again",
    head: texts.freeAgain,
    kind: "number",
    sortBy: ({ resets_in_seconds }) => resets_in_seconds,
    cell: ({ resets_in_seconds }) =>
      resets_in_seconds === undefined ? null : formatDuration(resets_in_seconds),
  },
  {
    key: "state",
    head: texts.state,
    sortBy: ({ exhausted }) => Number(exhausted),
    cell: ({ exhausted }) => <State isUsedUp={exhausted} />,
  },
];

function Budgets({ budgets }: { readonly budgets: readonly BudgetStatus[] }) {
  return (
    <Card title={texts.budgets}>
      <TableOrEmpty
        caption={texts.budgets}
        rows={budgets}
        keyOf={itemKey}
        columns={budgetColumns}
        icon="budgets"
        none={texts.noBudgets}
      />
    </Card>
  );
}

const budgetColumns: readonly Column<BudgetStatus>[] = [
  {
    key: "subject",
    head: texts.limit,
    kind: "lead",
    sortBy: ({ subject }) => subject,
    cell: ({ subject, models }) => (
      <span class="two-lines">
        <span class="path">{subject}</span>
        {models !== undefined && <span class="soft small">{limitsTexts.onModels(models)}</span>}
      </span>
    ),
  },
  {
    key: "per",
    head: texts.per,
    sortBy: ({ period_seconds }) => period_seconds,
    cell: ({ period_label }) => period_label,
  },
  {
    key: "used",
    head: texts.used,
    sortBy: ({ usage_ratio }) => usage_ratio,
    cell: (budget) => <Meter used={budget.spent} cap={budgetAmount(budget)} format={formatMoney} />,
  },
  {
    key: "again",
    head: texts.freeAgain,
    kind: "number",
    sortBy: ({ resets_in_seconds }) => resets_in_seconds,
    cell: ({ resets_in_seconds }) => formatDuration(resets_in_seconds),
  },
  {
    key: "state",
    head: texts.state,
    sortBy: ({ exceeded }) => Number(exceeded),
    cell: ({ exceeded }) => <State isUsedUp={exceeded} />,
  },
];

function State({ isUsedUp }: { readonly isUsedUp: boolean }) {
  return (
    <span class={isUsedUp ? "badge bad" : "badge good"}>
      {isUsedUp ? texts.exhausted : texts.open}
    </span>
  );
}
