/** What the holder of a role for a subtree (docs/roles.md) sees of the daemon's status. */
import type { DaemonStatus, SubtreeStatus } from "../api/gateway-status.js";

/** Not the counts, which are of the whole gateway, nor hosts, targets and files. */
export function statusForSubtree({
  version,
  uptime_seconds,
  enabled,
  usage_enabled,
  budgets_enabled,
}: DaemonStatus): SubtreeStatus {
  return { version, uptime_seconds, enabled, usage_enabled, budgets_enabled };
}
