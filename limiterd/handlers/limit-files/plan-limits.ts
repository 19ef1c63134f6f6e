/**
 * Plans the changes that make rules or budgets equal to a file. Pure; how changes are shown is in
 * `handlers/admin/handle-limit-files.ts`.
 */
import type { RuleSource } from "../../../shared/domain/rule.js";
import type { LimitAction } from "../../../shared/limit-files/limits-plan.js";
import type { SlicedWork, Turns } from "../../../shared/long-lists.js";

/** Works for rules and budgets: how they are identified and when two are equal. */
interface LimitSort<D> {
  readonly idOf: (limit: D) => string;
  readonly isSame: (a: D, b: D) => boolean;
  readonly compare: (a: D, b: D) => number;
}

interface Present<D> {
  readonly definition: D;
  readonly source: RuleSource;
}

/** What there is, by ids. */
interface PresentLimits<D> {
  readonly present: ReadonlyMap<string, Present<D>>;
  /** What the configuration has in the place of one that was made by hand. */
  readonly declared: (id: string) => D | null;
}

export interface PlanOptions {
  /** Whether manual ones that the file doesn't name are removed. */
  readonly prune: boolean;
  /** Whether the file takes over those of the configuration that it names. */
  readonly takeOver: boolean;
}

export interface LimitChange<D> {
  readonly action: LimitAction;
  readonly id: string;
  /** Null: it is added. */
  readonly before: D | null;
  /** Null: it is removed. */
  readonly after: D | null;
}

interface SortPlan<D> {
  /** In the order of lists. */
  readonly changes: readonly LimitChange<D>[];
  readonly unchanged: number;
  /** Made by hand, not in the file, and left as they are. */
  readonly kept: number;
}

/**
 * `wanted`: no two have the same id. If the present ones change between the turns, the plan is
 * invalid and must be made again.
 */
export function* planLimits<D>(
  { idOf, isSame, compare }: LimitSort<D>,
  { present, declared }: PresentLimits<D>,
  wanted: readonly D[],
  { prune, takeOver, turns }: PlanOptions & { readonly turns: Turns },
): SlicedWork<SortPlan<D>> {
  const changes: LimitChange<D>[] = [];
  const named = new Set<string>();
  for (const after of wanted) {
    const id = idOf(after);
    named.add(id);
    const known = present.get(id);
    const action = known === undefined ? "add" : actionOn(known, isSame(known.definition, after));
    if (action !== null) changes.push({ action, id, before: known?.definition ?? null, after });
    if (turns.isOver()) yield;
  }
  const unchanged = wanted.length - changes.length;
  let kept = 0;
  for (const [id, { definition: before, source }] of present) {
    if (turns.isOver()) yield;
    if (source === "config" || named.has(id)) continue;
    if (!prune) {
      kept++;
      continue;
    }
    const after = declared(id);
    changes.push({ action: after === null ? "remove" : "revert", id, before, after });
  }
  changes.sort((a, b) => compare((a.before ?? a.after)!, (b.before ?? b.after)!));
  return { changes, unchanged, kept };

  /** Null: it is as the file has it. */
  function actionOn({ source }: Present<D>, isAsWanted: boolean): LimitAction | null {
    if (source === "config" && takeOver) return "take_over";
    if (isAsWanted) return null;
    return source === "config" ? "locked" : "change";
  }
}
