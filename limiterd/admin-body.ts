/** What every admin operation does with its body: a check whose failure is told, and the place in a list that is read page by page. */
import { type Failure, invalid } from "../shared/error-code.js";
import type { Checked } from "../shared/checked.js";

interface FailurePort {
  fail(failure: Failure): void;
}

/** The value of a check, or null after its failure was told. */
export function valueOf<T>(checked: Checked<T>, ports: FailurePort): T | null {
  if (checked.ok) return checked.value;
  ports.fail(checked.failure);
  return null;
}

/** The `after` of a list's body: null to begin. Undefined after its failure was told. */
export function pageAfter(body: unknown, ports: FailurePort): string | null | undefined {
  const after = (body as { after?: unknown } | null)?.after ?? null;
  if (after === null || typeof after === "string") return after;
  ports.fail(invalid("after must be the next of the page before", "after"));
  return undefined;
}
