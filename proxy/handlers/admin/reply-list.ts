/**
 * The lists of the admin API (docs/reference/admin-api.md, "Lists"): all items in one body, or one
 * page with `limit` or `after`. The daemon validates the parameters, also for the command line.
 */

import type { AuditPage } from "../../../shared/api/audit-entry.js";
import type { BudgetList } from "../../../shared/api/budget-item.js";
import type { KeyPage, ListedKeys } from "../../../shared/api/key-item.js";
import type { LeasePage } from "../../../shared/api/lease-item.js";
import type { ListPage } from "../../../shared/api/list-page.js";
import type { ReconciliationPage } from "../../../shared/api/reconciliation-item.js";
import type { RecordPage } from "../../../shared/api/record-item.js";
import type { RefusalPage } from "../../../shared/api/refusal-item.js";
import type { RequestPage } from "../../../shared/api/request-item.js";
import type { RuleList } from "../../../shared/api/rule-item.js";
import { itemsPerPage } from "../../../shared/bounds.js";
import { bad, type Checked, good, isObject } from "../../../shared/checked.js";
import type { Failure } from "../../../shared/error-code.js";
import { append } from "../../../shared/long-lists.js";
import type { AdminOp } from "../../../shared/wire/admin-op.js";
import type { Exchange } from "../../http/exchange.js";
import { queryParameters } from "../../http/query-parameters.js";
import { replyJson } from "../../http/respond.js";
import type { RequestContext } from "../../request-context.js";
import { failAdmin } from "./admin-json.js";
import { askDaemon } from "./asked-by.js";

/** The field that holds the items. */
type ItemsField = Exclude<
  | keyof RuleList
  | keyof BudgetList
  | keyof ListedKeys
  | keyof KeyPage
  | keyof LeasePage
  | keyof RefusalPage
  | keyof RecordPage
  | keyof RequestPage
  | keyof AuditPage
  | keyof ReconciliationPage,
  keyof ListPage | "issued" | "looked_back_to"
>;

/** One of the daemon's lists. */
export interface ListOf {
  readonly op: AdminOp;
  /** The daemon's name for the items. */
  readonly items: ItemsField;
  /** Their name in a page. */
  readonly pageItems: ItemsField;
  /** The shape of the whole list; `never`: the answer is always a page. */
  readonly whole: "object" | "array" | "never";
  readonly headers: readonly string[];
  /** Further fields that a page takes from the daemon's last page. */
  readonly further?: readonly string[];
  /**
   * The maximum of daemon calls per page, which may then be short; without it, until the page is
   * full.
   */
  readonly questionsMax?: number;
}

export type Parameters = Readonly<Record<string, unknown>>;

const numbers: ReadonlySet<string> = new Set([
  "limit",
  "period_seconds",
  "unused_seconds",
  "expires_seconds",
]);

/** The parameters of a query by name; an invalid number stays a string. */
export function listParameters(query: string): Checked<Parameters> {
  const parameters: Record<string, unknown> = {};
  for (const [name, text] of queryParameters(query)) {
    if (name === "__proto__") return bad(`unknown parameter ${name}`, name);
    if (Object.hasOwn(parameters, name)) return bad(`${name} is given more than once`, name);
    parameters[name] = numbers.has(name) && /^\d{1,10}$/.test(text) ? Number(text) : text;
  }
  return good(parameters);
}

/** Answers with a list, filtered by the query. */
export async function replyList(
  context: RequestContext<"limiter">,
  list: ListOf,
  query: string,
): Promise<void> {
  const parameters = listParameters(query);
  if (!parameters.ok) return failAdmin(context, parameters.failure);
  const { limit, after = null, order } = parameters.value;
  // The fullest items are one page, which must not look like the whole list.
  return limit === undefined && after === null && order !== "use" && list.whole !== "never"
    ? replyWhole(context, list, parameters.value)
    : replyPage(context, list, { limit: itemsPerPage, ...parameters.value });
}

/**
 * The whole list. If the daemon has more than one page, each is sent as it arrives: serializing
 * 100,000 rules at once would make every other request wait.
 */
async function replyWhole(
  context: RequestContext<"limiter">,
  list: ListOf,
  parameters: Parameters,
): Promise<void> {
  const { exchange, record } = context;
  let page = await askPage(context, list, parameters);
  if (!page.ok) return failAdmin(context, page.failure);
  record.end(200, "answered");
  if (page.next === null)
    return replyJson(
      exchange,
      200,
      list.whole === "array"
        ? page.items
        : { [list.items]: page.items, server_time: page.serverTime },
      list.headers,
    );
  exchange.begin(200, [
    "content-type",
    "application/json",
    "x-request-id",
    exchange.id,
    ...list.headers,
  ]);
  const write = writerTo(exchange);
  await write(`${list.whole === "array" ? "" : `{"${list.items}":`}[`);
  for (let separator = ""; ; ) {
    // Items that were removed meanwhile may leave an empty page.
    if (page.items.length > 0) {
      await write(separator + JSON.stringify(page.items).slice(1, -1));
      separator = ",";
    }
    if (page.next === null || exchange.gone) break;
    page = await askPage(context, list, { ...parameters, after: page.next });
    // A list that ends early must not look complete.
    if (!page.ok) return exchange.cut();
  }
  if (exchange.gone) return;
  await write(list.whole === "array" ? "]" : `],"server_time":${JSON.stringify(page.serverTime)}}`);
  exchange.end();
}

/**
 * One page: full, unless it is the last or the list bounds the daemon calls. The daemon scans a
 * bounded number of items per call.
 */
export async function replyPage(
  context: RequestContext<"limiter">,
  list: ListOf,
  parameters: Parameters,
): Promise<void> {
  const { exchange, record } = context;
  const items: unknown[] = [];
  let page = await askPage(context, list, parameters);
  for (let questions = 1; ; questions++) {
    if (!page.ok) return failAdmin(context, page.failure);
    append(items, page.items);
    const room = Number(parameters["limit"]) - items.length;
    if (page.next === null || room <= 0 || exchange.gone || questions === list.questionsMax) break;
    page = await askPage(context, list, { ...parameters, limit: room, after: page.next });
  }
  record.end(200, "answered");
  const { serverTime, next, answer } = page;
  const further = (list.further ?? []).map((field) => [field, answer[field]] as const);
  replyJson(
    exchange,
    200,
    {
      [list.pageItems]: items,
      ...Object.fromEntries(further),
      server_time: serverTime,
      next,
    },
    list.headers,
  );
}

type PageAnswer =
  | {
      readonly ok: true;
      readonly items: readonly unknown[];
      readonly serverTime: string;
      readonly next: string | null;
      readonly answer: Readonly<Record<string, unknown>>;
    }
  | { readonly ok: false; readonly failure: Failure };

export async function askPage(
  context: RequestContext<"limiter">,
  { op, items }: ListOf,
  body: Parameters,
): Promise<PageAnswer> {
  const page = await askDaemon(context, op, body);
  if (!page.ok) return page;
  const answer = isObject(page.body) ? page.body : {};
  return {
    ok: true,
    items: answer[items] as readonly unknown[],
    serverTime: answer["server_time"] as string,
    next: answer["next"] as string | null,
    answer,
  };
}

/** Writes a piece; resolves when the client can take more or disconnected. */
export function writerTo(exchange: Exchange): (text: string) => Promise<void> {
  let resume = (): void => {};
  exchange.onGone(() => resume());
  return (text) =>
    new Promise((resolve) => {
      resume = resolve;
      if (exchange.gone || exchange.write(Buffer.from(text))) resolve();
      else exchange.onDrain(() => resume());
    });
}
