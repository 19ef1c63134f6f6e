/**
 * The /admin/rate-limits and /admin/budgets endpoints (docs/reference/admin-api.md): a request
 * becomes one admin operation of the daemon, and the answer is the resulting list. The daemon
 * validates bodies, also for the command line.
 */
import { unreachable } from "../../../shared/assert.js";
import type { AdminOp } from "../../../shared/wire/admin-op.js";
import type { AdminEndpoint } from "../../http/paths/admin-routes.js";
import { replyJson } from "../../http/respond.js";
import type { RequestContext } from "../../request-context.js";
import { failAdmin, type JsonBody, readJson } from "./admin-json.js";
import { askedBy } from "./asked-by.js";
import { type ListOf, replyList } from "./reply-list.js";

type LimitsEndpoint = Exclude<
  Extract<AdminEndpoint, `rate-limits${string}` | `budgets${string}`>,
  "rate-limits-children" | "budgets-children"
>;

export async function handleLimits(
  context: RequestContext<"limiter" | "isUtf8" | "sessionKeeping">,
  endpoint: LimitsEndpoint,
): Promise<void> {
  const { gateway, exchange, record } = context;
  const op = operation(exchange.method, endpoint);
  const list = endpoint.startsWith("budgets") ? budgetList : ruleList;
  if (op !== list.op) {
    const body: JsonBody =
      exchange.method === "GET" ? { ok: true, value: null } : await readJson(context);
    if (!body.ok) return failAdmin(context, body.failure);
    const done = await gateway.limiter.call(op, body.value, askedBy(context));
    if (!done.ok) return failAdmin(context, done.failure);
    const isReset = endpoint === "rate-limits-reset" || endpoint === "budgets-reset";
    if (isReset || endpoint === "rate-limits-test" || endpoint === "budgets-settings") {
      record.end(200, "answered");
      return replyJson(exchange, 200, isReset ? { status: "ok" } : done.body);
    }
  }
  // The answer to a change is the whole list.
  await replyList(context, list, op === list.op ? exchange.query : "");
}

const ruleList = limitList("rate-limits.list", "rate_limits");
const budgetList = limitList("budgets.list", "budgets");

function limitList(op: AdminOp, items: ListOf["items"]): ListOf {
  return { op, items, pageItems: items, whole: "object", headers: [] };
}

function operation(method: string, endpoint: LimitsEndpoint): AdminOp {
  switch (endpoint) {
    case "rate-limits-test":
      return "rate-limits.test";
    case "rate-limits-raise":
      return method === "DELETE" ? "rate-limits.end-raise" : "rate-limits.raise";
    case "rate-limits-reset":
      return "rate-limits.reset";
    case "rate-limits-reset-one":
      return "rate-limits.reset-one";
    case "rate-limits":
      return method === "PUT"
        ? "rate-limits.put"
        : method === "DELETE"
          ? "rate-limits.delete"
          : "rate-limits.list";
    case "budgets-raise":
      return method === "DELETE" ? "budgets.end-raise" : "budgets.raise";
    case "budgets-reset":
      return "budgets.reset";
    case "budgets-reset-one":
      return "budgets.reset-one";
    case "budgets-settings":
      return method === "PUT" ? "budgets.put-settings" : "budgets.settings";
    case "budgets":
      return method === "PUT"
        ? "budgets.put"
        : method === "DELETE"
          ? "budgets.delete"
          : "budgets.list";
    default:
      return unreachable(endpoint);
  }
}
