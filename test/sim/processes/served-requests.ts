/**
 * The requests that a simulated proxy serves. Each asks for an admission, runs for a while if it is
 * admitted, goes to another target when one fails, as in `proxy/handlers/attempts/fail-over.ts`,
 * and is settled.
 */

import type { Admission, AdmissionOutcome, MayWait } from "../../../proxy/limiter/admission.js";
import type { LimiterClient } from "../../../proxy/limiter/client/limiter-client.js";
import type { Target } from "../../../shared/domain/target-name.js";
import { uncountedLsn } from "../../../shared/wire/lsn.js";
import type { SettledPart } from "../../../shared/wire/message-to-daemon.js";
import { modelsInstead, type SimulatedRequest } from "../workload.js";
import type { Process, World } from "../world.js";

/** A request as its proxy has served it. */
export interface Served {
  readonly request: SimulatedRequest;
  readonly startedMs: number;
  outcome: AdmissionOutcome["kind"] | null;
  /**
   * What must have been charged, in this order: an attempt at each failed target, what the request
   * reported while it ran, and the rest of its use.
   */
  readonly settles: {
    readonly part: SettledPart;
    readonly target: Target | null;
    readonly tokens: number;
  }[];
  /**
   * The targets at which it ran without a verdict when the daemon was told of it and counted it.
   */
  readonly toldTargets: (Target | null)[];
}

export const deadlineMs = 2_000;
/** Deadlines are checked ten times within their length. */
const answerMsMax = deadlineMs + deadlineMs / 10 + 1;

export class ServedRequests {
  /** All requests, ended ones included. */
  readonly all: Served[] = [];
  readonly #running = new Map<Admission, Served>();
  readonly #world: World;
  readonly #owner: Process;
  readonly #client: LimiterClient;
  readonly #onReroute: () => void;
  /** How many questions the daemon hasn't answered. */
  #unanswered = 0;
  /** How many settles the daemon hasn't acknowledged. */
  #unsettled = 0;

  /** `onReroute`: a target has failed, and the daemon is asked for the next one. */
  constructor(world: World, owner: Process, client: LimiterClient, onReroute: () => void) {
    this.#onReroute = onReroute;
    this.#world = world;
    this.#owner = owner;
    this.#client = client;
  }

  /** How many questions, requests and settles are open. */
  get openCount(): number {
    return this.#unanswered + this.#running.size + this.#unsettled;
  }

  admissions(): Iterable<Admission> {
    return this.#running.keys();
  }

  /** Notes the requests without a verdict of which the daemon was told. */
  noteTold(): void {
    for (const [{ lsn, target, targetLsn }, { toldTargets }] of this.#running) {
      const isFirst = lsn === uncountedLsn && toldTargets.length === 0;
      const isMoved =
        targetLsn === uncountedLsn && target !== null && !toldTargets.includes(target);
      if (isFirst || isMoved) toldTargets.push(target);
    }
  }

  serve(request: SimulatedRequest): void {
    const { nowMs: startedMs } = this.#world;
    const served: Served = { request, startedMs, outcome: null, settles: [], toldTargets: [] };
    this.all.push(served);
    this.#admit(served, request.targets, []);
  }

  /** `uses`: the models to which exhausted rules have sent the request so far. */
  #admit(served: Served, targets: readonly Target[], uses: readonly string[]): void {
    const { number, path, submission, fixed, waitMs } = served.request;
    const caller = { userPath: path, credential: "authenticated" } as const;
    const asked = {
      submission,
      ...(uses.length === 0 ? {} : { uses }),
      ...(fixed ? { fixed } : {}),
      ...(waitMs === null ? {} : { wait: this.#mayWait(served, waitMs) }),
    };
    const asking = this.#client.admit(caller, targets, asked);
    this.#ask(`request ${number}`, { asking, waitMs: waitMs ?? 0 }, (outcome) => {
      if (served.outcome !== null) this.#world.fail(`request ${number} is answered twice`);
      const use = outcome.kind === "refused" ? outcome.breach.use : undefined;
      if (use !== undefined) {
        this.#world.count("sent to another model");
        return this.#admit(served, modelsInstead[use]!, [...uses, use]);
      }
      served.outcome = outcome.kind;
      if (outcome.kind === "refused")
        this.#client.noteRefusal(outcome.id, `request-${number}`, targets[0]!.model);
      if (outcome.kind !== "admitted") return;
      if (uses.length > 0) this.#world.count("served by another model");
      if (outcome.admission.exhausted !== undefined) this.#world.count("exhausted and not refused");
      this.#running.set(outcome.admission, served);
      this.#tryTarget(served, outcome.admission, targets);
    });
  }

  #mayWait({ request, startedMs }: Served, askedMs: number): MayWait {
    const { leavesMs } = request;
    return {
      askedMs,
      timeoutMs: null,
      atMostMs: askedMs,
      waitedMs: this.#world.nowMs - startedMs,
      onQueued: (leave) => {
        if (leavesMs !== null) this.#world.after(leavesMs, this.#owner, leave);
      },
    };
  }

  /**
   * Waits for the daemon's answer, which must arrive in time. A waiting request asks again once.
   */
  #ask(
    what: string,
    { asking, waitMs }: { readonly asking: Promise<AdmissionOutcome>; readonly waitMs: number },
    then: (outcome: AdmissionOutcome) => void,
  ): void {
    const [world, owner] = [this.#world, this.#owner];
    this.#unanswered++;
    const startedMs = world.nowMs;
    const pausedBefore = owner.pausedUntilMs;
    const waitMsMax = waitMs === 0 ? answerMsMax : waitMs + 2 * answerMsMax;
    void asking.then((outcome) => {
      if (!owner.alive) return;
      this.#unanswered--;
      world.count(`${what.split(" ")[0]!} ${outcome.kind}`);
      world.trace(`${owner.name} ${what} ${outcome.kind}`);
      if (owner.pausedUntilMs === pausedBefore && world.nowMs - startedMs > waitMsMax)
        world.fail(`${what} waited ${world.nowMs - startedMs} ms for its answer`);
      then(outcome);
    });
  }

  #tryTarget(served: Served, admission: Admission, targets: readonly Target[]): void {
    this.noteTold();
    const { request, settles } = served;
    const failsMs = request.failsMs[settles.length];
    if (failsMs === undefined) return this.#runToItsEnd(served, admission);
    this.#world.after(failsMs, this.#owner, () => {
      const { target } = admission;
      const untried = targets.filter((other) => other !== target);
      if (untried.length === 0) return this.#end(served, admission, 0);
      settles.push({ part: "attempt", target, tokens: 0 });
      this.#onReroute();
      const asking = this.#client.reroute(admission, untried);
      this.#ask(`failover of request ${request.number}`, { asking, waitMs: 0 }, ({ kind }) =>
        kind === "admitted"
          ? this.#tryTarget(served, admission, untried)
          : this.#end(served, admission, 0),
      );
    });
  }

  #runToItsEnd(served: Served, admission: Admission): void {
    const { progress, lastsMs, tokens } = served.request;
    progress.forEach((spent, i) => {
      const afterMs = (lastsMs * (i + 1)) / (progress.length + 1);
      this.#world.after(afterMs, this.#owner, () => this.#progress(served, admission, spent));
    });
    this.#world.after(lastsMs, this.#owner, () => this.#end(served, admission, tokens));
  }

  #progress(
    { settles }: Served,
    admission: Admission,
    { tokens, record }: SimulatedRequest["progress"][number],
  ): void {
    this.#world.count("progress");
    settles.push({ part: "progress", target: admission.target, tokens });
    this.#client.progress(admission, { tokens, estimated: false, record });
  }

  #end({ request, settles }: Served, admission: Admission, tokens: number): void {
    this.#running.delete(admission);
    settles.push({ part: "request", target: admission.target, tokens });
    this.#unsettled++;
    const usage = { tokens, estimated: request.cut, record: request.record };
    this.#client.settle(admission, usage, () => {
      this.#unsettled--;
    });
  }
}
