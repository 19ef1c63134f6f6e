/**
 * The targets that a call may go to, best first. For a model that one provider serves, this is that
 * one target.
 */
import type { Target } from "../../shared/domain/target-name.js";
import { makerOf } from "../dialects/shared/made-by.js";
import { type Gateway, providerOf } from "../gateway.js";
import { hasSeveralProviders } from "../objects/object-access.js";
import type { RequestContext } from "../request-context.js";
import { conversationOf, withOwnFirst } from "../routing/affinity.js";
import type { Route, VirtualRoute, WeightedTarget } from "../routing/resolve-model.js";
import { type ModelCall, problemAt } from "./model-call.js";

/** Best first; the conversation's target comes before all others. */
export function orderedTargets(
  { gateway, record }: RequestContext,
  call: Pick<ModelCall, "body" | "valuesOf">,
  route: Route,
): readonly Target[] {
  if (route.kind === "direct") return route.targets;
  const ordered = gateway.targetOrder.order(route);
  if (hasFixedOrder(route) || route.affinity === "none") return ordered;
  const severalAccounts = hasSeveralAccounts(gateway, route);
  const byMessage = route.affinity === "conversation";
  const conversation =
    byMessage || severalAccounts ? conversationOf(record.session, call, byMessage) : null;
  // `order` returns the route's targets.
  const ranked =
    conversation === null
      ? ordered
      : withOwnFirst(ordered as readonly WeightedTarget[], conversation);
  if (!severalAccounts) return ranked;
  // No other account can read the reasoning of the one that made it.
  const maker = call.body === null ? null : makerOf(call.body);
  if (maker === null) return ranked;
  const isMakers = (target: Target): boolean =>
    providerOf(gateway, target).config.account === maker;
  return [...ranked.filter(isMakers), ...ranked.filter((target) => !isMakers(target))];
}

/** Whether every conversation has the same order of targets. */
function hasFixedOrder({ strategy }: VirtualRoute): boolean {
  return strategy === "failover" || strategy === "cost";
}

/** The targets that can take a call. Usually all can; then it returns `targets` itself. */
export function ableTargets(
  { gateway }: RequestContext,
  call: ModelCall,
  targets: readonly Target[],
): readonly Target[] {
  let ableOnes: Target[] | null = null;
  for (let i = 0; i < targets.length; i++) {
    const target = targets[i]!;
    if (problemAt(gateway, call, target) === null) ableOnes?.push(target);
    else ableOnes ??= targets.slice(0, i);
  }
  return ableOnes ?? targets;
}

/** Marks the targets with the tools that the request carries. */
export function withTools(
  targets: readonly Target[],
  tools: readonly string[] | null,
): readonly Target[] {
  return tools === null ? targets : targets.map((target) => ({ ...target, tools }));
}

/** Whether the targets of a route belong to several accounts. */
export function hasSeveralAccounts(gateway: Gateway, { kind, targets }: Route): boolean {
  if (kind === "direct" || !hasSeveralProviders(targets)) return false;
  const { account } = providerOf(gateway, targets[0]!).config;
  return targets.some((target) => providerOf(gateway, target).config.account !== account);
}
