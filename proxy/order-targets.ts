/** In which order a route's targets are tried. The state of the round robin hangs off what is made here, one entry for each virtual model. */
import type { Target } from "../shared/wire/message.js";
import type { Route, WeightedTarget } from "./resolve-model.js";

export interface TargetOrder {
  /** All targets of a route, the preferred one first. */
  order(route: Route): readonly Target[];
}

export function createTargetOrder(): TargetOrder {
  const turns = new Map<string, number[]>();
  return {
    order(route) {
      if (route.kind === "direct") return route.targets;
      switch (route.strategy) {
        case "failover": return route.targets;
        // No prices are known yet, and unpriced targets keep the written order.
        case "cost": return route.targets;
        case "round_robin": return rotate(route.targets, nextTurn(turns, route.source, route.targets));
      }
    },
  };
}

/**
 * Smooth weighted round robin: each target gains its weight, the richest is chosen and pays the sum, so
 * that heavy targets are spread out instead of coming in a row.
 */
function nextTurn(turns: Map<string, number[]>, source: string, targets: readonly WeightedTarget[]): number {
  let credits = turns.get(source);
  if (credits?.length !== targets.length) turns.set(source, (credits = targets.map(() => 0)));
  let chosen = 0;
  let sum = 0;
  for (const [i, { weight }] of targets.entries()) {
    credits[i]! += weight;
    sum += weight;
    if (credits[i]! > credits[chosen]!) chosen = i;
  }
  credits[chosen]! -= sum;
  return chosen;
}

/** The chosen target, then those after it in turn: whoever is refused moves on to the neighbour. */
function rotate(targets: readonly Target[], first: number): readonly Target[] {
  return first === 0 ? targets : [...targets.slice(first), ...targets.slice(0, first)];
}
