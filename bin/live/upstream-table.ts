/** The table of providers' own limits. Pure. */
import type { LearnedLimit, UpstreamTargetItem } from "../../shared/api/upstream-item.js";
import { formatDuration } from "../text/duration.js";
import { type Column, plainView, renderTable, type TableView } from "../text/table.js";

interface Row {
  readonly item: UpstreamTargetItem;
  /** Null for a model without any. */
  readonly limit: LearnedLimit | null;
  readonly isFirst: boolean;
}

const columns: readonly Column<Row>[] = [
  {
    title: "MODEL",
    align: "left",
    text: ({ item, isFirst }) => (isFirst ? `${item.provider}/${item.model}` : ""),
  },
  { title: "MODE", align: "left", text: ({ item, isFirst }) => (isFirst ? item.mode : "") },
  { title: "LIMIT", align: "left", text: ({ limit }) => limit?.name ?? "-" },
  {
    title: "LEFT",
    align: "right",
    text: ({ limit }) => (limit === null ? "-" : `${limit.remaining ?? "?"}/${limit.limit ?? "?"}`),
  },
  {
    title: "RESETS IN",
    align: "right",
    text: ({ limit }) =>
      limit === null || limit.resets_in_seconds === null
        ? "-"
        : formatDuration(limit.resets_in_seconds),
  },
  {
    title: "429S",
    align: "right",
    text: ({ item, isFirst }) => (isFirst ? String(item.refusals) : ""),
  },
  { title: "STATE", align: "left", text: ({ item, isFirst }) => (isFirst ? stateOf(item) : "") },
];

function stateOf({
  saturated,
  retry_after: wait,
  adaptive,
  in_flight: running,
}: UpstreamTargetItem) {
  const parts = saturated ? [`no requests for ${formatDuration(wait)}`] : [];
  if (adaptive !== null) parts.push(`${running ?? 0} of ${adaptive.cap} at once`);
  return parts.length === 0 ? "-" : parts.join(", ");
}

/** One sentence when there is nothing to show. */
export function renderUpstream(
  items: readonly UpstreamTargetItem[],
  view: TableView = plainView,
): string {
  const rows = items.flatMap((item): Row[] =>
    item.limits.length === 0
      ? [{ item, limit: null, isFirst: true }]
      : item.limits.map((limit, i) => ({ item, limit, isFirst: i === 0 })),
  );
  return rows.length === 0
    ? "no provider has reported a limit since the daemon's start"
    : renderTable(columns, rows, view);
}
