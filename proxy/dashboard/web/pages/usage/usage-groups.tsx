/** Usage by model, provider, path, key or label; a path leads to what is below it. */
import type { UsageGroup, UsageSummary } from "../../../../../shared/api/usage-report.js";
import { hrefOf } from "../../data/router.js";
import { formatCount, formatMoney, formatShare } from "../../logic/numbers.js";
import { useApp } from "../../parts/app.js";
import { type Column, Table } from "../../parts/table.js";
import { unknownBound } from "../../parts/usage/usage-figures.js";
import { usageTexts as texts } from "../../texts/usage-texts.js";

interface UsageGroupsProps {
  readonly by: string;
  readonly summary: UsageSummary;
}

export function UsageGroups({ by, summary }: UsageGroupsProps) {
  const { query } = useApp().router.place.value;
  const total = summary.usage.total_cost;
  const number = (
    key: keyof typeof texts.columns,
    cell: (group: UsageGroup) => string | null,
  ): Column<UsageGroup> => ({ key, head: texts.columns[key], kind: "number", cell });
  const lead: Column<UsageGroup> = {
    key: "lead",
    head: texts.groupings[by as keyof typeof texts.groupings] ?? texts.by,
    kind: "lead",
    cell: (group) =>
      by === "path" && group.key.startsWith("/") ? (
        <a class="path" href={hrefOf("usage", { ...Object.fromEntries(query), path: group.key })}>
          {group.key}
        </a>
      ) : (
        <GroupName of={group} />
      ),
  };
  return (
    <Table
      caption={texts.groupsCaption}
      rows={summary.groups}
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
