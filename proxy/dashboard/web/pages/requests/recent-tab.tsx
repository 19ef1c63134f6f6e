/** The requests that have ended, newest first, as they were recorded. */
import type { RecordItem, RecordPage } from "../../../../../shared/api/record-item.js";
import { listPath } from "../../logic/list-page.js";
import {
  formatDuration,
  formatMoment,
  formatMoney,
  formatShort,
  formatTime,
} from "../../logic/numbers.js";
import { useApp } from "../../parts/app.js";
import { Icon } from "../../parts/icon.js";
import { FilterSelect } from "../../parts/lists/filters.js";
import { ListCard } from "../../parts/lists/list-card.js";
import { PathFilter, TextFilter } from "../../parts/lists/text-filter.js";
import type { Column } from "../../parts/table.js";
import { useListPoll } from "../../parts/use-poll.js";
import { requestsTexts } from "../../texts/requests-texts.js";

const texts = requestsTexts.recent;

export function RecentTab() {
  const { query } = useApp().router.place.value;
  const list = useListPoll<RecordPage>(recordsPath(query), { news: ({ settled }) => settled });
  return (
    <>
      <div class="filters">
        <PathFilter />
        <TextFilter name="model" label={texts.filters.model} />
        <TextFilter name="key" label={texts.filters.key} />
        <FilterSelect
          name="status"
          label={texts.columns.status}
          options={["", "2xx", "4xx", "5xx"].map((each) => [each, each || texts.anyStatus])}
        />
        {(["csv", "ndjson"] as const).map((format) => (
          <a class="button" key={format} href={recordsFile(query, format)} download>
            <Icon name="download" />
            {texts.files[format]}
          </a>
        ))}
      </div>
      <ListCard
        list={list}
        rowsOf={(page) => page.records}
        caption={texts.caption}
        columns={columns}
        keyOf={({ id }) => id}
        icon="requests"
        none={isFiltered(query) ? requestsTexts.unmatched : texts.none}
      />
    </>
  );
}

const address = "/admin/usage/records";
/** Beside the path, whose name in the address is shorter than the list's. */
const names = ["model", "status", "key"];

function recordsPath(query: URLSearchParams): string {
  const path = query.get("path") ?? "";
  const fixed: Record<string, string> = path === "" ? {} : { user_path: path };
  return listPath(address, query, names, fixed);
}

/** All records that the filters let through, as a file. */
function recordsFile(query: URLSearchParams, format: "csv" | "ndjson"): string {
  const asked = new URLSearchParams({ format });
  for (const name of ["path", ...names]) {
    const value = query.get(name) ?? "";
    if (value !== "") asked.set(name === "path" ? "user_path" : name, value);
  }
  return `${address}?${asked}`;
}

function isFiltered(query: URLSearchParams): boolean {
  return ["path", ...names].some((name) => query.has(name));
}

const columns: readonly Column<RecordItem>[] = [
  {
    key: "path",
    head: texts.columns.path,
    kind: "lead",
    cell: ({ user_path, key_name }) => (
      <span class="two-lines">
        <span class="path">{user_path}</span>
        {key_name !== null && <span class="soft small">{key_name}</span>}
      </span>
    ),
  },
  {
    key: "model",
    head: texts.columns.model,
    cell: ({ provider, model, requested_model }) => (
      <span class="two-lines">
        <span class="wrap">{model === null ? provider : `${provider}/${model}`}</span>
        {requested_model !== null && requested_model !== model && (
          <span class="soft small wrap">{texts.asked(requested_model)}</span>
        )}
      </span>
    ),
  },
  { key: "status", head: texts.columns.status, cell: statusBadge },
  {
    key: "tokens",
    head: texts.columns.tokens,
    kind: "number",
    cell: ({ input_tokens, output_tokens, estimated, cache_hit }) => (
      <span class="two-lines to-right">
        <span class="nowrap">
          {texts.tokens(formatShort(input_tokens), formatShort(output_tokens))}
        </span>
        {(estimated || cache_hit) && (
          <span class="soft small">{cache_hit ? texts.cached : texts.estimated}</span>
        )}
      </span>
    ),
  },
  {
    key: "cost",
    head: texts.columns.cost,
    kind: "number",
    cell: ({ total_cost }) => (total_cost === null ? null : formatMoney(total_cost)),
  },
  {
    key: "latency",
    head: texts.columns.latency,
    kind: "number",
    cell: ({ latency_ms }) =>
      latency_ms < 10_000 ? `${latency_ms} ms` : formatDuration(latency_ms / 1000),
  },
  {
    key: "time",
    head: texts.columns.time,
    cell: ({ time }) => (
      <time class="nowrap" dateTime={time} title={formatMoment(time)}>
        {formatTime(time)}
      </time>
    ),
  },
];

function statusBadge({ status }: RecordItem) {
  const kind = status < 400 ? "good" : status < 500 ? "warn" : "bad";
  return <span class={`badge ${kind}`}>{status}</span>;
}
