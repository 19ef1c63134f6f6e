/**
 * The order in which the targets of a route are tried (docs/reference/http-api.md, "Virtual models
 * and failover"): the first should serve the request; the others take over if it has no capacity or
 * fails.
 *
 * Not here: admission (the daemon) and health (`target-health.ts`).
 */
import { unreachable } from "../../shared/assert.js";
import type { Target } from "../../shared/domain/target-name.js";
import type { Route, VirtualRoute, WeightedTarget } from "./resolve-model.js";
import type { TargetLoad } from "./target-load.js";

export interface TargetOrder {
  /** The route's targets, best first. The array is shared: it must not be changed. */
  order(route: Route): readonly Target[];
  /** What the next `order` will return, without advancing the rotation. */
  peek(route: Route): readonly Target[];
}

/** The load and latency of targets. */
type SeenLoad = Pick<TargetLoad, "inFlight" | "latencyClass">;

const noLoad: SeenLoad = { inFlight: () => 0, latencyClass: () => 0 };

/**
 * Remembers the turn of each virtual model with weights and nothing else, so its size is that of
 * the configuration. `costOf` is a target's price as a single figure, or null for an unpriced one.
 */
export function createTargetOrder(
  costOf: (target: Target) => number | null,
  targetLoad: SeenLoad | null = null,
): TargetOrder {
  const load = targetLoad ?? noLoad;
  const turns = new Map<string, Turn>();
  const order = (route: Route, take: boolean): readonly Target[] => {
    if (route.kind === "direct") return route.targets;
    switch (route.strategy) {
      case "failover":
        return route.targets;
      case "cost":
        return cheapestFirst(route.targets, costOf);
      case "round_robin":
        return nextTurn(turns, route, take);
      case "least_busy":
        return leastFirst(
          nextTurn(turns, route, take),
          (target) => load.inFlight(target) / target.weight,
        );
      case "latency":
        return leastFirst(nextTurn(turns, route, take), (target) => load.latencyClass(target));
      default:
        return unreachable(route.strategy);
    }
  };
  return { order: (route) => order(route, true), peek: (route) => order(route, false) };
}

/**
 * Sorts by price, unpriced targets last, equal ones in their configured order. It sorts each time:
 * there are few targets, and prices change by the hour.
 */
function cheapestFirst(
  targets: readonly WeightedTarget[],
  costOf: (target: Target) => number | null,
): readonly Target[] {
  return targets
    .map((target) => ({ target, cost: costOf(target) ?? Infinity }))
    .sort((a, b) => (a.cost === b.cost ? 0 : a.cost - b.cost))
    .map(({ target }) => target);
}

/** Sorts by a measure, smallest first, equal ones in the order of their turn. */
function leastFirst(
  turn: readonly WeightedTarget[],
  measureOf: (target: WeightedTarget) => number,
): readonly Target[] {
  return turn
    .map((target) => ({ target, measure: measureOf(target) }))
    .sort((a, b) => a.measure - b.measure)
    .map(({ target }) => target);
}

interface Turn {
  readonly targets: readonly WeightedTarget[];
  readonly weightSum: number;
  /** nginx's current weights. */
  readonly current: number[];
  /** By the index of the first target: all targets in order. */
  readonly orders: readonly (readonly WeightedTarget[])[];
}

/**
 * Smooth weighted round robin, as in nginx: among as many picks as the sum of the weights, every
 * target is first as often as its weight, evenly spread.
 */
function nextTurn(
  turns: Map<string, Turn>,
  { source, targets }: VirtualRoute,
  take: boolean,
): readonly WeightedTarget[] {
  let turn = turns.get(source);
  if (turn === undefined || turn.targets !== targets) {
    turn = newTurn(targets);
    turns.set(source, turn);
  }
  const { orders, weightSum } = turn;
  const current = take ? turn.current : [...turn.current];
  let best = 0;
  for (const [i, { weight }] of targets.entries()) {
    current[i]! += weight;
    if (current[i]! > current[best]!) best = i;
  }
  current[best]! -= weightSum;
  return orders[best]!;
}

function newTurn(targets: readonly WeightedTarget[]): Turn {
  const weightSum = targets.reduce((sum, { weight }) => sum + weight, 0);
  return {
    targets,
    weightSum,
    current: targets.map(() => 0),
    orders: targets.map((_, first) => orderFrom(targets, first)),
  };
}

/**
 * All targets, beginning with `first`. The others follow by weight, heaviest first; equal ones in
 * the configured order after the first, so that the load of a failing target doesn't always go to
 * the same other one.
 */
function orderFrom(targets: readonly WeightedTarget[], first: number): readonly WeightedTarget[] {
  const rest = [...targets.slice(first + 1), ...targets.slice(0, first)];
  return [targets[first]!, ...rest.sort((a, b) => b.weight - a.weight)];
}
