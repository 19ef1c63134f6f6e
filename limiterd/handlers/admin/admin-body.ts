/**
 * What the admin operations share: the check of a body whose failure is told, the place in a list
 * that is read page by page, and the answer to a change once it is written.
 */

import type { Checked } from "../../../shared/checked.js";
import { type Failure, failure, invalid } from "../../../shared/error-code.js";
import type { DaemonState } from "../../state.js";
import type { Change } from "../../store/store.js";

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

/**
 * Writes a change that is made in memory, then answers. A store that can't be written doesn't keep
 * anybody waiting: the change is in force, and is written when the store works again.
 */
export function writeChange(
  { writer }: Pick<DaemonState, "writer">,
  changes: readonly Change[],
  ports: FailurePort,
  answer: () => void,
): void {
  void writer
    .tryWrite(changes)
    .then((failing) => (failing === null ? answer() : ports.fail(notWritten(failing))));
}

function notWritten(failing: Error): Failure {
  return failure(
    "limiter_unavailable",
    `the change is made but not written: the store can't be written (${failing.message}); it is written when the store works again, and is lost if the daemon is killed before`,
  );
}
