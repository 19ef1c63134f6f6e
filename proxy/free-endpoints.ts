/**
 * The endpoints whose requests cost no admission, and how many of each one caller may have at once:
 * limits don't bound them (docs/reference/bounds.md, "Connections"). An endpoint that isn't here
 * doesn't compile. `/health` and `/ready` have room of their own.
 */
import { readsWaitingMax } from "../shared/bounds.js";
import { watchersMax } from "./dashboard/live-bounds.js";
import type { FreeEndpoint } from "./http/match-route.js";

/** Each is a call to a provider. */
const providerCallsMax = 256;
/** Each is a question to the daemon, of which it answers one at a time for each proxy. */
const daemonCallsMax = 256;
/** Each may hold a body of 4 MiB, and the daemon holds four of them. */
const fileCallsMax = 4;
/** Answered from memory; or by few questions to the daemon, which equal requests share. */
const repliesMax = 1000;
/** Each may be a text of megabytes, and the daemon is asked for one of them. */
const scrapesMax = 8;

export const freePlacesMax: Readonly<Record<FreeEndpoint, number>> = {
  count_tokens: providerCallsMax,
  input_tokens: providerCallsMax,
  count_content_tokens: providerCallsMax,
  files: providerCallsMax,
  batches: providerCallsMax,
  stored_responses: providerCallsMax,
  uploads: providerCallsMax,
  containers: providerCallsMax,
  conversations: providerCallsMax,
  message_batches: providerCallsMax,
  model: repliesMax,
  models: repliesMax,
  usage: repliesMax,
  "rate-limits": daemonCallsMax,
  "rate-limits-children": daemonCallsMax,
  "rate-limits-test": daemonCallsMax,
  "rate-limits-reset-one": daemonCallsMax,
  "rate-limits-reset": daemonCallsMax,
  budgets: daemonCallsMax,
  "budgets-children": daemonCallsMax,
  "budgets-reset-one": daemonCallsMax,
  "budgets-reset": daemonCallsMax,
  "budgets-settings": daemonCallsMax,
  limits: fileCallsMax,
  "auth-keys": daemonCallsMax,
  "auth-keys-rotate": daemonCallsMax,
  "auth-keys-deactivate": daemonCallsMax,
  "auth-keys-delete": daemonCallsMax,
  "denied-jwts": daemonCallsMax,
  explain: daemonCallsMax,
  live: watchersMax,
  targets: repliesMax,
  "in-flight": daemonCallsMax,
  refusals: daemonCallsMax,
  status: daemonCallsMax,
  "usage-summary": daemonCallsMax,
  "usage-records": daemonCallsMax,
  "usage-export": daemonCallsMax,
  "usage-follow": daemonCallsMax,
  providers: repliesMax,
  config: repliesMax,
  metrics: scrapesMax,
  "metrics-limiter": scrapesMax,
};

/**
 * That begin in one turn of the event loop: each takes about a tenth of a millisecond, and what
 * others wait for, a chat for some eight turns, has its turn between.
 */
export const freeRequestsPerTurn = 4;

/** Few at once, since the daemon makes one at a time; as many wait as would there. */
export const usageReadBounds = {
  runningMax: 4,
  waitingMax: readsWaitingMax,
  waitingPerCallerMax: 16,
} as const;
