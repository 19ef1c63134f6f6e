/**
 * The provider of `npm run heavy -- bench:streams`, a process of its own: a stream for each
 * request, an event each so many milliseconds.
 */
import { startSlowProvider } from "../../support/providers/slow-streams.js";
import { serveJobs } from "../measure/job-channel.js";

export interface ProviderJob {
  /** Streams under way are to end, each once it has had so many events; without it they go on. */
  readonly finish?: number;
}

export interface ProviderState {
  /** Streams under way. */
  readonly open: number;
}

const [, , everyMs] = process.argv;
const provider = await startSlowProvider(Number(everyMs));

serveJobs<ProviderJob, ProviderState>(async ({ finish }) => {
  if (finish !== undefined) provider.finish(finish);
  return { open: provider.open };
}, provider.baseUrl);
