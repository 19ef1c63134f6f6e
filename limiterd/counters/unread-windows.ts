/**
 * The windows that a start has left in the store: there may be a million, so each is read when it
 * is first needed, and the others in slices once the daemon answers (`lifecycle/load-unread.ts`).
 * Until all are in memory, one that isn't there may still count.
 */
import type { Rule } from "./counter.js";
import { type StoredWindow, splitWindowKey, windowKey } from "./stored-window.js";

/** The rule book. */
interface Rules {
  readonly rules: ReadonlyMap<string, Rule>;
  /** Applies every reset to a rule, and reads its own window. */
  fresh(rule: Rule): Rule;
}

/** What a rule's `resets` says before its own window was looked for in the store. */
export const ownUnread = -1;

export class UnreadWindows {
  readonly #read: (key: string) => StoredWindow | null;

  /** `read`: the store's window of a key, or null. */
  constructor(read: (key: string) => StoredWindow | null) {
    this.#read = read;
  }

  /**
   * What the store has of a rule's own window (`child` empty) or of a child's, and the rule counts;
   * or null. Every reset is applied to the rule.
   */
  find(rule: Rule, child: string): StoredWindow | null {
    const window = this.#read(windowKey(rule.id, child));
    return window === null || isStale(rule, window) ? null : window;
  }

  /** Takes a rule's own window into memory; once, before anything is counted in it. */
  readOwn(rule: Rule): void {
    const { own } = rule;
    const found = own === null ? null : this.find(rule, "");
    if (own === null || found === null) return;
    const { lsn, ...counts } = found;
    Object.assign(own.window, counts);
    own.restoredLsn = lsn;
  }

  /** Takes the window of a child that isn't in memory there; false: there is none. */
  readChild(rule: Rule, child: string): boolean {
    const found = this.find(rule, child);
    if (found !== null) rule.children.load(child, found, found.lsn);
    return found !== null;
  }
}

/**
 * Takes a window of the store into memory, unless it has been read or written since; false: nothing
 * counts it any more, and nothing will.
 */
export function loadWindow(book: Rules, key: string, window: StoredWindow): boolean {
  const { ruleId, child } = splitWindowKey(key);
  const known = book.rules.get(ruleId);
  // Its rule doesn't exist, or has become or is no longer a template.
  if (known === undefined || (known.own !== null) !== (child === "")) return false;
  const rule = book.fresh(known);
  if (rule.own !== null || rule.children.has(child)) return true;
  if (isStale(rule, window)) return false;
  rule.children.load(child, window, window.lsn);
  return true;
}

/** The rule was made or reset since. */
function isStale({ sinceLsn }: Rule, { lsn }: StoredWindow): boolean {
  return lsn <= sinceLsn;
}
