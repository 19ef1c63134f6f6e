/**
 * The rules and their live counters: put, delete, reset, and which counters a request meets.
 * Looking up costs as much as the path is deep, however many rules there are. Verdicts are not here
 * (`admit.ts`), nor is what is written to the store (`snapshot.ts`).
 */
import {
  effectiveSubject,
  type RuleDefinition,
  type RuleKey,
  type RuleSource,
  ruleId,
} from "../../shared/domain/rule.js";
import type { Target } from "../../shared/wire/message.js";
import type { HashKey } from "../counters/child-name.js";
import { Children, CounterPool } from "../counters/children.js";
import { Counter, copyCounter, type Rule } from "../counters/counter.js";
import { createDirtyWindows, type DirtyWindow } from "../counters/dirty-windows.js";
import { clearWindow, newWindow } from "../counters/window.js";
import { createSortedRules } from "./sorted-rules.js";
import { createTemplates, type Forgotten, type Templates } from "./templates.js";

export type { Counter, Rule } from "../counters/counter.js";

export interface RuleBook {
  readonly rules: ReadonlyMap<string, Rule>;
  /**
   * Counts each change of the set of rules, so that what was matched before can be trusted or not.
   */
  readonly version: number;
  /** No rule that is there is older than this moment; infinite before the first one. */
  readonly sinceMs: number;
  /**
   * The windows that changed since the last call, each once and as it is when it is asked for;
   * those that don't count any more by then are left out. Null: none changed.
   */
  takeDirty(): Generator<DirtyWindow> | null;
  markDirty(counter: Counter): void;
  /**
   * Creates a rule, or replaces the caps of the one with this identity; live counters stay unless
   * `perChild` changes.
   */
  put(
    definition: RuleDefinition,
    at: { readonly source: RuleSource; readonly nowMs: number; readonly lsn: number },
  ): Rule;
  /** A rule from the store, as it was. */
  restore(rule: RuleFields, nowMs: number): Rule;
  delete(key: RuleKey): Rule | null;
  /**
   * Clears a rule's windows; gauges stay, and are released as their requests end. However many
   * children it has, it is done at once.
   */
  reset(rule: Rule, lsn: number): void;
  /**
   * As `reset`, for all rules there are: each is cleared when it is next met, looked at or written.
   */
  resetAll(lsn: number): void;
  /** The rule, after the last reset of all if there was one. */
  fresh(rule: Rule): Rule;
  find(key: RuleKey): Rule | null;
  /**
   * The counters of the user-path rules that cover a path, in the order of CONTRACT section 4; a
   * child that isn't there is made.
   */
  matchPath(userPath: string, nowMs: number): Counter[];
  /** The same to look at: copies, and for a child that isn't there the one that would be made. */
  copyPath(userPath: string, nowMs: number): Counter[];
  /** The counters of the model rules, then of the provider rules, that cover a target. */
  matchTarget(target: Target, nowMs: number): Counter[];
  /** The counter of one child of a template; it is made when it isn't there. */
  childOf(rule: Rule, child: string, nowMs: number): Counter;
  /**
   * Puts the counters of children back that were met and aren't in flight: to be called when a
   * message is done, after which nobody may use them.
   */
  rest(): void;
  /** Children of all templates, those that were dropped and are still here included. */
  readonly childCount: number;
  /**
   * Looks at up to `examined` children, goes on there at the next call, and forgets those that
   * nothing holds or counts any more: dropped by a reset or a deletion, or idle for two periods.
   * Returns them.
   */
  forgetIdle(nowMs: number, examined: number): Forgotten[];
  /** All rules in the order (scope, subject, period). */
  sorted(): readonly Rule[];
}

/** What a rule is made of. */
type RuleFields = Pick<Rule, "definition" | "source" | "createdAtMs" | "updatedAtMs" | "sinceLsn">;

const nothing: Counter[] = [];
const noChildren: readonly Children[] = [];

/** An empty book. The key is that of the hash by which children are found. */
export function createRuleBook(hashKey: HashKey = [0, 0]): RuleBook {
  const rules = new Map<string, Rule>();
  const byPath = new Map<string, Rule[]>();
  const byProvider = new Map<string, Rule[]>();
  const byModel = new Map<string, Rule[]>();
  const indexes = { user_path: byPath, provider: byProvider, model: byModel };
  let version = 0;
  let sinceMs = Number.POSITIVE_INFINITY;
  const sorted = createSortedRules();
  let resets = 0;
  let lastResetLsn = 0;
  const counterPool = new CounterPool(hashKey);
  const templates = createTemplates({ current: (id) => rules.get(id), fresh, counterPool });
  const dirty = createDirtyWindows(counterPool, isCurrentRule);

  function index(rule: Rule): void {
    const subject = effectiveSubject(rule.definition.scope, rule.definition.subject);
    const map = indexes[rule.definition.scope];
    const list = [...(map.get(subject) ?? []), rule];
    list.sort((a, b) => a.definition.periodSeconds - b.definition.periodSeconds);
    map.set(subject, list);
    rules.set(rule.id, rule);
    if (rule.definition.perChild) templates.add(rule);
    version++;
    sorted.add(rule);
  }

  function unindex(rule: Rule): void {
    const subject = effectiveSubject(rule.definition.scope, rule.definition.subject);
    const map = indexes[rule.definition.scope];
    const rest = (map.get(subject) ?? []).filter((other) => other !== rule);
    if (rest.length === 0) map.delete(subject);
    else map.set(subject, rest);
    rules.delete(rule.id);
    version++;
    sorted.remove(rule);
    templates.remove(rule);
  }

  function make(fields: RuleFields, nowMs: number): Rule {
    const { definition, source, createdAtMs, updatedAtMs, sinceLsn } = fields;
    const made: Omit<Rule, "children"> & { children: Children | null } = {
      id: ruleId(definition),
      definition: ownDefinition(definition),
      periodMs: definition.periodSeconds * 1000,
      source,
      createdAtMs,
      updatedAtMs,
      sinceLsn,
      resets,
      own: null,
      children: null,
      former: noChildren,
    };
    const rule = made as Rule;
    rule.children = new Children(rule, counterPool);
    if (!definition.perChild) rule.own = new Counter(rule, "", newWindow(rule.periodMs, nowMs));
    index(rule);
    return rule;
  }

  function clear(rule: Rule, lsn: number): void {
    rule.sinceLsn = Math.max(rule.sinceLsn, lsn);
    if (rule.own !== null) clearWindow(rule.own.window);
    templates.drop(rule);
  }

  function fresh(rule: Rule): Rule {
    if (rule.resets === resets) return rule;
    rule.resets = resets;
    clear(rule, lastResetLsn);
    return rule;
  }

  function isCurrentRule(rule: Rule): boolean {
    return rules.get(rule.id) === fresh(rule);
  }

  function collect(
    list: readonly Rule[],
    userPath: string,
    childFrom: number,
    nowMs: number,
    into: Counter[],
    child: Templates["childOf"],
  ): void {
    for (const rule of list) {
      if (fresh(rule).own !== null) into.push(rule.own!);
      else if (childFrom < userPath.length) {
        const end = userPath.indexOf("/", childFrom);
        into.push(
          child(
            rule,
            end === -1 ? userPath.slice(childFrom) : userPath.slice(childFrom, end),
            nowMs,
          ),
        );
      }
    }
  }

  function matchPath(userPath: string, nowMs: number, child: Templates["childOf"]): Counter[] {
    if (byPath.size === 0) return nothing;
    const matched: Counter[] = [];
    const atRoot = byPath.get("/");
    if (atRoot !== undefined) collect(atRoot, userPath, 1, nowMs, matched, child);
    if (userPath.length === 1) return matched;
    for (let end = userPath.indexOf("/", 1); ; end = userPath.indexOf("/", end + 1)) {
      const list = byPath.get(end === -1 ? userPath : userPath.slice(0, end));
      if (list !== undefined)
        collect(list, userPath, end === -1 ? userPath.length : end + 1, nowMs, matched, child);
      if (end === -1) return matched;
    }
  }

  return {
    rules,
    get version() {
      return version;
    },
    get sinceMs() {
      return sinceMs;
    },
    takeDirty: () => dirty.take(),
    markDirty: (counter) => dirty.mark(counter),
    put(definition, { source, nowMs, lsn }) {
      const known = rules.get(ruleId(definition));
      if (known === undefined) {
        sinceMs = rules.size === 0 ? nowMs : Math.min(sinceMs, nowMs);
        return make(
          { definition, source, createdAtMs: nowMs, updatedAtMs: nowMs, sinceLsn: lsn },
          nowMs,
        );
      }
      if (fresh(known).definition.perChild === definition.perChild) {
        known.definition = ownDefinition(definition);
        known.source = source;
        known.updatedAtMs = nowMs;
        return known;
      }
      unindex(known);
      return make(
        { definition, source, createdAtMs: known.createdAtMs, updatedAtMs: nowMs, sinceLsn: lsn },
        nowMs,
      );
    },
    restore(fields, nowMs) {
      sinceMs = Math.min(sinceMs, fields.createdAtMs);
      return make(fields, nowMs);
    },
    delete(key) {
      const rule = rules.get(ruleId(key));
      if (rule === undefined) return null;
      unindex(rule);
      return rule;
    },
    reset(rule, lsn) {
      clear(fresh(rule), lsn);
      // A settle of a request that is in flight must find the counter that counts now.
      version++;
    },
    resetAll(lsn) {
      lastResetLsn = lsn;
      resets++;
      version++;
    },
    fresh,
    find(key) {
      const rule = rules.get(ruleId(key));
      return rule === undefined ? null : fresh(rule);
    },
    matchPath: (userPath, nowMs) => matchPath(userPath, nowMs, templates.childOf),
    copyPath: (userPath, nowMs) => matchPath(userPath, nowMs, templates.copyOf).map(copyCounter),
    matchTarget(target) {
      if (byModel.size === 0 && byProvider.size === 0) return nothing;
      const matched: Counter[] = [];
      const provider = target.provider.toLowerCase();
      if (byModel.size > 0) {
        const bare = target.model.toLowerCase();
        const qualified = `${provider}/${bare}`;
        const [first, second] = bare < qualified ? [bare, qualified] : [qualified, bare];
        for (const rule of byModel.get(first) ?? []) matched.push(fresh(rule).own!);
        for (const rule of byModel.get(second) ?? []) matched.push(fresh(rule).own!);
      }
      for (const rule of byProvider.get(provider) ?? []) matched.push(fresh(rule).own!);
      return matched;
    },
    childOf: templates.childOf,
    rest: () => counterPool.rest(),
    get childCount() {
      return counterPool.size;
    },
    forgetIdle: templates.forgetIdle,
    sorted: () => sorted.all(rules),
  };
}

/**
 * Field by field: definitions come from many places, and were each rule's objects of another hidden
 * class, looking at them would take a tenth of the daemon's CPU.
 */
function ownDefinition({
  scope,
  subject,
  periodSeconds,
  maxRequests,
  maxTokens,
  perChild,
}: RuleDefinition): RuleDefinition {
  return { scope, subject, periodSeconds, maxRequests, maxTokens, perChild };
}

/**
 * A request with the counters it met, for the order of messages: model and provider rules sort
 * before path rules.
 */
export function inOrder(
  ofTarget: readonly Counter[],
  ofPath: readonly Counter[],
): readonly Counter[] {
  if (ofTarget.length === 0) return ofPath;
  return [...ofTarget, ...ofPath];
}
