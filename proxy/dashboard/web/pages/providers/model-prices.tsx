/** Every known model with the price that is in force. */
import { useState } from "preact/hooks";
import type { PriceItem, ProviderItem } from "../../../../../shared/api/provider-item.js";
import { formatCount, formatMoney } from "../../logic/numbers.js";
import { SearchField } from "../../parts/field.js";
import { TableOrEmpty } from "../../parts/lists/table-or-empty.js";
import { Card } from "../../parts/page.js";
import { type Column, TableFoot } from "../../parts/table.js";
import { providersTexts as texts } from "../../texts/setup-texts.js";

interface ModelRow {
  readonly name: string;
  readonly price: PriceItem | null;
}

/** What a browser draws at once without a pause. */
const rowsMax = 100;

export function ModelPrices({ providers }: { readonly providers: readonly ProviderItem[] }) {
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
