/**
 * Read-only state of the gateway (docs/reference/admin-api.md): the daemon's status, the fullest
 * children of a template, requests in flight and in detail, those that wait, recent refusals,
 * providers' own limits, sessions, the history of targets, and usage by groups.
 */

import type { GatewayStatus } from "../../../shared/api/gateway-status.js";
import type { UsageSummary } from "../../../shared/api/usage-report.js";
import { bad, type Checked, good } from "../../../shared/checked.js";
import { invalid } from "../../../shared/error-code.js";
import { summaryCsv } from "../../../shared/export/summary-csv.js";
import { type AdminEndpoint, requestInPath } from "../../http/paths/admin-routes.js";
import { queryParameters } from "../../http/query-parameters.js";
import { replyJson } from "../../http/respond.js";
import { priceListStatus } from "../../prices/prices-json.js";
import type { RequestContext } from "../../request-context.js";
import { failAdmin } from "./admin-json.js";
import { askDaemon, subtreeOf } from "./asked-by.js";
import { fileHeaders, formatOf } from "./file-format.js";
import { parseUsageQuery } from "./parse-usage-query.js";
import { type ListOf, listParameters, replyList } from "./reply-list.js";
import { failingTargets } from "./targets-api.js";

type ObserveEndpoint = Extract<
  AdminEndpoint,
  | "rate-limits-children"
  | "budgets-children"
  | "in-flight"
  | "queues"
  | "refusals"
  | "upstream-limits"
  | "status"
  | "usage-summary"
  | "usage-export"
  | "usage-follow"
  | "requests"
  | "request"
  | "sessions"
  | "tenants"
  | "traffic"
>;

const leases = listOf("leases.list", "in_flight");
const refusals = listOf("refusals.list", "refusals");
const requests = listOf("requests.list", "requests");

function listOf(op: ListOf["op"], items: ListOf["items"]): ListOf {
  return { op, items, pageItems: items, whole: "never", headers: [] };
}

export function observe(
  context: RequestContext<"limiter" | "nowMs" | "targetHealth" | "prices">,
  endpoint: ObserveEndpoint,
): Promise<void> {
  const { query } = context.exchange;
  switch (endpoint) {
    case "rate-limits-children":
      return ask(context, "rate-limits.children", listParameters(query));
    case "budgets-children":
      return ask(context, "budgets.children", listParameters(query));
    case "in-flight":
      return replyList(context, leases, query);
    case "queues":
      return ask(context, "queues.list", good(null));
    case "refusals":
      return replyList(context, refusals, query);
    case "upstream-limits":
      return ask(context, "upstream-limits.list", good(null));
    case "status":
      return ask(context, "status", good(null), proxyStatus(context));
    case "usage-summary":
      return summarize(context);
    case "usage-export":
      return ask(context, "usage.export", listParameters(query));
    case "usage-follow":
      return ask(context, "usage.follow", listParameters(query));
    case "requests":
      return replyList(context, requests, query);
    case "request":
      return ask(
        context,
        "requests.show",
        good({ request_id: requestInPath(context.exchange.path) }),
      );
    case "sessions":
      return ask(context, "requests.sessions", listParameters(query));
    case "tenants":
      return ask(context, "tenants.list", tenantsOf(query, context.gateway.nowMs()));
    case "traffic":
      return ask(context, "traffic.summary", listParameters(query));
  }
}

/** The proxy's part of the status; empty for a caller whose role covers a subtree only. */
function proxyStatus({
  gateway,
  caller,
}: Pick<RequestContext<"targetHealth" | "prices" | "nowMs">, "gateway" | "caller">): Partial<
  Pick<GatewayStatus, "targets" | "price_list">
> {
  if (subtreeOf(caller) !== "/") return {};
  const { prices, nowMs } = gateway;
  return {
    targets: failingTargets(gateway),
    price_list: priceListStatus(prices.listed, nowMs()),
  };
}

async function ask(
  context: RequestContext<"limiter">,
  op: ListOf["op"],
  body: Checked<unknown>,
  proxyFields: object = {},
): Promise<void> {
  const { exchange, record } = context;
  if (!body.ok) return failAdmin(context, body.failure);
  const answer = await askDaemon(context, op, body.value);
  if (!answer.ok) return failAdmin(context, answer.failure);
  record.end(200, "answered");
  replyJson(exchange, 200, { ...(answer.body as object), ...proxyFields });
}

/** Answers with the summary as JSON, or with its groups as a CSV file. */
async function summarize(context: RequestContext<"limiter" | "nowMs">): Promise<void> {
  const { gateway, exchange, record } = context;
  const question = summaryOf(exchange.query, gateway.nowMs());
  const parameters = queryParameters(exchange.query);
  const format = formatOf(parameters.get("format"), ["json", "csv"]);
  if (!format.ok) return failAdmin(context, format.failure);
  if (format.value === "json") return ask(context, "usage.summary", question);
  if (!question.ok) return failAdmin(context, question.failure);
  if (!parameters.has("by"))
    return failAdmin(context, invalid("by is required for a file: its lines are the groups", "by"));
  const answer = await askDaemon(context, "usage.summary", question.value);
  if (!answer.ok) return failAdmin(context, answer.failure);
  const { groups, usage } = answer.body as UsageSummary;
  record.end(200, "answered");
  const name = `sluice-usage-${usage.start_date}-${usage.end_date}`;
  exchange.reply(200, fileHeaders(exchange, "csv", name), summaryCsv(groups), "utf8");
}

/** The parameters of a list with a window. */
function tenantsOf(query: string, nowMs: number): Checked<unknown> {
  const parameters = listParameters(query);
  if (!parameters.ok) return parameters;
  const window = windowOf(query, nowMs);
  if (!window.ok) return window;
  const { days: _, ...others } = parameters.value;
  return good({ ...others, ...window.value });
}

const days = ["days", "start_date", "end_date"];

/** The days of a query, which are those of GET /v1/usage, or its range with times. */
function windowOf(query: string, nowMs: number): Checked<object> {
  const parameters = queryParameters(query);
  const window = parseUsageQuery(query, nowMs);
  if (!window.ok) return window;
  const [start, end] = [parameters.get("start"), parameters.get("end")];
  if (start === null && end === null)
    return good({ start_date: window.startDate, end_date: window.endDate });
  if (days.some((name) => parameters.has(name)))
    return bad(`start and end can't be combined with ${days.join(", ")}`, "start");
  return good({ ...(start === null ? {} : { start }), ...(end === null ? {} : { end }) });
}

const summaryParameters = ["user_path", "by", "step", ...days, "start", "end", "format"];

/** `{user_path, by, step}` and the window. */
function summaryOf(query: string, nowMs: number): Checked<unknown> {
  const parameters = queryParameters(query);
  for (const name of parameters.keys()) {
    if (!summaryParameters.includes(name))
      return bad(
        `unknown parameter ${name}: expected one of ${summaryParameters.join(", ")}`,
        name,
      );
    if (parameters.getAll(name).length > 1) return bad(`${name} is given more than once`, name);
  }
  const window = windowOf(query, nowMs);
  if (!window.ok) return window;
  return good({
    user_path: parameters.get("user_path"),
    by: parameters.get("by"),
    step: parameters.get("step"),
    ...window.value,
  });
}
