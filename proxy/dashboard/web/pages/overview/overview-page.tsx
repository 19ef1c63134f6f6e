/**
 * The overview: the gateway's state, its present traffic, and the limits that are nearly used up.
 */

import { useMemo } from "preact/hooks";
import type { Health } from "../../../../../shared/api/gateway-status.js";
import type { RefusalPage } from "../../../../../shared/api/refusal-item.js";
import type { TrafficReport } from "../../../../../shared/api/request-item.js";
import { hrefOf } from "../../data/router.js";
import {
  formatCount,
  formatDuration,
  formatMoney,
  formatShort,
  secondsBetween,
  withCurrency,
} from "../../logic/numbers.js";
import { currentRate } from "../../logic/rates.js";
import { type RefusalGroup, refusalGroups } from "../../logic/refusal-groups.js";
import { trafficSeries } from "../../logic/traffic-series.js";
import { type Trouble, troublesOf } from "../../logic/troubles.js";
import { rangeParameters } from "../../logic/usage-range.js";
import { useApp } from "../../parts/app.js";
import { BarChart } from "../../parts/bar-chart.js";
import { Icon } from "../../parts/icon.js";
import { MomentsFilter } from "../../parts/lists/range-filter.js";
import { Card, Empty, PageHead, WhenReady } from "../../parts/page.js";
import { Figures } from "../../parts/usage/usage-sums.js";
import { useListPoll, usePoll } from "../../parts/use-poll.js";
import { overviewTexts as texts } from "../../texts/overview-texts.js";
import { shellTexts } from "../../texts/shell-texts.js";
import { ClosestList } from "./closest-list.js";
import { RunsOutList } from "./runs-out-list.js";

export function OverviewPage() {
  return (
    <>
      <PageHead title={texts.title} />
      <div class="stack">
        <HealthStrip />
        <NowNumbers />
        <RequestChart />
        <div class="halves">
          <ClosestList />
          <div class="stack">
            <RunsOutList />
            <RefusalList />
          </div>
        </div>
      </div>
    </>
  );
}

const historyEveryMs = 15_000;
const initialSeconds = "3600";

/** The daemon stores the history, so the chart is complete when the page opens. */
function RequestChart() {
  const { query } = useApp().router.place.value;
  const { polled } = useListPoll<TrafficReport>(
    `/admin/traffic?${rangeParameters(query, Date.now(), initialSeconds)}`,
    { everyMs: historyEveryMs },
  );
  const report = polled.body;
  const series = useMemo(() => (report === null ? null : trafficSeries(report)), [report]);
  if (series === null) return null;
  const { stepSeconds, times, answered, unanswered } = series;
  return (
    <BarChart
      title={texts.chart.per(texts.chart.steps[stepSeconds] ?? formatDuration(stepSeconds))}
      note={<MomentsFilter initial={initialSeconds} />}
      times={times.map((ms) => new Date(ms).toISOString().slice(0, 16).replace("T", " "))}
      parts={[
        { name: texts.chart.answered, values: answered },
        { name: texts.chart.others, values: unanswered, colour: "--bad-fill" },
      ]}
      format={formatShort}
    />
  );
}

const nowTexts = texts.now;
/** Rates are averages over this time, so that one busy second doesn't dominate. */
const rateOverMs = 60_000;

function NowNumbers() {
  const { live } = useApp();
  const { samples } = live.live.value;
  const last = samples.at(-1);
  const rate = currentRate(samples, rateOverMs);
  const perSecond = (value: number | undefined): string =>
    value === undefined ? nowTexts.unknown : formatShort(Math.round(value * 10) / 10);
  const tokens = rate?.tokens ?? null;
  return (
    <section aria-label={nowTexts.label}>
      <Figures
        figures={[
          { label: nowTexts.admitted, value: perSecond(rate?.admitted), note: nowTexts.perSecond },
          {
            label: nowTexts.refused,
            value: perSecond(rate?.refused),
            note: nowTexts.refusedBy(perSecond(rate?.byRules), perSecond(rate?.overBudget)),
          },
          {
            label: nowTexts.inFlight,
            value: last === undefined ? nowTexts.unknown : formatCount(last.inFlight),
            note: nowTexts.holding,
          },
          {
            label: nowTexts.tokens,
            value: tokens === null ? nowTexts.unknown : formatShort(Math.round(tokens)),
            note: nowTexts.perMinute,
          },
          {
            label: nowTexts.spent,
            value:
              typeof last?.costToday === "number" ? formatMoney(last.costToday) : nowTexts.unknown,
            note: nowTexts.today,
          },
        ]}
      />
    </section>
  );
}

const healthTexts = texts.health;
const askEveryMs = 10_000;
const namesMax = 3;

function HealthStrip() {
  const { connection, live } = useApp();
  const health = usePoll<Health>("/health", askEveryMs).state.value.body;
  const { status } = live.live.value;
  if (status === null) return null;
  const troubles = troublesOf(status, health);
  const isWell = troubles.length === 0 && connection.state.value === "ok";
  const mode = health?.limiter?.failure_mode;
  return (
    <>
      {troubles.length > 0 && (
        <div class="troubles" role="alert">
          {troubles.map((trouble) => (
            <p class={trouble.kind === "store" ? "notice bad" : "notice warn"} key={trouble.kind}>
              <Icon name="alert" />
              <span>{wordsFor(trouble)}</span>
            </p>
          ))}
        </div>
      )}
      <ul class="health soft" aria-label={healthTexts.label}>
        {isWell && (
          <li class="good">
            <span class="dot" />
            {healthTexts.well}
          </li>
        )}
        <li>{healthTexts.daemon(status.version, formatDuration(status.uptime_seconds))}</li>
        <li>{healthTexts.proxies(status.proxies)}</li>
        {status.store.bytes !== null && (
          <li>
            {healthTexts.store(`${formatShort(Math.round(status.store.bytes / 100_000) / 10)} MB`)}
          </li>
        )}
        {mode !== undefined && <li>{mode === "closed" ? healthTexts.closed : healthTexts.open}</li>}
      </ul>
    </>
  );
}

function wordsFor(trouble: Trouble): string {
  const words = texts.troubles;
  switch (trouble.kind) {
    case "store":
    case "cluster":
      return words[trouble.kind](trouble.reason);
    case "inert":
      return words.inert(trouble.count, trouble.names.slice(0, namesMax).join("; "));
    case "targets":
      return words.targets(trouble.names.length, trouble.names.slice(0, namesMax).join("; "));
    case "unsettled":
    case "dropped":
    case "older-proxies":
      return words[trouble.kind](formatCount(trouble.count));
    default:
      return words[trouble.kind];
  }
}

const refusalTexts = texts.refusals;
/** The number of refusals that are requested; equal ones share a row. */
const askedMax = 100;
const shownMax = 10;
const refusalsEveryMs = 5_000;

function RefusalList() {
  const refusals = usePoll<RefusalPage>(
    `/admin/refusals?limit=${askedMax}`,
    refusalsEveryMs,
    ({ refused }) => refused,
  );
  return (
    <Card title={refusalTexts.title}>
      <WhenReady polled={refusals.state.value} onRetry={() => refusals.refresh()}>
        {(page) =>
          page.refusals.length === 0 ? (
            <Empty icon="check" title={refusalTexts.empty}>
              {refusalTexts.emptyText}
            </Empty>
          ) : (
            <ul class="lines">
              {refusalGroups(page.refusals, shownMax).map((group) => (
                <RefusalLine key={group.key} group={group} serverTime={page.server_time} />
              ))}
            </ul>
          )
        }
      </WhenReady>
    </Card>
  );
}

function RefusalLine({
  group,
  serverTime,
}: {
  readonly group: RefusalGroup;
  readonly serverTime: string;
}) {
  const { request_id, user_path, model, message, refused_at } = group.latest;
  const age = formatDuration(secondsBetween(refused_at, serverTime));
  return (
    <li>
      <div>
        <code>{user_path}</code>
        {model !== null && (
          <span class="soft small">
            {" → "}
            <code>{model}</code>
          </span>
        )}
        {group.count > 1 && <span class="badge times">{refusalTexts.times(group.count)}</span>}
        <div class="soft small">{withCurrency(message)}</div>
      </div>
      <div class="refusal-end">
        <span class="soft small nowrap">{shellTexts.age(age)}</span>
        {request_id !== null && (
          <a class="small" href={hrefOf("explain", { request_id })}>
            {refusalTexts.explain}
          </a>
        )}
      </div>
    </li>
  );
}
