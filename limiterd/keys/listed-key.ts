/** A managed key as the admin API lists it (docs/reference/admin-api.md). */
import type { KeyItem } from "../../shared/api/key-item.js";
import { formatSeconds } from "../../shared/time.js";
import { keyStatus, type ManagedKey, workingOldSecrets } from "./key-ring.js";

/** A key as it is listed: without anything that authenticates. */
export function listedKey(key: ManagedKey, nowMs: number): KeyItem {
  const status = keyStatus(key, nowMs);
  return {
    id: key.id,
    name: key.name,
    user_path: key.userPath,
    labels: key.labels,
    models: key.models,
    redacted_value: key.redacted,
    status,
    active: status === "active",
    created_at: formatSeconds(key.createdAtMs),
    expires_at: secondsOrNull(key.expiresAtMs),
    deactivated_at: secondsOrNull(key.deactivatedAtMs),
    last_used_at: secondsOrNull(key.lastUsedAtMs),
    old_secrets: workingOldSecrets(key, nowMs).map((old) => ({
      redacted_value: old.redacted,
      expires_at: formatSeconds(old.untilMs),
      last_used_at: secondsOrNull(old.lastUsedAtMs),
    })),
  };
}

function secondsOrNull(ms: number | null): string | null {
  return ms === null ? null : formatSeconds(ms);
}
