/**
 * The span of a request (docs/reference/tracing.md): begun once its endpoint is known, ended with
 * what its record says. Names, ids and counts only, as in the log.
 */
import { redactKeys } from "../../../shared/domain/managed-key.js";
import { costUsd } from "../../../shared/domain/money.js";
import { targetName } from "../../../shared/domain/target-name.js";
import type { Gateway } from "../../gateway.js";
import type { Exchange } from "../../http/exchange.js";
import { parseTraceparent } from "../../http/tracing/trace-context.js";
import type { SpanAttributes } from "../../metrics/spans/spans.js";
import type { RequestRecord } from "../../request-record.js";
import { ruleText } from "../logging/log-request.js";

interface TracedRequest {
  readonly exchange: Exchange;
  readonly record: RequestRecord;
}

/** Nothing happens where no spans are made, or not of this request. */
export function beginTrace(
  { tracing }: Pick<Gateway, "tracing">,
  { exchange, record }: TracedRequest,
): void {
  if (tracing === null) return;
  const caller = parseTraceparent(exchange.header("traceparent"));
  const name = `${exchange.method} ${record.route}`;
  record.trace = tracing.begin(name, caller, record.startedMonoMs);
  if (record.trace !== null) record.traceId = record.trace.traceId;
}

export function endTrace(ended: TracedRequest & { readonly endedMonoMs: number }): void {
  const { exchange, record, endedMonoMs } = ended;
  record.trace?.end(requestAttributes(exchange, record), record.status >= 500, endedMonoMs);
}

export function requestAttributes(
  { id, method, path }: Pick<Exchange, "id" | "method" | "path">,
  record: RequestRecord,
): SpanAttributes {
  const { status, outcome, model, target, tries, breach, cost, keyId, waitedMs } = record;
  return {
    "http.request.method": method,
    "http.route": record.route,
    "url.path": redactKeys(path),
    "url.scheme": "http",
    "http.response.status_code": status,
    ...(status >= 500 ? { "error.type": String(status) } : {}),
    "sluice.request_id": id,
    "sluice.outcome": outcome,
    ...(model === null ? {} : { "gen_ai.request.model": model }),
    ...(target === null ? {} : { "sluice.target": targetName(target) }),
    ...(tries === 0 ? {} : { "sluice.tries": tries }),
    ...(waitedMs === 0 ? {} : { "sluice.wait_seconds": waitedMs / 1000 }),
    ...(keyId === "" ? {} : { "sluice.key": keyId }),
    ...(breach === null ? {} : { "sluice.rule": ruleText(breach) }),
    ...(cost === null ? {} : { "sluice.cost_usd": costUsd(cost) }),
  };
}
