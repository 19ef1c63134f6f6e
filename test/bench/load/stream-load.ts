/** The clients of `npm run heavy -- bench:streams`, a process of its own. */
import { setTimeout as delay } from "node:timers/promises";
import { createStreamClients, type StreamsEnded } from "../../support/providers/slow-streams.js";
import { serveJobs } from "../measure/job-channel.js";

/**
 * `open`: so many more, each with its first event, `perTurn` of them each 10 ms. `leave`: so many
 * go. `end`: what became of all.
 */
export type StreamJob =
  | {
      readonly kind: "open";
      readonly url: string;
      readonly streams: number;
      readonly perTurn: number;
    }
  | { readonly kind: "leave"; readonly streams: number }
  | { readonly kind: "end" };

const [, , promptBytes] = process.argv;
const clients = createStreamClients(Number(promptBytes));

serveJobs<StreamJob, StreamsEnded | null>(async (job) => {
  switch (job.kind) {
    case "open": {
      const opening: Promise<void>[] = [];
      for (let left = job.streams; left > 0; left -= job.perTurn) {
        opening.push(clients.open(job.url, Math.min(left, job.perTurn)));
        await delay(10);
      }
      await Promise.all(opening);
      return null;
    }
    case "leave": {
      clients.leave(job.streams);
      return null;
    }
    case "end":
      return clients.ended();
  }
});
