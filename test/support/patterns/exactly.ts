/**
 * A pattern for `t.match` whose lists, at any depth, are met by lists of as many items: otherwise
 * a list in a pattern says nothing of what comes after its last item, and an empty one nothing at
 * all. Objects may still have more fields than their pattern.
 */
export function exactly(pattern: object): object {
  if (Array.isArray(pattern)) return { ...pattern.map(exactlyInside), length: pattern.length };
  const isPlain = Object.getPrototypeOf(pattern) === Object.prototype;
  if (!isPlain) return pattern;
  return Object.fromEntries(
    Object.entries(pattern).map(([name, value]) => [name, exactlyInside(value)]),
  );
}

function exactlyInside(value: unknown): unknown {
  return typeof value === "object" && value !== null ? exactly(value) : value;
}
