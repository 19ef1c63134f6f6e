/**
 * The /admin/denied-jwts endpoint (docs/reference/admin-api.md). The daemon validates bodies, also
 * for the command line.
 */
import type { DeniedJwt, DeniedJwtList, DeniedJwtPage } from "../../../shared/api/denied-jwt.js";
import { append } from "../../../shared/long-lists.js";
import { replyJson, replyNothing } from "../../http/respond.js";
import type { RequestContext } from "../../request-context.js";
import { failAdmin, readJson } from "./admin-json.js";
import { askDaemon, askedBy } from "./asked-by.js";

export async function handleDeniedJwts(
  context: RequestContext<"limiter" | "isUtf8" | "sessionKeeping">,
): Promise<void> {
  const { gateway, exchange, record } = context;
  if (exchange.method === "GET") return list(context);
  const body = await readJson(context);
  if (!body.ok) return failAdmin(context, body.failure);
  const isPut = exchange.method === "PUT";
  const done = await (isPut
    ? gateway.limiter.call("jwts.deny", { jwt: body.value }, askedBy(context))
    : gateway.limiter.call("jwts.allow", body.value, askedBy(context)));
  if (!done.ok) return failAdmin(context, done.failure);
  record.end(isPut ? 200 : 204, "answered");
  return isPut ? replyJson(exchange, 200, done.body) : replyNothing(exchange);
}

async function list(context: RequestContext<"limiter">): Promise<void> {
  const denied: DeniedJwt[] = [];
  let after: number | null = null;
  do {
    const page = await askDaemon(context, "jwts.list", { after });
    if (!page.ok) return failAdmin(context, page.failure);
    const { denied_jwts: more, next } = page.body as DeniedJwtPage;
    append(denied, more);
    after = next;
  } while (after !== null);
  context.record.end(200, "answered");
  const list: DeniedJwtList = { denied_jwts: denied };
  replyJson(context.exchange, 200, list);
}
