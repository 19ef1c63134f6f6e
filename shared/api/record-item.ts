/** Usage records as exports and lists show them (docs/reference/usage-record.md). */

import type { CostSource } from "../domain/money.js";
import type { DetailField } from "../usage/usage-details.js";
import type { ListPage, TimedAnswer } from "./list-page.js";

/** Details are 0 if the provider didn't report them. */
export interface RecordItem extends Readonly<Record<DetailField, number>> {
  /** Unique. Ids are pairs of numbers that ascend in the order of recording. */
  readonly id: string;
  /** When the response ended, with milliseconds. */
  readonly time: string;
  readonly request_id: string;
  readonly user_path: string;
  /** Null if the caller has no managed key. */
  readonly key_id: string | null;
  readonly provider: string;
  readonly provider_type: string;
  /** The model that executed the request; null if the request named none. */
  readonly model: string | null;
  readonly endpoint: string;
  /** The HTTP status of the response. */
  readonly status: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  readonly total_tokens: number;
  readonly cached_input_tokens: number;
  readonly cache_write_input_tokens: number;
  /** US dollars, as all costs; null if unpriced. */
  readonly input_cost: number | null;
  readonly output_cost: number | null;
  readonly total_cost: number | null;
  readonly rewrite_tokens_saved: number;
  readonly rewrite_cost_saved: number | null;
  /** Whether the response cache answered. */
  readonly cache_hit: boolean;
  /** Whether the tokens are an estimate, since the provider reported none. */
  readonly estimated: boolean;
  /**
   * The most tokens that a request with unknown usage may have used; null if the usage is known.
   */
  readonly tokens_at_most: number | null;
  /** Likewise the highest total cost; null also if unpriced. */
  readonly cost_at_most: number | null;
  readonly latency_ms: number;
  /** Null if no answer came. */
  readonly first_byte_ms: number | null;
  /** The model, virtual model or alias that the request named; null if it named none. */
  readonly requested_model: string | null;
  /** The key's current name; null if it has none. */
  readonly key_name: string | null;
  /** The key's current labels. */
  readonly labels: readonly string[];
  /** Null if the provider didn't report it. */
  readonly service_tier: string | null;
  /** Where the provider ran the model; null if it didn't report it. */
  readonly region: string | null;
  /** The session that the client named; null if it named none. */
  readonly session: string | null;
  /** Null if nothing was charged, or the usage is unpriced. */
  readonly cost_source: CostSource | null;
  /** The date of the price list; null if the cost isn't from it. */
  readonly price_list: string | null;
  /** Null if the provider gave none. */
  readonly provider_request_id: string | null;
  /** The name of the provider's key; null without one. */
  readonly provider_key: string | null;
  /** How often the agent has repeated itself, or its turns; 0 unless it was warned of. */
  readonly loop: number;
  /** The calls of tools that the provider ran, such as `web_search=3`. */
  readonly tool_calls: readonly string[];
  /** The hard cap that ended the stream, in words; null if none did. */
  readonly cut_by: string | null;
  /** What the request costs since it was repriced; null if it wasn't. */
  readonly repriced_cost: number | null;
  /** When it was repriced, or this difference booked; null for others. */
  readonly repriced_at: string | null;
  /**
   * The id of the repriced record whose difference in cost this record books; it has no tokens.
   * Null for others.
   */
  readonly corrects: string | null;
}

/** The answer to GET /admin/usage/records, newest record first. */
export interface RecordPage extends ListPage {
  readonly records: readonly RecordItem[];
  /**
   * When the last examined record ended, whether listed or not; null if there was none. With a
   * filter that excludes most records, a page may be short or empty without being the last.
   */
  readonly looked_back_to: string | null;
  /** Present if several hosts share their usage: each keeps its own records. */
  readonly scope?: "this_host";
}

/** A page of the daemon's export, in the order of recording. */
export interface RecordExport extends ListPage {
  readonly records: readonly RecordItem[];
  /** The examined part of the records, from 0 to 1. */
  readonly progress: number;
  /** Present if several hosts share their usage: each keeps its own records. */
  readonly scope?: "this_host";
}

/**
 * The answer to GET /admin/usage/follow: records from a cursor on, oldest first
 * (docs/who-spent-what.md).
 */
export interface FollowedRecords extends TimedAnswer {
  /** The id of the store: record ids are unique within it. */
  readonly store_id: string;
  /** All ids that the store has had, newest first; a restored backup adds one. */
  readonly store_ids: readonly string[];
  /** The name of the daemon's machine. */
  readonly host: string;
  readonly records: readonly RecordItem[];
  /** The cursor after the last record, for `after` once the records are passed on. */
  readonly next: string;
  /** Whether more records are available now. */
  readonly more: boolean;
  /** The age of the first record here, in seconds since it was recorded; 0 if there is none. */
  readonly lag_seconds: number;
  /**
   * Commits whose records were deleted before they were read, each with at least one record; 0 if
   * none is missing.
   */
  readonly missed_commits: number;
  /** Whether `after` belongs to another store; the records then start at the first of this one. */
  readonly is_other_store: boolean;
}

/** A follower as the status reports it. */
export interface FollowerItem {
  readonly name: string;
  /**
   * The age of the first record that it hasn't passed on, in seconds; 0 if it has passed on all, or
   * had when it finished; null if the store can't be read.
   */
  readonly lag_seconds: number | null;
  /** When it last requested records, in whole seconds. */
  readonly asked_at: string;
  /** Whether it has ended after passing on all records, as `--once` does. */
  readonly finished: boolean;
}
