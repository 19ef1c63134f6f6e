/**
 * The rules of a book by their ids and in order: those in memory, and those on user paths that a
 * start has left in the store. Of 100,000 a request meets few, so those that may cover its path are
 * read before it is judged, and the others in slices once the daemon answers
 * (`lifecycle/load-unread.ts`). Rules on models and providers are never left.
 */
import { compareRules, type RuleKey, type Scope } from "../../shared/domain/rule.js";
import { SortedList } from "../../shared/long-lists.js";
import type { Rule } from "../counters/counter.js";
import type { Entry, Store } from "../store/store.js";
import { nextEnd } from "./rule-index.js";

const leftScope: Scope = "user_path";

/** The ids of the rules that a start may leave begin so, and stand behind all others. */
export const leftFrom = `${leftScope}\n`;

/** Behind every period: they are digits. */
const behindPeriods = ":";

/** What a start has left. */
interface UnreadRules {
  readonly store: Pick<Store, "get" | "range" | "entries">;
  /** How many of them aren't in memory yet. */
  left: number;
  /** Makes the rule of an entry, and adds it. */
  readonly restore: (entry: Entry) => void;
}

export class RuleSet {
  readonly #rules = new Map<string, Rule>();
  readonly #sorted = new SortedList<RuleKey, Rule>(compareRules);
  #unread: UnreadRules | null = null;
  /** Removed since the start: the store may still have them. */
  readonly #removed = new Set<string>();
  #whenRead: (() => void)[] = [];
  /** Null: the oldest was removed, and which is it now isn't known yet. */
  #sinceMs: number | null = Number.POSITIVE_INFINITY;
  #sinceLsn = 0;

  /** How many there are, in memory or in the store. */
  get size(): number {
    return this.#rules.size + (this.#unread?.left ?? 0);
  }

  /** No rule that is there is older than this moment; infinite before the first one. */
  get sinceMs(): number {
    this.#sinceMs ??= oldest(this.#rules.values());
    return this.#sinceMs;
  }

  /** No rule that is there was made or reset after this log sequence number. */
  get sinceLsn(): number {
    return this.#sinceLsn;
  }

  /** Whether all are in memory. */
  get isRead(): boolean {
    return this.#unread === null;
  }

  /** By their ids; what is still in the store is read now. */
  get all(): ReadonlyMap<string, Rule> {
    this.readAll();
    return this.#rules;
  }

  /** Those that were made or read since the start, by their ids. */
  get inMemory(): ReadonlyMap<string, Rule> {
    return this.#rules;
  }

  /** As `all`, in the order (scope, subject, period). */
  get sorted(): readonly Rule[] {
    return this.#sorted.all(this.all.values());
  }

  get(id: string): Rule | undefined {
    const known = this.#rules.get(id);
    const isLeft = known === undefined && !this.#removed.has(id);
    const value = isLeft ? this.#unread?.store.get("rules", id) : undefined;
    if (value === undefined) return known;
    this.take({ key: id, value });
    return this.#rules.get(id);
  }

  /** Adds one that isn't there. */
  add(rule: Rule): void {
    if (this.#sinceMs !== null) this.#sinceMs = Math.min(this.#sinceMs, rule.createdAtMs);
    this.#rules.set(rule.id, rule);
    this.#sorted.add(rule);
    this.noteReset(rule.sinceLsn);
  }

  remove(rule: Rule): void {
    this.#rules.delete(rule.id);
    this.#sorted.remove(rule);
    // Those that are left may be as old.
    if (this.#unread !== null) this.#removed.add(rule.id);
    // Looked for when it is asked for: of those that one file has made, each may be the oldest.
    else if (rule.createdAtMs === this.#sinceMs) this.#sinceMs = null;
  }

  /** A rule was reset under this number. */
  noteReset(lsn: number): void {
    this.#sinceLsn = Math.max(this.#sinceLsn, lsn);
  }

  /** Notes what is left in the store; none of it is older or later than these. */
  leave(unread: UnreadRules, since: { readonly ms: number; readonly lsn: number }): void {
    this.#unread = unread;
    this.#sinceMs = Math.min(this.sinceMs, since.ms);
    this.noteReset(since.lsn);
  }

  /** Takes a rule of the store into memory, unless it is there: as it was, or has become since. */
  take(entry: Entry): void {
    const id = String(entry.key);
    if (this.#unread === null || this.#rules.has(id) || this.#removed.has(id)) return;
    this.#unread.restore(entry);
    this.#unread.left--;
  }

  /** Takes all that cover a path. */
  readPath(userPath: string): void {
    if (this.#unread === null) return;
    const { store } = this.#unread;
    for (let end = 0; end !== -1; end = nextEnd(userPath, end)) {
      const from = `${leftFrom}${end === 0 ? "/" : userPath.slice(0, end)}\n`;
      const range = { from, before: from + behindPeriods, limit: Number.POSITIVE_INFINITY };
      for (const entry of store.range("rules", range)) this.take(entry);
    }
  }

  readAll(): void {
    if (this.#unread === null) return;
    for (const entry of this.#unread.store.entries("rules")) this.take(entry);
    this.endReading();
  }

  /** To be called when everything was taken from the store. */
  endReading(): void {
    this.#unread = null;
    if (this.#removed.size > 0) this.#sinceMs = null;
    this.#removed.clear();
    for (const run of this.#whenRead.splice(0)) run();
  }

  /** Calls `run` when all are in memory: now, or later. */
  whenRead(run: () => void): void {
    if (this.#unread === null) run();
    else this.#whenRead.push(run);
  }
}

function oldest(rules: Iterable<Rule>): number {
  let sinceMs = Number.POSITIVE_INFINITY;
  for (const { createdAtMs } of rules) sinceMs = Math.min(sinceMs, createdAtMs);
  return sinceMs;
}
