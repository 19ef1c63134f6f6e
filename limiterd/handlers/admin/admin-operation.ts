/**
 * What the admin operations share: their request and ports, the check of a body, and the answer to
 * a change once it is written.
 */
import type { Checked } from "../../../shared/checked.js";
import { type Failure, failure } from "../../../shared/error-code.js";
import type { AdminOp } from "../../../shared/wire/admin-op.js";
import type { Proposal } from "../../cluster/definitions/definition.js";
import type { AppliedHere, Decided } from "../../cluster/definitions/shared-definitions.js";
import type { ClusterMember } from "../../cluster/hosts/cluster-member.js";
import type { DaemonState } from "../../state.js";
import type { Change } from "../../store/store.js";
import { applyDefinitions } from "../definitions/apply-definitions.js";

/** An operation with its body, which is unchecked. */
export interface AdminRequest<Op extends AdminOp> {
  readonly op: Op;
  readonly body: unknown;
}

/** All but the one that belongs to a connection: that is in `handlers/back-up.ts`. */
export type PlainOp = Exclude<AdminOp, "backup">;

/** The answer to an operation: one of the two, once. */
export interface AnswerPorts {
  answer(body: unknown): void;
  fail(failure: Failure): void;
}

export interface AdminPorts extends AnswerPorts {
  /** Called with the targets that the proxy which asks leaves alone. */
  targetsReported(targets: readonly string[]): void;
}

/** The value of a check; null after the operation has failed with what the check found. */
export function checkedValue<T>(checked: Checked<T>, ports: Pick<AnswerPorts, "fail">): T | null {
  if (checked.ok) return checked.value;
  ports.fail(checked.failure);
  return null;
}

/** Fails, and proposes nothing. */
export function failed(ports: Pick<AnswerPorts, "fail">, failure: Failure): null {
  ports.fail(failure);
  return null;
}

/**
 * Makes a change: what `propose` says is applied, and then answered. It judges what is known now,
 * and returns null after the operation has failed.
 */
export function makeChange(
  state: DaemonState,
  nowMs: number,
  ports: AnswerPorts,
  propose: () => Proposal | null,
): void {
  const { sharedDefinitions } = state;
  if (sharedDefinitions !== null)
    return void sharedDefinitions.change(propose).then((decided) => {
      if (decided.kind === "applied") answerApplied(decided, ports);
      else if (decided.kind !== "withdrawn") ports.fail(undecided(decided));
    });
  const proposal = propose();
  if (proposal === null) return;
  answerApplied({ proposal, applied: applyDefinitions(state, proposal.definitions, nowMs) }, ports);
}

function answerApplied(
  { proposal, applied }: { readonly proposal: Proposal; readonly applied: AppliedHere },
  ports: AnswerPorts,
): void {
  const answer = proposal.answer();
  answerWritten(applied.written, ports, () => {
    void applied.followed.then(() => ports.answer(answer));
  });
}

/** Why the hosts haven't come to a change. */
function undecided(decided: Extract<Decided, { kind: "away" | "contended" }>): Failure {
  if (decided.kind === "contended")
    return failure("overloaded", "nothing was changed: other hosts change the same all the time");
  const { reason, mayHold } = decided;
  return failure(
    "cluster_unavailable",
    mayHold
      ? `it isn't known whether the change was made: the cluster's engine hasn't answered (${reason})`
      : `nothing was changed: the cluster's engine can't decide it (${reason})`,
  );
}

/**
 * Tells the other hosts something, or asks them, where there are any, and goes on whether the
 * engine answers or not: while it is away, what it is about is each host's own.
 */
export function askHosts(
  cluster: ClusterMember | null,
  ask: (cluster: ClusterMember) => Promise<void>,
  then: () => void,
): void {
  if (cluster === null) return then();
  void ask(cluster)
    .catch(() => "then this host alone knows")
    .then(then);
}

/** Writes a change that is made in memory, then answers. */
export function writeChange(
  { writer }: Pick<DaemonState, "writer">,
  changes: readonly Change[],
  ports: Pick<AnswerPorts, "fail">,
  answer: () => void,
): void {
  answerWritten(writer.tryWrite(changes), ports, answer);
}

/**
 * Answers once a change is written. A store that can't be written delays no answer: the operation
 * fails, the change is in force, and it is written when the store works again.
 */
export function answerWritten(
  written: Promise<Error | null>,
  ports: Pick<AnswerPorts, "fail">,
  answer: () => void,
): void {
  void written.then((failing) => (failing === null ? answer() : ports.fail(notWritten(failing))));
}

function notWritten(failing: Error): Failure {
  return failure(
    "limiter_unavailable",
    `the change is made but not written: the store can't be written (${failing.message}); it is written when the store works again, and is lost if the daemon is killed before`,
  );
}
