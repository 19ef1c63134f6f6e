/**
 * Admin operations on their way to the daemon and back: sent at once or with the next welcome, answered,
 * lost or expired. The connection is the limiter client's.
 */
import { type Failure, failure } from "../shared/error-code.js";
import type { AdminOp } from "../shared/wire/message.js";

export type CallOutcome = { readonly ok: true; readonly body: unknown } | { readonly ok: false; readonly failure: Failure };

export interface DaemonCalls {
  readonly size: number;
  add(id: number, op: AdminOp, body: unknown, deadlineMonoMs: number): Promise<CallOutcome>;
  /** Hands over, once each, those that no daemon has been sent yet. */
  unsent(send: (id: number, op: AdminOp, body: unknown) => void): void;
  answer(id: number, outcome: CallOutcome): void;
  /** Fails those that were sent: the daemon that is gone may have done them, so they aren't sent again. */
  lost(): void;
  expire(nowMonoMs: number): void;
}

interface Call {
  readonly op: AdminOp;
  readonly body: unknown;
  readonly deadlineMonoMs: number;
  readonly resolve: (outcome: CallOutcome) => void;
  sent: boolean;
}

/** The one 503 for a daemon that doesn't answer. */
export function limiterUnavailable(): Failure {
  return failure("limiter_unavailable", "the limiter daemon does not answer");
}

export function createDaemonCalls(): DaemonCalls {
  const calls = new Map<number, Call>();

  function answer(id: number, outcome: CallOutcome): void {
    calls.get(id)?.resolve(outcome);
    calls.delete(id);
  }

  function failWhere(which: (call: Call) => boolean): void {
    for (const [id, call] of calls) if (which(call)) answer(id, { ok: false, failure: limiterUnavailable() });
  }

  return {
    get size() { return calls.size; },
    add: (id, op, body, deadlineMonoMs) => new Promise((resolve) => calls.set(id, { op, body, deadlineMonoMs, resolve, sent: false })),
    unsent(send) {
      for (const [id, call] of calls) {
        if (call.sent) continue;
        call.sent = true;
        send(id, call.op, call.body);
      }
    },
    answer,
    lost: () => failWhere((call) => call.sent),
    expire: (now) => failWhere((call) => call.deadlineMonoMs <= now),
  };
}
