/** The last refusals: which limit refused, and when it would have let the request pass. */
import type { RefusalItem, RefusalPage } from "../../../../../shared/api/refusal-item.js";
import { hrefOf } from "../../data/router.js";
import { listPath } from "../../logic/list-page.js";
import { formatDuration, formatMoment, formatTime } from "../../logic/numbers.js";
import { useApp } from "../../parts/app.js";
import { Icon } from "../../parts/icon.js";
import { FilterSelect, SearchFilter } from "../../parts/lists/filters.js";
import { ListCard } from "../../parts/lists/list-card.js";
import type { Column } from "../../parts/table.js";
import { useListPoll } from "../../parts/use-poll.js";
import { requestsTexts } from "../../texts/requests-texts.js";

const texts = requestsTexts.refused;

export function RefusedTab() {
  const { query } = useApp().router.place.value;
  const list = useListPoll<RefusalPage>(listPath("/admin/refusals", query, ["dimension"]), {
    news: ({ refused }) => refused,
  });
  const isFiltered = query.has("search") || query.has("dimension");
  return (
    <>
      <div class="filters">
        <SearchFilter label={texts.search} />
        <FilterSelect
          name="dimension"
          label={texts.dimension}
          options={Object.entries(texts.dimensions)}
        />
        <span class="soft small">{texts.about}</span>
      </div>
      <ListCard
        list={list}
        rowsOf={(page) => page.refusals}
        caption={texts.caption}
        columns={columns}
        keyOf={({ refused_at, user_path, request_id }) =>
          `${refused_at} ${user_path} ${request_id}`
        }
        icon="check"
        none={isFiltered ? requestsTexts.unmatched : texts.none}
      />
    </>
  );
}

const columns: readonly Column<RefusalItem>[] = [
  {
    key: "path",
    head: texts.columns.path,
    kind: "lead",
    cell: ({ user_path, request_id }) => (
      <span class="two-lines">
        <span class="path">{user_path}</span>
        {request_id !== null && <code class="soft small nowrap">{request_id}</code>}
      </span>
    ),
  },
  {
    key: "model",
    head: texts.columns.model,
    cell: ({ model, targets }) => <span class="wrap">{model ?? targets[0]}</span>,
  },
  { key: "why", head: texts.columns.why, cell: ({ message }) => <span>{message}</span> },
  {
    key: "time",
    head: texts.columns.time,
    cell: ({ refused_at }) => (
      <time class="nowrap" dateTime={refused_at} title={formatMoment(refused_at)}>
        {formatTime(refused_at)}
      </time>
    ),
  },
  {
    key: "again",
    head: texts.columns.again,
    cell: ({ retry_after, admitted_at }) => (
      <time class="nowrap" dateTime={admitted_at} title={formatMoment(admitted_at)}>
        {texts.after(formatDuration(retry_after))}
      </time>
    ),
  },
  {
    key: "end",
    head: texts.columns.explain,
    kind: "end",
    cell: ({ request_id }) =>
      request_id === null ? null : (
        <a
          class="button ghost square"
          aria-label={`${texts.columns.explain} ${request_id}`}
          title={texts.columns.explain}
          href={hrefOf("explain", { request_id })}
        >
          <Icon name="explain" />
        </a>
      ),
  },
];
