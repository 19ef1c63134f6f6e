/**
 * GET /v1/usage (docs/reference/http-api.md): the caller's own usage, budgets and rate limits. Not
 * limited. The proxy checks the parameters; the daemon has the numbers.
 */
import { failure } from "../../../shared/error-code.js";
import { callerName } from "../../auth/caller.js";
import { replyFailure, replyJson } from "../../http/respond.js";
import type { RequestContext } from "../../request-context.js";
import { sessionOf } from "../../routing/session.js";
import { parseGroups, parseUsageQuery } from "./parse-usage-query.js";

export async function replyUsage({
  gateway,
  exchange,
  caller,
  record,
}: RequestContext<"limiter" | "usageReads" | "nowMs">): Promise<void> {
  const window = parseUsageQuery(exchange.query, gateway.nowMs());
  if (!window.ok) {
    record.end(400, "refused");
    return replyFailure(exchange, "model", window.failure);
  }
  const by = parseGroups(exchange.query, caller.isOperator);
  if (!by.ok) {
    record.end(by.failure.status, "refused");
    return replyFailure(exchange, "model", by.failure);
  }
  const question = {
    user_path: caller.userPath,
    key_id: caller.keyId,
    ...(gateway.limiter.notices.hasSessionBudgets ? { session: sessionOf(exchange, null) } : {}),
    start_date: window.startDate,
    end_date: window.endDate,
    ...(by.value === null ? {} : { by: by.value }),
  };
  const status = await gateway.usageReads.read({
    caller: callerName(caller),
    key: JSON.stringify(question),
    ask: () => gateway.limiter.call("usage.status", question),
    onGone: (run) => exchange.onGone(run),
  });
  if (status === null) {
    if (exchange.gone) return record.end(499, "client_gone");
    record.end(503, "overloaded");
    return replyFailure(
      exchange,
      "model",
      failure("overloaded", "too many usage reports are waiting"),
    );
  }
  if (!status.ok) {
    record.end(503, "refused");
    record.note = status.failure.message;
    return replyFailure(
      exchange,
      "model",
      failure("usage_status_failed", `the usage can't be read now: ${status.failure.message}`),
    );
  }
  record.end(200, "answered");
  replyJson(exchange, 200, status.body);
}
