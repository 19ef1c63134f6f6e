/**
 * A rule with its live counts: each counter is a window and a gauge of requests in flight, one for
 * the rule itself or one for each direct child of a template. How rules are found is in
 * `rules/rule-book.ts`, how children are kept in `children.ts`.
 */
import {
  type DeclaredAt,
  type RuleDefinition,
  type RuleSource,
  ruleId,
} from "../../shared/domain/rule.js";
import type { Walk } from "./child-blocks.js";
import { type CounterShare, newWindow, type RuleShares, type Window } from "./window.js";

/** What a rule is made of. */
export interface RuleFields {
  readonly definition: RuleDefinition;
  readonly source: RuleSource;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly sinceLsn: number;
}

/** The state of the book in which a rule is made. */
interface RuleMaking {
  /** How many resets of all rules there have been. */
  readonly resets: number;
  readonly nowMs: number;
  readonly childrenOf: (rule: Rule) => ChildCounters;
}

const noChildren: readonly ChildCounters[] = [];

/** What each request reads stands first, here and in `Counter`: V8 lays it out in this order. */
export class Rule {
  /** Caps may be edited in place: everything else is the rule's identity. */
  definition: RuleDefinition;
  readonly periodMs: number;
  /**
   * How many resets of all rules have been applied to it; `ownUnread` before its own window was
   * looked for in the store.
   */
  resets: number;
  #own: Counter | null = null;
  /** Null: this host alone counts by it. */
  shares: RuleShares | null = null;
  readonly id: string;
  source: RuleSource;
  readonly createdAtMs: number;
  updatedAtMs: number;
  /**
   * Charges up to this log sequence number don't count for this rule: it was made, or reset, then.
   */
  sinceLsn: number;
  readonly #nowMs: number;
  readonly #childrenOf: (rule: Rule) => ChildCounters;
  #children: ChildCounters | null = null;
  /**
   * Children that a reset dropped and that haven't been processed yet: one with requests in
   * flight is moved back from here.
   */
  retired: readonly ChildCounters[] = noChildren;
  /** Where the configuration declares it; null: it doesn't, or it isn't known. */
  declaredAt: DeclaredAt | null = null;

  /** `id`: where it is known already. */
  constructor(
    fields: RuleFields,
    { resets, nowMs, childrenOf }: RuleMaking,
    id = ruleId(fields.definition),
  ) {
    const { definition, source, createdAtMs, updatedAtMs, sinceLsn } = fields;
    this.id = id;
    this.definition = ownDefinition(definition);
    this.periodMs = definition.periodSeconds * 1000;
    this.source = source;
    this.createdAtMs = createdAtMs;
    this.updatedAtMs = updatedAtMs;
    this.sinceLsn = sinceLsn;
    this.resets = resets;
    this.#nowMs = nowMs;
    this.#childrenOf = childrenOf;
  }

  // Counters are made when they are first asked for: of 100,000 rules few are needed at a start.

  /** Null for a template. */
  get own(): Counter | null {
    if (this.#own === null && !this.definition.perChild)
      this.#own = new Counter(this, "", newWindow(this.periodMs, this.#nowMs));
    return this.#own;
  }

  /** The same, but null while nothing has asked for it, and so nothing is counted by it. */
  get counted(): Counter | null {
    return this.#own;
  }

  /** A template's children; empty for any other rule. */
  get children(): ChildCounters {
    this.#children ??= this.#childrenOf(this);
    return this.#children;
  }

  set children(children: ChildCounters) {
    this.#children = children;
  }

  /** Replaces the caps and `hostOnly`; returns whether that is another now. */
  edit(definition: RuleDefinition, source: RuleSource, nowMs: number): boolean {
    const { hostOnly } = this.definition;
    this.definition = ownDefinition(definition);
    this.source = source;
    this.updatedAtMs = nowMs;
    return this.definition.hostOnly !== hostOnly;
  }
}

/**
 * A copy field by field. Definitions are made in many places; if rules held objects of different
 * hidden classes, reading them would take a tenth of the daemon's CPU.
 */
function ownDefinition({
  scope,
  subject,
  periodSeconds,
  maxRequests,
  maxTokens,
  perChild,
  hostOnly = false,
}: RuleDefinition): RuleDefinition {
  return { scope, subject, periodSeconds, maxRequests, maxTokens, perChild, hostOnly };
}

/** One window and gauge: a rule's own, or that of one direct child of a template. */
export class Counter {
  readonly rule: Rule;
  readonly window: Window;
  inFlight = 0;
  /** The child's segment below the template; empty for a rule's own counter. */
  readonly child: string;
  /** Of a child: where its record lies among those of its template, −1 for a rule's own counter. */
  place = -1;
  /** Changed since it was last handed to a snapshot. */
  dirty = false;
  /** Where it stands in the log of what a batch has counted, and of which batch. */
  loggedAt = 0;
  loggedBatch = 0;
  /**
   * The restored window holds what the batches up to this log sequence number have counted. Set at
   * restore, 0 otherwise.
   */
  restoredLsn: number;
  /** Of a child: where its counter is while it is checked out, else −1. */
  slot = -1;
  /** To be read through `shareOf`, and whose it is: a rule may be shared anew. */
  share: CounterShare | null = null;
  shareFrom: RuleShares | null = null;

  constructor(rule: Rule, child: string, window: Window, restoredLsn = 0) {
    this.rule = rule;
    this.child = child;
    this.window = window;
    this.restoredLsn = restoredLsn;
  }

  /** As messages name it: the rule's subject as last written, or the child's path. */
  get subject(): string {
    const { subject } = this.rule.definition;
    return this.rule.own !== null
      ? subject
      : subject === "/"
        ? `/${this.child}`
        : `${subject}/${this.child}`;
  }
}

/** Null: no other host counts in it. */
export function shareOf(counter: Counter): CounterShare | null {
  const { shares } = counter.rule;
  if (shares === null) return null;
  if (counter.share === null || counter.shareFrom !== shares) {
    counter.share = shares.of(counter.child, counter.window);
    counter.shareFrom = shares;
  }
  return counter.share;
}

/** Whether this is the counter of a child that its template doesn't hold. */
export function isNewChild({ child, place }: Counter): boolean {
  return place === -1 && child !== "";
}

/** Keeps the counter of a child from now on, since it counts something. */
export function keepChild(counter: Counter): void {
  if (isNewChild(counter)) counter.rule.children.add(counter);
}

/** A counter to look at: its window may be brought to now without a trace in the book. */
export function copyCounter(counter: Counter): Counter {
  const { rule, child, window, inFlight, restoredLsn, place } = counter;
  const copy = new Counter(rule, child, { ...window }, restoredLsn);
  copy.inFlight = inFlight;
  copy.place = place;
  return copy;
}

/**
 * The counters of one template's children (`children.ts`). A child's counter is checked out when a
 * request meets it, and checked in again when nothing holds it any more.
 */
export interface ChildCounters {
  readonly rule: Rule;
  readonly size: number;
  /** Whether there are as many as there may be: no request of another child is admitted. */
  readonly isFull: boolean;
  /** A child's counter; it is checked out. */
  get(name: string): Counter | undefined;
  /** A copy of a child's counter, to look at; nothing is checked out. */
  copy(name: string): Counter | undefined;
  has(name: string): boolean;
  /** The counter of a child with requests in flight. */
  busy(name: string): Counter | null;
  /** Adds a child that isn't there; its counter is checked out. */
  add(counter: Counter): void;
  /** Adds a child that isn't there, as the store has it; nothing is checked out. */
  load(name: string, window: Window, restoredLsn: number): void;
  delete(place: number): void;
  /** Whether this very counter is checked out here. */
  isCheckedOut(counter: Counter): boolean;
  /** A counter has no request in flight any more: it is checked in with the next reclaim. */
  released(counter: Counter): void;
  /** Checks a counter in, unless something holds it. */
  checkIn(counter: Counter): void;
  /** A counter that is checked out has changed. */
  markDirty(counter: Counter): void;
  /**
   * The places of the children that changed since the last call, each to be read once with
   * `readDirty`. They are valid until these children are dropped.
   */
  takeDirty(): readonly number[];
  /**
   * The name and the window of a child that changed, as they are now; from now on it hasn't
   * changed.
   */
  readDirty(place: number): { readonly child: string; readonly window: Window };
  /** All places, one after the other; a child that is added meanwhile may be among them. */
  walk(): Walk;
  name(place: number): string;
  /** The counter at a place, if it has requests in flight. */
  busyAt(place: number): Counter | null;
  /**
   * When the window at a place began; null while it is held or is to be written. One that is ahead
   * of the clock moves with it, as if a request had met it.
   */
  idleSinceMs(place: number, nowMs: number): number | null;
  /** Moves a child out of memory that is mostly free. */
  tidy(place: number): void;
}
