/** The page of providers: their traffic, models with prices, virtual models, and aliases. */

import { useState } from "preact/hooks";
import type {
  PriceItem,
  ProviderItem,
  ProviderList,
} from "../../../../../shared/api/provider-item.js";
import type { TrafficReport } from "../../../../../shared/api/request-item.js";
import { formatShare } from "../../../../../shared/text/percent.js";
import { formatCount, formatMoney } from "../../logic/numbers.js";
import { type ProviderTraffic, providerTraffic } from "../../logic/provider-traffic.js";
import { rangeParameters } from "../../logic/usage-range.js";
import { Ago } from "../../parts/age.js";
import { useApp } from "../../parts/app.js";
import { SearchField } from "../../parts/field.js";
import { TableOrEmpty } from "../../parts/lists/list-card.js";
import { MomentsFilter } from "../../parts/lists/range-filter.js";
import { Card, PageHead, WhenReady } from "../../parts/page.js";
import { type Column, rowsDrawnMax, Table, TableFoot } from "../../parts/table.js";
import { useListPoll } from "../../parts/use-poll.js";
import { providersTexts as texts } from "../../texts/setup-texts.js";
import { shellTexts } from "../../texts/shell-texts.js";
import { FailingTime, TargetTraffic } from "./target-traffic.js";
import { UpstreamLimits } from "./upstream-limits.js";

const initialSeconds = "900";

export function ProvidersPage() {
  const { live, router } = useApp();
  const { query } = router.place.value;
  const { polled, refresh } = useListPoll<ProviderList>("/admin/providers", { everyMs: 60_000 });
  const traffic = useListPoll<TrafficReport>(
    `/admin/traffic?${rangeParameters(query, Date.now(), initialSeconds)}`,
    { everyMs: 15_000 },
  );
  const report = traffic.polled.body;
  const open = live.live.value.status?.open_targets ?? [];
  return (
    <>
      <PageHead title={shellTexts.pages.providers}>{texts.about}</PageHead>
      <div class="stack">
        <div class="filters">
          <MomentsFilter initial={initialSeconds} />
        </div>
        <WhenReady polled={polled} onRetry={refresh}>
          {(list) => <ProviderTable {...{ list, report, open }} />}
        </WhenReady>
        <WhenReady polled={traffic.polled} onRetry={traffic.refresh}>
          {(body) => <TargetTraffic report={body} open={open} />}
        </WhenReady>
        {polled.body !== null && (
          <>
            <UpstreamLimits />
            <VirtualModels list={polled.body} />
            <ModelPrices providers={polled.body.providers} />
          </>
        )}
      </div>
    </>
  );
}

const heads = texts.columns;

interface ProviderTableProps {
  readonly list: ProviderList;
  /** Null until it is known. */
  readonly report: TrafficReport | null;
  readonly open: readonly string[];
}

function ProviderTable({ list, report, open }: ProviderTableProps) {
  const rows = list.providers.map((provider) => ({
    ...provider,
    traffic: providerTraffic(provider.name, report?.targets ?? [], open),
  }));
  return (
    <Card>
      <TableOrEmpty
        caption={texts.caption}
        icon="providers"
        none={texts.none}
        rows={rows}
        keyOf={({ name }) => name}
        columns={[
          {
            key: "name",
            head: heads.name,
            kind: "lead",
            sortBy: ({ name }) => name,
            cell: providerName,
          },
          {
            key: "state",
            head: heads.state,
            sortBy: ({ traffic }) => traffic.errorRate,
            cell: ({ traffic }) => (report === null ? null : providerState(traffic)),
          },
          {
            key: "requests",
            head: heads.requests,
            kind: "number",
            sortBy: ({ traffic }) => traffic.attempts,
            cell: ({ traffic }) => formatCount(traffic.attempts),
          },
          {
            key: "models",
            head: heads.models,
            sortBy: ({ models_total }) => models_total,
            cell: ({ models_total, models_from }) => (
              <span class="two-lines">
                <span>{formatCount(models_total)}</span>
                <span class="soft small nowrap">{texts.modelsFrom[models_from]}</span>
              </span>
            ),
          },
          {
            key: "keys",
            head: heads.keys,
            cell: ({ key_source }) => <span class="nowrap">{texts.keySources[key_source]}</span>,
          },
          {
            key: "failure",
            head: heads.failure,
            sortBy: ({ traffic }) => traffic.lastError?.at,
            cell: ({ traffic: { lastError } }) =>
              lastError === null ? null : (
                <span class="two-lines">
                  <Ago moment={lastError.at} now={list.server_time} />
                  <span class="soft small wrap">{lastError.message}</span>
                </span>
              ),
          },
        ]}
      />
    </Card>
  );
}

function providerName({ name, type, host }: ProviderItem) {
  return (
    <span class="two-lines">
      <span class="strong">{name}</span>
      <span class="soft small wrap">{host === null ? type : `${type}, ${host}`}</span>
    </span>
  );
}

function providerState(traffic: ProviderTraffic) {
  return (
    <span class="two-lines">
      {stateBadge(traffic)}
      <FailingTime span={traffic.failing} />
    </span>
  );
}

/** The badge of an open circuit, or else of the error rate. */
function stateBadge({ open, attempts, errorRate }: ProviderTraffic) {
  if (open.length > 0)
    return (
      <span class="badge bad" title={open.join("; ")}>
        {texts.open(open.length)}
      </span>
    );
  if (attempts === 0 || errorRate === null) return <span class="badge">{texts.untried}</span>;
  const look = errorRate === 0 ? "good" : errorRate < 0.05 ? "warn" : "bad";
  return (
    <span class={`badge ${look}`}>
      {errorRate === 0 ? texts.well : texts.errors(formatShare(errorRate))}
    </span>
  );
}

interface NameRow {
  readonly name: string;
  readonly how: string;
  readonly targets: readonly string[];
}

function VirtualModels({ list }: { readonly list: ProviderList }) {
  const rows: readonly NameRow[] = [
    ...list.virtual_models.map(({ name, strategy, targets }) => ({
      name,
      how: strategy.replaceAll("_", " "),
      targets: targets.map(({ target, weight }) => texts.weight(target, weight)),
    })),
    ...list.aliases.map(({ name, target }) => ({ name, how: texts.alias, targets: [target] })),
  ];
  if (rows.length === 0) return null;
  const heads = texts.virtualColumns;
  return (
    <Card title={texts.virtual}>
      <Table
        caption={texts.virtualCaption}
        rows={rows}
        keyOf={({ name, how }) => `${how} ${name}`}
        columns={[
          {
            key: "virtualName",
            head: heads.name,
            kind: "lead",
            sortBy: ({ name }) => name,
            cell: ({ name }) => <span class="strong wrap">{name}</span>,
          },
          { key: "how", head: heads.how, sortBy: ({ how }) => how, cell: ({ how }) => how },
          {
            key: "targets",
            head: heads.targets,
            cell: ({ targets }) => (
              <span class="badges">
                {targets.map((target) => (
                  <span class="badge" key={target}>
                    {target}
                  </span>
                ))}
              </span>
            ),
          },
        ]}
      />
    </Card>
  );
}

interface ModelRow {
  readonly name: string;
  readonly price: PriceItem | null;
}

function ModelPrices({ providers }: { readonly providers: readonly ProviderItem[] }) {
  const [search, setSearch] = useState("");
  const words = search.trim().toLowerCase();
  const rows: readonly ModelRow[] = providers
    .flatMap(({ name, models }) =>
      models.map(({ id, price }) => ({ name: `${name}/${id}`, price })),
    )
    .filter(({ name }) => name.toLowerCase().includes(words));
  return (
    <Card title={texts.models} note={texts.perMillion}>
      <div class="card-filter">
        <SearchField label={texts.model.name} value={search} onInput={setSearch} />
      </div>
      <TableOrEmpty
        caption={texts.modelsCaption}
        rows={rows}
        isBounded
        keyOf={({ name }) => name}
        columns={columns}
        icon="search"
        none={texts.noModels}
      />
      <LeftOut providers={providers} unshown={rows.length - rowsDrawnMax} />
    </Card>
  );
}

/** The models that the table leaves out, by provider. */
function LeftOut({
  providers,
  unshown,
}: {
  readonly providers: readonly ProviderItem[];
  readonly unshown: number;
}) {
  const more = providers.filter(({ models, models_total }) => models_total > models.length);
  if (unshown <= 0 && more.length === 0) return null;
  const words = more.map(({ name, models, models_total }) =>
    texts.leftOut(name, formatCount(models_total - models.length)),
  );
  if (unshown > 0) words.unshift(texts.leftOut(texts.models, formatCount(unshown)));
  return <TableFoot>{words.join(", ")}</TableFoot>;
}

function money(head: string, amountOf: (price: PriceItem) => number | null): Column<ModelRow> {
  return {
    key: head,
    head,
    kind: "number",
    sortBy: ({ price }) => (price === null ? null : amountOf(price)),
    cell: ({ price }) => {
      const usd = price === null ? null : amountOf(price);
      return usd === null ? null : formatMoney(usd);
    },
  };
}

const columns: readonly Column<ModelRow>[] = [
  {
    key: "modelName",
    head: texts.model.name,
    kind: "lead",
    sortBy: ({ name }) => name,
    cell: ({ name, price }) => (
      <span class="two-lines">
        <span class="wrap">{name}</span>
        {price === null && <span class="soft small">{texts.unpriced}</span>}
      </span>
    ),
  },
  money(texts.model.input, (price) => price.input),
  money(texts.model.cached, (price) => price.cached_input),
  money(texts.model.output, (price) => price.output),
  money(texts.model.request, (price) => (price.per_request === 0 ? null : price.per_request)),
];
