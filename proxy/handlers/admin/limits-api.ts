/**
 * The /admin/rate-limits and /admin/budgets endpoints (docs/http-api.md): a request becomes one
 * admin operation of the daemon, and the answer is the list as it stands afterwards. The daemon
 * checks the fields of a body, for the command line too.
 */
import { unreachable } from "../../../shared/assert.js";
import type { Failure } from "../../../shared/error-code.js";
import type { AdminOp } from "../../../shared/wire/admin-op.js";
import type { Exchange } from "../../http/exchange.js";
import type { Endpoint } from "../../http/match-route.js";
import { replyJson } from "../../http/respond.js";
import type { RequestContext } from "../../request-context.js";
import { failAdmin, type JsonBody, readJson } from "./admin-json.js";

type LimitsEndpoint = Extract<Endpoint, `rate-limits${string}` | `budgets${string}`>;

export async function handleLimits(
  context: RequestContext<"limiter" | "isUtf8">,
  endpoint: LimitsEndpoint,
): Promise<void> {
  const { gateway, exchange, record } = context;
  const op = operation(exchange.method, endpoint);
  const list = endpoint.startsWith("budgets") ? budgetList : ruleList;
  if (op !== list.op) {
    const body: JsonBody =
      exchange.method === "GET" ? { ok: true, value: null } : await readJson(context);
    if (!body.ok) return failAdmin(context, body.failure);
    const done = await gateway.limiter.call(op, body.value);
    if (!done.ok) return failAdmin(context, done.failure);
    if (
      endpoint === "rate-limits-reset" ||
      endpoint === "budgets-reset" ||
      endpoint === "budgets-settings"
    ) {
      record.end(200, "answered");
      return replyJson(
        exchange,
        200,
        endpoint === "budgets-settings" ? done.body : { status: "ok" },
      );
    }
  }
  await replyList(context, list);
}

/** The daemon's operation that lists what an endpoint is about, and the field of its items. */
interface ListOf {
  readonly op: AdminOp;
  readonly items: "rate_limits" | "budgets";
}

const ruleList: ListOf = { op: "rate-limits.list", items: "rate_limits" };
const budgetList: ListOf = { op: "budgets.list", items: "budgets" };

function operation(method: string, endpoint: LimitsEndpoint): AdminOp {
  switch (endpoint) {
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

type ListPage =
  | {
      readonly ok: true;
      readonly items: readonly unknown[];
      readonly serverTime: string;
      readonly next: string | null;
    }
  | { readonly ok: false; readonly failure: Failure };

async function listPage(
  { gateway }: RequestContext<"limiter">,
  { op, items }: ListOf,
  after: string | null,
): Promise<ListPage> {
  const page = await gateway.limiter.call(op, { after });
  if (!page.ok) return page;
  const {
    [items]: some,
    server_time: serverTime,
    next,
  } = page.body as {
    rate_limits: unknown[];
    budgets: unknown[];
    server_time: string;
    next: string | null;
  };
  return { ok: true, items: some, serverTime, next };
}

/**
 * The daemon's list, all pages as one body. If there is more than one, each is sent as it arrives:
 * serializing 100,000 rules at once would make every other request wait.
 */
async function replyList(context: RequestContext<"limiter">, list: ListOf): Promise<void> {
  const { exchange, record } = context;
  let page = await listPage(context, list, null);
  if (!page.ok) return failAdmin(context, page.failure);
  record.end(200, "answered");
  if (page.next === null)
    return replyJson(exchange, 200, { [list.items]: page.items, server_time: page.serverTime });
  exchange.begin(200, ["content-type", "application/json", "x-request-id", exchange.id]);
  const write = writerTo(exchange);
  await write(`{"${list.items}":[${itemsText(page.items)}`);
  while (page.next !== null && !exchange.gone) {
    page = await listPage(context, list, page.next);
    // A list that ends early must not look complete.
    if (!page.ok) return exchange.cut();
    // Rules that were removed meanwhile may leave an empty page.
    if (page.items.length > 0) await write(`,${itemsText(page.items)}`);
  }
  if (exchange.gone) return;
  await write(`],"server_time":${JSON.stringify(page.serverTime)}}`);
  exchange.end();
}

function itemsText(items: readonly unknown[]): string {
  return JSON.stringify(items).slice(1, -1);
}

/** Writes a piece; resolves when the client has room for more or is gone. */
function writerTo(exchange: Exchange): (text: string) => Promise<void> {
  let resume = (): void => {};
  exchange.onGone(() => resume());
  return (text) =>
    new Promise((resolve) => {
      resume = resolve;
      if (exchange.gone || exchange.write(Buffer.from(text))) resolve();
      else exchange.onDrain(() => resume());
    });
}
