/** A usage record as exports and lists show it, and the filter by path and time. */
import type { RecordItem } from "../../shared/api/record-item.js";
import { keyNumber } from "../../shared/domain/managed-key.js";
import { costUsd } from "../../shared/domain/money.js";
import { formatMillis } from "../../shared/time.js";
import { callsAsTexts } from "../../shared/usage/tool-calls.js";
import { fieldsOfDetails, noDetailCounts } from "../../shared/usage/usage-details.js";
import type { DaemonState } from "../state.js";
import type { ExportPage } from "../usage/usage-query.js";
import type { UsageRecord } from "../usage/usage-records.js";

/** Whether a record is at a path or below it and ended in this time range. */
export function isWithin(
  { atMs, userPath }: UsageRecord,
  { fromMs, beforeMs, userPath: path }: Pick<ExportPage, "fromMs" | "beforeMs" | "userPath">,
): boolean {
  if ((fromMs !== null && atMs < fromMs) || (beforeMs !== null && atMs >= beforeMs)) return false;
  return path === "/" || userPath === path || userPath.startsWith(`${path}/`);
}

/**
 * Costs are US dollars, null without a price. The key's name and labels are the current ones; a
 * deleted key has no name.
 */
export function recordItem(
  { keys, labelsOf }: Pick<DaemonState, "keys" | "labelsOf">,
  id: string,
  record: UsageRecord,
): RecordItem {
  const { keyId, requestedModel, details, atMost, repriced, corrects } = record;
  const repricedAtMs = repriced?.atMs ?? corrects?.atMs;
  const number = keyNumber(keyId);
  const dollars = (cost: number | null): number | null => (cost === null ? null : costUsd(cost));
  return {
    id,
    time: formatMillis(record.atMs),
    request_id: record.requestId,
    user_path: record.userPath,
    key_id: record.keyId === "" ? null : record.keyId,
    provider: record.provider,
    provider_type: record.providerType,
    model: record.model === "" ? null : record.model,
    endpoint: record.endpoint,
    status: record.status,
    input_tokens: record.inputTokens,
    output_tokens: record.outputTokens,
    total_tokens: record.inputTokens + record.outputTokens,
    cached_input_tokens: record.cachedInputTokens,
    cache_write_input_tokens: record.cacheWriteInputTokens,
    input_cost: dollars(record.inputCost),
    output_cost: dollars(record.outputCost),
    total_cost: dollars(record.totalCost),
    rewrite_tokens_saved: record.rewriteTokensSaved,
    rewrite_cost_saved: dollars(record.rewriteCostSaved),
    cache_hit: record.cacheHit,
    estimated: record.estimated,
    latency_ms: record.latencyMs,
    first_byte_ms: record.firstByteMs,
    requested_model: requestedModel || record.model || null,
    key_name: number === null ? null : (keys.byNumber(number)?.name ?? null),
    labels: labelsOf(keyId),
    service_tier: details === null ? null : details.serviceTier,
    region: details === null ? null : details.region,
    ...fieldsOfDetails(details?.counts ?? noDetailCounts),
    tokens_at_most: atMost === null ? null : atMost.tokens,
    cost_at_most: atMost === null ? null : dollars(atMost.cost),
    repriced_cost: dollars(repriced?.totalCost ?? null),
    repriced_at: repricedAtMs === undefined ? null : formatMillis(repricedAtMs),
    corrects: corrects?.id ?? null,
    session: record.session === "" ? null : record.session,
    cost_source: record.costSource ?? null,
    price_list: record.priceList ?? null,
    provider_request_id: record.providerRequestId ?? null,
    provider_key: record.providerKey ?? null,
    loop: record.loop ?? 0,
    tool_calls: callsAsTexts(record.toolCalls),
    cut_by: record.cutBy ?? null,
  };
}
