/**
 * Who may read what /health says beside whether the process is well: operators alone. It never
 * waits for a daemon that is away.
 */
import type { Failure } from "../../../shared/error-code.js";
import { showsKey } from "../../auth/authenticate.js";
import { authenticateScrape } from "../../auth/authenticate-scrape.js";
import { authenticateSession, cookieOf } from "../../auth/session/authenticate-session.js";
import type { Gateway } from "../../gateway.js";
import type { Exchange } from "../../http/exchange.js";

/** Sessions that are looked up for /health at once count as those of one caller. */
const browsers = "/health";

/**
 * Whoever may read /metrics, by the master key or the token for scrapes, or at an open gateway; and
 * a session of the dashboard that the master key has opened. `pageProblem`: why an open gateway
 * refuses this request of a web page; null: it doesn't.
 */
export async function mayReadDetails(
  gateway: Gateway,
  exchange: Exchange,
  pageProblem: Failure | null,
): Promise<boolean> {
  const { credentials, served, limiter, freePlaces } = gateway;
  const scrape = authenticateScrape(credentials, served, exchange);
  if (scrape.ok)
    return (
      scrape.caller.credential === "authenticated" ||
      (limiter.keysExist !== true && pageProblem === null)
    );
  if (served === "models" || exchange.header("cookie") === undefined) return false;
  if (!limiter.reachable || showsKey(exchange)) return false;
  const cookie = cookieOf(gateway, exchange);
  if (cookie === null || !freePlaces.take("status", browsers)) return false;
  try {
    return (await authenticateSession(gateway, "admin", exchange, cookie)).ok;
  } finally {
    freePlaces.give("status", browsers);
  }
}
