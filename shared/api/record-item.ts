/** The record of a request, as exports and lists show it (docs/reference/usage-record.md). */
import type { DetailField, ServiceTier } from "../usage/usage-details.js";
import type { ListPage, Timed } from "./list-page.js";

/** Details are 0 where the provider told nothing. */
export interface RecordItem extends Readonly<Record<DetailField, number>> {
  /** Unique; ascends with recording, as a pair of numbers. */
  readonly id: string;
  /** When the response ended, with milliseconds. */
  readonly time: string;
  readonly request_id: string;
  readonly user_path: string;
  /** Null for a caller without a managed key. */
  readonly key_id: string | null;
  readonly provider: string;
  readonly provider_type: string;
  /** The model that was executed; null: the request named none. */
  readonly model: string | null;
  readonly endpoint: string;
  /** The HTTP status of the response. */
  readonly status: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly total_tokens: number;
  readonly cached_input_tokens: number;
  readonly cache_write_input_tokens: number;
  /** US dollars, as all costs; null if there was no price. */
  readonly input_cost: number | null;
  readonly output_cost: number | null;
  readonly total_cost: number | null;
  readonly rewrite_tokens_saved: number;
  readonly rewrite_cost_saved: number | null;
  /** Answered by the response cache. */
  readonly cache_hit: boolean;
  /** The tokens were estimated: the provider reported none. */
  readonly estimated: boolean;
  /** The usage isn't known: what the tokens may be at most; null: it is known. */
  readonly tokens_at_most: number | null;
  /** The same of the total cost; null also if there was no price. */
  readonly cost_at_most: number | null;
  readonly latency_ms: number;
  /** Null if there was no answer. */
  readonly first_byte_ms: number | null;
  /** As the request named it, a virtual model or an alias; null: it named none. */
  readonly requested_model: string | null;
  /** The key's name as of now; null without one. */
  readonly key_name: string | null;
  /** The key's labels as of now. */
  readonly labels: readonly string[];
  /** Null: the provider didn't say. */
  readonly service_tier: ServiceTier | null;
}

/** Of GET /admin/usage/records, newest first. */
export interface RecordPage extends ListPage {
  readonly records: readonly RecordItem[];
  /**
   * When the last record that was looked at ended, listed or not; null if there was none. With a
   * filter that leaves out most, a page may be short, or empty, and yet not be the last.
   */
  readonly looked_back_to: string | null;
  /** Only where several hosts share their usage: each keeps its records for itself. */
  readonly scope?: "this_host";
}

/** A page of the daemon's export, in the order of recording. */
export interface RecordExport extends ListPage {
  readonly records: readonly RecordItem[];
  /** How much of the records has been looked at, from 0 to 1. */
  readonly progress: number;
  /** Only where several hosts share their usage: each keeps its records for itself. */
  readonly scope?: "this_host";
}

/**
 * Of GET /admin/usage/follow: records as they are read on from a cursor, oldest first
 * (docs/usage-follow.md).
 */
export interface FollowedRecords extends Timed {
  /** The records are the store's with this id: `id` of a record is unique with it. */
  readonly store_id: string;
  /** All ids of the store, the newest first: more than one after a backup was put back. */
  readonly store_ids: readonly string[];
  /** The name of the daemon's machine. */
  readonly host: string;
  readonly records: readonly RecordItem[];
  /** Behind the last of them: what to give as `after` once they are handed on. */
  readonly next: string;
  /** Whether there are further records now. */
  readonly more: boolean;
  /** For how long the first of these has been recorded; 0 without any. */
  readonly lag_seconds: number;
  /**
   * Commits whose records were removed before they were read, each with at least one record; 0 if
   * none is missing.
   */
  readonly missed_commits: number;
  /** Whether `after` is of another store: the records begin with the first of this one. */
  readonly is_other_store: boolean;
}

/** One that reads them, as the status tells of it. */
export interface FollowerItem {
  readonly name: string;
  /**
   * For how long the first record that it hasn't handed on has been recorded; 0: it has all, or had
   * all when it finished; null: the store can't be read.
   */
  readonly lag_seconds: number | null;
  /** When it asked last, in whole seconds. */
  readonly asked_at: string;
  /** It has ended because it had all, as `--once` does. */
  readonly finished: boolean;
}
