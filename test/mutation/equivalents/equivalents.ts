/**
 * Mutations that change nothing which a caller can see, each with the reason. They don't count
 * against the score.
 */
import { counterEquivalents } from "./counters.js";
import type { Equivalent } from "./equivalent.js";
import { handlerEquivalents } from "./handlers.js";
import { listEquivalents } from "./lists.js";
import { proxyLimiterEquivalents } from "./proxy-limiter.js";
import { proxyRoutingEquivalents } from "./proxy-routing.js";
import { proxyUsageEquivalents } from "./proxy-usage.js";
import { ruleEquivalents } from "./rules.js";
import { sharedEquivalents } from "./shared.js";
import { storeEquivalents } from "./store.js";

export const equivalents: readonly Equivalent[] = [
  ...counterEquivalents,
  ...ruleEquivalents,
  ...handlerEquivalents,
  ...listEquivalents,
  ...storeEquivalents,
  ...proxyLimiterEquivalents,
  ...proxyRoutingEquivalents,
  ...proxyUsageEquivalents,
  ...sharedEquivalents,
];
