/** The graph of rooms as the imports make it, and where it leaves the table of doors. */
import { doors, mayEnter, roomOf } from "./doors.js";
import type { SourceFile } from "./source-tree.js";

/** An import from one room into another: the two files, and whether only types are imported. */
export interface Crossing {
  readonly from: string;
  readonly to: string;
  readonly typeOnly: boolean;
}

/** From each room to each room it imports, with the imports between the two. */
export type RoomGraph = ReadonlyMap<string, ReadonlyMap<string, readonly Crossing[]>>;

export function roomGraph(sources: readonly SourceFile[]): RoomGraph {
  const graph = new Map<string, Map<string, Crossing[]>>();
  for (const { path, imports } of sources) {
    const room = roomOf(path);
    const reached = graph.get(room) ?? new Map<string, Crossing[]>();
    graph.set(room, reached);
    for (const { from: target, ours, typeOnly } of imports) {
      if (!ours || roomOf(target) === room) continue;
      const crossings = reached.get(roomOf(target)) ?? [];
      reached.set(roomOf(target), [...crossings, { from: path, to: target, typeOnly }]);
    }
  }
  return graph;
}

/** The imports that have no door, each as a line. */
export function withoutDoor(graph: RoomGraph): string[] {
  return [...graph].flatMap(([from, reached]) =>
    [...reached]
      .filter(([to]) => !mayEnter(from, to))
      .flatMap(([, crossings]) => crossings.map((each) => `${each.from} imports ${each.to}`)),
  );
}

/** The doors of the table that no import uses, each as `room → room`. */
export function unusedDoors(graph: RoomGraph): string[] {
  return Object.entries(doors).flatMap(([from, allowed]) =>
    allowed.filter((to) => graph.get(from)?.has(to) !== true).map((to) => `${from} → ${to}`),
  );
}

/** The cycles of a graph, each as `a → b → a`; none, if the graph has none. */
export function cycles(graph: ReadonlyMap<string, Iterable<string>>): string[] {
  const done = new Set<string>();
  const found: string[] = [];
  const visit = (node: string, trail: readonly string[]): void => {
    const at = trail.indexOf(node);
    if (at !== -1) {
      found.push([...trail.slice(at), node].join(" → "));
      return;
    }
    if (done.has(node)) return;
    for (const next of graph.get(node) ?? []) visit(next, [...trail, node]);
    done.add(node);
  };
  for (const node of graph.keys()) visit(node, []);
  return found;
}
