/**
 * The events of GET /admin/live (docs/reference/admin-api.md, "Live"): the data of each, by its
 * name.
 */

import type { BudgetPage } from "./budget-item.js";
import type { DaemonStatus } from "./gateway-status.js";
import type { Timed } from "./list-page.js";
import type { RefusalItem } from "./refusal-item.js";
import type { RulePage } from "./rule-item.js";

/** `whole`: all items of the page as it is now; else those that have changed. */
interface LivePage {
  readonly whole: boolean;
}

export interface LiveLists {
  readonly rules: LivePage & RulePage;
  readonly budgets: LivePage & BudgetPage;
}

export interface LiveEvents extends LiveLists {
  /** Once a second. Its counts only grow; smaller ones are those of another daemon. */
  readonly tick: Timed & { readonly status: DaemonStatus };
  /** One refusal, or how many more there were since the last tick. */
  readonly refused: RefusalItem | { readonly more: number };
  /** The daemon doesn't answer; ticks go on after `back`. */
  readonly lost: { readonly message: string };
  readonly back: Readonly<Record<string, never>>;
  /** Who watches may no more, and the stream ends. */
  readonly ended: Readonly<Record<string, never>>;
}
