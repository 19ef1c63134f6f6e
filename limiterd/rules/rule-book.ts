/**
 * The rules and their live counters: put, delete, reset, and which counters a request has. Not
 * here: verdicts (`judge.ts`), writing to the store (`snapshot.ts`).
 */
import { childrenPerTemplateMax } from "../../shared/bounds.js";
import type { ModelNamings } from "../../shared/config/model-name.js";
import type { LoopRule } from "../../shared/domain/loop-rule.js";
import { raisesOfMeasure } from "../../shared/domain/raise.js";
import {
  compareRules,
  countedCap,
  type Measure,
  measureId,
  measures,
  type RuleDefinition,
  type RuleKey,
  type RuleSource,
  ruleId,
  tenantsId,
} from "../../shared/domain/rule.js";
import { ActiveHours } from "../../shared/domain/rule-hours.js";
import type { Target } from "../../shared/domain/target-name.js";
import { TimeZones } from "../../shared/domain/time-zone.js";
import { childOnPath, isPathWithin, parentPath } from "../../shared/domain/user-path.js";
import type { HashKey } from "../counters/child-name.js";
import { Children, CounterPool } from "../counters/children.js";
import { CountedLog } from "../counters/counted-log.js";
import {
  type Counter,
  copyCounter,
  keepChild,
  Rule,
  type RuleFields,
} from "../counters/counter.js";
import { type DirtyWindow, DirtyWindows } from "../counters/dirty-windows.js";
import { SharedCaps, slotWantMs } from "../counters/shared-cap.js";
import { ownUnread, type UnreadWindows } from "../counters/unread-windows.js";
import { addCounts, clearWindow, halfOf } from "../counters/window.js";
import { type FindChild, RuleIndex } from "./rule-index.js";
import { RuleSet } from "./rule-set.js";
import { ShadowRules } from "./shadow-rules.js";
import { type ForgottenChild, Templates } from "./templates.js";

/** The source and time of a change of a rule. */
interface RuleWriting {
  readonly source: RuleSource;
  readonly nowMs: number;
  /** When the rule was first made; `nowMs` by default. */
  readonly createdAtMs?: number;
  /** Charges up to this log sequence number don't count for a new rule. */
  readonly lsn: number;
}

/** The tokens of unfinished batches, which gauges may cap. */
interface UnfinishedBatches {
  /** Of a path, and of paths below it. */
  enqueuedAt(path: string, nowMs: number): number;
  /** The paths that have some, each once. */
  pathsOfBatches(nowMs: number): readonly string[];
}

export class RuleBook {
  readonly ruleSet = new RuleSet();
  readonly #index: RuleIndex;
  /**
   * The shadow rules in memory; null without any. Matching a path's enforced rules loads its shadow
   * rules.
   */
  shadows: ShadowRules | null = null;
  readonly #newIndex: () => RuleIndex;
  readonly #counterPool: CounterPool;
  readonly #templates: Templates;
  readonly #zones = new TimeZones();
  readonly #hours = new Map<string, ActiveHours>();
  readonly #dirty: DirtyWindows;
  /** The counts of the open batch of the journal. */
  readonly counted = new CountedLog();
  /** Null once all windows of the store are in memory. */
  unread: UnreadWindows | null = null;
  /** Returns the shares of a rule that is created or loaded. */
  sharesOf = (_rule: Rule): Rule["shares"] => null;
  /**
   * Called when a shadow rule would have refused a request: the open batch must store this note.
   */
  onRefusalNoted = (): void => {};
  /** Called when a rule becomes shared between hosts, or `host_only`. */
  onSharingChanged = (_rule: Rule): void => {};
  /** The rules with raises. */
  readonly raised = new Set<Rule>();
  /** The rules in memory that cap the tokens of unfinished batches. */
  readonly #batchRules = new Set<Rule>();
  /** The rules in memory that are only about batches or loops; see `countsRequests`. */
  readonly #uncounted = new Set<Rule>();
  batches: UnfinishedBatches = { enqueuedAt: () => 0, pathsOfBatches: () => [] };
  /** The rules and parts whose caps are shared. */
  readonly shared = new Set<Rule>();
  #version = 0;
  /** The shadow rules whose last refusals aren't stored yet. */
  readonly #refused = new Set<Rule>();
  /** How often all rules were reset, and the lsn of the last time. */
  #resets = 0;
  #lastResetLsn = 0;
  readonly #childrenOf = (rule: Rule): Children => new Children(rule, this.#counterPool);
  readonly #findChild: FindChild = (rule, child, nowMs) =>
    this.#templates.childOf(rule, child, nowMs);
  readonly #copyChild: FindChild = (rule, child, nowMs) =>
    this.#templates.copyOf(rule, child, nowMs);

  /**
   * Creates an empty book. `hashKey` is the key of the hash that finds children, `providers` are
   * the configured ones, and `childrenMax` bounds the children of each template.
   */
  constructor(
    hashKey: HashKey = [0, 0],
    providers: ModelNamings = new Map(),
    childrenMax = childrenPerTemplateMax,
  ) {
    this.#counterPool = new CounterPool(hashKey, childrenMax);
    this.#newIndex = () => new RuleIndex({ providers, fresh: (rule) => this.fresh(rule) });
    this.#index = this.#newIndex();
    this.#templates = new Templates(this.#counterPool, {
      current: (id) => this.ruleSet.find(id),
      fresh: (rule) => this.fresh(rule),
      read: (rule, child) => this.unread?.readChild(rule, child) === true,
    });
    this.#dirty = new DirtyWindows(
      this.#counterPool,
      (rule) => this.ruleSet.find(rule.id) === this.fresh(rule),
    );
  }

  /** A rule's subject in the form that matching uses. */
  effectiveSubject(rule: RuleKey): string {
    return this.#index.subjectsOf(rule)[0];
  }

  /** By id; read each through `fresh`. */
  get rules(): ReadonlyMap<string, Rule> {
    return this.ruleSet.all;
  }

  /** Grows with each change of the set of rules; earlier matches may be stale then. */
  get version(): number {
    return this.#version;
  }

  /** No rule is older than this moment; infinite without rules. */
  get sinceMs(): number {
    return this.ruleSet.sinceMs;
  }

  /** Children of all templates in memory, dropped ones included. */
  get childCount(): number {
    return this.#counterPool.size;
  }

  /** Creates or edits a rule. An edit keeps the counters if the edited rule needs the same ones. */
  put(definition: RuleDefinition, { source, nowMs, lsn, createdAtMs = nowMs }: RuleWriting): Rule {
    const existing = this.find(definition);
    const times = { updatedAtMs: nowMs, sinceLsn: lsn };
    if (existing === null) return this.#make({ definition, source, createdAtMs, ...times }, nowMs);
    if (hasSameCounters(existing.definition, definition)) {
      const sharingChanged = existing.edit(definition, source, nowMs);
      this.ruleSet.note(existing);
      this.#updateEnqueuedCap(existing);
      this.#editTenants(existing, nowMs, lsn);
      if (sharingChanged) this.onSharingChanged(existing);
      this.#editParts(existing, { nowMs, lsn, sharingChanged });
      return existing;
    }
    this.#remove(existing);
    return this.#make({ definition, source, createdAtMs: existing.createdAtMs, ...times }, nowMs);
  }

  /** Makes, edits and removes the parts of an edited rule. */
  #editParts(
    rule: Rule,
    edit: { readonly nowMs: number; readonly lsn: number; readonly sharingChanged: boolean },
  ): void {
    const { definition, source, updatedAtMs } = rule;
    if (rule.parts.length === 0 && definition.measureCaps === undefined) return;
    const times = { createdAtMs: edit.nowMs, updatedAtMs, sinceLsn: edit.lsn };
    const existingParts = new Map(rule.parts.map((part) => [part.measure, part]));
    const parts: Rule[] = [];
    for (const measure of measures) {
      const part = existingParts.get(measure);
      const cap = definition.measureCaps?.[measure];
      if (cap === undefined) {
        if (part !== undefined) this.#removePart(part);
      } else if (part === undefined)
        parts.push(this.#makePart(rule, measure, { definition, source, ...times }, edit.nowMs));
      else {
        part.edit(partOf(definition, measure), source, edit.nowMs);
        this.#editTenants(part, edit.nowMs, edit.lsn);
        if (edit.sharingChanged) this.onSharingChanged(part);
        parts.push(part);
      }
    }
    rule.parts = parts;
  }

  /** Adds a rule from the store under its id, before any reset; its windows are loaded lazily. */
  restore(fields: RuleFields, nowMs: number, id?: string): Rule {
    const rule = this.#make(fields, nowMs, id);
    rule.resets = ownUnread;
    for (const part of [rule, ...rule.parts]) {
      part.resets = ownUnread;
      if (part.tenants !== null) part.tenants.resets = ownUnread;
    }
    return rule;
  }

  delete(key: RuleKey): Rule | null {
    const rule = this.ruleSet.get(ruleId(key));
    if (rule === undefined) return null;
    this.#remove(rule);
    return rule;
  }

  /**
   * Clears a rule's windows; gauges stay until their requests end. The time doesn't depend on the
   * number of children.
   */
  reset(rule: Rule, lsn: number): void {
    this.#clear(this.fresh(rule), lsn);
    for (const part of rule.parts) this.#clear(part, lsn);
    // Settles of requests in flight must match the new counters.
    this.#version++;
  }

  /** Copies the windows of another rule of the same period into a rule. */
  takeWindows(rule: Rule, from: Rule): void {
    this.#copyWindows(rule, this.fresh(from));
    for (const part of rule.parts) {
      const fromPart = from.parts.find(({ measure }) => measure === part.measure);
      if (fromPart !== undefined) this.#copyWindows(part, fromPart);
    }
  }

  #copyWindows(rule: Rule, from: Rule): void {
    const take = (counter: Counter, { window }: Counter): void => {
      Object.assign(counter.window, window);
      keepChild(counter);
      this.#dirty.mark(counter);
    };
    if (rule.own !== null && from.own !== null) return take(rule.own, from.own);
    const walk = from.children.walk();
    for (let place = walk.next(); place !== -1; place = walk.next()) {
      const name = from.children.name(place);
      const child = from.children.copy(name);
      if (child !== undefined) take(this.childOf(rule, name, child.window.startMs), child);
    }
  }

  /**
   * As `reset`, for all rules: each is cleared when it is next matched, read or written.
   */
  resetAll(lsn: number): void {
    this.#lastResetLsn = lsn;
    this.#resets++;
    this.#version++;
  }

  /** Returns the rule after applying the last reset of all rules and loading its own window. */
  fresh(rule: Rule): Rule {
    const { resets } = rule;
    if (resets === this.#resets) return rule;
    rule.resets = this.#resets;
    if (this.#resets > 0) this.#clear(rule, this.#lastResetLsn);
    if (resets === ownUnread) this.unread?.readOwn(rule);
    for (const part of rule.parts) this.fresh(part);
    if (rule.tenants !== null) this.fresh(rule.tenants);
    return rule;
  }

  find(key: RuleKey): Rule | null {
    const rule = this.ruleSet.get(ruleId(key));
    return rule === undefined ? null : this.fresh(rule);
  }

  /** All rules in the order (scope, subject, period). */
  sorted(): readonly Rule[] {
    return this.ruleSet.sorted;
  }

  /**
   * The counters of the user-path rules that cover a path with all models, in the order (subject,
   * period). A new child's counter is kept once it counts something.
   */
  matchPath(userPath: string, nowMs: number): Counter[] {
    this.ruleSet.readPath(userPath);
    return this.#index.matchPath(userPath, nowMs, this.#findChild);
  }

  /** Copies of the counters of `matchPath`, including those of children that don't exist yet. */
  copyPath(userPath: string, nowMs: number): Counter[] {
    this.ruleSet.readPath(userPath);
    return this.#index.matchPath(userPath, nowMs, this.#copyChild).map(copyCounter);
  }

  /**
   * Copies of the counters of all user-path rules that cover a path, those for some models too,
   * sorted as in lists.
   */
  copyAllOnPath(userPath: string, nowMs: number): Counter[] {
    const counters = this.copyPath(userPath, nowMs);
    const forModels = this.#index.matchPathForModels(userPath, nowMs, this.#copyChild);
    const unjudged = this.#copyMatching(this.#uncounted, userPath, nowMs);
    return forModels.length + unjudged.length === 0
      ? counters
      : [...counters, ...forModels.map(copyCounter), ...unjudged].sort(compareCounters);
  }

  /**
   * Copies of the counters of the rules on a path that cap the tokens of unfinished batches, in the
   * order of lists.
   */
  copyBatchCounters(userPath: string, nowMs: number): Counter[] {
    this.ruleSet.readPath(userPath);
    return this.#copyMatching(this.#batchRules, userPath, nowMs);
  }

  #copyMatching(rules: ReadonlySet<Rule>, userPath: string, nowMs: number): Counter[] {
    return [...rules]
      .flatMap((rule) => {
        const { subject } = rule.definition;
        if (!isPathWithin(userPath, subject)) return [];
        if (this.fresh(rule).own !== null) return [copyCounter(rule.own!)];
        const child = childOnPath(userPath, subject);
        return child === null ? [] : [copyCounter(this.#copyChild(rule, child, nowMs))];
      })
      .sort(compareCounters);
  }

  /**
   * The nearest rule on loops that covers a path. A template covers the paths below its own, and
   * with `ofChildren` counts for its own path, too.
   */
  loopsOf(
    userPath: string,
    ofChildren = false,
  ): { readonly userPath: string; readonly loops: LoopRule } | null {
    this.ruleSet.readPath(userPath);
    for (let path = userPath; ; path = parentPath(path)) {
      const key = { scope: "user_path", subject: path, periodSeconds: 0 } as const;
      const { loops, perChild = false } = this.ruleSet.get(ruleId(key))?.definition ?? {};
      const isForChildren = perChild && path === userPath && !ofChildren;
      if (loops !== undefined && !isForChildren) return { userPath: path, loops };
      if (path === "/") return null;
    }
  }

  /** The rules that cap the tokens of unfinished batches; call once all rules are in memory. */
  get batchRules(): readonly Rule[] {
    return [...this.#batchRules].sort((a, b) => compareRules(a.definition, b.definition));
  }

  /**
   * The counters of the model rules, then of the provider rules that cover a target, then of the
   * user-path rules that cover the path with this model.
   */
  matchTarget(target: Target, userPath: string, nowMs: number): Counter[] {
    this.ruleSet.readPath(userPath);
    return this.#index.matchTarget(target, userPath, nowMs, this.#findChild);
  }

  /** Copies of the counters of `matchTarget`, including those of children that don't exist yet. */
  copyTarget(target: Target, userPath: string, nowMs: number): Counter[] {
    this.ruleSet.readPath(userPath);
    return this.#index.matchTarget(target, userPath, nowMs, this.#copyChild).map(copyCounter);
  }

  /** The counter of one child of a template, as `matchPath` finds it. */
  childOf(rule: Rule, child: string, nowMs: number): Counter {
    return this.#templates.childOf(rule, child, nowMs);
  }

  /** Copies of the counter of one child of a template and of its parts, also of a new child. */
  copyOfChild(rule: Rule, child: string, nowMs: number): RuleCounters {
    const copy = (original: Rule): Counter =>
      copyCounter(original.own ?? this.#copyChild(this.fresh(original), child, nowMs));
    return { counter: copy(rule), parts: rule.parts.map(copy) };
  }

  /** The names of a template's children that have unfinished batches but no counter, each once. */
  uncountedChildren({ definition, children, enqueuedAt }: Rule, nowMs: number): readonly string[] {
    if (enqueuedAt === null) return [];
    const names = new Set<string>();
    for (const path of this.batches.pathsOfBatches(nowMs)) {
      const { subject } = definition;
      const name = isPathWithin(path, subject) ? childOnPath(path, subject) : null;
      if (name !== null && !children.has(name)) names.add(name);
    }
    return [...names];
  }

  /**
   * A copy of a child's counter; undefined if the child has none, and the rule doesn't cap batches.
   */
  copyOfKnown(rule: Rule, child: string, nowMs: number): Counter | undefined {
    const known = rule.children.copy(child);
    if (known !== undefined || rule.enqueuedAt === null) return known;
    return this.copyOfChild(rule, child, nowMs).counter;
  }

  /**
   * Call at the end of a message. Counters of children without a request must not be used
   * afterwards.
   */
  reclaim(): void {
    if (this.#counterPool.released.length > 0) this.#counterPool.reclaim();
  }

  /** Adds counts to the half of a rolled window that contains `atMs`; negative counts take back. */
  count(counter: Counter, atMs: number, requests: number, tokens: number): void {
    const startMs = this.addToWindow(counter, atMs, requests, tokens);
    if (startMs !== null) this.counted.add(counter, startMs, requests, tokens);
  }

  /**
   * As `count`, but doesn't add to the journal. Returns the start of the half; null if it is over.
   */
  addToWindow(counter: Counter, atMs: number, requests: number, tokens: number): number | null {
    const startMs = halfOf(counter.window, counter.rule.periodMs, atMs);
    if (startMs === null) return null;
    addCounts(counter.window, startMs, requests, tokens);
    this.#dirty.mark(counter);
    return startMs;
  }

  /** Notes that a shadow rule would have refused a request. */
  noteRefused(rule: Rule, nowMs: number): void {
    rule.wouldRefuse = { count: rule.wouldRefuse!.count + 1, lastAtMs: nowMs };
    this.#refused.add(rule);
    this.onRefusalNoted();
  }

  /** The shadow rules that would have refused a request since the last call. */
  takeRefused(): readonly Rule[] {
    const rules = [...this.#refused].filter((rule) => this.ruleSet.get(rule.id) === rule);
    this.#refused.clear();
    return rules;
  }

  /** As `DirtyWindows.take`. */
  takeDirty(): Generator<DirtyWindow> | null {
    return this.#dirty.take();
  }

  /** As `Templates.forgetIdle`. */
  forgetIdle(nowMs: number, examined: number): ForgottenChild[] {
    return this.#templates.forgetIdle(nowMs, examined);
  }

  #updateEnqueuedCap(rule: Rule): void {
    const capsBatches = rule.definition.measureCaps?.enqueued_tokens !== undefined;
    rule.enqueuedAt = capsBatches ? (path, nowMs) => this.batches.enqueuedAt(path, nowMs) : null;
    if (capsBatches) this.#batchRules.add(rule);
    else this.#batchRules.delete(rule);
  }

  #addToIndex(rule: Rule): void {
    if (!countsRequests(rule)) return void this.#uncounted.add(rule);
    if (rule.wouldRefuse === null) return this.#index.add(rule);
    this.shadows ??= new ShadowRules(this.#newIndex(), {
      findChild: this.#findChild,
      copyChild: this.#copyChild,
    });
    this.shadows.add(rule);
  }

  #removeFromIndex(rule: Rule): void {
    if (!countsRequests(rule)) return void this.#uncounted.delete(rule);
    if (rule.wouldRefuse === null) return this.#index.remove(rule);
    this.shadows?.remove(rule);
    if (this.shadows?.size === 0) this.shadows = null;
  }

  #make(fields: RuleFields, nowMs: number, id?: string): Rule {
    const rule = new Rule(
      fields,
      { resets: this.#resets, nowMs, childrenOf: this.#childrenOf, hours: this.#hoursOf(fields) },
      id,
    );
    rule.shares = this.sharesOf(rule);
    this.ruleSet.add(rule);
    this.#addToIndex(rule);
    this.#updateEnqueuedCap(rule);
    if (rule.definition.perChild) this.#templates.add(rule);
    this.#makeTenants(rule, nowMs);
    this.#version++;
    const { measureCaps } = rule.definition;
    if (measureCaps !== undefined)
      rule.parts = measures.flatMap((measure) =>
        measureCaps[measure] === undefined ? [] : [this.#makePart(rule, measure, fields, nowMs)],
      );
    return rule;
  }

  /** Rules with the same hours share them. */
  #hoursOf({ definition: { when } }: RuleFields): ActiveHours | null {
    if (when === undefined) return null;
    let hours = this.#hours.get(when);
    if (hours === undefined) {
      hours = new ActiveHours(when, this.#zones);
      this.#hours.set(when, hours);
    }
    return hours;
  }

  #makePart(rule: Rule, measure: Measure, fields: RuleFields, nowMs: number): Rule {
    const { definition, measuresSince } = fields;
    const sinceLsn = Math.max(fields.sinceLsn, measuresSince?.[measure] ?? 0);
    const part = new Rule(
      { ...fields, definition: partOf(definition, measure), sinceLsn },
      {
        resets: this.#resets,
        nowMs,
        childrenOf: this.#childrenOf,
        measure,
        hours: rule.hours,
      },
      measureId(rule.id, measure),
    );
    part.shares = this.sharesOf(part);
    part.raises = raisesOfMeasure(rule.raises, measure);
    this.ruleSet.addPart(part);
    this.#addToIndex(part);
    if (definition.perChild) this.#templates.add(part);
    this.#makeTenants(part, nowMs);
    this.#version++;
    return part;
  }

  /** Makes or removes the `tenants` of an edited rule. */
  #editTenants(rule: Rule, nowMs: number, lsn: number): void {
    const isShared = rule.definition.childShares !== undefined;
    if (isShared === (rule.tenants !== null)) return;
    if (isShared) this.#makeTenants(rule, nowMs, lsn);
    else this.#removeTenants(rule);
    // Leases must match their counters again, with or without those of children.
    this.#version++;
  }

  #makeTenants(rule: Rule, nowMs: number, sinceLsn = rule.sinceLsn): void {
    const { definition, measure, hours, source, createdAtMs, updatedAtMs } = rule;
    if (definition.childShares === undefined) return;
    const tenants = new Rule(
      { definition: tenantsOf(definition), source, createdAtMs, updatedAtMs, sinceLsn },
      { resets: this.#resets, nowMs, childrenOf: this.#childrenOf, measure, hours },
      tenantsId(rule.id),
    );
    tenants.sharing = new SharedCaps({
      shares: () => rule.definition.childShares ?? {},
      wantMs: rule.periodMs === 0 ? slotWantMs : rule.periodMs,
      running: (name) => tenants.children.busy(name)?.inFlight ?? 0,
      runningIn: (child) => (rule.own ?? rule.children.busy(child))?.inFlight ?? 0,
      held: (name) => tenants.held?.of(name) ?? 0,
      countsRequests: () =>
        rule.measure === null && rule.periodMs > 0 && rule.definition.maxTokens === null,
    });
    rule.tenants = tenants;
    this.shared.add(rule);
    this.ruleSet.addPart(tenants);
    this.#templates.add(tenants);
  }

  #removeTenants(rule: Rule): void {
    const { tenants } = rule;
    if (tenants === null) return;
    rule.tenants = null;
    this.shared.delete(rule);
    this.ruleSet.removePart(tenants);
    this.#templates.remove(tenants);
  }

  #removePart(part: Rule): void {
    this.ruleSet.removePart(part);
    this.#removeFromIndex(part);
    this.#version++;
    this.#templates.remove(part);
    this.#removeTenants(part);
  }

  #remove(rule: Rule): void {
    this.ruleSet.remove(rule);
    this.#removeFromIndex(rule);
    this.raised.delete(rule);
    this.#batchRules.delete(rule);
    this.#version++;
    this.#templates.remove(rule);
    this.#removeTenants(rule);
    for (const part of rule.parts) this.#removePart(part);
  }

  #clear(rule: Rule, lsn: number): void {
    rule.sinceLsn = Math.max(rule.sinceLsn, lsn);
    this.ruleSet.noteReset(lsn);
    if (rule.own !== null) clearWindow(rule.own.window);
    rule.shares?.reset();
    this.#templates.drop(rule);
    if (rule.tenants !== null) this.#clear(rule.tenants, lsn);
  }
}

/** Whether a rule counts requests or tokens: not if it is only about batches or loops. */
function countsRequests({
  definition: { periodSeconds, maxRequests },
}: Pick<Rule, "definition">): boolean {
  return periodSeconds > 0 || maxRequests !== null;
}

/** Whether a rule keeps its counters with this edit. */
function hasSameCounters(definition: RuleDefinition, edited: RuleDefinition): boolean {
  return (
    definition.perChild === edited.perChild &&
    countsRequests({ definition }) === countsRequests({ definition: edited })
  );
}

/** The definition of the part of a rule that caps a measure. */
function partOf(definition: RuleDefinition, measure: Measure): RuleDefinition {
  const { measureCaps, loops, ...rest } = definition;
  return { ...rest, maxRequests: null, maxTokens: countedCap(measure, measureCaps![measure]!) };
}

/** The definition of the template that counts the children that share a rule's caps. */
function tenantsOf(definition: RuleDefinition): RuleDefinition {
  const { measureCaps, childShares, onExhausted, hold, loops, ...rest } = definition;
  return { ...rest, maxRequests: null, maxTokens: null, perChild: true };
}

/** The counter of a rule, or of its child, and those of the rule's parts. */
export interface RuleCounters {
  readonly counter: Counter;
  /** The counter of the child of the request, if the rule's cap is shared. */
  readonly childCounter?: Counter;
  readonly parts: readonly Counter[];
}

/** The counters of the parts of a rule that has just been read through `fresh`. */
export function countersOf(counter: Counter): RuleCounters {
  const { rule, child } = counter;
  if (rule.parts.length === 0) return { counter, parts: noParts };
  const parts = rule.parts.flatMap((part) => part.own ?? part.children.copy(child) ?? []);
  return { counter, parts };
}

/** Matched counters, each with those of its rule's parts, which follow it. */
export function byRule(counters: readonly Counter[]): readonly RuleCounters[] {
  return counters
    .filter(({ rule }) => rule.measure === null && rule.sharing === null)
    .map((counter) => {
      const ofChild = counters.find(({ rule }) => rule === counter.rule.tenants);
      return {
        counter,
        ...(ofChild === undefined ? {} : { childCounter: ofChild }),
        parts: counters.filter(({ rule }) => counter.rule.parts.includes(rule)),
      };
    });
}

const noParts: readonly Counter[] = [];

/**
 * Finds the counters of a request: the rule book, or copies.
 */
export type Matching = Pick<RuleBook, "matchPath" | "matchTarget">;

/** Used while rate limits are off. */
export const noRules: Matching & Pick<RuleBook, "count" | "shared" | "copyPath" | "copyTarget"> = {
  shared: new Set(),
  matchPath: () => [],
  copyPath: () => [],
  copyTarget: () => [],
  matchTarget: () => [],
  count: () => {},
};

/**
 * Finds only the target's counters, for a request that moves to its next target: its path has
 * already admitted it.
 */
export class TargetRules implements Matching {
  readonly #book: Matching;

  constructor(book: Matching) {
    this.#book = book;
  }

  matchPath(): Counter[] {
    return [];
  }

  matchTarget(target: Target, userPath: string, nowMs: number): Counter[] {
    return this.#book.matchTarget(target, userPath, nowMs);
  }
}

/** The counters of a target and of a path in the order of the rules: model, provider, user path. */
export function inRuleOrder(
  targetCounters: readonly Counter[],
  pathCounters: readonly Counter[],
): readonly Counter[] {
  if (targetCounters.length === 0) return pathCounters;
  const counters = [...targetCounters, ...pathCounters];
  // The target's last counters may be of rules on paths, which are sorted with those of the path.
  return targetCounters.at(-1)!.rule.definition.scope === "user_path"
    ? counters.sort(compareCounters)
    : counters;
}

function compareCounters(a: Counter, b: Counter): number {
  return compareRules(a.rule.definition, b.rule.definition);
}

/**
 * Whether a counter counts attempts at targets: its rule is on a provider or model, or on a path
 * for some models. Other counters count requests of their path.
 */
export function isOfTarget({ rule: { definition } }: Counter): boolean {
  return definition.scope !== "user_path" || definition.models !== undefined;
}

/** A request that is counted or charged. */
interface CountedRequest {
  readonly userPath: string;
  readonly target: Target | null;
  /** The ids of the shadow rules that would refuse it, and so don't count it. */
  readonly refusedBy?: readonly string[] | undefined;
}

/** The counters of a request's path and target, those of shadow rules included. */
export function allCountersOf(
  book: RuleBook,
  counted: CountedRequest,
  nowMs: number,
): readonly Counter[] {
  const { userPath, target } = counted;
  const ofTarget = target === null ? noCounters : book.matchTarget(target, userPath, nowMs);
  const enforced = inRuleOrder(ofTarget, book.matchPath(userPath, nowMs));
  return withShadows(book, enforced, { ...counted, atPath: true }, nowMs);
}

/** As `allCountersOf`, for the target only; none if the request has no target. */
export function targetCountersOf(
  book: RuleBook,
  counted: CountedRequest,
  nowMs: number,
): readonly Counter[] {
  const { userPath, target } = counted;
  if (target === null) return noCounters;
  const enforced = book.matchTarget(target, userPath, nowMs);
  return withShadows(book, enforced, { ...counted, atPath: false }, nowMs);
}

/** As `allCountersOf`, for the path only. */
export function pathCountersOf(
  book: RuleBook,
  counted: CountedRequest,
  nowMs: number,
): readonly Counter[] {
  const enforced = book.matchPath(counted.userPath, nowMs);
  return withShadows(book, enforced, { ...counted, target: null, atPath: true }, nowMs);
}

function withShadows(
  { shadows }: Pick<RuleBook, "shadows">,
  enforced: readonly Counter[],
  counted: CountedRequest & { readonly atPath: boolean },
  nowMs: number,
): readonly Counter[] {
  if (shadows === null) return enforced;
  return [...enforced, ...shadows.match(counted, nowMs, counted.refusedBy)];
}

const noCounters: readonly Counter[] = [];

export function isSameTarget(a: Target | null, b: Target | null): boolean {
  return a === b || (a !== null && b !== null && a.provider === b.provider && a.model === b.model);
}

/**
 * Whether a counter counts requests or tokens over time. The others are gauges, which don't apply
 * to a submission.
 */
export function hasWindow({ rule }: Counter): boolean {
  return rule.periodMs > 0;
}
