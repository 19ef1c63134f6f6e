/**
 * The children of a template that have used most of their limits, as GET
 * /admin/rate-limits/children lists them (docs/admin-api.md). There may be a million, so they are
 * looked at in slices; reading changes nothing.
 */
import type { ChildItem, ChildList } from "../../shared/api/rule-item.js";
import { childrenPerSweep } from "../../shared/bounds.js";
import { formatMillis } from "../../shared/time.js";
import type { Counter, Rule } from "../counters/counter.js";
import { type ListQuery, matches } from "./list-query.js";
import { liveCounts } from "./list-rules.js";

interface ListedChild {
  readonly name: string;
  readonly item: ChildItem;
}

interface Slices {
  readonly nowMs: number;
  yieldToEventLoop(): Promise<void>;
}

/** Up to `limit` children, the fullest first; `after` means nothing here. */
export async function listChildren(
  rule: Rule,
  query: ListQuery,
  { nowMs, yieldToEventLoop }: Slices,
): Promise<ChildList> {
  const { children } = rule;
  const total = children.size;
  const walk = children.walk();
  const fullest = new Map<string, ListedChild>();
  for (let looked = 1; ; looked++) {
    const place = walk.next();
    if (place === -1) break;
    const name = children.name(place);
    if (matches(query, name)) fullest.set(name, listed(children.copy(name)!, nowMs));
    if (fullest.size >= 4 * query.limit) keepFullest(fullest, query.limit);
    if (looked % childrenPerSlice === 0) await yieldToEventLoop();
  }
  keepFullest(fullest, query.limit);
  return {
    children: [...fullest.values()].map(({ item }) => item),
    total,
    server_time: formatMillis(nowMs),
  };
}

/** Some 5 ms of the event loop. */
const childrenPerSlice = childrenPerSweep / 10;

function keepFullest(children: Map<string, ListedChild>, limit: number): void {
  const sorted = [...children.values()].sort(
    (a, b) => b.item.used_ratio - a.item.used_ratio || (a.name < b.name ? -1 : 1),
  );
  children.clear();
  for (const child of sorted.slice(0, limit)) children.set(child.name, child);
}

/** The counter is a copy: its window is advanced to the current time. */
function listed(counter: Counter, nowMs: number): ListedChild {
  const { maxRequests, maxTokens } = counter.rule.definition;
  const live = liveCounts(counter, nowMs);
  const usedRatio = Math.max(
    maxRequests === null ? 0 : live.requests_used / maxRequests,
    maxTokens === null ? 0 : live.tokens_used / maxTokens,
  );
  return {
    name: counter.child,
    item: { subject: counter.subject, ...live, used_ratio: usedRatio },
  };
}
