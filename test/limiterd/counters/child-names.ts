/** The names of a template's children, in no order that means anything. */
import type { ChildCounters } from "../../../limiterd/counters/counter.js";

export function childNames(children: ChildCounters): string[] {
  const names: string[] = [];
  const walk = children.walk();
  for (let place = walk.next(); place !== -1; place = walk.next()) names.push(children.name(place));
  return names;
}
