/**
 * Groups the refusals of one caller by one rule or budget, since a client that retries would fill
 * the list.
 */
import type { RefusalItem } from "../../../../shared/api/refusal-item.js";

export interface RefusalGroup {
  /** The common key. */
  readonly key: string;
  readonly latest: RefusalItem;
  readonly count: number;
}

/** `refusals` is sorted newest first, and so are the groups. */
export function refusalGroups(
  refusals: readonly RefusalItem[],
  groupsMax: number,
): readonly RefusalGroup[] {
  const groups = new Map<string, RefusalGroup>();
  for (const refusal of refusals) {
    const key = keyOf(refusal);
    const existing = groups.get(key);
    if (existing !== undefined) groups.set(key, { ...existing, count: existing.count + 1 });
    else if (groups.size < groupsMax) groups.set(key, { key, latest: refusal, count: 1 });
  }
  return [...groups.values()];
}

/** The key of a refusal, without its message, which contains a growing amount. */
function keyOf(refusal: RefusalItem): string {
  const limit = limitOf(refusal);
  return JSON.stringify([
    refusal.user_path,
    refusal.model,
    refusal.dimension,
    limit?.scope,
    limit?.subject,
    limit?.period_seconds,
    limit?.models,
  ]);
}

/** Undefined if it isn't shown. */
function limitOf(refusal: RefusalItem) {
  if ("rule" in refusal) return refusal.rule;
  return "budget" in refusal ? refusal.budget : undefined;
}
