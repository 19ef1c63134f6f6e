/** A refusal in words (CONTRACT section 4 "Message"): the same for the 429, the log line and `sluice explain`. */
import { periodLabel } from "./rule.js";
import type { Breach } from "./wire/message.js";

/** `rate limit exceeded for <who>: <label> request limit of <n> reached`. */
export function refusalMessage(breach: Breach): string {
  const who = breach.scope === "user_path" ? breach.subject : `${breach.scope} ${breach.subject}`;
  const limit = breach.dimension === "concurrent" ? "concurrent request" : `${periodLabel(breach.periodSeconds)} ${breach.dimension === "tokens" ? "token" : "request"}`;
  return `rate limit exceeded for ${who}: ${limit} limit of ${breach.cap} reached`;
}
