/**
 * What all admin operations use: the types of request and ports, the check of a body, and answering
 * a change once it is written.
 */
import type { Checked } from "../../../shared/checked.js";
import type { LimitKey } from "../../../shared/domain/limit-key.js";
import { isPathWithin, parentPath } from "../../../shared/domain/user-path.js";
import { type Failure, failure } from "../../../shared/error-code.js";
import type { AdminOp } from "../../../shared/wire/admin-op.js";
import type { Requester } from "../../../shared/wire/message-to-daemon.js";
import type { AuditedRequest } from "../../audit/audit-log.js";
import { describeDefinitions } from "../../audit/describe-change.js";
import type { AuditedProposal, Proposal } from "../../cluster/definitions/definition.js";
import type { AppliedHere, Decided } from "../../cluster/definitions/shared-definitions.js";
import type { ClusterMember } from "../../cluster/hosts/cluster-member.js";
import type { DaemonState } from "../../state.js";
import type { Change } from "../../store/store.js";
import { applyDefinitions } from "../definitions/apply-definitions.js";
import { endedBy } from "../definitions/apply-raises.js";

/** An operation with its unchecked body. */
export interface AdminRequest<Op extends AdminOp> {
  readonly op: Op;
  readonly body: unknown;
  /** Who asks, for the audit log. */
  readonly by?: Requester | undefined;
}

/** All operations except `backup`, which is bound to a connection (`handlers/back-up.ts`). */
export type PlainOp = Exclude<AdminOp, "backup">;

/** The ports for the answer: call exactly one of them, once. */
export interface AnswerPorts {
  answer(body: unknown): void;
  fail(failure: Failure): void;
}

/** The answer to a change, and who asked for it. */
export interface ChangePorts extends AnswerPorts {
  readonly request: AuditedRequest;
}

/**
 * The subtree to which the requester's role is confined; `/` if it isn't. `by` is absent only if
 * the proxy or the command line asks on its own behalf: a test checks that every handler of /admin
 * sends it.
 */
export function withinOf({ request }: Pick<ChangePorts, "request">): string {
  return request.by?.within ?? "/";
}

/**
 * The nearest path above the key's path, within the caller's subtree, on which `find` finds such a
 * rule or budget; null if there is none.
 */
export function subjectAbove<K extends LimitKey<string>>(
  key: K,
  find: (key: K) => object | null,
  ports: Pick<ChangePorts, "request">,
): string | null {
  if (key.scope !== "user_path") return null;
  let { subject } = key;
  while (subject !== "/") {
    subject = parentPath(subject);
    if (!isPathWithin(subject, withinOf(ports))) return null;
    if (find({ ...key, subject }) !== null) return subject;
  }
  return null;
}

/** The ports of `handleAdmin`. */
export interface PeerPorts extends AnswerPorts {
  /** Called with the targets whose circuits are open at the asking proxy. */
  targetsReported(targets: readonly string[]): void;
}

export interface AdminPorts extends PeerPorts, ChangePorts {}

/** The checked value. If the check has failed, fails the operation and returns null. */
export function checkedValue<T>(checked: Checked<T>, ports: Pick<AnswerPorts, "fail">): T | null {
  if (checked.ok) return checked.value;
  ports.fail(checked.failure);
  return null;
}

/** Fails the operation, and returns null as `propose` must then. */
export function failOperation(ports: Pick<AnswerPorts, "fail">, failure: Failure): null {
  ports.fail(failure);
  return null;
}

/**
 * Makes a change: applies the definitions that `propose` returns, adds entries to the audit log,
 * then answers. `propose` checks the current state; if it has failed the operation, it returns
 * null.
 */
export function makeChange(
  state: DaemonState,
  nowMs: number,
  ports: ChangePorts,
  propose: () => Proposal | null,
): void {
  const { sharedDefinitions } = state;
  const proposed = (): AuditedProposal | null => {
    const proposal = propose();
    if (proposal === null) return null;
    const definitions = [...proposal.definitions, ...endedBy(state, proposal.definitions)];
    const audit = (): Change[] =>
      state.audit.record(describeDefinitions(state, definitions), ports.request, nowMs);
    return { ...proposal, definitions, audit };
  };
  if (sharedDefinitions !== null)
    return void sharedDefinitions.change(proposed).then((decided) => {
      if (decided.kind === "applied") answerOnceApplied(decided, ports);
      else if (decided.kind !== "withdrawn") ports.fail(undecidedFailure(decided));
    });
  const proposal = proposed();
  if (proposal === null) return;
  const applied = applyDefinitions(state, proposal.definitions, nowMs, proposal.audit());
  answerOnceApplied({ proposal, applied }, ports);
}

function answerOnceApplied(
  { proposal, applied }: { readonly proposal: Proposal; readonly applied: AppliedHere },
  ports: AnswerPorts,
): void {
  const answer = proposal.answer();
  answerOnceWritten(applied.written, ports, () => {
    void applied.followed.then(() => ports.answer(answer));
  });
}

/** Why the cluster didn't make a change. */
function undecidedFailure(decided: Extract<Decided, { kind: "away" | "contended" }>): Failure {
  if (decided.kind === "contended")
    return failure(
      "overloaded",
      "nothing was changed: other hosts keep changing the same definitions",
    );
  const { reason, mayHold } = decided;
  return failure(
    "cluster_unavailable",
    mayHold
      ? `it isn't known whether the change was made: the cluster's engine hasn't answered (${reason})`
      : `nothing was changed: the cluster's engine can't decide it (${reason})`,
  );
}

/**
 * In a cluster, runs `ask`, which writes to the other hosts or reads from them; then runs `then`,
 * even if the engine doesn't answer: while it is away, hosts work independently.
 */
export function askHosts(
  cluster: ClusterMember | null,
  ask: (cluster: ClusterMember) => Promise<void>,
  then: () => void,
): void {
  if (cluster === null) return then();
  void ask(cluster)
    .catch(() => {
      // Then only this host has the change.
    })
    .then(then);
}

/** Writes a change that is already made in memory, then answers. */
export function writeChange(
  { writer }: Pick<DaemonState, "writer">,
  changes: readonly Change[],
  ports: Pick<AnswerPorts, "fail">,
  answer: () => void,
): void {
  answerOnceWritten(writer.tryWrite(changes), ports, answer);
}

/**
 * Answers once a change is written. If the store fails, the operation fails at once; the change
 * still applies in memory, and is written when the store works again.
 */
export function answerOnceWritten(
  written: Promise<Error | null>,
  ports: Pick<AnswerPorts, "fail">,
  answer: () => void,
): void {
  void written.then((failing) =>
    failing === null ? answer() : ports.fail(notWrittenFailure(failing)),
  );
}

function notWrittenFailure(failing: Error): Failure {
  return failure(
    "limiter_unavailable",
    `the change is made but not written: the store can't be written (${failing.message}); it is written when the store works again, and is lost if the daemon is killed before`,
  );
}
