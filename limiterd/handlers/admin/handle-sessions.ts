/**
 * The operations on sessions of the dashboard. Each use of a session checks the credential that
 * opened it in the same way as a request, so that a session ends with its key on every proxy.
 * Sessions aren't stored; hosts that share limits share them.
 */
import { auditTextCharsMax } from "../../../shared/bounds.js";
import type { Checked } from "../../../shared/checked.js";
import type { AdminOp } from "../../../shared/wire/admin-op.js";
import {
  parseAdminOpening,
  parseFailedSignIn,
  parseSessionHash,
  parseSessionOpening,
  type SessionAnswer,
  type SessionOpening,
} from "../../../shared/wire/dashboard-session.js";
import {
  askSession,
  endSession,
  publishSession,
} from "../../cluster/remembered/shared-sessions.js";
import { identifyCaller } from "../../keys/identify-caller.js";
import { newSession, type Session } from "../../keys/session-table.js";
import type { DaemonState } from "../../state.js";
import type { Change } from "../../store/store.js";
import { type AdminRequest, askHosts, type ChangePorts, checkedValue } from "./admin-operation.js";

type SessionOp = Extract<AdminOp, `sessions.${string}`>;

export function handleSessions(
  state: DaemonState,
  { op, body }: AdminRequest<SessionOp>,
  nowMs: number,
  ports: ChangePorts,
): void {
  switch (op) {
    case "sessions.open":
      return open(state, parseSessionOpening(body), nowMs, ports);
    case "sessions.open-admin":
      return open(state, parseAdminOpening(body), nowMs, ports);
    case "sessions.check": {
      const hash = checkedValue(parseSessionHash(body), ports);
      if (hash === null) return;
      return learnSession(state, hash, nowMs, () => ports.answer(check(state, hash, nowMs)));
    }
    case "sessions.failed": {
      const reason = checkedValue(parseFailedSignIn(body), ports);
      if (reason === null) return;
      record(state, state.audit.failedSignIn(reason, ports.request, nowMs));
      return ports.answer({ status: "ok" });
    }
    case "sessions.close": {
      const hash = checkedValue(parseSessionHash(body), ports);
      if (hash === null) return;
      const session = state.sessions.find(hash);
      // A session that ends because its credential is gone isn't signed out by anyone.
      if (session !== undefined && ports.request.by !== undefined)
        auditSession(state, checkCredential(state, session, nowMs), nowMs, ports);
      state.sessions.close(hash);
      return askHosts(
        state.cluster,
        ({ commands, name }) => endSession(commands, name, hash),
        () => ports.answer({ status: "ok" }),
      );
    }
  }
}

function open(
  state: DaemonState,
  opening: Checked<SessionOpening>,
  nowMs: number,
  ports: ChangePorts,
): void {
  const checked = checkedValue(opening, ports);
  if (checked === null) return;
  const session = newSession(checked, nowMs);
  const answer = checkCredential(state, session, nowMs);
  if (answer.kind === "denied") {
    state.counts.denied++;
    return ports.answer(answer);
  }
  state.sessions.add(session);
  auditSession(state, answer, nowMs, ports);
  const opened = { opening: checked, openedAtMs: nowMs };
  askHosts(
    state.cluster,
    async ({ commands, name }) => {
      await publishSession(commands, name, opened);
      session.isShared = true;
    },
    () => ports.answer(answer),
  );
}

/** Records who signs in or out. */
function auditSession(
  state: DaemonState,
  answer: SessionAnswer,
  nowMs: number,
  { request: { op, by } }: Pick<ChangePorts, "request">,
): void {
  const { who: sender = "", from = "socket", requestId = "" } = by ?? {};
  const who = answer.kind === "jwt" && sender !== "" ? sender : holderName(answer);
  const request = { op, by: { who, from, requestId } };
  const signedIn = { subject: "dashboard", before: null, after: null };
  record(state, state.audit.record([signedIn], request, nowMs));
}

function holderName(answer: SessionAnswer): string {
  switch (answer.kind) {
    case "admin":
      return "master key";
    case "granted":
      return answer.who;
    case "key":
      return `key ${answer.keyId}`;
    case "jwt":
      return `JWT of ${answer.userPath}`.slice(0, auditTextCharsMax);
    default:
      return "unknown";
  }
}

/** A failing store must not get more waiting changes. */
function record({ writer }: DaemonState, changes: readonly Change[]): void {
  if (!writer.isFull && changes.length > 0) void writer.tryWrite(changes);
}

/**
 * Reads a session from the other hosts before it is used. A session that this host couldn't report
 * stays its own.
 */
function learnSession(
  { cluster, sessions }: DaemonState,
  hash: string,
  nowMs: number,
  then: () => void,
): void {
  askHosts(
    cluster,
    async ({ commands, name }) => {
      const answer = await askSession(commands, name, hash);
      const own = sessions.find(hash);
      if (answer === null && own?.isShared === true) sessions.close(hash);
      if (answer === null || own !== undefined) return;
      const session = newSession(answer.opening, answer.openedAtMs);
      sessions.add({ ...session, seenAtMs: nowMs, isShared: true });
    },
    then,
  );
}

function check(state: DaemonState, hash: string, nowMs: number): SessionAnswer {
  const session = state.sessions.use(hash, nowMs);
  if (session === null) return { kind: "none" };
  const answer = checkCredential(state, session, nowMs);
  if (answer.kind !== "denied") return answer;
  state.sessions.close(hash);
  return { kind: "none" };
}

function checkCredential(
  { keys, denials }: DaemonState,
  { credential, openedAtMs, expiresAtMs }: Session,
  nowMs: number,
): SessionAnswer {
  switch (credential.kind) {
    case "admin":
      return { kind: "admin", mark: credential.mark, openedAtMs, expiresAtMs };
    case "granted": {
      const { mark, role, path, who, names } = credential;
      if (nowMs >= expiresAtMs || names.some((name) => denials.denies(name, nowMs)))
        return { kind: "denied", ended: null };
      return { kind: "granted", mark, role, path, who, openedAtMs, expiresAtMs };
    }
    case "key": {
      const claimed = { userPath: "/", credential: credential.keyHash };
      const caller = identifyCaller(keys, claimed, nowMs);
      if (caller.kind === "denied") return caller;
      const { id: keyId, name: keyName, userPath, labels, role } = caller.key!;
      const key = { userPath, keyId, keyName, labels, ...(role === null ? {} : { role }) };
      return { kind: "key", ...key, openedAtMs, expiresAtMs };
    }
    case "jwt": {
      const { mark, issuer, userPath, names } = credential;
      if (nowMs >= expiresAtMs || names.some((name) => denials.denies(name, nowMs)))
        return { kind: "denied", ended: null };
      return { kind: "jwt", mark, issuer, userPath, openedAtMs, expiresAtMs };
    }
  }
}
