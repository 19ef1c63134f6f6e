/** The requests that wait for room, for GET /admin/queues (docs/reference/admin-api.md). */
import type { EnqueuedItem, QueueItem, QueueList } from "../../shared/api/queue-item.js";
import { itemsPerPage } from "../../shared/bounds.js";
import { modelsField } from "../../shared/domain/limited-models.js";
import { limitInWords } from "../../shared/domain/refusal-message.js";
import { childPath, isPathWithin } from "../../shared/domain/user-path.js";
import { formatMillis } from "../../shared/time.js";
import { type Counter, capsOf, isOff } from "../counters/counter.js";
import type { DaemonState } from "../state.js";
import type { EnqueuedCap } from "../usage/pending-responses.js";
import type { QueueView } from "../waiting/wait-queues.js";
import type { Waiter } from "../waiting/waiters.js";
import { enqueuedUse } from "./list-rules.js";

/** Classes that a queue lists. */
const classesMax = 20;

/**
 * `within`: the subtree whose limits are listed; the queues of other limits aren't counted either.
 */
export function listQueues(
  state: EnqueuedCounts & Pick<DaemonState, "waiters">,
  within: string,
  nowMs: number,
): QueueList {
  const { waiters } = state;
  const { monoMs, queues } = waiters;
  const isIn = ({ oldest: { breach } }: QueueView<Waiter>): boolean =>
    within === "/" || (breach.scope === "user_path" && isPathWithin(breach.subject, within));
  const views = [...queues.views(monoMs)].filter(isIn).sort((a, b) => b.size - a.size);
  return {
    queues: views.slice(0, itemsPerPage).map((view) => queueItem(view, monoMs)),
    waiting: within === "/" ? waiters.size : views.reduce((sum, { size }) => sum + size, 0),
    enqueued: enqueuedItems(state, nowMs).filter(({ user_path: path }) =>
      isPathWithin(path, within),
    ),
    server_time: formatMillis(nowMs),
  };
}

type EnqueuedCounts = Pick<DaemonState, "book" | "pending" | "settings">;

/** The enforced caps on enqueued tokens; with a path, only those that count a batch of the path. */
export function enqueuedItems(
  state: EnqueuedCounts,
  nowMs: number,
  userPath: string | null = null,
): readonly EnqueuedItem[] {
  const { book, pending, settings } = state;
  if (!areEnforced(settings)) return [];
  const paths = userPath === null ? pending.pathsOfBatches(nowMs) : [userPath];
  const counters = paths.flatMap((path) => book.copyBatchCounters(path, nowMs));
  const ruleCounters =
    userPath === null ? book.batchRules.flatMap((rule) => book.fresh(rule).own ?? []) : [];
  const bySubject = new Map(
    [...ruleCounters, ...counters].map((counter) => [counter.subject, counter]),
  );
  return [...bySubject.values()].sort(compareSubjects).flatMap((counter) => {
    const use = isOff(counter.rule, nowMs) ? null : enqueuedUse(counter, nowMs);
    return use === null
      ? []
      : [{ user_path: counter.subject, max_tokens: use.cap, tokens: use.used }];
  });
}

function compareSubjects(a: Counter, b: Counter): number {
  return a.subject < b.subject ? -1 : a.subject > b.subject ? 1 : 0;
}

/** Whether caps on enqueued tokens are enforced: without usage tracking, no batch is counted. */
function areEnforced({ rateLimitsEnabled, usageEnabled }: DaemonState["settings"]): boolean {
  return rateLimitsEnabled && usageEnabled;
}

/** The caps on enqueued tokens that count a batch of the path. */
export function capsOnBatches(
  state: Pick<DaemonState, "book" | "settings">,
  userPath: string,
  nowMs: number,
): readonly EnqueuedCap[] {
  return countersOnBatches(state, userPath, nowMs).flatMap((counter) => {
    const tokens = capsOf(counter, nowMs).measureCaps?.enqueued_tokens;
    return tokens === undefined ? [] : [{ path: counter.subject, tokens }];
  });
}

/** Copies of the counters with the caps of `capsOnBatches`. */
export function countersOnBatches(
  { book, settings }: Pick<DaemonState, "book" | "settings">,
  userPath: string,
  nowMs: number,
): readonly Counter[] {
  if (!areEnforced(settings)) return [];
  return book.copyBatchCounters(userPath, nowMs).filter(({ rule }) => !isOff(rule, nowMs));
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
