/**
 * What the gateway is doing, and what it did (docs/admin-api.md): the daemon's status, the fullest
 * children of a template, the requests in flight, the last refusals, and usage by groups. Nothing
 * is changed.
 */
import { bad, type Checked, good } from "../../../shared/checked.js";
import type { AdminEndpoint } from "../../http/paths/admin-routes.js";
import { replyJson } from "../../http/respond.js";
import type { RequestContext } from "../../request-context.js";
import { failAdmin } from "./admin-json.js";
import { parseUsageQuery } from "./parse-usage-query.js";
import { type ListOf, listParameters, replyList } from "./reply-list.js";

type ObserveEndpoint = Extract<
  AdminEndpoint,
  "rate-limits-children" | "in-flight" | "refusals" | "status" | "usage-summary"
>;

const leases = pages("leases.list", "in_flight");
const refusals = pages("refusals.list", "refusals");

function pages(op: ListOf["op"], items: ListOf["items"]): ListOf {
  return { op, items, pageItems: items, whole: "never", headers: [] };
}

export function observe(
  context: RequestContext<"limiter" | "nowMs">,
  endpoint: ObserveEndpoint,
): Promise<void> {
  const { query } = context.exchange;
  switch (endpoint) {
    case "rate-limits-children":
      return ask(context, "rate-limits.children", listParameters(query));
    case "in-flight":
      return replyList(context, leases, query);
    case "refusals":
      return replyList(context, refusals, query);
    case "status":
      return ask(context, "status", good(null));
    case "usage-summary":
      return ask(context, "usage.summary", summaryOf(query, context.gateway.nowMs()));
  }
}

async function ask(
  context: RequestContext<"limiter">,
  op: ListOf["op"],
  body: Checked<unknown>,
): Promise<void> {
  const { gateway, exchange, record } = context;
  if (!body.ok) return failAdmin(context, body.failure);
  const answer = await gateway.limiter.call(op, body.value);
  if (!answer.ok) return failAdmin(context, answer.failure);
  record.end(200, "answered");
  replyJson(exchange, 200, answer.body);
}

const summaryParameters = ["user_path", "by", "days", "start_date", "end_date"];

/** `{user_path, start_date, end_date, by}`: the days are those of GET /v1/usage. */
function summaryOf(query: string, nowMs: number): Checked<unknown> {
  const parameters = new URLSearchParams(query);
  for (const name of parameters.keys()) {
    if (!summaryParameters.includes(name))
      return bad(
        `unknown parameter ${name}: expected one of ${summaryParameters.join(", ")}`,
        name,
      );
    if (parameters.getAll(name).length > 1) return bad(`${name} is given more than once`, name);
  }
  const window = parseUsageQuery(query, nowMs);
  if (!window.ok) return window;
  return good({
    user_path: parameters.get("user_path") ?? "/",
    by: parameters.get("by"),
    start_date: window.startDate,
    end_date: window.endDate,
  });
}
