/**
 * The daemon's table of contents: what each message does. Everything from the bytes to the verdict
 * is synchronous; changes to the store go to the writer. The caller reads the clock once per
 * message.
 */
import { unreachable } from "../../shared/assert.js";
import { readsWaitingMax } from "../../shared/bounds.js";
import { failure, plainFailure } from "../../shared/error-code.js";
import { isAdministration, isRead } from "../../shared/wire/admin-op.js";
import {
  type Admin,
  type FromOtherRelease,
  parseToDaemon,
  type RefusalNote,
  type Release,
  type Reported,
  type ToDaemon,
  type UnknownOperation,
} from "../../shared/wire/message-to-daemon.js";
import type { PeerState } from "../peer.js";
import { releaseLease } from "../rules/slots.js";
import { type DaemonState, hasWaiters } from "../state.js";
import { acceptHello, holdLeases, refuseVersion } from "./accept-hello.js";
import type { AnswerPorts } from "./admin/admin-operation.js";
import { handleAdmin } from "./admin/handle-admin.js";
import { applySettle } from "./apply-settle.js";
import { authorize } from "./authorize.js";
import { backUp } from "./back-up.js";
import { cancelAdmit, handleAdmit } from "./handle-admit.js";
import { drawMore } from "./hold-output.js";
import { rerouteLease } from "./reroute-lease.js";
import { takeBackUnread } from "./take-back-unread.js";

/** Handles a frame. Returns false if the peer violated the protocol and must be closed. */
export function handleFrame(
  state: DaemonState,
  peer: PeerState,
  frame: unknown,
  nowMs: number,
): boolean {
  const message = parseToDaemon(frame, state.settings.wireVersions);
  if (message === null) return false;
  state.shares?.enter();
  const valid = handleMessage(state, peer, message, nowMs);
  if (hasWaiters(state)) state.waiters.afterMessage(nowMs);
  state.book.reclaim();
  return valid;
}

/** A turn of the event loop in which waiting requests are judged. */
export function waitingTurn(state: DaemonState, turn: (nowMs: number) => void): void {
  if (state.isStopping) return;
  state.shares?.enter();
  turn(state.wallMs());
  state.book.reclaim();
}

function handleMessage(
  state: DaemonState,
  peer: PeerState,
  message: ToDaemon | FromOtherRelease,
  nowMs: number,
): boolean {
  switch (message.kind) {
    case "admit":
      return handleAdmit(state, peer, message, nowMs);
    case "settle":
      return applySettle(state, peer, message, nowMs);
    case "reroute":
      return rerouteLease(state, peer, message, nowMs);
    case "authorize":
      return authorize(state, peer, message, nowMs);
    case "hello":
      return acceptHello(state, peer, message, nowMs);
    case "unsupported hello":
      return refuseVersion(state, peer, message, nowMs);
    case "read":
      return takeBackUnread(state, peer, message, nowMs);
    case "hold":
      return holdLeases(state, peer, message, nowMs);
    case "release":
      return releaseEnded(peer, message);
    case "draw":
      return drawMore(state, peer, message, nowMs);
    case "cancel":
      return cancelAdmit(state, peer, message);
    case "refusal":
      return nameRefusal(state, peer, message);
    case "reported":
      return learnReported(state, peer, message, nowMs);
    case "admin":
      return runAdmin(state, peer, message, nowMs);
    case "unknown operation":
      return refuseOperation(state, peer, message, nowMs);
    default:
      return unreachable(message);
  }
}

/** Refuses an operation of a newer release; the peer keeps its connection and its leases. */
function refuseOperation(
  { settings }: DaemonState,
  peer: PeerState,
  { id, op }: UnknownOperation,
  nowMs: number,
): boolean {
  if (!peer.isWelcomed) return false;
  peer.askedAtMs = nowMs;
  const message = `the limiter daemon (sluice ${settings.version}) doesn't know the operation ${op}: it is older than its peer`;
  peer.send({ kind: "failed", id, failure: failure("operation_unknown", message) });
  return true;
}

function releaseEnded(peer: PeerState, { id }: Release): boolean {
  if (peer.role !== "proxy" || !peer.isWelcomed) return false;
  const heldLease = peer.leases.get(id);
  if (heldLease !== undefined) releaseLease(peer, id, heldLease);
  return true;
}

function nameRefusal(state: DaemonState, peer: PeerState, message: RefusalNote): boolean {
  if (peer.role !== "proxy" || !peer.isWelcomed || peer.proxy === null) return false;
  state.refusals.name(peer.proxy.id, message.id, message);
  return true;
}

function learnReported(
  state: DaemonState,
  peer: PeerState,
  message: Reported,
  nowMs: number,
): boolean {
  if (peer.role !== "proxy" || !peer.isWelcomed) return false;
  state.upstream.report(message, nowMs);
  return true;
}

function runAdmin(state: DaemonState, peer: PeerState, message: Admin, nowMs: number): boolean {
  if (!peer.isWelcomed) return false;
  peer.askedAtMs = nowMs;
  if (!peer.mayAdminister && isAdministration(message.op)) {
    peer.send({ kind: "failed", id: message.id, failure: notForAdministration });
    return true;
  }
  const { op, body, by } = message;
  if (op === "backup" || isRead(op)) return queueRead(state, peer, message, nowMs);
  handleAdmin(state, { op, body, by }, nowMs, {
    answer: (body) => peer.send({ kind: "answer", id: message.id, body }),
    fail: (failure) => peer.send({ kind: "failed", id: message.id, failure }),
    targetsReported: openTargetsOf(peer),
  });
  return true;
}

/**
 * Runs the reads of a peer one at a time: each starts after the peer has received the last answer.
 * So verdicts can run between reads, and no answer waits in memory for its peer.
 */
function queueRead(state: DaemonState, peer: PeerState, message: Admin, nowMs: number): true {
  const { id, op, body, by } = message;
  if (peer.reads.waiting >= readsWaitingMax) {
    peer.send({ kind: "failed", id, failure: failure("limiter_unavailable", tooManyReads) });
    return true;
  }
  peer.reads.add((startMs, done) => {
    const ports: AnswerPorts = {
      answer: (body) => peer.sendBulk({ kind: "answer", id, body }, done),
      fail: (failure) => peer.sendBulk({ kind: "failed", id, failure }, done),
    };
    if (op === "backup") void backUp(state, peer, { body, nowMs: startMs }, ports);
    else
      handleAdmin(state, { op, body, by }, startMs, {
        ...ports,
        targetsReported: openTargetsOf(peer),
      });
  }, nowMs);
  return true;
}

const notForAdministration = plainFailure(
  403,
  "permission_error",
  "this socket of the limiter daemon is for requests: only the daemon's user can open its socket for administration",
);

const tooManyReads = `${readsWaitingMax} lists and sums are already waiting for the limiter daemon`;

function openTargetsOf(peer: PeerState): (targets: readonly string[]) => void {
  return (targets) => {
    peer.openTargets = targets;
  };
}
