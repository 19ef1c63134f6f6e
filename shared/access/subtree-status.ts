/**
 * The part of the daemon's status that the holder of a role for a subtree (docs/roles.md) may see.
 */
import type { DaemonStatus, SubtreeStatus } from "../api/gateway-status.js";

/** Leaves out the counts, which are about the whole gateway, and hosts, targets and files. */
export function statusForSubtree({
  version,
  uptime_seconds,
  enabled,
  usage_enabled,
  budgets_enabled,
}: DaemonStatus): SubtreeStatus {
  return { version, uptime_seconds, enabled, usage_enabled, budgets_enabled };
}
