/** The requests that hold slots. */
import type { LeaseItem, LeasePage } from "../../../../../shared/api/lease-item.js";
import { listPath } from "../../logic/list-page.js";
import { formatDuration, formatTime } from "../../logic/numbers.js";
import { useApp } from "../../parts/app.js";
import { SearchFilter } from "../../parts/lists/filters.js";
import { ListCard } from "../../parts/lists/list-card.js";
import type { Column } from "../../parts/table.js";
import { useListPoll } from "../../parts/use-poll.js";
import { requestsTexts } from "../../texts/requests-texts.js";

const texts = requestsTexts.inFlight;
const everyMs = 2_000;

export function InFlightTab() {
  const { query } = useApp().router.place.value;
  const list = useListPoll<LeasePage>(listPath("/admin/in-flight", query), { everyMs });
  return (
    <>
      <div class="filters">
        <SearchFilter label={texts.search} />
      </div>
      <ListCard
        list={list}
        rowsOf={(page) => page.in_flight}
        caption={texts.caption}
        columns={columns}
        keyOf={({ proxy, lease }) => `${proxy} ${lease}`}
        icon="requests"
        none={query.has("search") ? requestsTexts.unmatched : texts.none}
      />
    </>
  );
}

const columns: readonly Column<LeaseItem>[] = [
  {
    key: "path",
    head: texts.columns.path,
    kind: "lead",
    cell: ({ user_path }) => <span class="path">{user_path}</span>,
  },
  {
    key: "target",
    head: texts.columns.target,
    cell: ({ target }) =>
      target === null ? (
        <span class="soft">{texts.noTarget}</span>
      ) : (
        <span class="wrap">{target}</span>
      ),
  },
  {
    key: "since",
    head: texts.columns.since,
    cell: ({ admitted_at }) =>
      admitted_at === null ? <span class="soft">{texts.unasked}</span> : formatTime(admitted_at),
  },
  {
    key: "for",
    head: texts.columns.for,
    kind: "number",
    cell: ({ seconds }) => (seconds === null ? null : formatDuration(seconds)),
  },
  {
    key: "proxy",
    head: texts.columns.proxy,
    // Enough to tell proxies of a host apart.
    cell: ({ proxy }) => <code title={proxy}>{proxy.slice(0, 8)}</code>,
  },
];
