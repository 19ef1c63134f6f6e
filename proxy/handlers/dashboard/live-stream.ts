/**
 * GET /admin/live: a connection to the live feed, as server-sent events
 * (docs/reference/admin-api.md, "Live"). `live-feed.ts` decides which events are sent, and when.
 */
import { bad, type Checked, good } from "../../../shared/checked.js";
import { failure } from "../../../shared/error-code.js";
import { showsKey } from "../../auth/authenticate.js";
import type { Caller } from "../../auth/caller.js";
import {
  administrationOf,
  cookieOf,
  findSession,
} from "../../auth/session/authenticate-session.js";
import { retryMs, watchersMax } from "../../bounds.js";
import type { Watcher } from "../../dashboard/live-feed.js";
import { type ListWatch, liveLists } from "../../dashboard/live-lists.js";
import { accessProblem } from "../../http/paths/admin-access.js";
import type { Limiter } from "../../limiter/client/limiter-client.js";
import type { RequestContext } from "../../request-context.js";
import { failAdmin } from "../admin/admin-json.js";
import { askDaemon, subtreeOf } from "../admin/asked-by.js";
import { listParameters } from "../admin/reply-list.js";
import { refusesRole } from "../admin/serve-admin.js";

type LiveContext = RequestContext<"config" | "limiter" | "liveFeed" | "sessionKeeping">;

export async function streamLive(context: LiveContext): Promise<void> {
  const { gateway, exchange, record } = context;
  if (refusesRole(context, "live")) return;
  const within = subtreeOf(context.caller);
  const lists = listsOf(exchange.query, within);
  if (!lists.ok) return failAdmin(context, lists.failure);
  // The daemon checks the parameters, and must be reachable.
  const answers =
    lists.value.length === 0
      ? [await askDaemon(context, "status", null)]
      : await Promise.all(
          lists.value.map(({ list, parameters }) =>
            askDaemon(context, liveLists[list].op, parameters),
          ),
        );
  if (exchange.gone) return record.markGone(exchange);
  for (const answer of answers) if (!answer.ok) return failAdmin(context, answer.failure);
  if (gateway.liveFeed.isFullFor(within)) {
    const places = within === "/" ? watchersMax : watchersMax / 2;
    return failAdmin(context, failure("overloaded", `${places} streams are open already`));
  }
  record.end(200, "answered");
  exchange.begin(200, [
    "content-type",
    "text/event-stream",
    "cache-control",
    "no-store",
    // For HTTP proxies that would buffer the stream.
    "x-accel-buffering",
    "no",
    "x-request-id",
    exchange.id,
  ]);
  exchange.write(Buffer.from(`retry: ${retryMs}\n\n`));
  await new Promise<void>((resolve) => {
    const leave = gateway.liveFeed.watch(watcherOf(context, lists.value, resolve));
    exchange.onGone(() => {
      leave();
      resolve();
    });
  });
}

/**
 * The pages of lists that the client follows, by the parameters `rules` and `budgets`; none without
 * them.
 */
function listsOf(query: string, within: string): Checked<readonly ListWatch[]> {
  const parsed = listParameters(query);
  if (!parsed.ok) return parsed;
  const { rules, budgets, ...parameters } = parsed.value;
  const sorted = Object.entries(parameters).toSorted(([a], [b]) => (a < b ? -1 : 1));
  const lists: ListWatch[] = [];
  const flags = { rules, budgets };
  for (const list of ["rules", "budgets"] as const) {
    if (flags[list] === undefined) continue;
    if (flags[list] !== "true") return bad(`${list} must be true, or be left out`, list);
    lists.push({ list, within, key: JSON.stringify([within, list, ...sorted]), parameters });
  }
  const [unknownParameter] = Object.keys(parameters);
  return lists.length === 0 && unknownParameter !== undefined
    ? bad(`${unknownParameter} is about rules=true and budgets=true`, unknownParameter)
    : good(lists);
}

const liveRequest = { method: "GET", path: "/admin/live" };

/** Whether a key of administration is still accepted; null while the daemon is away. */
async function mayStillWatch(
  limiter: Pick<Limiter, "authorize">,
  { credential }: Caller,
): Promise<boolean | null> {
  const outcome = await limiter.authorize(credential);
  return outcome.kind === "unavailable" ? null : outcome.kind === "authorized";
}

function watcherOf(context: LiveContext, lists: readonly ListWatch[], ended: () => void): Watcher {
  const { gateway, exchange, caller } = context;
  const within = subtreeOf(caller);
  const cookie = showsKey(exchange) ? null : cookieOf(gateway, exchange);
  let isReady = true;
  return {
    within,
    lists,
    get isReady() {
      return isReady;
    },
    async mayWatch() {
      // An open gateway may get its first key; a session or a key may end. The master key stays
      // valid while this process runs.
      if (caller.credential === "none") return gateway.limiter.notices.keysExist !== true;
      if (cookie === null) return caller.keyId === "" || mayStillWatch(gateway.limiter, caller);
      const answer = await findSession(gateway, cookie.token);
      if (!answer.ok) return null;
      const administration = answer.session === null ? null : administrationOf(answer.session);
      return (
        administration?.path === within &&
        accessProblem(administration, "live", liveRequest) === null
      );
    },
    write(events) {
      if (exchange.gone || exchange.write(events)) return;
      isReady = false;
      exchange.onDrain(() => {
        isReady = true;
      });
    },
    end() {
      if (!exchange.gone) exchange.end();
      ended();
    },
  };
}
