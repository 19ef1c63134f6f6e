/** In which order the targets of a request's route are tried. */
import type { Target } from "../../../shared/domain/target-name.js";
import type { Gateway } from "../../gateway.js";
import { withOwnFirst } from "../../routing/affinity.js";
import type { Route, WeightedTarget } from "../../routing/resolve-model.js";

interface Continued {
  /** Which conversation it continues; null: nothing says so. */
  conversation(): string | null;
}

/** Best first; a conversation's own target before the others, if the virtual model wants it. */
export function orderedTargets(
  { targetOrder }: Pick<Gateway, "targetOrder">,
  call: Continued,
  route: Route,
): readonly Target[] {
  const ordered = targetOrder.order(route);
  if (route.kind !== "virtual" || route.affinity === undefined) return ordered;
  const conversation = call.conversation();
  // The order is one of the route's own targets.
  return conversation === null
    ? ordered
    : withOwnFirst(ordered as readonly WeightedTarget[], conversation);
}
