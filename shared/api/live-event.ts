/** The events of GET /admin/live (docs/admin-api.md, "Live"): the data of each, by its name. */
import type { DaemonStatus } from "./gateway-status.js";
import type { Timed } from "./list-page.js";
import type { RefusalItem } from "./refusal-item.js";
import type { RuleItem } from "./rule-item.js";

export interface LiveEvents {
  /** Once a second. Its counts only grow; smaller ones are those of another daemon. */
  readonly tick: Timed & { readonly status: DaemonStatus };
  /** `whole`: all rules of the page as it is now; else those that have changed. */
  readonly rules: { readonly whole: boolean; readonly rate_limits: readonly RuleItem[] };
  /** One refusal, or how many more there were since the last tick. */
  readonly refused: RefusalItem | { readonly more: number };
  /** The daemon doesn't answer; ticks go on after `back`. */
  readonly lost: { readonly message: string };
  readonly back: Readonly<Record<string, never>>;
  /** Who watches may no more, and the stream ends. */
  readonly ended: Readonly<Record<string, never>>;
}
