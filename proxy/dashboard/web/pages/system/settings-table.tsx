/** The settings that are in force: the value of each, where it comes from, what it means. */
import { useState } from "preact/hooks";
import type { SettingsList } from "../../../../../shared/api/gateway-status.js";
import { formatCount } from "../../logic/numbers.js";
import { SearchField } from "../../parts/field.js";
import { TableOrEmpty } from "../../parts/lists/table-or-empty.js";
import { Card } from "../../parts/page.js";
import type { Column } from "../../parts/table.js";
import { systemTexts as texts } from "../../texts/setup-texts.js";

type Setting = SettingsList["settings"][number];

export function SettingsTable({ list: { file, settings } }: { readonly list: SettingsList }) {
  const [search, setSearch] = useState("");
  const words = search.trim().toLowerCase();
  const rows = settings.filter(({ path, meaning }) =>
    `${path} ${meaning}`.toLowerCase().includes(words),
  );
  return (
    <Card title={texts.settings} note={file === null ? texts.noFile : texts.settingsFrom(file)}>
      <div class="card-filter">
        <SearchField label={texts.search} value={search} onInput={setSearch} />
      </div>
      <TableOrEmpty
        caption={texts.settingsCaption}
        rows={rows}
        keyOf={({ path }) => path}
        columns={columns}
        icon="search"
        none={texts.noSetting}
      />
    </Card>
  );
}

const columns: readonly Column<Setting>[] = [
  {
    key: "name",
    head: texts.columns.name,
    kind: "lead",
    cell: ({ path, meaning }) => (
      <span class="two-lines">
        <code>{path}</code>
        <span class="soft small">{meaning}</span>
      </span>
    ),
  },
  {
    key: "value",
    head: texts.columns.value,
    cell: ({ path, value, unit }) => {
      const isCounted = /^\d+$/.test(value) && !path.endsWith("port");
      return (
        <span class="wrap">
          {isCounted ? formatCount(Number(value)) : value}
          {unit !== null && /^\d/.test(value) && <span class="soft"> {unit}</span>}
        </span>
      );
    },
  },
  {
    key: "source",
    head: texts.columns.source,
    cell: ({ source, name }) =>
      source === "default" ? (
        <span class="soft">{texts.sources.default}</span>
      ) : (
        <span class="two-lines">
          <span class="badge">{texts.sources[source]}</span>
          {name !== null && <code class="soft small nowrap">{name}</code>}
        </span>
      ),
  },
];
