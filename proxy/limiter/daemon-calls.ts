/**
 * Admin operations and questions about callers on their way to the daemon and back: sent at once or
 * with the next welcome, answered, lost or expired. The connection is the limiter client's.
 */
import { type Failure, failure } from "../../shared/error-code.js";
import { isChange } from "../../shared/wire/admin-op.js";
import type { Admin, Authorize } from "../../shared/wire/message.js";

export type CallOutcome =
  | { readonly ok: true; readonly body: unknown }
  | { readonly ok: false; readonly failure: Failure };

export interface DaemonCalls {
  readonly size: number;
  /** An answer's body is the operation's, or for a question about a caller the answer itself. */
  add(
    message: Admin | Authorize,
    how: { readonly deadlineMonoMs: number; readonly sent: boolean },
  ): Promise<CallOutcome>;
  /** Hands over, once each, those that no daemon has been sent yet. */
  unsent(send: (message: Admin | Authorize) => void): void;
  answer(id: number, outcome: CallOutcome): void;
  /**
   * Fails operations that were sent: the daemon that is gone may have done them, so they aren't
   * sent again. Questions are.
   */
  lost(): void;
  expire(nowMonoMs: number): void;
}

interface Call {
  readonly message: Admin | Authorize;
  readonly deadlineMonoMs: number;
  readonly resolve: (outcome: CallOutcome) => void;
  sent: boolean;
}

/** The one 503 for a daemon that doesn't answer. */
export function limiterUnavailable(): Failure {
  return failure("limiter_unavailable", "the limiter daemon does not answer");
}

/** A change that was sent may be made all the same, now or when the daemon can write again. */
function unanswered({ message, sent }: Call): Failure {
  if (!sent || message.kind !== "admin" || !isChange(message.op)) return limiterUnavailable();
  return failure(
    "limiter_unavailable",
    "the limiter daemon does not answer: the change may have been made, or may still be; look before asking again",
  );
}

export function createDaemonCalls(): DaemonCalls {
  const calls = new Map<number, Call>();

  function answer(id: number, outcome: CallOutcome): void {
    calls.get(id)?.resolve(outcome);
    calls.delete(id);
  }

  function failWhere(which: (call: Call) => boolean): void {
    for (const [id, call] of calls)
      if (which(call)) answer(id, { ok: false, failure: unanswered(call) });
  }

  return {
    get size() {
      return calls.size;
    },
    add: (message, { deadlineMonoMs, sent }) =>
      new Promise((resolve) => calls.set(message.id, { message, deadlineMonoMs, resolve, sent })),
    unsent(send) {
      for (const call of calls.values()) {
        if (call.sent) continue;
        call.sent = true;
        send(call.message);
      }
    },
    answer,
    lost() {
      failWhere((call) => call.sent && call.message.kind === "admin");
      for (const call of calls.values()) call.sent = false;
    },
    expire: (now) => failWhere((call) => call.deadlineMonoMs <= now),
  };
}
