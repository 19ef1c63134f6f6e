/** The requests that wait for room, and the tokens of batches. Empty if there are none. */
import type { EnqueuedItem, QueueItem, QueueList } from "../../../../../shared/api/queue-item.js";
import { formatCount, formatDuration } from "../../logic/numbers.js";
import { Card } from "../../parts/page.js";
import { type Column, Table } from "../../parts/table.js";
import { useListPoll } from "../../parts/use-poll.js";
import { queuesTexts as texts } from "../../texts/limits-texts.js";

export function Queues() {
  const { polled } = useListPoll<QueueList>("/admin/queues");
  if (polled.body === null) return null;
  const { queues, waiting, enqueued } = polled.body;
  return (
    <>
      {queues.length > 0 && (
        <Card title={texts.title} note={texts.waiting(formatCount(waiting))}>
          <Table
            caption={texts.title}
            rows={queues}
            keyOf={({ limit }) => limit}
            columns={columns}
          />
        </Card>
      )}
      {enqueued.length > 0 && (
        <Card title={texts.enqueued.title}>
          <Table
            caption={texts.enqueued.title}
            rows={enqueued}
            keyOf={({ user_path }) => user_path}
            columns={enqueuedColumns}
          />
        </Card>
      )}
    </>
  );
}

const heads = texts.columns;

const columns: readonly Column<QueueItem>[] = [
  {
    key: "limit",
    head: heads.limit,
    kind: "lead",
    sortBy: ({ limit }) => limit,
    cell: ({ limit }) => <span class="wrap">{limit}</span>,
  },
  {
    key: "classes",
    head: heads.classes,
    cell: ({ classes }) => (
      <span class="badges">
        {classes.map(({ user_path, waiting }) => (
          <span class="badge" key={user_path}>
            {`${user_path} ${formatCount(waiting)}`}
          </span>
        ))}
      </span>
    ),
  },
  {
    key: "waiting",
    head: heads.waiting,
    kind: "number",
    sortBy: ({ waiting }) => waiting,
    cell: ({ waiting }) => formatCount(waiting),
  },
  {
    key: "oldest",
    head: heads.oldest,
    kind: "number",
    sortBy: ({ oldest_seconds }) => oldest_seconds,
    cell: ({ oldest_seconds }) => formatDuration(oldest_seconds),
  },
  {
    key: "expected",
    head: heads.expected,
    kind: "number",
    sortBy: ({ expected_seconds }) => expected_seconds,
    cell: ({ expected_seconds }) =>
      expected_seconds === null ? texts.unknown : formatDuration(expected_seconds),
  },
];

const enqueuedColumns: readonly Column<EnqueuedItem>[] = [
  {
    key: "enqueuedPath",
    head: texts.enqueued.path,
    kind: "lead",
    sortBy: ({ user_path }) => user_path,
    cell: ({ user_path }) => <span class="wrap">{user_path}</span>,
  },
  {
    key: "enqueuedTokens",
    head: texts.enqueued.tokens,
    kind: "number",
    sortBy: ({ tokens }) => tokens,
    cell: ({ tokens, max_tokens }) => `${formatCount(tokens)} / ${formatCount(max_tokens)}`,
  },
];
