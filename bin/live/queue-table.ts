/** The table of the requests that wait for room. Pure. */
import type { QueueItem } from "../../shared/api/queue-item.js";
import { formatDuration } from "../text/duration.js";
import { type Column, renderTable } from "../text/table.js";

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
    align: "left",
    text: ({ classes }) => classes.map((each) => `${each.user_path} ${each.waiting}`).join(", "),
  },
];

/** One sentence when there is nothing to show. */
export function renderQueues(queues: readonly QueueItem[]): string {
  return queues.length === 0 ? "no request waits" : renderTable(columns, queues);
}
