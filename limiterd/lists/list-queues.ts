/** The requests that wait for room, for GET /admin/queues (docs/reference/admin-api.md). */
import type { EnqueuedItem, QueueItem, QueueList } from "../../shared/api/queue-item.js";
import { itemsPerPage } from "../../shared/bounds.js";
import { modelsField } from "../../shared/domain/limited-models.js";
import { limitInWords } from "../../shared/domain/refusal-message.js";
import { childPath, isPathWithin } from "../../shared/domain/user-path.js";
import { formatMillis } from "../../shared/time.js";
import type { DaemonState } from "../state.js";
import type { QueueView } from "../waiting/wait-queues.js";
import type { Waiter } from "../waiting/waiters.js";

/** Classes that a queue lists. */
const classesMax = 20;

export function listQueues(
  state: EnqueuedCounts & Pick<DaemonState, "waiters">,
  nowMs: number,
): QueueList {
  const { waiters } = state;
  const { monoMs, queues } = waiters;
  const views = [...queues.views(monoMs)].sort((a, b) => b.size - a.size);
  return {
    queues: views.slice(0, itemsPerPage).map((view) => queueItem(view, monoMs)),
    waiting: waiters.size,
    enqueued: enqueuedItems(state, nowMs),
    server_time: formatMillis(nowMs),
  };
}

type EnqueuedCounts = Pick<DaemonState, "pending" | "settings">;

/** The enforced caps on enqueued tokens; with a path, those that a batch of it meets. */
export function enqueuedItems(
  { pending, settings }: EnqueuedCounts,
  nowMs: number,
  userPath: string | null = null,
): readonly EnqueuedItem[] {
  return enforcedCaps(settings)
    .filter(({ path }) => userPath === null || isPathWithin(userPath, path))
    .map(({ path, tokens }) => ({
      user_path: path,
      max_tokens: tokens,
      tokens: pending.enqueuedAt(path, nowMs),
    }));
}

/** Without usage, no batch is counted. */
export function enforcedCaps({
  rateLimitsEnabled,
  usageEnabled,
  enqueuedCaps,
}: DaemonState["settings"]): DaemonState["settings"]["enqueuedCaps"] {
  return rateLimitsEnabled && usageEnabled ? enqueuedCaps : [];
}

function queueItem(view: QueueView<Waiter>, monoMs: number): QueueItem {
  const { breach } = view.oldest;
  const { scope, subject, periodSeconds, dimension, models } = breach;
  const above = scope === "user_path" ? subject : "/";
  return {
    limit: limitInWords(breach),
    scope,
    subject,
    period_seconds: periodSeconds,
    dimension,
    ...modelsField(models),
    waiting: view.size,
    classes: view.classes
      .toSorted((a, b) => b.waiting - a.waiting)
      .slice(0, classesMax)
      .map(({ name, waiting }) => ({ user_path: childPath(above, name), waiting })),
    oldest_seconds: Math.max(0, Math.floor((monoMs - view.oldest.arrivedMs) / 1000)),
    expected_seconds: expectedSeconds(view.expectedMs),
  };
}

/** Null if the wait isn't known. */
export function expectedSeconds(ms: number | null): number | null {
  return ms === null ? null : Math.ceil(ms / 1000);
}
