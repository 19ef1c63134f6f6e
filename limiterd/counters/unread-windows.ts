/**
 * Loads windows lazily after a start, because there may be a million: a window when it is first
 * needed, and the rest in slices once the daemon answers requests (`lifecycle/load-unread.ts`).
 * Until all are loaded, a window that isn't in memory may be in the store.
 */
import type { Rule } from "./counter.js";
import { type StoredWindow, splitWindowKey, windowKey } from "./window.js";

/** The part of the rule book that loading needs. */
interface Rules {
  readonly ruleSet: {
    /** A rule or a part of one. */
    find(id: string): Rule | undefined;
  };
  /** Applies every reset to a rule, and reads its own window. */
  fresh(rule: Rule): Rule;
}

/** The value of a rule's `resets` until its own window is loaded. */
export const ownUnread = -1;

export class UnreadWindows {
  readonly #read: (key: string) => StoredWindow | null;

  /** `read`: the store's window of a key, or null. */
  constructor(read: (key: string) => StoredWindow | null) {
    this.#read = read;
  }

  /**
   * The stored window of a rule (`child` empty) or of a child; null if there is none, or if it is
   * stale. Every reset must be applied to the rule.
   */
  find(rule: Rule, child: string): StoredWindow | null {
    const window = this.#read(windowKey(rule.id, child));
    return window === null || isStale(rule, window) ? null : window;
  }

  /** Loads a rule's own window. Call it once, before anything is counted in it. */
  readOwn(rule: Rule): void {
    const { own } = rule;
    const stored = own === null ? null : this.find(rule, "");
    if (own === null || stored === null) return;
    const { lsn, ...counts } = stored;
    Object.assign(own.window, counts);
    own.restoredLsn = lsn;
  }

  /** Loads the window of a child; false if the store has none. */
  readChild(rule: Rule, child: string): boolean {
    const stored = this.find(rule, child);
    if (stored !== null) rule.children.load(child, stored, stored.lsn);
    return stored !== null;
  }
}

/** Loads a window of the store, unless it is already in memory. False if it is stale. */
export function loadWindow(book: Rules, key: string, window: StoredWindow): boolean {
  const { ruleId, child } = splitWindowKey(key);
  const loadedRule = book.ruleSet.find(ruleId);
  // The rule doesn't exist, or has become or stopped being a template.
  if (loadedRule === undefined || (loadedRule.own !== null) !== (child === "")) return false;
  const rule = book.fresh(loadedRule);
  if (rule.own !== null || rule.children.has(child)) return true;
  if (isStale(rule, window)) return false;
  rule.children.load(child, window, window.lsn);
  return true;
}

/** Whether the rule was made or reset after the window was stored. */
function isStale({ sinceLsn }: Rule, { lsn }: StoredWindow): boolean {
  return lsn <= sinceLsn;
}
