/**
 * A rule with its live counts. Each counter is a window and a gauge of requests in flight: one for
 * the rule, or one for each direct child of a template. Not here: how rules are found
 * (`rules/rule-book.ts`) and how children are stored in memory (`children.ts`).
 */
import { ToolFilter } from "../../shared/config/model-filter.js";
import { namesTools } from "../../shared/domain/limited-models.js";
import { type Raise, raisedCaps } from "../../shared/domain/raise.js";
import {
  type CappedMeasure,
  type DeclaredAt,
  idOfRule,
  type Measure,
  type RuleDefinition,
  type RuleSource,
  ruleId,
} from "../../shared/domain/rule.js";
import type { ActiveHours } from "../../shared/domain/rule-hours.js";
import type { Walk } from "./child-blocks.js";
import type { Held } from "./held.js";
import type { SharedCaps } from "./shared-cap.js";
import {
  type CounterShare,
  newWindow,
  type RuleShares,
  type SharedView,
  type Window,
} from "./window.js";

/** The fields from which a rule is made. */
export interface RuleFields {
  readonly definition: RuleDefinition;
  readonly source: RuleSource;
  readonly createdAtMs: number;
  readonly updatedAtMs: number;
  readonly sinceLsn: number;
  /** As `sinceLsn`, of measures whose caps are newer than the rule. */
  readonly measuresSince?: Readonly<Partial<Record<CappedMeasure, number>>>;
  /** What a shadow rule would have refused so far. */
  readonly wouldRefuse?: WouldRefuse;
}

/** The requests that a shadow rule would have refused since it was made. */
export interface WouldRefuse {
  readonly count: number;
  /** Null: none. */
  readonly lastAtMs: number | null;
}

const nothingRefused: WouldRefuse = { count: 0, lastAtMs: null };

/** What a rule needs of the book in which it is made. */
interface RuleContext {
  /** How many resets of all rules there have been. */
  readonly resets: number;
  readonly nowMs: number;
  readonly childrenOf: (rule: Rule) => ChildCounters;
  readonly measure?: Measure | null;
  /** Null if it always applies. */
  readonly hours?: ActiveHours | null;
}

const noChildren: readonly ChildCounters[] = [];
const noParts: readonly Rule[] = [];

/**
 * A rule with its counters. Fields that each request reads come first, here and in `Counter`: V8
 * lays out objects in this order.
 */
export class Rule {
  /** Caps may be edited in place; everything else is the rule's identity. */
  definition: RuleDefinition;
  readonly periodMs: number;
  /** What its windows count beside requests; null for tokens. */
  readonly measure: Measure | null;
  /** When it counts and refuses; null: always. */
  readonly hours: ActiveHours | null;
  /**
   * How many resets of all rules have been applied to it; `ownUnread` until its own counter's
   * window is loaded.
   */
  resets: number;
  #own: Counter | null = null;
  /** Its counters' shares of those of all hosts; null if only this host counts. */
  shares: RuleShares | null = null;
  /**
   * The windows of the rule's caps on measures. A part has the rule's subject, and its cap as
   * `maxTokens`; it isn't listed.
   */
  parts: readonly Rule[] = noParts;
  /**
   * A hidden template without caps that counts what each child uses of a shared cap; null unless
   * the rule has `childShares`. Its children are those of the rule's path, those of each child of a
   * template, or for a provider or model the first segments of paths.
   */
  tenants: Rule | null = null;
  /** The shared caps if this rule is the `tenants` of another one; else null. */
  sharing: SharedCaps | null = null;
  readonly id: string;
  source: RuleSource;
  readonly createdAtMs: number;
  updatedAtMs: number;
  /**
   * Charges up to this log sequence number don't count for this rule, because it was made or reset
   * there.
   */
  sinceLsn: number;
  /** The tokens of unfinished batches of a path; null unless the rule caps them. */
  enqueuedAt: ((path: string, nowMs: number) => number) | null = null;
  readonly #nowMs: number;
  readonly #childrenOf: (rule: Rule) => ChildCounters;
  #children: ChildCounters | null = null;
  #tools: ToolFilter | null = null;
  /**
   * Children that a reset has dropped and that aren't processed yet; those with requests in flight
   * are moved back.
   */
  retired: readonly ChildCounters[] = noChildren;
  /** Where the configuration declares it; null if it doesn't, or if the place isn't known. */
  declaredAt: DeclaredAt | null = null;
  /** Null: its caps are those of the definition. */
  raises: readonly Raise[] | null = null;
  /** Called with each counter that frees a slot; null while no request waits for a slot. */
  onFreed: ((counter: Counter) => void) | null = null;
  /** Null: it is enforced. */
  wouldRefuse: WouldRefuse | null;
  /** What running requests hold of it as a hard cap; null: nothing was ever held. */
  held: Held | null = null;

  /** `id`: the rule's id if the caller has it, which avoids a new text. */
  constructor(
    fields: RuleFields,
    { resets, nowMs, childrenOf, measure = null, hours = null }: RuleContext,
    id = ruleId(fields.definition),
  ) {
    const { definition, source, createdAtMs, updatedAtMs, sinceLsn } = fields;
    this.id = id;
    this.definition = ownDefinition(definition);
    this.periodMs = definition.periodSeconds * 1000;
    this.measure = measure;
    this.hours = hours;
    this.source = source;
    this.createdAtMs = createdAtMs;
    this.updatedAtMs = updatedAtMs;
    this.sinceLsn = sinceLsn;
    this.resets = resets;
    this.#nowMs = nowMs;
    this.#childrenOf = childrenOf;
    this.wouldRefuse =
      definition.mode === undefined ? null : (fields.wouldRefuse ?? nothingRefused);
  }

  // Counters are made lazily: of 100,000 rules a start needs few.

  /** Null for a template. */
  get own(): Counter | null {
    if (this.#own === null && !this.definition.perChild)
      this.#own = new Counter(this, "", newWindow(this.periodMs, this.#nowMs));
    return this.#own;
  }

  /** As `own`, but doesn't make the counter: null while it has no counts. */
  get counted(): Counter | null {
    return this.#own;
  }

  /** The tools that it is for; null for all requests or some models. */
  get tools(): ToolFilter | null {
    const { models } = this.definition;
    if (this.#tools === null && namesTools(models)) this.#tools = new ToolFilter(models!);
    return this.#tools;
  }

  /** A template's children; empty for any other rule. */
  get children(): ChildCounters {
    this.#children ??= this.#childrenOf(this);
    return this.#children;
  }

  set children(children: ChildCounters) {
    this.#children = children;
  }

  /** The id of the listed rule: its own, or that of the rule whose part or `tenants` it is. */
  get ruleId(): string {
    return this.measure === null && this.sharing === null ? this.id : idOfRule(this.id);
  }

  /** Replaces the caps and `hostOnly`; returns whether `hostOnly` has changed. */
  edit(definition: RuleDefinition, source: RuleSource, nowMs: number): boolean {
    const { hostOnly } = this.definition;
    this.definition = ownDefinition(definition);
    this.source = source;
    this.updatedAtMs = nowMs;
    return this.definition.hostOnly !== hostOnly;
  }
}

/**
 * A copy field by field. Definitions come from many places; rules with objects of different hidden
 * classes would cost a tenth of the daemon's CPU.
 */
function ownDefinition({
  scope,
  subject,
  periodSeconds,
  maxRequests,
  maxTokens,
  perChild,
  hostOnly = false,
  models,
  when,
  mode,
  measureCaps,
  tokenWeights,
  onExhausted,
  hold,
  childShares,
  loops,
}: RuleDefinition): RuleDefinition {
  return {
    scope,
    subject,
    periodSeconds,
    maxRequests,
    maxTokens,
    perChild,
    hostOnly,
    models,
    when,
    mode,
    measureCaps,
    tokenWeights,
    onExhausted,
    hold,
    childShares,
    loops,
  };
}

/** One window and gauge: a rule's own, or that of one direct child of a template. */
export class Counter {
  readonly rule: Rule;
  readonly window: Window;
  inFlight = 0;
  /** The child's segment below the template; empty for a rule's own counter. */
  readonly child: string;
  /** The place of a child's record in its template; −1 for a rule's own counter. */
  place = -1;
  /** Whether it has changed since the last snapshot took it. */
  isDirty = false;
  /** Its index in the `CountedLog`, and the batch in which that index is valid. */
  loggedAt = 0;
  loggedBatch = 0;
  /**
   * The restored window includes the batches up to this log sequence number; 0 if it wasn't
   * restored.
   */
  restoredLsn: number;
  /** A child's position in `CheckedOutCounters`; −1 if it isn't checked out. */
  position = -1;
  /** A cache of `shareOf`: the share, and the rule's shares from which it was taken. */
  share: CounterShare | null = null;
  shareFrom: RuleShares | null = null;

  constructor(rule: Rule, child: string, window: Window, restoredLsn = 0) {
    this.rule = rule;
    this.child = child;
    this.window = window;
    this.restoredLsn = restoredLsn;
  }

  /** Its name in messages: the rule's subject as last written, or the child's path. */
  get subject(): string {
    const { subject } = this.rule.definition;
    return this.rule.own !== null
      ? subject
      : subject === "/"
        ? `/${this.child}`
        : `${subject}/${this.child}`;
  }
}

/** The caps that apply to a rule's own counter (empty), or to a child's, at a moment. */
export function capsAt(
  { definition, raises }: Pick<Rule, "definition" | "raises">,
  child: string,
  nowMs: number,
): Pick<RuleDefinition, "maxRequests" | "maxTokens" | "measureCaps"> {
  return raises === null ? definition : raisedCaps(definition, raises, child, nowMs);
}

/**
 * The caps that apply to a counter now. If hosts share it, the engine's clock decides which raises
 * apply, so that a raise ends on all hosts at the same moment.
 */
export function capsOf(counter: Counter, nowMs: number): ReturnType<typeof capsAt> {
  const { rule, child } = counter;
  return rule.raises === null
    ? rule.definition
    : capsAt(rule, child, shareOf(counter)?.timeMs(nowMs) ?? nowMs);
}

/** The share of a counter; null if no other host counts in it. */
export function shareOf(counter: Counter): CounterShare | null {
  const { shares } = counter.rule;
  if (shares === null) return null;
  if (counter.share === null || counter.shareFrom !== shares) {
    counter.share = shares.of(counter.child, counter.window);
    counter.shareFrom = shares;
  }
  return counter.share;
}

/**
 * The counts that apply to a counter, and their time: those of all hosts if they share it. The
 * window must be rolled to now.
 */
export function countsOf(counter: Counter, nowMs: number): SharedView {
  const { rule, child, window, inFlight } = counter;
  const { shares } = rule;
  if (shares === null) return { window, inFlight, nowMs };
  const share = (counter.shareFrom === shares ? counter.share : null) ?? shares.find(child);
  return share?.view(window, inFlight, nowMs) ?? { window, inFlight, nowMs };
}

/** Whether a rule neither counts nor refuses at this time, because its hours are over. */
export function isOff({ hours }: Rule, atMs: number): boolean {
  return hours !== null && !hours.isActiveAt(atMs);
}

/** Whether this is a child's counter that its template doesn't keep yet. */
export function isNewChild({ child, place }: Counter): boolean {
  return place === -1 && child !== "";
}

/** Keeps a child's counter, because it counts something. */
export function keepChild(counter: Counter): void {
  if (isNewChild(counter)) counter.rule.children.add(counter);
}

/** A copy, whose window may be rolled without changing the book. */
export function copyCounter(counter: Counter): Counter {
  const { rule, child, window, inFlight, restoredLsn, place } = counter;
  const copy = new Counter(rule, child, { ...window }, restoredLsn);
  copy.inFlight = inFlight;
  copy.place = place;
  return copy;
}

/**
 * The counters of one template's children (`children.ts`). A child's counter is checked out when a
 * request uses it, and checked in when it has no request in flight any more.
 */
export interface ChildCounters {
  readonly rule: Rule;
  readonly size: number;
  /**
   * Whether the children have reached their bound, so that no request of another child is admitted.
   */
  readonly isFull: boolean;
  /** Checks out and returns a child's counter. */
  get(name: string): Counter | undefined;
  /** A copy of a child's counter; checks nothing out. */
  copy(name: string): Counter | undefined;
  /** As `copy`, of the child at a place. */
  copyAt(place: number): Counter;
  has(name: string): boolean;
  /** The counter of a child with requests in flight. */
  busy(name: string): Counter | null;
  /** Adds a new child; its counter is checked out. */
  add(counter: Counter): void;
  /** Adds a child from the store; checks nothing out. */
  load(name: string, window: Window, restoredLsn: number): void;
  delete(place: number): void;
  /** Whether this very counter is checked out here. */
  isCheckedOut(counter: Counter): boolean;
  /** Call when a counter's last request has ended: the next reclaim checks it in. */
  released(counter: Counter): void;
  /** Checks a counter in, unless it has a request in flight. */
  checkIn(counter: Counter): void;
  /** Marks a checked-out counter as changed. */
  markDirty(counter: Counter): void;
  /**
   * The places of children that changed since the last call; read each once with `readDirty`. They
   * stay valid until these children are dropped.
   */
  takeDirty(): readonly number[];
  /** The name and current window of a changed child, which is then marked unchanged. */
  readDirty(place: number): { readonly child: string; readonly window: Window };
  /** Walks over all places; children added meanwhile may be included. */
  walk(): Walk;
  name(place: number): string;
  /** The counter at a place, if it has requests in flight. */
  busyAt(place: number): Counter | null;
  /**
   * When the window at a place began; null while it is in use or unwritten. A window ahead of the
   * clock moves back with it.
   */
  idleSinceMs(place: number, nowMs: number): number | null;
  /** Moves a child out of a block that is mostly free. */
  tidy(place: number): void;
}
