/** What `sluice request` prints of a request. Pure. */

import type { RecordItem } from "../../shared/api/record-item.js";
import type { AttemptItem, RequestDetail } from "../../shared/api/request-item.js";
import { feesOf, usdPerMillion } from "../../shared/domain/paid-price.js";
import { formatCount, plainUsd, withCurrency } from "../text/number-text.js";
import { type Column, renderFields } from "../text/table.js";

type Field = readonly [name: string, value: string];

export function renderRequest(detail: RequestDetail): string {
  const { request_id: id, request, records, refusal } = detail;
  const last = records.find(({ status }) => status !== 102) ?? records[0];
  const status = request?.status ?? last?.status;
  const ended = (status ?? 200) < 400 ? "answered" : status === 499 ? "canceled" : "failed";
  const ending = request?.kind ?? (refusal === null ? ended : "refused");
  const error = errorOf(request?.error_code, request?.error_message);
  const refusedBy = refusal === null ? (request?.rule ?? "") : withCurrency(refusal.message);
  const fields: Field[] = [];
  const add = (name: string, value: string | null | undefined): void => {
    if (value !== null && value !== undefined && value !== "") fields.push([name, value]);
  };
  add("time", request?.time ?? last?.time ?? refusal?.refused_at);
  add("user path", request?.user_path ?? last?.user_path ?? refusal?.user_path);
  add("key", withName(request?.key_id ?? last?.key_id ?? refusal?.key, last?.key_name));
  add("endpoint", request === null ? last?.endpoint : `${request.method} ${request.path}`);
  add("client", request?.client);
  add("agent", request?.agent);
  add("session", request?.session ?? last?.session);
  add("trace id", request?.trace_id);
  add("model asked", request?.model ?? last?.requested_model ?? refusal?.model);
  add("target", request?.target ?? (last === undefined ? null : targetOf(last)));
  add("error", error);
  // The error may already contain these sentences.
  if (!error.includes(refusedBy)) add("refused by", refusedBy);
  if (!error.includes(request?.note ?? "")) add("note", request?.note);
  add("dropped", request?.dropped.join(", "));
  add("took", milliseconds(request?.duration_ms ?? last?.latency_ms));
  add("first byte", milliseconds(request?.first_byte_ms ?? last?.first_byte_ms));
  for (const record of records) {
    const isPart = record.status === 102;
    const name =
      record === last ? "" : isPart ? "charged earlier: " : `attempt with ${record.status}: `;
    add(`${name}tokens`, tokensOf(record));
    add(`${name}cost`, costOf(record));
    add(`${name}cut by`, record.cut_by);
    add(`${name}provider's id`, record.provider_request_id);
  }
  return `request ${id}: ${ending}${status === undefined ? "" : ` (${status})`}\n${renderFields(fields)}`;
}

function withName(id: string | null | undefined, name: string | null | undefined): string | null {
  if (id == null) return null;
  return name == null ? id : `${id} (${name})`;
}

function targetOf({ provider, model }: RecordItem): string {
  return model === null ? provider : `${provider}/${model}`;
}

function errorOf(code: string | null | undefined, message: string | null | undefined): string {
  return [code, message].filter((text) => text != null).join(": ");
}

function milliseconds(ms: number | null | undefined): string | null {
  return ms == null ? null : `${formatCount(ms)} ms`;
}

function tokensOf(record: RecordItem): string {
  const { input_tokens, output_tokens, cached_input_tokens, cache_write_input_tokens } = record;
  const kinds: readonly (readonly [number, string])[] = [
    [input_tokens, "input"],
    [cached_input_tokens, "of them cached"],
    [cache_write_input_tokens, "of them written to the cache"],
    [output_tokens, "output"],
  ];
  const counted = kinds
    .filter(([count], index) => count > 0 || index === 0 || index === 3)
    .map(([count, name]) => `${formatCount(count)} ${name}`);
  return counted.join(", ") + (record.estimated ? " (estimated)" : "");
}

function costOf(record: RecordItem): string {
  const { total_cost, input_cost, output_cost, cost_source, price_list } = record;
  if (total_cost === null) return "no price";
  const part = (name: string, usd: number | null, tokens: number): string => {
    const perMillion = usdPerMillion(usd, tokens);
    const price = perMillion === null ? "" : ` at ${plainUsd(perMillion)} per million`;
    return `${name} ${plainUsd(usd)}${price}`;
  };
  const fees = feesOf(record);
  const parts = [
    part("input", input_cost, record.input_tokens),
    part("output", output_cost, record.output_tokens),
    ...(fees > 0 ? [`fees ${plainUsd(fees)}`] : []),
  ].join(", ");
  const source = cost_source === null ? "" : `; price: ${cost_source}`;
  return `${plainUsd(total_cost)} (${parts}${source}${price_list === null ? "" : ` of ${price_list}`})`;
}

export const attemptColumns: readonly Column<AttemptItem>[] = [
  { title: "TARGET", align: "left", text: ({ target }) => target },
  {
    title: "STATUS",
    align: "right",
    text: ({ status }) => (status === null ? "-" : String(status)),
  },
  { title: "TOOK", align: "right", text: ({ duration_ms }) => `${formatCount(duration_ms)} ms` },
  { title: "RETRY", align: "right", text: ({ retry }) => String(retry) },
  {
    title: "DELIVERED",
    detail: true,
    align: "left",
    text: ({ delivered }) => (delivered ? "yes" : "no"),
  },
  {
    title: "PROVIDER'S ID",
    detail: true,
    align: "left",
    text: (attempt) => attempt.provider_request_id ?? "-",
  },
  {
    title: "WHY",
    wraps: true,
    align: "left",
    text: ({ reason, error_code, error_message }) =>
      reason === null ? "answered" : errorOf(error_code, error_message) || reason,
  },
];
