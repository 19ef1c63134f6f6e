/** The table of the requests that wait for room. Pure. */
import type { EnqueuedItem, QueueItem, QueueList } from "../../shared/api/queue-item.js";
import { formatDuration } from "../text/duration.js";
import { type Column, plainView, renderTable, type TableView } from "../text/table.js";

const columns: readonly Column<QueueItem>[] = [
  { title: "LIMIT", align: "left", text: ({ limit }) => limit },
  { title: "WAITING", align: "right", text: ({ waiting }) => String(waiting) },
  { title: "LONGEST", align: "right", text: (queue) => formatDuration(queue.oldest_seconds) },
  {
    title: "EXPECTED",
    align: "right",
    text: ({ expected_seconds: seconds }) => (seconds === null ? "-" : formatDuration(seconds)),
  },
  {
    title: "CLASSES",
    wraps: true,
    align: "left",
    text: ({ classes }) =>
      classes.map((ofPath) => `${ofPath.user_path} ${ofPath.waiting}`).join(", "),
  },
];

/** One sentence when there is nothing to show. */
export function renderQueues(
  { queues, enqueued = [] }: ShownQueues,
  view: TableView = plainView,
): string {
  const waiting = queues.length === 0 ? "no request waits" : renderTable(columns, queues, view);
  return [waiting, ...enqueuedLines(enqueued)].join("\n");
}

/** An older daemon doesn't tell what is enqueued. */
type ShownQueues = Pick<QueueList, "queues"> & Partial<Pick<QueueList, "enqueued">>;

/** `batches of /team: 1200 of 2000000 tokens are enqueued`. */
export function enqueuedLines(items: readonly EnqueuedItem[]): readonly string[] {
  return items.map(
    ({ user_path, tokens, max_tokens }) =>
      `batches of ${user_path}: ${tokens} of ${max_tokens} tokens are enqueued`,
  );
}
