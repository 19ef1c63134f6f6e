/**
 * The list of what a provider keeps, for a caller who sees only what its own path has made. The
 * provider's list is of the whole account: it is read page by page, until one has something of the
 * caller's.
 */
import { isObject, parseJson } from "../../../shared/checked.js";
import { failure } from "../../../shared/error-code.js";
import type { Operation } from "../../../shared/operation.js";
import { isObjectId } from "../../../shared/wire/stored-object.js";
import type { Provider } from "../../gateway.js";
import { forwardRequestHeaders } from "../../http/copy-headers.js";
import { replyFailure, replyJson, targetHeader } from "../../http/respond.js";
import { fetchAnswer } from "../../objects/fetch-answer.js";
import { ownersOf, rememberOwner } from "../../objects/object-access.js";
import { madeIds } from "../../objects/object-ids.js";
import type { RequestContext } from "../../request-context.js";
import { unansweredFailure } from "../../upstream/errors/provider-failure.js";
import { mapUpstreamError } from "../../upstream/errors/upstream-error.js";
import { upstreamPath } from "../../upstream/upstream-path.js";
import { rewriteOf } from "./send-object-request.js";

/** So many pages, of a hundred each, are looked at for one answer. */
const pagesMax = 20;
const pageBytesMax = 8 * 1024 * 1024;

/** Never rejects. */
export async function listOwnObjects(
  context: RequestContext,
  operation: Operation,
  provider: Provider,
): Promise<void> {
  const { gateway, exchange, caller, record } = context;
  const { name } = provider.config;
  record.target = { provider: name, model: "" };
  const headers = ["x-sluice-target", targetHeader(record.target)];
  const fail = (what: Parameters<typeof replyFailure>[2]): void => {
    record.end(what.status, "upstream_error");
    replyFailure(exchange, "model", what, headers);
  };
  const isMessages = operation.startsWith("message_");
  const goesBack = new URLSearchParams(exchange.query).has("before_id");
  let after: string | null = null;
  for (let pages = 1; ; pages++) {
    if (exchange.gone) return record.gone(exchange);
    const query = pageQuery(exchange.query, isMessages ? "after_id" : "after", after);
    const answer = await fetchAnswer(provider.upstream, {
      path: upstreamPath(provider.config, operation, "", query),
      headers: forwardRequestHeaders(exchange.rawHeaders, provider.passed),
      bytesMax: pageBytesMax,
      onCall: (abort) => exchange.onGone(abort),
    });
    if (exchange.gone) return record.gone(exchange);
    if (answer.kind === "failed") return fail(unansweredFailure(name, false, answer.failure));
    if (answer.status >= 300) return fail(mapUpstreamError(name, answer.status, answer.body));
    const page = readPage(parseJson(answer.body.toString("utf8")));
    if (page === null)
      return fail({
        ...failure("provider_unavailable", `${name} answered with no list`),
        provider: name,
      });
    const own = await itemsOf(context, page, name);
    if (own === null) return;
    const last = page.items.at(-1);
    if (own.length === 0 && page.hasMore && last !== undefined && !goesBack && pages < pagesMax) {
      after = last.id;
      continue;
    }
    const limit = pageLimit(exchange.query);
    const { items, page: ownPage } = pageOf(page, own, { limit, goesBack });
    const ids = items.flatMap((item) => madeIds(operation, item));
    await rememberOwner(gateway, { operation, provider: name, userPath: caller.userPath, ids });
    record.end(200, "complete");
    const rewrite = rewriteOf(gateway, exchange, operation);
    const shown = rewrite === null ? ownPage : parseJson(rewrite(JSON.stringify(ownPage)));
    return replyJson(exchange, 200, shown, headers);
  }
}

/** Those of the caller's path; null: it has been answered that they can't be told. */
async function itemsOf(
  { gateway, exchange, caller, record }: RequestContext,
  { items }: ListPage,
  provider: string,
): Promise<ListPage["items"] | null> {
  const found = await ownersOf(
    gateway.limiter,
    items.map(({ id }) => id),
  );
  if (!found.ok) {
    record.end(found.failure.status, "limiter_unavailable");
    replyFailure(exchange, "model", found.failure, ["retry-after", "1"]);
    return null;
  }
  return items.filter(({ id }) =>
    found.owners
      .get(id)!
      .some((owner) => owner.provider === provider && owner.userPath === caller.userPath),
  );
}

type Item = Readonly<Record<string, unknown>> & { readonly id: string };

/** A page of a provider's list. */
interface ListPage {
  readonly fields: Readonly<Record<string, unknown>>;
  readonly items: readonly Item[];
  readonly hasMore: boolean;
}

/** Null: it is no list. */
export function readPage(answer: unknown): ListPage | null {
  if (!isObject(answer) || !Array.isArray(answer["data"])) return null;
  return {
    fields: answer,
    items: answer["data"].filter((item): item is Item => isObject(item) && isObjectId(item["id"])),
    hasMore: answer["has_more"] === true,
  };
}

/**
 * The page with these of its items: it begins and ends with them, and tells of no others. Of the
 * provider's fields only those of a page: others may be of the whole account. Beyond `limit` items
 * those that stand further from the cursor are left for the next page.
 */
export function pageOf(
  { fields, hasMore }: ListPage,
  own: readonly Item[],
  { limit, goesBack }: { readonly limit: number; readonly goesBack: boolean },
): { readonly items: readonly Item[]; readonly page: object } {
  const items = goesBack ? own.slice(-limit) : own.slice(0, limit);
  const page: Record<string, unknown> = {};
  if (fields["object"] !== undefined) page["object"] = fields["object"];
  page["data"] = items;
  if (fields["first_id"] !== undefined) page["first_id"] = items[0]?.id ?? null;
  if (fields["last_id"] !== undefined) page["last_id"] = items.at(-1)?.id ?? null;
  page["has_more"] = items.length > 0 && (hasMore || items.length < own.length);
  return { items, page };
}

/** How many items of a provider's are looked at in one go, and the most that a page has. */
const itemsPerPage = 100;

/** How many items the client wants. */
export function pageLimit(query: string): number {
  const limit = Number(new URLSearchParams(query).get("limit"));
  return Number.isInteger(limit) && limit >= 1 ? Math.min(limit, itemsPerPage) : itemsPerPage;
}

/**
 * The query of the next page, from the client's: `after` null for the first. However few the client
 * wants, many are asked for: most may be others'.
 */
export function pageQuery(query: string, cursor: string, after: string | null): string {
  const parameters = new URLSearchParams(query);
  parameters.set("limit", String(itemsPerPage));
  if (after !== null) parameters.set(cursor, after);
  return parameters.toString();
}
