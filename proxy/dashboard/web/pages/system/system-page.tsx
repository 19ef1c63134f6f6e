/** The page of the system: daemon and store, rules without effect, and the settings in force. */

import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import type { AlertDestinationList } from "../../../../../shared/api/alert-item.js";
import type {
  ClusterHost,
  ClusterStatus,
  DaemonStatus,
  SettingsList,
} from "../../../../../shared/api/gateway-status.js";
import { formatBytes, formatCount, formatDuration } from "../../logic/numbers.js";
import { When } from "../../parts/age.js";
import { useApp } from "../../parts/app.js";
import { SearchField } from "../../parts/field.js";
import { FilterSelect } from "../../parts/lists/filters.js";
import { TableOrEmpty } from "../../parts/lists/list-card.js";
import { Card, PageHead, WhenReady } from "../../parts/page.js";
import type { Column } from "../../parts/table.js";
import { useListPoll } from "../../parts/use-poll.js";
import { hostsTexts, systemTexts as texts } from "../../texts/setup-texts.js";
import { shellTexts } from "../../texts/shell-texts.js";
import { AlertsCard } from "./alerts-card.js";

const settingsEveryMs = 60_000;

export function SystemPage() {
  const status = useListPoll<DaemonStatus>("/admin/status");
  const settings = useListPoll<SettingsList>("/admin/config", { everyMs: settingsEveryMs });
  const alerts = useListPoll<AlertDestinationList>("/admin/alerts", { everyMs: settingsEveryMs });
  return (
    <>
      <PageHead title={shellTexts.pages.system}>{texts.about}</PageHead>
      <div class="stack">
        <WhenReady polled={status.polled} onRetry={status.refresh}>
          {(daemon) => (
            <>
              <div class="halves">
                <DaemonFacts status={daemon} />
                <StoreFacts status={daemon} />
              </div>
              {daemon.cluster !== null && <HostsTable cluster={daemon.cluster} />}
              <Inert rules={daemon.inert} />
            </>
          )}
        </WhenReady>
        <WhenReady polled={alerts.polled} onRetry={alerts.refresh}>
          {(list) => <AlertsCard alerts={list.alerts} onTested={alerts.refresh} />}
        </WhenReady>
        <WhenReady polled={settings.polled} onRetry={settings.refresh}>
          {(list) => <SettingsTable list={list} />}
        </WhenReady>
      </div>
    </>
  );
}

function Inert({ rules }: { readonly rules: readonly string[] }) {
  if (rules.length === 0) return null;
  return (
    <Card title={texts.inert}>
      <ul class="lines">
        {rules.map((line) => (
          <li class="wrap" key={line}>
            {line}
          </li>
        ))}
      </ul>
    </Card>
  );
}

type Fact = readonly [name: string, value: ComponentChildren];

function DaemonFacts({ status }: { readonly status: DaemonStatus }) {
  const older = status.older_proxies;
  return (
    <Facts
      title={texts.daemon}
      facts={[
        [texts.version, status.version],
        [texts.uptime, formatDuration(status.uptime_seconds)],
        [
          texts.proxies,
          older === 0 ? formatCount(status.proxies) : `${status.proxies}, ${texts.older(older)}`,
        ],
        [texts.rules, status.enabled ? formatCount(status.rules) : texts.off],
        [texts.budgets, status.budgets_enabled ? formatCount(status.budgets) : texts.off],
        [texts.keys, formatCount(status.keys)],
        [texts.admitted, `${formatCount(status.admitted)} ${texts.sinceStart}`],
        [texts.refused, `${formatCount(status.refused)} ${texts.sinceStart}`],
        [texts.settled, `${formatCount(status.settled)} ${texts.sinceStart}`],
      ]}
    />
  );
}

function StoreFacts({ status: { store } }: { readonly status: DaemonStatus }) {
  const flushed = store.last_flush_at;
  return (
    <Facts
      title={texts.store}
      facts={[
        [texts.file, <code key="file">{store.file}</code>],
        [texts.size, store.bytes === null ? null : formatBytes(store.bytes)],
        [texts.journal, formatBytes(store.journal_bytes)],
        [texts.flushed, flushed === null ? texts.notYet : <When key="flushed" at={flushed} />],
        [texts.failedCommits, formatCount(store.failed_commits)],
        [
          texts.failing,
          store.failing === null ? (
            <span class="badge good">{texts.well}</span>
          ) : (
            <span class="bad">{store.failing}</span>
          ),
        ],
      ]}
    />
  );
}

function Facts({ title, facts }: { readonly title: string; readonly facts: readonly Fact[] }) {
  return (
    <Card title={title}>
      <dl class="card-body facts">
        {facts
          .filter(([, value]) => value !== null)
          .map(([name, value]) => (
            <>
              <dt>{name}</dt>
              <dd class="wrap">{value}</dd>
            </>
          ))}
      </dl>
    </Card>
  );
}

function HostsTable({ cluster }: { readonly cluster: ClusterStatus }) {
  const { name, engine, engine_failing: failing, hosts } = cluster;
  const note =
    failing === null ? hostsTexts.engine(name, engine) : hostsTexts.failing(name, failing);
  return (
    <Card title={hostsTexts.title} note={note}>
      <TableOrEmpty
        caption={hostsTexts.caption}
        rows={hosts}
        keyOf={({ id }) => id}
        columns={hostColumns}
        icon="system"
        none={hostsTexts.none}
      />
    </Card>
  );
}

const hostColumns: readonly Column<ClusterHost>[] = [
  {
    key: "name",
    head: hostsTexts.columns.name,
    kind: "lead",
    cell: ({ id, name, this_host: isThis }) => (
      <span class="two-lines">
        <span class="wrap">{isThis ? hostsTexts.thisHost(name) : name}</span>
        <span class="soft small">{id}</span>
      </span>
    ),
  },
  {
    key: "state",
    head: hostsTexts.columns.state,
    cell: ({ alive, silent_seconds: seconds }) =>
      alive ? (
        <span class="badge good">{hostsTexts.alive}</span>
      ) : (
        <span class="bad">{hostsTexts.silent(formatDuration(seconds))}</span>
      ),
  },
  { key: "version", head: hostsTexts.columns.version, cell: ({ version }) => version },
  {
    key: "uptime",
    head: hostsTexts.columns.uptime,
    cell: ({ uptime_seconds: seconds }) => formatDuration(seconds),
  },
  {
    key: "configuration",
    head: hostsTexts.columns.configuration,
    cell: ({ configuration_differs: differs, failure_mode: mode, failure_mode_differs: isOther }) =>
      [
        ...(differs ? [hostsTexts.differs] : []),
        ...(isOther ? [hostsTexts.otherMode(mode)] : []),
      ].join(", ") || hostsTexts.same,
  },
];

type Setting = SettingsList["settings"][number];

function SettingsTable({ list: { file, settings } }: { readonly list: SettingsList }) {
  const [search, setSearch] = useState("");
  const { query } = useApp().router.place.value;
  const words = search.trim().toLowerCase();
  const chosen = settings.filter(({ source }) => source !== "default");
  const isAll = words !== "" || query.get("settings") === "all";
  const rows = (isAll ? settings : chosen).filter(({ path, meaning }) =>
    `${path} ${meaning}`.toLowerCase().includes(words),
  );
  return (
    <Card title={texts.settings} note={file === null ? texts.noFile : texts.settingsFrom(file)}>
      <div class="card-filter filters">
        <SearchField label={texts.search} value={search} onInput={setSearch} />
        <FilterSelect
          name="settings"
          label={texts.which}
          options={[
            ["", texts.chosen(chosen.length)],
            ["all", texts.all(settings.length)],
          ]}
        />
      </div>
      <TableOrEmpty
        caption={texts.settingsCaption}
        rows={rows}
        keyOf={({ path }) => path}
        columns={settingColumns}
        icon="search"
        none={words === "" ? texts.noneChosen : texts.noSetting}
      />
    </Card>
  );
}

const settingColumns: readonly Column<Setting>[] = [
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
