/**
 * Calls to the daemon: admin operations, and checks of callers whose request isn't limited. A call
 * is sent immediately or after the next welcome, and is then answered, lost or expired.
 */
import { admissionsWaitingMax } from "../../shared/bounds.js";
import { type Failure, failure } from "../../shared/error-code.js";
import {
  type AdminOp,
  type DaemonAnswer,
  isChange,
  isRepeatable,
} from "../../shared/wire/admin-op.js";
import type { Answer, Authorized, Denied, Failed } from "../../shared/wire/message-from-daemon.js";
import type { Admin, Authorize, Requester, ToDaemon } from "../../shared/wire/message-to-daemon.js";
import type { AuthorizeOutcome } from "./admission.js";
import type { DaemonConnection } from "./daemon-connection.js";

type Reply = Answer | Failed | Authorized | Denied;

/** `isSent`: whether a daemon received it and then went away or didn't answer in time. */
interface UnansweredCall {
  readonly kind: "unanswered";
  readonly isSent: boolean;
}

interface Call {
  readonly message: Admin | Authorize;
  readonly askedMonoMs: number;
  deadlineMonoMs: number;
  readonly resolve: (reply: Reply | UnansweredCall) => void;
  isSent: boolean;
}

/** An admin operation waits for a commit; an admission doesn't. */
const operationDeadlineMs = 5_000;

/** The 503 for a daemon that doesn't answer. */
export function limiterUnavailable(): Failure {
  return failure("limiter_unavailable", "the limiter daemon does not answer");
}

/** A change that was sent may still take effect, now or once the daemon can write again. */
function unansweredFailure(op: AdminOp, isSent: boolean): Failure {
  if (!isSent || !isChange(op)) return limiterUnavailable();
  return failure(
    "limiter_unavailable",
    "the limiter daemon does not answer: the change may have been made, or may still be; look before asking again",
  );
}

export class DaemonCalls {
  readonly #connection: DaemonConnection;
  readonly #monoMs: () => number;
  readonly #calls = new Map<number, Call>();

  constructor(connection: DaemonConnection, monoMs: () => number) {
    this.#connection = connection;
    this.#monoMs = monoMs;
  }

  get size(): number {
    return this.#calls.size;
  }

  /**
   * While the daemon is unreachable, the operation waits as long as an admission; while it is
   * silent, the operation fails immediately.
   */
  async operate(op: AdminOp, body: unknown, by?: Requester): Promise<DaemonAnswer> {
    if (this.#refuses()) return { ok: false, failure: limiterUnavailable() };
    const id = this.#connection.nextId();
    const reply = await this.#send({ kind: "admin", id, op, body, by }, operationDeadlineMs);
    switch (reply.kind) {
      case "answer":
        return { ok: true, body: reply.body };
      case "failed":
        return { ok: false, failure: reply.failure };
      case "unanswered":
        return { ok: false, failure: unansweredFailure(op, reply.isSent) };
      default:
        return { ok: false, failure: limiterUnavailable() };
    }
  }

  /** Waits as long as an admission; the bound on waiting calls is the same. */
  async authorize(credential: string): Promise<AuthorizeOutcome> {
    if (this.#refuses()) return { kind: "unavailable" };
    const id = this.#connection.nextId();
    const reply = await this.#send({ kind: "authorize", id, credential });
    return reply.kind === "authorized" || reply.kind === "denied" ? reply : { kind: "unavailable" };
  }

  /** The calls to send to a daemon that has just welcomed this proxy. */
  *unsent(): Generator<ToDaemon, void> {
    for (const call of this.#calls.values()) {
      if (call.isSent) continue;
      call.isSent = true;
      yield call.message;
    }
  }

  onReply(reply: Reply): void {
    this.#resolve(reply.id, reply);
  }

  /**
   * Fails changes that were sent: the lost daemon may have made them, so they aren't sent again.
   * Checks of callers and idempotent operations are sent again; they wait as long as an admission.
   */
  onDisconnect(): void {
    this.#failWhere(
      ({ message, isSent }) => isSent && message.kind === "admin" && !isRepeatable(message.op),
    );
    const reconnectDeadlineMonoMs = this.#connection.deadlineMonoMs(this.#monoMs());
    for (const call of this.#calls.values()) {
      call.isSent = false;
      call.deadlineMonoMs = Math.min(call.deadlineMonoMs, reconnectDeadlineMonoMs);
    }
  }

  expire(nowMonoMs: number): void {
    // An operation may wait for a commit, so its delay says nothing about the daemon.
    for (const { message, askedMonoMs, deadlineMonoMs, isSent } of this.#calls.values())
      if (isSent && message.kind === "authorize" && deadlineMonoMs <= nowMonoMs)
        this.#connection.timedOut(askedMonoMs);
    this.#failWhere((call) => call.deadlineMonoMs <= nowMonoMs);
  }

  /** Whether a call fails immediately: it would get no answer, or too many calls wait. */
  #refuses(): boolean {
    const { silent, linked } = this.#connection;
    const nowMonoMs = this.#monoMs();
    const isTooLate = !linked && this.#connection.deadlineMonoMs(nowMonoMs) <= nowMonoMs;
    return silent || isTooLate || this.#calls.size >= admissionsWaitingMax;
  }

  #send(message: Admin | Authorize, deadlineMs?: number): Promise<Reply | UnansweredCall> {
    const askedMonoMs = this.#monoMs();
    const deadlineMonoMs = this.#connection.deadlineMonoMs(askedMonoMs, deadlineMs);
    const isSent = this.#connection.linked;
    return new Promise((resolve) => {
      this.#calls.set(message.id, { message, askedMonoMs, deadlineMonoMs, resolve, isSent });
      if (isSent) this.#connection.send(message);
    });
  }

  #failWhere(isFailed: (call: Call) => boolean): void {
    for (const [id, call] of this.#calls)
      if (isFailed(call)) this.#resolve(id, { kind: "unanswered", isSent: call.isSent });
  }

  #resolve(id: number, reply: Reply | UnansweredCall): void {
    this.#calls.get(id)?.resolve(reply);
    this.#calls.delete(id);
  }
}
