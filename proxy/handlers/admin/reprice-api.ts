/** POST /admin/usage/reprice (docs/reference/admin-api.md): one page of records. */
import type { Checked } from "../../../shared/checked.js";
import type { AdminOp } from "../../../shared/wire/admin-op.js";
import { replyJson } from "../../http/respond.js";
import type { RequestContext } from "../../request-context.js";
import { repriceUsage } from "../../usage/reprice-usage.js";
import { failAdmin, readJson } from "./admin-json.js";
import { askedBy } from "./asked-by.js";

export async function replyReprice(
  context: RequestContext<"limiter" | "pricesAt" | "isUtf8" | "sessionKeeping">,
): Promise<void> {
  const { gateway, exchange, record } = context;
  const { limiter, pricesAt } = gateway;
  const body = await readJson(context);
  if (!body.ok) return failAdmin(context, body.failure);
  const call = async (op: AdminOp, daemonBody: unknown): Promise<Checked<unknown>> => {
    const answer = await limiter.call(op, daemonBody, askedBy(context));
    return answer.ok ? { ok: true, value: answer.body } : answer;
  };
  const page = await repriceUsage({ call, pricesAt }, body.value);
  if (!page.ok) return failAdmin(context, page.failure);
  record.end(200, "answered");
  replyJson(exchange, 200, page.value);
}
