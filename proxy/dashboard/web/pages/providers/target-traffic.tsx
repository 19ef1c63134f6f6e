/** The traffic of each target in a time range: requests, failures, times, tokens per second. */

import type {
  FailingSpan,
  Percentiles,
  TargetTrafficItem,
  TrafficReport,
} from "../../../../../shared/api/request-item.js";
import { formatShare } from "../../../../../shared/text/percent.js";
import { formatCount } from "../../logic/numbers.js";
import { Ago } from "../../parts/age.js";
import { TableOrEmpty } from "../../parts/lists/list-card.js";
import { Card } from "../../parts/page.js";
import type { Column } from "../../parts/table.js";
import { trafficTexts as texts } from "../../texts/setup-texts.js";

interface TargetTrafficProps {
  readonly report: TrafficReport;
  /** The targets whose circuit is open in a proxy, each with its reason. */
  readonly open: readonly string[];
}

export function TargetTraffic({ report, open }: TargetTrafficProps) {
  return (
    <Card title={texts.title} note={report.own_ms != null && texts.own(timesText(report.own_ms))}>
      <TableOrEmpty
        caption={texts.title}
        icon="providers"
        none={texts.none}
        rows={report.targets.slice(0, 100)}
        keyOf={({ target }) => target}
        columns={columnsOf(open, report.server_time)}
      />
    </Card>
  );
}

function columnsOf(open: readonly string[], now: string): readonly Column<TargetTrafficItem>[] {
  const heads = texts.columns;
  return [
    {
      key: "target",
      head: heads.target,
      sortBy: ({ target }) => target,
      kind: "lead",
      cell: ({ target }) => (
        <span class="two-lines">
          <span class="wrap">{target}</span>
          {open.some((each) => each.startsWith(`${target}:`)) && (
            <span class="badge bad">{texts.open}</span>
          )}
        </span>
      ),
    },
    {
      key: "attempts",
      head: heads.attempts,
      sortBy: ({ attempts }) => attempts,
      kind: "number",
      cell: ({ attempts }) => formatCount(attempts),
    },
    {
      key: "errors",
      head: heads.errors,
      sortBy: ({ error_rate }) => error_rate,
      cell: ({ error_rate, failures, failing }) => (
        <span class="two-lines">
          <span class={`badge ${badgeOf(error_rate ?? 0)}`}>{formatShare(error_rate ?? 0)}</span>
          <FailingTime span={failing} />
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
      sortBy: ({ first_byte_ms }) => first_byte_ms?.p95,
      cell: (item) => times(item.first_byte_ms),
    },
    {
      key: "whole",
      head: heads.whole,
      kind: "number",
      sortBy: ({ duration_ms }) => duration_ms?.p95,
      cell: (item) => times(item.duration_ms),
    },
    {
      key: "speed",
      head: heads.speed,
      sortBy: ({ tokens_per_second }) => tokens_per_second,
      kind: "number",
      cell: ({ tokens_per_second }) => tokens_per_second,
    },
    {
      key: "error",
      head: heads.error,
      sortBy: ({ last_error }) => last_error?.at,
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

function times(percentiles: Percentiles | null): string | null {
  return percentiles === null
    ? null
    : texts.times(formatCount(percentiles.p50), formatCount(percentiles.p95));
}

/** The quantiles, also those below a millisecond. */
function timesText({ p50, p95 }: Percentiles): string {
  return texts.times(String(p50), String(p95));
}

/** Since when a target fails, or when it last failed. */
export function FailingTime({ span }: { readonly span: FailingSpan | null }) {
  // A daemon of an older release has none.
  if (span == null) return null;
  const { from, until } = span;
  const today = new Date().toISOString().slice(0, 10);
  const minute = (moment: string): string =>
    (moment.startsWith(today) ? "" : `${moment.slice(5, 10)} `) + moment.slice(11, 16);
  return (
    <span class={`small nowrap ${until === null ? "bad" : "soft"}`} title={texts.failingTitle}>
      {until === null ? texts.since(minute(from)) : texts.fromUntil(minute(from), minute(until))}
    </span>
  );
}
