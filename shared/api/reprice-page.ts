/** The result of repricing one page of records (docs/reference/admin-api.md). */
import type { ListPage } from "./list-page.js";

/** The repriced records of one model. */
export interface RepricedModel {
  /** `provider/model`. */
  readonly model: string;
  readonly requests: number;
  readonly input_tokens: number;
  readonly output_tokens: number;
  /** US dollars. */
  readonly cost_before: number;
  readonly cost_after: number;
}

/** The answer to POST /admin/usage/reprice. */
export interface RepricePage extends ListPage {
  readonly models: readonly RepricedModel[];
  /** Records with another cost. */
  readonly differing: number;
  /** Records whose new cost is booked; 0 for a dry run. */
  readonly booked: number;
  /** Records that still have no price. */
  readonly unpriced: number;
  /**
   * Records that keep a cost which isn't based on a single price: several models worked on the
   * answer, Sluice searched the web, the price depends on the kind of picture, or the model has no
   * price any more.
   */
  readonly kept: number;
  /** The examined part of the records, from 0 to 1. */
  readonly progress: number;
  /** The date of the price list; null without one. */
  readonly price_list: string | null;
}
