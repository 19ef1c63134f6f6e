/**
 * A window and a gauge with the rule that they count for. How counters are found and kept is in
 * `rule-book.ts` and `children.ts`.
 */
import type { RuleDefinition, RuleSource } from "../../shared/domain/rule.js";
import type { Children } from "./children.js";
import type { Window } from "./window.js";

export interface Rule {
  readonly id: string;
  /** Caps may be edited in place: everything else is the rule's identity. */
  definition: RuleDefinition;
  readonly periodMs: number;
  source: RuleSource;
  createdAtMs: number;
  updatedAtMs: number;
  /**
   * Charges up to this log sequence number don't count for this rule: it was made, or reset, then.
   */
  sinceLsn: number;
  /** How many resets of all rules have been applied to it. */
  resets: number;
  /** Null for a template. */
  own: Counter | null;
  /** Those of a template; empty for any other rule. */
  children: Children;
  /**
   * Children that a reset dropped and that haven't been gone through yet: one whose requests still
   * run comes back from here.
   */
  former: readonly Children[];
}

/** One window and gauge: a rule's own, or that of one direct child of a template. */
export class Counter {
  readonly rule: Rule;
  /** The child's segment below the template; empty for a rule's own counter. */
  readonly child: string;
  readonly window: Window;
  inFlight = 0;
  /** Changed since it was last handed to a snapshot. */
  dirty = false;
  /**
   * Charges up to this log sequence number stand in the restored window. Set at restore, 0
   * otherwise.
   */
  restoredLsn: number;
  /**
   * Of a child: where its record lies among those of its template; and where this counter is while
   * it is out (`children.ts`).
   */
  place = -1;
  slot = -1;

  constructor(rule: Rule, child: string, window: Window, restoredLsn = 0) {
    this.rule = rule;
    this.child = child;
    this.window = window;
    this.restoredLsn = restoredLsn;
  }

  /**
   * Who it counts, as messages say it: the rule's subject as it was written last, or the child's
   * path.
   */
  get subject(): string {
    const { subject } = this.rule.definition;
    return this.rule.own !== null
      ? subject
      : subject === "/"
        ? `/${this.child}`
        : `${subject}/${this.child}`;
  }
}

/**
 * A counter to look at: its window may be brought to now without a trace in the book. The rule
 * stays shared.
 */
export function copyCounter({ rule, child, window, inFlight, restoredLsn }: Counter): Counter {
  const copy = new Counter(rule, child, { ...window }, restoredLsn);
  copy.inFlight = inFlight;
  return copy;
}
