/**
 * Decides which limits a caller sees (`usage.show_ancestors`). A limit is above a path if other
 * paths share it: a limit on an ancestor of the path, on a model, a provider or a label. The viewer
 * is the path of the one who looks: the caller's, or the subtree of a role; null if all limits are
 * shown.
 */
import { isPathWithin } from "../../shared/domain/user-path.js";
import type { Breach, BudgetBreach } from "../../shared/domain/verdict.js";

export type Viewer = string | null;

/** The viewer at a path; null for `/`, below which everything is. */
export function viewerAt(
  { settings }: { readonly settings: { readonly showsAncestors: boolean } },
  path: string,
): Viewer {
  return settings.showsAncestors || path === "/" ? null : path;
}

export function isShown(
  { scope, subject }: { readonly scope: string; readonly subject: string },
  viewer: Viewer,
): boolean {
  return viewer === null || (scope === "user_path" && isPathWithin(subject, viewer));
}

/**
 * The breach as the viewer sees it. Of a limit above, it says only that it refuses, and for how
 * long.
 */
export function breachShownTo(viewer: Viewer, breach: Breach): Breach;
export function breachShownTo(viewer: Viewer, breach: BudgetBreach): BudgetBreach;
export function breachShownTo(viewer: Viewer, breach: Breach | BudgetBreach): Breach | BudgetBreach;
export function breachShownTo(
  viewer: Viewer,
  breach: Breach | BudgetBreach,
): Breach | BudgetBreach {
  if (viewer === null || isShown(breach, viewer)) return breach;
  const { scope, periodSeconds, waitSeconds, use } = breach;
  const common = { scope, subject: "", periodSeconds, waitSeconds, use, above: viewer };
  if (breach.dimension === "budget")
    return { ...common, scope: breach.scope, dimension: "budget", spentUsd: 0, amountUsd: 0 };
  const { dimension, models } = breach;
  // It still names the provider, but without the numbers of its limit.
  if (dimension === "upstream") return { ...breach, cap: 0, limitName: undefined };
  return { ...common, scope: breach.scope, dimension, cap: 0, models };
}
