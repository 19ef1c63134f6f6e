/** In which order the targets of a request's route are tried. */
import type { Target } from "../../../shared/domain/target-name.js";
import type { RequestContext } from "../../request-context.js";
import { withOwnFirst } from "../../routing/affinity.js";
import { conversationOf } from "../../routing/conversation.js";
import type { Route, WeightedTarget } from "../../routing/resolve-model.js";

/** Best first; a conversation's own target before the others, if the virtual model wants it. */
export function orderedTargets(
  { gateway, exchange }: RequestContext<"targetOrder">,
  call: Parameters<typeof conversationOf>[1],
  route: Route,
): readonly Target[] {
  const ordered = gateway.targetOrder.order(route);
  if (route.kind !== "virtual" || route.affinity === undefined) return ordered;
  const conversation = conversationOf(exchange, call);
  // The order is one of the route's own targets.
  return conversation === null
    ? ordered
    : withOwnFirst(ordered as readonly WeightedTarget[], conversation);
}
