/**
 * The HTTP load generator, a process of its own: a closed loop over N raw keep-alive connections,
 * the same bytes to every peer, the next request as soon as the response before it is whole; or, at
 * a given rate, when its turn has come.
 */
import net from "node:net";
import { serveJobs } from "../measure/job-channel.js";
import { type Driven, measurePhase, type Phase, type PhaseJob } from "../measure/phase.js";
import { createHistogram, type Histogram } from "../report/histogram.js";
import { createResponseReader, pending } from "./response-reader.js";

export interface HttpJob extends PhaseJob {
  /** Only so many requests, before anything is measured. */
  readonly warmUp?: number;
  /** Such as `http://127.0.0.1:4000`. */
  readonly url: string;
  readonly connections: number;
  /** Requests a second over all connections; without it as many as there can be. */
  readonly ratePerSecond?: number;
  /** The bytes of one request. */
  readonly request: string;
}

/** More lost connections than this in one phase are a peer that is down, not a peer with errors. */
const errorsMax = 10_000;

serveJobs(async (job: HttpJob): Promise<Phase | null> => {
  if (job.warmUp === undefined)
    return measurePhase(job, (seconds, latency, first) => drive(job, seconds, { latency, first }));
  await drive(job, Infinity, { latency: createHistogram(), first: createHistogram() });
  return null;
});

function drive(
  job: HttpJob,
  seconds: number,
  { latency, first }: { readonly latency: Histogram; readonly first: Histogram },
): Promise<Driven> {
  const { hostname, port } = new URL(job.url);
  const request = Buffer.from(job.request);
  return new Promise((resolve, reject) => {
    let count = 0;
    let errors = 0;
    let lastError: string | null = null;
    let lastAtMs = 0;
    let working = job.connections;
    const startAt = performance.now();
    let endAt = startAt + seconds * 1000;
    const { ratePerSecond, warmUp = Infinity } = job;
    /** How many turns were given out. */
    let turns = 0;
    const untilTurnMs = (now: number): number =>
      ratePerSecond === undefined ? 0 : startAt + (turns++ * 1000) / ratePerSecond - now;

    function finish(socket: net.Socket): void {
      socket.destroy();
      if (--working === 0) resolve({ count, errors, lastError, lastAtMs });
    }

    function open(): void {
      const reader = createResponseReader();
      const socket = net.connect({ host: hostname, port: Number(port), noDelay: true });
      let sentAt = 0;
      let firstAt = 0;
      const next = (now: number): void => {
        const waitMs = now >= endAt ? 0 : untilTurnMs(now);
        if (waitMs > 0) setTimeout(() => send(performance.now()), waitMs);
        else send(now);
      };
      const send = (now: number): void => {
        // Lost while it waited: another one has its place.
        if (socket.destroyed) return;
        if (now >= endAt) return finish(socket);
        sentAt = now;
        firstAt = 0;
        socket.write(request);
      };
      socket.on("connect", () => next(performance.now()));
      socket.on("data", (chunk: Buffer) => {
        const status = reader.feed(chunk);
        if (firstAt === 0 && reader.bodyBegun) firstAt = performance.now();
        if (status === pending) return;
        const now = performance.now();
        if (status === 200) {
          if (++count === warmUp) endAt = now;
          lastAtMs = now;
          latency.record((now - sentAt) * 1000);
          first.record((firstAt - sentAt) * 1000);
          next(now);
        } else if (status > 0) {
          errors++;
          lastError = `the status ${status}`;
          next(now);
        } else {
          socket.destroy(new Error("a broken response"));
        }
      });
      // A socket that we destroy without an error says nothing here; every other end is an error,
      // and a new connection takes the place.
      let isLost = false;
      const lost = (error?: Error): void => {
        if (isLost) return;
        isLost = true;
        lastError = error?.message ?? "a closed connection";
        if (++errors > errorsMax)
          reject(new Error(`${errorsMax} requests failed in one phase, the last: ${lastError}`));
        else if (performance.now() >= endAt) finish(socket);
        else setImmediate(open);
        socket.destroy();
      };
      socket.on("error", lost);
      socket.on("end", () => lost());
    }

    for (let n = 0; n < job.connections; n++) open();
  });
}
