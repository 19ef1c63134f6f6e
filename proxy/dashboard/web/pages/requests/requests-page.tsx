/** Requests in flight, ended, failed and refused; sessions; and one request by its id. */

import { useState } from "preact/hooks";

import type { LeaseItem, LeasePage } from "../../../../../shared/api/lease-item.js";
import type { RecordItem, RecordPage } from "../../../../../shared/api/record-item.js";
import type { RefusalItem, RefusalPage } from "../../../../../shared/api/refusal-item.js";
import { hrefOf } from "../../data/router.js";
import { listPath } from "../../logic/list-page.js";
import {
  formatDuration,
  formatMoment,
  formatMoney,
  formatShort,
  withCurrency,
} from "../../logic/numbers.js";
import { When } from "../../parts/age.js";
import { useApp } from "../../parts/app.js";
import { SearchField } from "../../parts/field.js";
import { Icon } from "../../parts/icon.js";
import { FilterSelect, PathFilter, SearchFilter, TextFilter } from "../../parts/lists/filters.js";
import { ListCard } from "../../parts/lists/list-card.js";
import { PageHead } from "../../parts/page.js";
import { type Column, CutText } from "../../parts/table.js";
import { Tabs } from "../../parts/tabs.js";
import { useListPoll } from "../../parts/use-poll.js";
import { requestsTexts as texts } from "../../texts/requests-texts.js";
import { shellTexts } from "../../texts/shell-texts.js";
import { BriefStatus, FailedTab, RequestLink, SessionsTab } from "./kept-requests.js";
import { RequestView } from "./request-view.js";

const shown = {
  "in-flight": InFlightTab,
  recent: RecentTab,
  failed: FailedTab,
  refused: RefusedTab,
  sessions: SessionsTab,
} as const;
const first = "in-flight";

export function RequestsPage() {
  const { query } = useApp().router.place.value;
  const id = query.get("id");
  const tabInQuery = query.get("tab") ?? first;
  const tab = Object.hasOwn(shown, tabInQuery) ? (tabInQuery as keyof typeof shown) : first;
  const Shown = shown[tab];
  return (
    <>
      <PageHead title={shellTexts.pages.requests} actions={<FindRequest />}>
        {texts.about}
      </PageHead>
      <div class="stack">
        <Tabs
          label={texts.tabsLabel}
          current={id === null ? tab : ""}
          tabs={Object.entries(texts.tabs).map(([key, text]) => ({
            key,
            text,
            href: hrefOf("requests", key === first ? {} : { tab: key }),
          }))}
        />
        {id === null ? <Shown key={tab} /> : <RequestView key={id} id={id} />}
      </div>
    </>
  );
}

/** A field for a request's id, which opens that request. */
function FindRequest() {
  const { router } = useApp();
  const [text, setText] = useState("");
  return (
    <form
      class="search-form"
      onSubmit={(event) => {
        event.preventDefault();
        if (text.trim() !== "") router.go(hrefOf("requests", { id: text.trim() }));
      }}
    >
      <SearchField label={texts.find.label} value={text} onInput={setText} />
    </form>
  );
}

const inFlightTexts = texts.inFlight;
const everyMs = 2_000;

function InFlightTab() {
  const { query } = useApp().router.place.value;
  const list = useListPoll<LeasePage>(listPath("/admin/in-flight", query), { everyMs });
  return (
    <>
      <div class="filters">
        <SearchFilter label={inFlightTexts.search} />
      </div>
      <ListCard
        list={list}
        rowsOf={(page) => page.in_flight}
        isLive
        isCompact
        caption={inFlightTexts.caption}
        columns={inFlightColumns}
        keyOf={({ proxy, lease }) => `${proxy} ${lease}`}
        icon="requests"
        none={query.has("search") ? texts.unmatched : inFlightTexts.none}
      />
    </>
  );
}

const inFlightColumns: readonly Column<LeaseItem>[] = [
  {
    key: "path",
    head: inFlightTexts.columns.path,
    sortBy: ({ user_path }) => user_path,
    kind: "lead",
    cell: ({ user_path }) => <span class="path">{user_path}</span>,
  },
  {
    key: "brief",
    head: inFlightTexts.columns.for,
    isBrief: true,
    cell: ({ seconds }) => (seconds === null ? null : formatDuration(seconds)),
  },
  {
    key: "target",
    head: inFlightTexts.columns.target,
    sortBy: ({ target }) => target,
    cell: ({ target }) =>
      target === null ? (
        <span class="soft">{inFlightTexts.noTarget}</span>
      ) : (
        <CutText text={target} />
      ),
  },
  {
    key: "since",
    head: inFlightTexts.columns.since,
    sortBy: ({ admitted_at }) => admitted_at,
    cell: ({ admitted_at }) =>
      admitted_at === null ? (
        <span class="soft">{inFlightTexts.unasked}</span>
      ) : (
        <When at={admitted_at} />
      ),
  },
  {
    key: "for",
    head: inFlightTexts.columns.for,
    sortBy: ({ seconds }) => seconds,
    kind: "number",
    cell: ({ seconds }) => (seconds === null ? null : formatDuration(seconds)),
  },
  {
    key: "proxy",
    head: inFlightTexts.columns.proxy,
    sortBy: ({ proxy }) => proxy,
    // The first characters distinguish the proxies of a host.
    cell: ({ proxy }) => <code title={proxy}>{proxy.slice(0, 8)}</code>,
  },
];

const recentTexts = texts.recent;

function RecentTab() {
  const { query } = useApp().router.place.value;
  const list = useListPoll<RecordPage>(recordsPath(query), { news: ({ settled }) => settled });
  return (
    <>
      <div class="filters">
        <PathFilter />
        <TextFilter name="model" label={recentTexts.filters.model} />
        <TextFilter name="key" label={recentTexts.filters.key} />
        <FilterSelect
          name="status"
          label={recentTexts.columns.status}
          options={["", "2xx", "4xx", "5xx"].map((status) => [
            status,
            status || recentTexts.anyStatus,
          ])}
        />
        {(["csv", "ndjson"] as const).map((format) => (
          <a class="button" key={format} href={recordsFile(query, format)} download>
            <Icon name="download" />
            {recentTexts.files[format]}
          </a>
        ))}
      </div>
      <ListCard
        list={list}
        rowsOf={(page) => page.records}
        isLive
        isCompact
        caption={recentTexts.caption}
        columns={recentColumns}
        keyOf={({ id }) => id}
        icon="requests"
        none={isFiltered(query) ? texts.unmatched : recentTexts.none}
      />
    </>
  );
}

const address = "/admin/usage/records";
/** The query's parameters beside the path, whose name in the address is shorter than the API's. */
const names = ["model", "status", "key"];

function recordsPath(query: URLSearchParams): string {
  const path = query.get("path") ?? "";
  const fixed: Record<string, string> = path === "" ? {} : { user_path: path };
  return listPath(address, query, names, fixed);
}

/** The address of a file with all records that match the filters. */
function recordsFile(query: URLSearchParams, format: "csv" | "ndjson"): string {
  const parameters = new URLSearchParams({ format });
  for (const name of ["path", ...names]) {
    const value = query.get(name) ?? "";
    if (value !== "") parameters.set(name === "path" ? "user_path" : name, value);
  }
  return `${address}?${parameters}`;
}

function isFiltered(query: URLSearchParams): boolean {
  return ["path", ...names].some((name) => query.has(name));
}

function lookOf(status: number): string {
  return status < 400 ? "good" : status < 500 ? "warn" : "bad";
}

const recentColumns: readonly Column<RecordItem>[] = [
  {
    key: "path",
    head: recentTexts.columns.path,
    sortBy: ({ user_path }) => user_path,
    kind: "lead",
    cell: ({ user_path, key_name }) => (
      <span class="two-lines">
        <span class="path">{user_path}</span>
        {key_name !== null && <CutText look="soft small" text={key_name} />}
      </span>
    ),
  },
  {
    key: "brief",
    head: recentTexts.columns.status,
    isBrief: true,
    cell: ({ time, status }) => <BriefStatus time={time} status={status} look={lookOf(status)} />,
  },
  {
    key: "model",
    head: recentTexts.columns.model,
    sortBy: ({ provider, model }) => `${provider}/${model ?? ""}`,
    cell: ({ provider, model, requested_model }) => (
      <span class="two-lines">
        <CutText text={model === null ? provider : `${provider}/${model}`} />
        {requested_model !== null && requested_model !== model && (
          <CutText look="soft small" text={recentTexts.asked(requested_model)} />
        )}
      </span>
    ),
  },
  {
    key: "status",
    head: recentTexts.columns.status,
    sortBy: ({ status }) => status,
    cell: ({ status, request_id }) => (
      <span class="two-lines">
        <span>
          <span class={`badge ${lookOf(status)}`}>{status}</span>
        </span>
        <RequestLink id={request_id} />
      </span>
    ),
  },
  {
    key: "tokens",
    head: recentTexts.columns.tokens,
    sortBy: ({ input_tokens, output_tokens }) => input_tokens + output_tokens,
    kind: "number",
    cell: ({ input_tokens, output_tokens, estimated, cache_hit }) => (
      <span class="two-lines to-right">
        <span class="nowrap">
          {recentTexts.tokens(formatShort(input_tokens), formatShort(output_tokens))}
        </span>
        {(estimated || cache_hit) && (
          <span class="soft small">{cache_hit ? recentTexts.cached : recentTexts.estimated}</span>
        )}
      </span>
    ),
  },
  {
    key: "cost",
    head: recentTexts.columns.cost,
    sortBy: ({ total_cost }) => total_cost,
    kind: "number",
    cell: ({ total_cost }) => (total_cost === null ? null : formatMoney(total_cost)),
  },
  {
    key: "latency",
    head: recentTexts.columns.latency,
    sortBy: ({ latency_ms }) => latency_ms,
    kind: "number",
    cell: ({ latency_ms }) =>
      latency_ms < 10_000 ? `${latency_ms} ms` : formatDuration(latency_ms / 1000),
  },
  {
    key: "time",
    head: recentTexts.columns.time,
    sortBy: ({ time }) => time,
    cell: ({ time }) => <When at={time} />,
  },
];

const refusedTexts = texts.refused;

function RefusedTab() {
  const { query } = useApp().router.place.value;
  const list = useListPoll<RefusalPage>(listPath("/admin/refusals", query, ["dimension"]), {
    news: ({ refused }) => refused,
  });
  const isFiltered = query.has("search") || query.has("dimension");
  return (
    <>
      <div class="filters">
        <SearchFilter label={refusedTexts.search} />
        <FilterSelect
          name="dimension"
          label={refusedTexts.dimension}
          options={Object.entries(refusedTexts.dimensions)}
        />
        <span class="soft small">{refusedTexts.about}</span>
      </div>
      <ListCard
        list={list}
        rowsOf={(page) => page.refusals}
        isLive
        isCompact
        caption={refusedTexts.caption}
        columns={refusedColumns}
        keyOf={({ refused_at, user_path, request_id }) =>
          `${refused_at} ${user_path} ${request_id}`
        }
        icon="check"
        none={isFiltered ? texts.unmatched : refusedTexts.none}
      />
    </>
  );
}

const refusedColumns: readonly Column<RefusalItem>[] = [
  {
    key: "path",
    head: refusedTexts.columns.path,
    sortBy: ({ user_path }) => user_path,
    kind: "lead",
    cell: ({ user_path, request_id }) => (
      <span class="two-lines">
        <span class="path">{user_path}</span>
        {request_id !== null && <RequestLink id={request_id} />}
      </span>
    ),
  },
  {
    key: "brief",
    head: refusedTexts.columns.time,
    isBrief: true,
    cell: ({ refused_at }) => <When at={refused_at} isBrief />,
  },
  {
    key: "model",
    head: refusedTexts.columns.model,
    sortBy: ({ model, targets }) => model ?? targets[0],
    cell: ({ model, targets }) => <CutText text={model ?? targets[0] ?? ""} />,
  },
  {
    key: "why",
    head: refusedTexts.columns.why,
    kind: "rest",
    sortBy: ({ message }) => message,
    cell: ({ message }) => <CutText text={withCurrency(message)} />,
  },
  {
    key: "time",
    head: refusedTexts.columns.time,
    sortBy: ({ refused_at }) => refused_at,
    cell: ({ refused_at }) => <When at={refused_at} />,
  },
  {
    key: "again",
    head: refusedTexts.columns.again,
    sortBy: ({ retry_after }) => retry_after,
    cell: ({ retry_after, admitted_at }) =>
      retry_after === null || admitted_at === null ? (
        "–"
      ) : (
        <time class="nowrap" dateTime={admitted_at} title={formatMoment(admitted_at)}>
          {refusedTexts.after(formatDuration(retry_after))}
        </time>
      ),
  },
  {
    key: "end",
    head: refusedTexts.columns.explain,
    kind: "end",
    cell: ({ request_id }) =>
      request_id === null ? null : (
        <a
          class="button ghost square"
          aria-label={`${refusedTexts.columns.explain} ${request_id}`}
          title={refusedTexts.columns.explain}
          href={hrefOf("explain", { request_id })}
        >
          <Icon name="explain" />
        </a>
      ),
  },
];
