/** The clients of a burst, a process of its own. */
import net from "node:net";
import { serveJobs } from "../measure/job-channel.js";
import { createHistogram } from "../report/histogram.js";

/** So many streams, all at the same moment, each on a connection of its own. */
export interface BurstJob {
  readonly url: string;
  /** The bytes of one request. */
  readonly request: string;
  readonly streams: number;
  /** The interval of a stream's events. */
  readonly everyMs: number;
}

export interface BurstMeasured {
  readonly firstP50Us: number;
  readonly firstP99Us: number;
  /** How much longer than the interval the time between two events was. */
  readonly delayP99Us: number;
  /** How often which error came: a status, or a stream without its end. */
  readonly errors: Readonly<Record<string, number>>;
}

const okLine = "HTTP/1.1 200 ";

serveJobs<BurstJob, BurstMeasured>(async ({ url, request, streams, everyMs }) => {
  const { hostname, port } = new URL(url);
  const first = createHistogram();
  const delay = createHistogram();
  const startedAt = performance.now();
  const errors: Record<string, number> = {};
  const one = (): Promise<void> =>
    new Promise((resolve) => {
      const socket = net.connect({ host: hostname, port: Number(port), noDelay: true });
      let text = "";
      let lastAt = 0;
      let isComplete = false;
      socket.on("connect", () => socket.write(request));
      socket.on("data", (bytes: Buffer) => {
        text += bytes.toString("latin1");
        isComplete = text.includes("[DONE]");
        const isRefused = text.length >= okLine.length && !text.startsWith(okLine);
        if (isComplete || isRefused) {
          socket.destroy();
          return;
        }
        if (!bytes.includes("data:")) return;
        const now = performance.now();
        if (lastAt === 0) first.record((now - startedAt) * 1000);
        else delay.record(Math.max(0, now - lastAt - everyMs) * 1000);
        lastAt = now;
      });
      let failure = "";
      socket.on("error", ({ message }) => {
        failure = message;
      });
      socket.on("close", () => {
        if (!isComplete) {
          const events = text.split("data: ").length - 1;
          const what = text.startsWith(okLine)
            ? `cut after ${events} events`
            : text.slice(0, okLine.length - 1);
          const error = `${what} ${failure}`.trim();
          errors[error] = (errors[error] ?? 0) + 1;
        }
        resolve();
      });
    });
  await Promise.all(Array.from({ length: streams }, one));
  return {
    firstP50Us: first.quantileUs(0.5),
    firstP99Us: first.quantileUs(0.99),
    delayP99Us: delay.quantileUs(0.99),
    errors,
  };
});
