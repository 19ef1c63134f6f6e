/**
 * The admission load, a process of its own for each limiter: a closed loop with N admissions in
 * flight, each followed at once by its settle and the next admission of a random tenant. Started
 * with the limiter's kind (`daemon` or `redis`) and its socket.
 */

import { serveJobs } from "../measure/job-channel.js";
import { type Driven, measurePhase, type PhaseJob } from "../measure/phase.js";
import type { Histogram } from "../report/histogram.js";
import { type AdmissionPort, unattended } from "./admission-port.js";
import { connectDaemon } from "./daemon-port.js";
import { tenantCount } from "./limiter-rules.js";
import { connectRedisLimiter } from "./redis-port.js";

export interface AdmissionJob extends PhaseJob {
  readonly inFlight: number;
}

const [, , kind, path = ""] = process.argv;
const port = await (kind === "redis" ? connectRedisLimiter : connectDaemon)(path);
await touchEveryTenant();

serveJobs(async (job: AdmissionJob) => {
  await port.prepare();
  return measurePhase(job, (seconds, latency) => drive(job.inFlight, seconds, latency));
});

/**
 * Both limiters make their windows when they are first needed: that is done before anything is
 * measured.
 */
function touchEveryTenant(): Promise<Driven> {
  let tenant = 0;
  return loop(port, {
    inFlight: 64,
    nextTenant: () => (tenant < tenantCount ? tenant++ : null),
    onLatency: () => {},
  });
}

function drive(inFlight: number, seconds: number, latency: Histogram): Promise<Driven> {
  const endAt = performance.now() + seconds * 1000;
  return loop(port, {
    inFlight,
    nextTenant: (now) => (now < endAt ? Math.floor(Math.random() * tenantCount) : null),
    onLatency: (us) => latency.record(us),
  });
}

interface Loop {
  readonly inFlight: number;
  /** The tenant of the next admission; null ends the loop. */
  nextTenant(nowMs: number): number | null;
  onLatency(us: number): void;
}

/** Resolves when every admission has its verdict and every settle its acknowledgement. */
function loop(port: AdmissionPort, { inFlight, nextTenant, onLatency }: Loop): Promise<Driven> {
  return new Promise((resolve, reject) => {
    const sentAt = new Float64Array(inFlight);
    let count = 0;
    let errors = 0;
    let lastAtMs = 0;
    let unsettled = 0;
    let working = inFlight;

    function next(slot: number, now: number): void {
      const tenant = nextTenant(now);
      if (tenant === null) {
        working--;
        return endIfDone();
      }
      sentAt[slot] = now;
      port.admit(slot, tenant);
    }

    function endIfDone(): void {
      if (working > 0 || unsettled > 0) return;
      port.events = unattended;
      resolve({ count, errors, lastError: errors > 0 ? "a refusal" : null, lastAtMs });
    }

    port.events = {
      onVerdict(slot, admitted) {
        const now = performance.now();
        if (admitted) {
          count++;
          lastAtMs = now;
          unsettled++;
          onLatency((now - sentAt[slot]!) * 1000);
          port.settle(slot);
        } else {
          errors++;
        }
        next(slot, now);
      },
      onSettled(settles) {
        unsettled -= settles;
        endIfDone();
      },
      onLost: reject,
    };
    for (let slot = 0; slot < inFlight; slot++) next(slot, performance.now());
  });
}
