/**
 * The rules and their live counters: put, delete, reset, and which counters a request meets. Looking up
 * costs as much as the path is deep, however many rules there are. Verdicts are not here (`admit.ts`),
 * nor is what is written to the store (`snapshot.ts`).
 */
import { compareRules, effectiveSubject, ruleId, type RuleDefinition, type RuleKey, type RuleSource } from "../shared/rule.js";
import type { Target } from "../shared/wire/message.js";
import { copyCounter, newChild, newCounter } from "./counter.js";
import { newWindow, type Window } from "./window.js";

/** One window and gauge: a rule's own, or that of one direct child of a template. */
export interface Counter {
  readonly rule: Rule;
  /** Who it counts, as messages say it: the rule's subject as it was written last, or the child's path. */
  subject: string;
  /** The child's segment below the template; empty for a rule's own counter. */
  readonly child: string;
  readonly window: Window;
  inFlight: number;
  /** Changed since it was last handed to a snapshot. */
  dirty: boolean;
  /** Charges up to this log sequence number stand in the restored window. Set at restore, 0 otherwise. */
  restoredLsn: number;
}

export interface Rule {
  readonly id: string;
  /** Caps may be edited in place: everything else is the rule's identity. */
  definition: RuleDefinition;
  readonly periodMs: number;
  source: RuleSource;
  createdAtMs: number;
  updatedAtMs: number;
  /** Charges up to this log sequence number don't count for this rule: it was made, or reset, then. */
  sinceLsn: number;
  /** Null for a template. */
  own: Counter | null;
  readonly children: Map<string, Counter>;
}

export interface RuleBook {
  readonly rules: ReadonlyMap<string, Rule>;
  /** Counts each change of the set of rules, so that what was matched before can be trusted or not. */
  readonly version: number;
  /** Counters that changed since the last call, each once. */
  takeDirty(): Counter[];
  markDirty(counter: Counter): void;
  /** Creates a rule, or replaces the caps of the one with this identity; live counters stay unless `perChild` changes. */
  put(definition: RuleDefinition, at: { readonly source: RuleSource; readonly nowMs: number; readonly lsn: number }): { readonly rule: Rule; readonly cleared: boolean };
  /** A rule from the store, as it was. */
  restore(rule: Omit<Rule, "id" | "periodMs" | "own" | "children">, nowMs: number): Rule;
  delete(key: RuleKey): Rule | null;
  /** Clears a rule's windows; gauges stay, and are released as their requests end. */
  reset(rule: Rule, at: { readonly nowMs: number; readonly lsn: number }): void;
  find(key: RuleKey): Rule | null;
  /** The counters of the user-path rules that cover a path, in the order of CONTRACT section 4; a child that isn't there is made. */
  matchPath(userPath: string, nowMs: number): Counter[];
  /** The same without changing anything: copies, and for a child that isn't there the one that would be made. */
  copyPath(userPath: string, nowMs: number): Counter[];
  /** The counters of the model rules, then of the provider rules, that cover a target. */
  matchTarget(target: Target, nowMs: number): Counter[];
  /** The counter of one child of a template; it is made when it isn't there. */
  childOf(rule: Rule, child: string, nowMs: number): Counter;
  /**
   * Looks at up to `examined` children, goes on there at the next call, and forgets those that nothing
   * holds or counts any more: idle for two periods. Returns them.
   */
  forgetIdle(nowMs: number, examined: number): Counter[];
  /** All rules in the order (scope, subject, period). */
  sorted(): readonly Rule[];
}

const nothing: Counter[] = [];

/** An empty book. */
export function createRuleBook(): RuleBook {
  const rules = new Map<string, Rule>();
  const byPath = new Map<string, Rule[]>();
  const byProvider = new Map<string, Rule[]>();
  const byModel = new Map<string, Rule[]>();
  const indexes = { user_path: byPath, provider: byProvider, model: byModel };
  let dirty: Counter[] = [];
  let version = 0;
  const templates = new Set<Rule>();
  let sweep: Iterator<Counter> | null = null;
  let sorted: readonly Rule[] | null = null;

  function index(rule: Rule): void {
    const subject = effectiveSubject(rule.definition.scope, rule.definition.subject);
    const map = indexes[rule.definition.scope];
    const list = [...(map.get(subject) ?? []), rule];
    list.sort((a, b) => a.definition.periodSeconds - b.definition.periodSeconds);
    map.set(subject, list);
    rules.set(rule.id, rule);
    if (rule.definition.perChild) templates.add(rule);
    version++;
    sorted = null;
  }

  function unindex(rule: Rule): void {
    const subject = effectiveSubject(rule.definition.scope, rule.definition.subject);
    const map = indexes[rule.definition.scope];
    const rest = (map.get(subject) ?? []).filter((other) => other !== rule);
    if (rest.length === 0) map.delete(subject);
    else map.set(subject, rest);
    rules.delete(rule.id);
    templates.delete(rule);
    version++;
    sorted = null;
  }

  function make(fields: Omit<Rule, "id" | "periodMs" | "own" | "children">, nowMs: number): Rule {
    const rule: Rule = { ...fields, id: ruleId(fields.definition), periodMs: fields.definition.periodSeconds * 1000, own: null, children: new Map() };
    if (!fields.definition.perChild) rule.own = newCounter(rule, fields.definition.subject, "", nowMs);
    index(rule);
    return rule;
  }

  function childOf(rule: Rule, child: string, nowMs: number): Counter {
    const known = rule.children.get(child);
    if (known !== undefined) return known;
    const counter = newChild(rule, child, nowMs);
    rule.children.set(child, counter);
    return counter;
  }

  /** As `childOf`, but a child that isn't there stays away. */
  function knownOrNewChild(rule: Rule, child: string, nowMs: number): Counter {
    return rule.children.get(child) ?? newChild(rule, child, nowMs);
  }

  function* children(): Generator<Counter> {
    for (const rule of templates) yield* rule.children.values();
  }

  function forgetIdle(nowMs: number, examined: number): Counter[] {
    const forgotten: Counter[] = [];
    sweep ??= children();
    for (let i = 0; i < examined; i++) {
      const next = sweep.next();
      if (next.done === true) {
        sweep = null;
        break;
      }
      const counter = next.value;
      if (counter.inFlight > 0 || counter.dirty || nowMs < counter.window.startMs + 2 * counter.rule.periodMs) continue;
      counter.rule.children.delete(counter.child);
      forgotten.push(counter);
    }
    return forgotten;
  }

  function collect(list: readonly Rule[], userPath: string, childFrom: number, nowMs: number, into: Counter[], child: typeof childOf): void {
    for (const rule of list) {
      if (rule.own !== null) into.push(rule.own);
      else if (childFrom < userPath.length) {
        const end = userPath.indexOf("/", childFrom);
        into.push(child(rule, end === -1 ? userPath.slice(childFrom) : userPath.slice(childFrom, end), nowMs));
      }
    }
  }

  function matchPath(userPath: string, nowMs: number, child: typeof childOf): Counter[] {
    if (byPath.size === 0) return nothing;
    const matched: Counter[] = [];
    const atRoot = byPath.get("/");
    if (atRoot !== undefined) collect(atRoot, userPath, 1, nowMs, matched, child);
    if (userPath.length === 1) return matched;
    for (let end = userPath.indexOf("/", 1); ; end = userPath.indexOf("/", end + 1)) {
      const list = byPath.get(end === -1 ? userPath : userPath.slice(0, end));
      if (list !== undefined) collect(list, userPath, end === -1 ? userPath.length : end + 1, nowMs, matched, child);
      if (end === -1) return matched;
    }
  }

  return {
    rules,
    get version() { return version; },
    takeDirty() {
      const taken = dirty;
      dirty = [];
      return taken;
    },
    markDirty(counter) {
      if (counter.dirty) return;
      counter.dirty = true;
      dirty.push(counter);
    },
    put(definition, { source, nowMs, lsn }) {
      const known = rules.get(ruleId(definition));
      if (known === undefined) {
        return { rule: make({ definition, source, createdAtMs: nowMs, updatedAtMs: nowMs, sinceLsn: lsn }, nowMs), cleared: true };
      }
      if (known.definition.perChild === definition.perChild) {
        known.definition = definition;
        if (known.own !== null) known.own.subject = definition.subject;
        known.source = source;
        known.updatedAtMs = nowMs;
        return { rule: known, cleared: false };
      }
      unindex(known);
      return { rule: make({ definition, source, createdAtMs: known.createdAtMs, updatedAtMs: nowMs, sinceLsn: lsn }, nowMs), cleared: true };
    },
    restore: make,
    delete(key) {
      const rule = rules.get(ruleId(key));
      if (rule === undefined) return null;
      unindex(rule);
      return rule;
    },
    reset(rule, { nowMs, lsn }) {
      rule.sinceLsn = lsn;
      if (rule.own !== null) Object.assign(rule.own.window, newWindow(rule.periodMs, nowMs));
      for (const [child, counter] of rule.children) {
        Object.assign(counter.window, newWindow(rule.periodMs, nowMs));
        if (counter.inFlight === 0) rule.children.delete(child);
      }
    },
    find: (key) => rules.get(ruleId(key)) ?? null,
    matchPath: (userPath, nowMs) => matchPath(userPath, nowMs, childOf),
    copyPath: (userPath, nowMs) => matchPath(userPath, nowMs, knownOrNewChild).map(copyCounter),
    matchTarget(target) {
      if (byModel.size === 0 && byProvider.size === 0) return nothing;
      const matched: Counter[] = [];
      const provider = target.provider.toLowerCase();
      if (byModel.size > 0) {
        const bare = target.model.toLowerCase();
        const qualified = `${provider}/${bare}`;
        const [first, second] = bare < qualified ? [bare, qualified] : [qualified, bare];
        for (const rule of byModel.get(first) ?? []) matched.push(rule.own!);
        for (const rule of byModel.get(second) ?? []) matched.push(rule.own!);
      }
      for (const rule of byProvider.get(provider) ?? []) matched.push(rule.own!);
      return matched;
    },
    childOf,
    forgetIdle,
    sorted() {
      sorted ??= [...rules.values()].sort((a, b) => compareRules(a.definition, b.definition));
      return sorted;
    },
  };
}

/** A request with the counters it met, for the order of messages: model and provider rules sort before path rules. */
export function inOrder(ofTarget: readonly Counter[], ofPath: readonly Counter[]): readonly Counter[] {
  if (ofTarget.length === 0) return ofPath;
  return [...ofTarget, ...ofPath];
}
