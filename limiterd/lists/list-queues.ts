/** The requests that wait for room, for GET /admin/queues (docs/reference/admin-api.md). */
import type { QueueItem, QueueList } from "../../shared/api/queue-item.js";
import { itemsPerPage } from "../../shared/bounds.js";
import { modelsField } from "../../shared/domain/limited-models.js";
import { limitInWords } from "../../shared/domain/refusal-message.js";
import { childPath } from "../../shared/domain/user-path.js";
import { formatMillis } from "../../shared/time.js";
import type { QueueView } from "../waiting/wait-queues.js";
import type { Waiter, Waiters } from "../waiting/waiters.js";

/** Classes that a queue lists. */
const classesMax = 20;

export function listQueues(waiters: Waiters, nowMs: number): QueueList {
  const { monoMs, queues } = waiters;
  const views = [...queues.views(monoMs)].sort((a, b) => b.size - a.size);
  return {
    queues: views.slice(0, itemsPerPage).map((view) => queueItem(view, monoMs)),
    waiting: waiters.size,
    server_time: formatMillis(nowMs),
  };
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
    expected_seconds: wholeSeconds(view.expectedMs),
  };
}

/** Null if the wait isn't known. */
export function wholeSeconds(ms: number | null): number | null {
  return ms === null ? null : Math.ceil(ms / 1000);
}
