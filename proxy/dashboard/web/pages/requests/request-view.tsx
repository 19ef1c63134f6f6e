/** One request by its id: how it ended and why, its attempts, and its usage. */
import type { ComponentChildren } from "preact";
import type { RecordItem } from "../../../../../shared/api/record-item.js";
import type { AttemptItem, RequestDetail } from "../../../../../shared/api/request-item.js";
import { feesOf, usdPerMillion } from "../../../../../shared/domain/paid-price.js";
import { hrefOf } from "../../data/router.js";
import { formatCount, formatMoment, formatMoney, withCurrency } from "../../logic/numbers.js";
import { ExplainedLimits } from "../../parts/limits/explained-limits.js";
import { Card, WhenReady } from "../../parts/page.js";
import { type Column, Table } from "../../parts/table.js";
import { useListPoll } from "../../parts/use-poll.js";
import { requestTexts as texts } from "../../texts/requests-texts.js";

export function RequestView({ id }: { readonly id: string }) {
  const { polled, refresh } = useListPoll<RequestDetail>(
    `/admin/requests/${encodeURIComponent(id)}`,
    { everyMs: 0 },
  );
  return (
    <WhenReady polled={polled} onRetry={refresh}>
      {(detail) => (
        <div class="stack">
          <Card title={id} note={<KindBadge detail={detail} />}>
            <dl class="facts card-body">
              {factsOf(detail).map(([name, value]) => (
                <>
                  <dt key={name}>{name}</dt>
                  <dd class="wrap">{value}</dd>
                </>
              ))}
            </dl>
          </Card>
          {detail.request !== null && detail.request.attempts.length > 0 && (
            <Card title={texts.attempts}>
              <Table
                caption={texts.attempts}
                rows={detail.request.attempts.map((attempt, index) => ({
                  ...attempt,
                  index,
                  used: recordsOf(attempt, detail.records),
                }))}
                keyOf={({ index }) => String(index)}
                columns={attemptColumns}
              />
            </Card>
          )}
          {detail.records.length > 0 && (
            <Card title={texts.records}>
              <Table
                caption={texts.records}
                rows={detail.records}
                keyOf={({ id }) => id}
                columns={recordColumns}
              />
            </Card>
          )}
          {detail.limits !== null && (
            <div class="stack explained">
              <ExplainedLimits explanation={detail.limits} note={texts.limitsNow} />
            </div>
          )}
        </div>
      )}
    </WhenReady>
  );
}

function KindBadge({ detail: { request, records, refusal } }: { readonly detail: RequestDetail }) {
  const kind = request?.kind ?? (refusal === null ? "answered" : "refused");
  const status = request?.status ?? records[0]?.status;
  return (
    <span class={`badge ${kind === "answered" ? "good" : kind === "failed" ? "bad" : "warn"}`}>
      {texts.kinds[kind]}
      {status === undefined ? "" : ` (${status})`}
    </span>
  );
}

type Fact = readonly [name: string, value: ComponentChildren];

function factsOf({ request_id, request, records, refusal }: RequestDetail): readonly Fact[] {
  const record = records.find(({ status }) => status !== 102) ?? records[0];
  const path = request?.user_path ?? record?.user_path ?? refusal?.user_path;
  const model = request?.model ?? record?.requested_model ?? refusal?.model;
  const session = request?.session ?? record?.session;
  const ms = request?.duration_ms ?? record?.latency_ms;
  const first = request?.first_byte_ms ?? record?.first_byte_ms;
  const moment = request?.time ?? record?.time ?? refusal?.refused_at;
  const target = request?.target ?? (record === undefined ? null : targetOf(record));
  const names = texts.facts;
  const error = request === null ? "" : withCurrency(errorText(request));
  const refusedBy = withCurrency(refusal?.message ?? request?.rule ?? "");
  const note = withCurrency(request?.note ?? "");
  const explained =
    refusal === null ? null : <a href={hrefOf("explain", { request_id })}>{refusedBy}</a>;
  const all: readonly (readonly [string, ComponentChildren])[] = [
    [names.time, moment === undefined ? null : formatMoment(moment)],
    // A sentence once.
    [names.why, explained !== null && error.endsWith(refusedBy) ? null : error],
    [names.refusedBy, explained ?? (error.includes(refusedBy) ? null : refusedBy)],
    [names.cutBy, record?.cut_by],
    [names.note, error.includes(note) || refusedBy.includes(note) ? null : note],
    [names.path, path],
    [names.key, record?.key_name ?? request?.key_id ?? record?.key_id],
    [names.model, model],
    [names.target, target],
    [names.endpoint, request === null ? record?.endpoint : `${request.method} ${request.path}`],
    [names.took, ms === undefined ? null : `${formatCount(ms)} ms`],
    [names.firstByte, first == null ? null : `${formatCount(first)} ms`],
    [names.dropped, request === null ? null : request.dropped.join(", ")],
    [names.session, session],
    [names.agent, request?.agent],
    [names.client, request?.client],
    [names.trace, request?.trace_id],
  ];
  return all.filter(([, value]) => value !== null && value !== undefined && value !== "");
}

function targetOf({ provider, model }: RecordItem): string {
  return model === null ? provider : `${provider}/${model}`;
}

interface WithError {
  readonly error_code: string | null;
  readonly error_message: string | null;
}

function errorText({ error_code, error_message }: WithError): string {
  return [error_code, error_message].filter((text) => text !== null).join(": ");
}

const heads = texts.columns;

/** The usage records of an attempt, which have the id that the provider gave it. */
function recordsOf(
  { provider_request_id: id }: AttemptItem,
  records: readonly RecordItem[],
): readonly RecordItem[] {
  return id === null ? [] : records.filter((record) => record.provider_request_id === id);
}

interface UsedAttempt extends AttemptItem {
  readonly used: readonly RecordItem[];
}

const attemptColumns: readonly Column<UsedAttempt>[] = [
  {
    key: "target",
    head: heads.target,
    kind: "lead",
    cell: ({ target, retry }) => (
      <span class="two-lines">
        <span class="wrap">{target}</span>
        {retry > 0 && <span class="soft small">{texts.retry(retry)}</span>}
      </span>
    ),
  },
  {
    key: "status",
    head: heads.status,
    cell: ({ status, reason }) => (
      <span class={`badge ${reason === null ? "good" : "bad"}`}>{status ?? texts.noAnswer}</span>
    ),
  },
  {
    key: "why",
    head: heads.why,
    cell: (attempt) => (
      <span class="wrap">
        {attempt.reason === null ? texts.answered : errorText(attempt) || attempt.reason}
      </span>
    ),
  },
  {
    key: "took",
    head: heads.took,
    kind: "number",
    cell: ({ duration_ms }) => `${formatCount(duration_ms)} ms`,
  },
  {
    key: "tokens",
    head: heads.tokens,
    kind: "number",
    cell: ({ used }) =>
      used.length === 0
        ? null
        : formatCount(used.reduce((sum, record) => sum + record.total_tokens, 0)),
  },
  {
    key: "id",
    head: heads.providersId,
    cell: ({ provider_request_id }) =>
      provider_request_id === null ? null : <code class="wrap">{provider_request_id}</code>,
  },
];

interface CostOfTokensProps {
  readonly usd: number | null;
  readonly tokens: number;
}

/** The cost of these tokens, and the price at the time of the request, which may have changed. */
function CostOfTokens({ usd, tokens }: CostOfTokensProps) {
  const perMillion = usdPerMillion(usd, tokens);
  return perMillion === null || usd === null ? null : (
    <span class="soft small">{texts.at(formatMoney(usd), formatMoney(perMillion))}</span>
  );
}

const recordColumns: readonly Column<RecordItem>[] = [
  {
    key: "target",
    head: heads.target,
    kind: "lead",
    cell: (record) => (
      <span class="two-lines">
        <span class="wrap">{targetOf(record)}</span>
        {record.status === 102 && <span class="soft small">{texts.part}</span>}
      </span>
    ),
  },
  {
    key: "input",
    head: heads.input,
    kind: "number",
    cell: ({ input_tokens, input_cost, cached_input_tokens, cache_write_input_tokens }) => (
      <span class="two-lines to-right">
        <span>{formatCount(input_tokens)}</span>
        <CostOfTokens usd={input_cost} tokens={input_tokens} />
        {cached_input_tokens + cache_write_input_tokens > 0 && (
          <span class="soft small">
            {texts.cached(formatCount(cached_input_tokens), formatCount(cache_write_input_tokens))}
          </span>
        )}
      </span>
    ),
  },
  {
    key: "output",
    head: heads.output,
    kind: "number",
    cell: ({ output_tokens, output_cost }) => (
      <span class="two-lines to-right">
        <span>{formatCount(output_tokens)}</span>
        <CostOfTokens usd={output_cost} tokens={output_tokens} />
      </span>
    ),
  },
  {
    key: "cost",
    head: heads.cost,
    kind: "number",
    cell: (record) => (
      <span class="two-lines to-right">
        <span>{record.total_cost === null ? texts.unpriced : formatMoney(record.total_cost)}</span>
        {record.cost_source !== null && (
          <span class="soft small">{texts.price(record.cost_source, record.price_list)}</span>
        )}
        {feesOf(record) > 0 && (
          <span class="soft small">{texts.fees(formatMoney(feesOf(record)))}</span>
        )}
      </span>
    ),
  },
  {
    key: "id",
    head: heads.providersId,
    cell: ({ provider_request_id }) =>
      provider_request_id === null ? null : <code class="wrap">{provider_request_id}</code>,
  },
];
