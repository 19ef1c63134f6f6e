/** The providers: whether they answer, what they failed with, and where their keys come from. */
import type { ProviderItem, ProviderList } from "../../../../../shared/api/provider-item.js";
import { formatCount } from "../../logic/numbers.js";
import { Ago } from "../../parts/age.js";
import { TableOrEmpty } from "../../parts/lists/table-or-empty.js";
import { Card } from "../../parts/page.js";
import { providersTexts as texts } from "../../texts/setup-texts.js";

const heads = texts.columns;

export function ProviderTable({ list }: { readonly list: ProviderList }) {
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
