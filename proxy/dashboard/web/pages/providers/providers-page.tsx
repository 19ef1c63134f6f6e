/** Providers as this proxy knows them, their models with prices, and what stands for models. */

import { useState } from "preact/hooks";
import type {
  PriceItem,
  ProviderItem,
  ProviderList,
} from "../../../../../shared/api/provider-item.js";
import { formatCount, formatMoney } from "../../logic/numbers.js";
import { Ago } from "../../parts/age.js";
import { SearchField } from "../../parts/field.js";
import { TableOrEmpty } from "../../parts/lists/list-card.js";
import { Card, PageHead, WhenReady } from "../../parts/page.js";
import { type Column, Table, TableFoot } from "../../parts/table.js";
import { useListPoll } from "../../parts/use-poll.js";
import { providersTexts as texts } from "../../texts/setup-texts.js";
import { shellTexts } from "../../texts/shell-texts.js";
import { TargetTraffic } from "./target-traffic.js";
import { UpstreamLimits } from "./upstream-limits.js";

export function ProvidersPage() {
  const { polled, refresh } = useListPoll<ProviderList>("/admin/providers");
  return (
    <>
      <PageHead title={shellTexts.pages.providers}>{texts.about}</PageHead>
      <WhenReady polled={polled} onRetry={refresh}>
        {(list) => (
          <div class="stack">
            <ProviderTable list={list} />
            <TargetTraffic open={openTargets(list)} />
            <UpstreamLimits />
            <VirtualModels list={list} />
            <ModelPrices providers={list.providers} />
          </div>
        )}
      </WhenReady>
    </>
  );
}

function openTargets({ providers }: ProviderList): ReadonlySet<string> {
  const failing = providers.flatMap((provider) => provider.failing);
  return new Set(failing.filter(({ state }) => state === "open").map(({ target }) => target));
}

const heads = texts.columns;

function ProviderTable({ list }: { readonly list: ProviderList }) {
  return (
    <Card>
      <TableOrEmpty
        caption={texts.caption}
        icon="providers"
        none={texts.none}
        rows={list.providers}
        keyOf={({ name }) => name}
        columns={[
          { key: "name", head: heads.name, kind: "lead", cell: providerName },
          { key: "state", head: heads.state, cell: providerState },
          {
            key: "models",
            head: heads.models,
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
            key: "success",
            head: heads.success,
            cell: ({ last_success_at }) => <Ago moment={last_success_at} now={list.server_time} />,
          },
          {
            key: "failure",
            head: heads.failure,
            cell: ({ last_failure }) =>
              last_failure === null ? (
                <Ago moment={null} now={list.server_time} />
              ) : (
                <span class="two-lines">
                  <Ago moment={last_failure.at} now={list.server_time} />
                  <span class="soft small wrap">
                    {texts.failureOf(last_failure.model, last_failure.reason)}
                  </span>
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

/** A target that is left alone says more than one that has failed. */
function providerState({ failing, last_success_at, last_failure }: ProviderItem) {
  const open = failing.filter(({ state }) => state === "open").length;
  if (open > 0) return <span class="badge bad">{texts.open(open)}</span>;
  if (failing.length > 0) return <span class="badge warn">{texts.failing}</span>;
  if (last_success_at === null && last_failure === null)
    return <span class="badge">{texts.untried}</span>;
  return <span class="badge good">{texts.well}</span>;
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
            key: "name",
            head: heads.name,
            kind: "lead",
            cell: ({ name }) => <span class="strong wrap">{name}</span>,
          },
          { key: "how", head: heads.how, cell: ({ how }) => how },
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

/** What a browser draws at once without a pause. */
const rowsMax = 100;

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
        rows={rows.slice(0, rowsMax)}
        keyOf={({ name }) => name}
        columns={columns}
        icon="search"
        none={texts.noModels}
      />
      <LeftOut providers={providers} unshown={rows.length - rowsMax} />
    </Card>
  );
}

/** What isn't in the table, by provider. */
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

function money(head: string, of: (price: PriceItem) => number | null): Column<ModelRow> {
  return {
    key: head,
    head,
    kind: "number",
    cell: ({ price }) => {
      const usd = price === null ? null : of(price);
      return usd === null ? null : formatMoney(usd);
    },
  };
}

const columns: readonly Column<ModelRow>[] = [
  {
    key: "name",
    head: texts.model.name,
    kind: "lead",
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
