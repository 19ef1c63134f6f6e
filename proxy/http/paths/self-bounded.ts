/** The endpoints for who isn't a caller, or not yet: each bounds its requests itself. */
export type SelfBounded = "dashboard" | "dashboard-session" | "openapi" | "health" | "ready";

const selfBounded: ReadonlySet<string> = new Set<SelfBounded>([
  "dashboard",
  "dashboard-session",
  "openapi",
  "health",
  "ready",
]);

export function isSelfBounded(endpoint: string): endpoint is SelfBounded {
  return selfBounded.has(endpoint);
}
