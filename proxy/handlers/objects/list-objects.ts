/**
 * Lists stored objects for a caller that may see only those of its own path. The provider lists the
 * whole account, so pages are read until one contains objects of the caller.
 */
import { isObject, parseJson } from "../../../shared/checked.js";
import { failure } from "../../../shared/error-code.js";
import type { Operation } from "../../../shared/operation.js";
import { isObjectId } from "../../../shared/wire/stored-object.js";
import type { Provider } from "../../gateway.js";
import { forwardRequestHeaders } from "../../http/copy-headers.js";
import { queryParameters } from "../../http/query-parameters.js";
import { replyFailure, replyJson, targetHeader } from "../../http/respond.js";
import { fetchAnswer } from "../../objects/fetch-answer.js";
import { ownersOf, rememberOwner } from "../../objects/object-access.js";
import { madeIds } from "../../objects/object-ids.js";
import type { RequestContext } from "../../request-context.js";
import { unansweredFailure } from "../../upstream/errors/provider-failure.js";
import { mapUpstreamError } from "../../upstream/errors/upstream-error.js";
import { upstreamPath } from "../../upstream/upstream-path.js";
import { rewriteOf } from "./send-object-request.js";

/** Pages of a hundred objects each, read per answer. */
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
  const fail = (failure: Parameters<typeof replyFailure>[2]): void => {
    record.end(failure.status, "upstream_error");
    replyFailure(exchange, "model", failure, headers);
  };
  const isMessages = operation.startsWith("message_");
  const goesBack = queryParameters(exchange.query).has("before_id");
  let after: string | null = null;
  for (let pages = 1; ; pages++) {
    if (exchange.gone) return record.markGone(exchange);
    const query = pageQuery(exchange.query, isMessages ? "after_id" : "after", after);
    const answer = await fetchAnswer(provider.upstream, {
      path: upstreamPath(provider.config, operation, "", query),
      headers: forwardRequestHeaders(exchange.rawHeaders, provider.passed),
      bytesMax: pageBytesMax,
      onCall: (abort) => exchange.onGone(abort),
    });
    if (exchange.gone) return record.markGone(exchange);
    if (answer.kind === "failed") return fail(unansweredFailure(name, false, answer.failure));
    if (answer.status >= 300) return fail(mapUpstreamError(name, answer.status, answer.body));
    const page = readPage(parseJson(answer.body.toString("utf8")));
    if (page === null)
      return fail({
        ...failure("provider_unavailable", `${name} answered with no list`),
        provider: name,
      });
    const callerItems = await itemsOf(context, page, name);
    if (callerItems === null) return;
    const last = page.items.at(-1);
    if (
      callerItems.length === 0 &&
      page.hasMore &&
      last !== undefined &&
      !goesBack &&
      pages < pagesMax
    ) {
      after = last.id;
      continue;
    }
    const limit = pageLimit(exchange.query);
    const { items, page: ownPage } = pageOf(page, callerItems, { limit, goesBack });
    const ids = items.flatMap((item) => madeIds(operation, item));
    await rememberOwner(gateway, { operation, provider: name, userPath: caller.userPath, ids });
    record.end(200, "complete");
    const rewrite = rewriteOf(gateway, exchange, operation, provider.config);
    const rewritten = rewrite === null ? ownPage : parseJson(rewrite(JSON.stringify(ownPage)));
    return replyJson(exchange, 200, rewritten, headers);
  }
}

/** The objects of the caller's path; null if they can't be determined and an error was sent. */
async function itemsOf(
  { gateway, exchange, caller, record }: RequestContext,
  { items }: ListPage,
  provider: string,
): Promise<ListPage["items"] | null> {
  const owners = await ownersOf(
    gateway.limiter,
    items.map(({ id }) => id),
  );
  if (!owners.ok) {
    record.end(owners.failure.status, "limiter_unavailable");
    replyFailure(exchange, "model", owners.failure, ["retry-after", "1"]);
    return null;
  }
  return items.filter(({ id }) =>
    owners.owners
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

/** Null if it isn't a list. */
export function readPage(answer: unknown): ListPage | null {
  if (!isObject(answer) || !Array.isArray(answer["data"])) return null;
  return {
    fields: answer,
    items: answer["data"].filter((item): item is Item => isObject(item) && isObjectId(item["id"])),
    hasMore: answer["has_more"] === true,
  };
}

/**
 * The provider's page, reduced to the caller's items and to the fields of a page, since others may
 * describe the whole account. Items beyond `limit`, counted from the cursor, are left for the next
 * page.
 */
export function pageOf(
  { fields, hasMore }: ListPage,
  callerItems: readonly Item[],
  { limit, goesBack }: { readonly limit: number; readonly goesBack: boolean },
): { readonly items: readonly Item[]; readonly page: object } {
  const items = goesBack ? callerItems.slice(-limit) : callerItems.slice(0, limit);
  const page: Record<string, unknown> = {};
  if (fields["object"] !== undefined) page["object"] = fields["object"];
  page["data"] = items;
  if (fields["first_id"] !== undefined) page["first_id"] = items[0]?.id ?? null;
  if (fields["last_id"] !== undefined) page["last_id"] = items.at(-1)?.id ?? null;
  page["has_more"] = items.length > 0 && (hasMore || items.length < callerItems.length);
  return { items, page };
}

/** Items requested per provider page, and the maximum of an answer. */
const itemsPerPage = 100;

/** The number of items that the client requests. */
export function pageLimit(query: string): number {
  const limit = Number(queryParameters(query).get("limit"));
  return Number.isInteger(limit) && limit >= 1 ? Math.min(limit, itemsPerPage) : itemsPerPage;
}

/**
 * The query for the provider's next page; `after` is null for the first. Always requests a full
 * page, since most items may belong to others.
 */
export function pageQuery(query: string, cursor: string, after: string | null): string {
  const parameters = queryParameters(query);
  parameters.set("limit", String(itemsPerPage));
  if (after !== null) parameters.set(cursor, after);
  return parameters.toString();
}
