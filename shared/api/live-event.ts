/**
 * The events of GET /admin/live (docs/reference/admin-api.md, "Live"): the data of each event by
 * its name.
 */

import type { BudgetPage } from "./budget-item.js";
import type { DaemonStatus, SubtreeStatus } from "./gateway-status.js";
import type { TimedAnswer } from "./list-page.js";
import type { RefusalItem } from "./refusal-item.js";
import type { RulePage } from "./rule-item.js";

/** `whole`: the page has all items; otherwise only the changed ones. */
interface LivePage {
  readonly whole: boolean;
}

export interface LiveLists {
  readonly rules: LivePage & RulePage;
  readonly budgets: LivePage & BudgetPage;
}

export interface LiveEvents extends LiveLists {
  /**
   * Sent once a second. Its counts only grow; a smaller count means that the daemon was restarted.
   */
  readonly tick: TimedAnswer & { readonly status: DaemonStatus | SubtreeStatus };
  /**
   * One refusal, or the number of further refusals since the last tick, which a role for a subtree
   * doesn't get.
   */
  readonly refused: RefusalItem | { readonly more: number };
  /** The daemon doesn't answer; ticks resume after `back`. */
  readonly lost: { readonly message: string };
  readonly back: Readonly<Record<string, never>>;
  /** The viewer's access has ended; the stream ends. */
  readonly ended: Readonly<Record<string, never>>;
}
