/** The hosts that share limits with this one, and the engine through which they do. */
import type { ClusterHost, ClusterStatus } from "../../../../../shared/api/gateway-status.js";
import { formatDuration } from "../../logic/numbers.js";
import { TableOrEmpty } from "../../parts/lists/table-or-empty.js";
import { Card } from "../../parts/page.js";
import type { Column } from "../../parts/table.js";
import { hostsTexts as texts } from "../../texts/setup-texts.js";

export function HostsTable({ cluster }: { readonly cluster: ClusterStatus }) {
  const { name, engine, engine_failing: failing, hosts } = cluster;
  const note = failing === null ? texts.engine(name, engine) : texts.failing(name, failing);
  return (
    <Card title={texts.title} note={note}>
      <TableOrEmpty
        caption={texts.caption}
        rows={hosts}
        keyOf={({ id }) => id}
        columns={columns}
        icon="system"
        none={texts.none}
      />
    </Card>
  );
}

const columns: readonly Column<ClusterHost>[] = [
  {
    key: "name",
    head: texts.columns.name,
    kind: "lead",
    cell: ({ id, name, this_host: isThis }) => (
      <span class="two-lines">
        <span class="wrap">{isThis ? texts.thisHost(name) : name}</span>
        <span class="soft small">{id}</span>
      </span>
    ),
  },
  {
    key: "state",
    head: texts.columns.state,
    cell: ({ alive, silent_seconds: seconds }) =>
      alive ? (
        <span class="badge good">{texts.alive}</span>
      ) : (
        <span class="bad">{texts.silent(formatDuration(seconds))}</span>
      ),
  },
  { key: "version", head: texts.columns.version, cell: ({ version }) => version },
  {
    key: "uptime",
    head: texts.columns.uptime,
    cell: ({ uptime_seconds: seconds }) => formatDuration(seconds),
  },
  {
    key: "configuration",
    head: texts.columns.configuration,
    cell: ({ configuration_differs: differs, failure_mode: mode, failure_mode_differs: isOther }) =>
      [...(differs ? [texts.differs] : []), ...(isOther ? [texts.otherMode(mode)] : [])].join(
        ", ",
      ) || texts.same,
  },
];
