/** The table of requests in flight, and which of them are shown. Pure. */
import type { LeaseItem } from "../../shared/api/lease-item.js";
import { formatDuration } from "../text/duration.js";
import { type Column, plainView, renderTable, type TableView } from "../text/table.js";

const columns: readonly Column<LeaseItem>[] = [
  { title: "PATH", align: "left", text: (lease) => lease.user_path },
  { title: "TARGET", align: "left", text: ({ target }) => target ?? "(none yet)" },
  {
    title: "FOR",
    align: "right",
    text: ({ seconds }) => (seconds === null ? "-" : formatDuration(seconds)),
  },
  { title: "SINCE", detail: true, align: "left", text: (lease) => lease.admitted_at ?? "-" },
  { title: "PROXY", detail: true, align: "left", text: ({ proxy }) => proxy.slice(0, 8) },
  { title: "LEASE", detail: true, align: "right", text: ({ lease }) => String(lease) },
];

/** One sentence when there is nothing to show. */
export function renderInFlight(leases: readonly LeaseItem[], view: TableView = plainView): string {
  return leases.length === 0 ? "nothing is in flight" : renderTable(columns, leases, view);
}

/** The leases on the path or below it that have run at least this long, or for an unknown time. */
export function filterInFlight(
  leases: readonly LeaseItem[],
  { path, olderSeconds }: { readonly path: string; readonly olderSeconds: number },
): readonly LeaseItem[] {
  return leases.filter(
    ({ user_path: userPath, seconds }) =>
      isAtOrBelow(userPath, path) && (seconds ?? olderSeconds) >= olderSeconds,
  );
}

export function isAtOrBelow(path: string, above: string): boolean {
  return above === "/" || path === above || path.startsWith(`${above}/`);
}
