/**
 * The fullest children of a rule's template, as GET /admin/rate-limits/children lists them
 * (docs/admin-api.md). Reading changes nothing.
 */
import type { ChildItem, ChildList } from "../../shared/api/rule-item.js";
import { formatMillis } from "../../shared/time.js";
import type { ChildCounters, Counter, Rule } from "../counters/counter.js";
import { fullestChildren, type Slices } from "./fullest-children.js";
import type { ListQuery } from "./list-query.js";
import { liveCounts } from "./list-rules.js";

/** Up to `limit` children, the fullest first; `after` means nothing here. */
export async function listChildren(
  { children }: Rule,
  query: ListQuery,
  slices: Slices,
): Promise<ChildList> {
  const { nowMs } = slices;
  const total = children.size;
  const items = await fullestChildren(
    namesOf(children),
    query,
    (name) => {
      const item = childItem(children.copy(name)!, nowMs);
      return { usedRatio: item.used_ratio, item };
    },
    slices,
  );
  return { children: items, total, server_time: formatMillis(nowMs) };
}

function* namesOf(children: ChildCounters): Generator<string> {
  const walk = children.walk();
  for (let place = walk.next(); place !== -1; place = walk.next()) yield children.name(place);
}

/** The counter is a copy: its window is advanced to the current time. */
function childItem(counter: Counter, nowMs: number): ChildItem {
  const { maxRequests, maxTokens } = counter.rule.definition;
  const live = liveCounts(counter, nowMs);
  const usedRatio = Math.max(
    maxRequests === null ? 0 : live.requests_used / maxRequests,
    maxTokens === null ? 0 : live.tokens_used / maxTokens,
  );
  return { subject: counter.subject, ...live, used_ratio: usedRatio };
}
