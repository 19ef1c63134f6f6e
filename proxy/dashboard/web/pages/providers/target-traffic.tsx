/** What each target did in a time range: requests, failures, times, tokens a second. */
import type {
  Percentiles,
  TargetTrafficItem,
  TrafficReport,
} from "../../../../../shared/api/request-item.js";
import { formatCount, formatShare } from "../../logic/numbers.js";
import { Ago } from "../../parts/age.js";
import { useApp } from "../../parts/app.js";
import { TableOrEmpty } from "../../parts/lists/list-card.js";
import { MomentsFilter, momentsAsked } from "../../parts/lists/range-filter.js";
import { useSorting } from "../../parts/lists/use-sorting.js";
import { Card, WhenReady } from "../../parts/page.js";
import type { Column } from "../../parts/table.js";
import { useListPoll } from "../../parts/use-poll.js";
import { trafficTexts as texts } from "../../texts/setup-texts.js";

const firstSeconds = "900";

/** `open`: the targets whose circuit is open at this proxy. */
export function TargetTraffic({ open }: { readonly open: ReadonlySet<string> }) {
  const { query } = useApp().router.place.value;
  const { polled, refresh } = useListPoll<TrafficReport>(
    `/admin/traffic?${momentsAsked(query, firstSeconds)}`,
    { everyMs: 15_000 },
  );
  const { sorting, sorted } = useSorting(targetOrders);
  return (
    <Card title={texts.title} note={<MomentsFilter first={firstSeconds} />}>
      <WhenReady polled={polled} onRetry={refresh}>
        {({ targets, server_time }) => (
          <TableOrEmpty
            caption={texts.title}
            icon="providers"
            none={texts.none}
            rows={sorted(targets).slice(0, 100)}
            sorting={sorting}
            keyOf={({ target }) => target}
            columns={columnsOf(open, server_time)}
          />
        )}
      </WhenReady>
    </Card>
  );
}

const targetOrders = {
  target: ({ target }: TargetTrafficItem) => target,
  attempts: ({ attempts }: TargetTrafficItem) => attempts,
  errors: ({ error_rate }: TargetTrafficItem) => error_rate,
  first: ({ first_byte_ms }: TargetTrafficItem) => first_byte_ms?.p95 ?? null,
  whole: ({ duration_ms }: TargetTrafficItem) => duration_ms?.p95 ?? null,
  speed: ({ tokens_per_second }: TargetTrafficItem) => tokens_per_second,
  error: ({ last_error }: TargetTrafficItem) => last_error?.at ?? null,
};

function columnsOf(open: ReadonlySet<string>, now: string): readonly Column<TargetTrafficItem>[] {
  const heads = texts.columns;
  return [
    {
      key: "target",
      head: heads.target,
      sort: "target",
      kind: "lead",
      cell: ({ target }) => (
        <span class="two-lines">
          <span class="wrap">{target}</span>
          {open.has(target) && <span class="badge bad">{texts.open}</span>}
        </span>
      ),
    },
    {
      key: "attempts",
      head: heads.attempts,
      sort: "attempts",
      kind: "number",
      cell: ({ attempts }) => formatCount(attempts),
    },
    {
      key: "errors",
      head: heads.errors,
      sort: "errors",
      cell: ({ error_rate, failures }) => (
        <span class="two-lines">
          <span class={`badge ${badgeOf(error_rate ?? 0)}`}>{formatShare(error_rate ?? 0)}</span>
          <span class="soft small">
            {Object.entries(failures)
              .filter(([, count]) => count > 0)
              .map(([kind, count]) => `${kind.replaceAll("_", " ")} ${formatCount(count)}`)
              .join(", ")}
          </span>
        </span>
      ),
    },
    {
      key: "first",
      head: heads.first,
      kind: "number",
      sort: "first",
      cell: (item) => times(item.first_byte_ms),
    },
    {
      key: "whole",
      head: heads.whole,
      kind: "number",
      sort: "whole",
      cell: (item) => times(item.duration_ms),
    },
    {
      key: "speed",
      head: heads.speed,
      sort: "speed",
      kind: "number",
      cell: ({ tokens_per_second }) => tokens_per_second,
    },
    {
      key: "error",
      head: heads.error,
      sort: "error",
      cell: ({ last_error }) =>
        last_error === null ? null : (
          <span class="two-lines">
            <Ago moment={last_error.at} now={now} />
            <span class="soft small wrap">{last_error.message}</span>
          </span>
        ),
    },
  ];
}

function badgeOf(rate: number): string {
  return rate === 0 ? "good" : rate < 0.05 ? "warn" : "bad";
}

function times(both: Percentiles | null): string | null {
  return both === null ? null : texts.times(formatCount(both.p50), formatCount(both.p95));
}
