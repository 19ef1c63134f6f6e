/** The limits that providers report, and the models that get no requests because of them. */
import type {
  LearnedLimit,
  UpstreamTargetItem,
  UpstreamTargetPage,
} from "../../../../../shared/api/upstream-item.js";
import { formatCount } from "../../logic/numbers.js";
import { Ago } from "../../parts/age.js";
import { TableOrEmpty } from "../../parts/lists/list-card.js";
import { Card, WhenReady } from "../../parts/page.js";
import type { Column } from "../../parts/table.js";
import { useListPoll } from "../../parts/use-poll.js";
import { upstreamTexts as texts } from "../../texts/setup-texts.js";

export function UpstreamLimits() {
  const { polled, refresh } = useListPoll<UpstreamTargetPage>("/admin/upstream-limits");
  if (polled.body?.upstream_limits.length === 0) return null;
  return (
    <Card title={texts.title}>
      <WhenReady polled={polled} onRetry={refresh}>
        {({ upstream_limits: items, server_time }) => (
          <TableOrEmpty
            caption={texts.title}
            icon="limits"
            none={texts.none}
            rows={items}
            isBounded
            keyOf={({ provider, model }) => `${provider}/${model}`}
            columns={columnsOf(server_time)}
          />
        )}
      </WhenReady>
    </Card>
  );
}

function columnsOf(now: string): readonly Column<UpstreamTargetItem>[] {
  const heads = texts.columns;
  return [
    {
      key: "learnedModel",
      head: heads.model,
      kind: "lead",
      sortBy: ({ provider, model }) => `${provider}/${model}`,
      cell: ({ provider, model }) => <span class="wrap">{`${provider}/${model}`}</span>,
    },
    {
      key: "state",
      head: heads.state,
      cell: (item) => (
        <span class="two-lines">
          {item.saturated ? (
            <span class="badge bad">{texts.saturated(item.retry_after)}</span>
          ) : (
            <span class="badge good">{texts.open}</span>
          )}
          {item.adaptive !== null && (
            <span class="soft small nowrap">
              {texts.atOnce(formatCount(item.in_flight ?? 0), formatCount(item.adaptive.cap))}
            </span>
          )}
        </span>
      ),
    },
    {
      key: "limits",
      head: heads.limits,
      cell: ({ limits }) => (
        <span class="badges">
          {limits.map((limit) => (
            <span class="badge" key={limit.name}>
              {limitText(limit)}
            </span>
          ))}
        </span>
      ),
    },
    {
      key: "refusals",
      head: heads.refusals,
      kind: "number",
      sortBy: ({ refusals }) => refusals,
      cell: ({ refusals }) => formatCount(refusals),
    },
    {
      key: "reported",
      head: heads.reported,
      sortBy: ({ reported_at }) => reported_at,
      cell: ({ reported_at }) => <Ago moment={reported_at} now={now} />,
    },
  ];
}

function limitText({ name, limit, remaining }: LearnedLimit): string {
  const countText = (count: number | null): string => (count === null ? "?" : formatCount(count));
  return `${name.replaceAll("_", " ")} ${countText(remaining)}/${countText(limit)}`;
}
