/**
 * Plans the changes that make rules or budgets equal to a file. Pure. Not here: how changes are
 * shown (`handlers/admin/plan-limit-file.ts`).
 */
import type { RuleSource } from "../../../shared/domain/rule.js";
import type { LimitAction } from "../../../shared/limit-files/limits-plan.js";
import type { SlicedWork, Turns } from "../../../shared/long-lists.js";

/** What differs between rules and budgets: their ids, equality and order. */
interface LimitKind<D> {
  readonly idOf: (limit: D) => string;
  readonly isSame: (a: D, b: D) => boolean;
  readonly compare: (a: D, b: D) => number;
}

interface Present<D> {
  readonly definition: D;
  readonly source: RuleSource;
}

/** The existing rules or budgets. */
interface PresentLimits<D> {
  readonly present: ReadonlyMap<string, Present<D>>;
  /** The configuration's rule or budget with an id; null if there is none. */
  readonly declared: (id: string) => D | null;
}

export interface PlanOptions {
  /** Whether manual rules and budgets that the file doesn't name are removed. */
  readonly prune: boolean;
  /** Whether the file takes over rules and budgets of the configuration that it names. */
  readonly takeOver: boolean;
}

export interface LimitChange<D> {
  readonly action: LimitAction;
  readonly id: string;
  /** Null: added. */
  readonly before: D | null;
  /** Null: removed. */
  readonly after: D | null;
}

interface KindPlan<D> {
  /** In the order of lists. */
  readonly changes: readonly LimitChange<D>[];
  readonly unchanged: number;
  /** The number of manual rules or budgets that the file doesn't name and that stay. */
  readonly kept: number;
}

/**
 * `definitions`: those of the file, with unique ids. If the existing rules or budgets change
 * between two slices of the work, the plan is invalid and must be made again.
 */
export function* planLimits<D>(
  { idOf, isSame, compare }: LimitKind<D>,
  { present, declared }: PresentLimits<D>,
  definitions: readonly D[],
  { prune, takeOver, turns }: PlanOptions & { readonly turns: Turns },
): SlicedWork<KindPlan<D>> {
  const changes: LimitChange<D>[] = [];
  const fileIds = new Set<string>();
  for (const after of definitions) {
    const id = idOf(after);
    fileIds.add(id);
    const existing = present.get(id);
    const action =
      existing === undefined ? "add" : actionOn(existing, isSame(existing.definition, after));
    if (action !== null) changes.push({ action, id, before: existing?.definition ?? null, after });
    if (turns.isOver()) yield;
  }
  const unchanged = definitions.length - changes.length;
  let keptCount = 0;
  for (const [id, { definition: before, source }] of present) {
    if (turns.isOver()) yield;
    if (source === "config" || fileIds.has(id)) continue;
    if (!prune) {
      keptCount++;
      continue;
    }
    const after = declared(id);
    changes.push({ action: after === null ? "remove" : "revert", id, before, after });
  }
  changes.sort((a, b) => compare((a.before ?? a.after)!, (b.before ?? b.after)!));
  return { changes, unchanged, kept: keptCount };

  /** Null if nothing must be done. */
  function actionOn({ source }: Present<D>, isAsInFile: boolean): LimitAction | null {
    if (source === "config" && takeOver) return "take_over";
    if (isAsInFile) return null;
    return source === "config" ? "locked" : "change";
  }
}
