/** The names that stand for models: virtual models and aliases. */
import type { ProviderList } from "../../../../../shared/api/provider-item.js";
import { Card } from "../../parts/page.js";
import { Table } from "../../parts/table.js";
import { providersTexts as texts } from "../../texts/setup-texts.js";

interface NameRow {
  readonly name: string;
  readonly how: string;
  readonly targets: readonly string[];
}

export function VirtualModels({ list }: { readonly list: ProviderList }) {
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
