/**
 * The problems of the gateway that the dashboard warns of, from the daemon's status and the proxy's
 * health. Not here: their texts (`texts/overview-texts.ts`).
 */
import type { DaemonStatus, Health } from "../../../../shared/api/gateway-status.js";

export type Trouble =
  | { readonly kind: "store" | "cluster"; readonly reason: string }
  | { readonly kind: "unsettled"; readonly count: number }
  | { readonly kind: "inert"; readonly names: readonly string[]; readonly count: number }
  | { readonly kind: "limits-off" }
  | { readonly kind: "usage-off" }
  | { readonly kind: "budgets-off" }
  | { readonly kind: "dropped"; readonly count: number }
  | { readonly kind: "older-proxies"; readonly count: number }
  | { readonly kind: "targets"; readonly names: readonly string[] }
  | { readonly kind: "files" };

/** A few settles wait even during normal operation. */
const unsettledMax = 100;

/** `health`: the answering proxy's; null if unknown. */
export function troublesOf(status: DaemonStatus, health: Health | null): readonly Trouble[] {
  const troubles: Trouble[] = [];
  const { store } = status;
  if (store.failing !== null) troubles.push({ kind: "store", reason: store.failing });
  const clusterFailing = health?.limiter?.cluster_failing ?? null;
  if (clusterFailing !== null) troubles.push({ kind: "cluster", reason: clusterFailing });
  if (!status.enabled) troubles.push({ kind: "limits-off" });
  if (!status.usage_enabled) troubles.push({ kind: "usage-off" });
  else if (!status.budgets_enabled) troubles.push({ kind: "budgets-off" });
  const inert = status.inert_rules + status.inert_budgets;
  if (inert > 0) troubles.push({ kind: "inert", names: status.inert, count: inert });
  if (status.dropped_records > 0) troubles.push({ kind: "dropped", count: status.dropped_records });
  if (status.older_proxies > 0)
    troubles.push({ kind: "older-proxies", count: status.older_proxies });
  const unsettled = health?.limiter?.unsettled ?? 0;
  if (unsettled > unsettledMax) troubles.push({ kind: "unsettled", count: unsettled });
  const { open_targets: open } = status;
  if (open.length > 0) troubles.push({ kind: "targets", names: open });
  if (health?.capacity?.file_descriptors_exhausted === true) troubles.push({ kind: "files" });
  return troubles;
}
