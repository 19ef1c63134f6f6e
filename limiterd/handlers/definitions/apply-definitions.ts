/**
 * Applies definitions to memory, writes them to the store in one commit, and announces their
 * effects to the proxies. All definitions of admin operations, of this host or another, take effect
 * only here.
 */

import { budgetsInert } from "../../../shared/config/inert-rule.js";
import { isSameTimes, type LoopTimes } from "../../../shared/domain/loop-rule.js";
import { beginBackfill } from "../../budgets/backfill-budget.js";
import { removeSpends } from "../../budgets/remove-spends.js";
import { budgetChange } from "../../budgets/stored-budget.js";
import { type Definition, definitionKinds } from "../../cluster/definitions/definition.js";
import {
  type DaemonState,
  hasHardCaps,
  hasSessionBudgets,
  hasWaiters,
  isLimited,
  loopTimes,
} from "../../state.js";
import type { Change } from "../../store/store.js";
import { tryWriteSlices } from "../../store/writer.js";
import { announce, announceIfLimitedChanged, announceJwts } from "../announcements/announce.js";
import { applyBudget, applyBudgetReset, applySettings } from "./apply-budgets.js";
import { applyDenial, applyKey } from "./apply-credentials.js";
import { applyRaises } from "./apply-raises.js";
import { applyRule, applyRuleReset, noteOfRules } from "./apply-rules.js";
import type { Applying } from "./applying.js";

/** The kinds of definitions that a limit file may hold. */
const kindsInFiles: ReadonlySet<Definition["kind"]> = new Set([
  "rules",
  "budgets",
  "keys",
  "denials",
] as const);

/** The result of applying definitions to memory. */
interface AppliedDefinitions {
  /**
   * Resolves with null once the definitions are in the store, or with the error that prevents it,
   * like `Writer.tryWrite`.
   */
  readonly written: Promise<Error | null>;
  /**
   * Resolves once verdicts count all spend that budgets must look up because of this call and
   * earlier ones. What was found is written, and stale accounts are removed, only later.
   */
  readonly followed: Promise<unknown>;
  /** The definitions that were skipped, each with what is wrong with it. */
  readonly flaws: readonly { readonly definition: Definition; readonly flaw: string }[];
}

/** `also`: further changes for the same commit. */
export function applyDefinitions(
  state: DaemonState,
  definitions: readonly Definition[],
  nowMs: number,
  also: readonly Change[] = [],
): AppliedDefinitions {
  const before = announcedFacts(state);
  const applying: Applying = {
    nowMs,
    // Everything settled until now is in the batch that closes here.
    lsn: state.writer.closeBatch(),
    changes: [],
    deletedRules: new Set(
      definitions.flatMap(({ kind, key, value }) =>
        kind === "rules" && value === null ? [key] : [],
      ),
    ),
    stale: [],
    incomplete: [],
    denied: [],
    allowed: [],
  };
  const flaws: { definition: Definition; flaw: string }[] = [];
  for (const definition of byKind(definitions)) {
    const flaw = apply(state, definition, applying);
    if (flaw !== null) flaws.push({ definition, flaw });
  }
  if (definitions.some(({ kind }) => kindsInFiles.has(kind))) state.limitFiles.limitsVersion++;
  announceChangedFacts(state, before, applying);
  if (hasWaiters(state)) state.waiters.definitionsChanged();
  return { ...write(state, applying, { definitions, also }), flaws };
}

/**
 * Queues the changes for the store, then the removal of stale accounts and the look-ups of budgets.
 */
function write(
  state: DaemonState,
  { nowMs, changes, stale, incomplete }: Applying,
  { definitions, also }: { definitions: readonly Definition[]; also: readonly Change[] },
): Pick<AppliedDefinitions, "written" | "followed"> {
  const { writer } = state;
  const backfill = beginBackfill(state, incomplete, nowMs);
  // The changes that mark budgets as incomplete come first: if the process ends before the new
  // anchors are written, the backfill after the restart uses the former ones.
  const all = [...incomplete.map(budgetChange), ...changes];
  // The note on all rules, which a start reads, must be in the same commit as their changes.
  const hasRules = definitions.some(({ kind }) => kind === "rules" || kind === "rule_resets");
  const together = [...all, ...(hasRules ? [noteOfRules(state)] : []), ...also];
  // One commit, so that after a crash the store has all of a limit file or nothing of it.
  const written =
    hasRules || definitions.some(({ kind }) => kindsInFiles.has(kind))
      ? writer.tryWrite(together)
      : tryWriteSlices(writer, together);
  if (stale.length === 0 && backfill === null) return { written, followed: Promise.resolve() };
  const before = state.accountsWritten;
  // If a crash leaves stale accounts in the store, the next start drops them, or its backfill
  // replaces them.
  const removed = removeSpends(state, allOf(stale));
  const ended = removed.then(() => backfill?.finish().catch(state.onUnreadable));
  state.accountsWritten = Promise.all([before, ended]);
  const lookedUp = backfill?.lookedUp.catch(() => {
    // `finish` reports it.
  });
  return { written, followed: Promise.all([before, lookedUp]) };
}

function byKind(definitions: readonly Definition[]): readonly Definition[] {
  const ofKinds = new Map(definitionKinds.map((kind) => [kind, [] as Definition[]]));
  for (const definition of definitions) ofKinds.get(definition.kind)?.push(definition);
  return [...ofKinds.values()].flat();
}

function apply(state: DaemonState, definition: Definition, applying: Applying): string | null {
  switch (definition.kind) {
    case "rules":
      return applyRule(state, definition, applying);
    case "rule_resets":
      return applyRuleReset(state, definition, applying);
    case "settings":
      return applySettings(state, definition, applying);
    case "budgets":
      return applyBudget(state, definition, applying);
    case "budget_resets":
      return applyBudgetReset(state, definition, applying);
    case "rule_raises":
    case "budget_raises":
      return applyRaises(state, definition.kind, definition, applying);
    case "keys":
      return applyKey(state, definition, applying);
    case "denials":
      return applyDenial(state, definition, applying);
  }
}

/** The facts of all limits that proxies must know. */
interface AnnouncedFacts {
  readonly limited: boolean;
  readonly hard: boolean;
  readonly sessions: boolean;
  readonly loops: LoopTimes | null;
  readonly inertRules: number;
  readonly inertBudgets: number;
  readonly keys: number;
  readonly importedKeysExist: boolean;
}

function announcedFacts(state: DaemonState): AnnouncedFacts {
  const { settings, budgets, inertRules, keys } = state;
  return {
    limited: isLimited(state),
    hard: hasHardCaps(state),
    sessions: hasSessionBudgets(state),
    loops: loopTimes(state),
    inertRules: inertRules.size,
    inertBudgets: budgetsInert(settings.usageEnabled) === null ? 0 : budgets.budgets.size,
    keys: keys.size,
    importedKeysExist: keys.importedCount > 0,
  };
}

function announceChangedFacts(
  state: DaemonState,
  before: AnnouncedFacts,
  { denied, allowed }: Applying,
): void {
  const { hard, sessions, loops, inertRules, inertBudgets, keys, importedKeysExist } =
    announcedFacts(state);
  announceIfLimitedChanged(state, before.limited);
  if (hard !== before.hard) announce(state, { kind: "event", name: "hard_limits", value: hard });
  if (sessions !== before.sessions)
    announce(state, { kind: "event", name: "session_budgets", value: sessions });
  if (!isSameTimes(loops, before.loops))
    announce(state, { kind: "event", name: "loop_times", value: loops });
  if (inertRules !== before.inertRules)
    announce(state, { kind: "event", name: "inert_rules", value: inertRules });
  if (inertBudgets !== before.inertBudgets)
    announce(state, { kind: "event", name: "inert_budgets", value: inertBudgets });
  if (keys > 0 && before.keys === 0)
    announce(state, { kind: "event", name: "keys_exist", value: true });
  if (importedKeysExist !== before.importedKeysExist)
    announce(state, { kind: "event", name: "imported_keys_exist", value: importedKeysExist });
  if (denied.length > 0 || allowed.length > 0)
    announceJwts(state, { denied, allowed, complete: false });
}

function* allOf<T>(lists: readonly Iterable<T>[]): Generator<T> {
  for (const list of lists) yield* list;
}
