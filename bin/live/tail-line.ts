/** One line for each request or refusal of `sluice tail`, and which of them are shown. Pure. */
import { formatUsd, usdDecimals, withCurrency } from "../text/number-text.js";
import { isAtOrBelow } from "./in-flight-table.js";
import type { TailEvent } from "./tail-cursor.js";

export interface TailFilter {
  readonly path: string;
  /** In lower case; a part of a model's name, executed or asked for. */
  readonly model: string | null;
  /** `429`, or `5xx`. */
  readonly status: string | null;
  readonly refusedOnly: boolean;
  readonly slowMs: number | null;
}

export function isShown(event: TailEvent, filter: TailFilter): boolean {
  const { path, model, status, refusedOnly, slowMs } = filter;
  const isRefusal = event.kind === "refusal";
  if (refusedOnly && !isRefusal) return false;
  if (slowMs !== null && (isRefusal || event.record.latency_ms < slowMs)) return false;
  if (!isAtOrBelow(isRefusal ? event.refusal.user_path : event.record.user_path, path))
    return false;
  if (status !== null && !hasStatus(isRefusal ? 429 : event.record.status, status)) return false;
  return model === null || modelsOf(event).some((name) => name.toLowerCase().includes(model));
}

function hasStatus(status: number, filter: string): boolean {
  return filter.endsWith("xx") ? String(status)[0] === filter[0] : String(status) === filter;
}

function modelsOf(event: TailEvent): readonly string[] {
  if (event.kind === "refusal") return [event.refusal.model ?? "", ...event.refusal.targets];
  const { provider, model, requested_model: requested } = event.record;
  return [`${provider}/${model ?? "-"}`, requested ?? ""];
}

/** Times are in UTC. No name has control characters: names are checked where they come in. */
export function tailLine(event: TailEvent): string {
  const time = `${event.at.slice(11, 19)}Z`;
  if (event.kind === "refusal") {
    const { user_path: path, model, message, retry_after: wait } = event.refusal;
    const again = wait === null ? "" : ` (${wait}s)`;
    return `${time}  ${wait === null ? 403 : 429}  refused  ${path}  ${model ?? "-"}  ${withCurrency(message)}${again}`;
  }
  const { record } = event;
  const cost = record.total_cost;
  return [
    time,
    String(record.status),
    seconds(record.latency_ms).padStart(7),
    record.user_path,
    `${record.provider}/${record.model ?? "-"}`,
    `in ${record.input_tokens} out ${record.output_tokens}`,
    cost === null ? "-" : formatUsd(cost, usdDecimals(cost)),
    ...(record.key_id === null ? [] : [record.key_id]),
    record.request_id,
  ].join("  ");
}

function seconds(ms: number): string {
  return ms < 10_000 ? `${(ms / 1000).toFixed(2)}s` : `${Math.round(ms / 1000)}s`;
}

/** For `--json`: one object a line. */
export function tailJson(event: TailEvent): string {
  return JSON.stringify(
    event.kind === "refusal"
      ? { kind: event.kind, ...event.refusal }
      : { kind: event.kind, ...event.record },
  );
}
