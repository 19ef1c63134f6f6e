/**
 * Questions for more output of running requests that hard caps count, from the question to the
 * answer. They ask for totals, so a question may be repeated. At its deadline the failure mode
 * answers: `open` grants the requested output, `closed` ends the stream.
 */
import { admissionsWaitingMax, drawWaitMsMax } from "../../../shared/bounds.js";
import type { FailureMode } from "../../../shared/config/config.js";
import { IdMap } from "../../../shared/id-map.js";
import type { Drawn } from "../../../shared/wire/message-from-daemon.js";
import type { ToDaemon } from "../../../shared/wire/message-to-daemon.js";
import type { WantedOutput } from "../../hard-caps/output-allowance.js";
import type { Admission, Metering } from "../admission.js";
import { assertLimiter } from "../broken-limiter-state.js";
import type { DaemonConnection } from "../daemon-connection.js";

interface PendingDraw {
  readonly wanted: WantedOutput;
  readonly askedMonoMs: number;
  readonly deadlineMonoMs: number;
  readonly then: () => void;
  /** Whether it was sent on this connection. */
  isSent: boolean;
}

interface PendingDrawsContext {
  readonly connection: DaemonConnection;
  /** Granted, unsettled admissions by lease. */
  readonly held: IdMap<Admission>;
  readonly failureMode: FailureMode;
  monoMs(): number;
}

export class PendingDraws {
  readonly #context: PendingDrawsContext;
  /** By lease; usually empty. */
  readonly waiting = new IdMap<PendingDraw>();

  constructor(context: PendingDrawsContext) {
    this.#context = context;
  }

  /** `then` runs once, unless the request ends first. */
  ask({ lease, metering }: Admission, wanted: WantedOutput, then: () => void): void {
    assertLimiter(metering !== undefined, "a hard cap counts the request");
    const { connection } = this.#context;
    const askedMonoMs = this.#context.monoMs();
    const answerDueMonoMs = connection.deadlineMonoMs(askedMonoMs);
    const isLate = connection.silent || answerDueMonoMs <= askedMonoMs;
    // The daemon may make the draw wait for what other requests hold.
    const deadlineMonoMs = answerDueMonoMs + drawWaitMsMax;
    if (isLate || this.waiting.size >= admissionsWaitingMax) {
      this.#withoutAnswer(metering, wanted);
      return then();
    }
    const isSent = connection.linked;
    this.waiting.set(lease, { wanted, askedMonoMs, deadlineMonoMs, then, isSent });
    if (isSent) connection.send(drawMessage(lease, metering, wanted));
  }

  /** Removes the question of an ended request. */
  forget(lease: number): void {
    this.waiting.take(lease);
  }

  /** Handles an answer, which may come after the deadline. */
  onDrawn({ id: lease, total, cap }: Drawn): void {
    const metering = this.#context.held.get(lease)?.metering;
    if (metering === undefined) return;
    const grantsMore = total > metering.granted;
    // Otherwise it is the late answer to an earlier question.
    if (!grantsMore && cap === undefined) return;
    if (grantsMore) metering.granted = total;
    metering.cap = cap ?? null;
    this.waiting.take(lease)?.then();
  }

  /** The questions for a daemon that has just welcomed this proxy. */
  *unsent(): Generator<ToDaemon, void> {
    for (const [lease, pending] of this.waiting.entries()) {
      const metering = this.#context.held.get(lease)?.metering;
      if (this.waiting.get(lease) !== pending || metering === undefined) continue;
      pending.isSent = true;
      yield drawMessage(lease, metering, pending.wanted);
    }
  }

  onDisconnect(): void {
    for (const pending of this.waiting.values()) pending.isSent = false;
  }

  expire(nowMonoMs: number): void {
    for (const [lease, { wanted, askedMonoMs, deadlineMonoMs, then, isSent }] of [
      ...this.waiting.entries(),
    ]) {
      if (deadlineMonoMs > nowMonoMs) continue;
      this.waiting.take(lease);
      if (isSent) this.#context.connection.timedOut(askedMonoMs);
      const metering = this.#context.held.get(lease)?.metering;
      if (metering === undefined) continue;
      this.#withoutAnswer(metering, wanted);
      then();
    }
  }

  #withoutAnswer(metering: Metering, { total }: WantedOutput): void {
    if (this.#context.failureMode === "open") {
      metering.granted = Math.max(metering.granted, total);
      metering.cap = null;
    } else metering.cap = "the limiter daemon does not answer";
  }
}

function drawMessage(
  lease: number,
  { promptTokens, isPromptKnown }: Metering,
  { total, waitMs }: WantedOutput,
): ToDaemon {
  return {
    kind: "draw",
    id: lease,
    total,
    promptTokens: isPromptKnown ? promptTokens : undefined,
    waitMs,
  };
}
