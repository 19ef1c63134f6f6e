/** Requests that wait for room, as GET /admin/queues lists them (docs/reference/admin-api.md). */
import type { TimedAnswer } from "./list-page.js";

/** The requests that wait for one rule or budget. */
export interface QueueItem {
  /** The limit in words, such as `the minute request limit of /team`. */
  readonly limit: string;
  readonly scope: string;
  readonly subject: string;
  readonly period_seconds: number;
  /** As in `RefusalItem`. */
  readonly dimension: string;
  /** The models that the limit is for, if not all. */
  readonly models?: readonly string[];
  readonly waiting: number;
  /** The classes that take turns, those with the most requests first; at most 20. */
  readonly classes: readonly QueueClass[];
  readonly oldest_seconds: number;
  /** The expected wait of a new request, in seconds; null while unknown. */
  readonly expected_seconds: number | null;
}

interface QueueClass {
  /** The user path of a direct child, or of the limit itself. */
  readonly user_path: string;
  readonly waiting: number;
}

/** A cap on the tokens of unfinished batches (`max_enqueued_tokens` of a rule). */
export interface EnqueuedItem {
  readonly user_path: string;
  readonly max_tokens: number;
  /** The tokens of all unfinished batches on the path and below it. */
  readonly tokens: number;
}

/** The longest queue first; at most 200. */
export interface QueueList extends TimedAnswer {
  readonly queues: readonly QueueItem[];
  /** Requests that wait in all queues. */
  readonly waiting: number;
  /** The enforced caps, by path; of a template, those of its children that have batches. */
  readonly enqueued: readonly EnqueuedItem[];
}
