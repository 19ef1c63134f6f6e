/**
 * How deep a parsed JSON value is nested: JSON.parse takes any depth, but JSON.stringify is
 * recursive and fails beyond the stack.
 */

/**
 * Whether a value has more levels of objects and arrays than `levels`; a number or a text has none.
 */
export function nestedDeeperThan(value: unknown, levels: number): boolean {
  let level: object[] = isNested(value) ? [value] : [];
  for (let depth = 1; level.length > 0; depth++) {
    if (depth > levels) return true;
    const below: object[] = [];
    for (const outer of level)
      for (const inner of Object.values(outer)) if (isNested(inner)) below.push(inner);
    level = below;
  }
  return false;
}

function isNested(value: unknown): value is object {
  return typeof value === "object" && value !== null;
}
