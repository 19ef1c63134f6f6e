/** The tabs of requests that failed or were denied, and of the sessions of agents. */
import type {
  RequestItem,
  RequestPage,
  SessionItem,
  SessionList,
} from "../../../../../shared/api/request-item.js";
import { hrefOf } from "../../data/router.js";
import { listPath } from "../../logic/list-page.js";
import { formatCount, formatMoney, formatShort, withCurrency } from "../../logic/numbers.js";
import { When } from "../../parts/age.js";
import { useApp } from "../../parts/app.js";
import { FilterSelect, PathFilter, SearchFilter } from "../../parts/lists/filters.js";
import { ListCard, TableOrEmpty } from "../../parts/lists/list-card.js";
import { Card, WhenReady } from "../../parts/page.js";
import { type Column, CutText } from "../../parts/table.js";
import { useListPoll } from "../../parts/use-poll.js";
import {
  failedTexts,
  requestsTexts,
  requestTexts,
  sessionsTexts,
} from "../../texts/requests-texts.js";

/** The first tab shows failures, so that thousands of refusals don't hide one. */
const first = "failed";
const anyKind = "any";

export function FailedTab() {
  const { query } = useApp().router.place.value;
  const kind = query.get("kind") ?? first;
  const filter = kind === anyKind ? [] : [["kind", kind] as const];
  const list = useListPoll<RequestPage>(
    listPath("/admin/requests", query, [], Object.fromEntries(filter)),
  );
  const isFiltered = query.has("search") || kind !== anyKind;
  return (
    <>
      <div class="filters">
        <SearchFilter label={failedTexts.search} />
        <FilterSelect
          name="kind"
          label={failedTexts.kind}
          options={[
            ["", requestTexts.kinds[first]],
            ...Object.entries(requestTexts.kinds).filter(([name]) => name !== first),
            [anyKind, failedTexts.anyKind],
          ]}
        />
      </div>
      <ListCard
        list={list}
        rowsOf={(page) => page.requests}
        isLive
        isCompact
        caption={failedTexts.caption}
        columns={failedColumns}
        keyOf={({ request_id, time }) => `${time} ${request_id}`}
        icon="check"
        none={isFiltered ? requestsTexts.unmatched : failedTexts.none}
      />
    </>
  );
}

export function RequestLink({ id }: { readonly id: string }) {
  return (
    <a class="small nowrap" href={hrefOf("requests", { id })}>
      <code>{id}</code>
    </a>
  );
}

interface BriefStatusProps {
  readonly time: string;
  readonly status: number;
  readonly look: string;
}

/** On a phone: how and when a request ended. */
export function BriefStatus({ time, status, look }: BriefStatusProps) {
  return (
    <span class="nowrap">
      <span class={`badge ${look}`}>{status}</span> <When at={time} isBrief />
    </span>
  );
}

function lookOf(kind: RequestItem["kind"]): string {
  return kind === "failed" ? "bad" : kind === "answered" ? "good" : "warn";
}

const heads = failedTexts.columns;

const failedColumns: readonly Column<RequestItem>[] = [
  {
    key: "path",
    head: heads.path,
    sortBy: ({ user_path, path }) => user_path ?? path,
    kind: "lead",
    cell: ({ user_path, request_id, path }) => (
      <span class="two-lines">
        <span class="path">{user_path ?? path}</span>
        <RequestLink id={request_id} />
      </span>
    ),
  },
  {
    key: "brief",
    head: heads.kind,
    isBrief: true,
    cell: ({ time, kind, status }) => (
      <BriefStatus time={time} status={status} look={lookOf(kind)} />
    ),
  },
  {
    key: "kind",
    head: heads.kind,
    sortBy: ({ kind, status }) => `${kind} ${status}`,
    cell: ({ kind, status }) => (
      <span class={`badge ${lookOf(kind)}`}>
        {requestTexts.kinds[kind]} {status}
      </span>
    ),
  },
  {
    key: "model",
    head: heads.model,
    sortBy: ({ target, model }) => target ?? model,
    cell: ({ target, model }) =>
      target === null && model === null ? null : <CutText text={target ?? model ?? ""} />,
  },
  {
    key: "why",
    head: heads.why,
    kind: "rest",
    sortBy: ({ error_message, note }) => error_message ?? note,
    cell: ({ error_message, note, attempts }) => (
      <CutText
        text={withCurrency(
          error_message ??
            note ??
            (attempts.length > 1 ? failedTexts.attempts(attempts.length) : ""),
        )}
      />
    ),
  },
  {
    key: "time",
    head: heads.time,
    sortBy: ({ time }) => time,
    cell: ({ time }) => <When at={time} />,
  },
];

export function SessionsTab() {
  const { query } = useApp().router.place.value;
  const path = query.get("path") ?? "";
  const parameters = path === "" ? "" : `?user_path=${encodeURIComponent(path)}`;
  const { polled, refresh } = useListPoll<SessionList>(`/admin/sessions${parameters}`, {
    everyMs: 15_000,
  });
  return (
    <>
      <div class="filters">
        <PathFilter />
        <span class="soft small">{sessionsTexts.about}</span>
      </div>
      <Card>
        <WhenReady polled={polled} onRetry={refresh}>
          {({ sessions }) => (
            <TableOrEmpty
              caption={sessionsTexts.caption}
              rows={sessions}
              isBounded
              isCompact
              keyOf={({ session, user_path }) => `${user_path} ${session}`}
              columns={sessionColumns}
              icon="user"
              none={sessionsTexts.none}
            />
          )}
        </WhenReady>
      </Card>
    </>
  );
}

const sessionHeads = sessionsTexts.columns;

const sessionColumns: readonly Column<SessionItem>[] = [
  {
    key: "session",
    head: sessionHeads.session,
    sortBy: ({ user_path, session }) => `${user_path} ${session}`,
    kind: "lead",
    cell: ({ session, user_path }) => (
      <span class="two-lines">
        <span class="path">{user_path}</span>
        <CutText look="soft small" text={session} />
      </span>
    ),
  },
  {
    key: "brief",
    head: sessionHeads.cost,
    isBrief: true,
    cell: ({ total_cost }) => formatMoney(total_cost),
  },
  {
    key: "state",
    head: sessionHeads.state,
    sortBy: ({ ended_at }) => ended_at,
    cell: ({ running, ended_at }) => (
      <span class="two-lines">
        <span class={running ? "badge good" : "badge"}>
          {running ? sessionsTexts.running : sessionsTexts.over}
        </span>
        <span class="soft small">
          <When at={ended_at} />
        </span>
      </span>
    ),
  },
  {
    key: "key",
    head: sessionHeads.key,
    sortBy: ({ key_name, key_id, agent }) => key_name ?? key_id ?? agent,
    cell: ({ key_name, key_id, agent }) =>
      key_id === null && agent === null ? null : (
        <span class="two-lines">
          {key_id !== null && <CutText text={key_name ?? key_id} />}
          {agent !== null && <CutText look="soft small" text={agent} />}
        </span>
      ),
  },
  {
    key: "models",
    head: sessionHeads.models,
    sortBy: ({ models }) => models.join(),
    cell: ({ models }) => <CutText look="short" text={models.join(", ")} />,
  },
  {
    key: "requests",
    head: sessionHeads.requests,
    sortBy: ({ requests }) => requests,
    kind: "number",
    cell: ({ requests, failovers }) => (
      <span class="two-lines to-right">
        <span>{formatCount(requests)}</span>
        {failovers > 0 && <span class="soft small">{sessionsTexts.failovers(failovers)}</span>}
      </span>
    ),
  },
  {
    key: "tokens",
    head: sessionHeads.tokens,
    sortBy: ({ input_tokens, output_tokens }) => input_tokens + output_tokens,
    kind: "number",
    cell: ({ input_tokens, output_tokens }) => formatShort(input_tokens + output_tokens),
  },
  {
    key: "cost",
    head: sessionHeads.cost,
    sortBy: ({ total_cost }) => total_cost,
    kind: "number",
    cell: ({ total_cost, budget }) => (
      <span class="two-lines to-right">
        <span>{formatMoney(total_cost)}</span>
        {budget !== undefined && (
          <span class={budget.remaining > 0 ? "soft small nowrap" : "bad small nowrap"}>
            {sessionsTexts.left(formatMoney(budget.remaining), formatMoney(budget.amount))}
          </span>
        )}
      </span>
    ),
  },
  {
    key: "error",
    head: sessionHeads.error,
    kind: "rest",
    sortBy: ({ failures }) => failures || null,
    cell: ({ failures, last_error }) =>
      last_error === null ? null : (
        <span class="two-lines">
          <span class="soft small">{sessionsTexts.failures(failures)}</span>
          <CutText text={last_error} />
        </span>
      ),
  },
];
