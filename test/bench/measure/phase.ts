/**
 * The frame of every measured phase: drive the load, read the CPU of the measured processes at both
 * edges while nothing is under way.
 */
import { createHistogram, type Histogram } from "../report/histogram.js";
import { cpuSource, cpuUsBetween, readCpu } from "./process-stat.js";

/** What each load generator is asked to do. */
export interface PhaseJob {
  readonly seconds: number;
  /** The processes measured, and those that work beside them (the daemon beside the proxy). */
  readonly pids: readonly number[];
  readonly besidePids: readonly number[];
}

export interface Phase {
  readonly count: number;
  readonly seconds: number;
  readonly perSecond: number;
  readonly p50Us: number;
  readonly p99Us: number;
  /** Until the first byte of what comes back, where that differs from its end. */
  readonly firstP50Us: number;
  /** CPU time of the measured processes, user + system, per completed piece of work. */
  readonly cpuUs: number;
  readonly besideCpuUs: number;
  /** Everything that didn't end as it should: not a 200, a lost connection, a refusal. */
  readonly errors: number;
  /** What the last of them was. */
  readonly lastError: string | null;
  /**
   * CPU of the generator itself as a share of one core: near 1 it is what limits the throughput.
   */
  readonly generatorShare: number;
}

/** What driving the load came to. `count` excludes the errors. */
export interface Driven {
  readonly count: number;
  readonly errors: number;
  readonly lastError: string | null;
  /**
   * The moment (`performance.now()`) of the last one, so that the rest of the drain doesn't count
   * as time.
   */
  readonly lastAtMs: number;
}

const leadInSeconds = 0.3;
/** How long after its end a phase may still wait for answers. */
const drainDeadlineMs = 10_000;

/** `drive` keeps the load up for so many seconds, lets what is under way finish, and resolves. */
export async function measurePhase(
  job: PhaseJob,
  drive: (seconds: number, latency: Histogram, first: Histogram) => Promise<Driven>,
): Promise<Phase> {
  const source = cpuSource();
  await withDeadline(drive(leadInSeconds, createHistogram(), createHistogram()), leadInSeconds);
  const latency = createHistogram();
  const first = createHistogram();
  const cpuBefore = readCpu(job.pids, source);
  const besideBefore = readCpu(job.besidePids, source);
  const ownBefore = process.cpuUsage();
  const startedAt = performance.now();
  const { count, errors, lastError, lastAtMs } = await withDeadline(
    drive(job.seconds, latency, first),
    job.seconds,
  );
  const own = process.cpuUsage(ownBefore);
  const seconds = (lastAtMs - startedAt) / 1000;
  const cpuUs = cpuUsBetween(cpuBefore, readCpu(job.pids, source));
  const besideCpuUs = cpuUsBetween(besideBefore, readCpu(job.besidePids, source));
  if (count === 0)
    throw new Error(
      `nothing succeeded in ${job.seconds} s (${errors} errors, the last: ${lastError ?? "none"})`,
    );
  return {
    count,
    seconds,
    errors,
    lastError,
    perSecond: count / seconds,
    p50Us: latency.quantileUs(0.5),
    p99Us: latency.quantileUs(0.99),
    firstP50Us: first.quantileUs(0.5),
    cpuUs: cpuUs / count,
    besideCpuUs: besideCpuUs / count,
    generatorShare: (own.user + own.system) / 1e6 / seconds,
  };
}

function withDeadline<T>(driving: Promise<T>, seconds: number): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(
      () =>
        reject(
          new Error(`answers were still missing ${drainDeadlineMs / 1000} s after the phase's end`),
        ),
      seconds * 1000 + drainDeadlineMs,
    );
  });
  return Promise.race([driving, late]).finally(() => clearTimeout(timer));
}
