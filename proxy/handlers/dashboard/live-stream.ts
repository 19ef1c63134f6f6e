/**
 * GET /admin/live: one connection to the live feed, as a stream of events (docs/admin-api.md,
 * "Live"). What is told, and when, is in `live-feed.ts`.
 */
import { bad, type Checked, good } from "../../../shared/checked.js";
import { failure } from "../../../shared/error-code.js";
import { showsKey } from "../../auth/authenticate.js";
import { cookieOf } from "../../auth/session/authenticate-session.js";
import { findSession } from "../../auth/session/find-session.js";
import { retryMs, watchersMax } from "../../dashboard/live-bounds.js";
import type { Watcher } from "../../dashboard/live-feed.js";
import type { RuleQuery } from "../../dashboard/live-rules.js";
import type { RequestContext } from "../../request-context.js";
import { failAdmin } from "../admin/admin-json.js";
import { listParameters } from "../admin/reply-list.js";

type LiveContext = RequestContext<"config" | "limiter" | "liveFeed" | "sessionKeeping">;

export async function streamLive(context: LiveContext): Promise<void> {
  const { gateway, exchange, record } = context;
  const query = ruleQuery(exchange.query);
  if (!query.ok) return failAdmin(context, query.failure);
  // The daemon checks the parameters, and is there.
  const asked =
    query.value === null
      ? await gateway.limiter.call("status", null)
      : await gateway.limiter.call("rate-limits.list", query.value.parameters);
  if (exchange.gone) return record.gone(exchange);
  if (!asked.ok) return failAdmin(context, asked.failure);
  if (gateway.liveFeed.isFull)
    return failAdmin(context, failure("overloaded", `${watchersMax} streams are open already`));
  record.end(200, "answered");
  exchange.begin(200, [
    "content-type",
    "text/event-stream",
    "cache-control",
    "no-store",
    // For proxies that would gather it.
    "x-accel-buffering",
    "no",
    "x-request-id",
    exchange.id,
  ]);
  exchange.write(Buffer.from(`retry: ${retryMs}\n\n`));
  await new Promise<void>((resolve) => {
    const leave = gateway.liveFeed.watch(watcherOf(context, query.value, resolve));
    exchange.onGone(() => {
      leave();
      resolve();
    });
  });
}

/** With `rules`, the list that the other parameters ask for; without it there are none. */
function ruleQuery(query: string): Checked<RuleQuery | null> {
  const read = listParameters(query);
  if (!read.ok) return read;
  const { rules, ...parameters } = read.value;
  const [other] = Object.keys(parameters);
  if (rules === undefined)
    return other === undefined ? good(null) : bad(`${other} is about rules=true`, other);
  if (rules !== "true") return bad("rules must be true, or be left out", "rules");
  const sorted = Object.entries(parameters).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return good({ key: JSON.stringify(sorted), parameters });
}

function watcherOf(context: LiveContext, query: RuleQuery | null, ended: () => void): Watcher {
  const { gateway, exchange, caller } = context;
  const cookie = showsKey(exchange) ? null : cookieOf(gateway, exchange);
  let ready = true;
  return {
    query,
    get ready() {
      return ready;
    },
    async mayWatch() {
      // An open gateway may close, a session ends; the master key stays while this process runs.
      if (caller.credential === "none") return gateway.limiter.keysExist !== true;
      if (cookie === null) return true;
      const found = await findSession(gateway, cookie.token);
      return found.ok ? found.session?.kind === "admin" : null;
    },
    write(events) {
      if (exchange.gone || exchange.write(events)) return;
      ready = false;
      exchange.onDrain(() => {
        ready = true;
      });
    },
    end() {
      if (!exchange.gone) exchange.end();
      ended();
    },
  };
}
