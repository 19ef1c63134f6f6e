/**
 * The rules of a book by id and in order: those in memory, and rules on user paths that a start has
 * left in the store. A request uses only few of up to 100,000 rules. So the rules that may cover
 * its path are loaded lazily, and the rest in slices once the daemon answers requests
 * (`lifecycle/load-unread.ts`). A start loads all rules on models and providers.
 */
import {
  type LoopRule,
  type LoopTimes,
  loopTimesOf,
  unionOf,
} from "../../shared/domain/loop-rule.js";
import { compareRules, idOfRule, type RuleKey, type Scope } from "../../shared/domain/rule.js";
import { SortedList } from "../../shared/long-lists.js";
import type { Rule } from "../counters/counter.js";
import type { Entry, Store } from "../store/store.js";
import { nextEnd } from "./rule-index.js";

const leftScope: Scope = "user_path";

/** The prefix of the ids of rules that a start may leave; they sort after all others. */
export const leftPrefix = `${leftScope}\n`;

/** In keys it sorts after every period, because periods are digits. */
const behindPeriods = ":";

/** The rules that a start has left in the store. */
interface UnreadRules {
  readonly store: Pick<Store, "get" | "range" | "entries">;
  /** How many rules aren't in memory yet. */
  left: number;
  /** Whether any of these rules is a hard cap. */
  readonly hasHard: boolean;
  /** When those of these rules that are on loops act; null if none is. */
  readonly loopTimes: LoopTimes | null;
  /** Makes the rule of a stored entry, and adds it to this set. */
  readonly restore: (entry: Entry) => void;
}

export class RuleSet {
  readonly #rules = new Map<string, Rule>();
  /** The parts of rules, by id. */
  readonly #parts = new Map<string, Rule>();
  readonly #sorted = new SortedList<RuleKey, Rule>(compareRules);
  #unread: UnreadRules | null = null;
  /** Ids of rules that were removed since the start; the store may still have them. */
  readonly #removed = new Set<string>();
  /** The ids of rules that are hard caps. */
  readonly #hard = new Set<string>();
  /** The rules on loops, by their ids. */
  readonly #loops = new Map<string, LoopRule>();
  /** Undefined until it is computed again. */
  #loopTimes: LoopTimes | null | undefined = null;
  #whenRead: (() => void)[] = [];
  /** Null if the oldest rule was removed: computed again when it is read. */
  #sinceMs: number | null = Number.POSITIVE_INFINITY;
  #sinceLsn = 0;

  /** Whether any rule is a hard cap, in memory or in the store. */
  get hasHard(): boolean {
    return this.#hard.size > 0 || this.#unread?.hasHard === true;
  }

  /** When the first rule on loops acts, and when the last; null if none does. */
  get loopTimes(): LoopTimes | null {
    if (this.#loopTimes === undefined)
      this.#loopTimes = unionOf(
        this.#unread?.loopTimes ?? null,
        loopTimesOf([...this.#loops.values()]),
      );
    return this.#loopTimes;
  }

  /** Call when a rule is added or edited. */
  note({ id, definition: { hold, loops } }: Rule): void {
    if (hold === "hard") this.#hard.add(id);
    else this.#hard.delete(id);
    if (loops === undefined) return this.#forgetLoops(id);
    this.#loops.set(id, loops);
    this.#loopTimes = undefined;
  }

  #forgetLoops(id: string): void {
    if (this.#loops.delete(id)) this.#loopTimes = undefined;
  }

  /** The number of rules, in memory or in the store. */
  get size(): number {
    return this.#rules.size + (this.#unread?.left ?? 0);
  }

  /** No enforced rule is older than this moment; infinite without such rules. */
  get sinceMs(): number {
    this.#sinceMs ??= oldest(this.#rules.values());
    return this.#sinceMs;
  }

  /** No rule was made or reset after this log sequence number. */
  get sinceLsn(): number {
    return this.#sinceLsn;
  }

  /** Whether all rules are in memory. */
  get isRead(): boolean {
    return this.#unread === null;
  }

  /** By id; loads those still in the store. */
  get all(): ReadonlyMap<string, Rule> {
    this.readAll();
    return this.#rules;
  }

  /** The rules in memory, by id. */
  get inMemory(): ReadonlyMap<string, Rule> {
    return this.#rules;
  }

  /** As `all`, in the order (scope, subject, period). */
  get sorted(): readonly Rule[] {
    return this.#sorted.all(this.all.values());
  }

  /** A rule or a part of one. */
  find(id: string): Rule | undefined {
    const ofRule = idOfRule(id);
    if (ofRule === id) return this.get(id);
    this.get(ofRule);
    return this.#parts.get(id);
  }

  get(id: string): Rule | undefined {
    const loaded = this.#rules.get(id);
    const isLeft = loaded === undefined && !this.#removed.has(id);
    const value = isLeft ? this.#unread?.store.get("rules", id) : undefined;
    if (value === undefined) return loaded;
    this.take({ key: id, value });
    return this.#rules.get(id);
  }

  /** Adds a new rule. */
  add(rule: Rule): void {
    if (this.#sinceMs !== null) this.#sinceMs = Math.min(this.#sinceMs, sinceOf(rule));
    this.#rules.set(rule.id, rule);
    this.#sorted.add(rule);
    this.note(rule);
    this.noteReset(rule.sinceLsn);
  }

  remove(rule: Rule): void {
    this.#rules.delete(rule.id);
    this.#sorted.remove(rule);
    this.#hard.delete(rule.id);
    this.#forgetLoops(rule.id);
    // Rules that are still in the store may be as old, so `sinceMs` stays.
    if (this.#unread !== null) this.#removed.add(rule.id);
    // Computed again only on demand: all rules of one file may be equally old, and removed
    // together.
    else if (rule.createdAtMs === this.#sinceMs) this.#sinceMs = null;
  }

  addPart(part: Rule): void {
    this.#parts.set(part.id, part);
    this.noteReset(part.sinceLsn);
  }

  removePart({ id }: Rule): void {
    this.#parts.delete(id);
  }

  /** Notes a reset at this log sequence number. */
  noteReset(lsn: number): void {
    this.#sinceLsn = Math.max(this.#sinceLsn, lsn);
  }

  /**
   * Notes the rules that a start leaves in the store. `since`: no rule is older, and none was reset
   * later.
   */
  leave(unread: UnreadRules, since: { readonly ms: number; readonly lsn: number }): void {
    this.#unread = unread;
    this.#loopTimes = undefined;
    this.#sinceMs = Math.min(this.sinceMs, since.ms);
    this.noteReset(since.lsn);
  }

  /** Loads a rule of the store, unless it is in memory or was removed. */
  take(entry: Entry): void {
    const id = String(entry.key);
    if (this.#unread === null || this.#rules.has(id) || this.#removed.has(id)) return;
    this.#unread.restore(entry);
    this.#unread.left--;
  }

  /** Loads all rules that may cover a path. */
  readPath(userPath: string): void {
    if (this.#unread === null) return;
    const { store } = this.#unread;
    for (let end = 0; end !== -1; end = nextEnd(userPath, end)) {
      const from = `${leftPrefix}${end === 0 ? "/" : userPath.slice(0, end)}\n`;
      const range = { from, before: from + behindPeriods, limit: Number.POSITIVE_INFINITY };
      for (const entry of store.range("rules", range)) this.take(entry);
    }
  }

  readAll(): void {
    if (this.#unread === null) return;
    for (const entry of this.#unread.store.entries("rules")) this.take(entry);
    this.endReading();
  }

  /** Call when everything was loaded from the store. */
  endReading(): void {
    this.#unread = null;
    this.#loopTimes = undefined;
    if (this.#removed.size > 0) this.#sinceMs = null;
    this.#removed.clear();
    for (const run of this.#whenRead.splice(0)) run();
  }

  /** Calls `run` when all rules are in memory: now or later. */
  whenRead(run: () => void): void {
    if (this.#unread === null) run();
    else this.#whenRead.push(run);
  }
}

function oldest(rules: Iterable<Rule>): number {
  let sinceMs = Number.POSITIVE_INFINITY;
  for (const rule of rules) sinceMs = Math.min(sinceMs, sinceOf(rule));
  return sinceMs;
}

/** Shadow rules don't count here: they don't decide which requests enforced rules count. */
function sinceOf({ createdAtMs, wouldRefuse }: Rule): number {
  return wouldRefuse === null ? createdAtMs : Number.POSITIVE_INFINITY;
}
