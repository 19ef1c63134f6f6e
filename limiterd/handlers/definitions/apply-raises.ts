/**
 * Makes, applies, restores and ends raises. All raises of a rule or budget are one definition. In
 * the store it is in the table `settings`, under the key `rule_raises` or `budget_raises` and the
 * id, with the value of `raisesToStored`.
 */
import {
  type Raise,
  raisesFromStored,
  raisesOfMeasure,
  raisesToStored,
} from "../../../shared/domain/raise.js";
import { budgetFromStored } from "../../budgets/stored-budget.js";
import type { Definition } from "../../cluster/definitions/definition.js";
import type { Raisable, RaiseKind } from "../../raise-note.js";
import { ruleFromStored } from "../../rules/stored-rule.js";
import type { DaemonState } from "../../state.js";
import { type Change, type Store, throwMalformed } from "../../store/store.js";
import type { Applying } from "./applying.js";

type Books = Pick<DaemonState, "book" | "budgets">;

/** The definition of all raises of a rule or budget; without raises, their deletion. */
export function raisesDefinition(
  kind: RaiseKind,
  id: string,
  raises: readonly Raise[],
): Definition {
  return { kind, key: id, value: raises.length === 0 ? null : raisesToStored(raises) };
}

/** The raises that haven't ended. */
export function activeRaises(raises: readonly Raise[] | null, nowMs: number): readonly Raise[] {
  return (raises ?? []).filter(({ untilMs }) => nowMs < untilMs);
}

/** Applies a definition. Returns null, or what is wrong with it. */
export function applyRaises(
  state: Books,
  kind: RaiseKind,
  { key: id, value }: Definition,
  { nowMs, changes }: Applying,
): string | null {
  const raises = raisesFromStored(value ?? []);
  if (raises === null) return "it is no list of raises";
  changes.push(raisesChange(kind, id, putRaises(state, { kind, id }, raises, nowMs)));
  return null;
}

/**
 * The deletions of the raises that these definitions end, because they delete the raised rule or
 * budget or make another one in its place.
 */
export function endedBy(
  state: Books & Pick<DaemonState, "declared">,
  definitions: readonly Definition[],
): readonly Definition[] {
  const { book, budgets, declared } = state;
  if (book.raised.size === 0 && budgets.raisedBudgets.size === 0) return [];
  return definitions.flatMap(({ kind, key, value }) => {
    if (kind !== "rules" && kind !== "budgets") return [];
    const raiseKind = kind === "rules" ? "rule_raises" : "budget_raises";
    const limit = limitOf(state, raiseKind, key);
    if (limit === undefined || limit.raises === null) return [];
    const fromStored = kind === "rules" ? ruleFromStored : budgetFromStored;
    const stored = value === null ? null : fromStored(value);
    // A reversion restores the configuration's definition, not the one in its value.
    const inConfig = kind === "rules" ? declared.rules : declared.budgets;
    const replacement = stored?.source === "config" ? inConfig.find(key) : stored;
    const perChild = replacement?.definition.perChild;
    return perChild === limit.definition.perChild ? [] : [raisesDefinition(raiseKind, key, [])];
  });
}

/**
 * Removes the raises of a rule or budget from the store if a definition has deleted it or made it
 * again without them. `before`: the rule or budget before the definition was applied.
 */
export function dropRaises(
  state: Books,
  kind: RaiseKind,
  before: Raisable | undefined,
  { changes }: Pick<Applying, "changes">,
): void {
  if (before === undefined || before.raises === null) return;
  if ((limitOf(state, kind, before.id)?.raises ?? null) === null)
    changes.push(raisesChange(kind, before.id, []));
}

/**
 * Restores the stored raises. Returns changes that remove raises of rules and budgets that don't
 * exist any more.
 */
export function restoreRaises(store: Store, state: Books, nowMs: number): readonly Change[] {
  const changes: Change[] = [];
  for (const { key, value } of store.entries("settings")) {
    const [kind, id] = splitKey(String(key));
    if (kind === null) continue;
    const raises = raisesFromStored(value) ?? throwMalformed(store, "settings", key);
    const keptRaises = putRaises(state, { kind, id }, raises, nowMs);
    if (keptRaises.length < raises.length) changes.push(raisesChange(kind, id, keptRaises));
  }
  return changes;
}

/** The definitions of all raises. */
export function allRaises({ book, budgets }: Books): readonly Definition[] {
  return [
    ...[...book.raised].map(({ id, raises }) => raisesDefinition("rule_raises", id, raises ?? [])),
    ...[...budgets.raisedBudgets].map(({ id, raises }) =>
      raisesDefinition("budget_raises", id, raises ?? []),
    ),
  ];
}

/**
 * Removes raises that have ended; call it once a second. Verdicts don't depend on it, because each
 * compares the time, but a removed raise doesn't apply again if the clock is set back. Rules that
 * hosts share keep their raises for `sharedGraceMs` longer.
 */
export function endRaises(state: DaemonState, nowMs: number): void {
  const { book, budgets, writer } = state;
  if (book.raised.size === 0 && budgets.raisedBudgets.size === 0) return;
  const changes: Change[] = [];
  const end = (kind: RaiseKind, limit: Raisable): void => {
    const raisesLeft = activeRaises(limit.raises, nowMs - graceMs(limit));
    if (raisesLeft.length === limit.raises?.length) return;
    for (const raise of limit.raises ?? [])
      if (!raisesLeft.includes(raise)) state.onRaise({ event: "ended", kind, limit, raise });
    setRaises(state, kind, limit, raisesLeft);
    changes.push(raisesChange(kind, limit.id, raisesLeft));
  };
  for (const rule of [...book.raised]) end("rule_raises", rule);
  for (const budget of [...budgets.raisedBudgets]) end("budget_raises", budget);
  if (changes.length > 0) void writer.tryWrite(changes);
}

/**
 * For hosts that share a rule, the engine's clock decides when a raise ends. It may be behind this
 * host's.
 */
const sharedGraceMs = 60_000;

function graceMs({ shares = null }: Raisable): number {
  return shares === null ? 0 : sharedGraceMs;
}

function raisesChange(kind: RaiseKind, id: string, raises: readonly Raise[]): Change {
  const value = raises.length === 0 ? undefined : raisesToStored(raises);
  return { table: "settings", key: `${kind}\n${id}`, value };
}

/** Whether an entry of the table `settings` is one of raises. */
export function isRaisesKey(key: string | number): boolean {
  return splitKey(String(key))[0] !== null;
}

function splitKey(key: string): readonly [RaiseKind | null, string] {
  const separator = key.indexOf("\n");
  const kind = key.slice(0, separator);
  return [
    kind === "rule_raises" || kind === "budget_raises" ? kind : null,
    key.slice(separator + 1),
  ];
}

function limitOf({ book, budgets }: Books, kind: RaiseKind, id: string): Raisable | undefined {
  return kind === "rule_raises" ? book.ruleSet.get(id) : budgets.budgets.get(id);
}

/** Gives a rule or budget those of the raises that can apply to it, and returns them. */
function putRaises(
  state: Books,
  { kind, id }: { readonly kind: RaiseKind; readonly id: string },
  raises: readonly Raise[],
  nowMs: number,
): readonly Raise[] {
  const limit = limitOf(state, kind, id);
  // A host whose configuration lacks the rule has nothing to raise.
  if (limit === undefined) return [];
  const { perChild } = limit.definition;
  const kept = activeRaises(raises, nowMs - graceMs(limit)).filter(
    ({ child }) => child === "" || perChild,
  );
  setRaises(state, kind, limit, kept);
  return kept;
}

function setRaises(
  { book, budgets }: Books,
  kind: RaiseKind,
  limit: Raisable,
  raises: readonly Raise[],
): void {
  limit.raises = raises.length === 0 ? null : raises;
  for (const part of limit.parts ?? []) part.raises = raisesOfMeasure(raises, part.measure!);
  const raised: Set<Raisable> =
    kind === "rule_raises"
      ? (book.raised as Set<Raisable>)
      : (budgets.raisedBudgets as Set<Raisable>);
  if (raises.length === 0) raised.delete(limit);
  else raised.add(limit);
}
