/**
 * The /admin/reconciliations endpoint (docs/reference/admin-api.md): results of `sluice reconcile`.
 * The daemon validates bodies, also for the command line.
 */
import { replyJson } from "../../http/respond.js";
import type { RequestContext } from "../../request-context.js";
import { failAdmin, readJson } from "./admin-json.js";
import { askedBy } from "./asked-by.js";
import { type ListOf, replyList } from "./reply-list.js";

const keptReconciliations: ListOf = {
  op: "reconciliations.list",
  items: "reconciliations",
  pageItems: "reconciliations",
  whole: "never",
  headers: ["cache-control", "no-store"],
};

export async function handleReconciliations(
  context: RequestContext<"limiter" | "isUtf8" | "sessionKeeping">,
): Promise<void> {
  const { gateway, exchange, record } = context;
  if (exchange.method === "GET") return replyList(context, keptReconciliations, exchange.query);
  const body = await readJson(context);
  if (!body.ok) return failAdmin(context, body.failure);
  const done = await gateway.limiter.call("reconciliations.keep", body.value, askedBy(context));
  if (!done.ok) return failAdmin(context, done.failure);
  record.end(200, "answered");
  replyJson(exchange, 200, done.body);
}
