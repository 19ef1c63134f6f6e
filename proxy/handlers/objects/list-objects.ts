/**
 * The list of what a provider keeps, for a caller who sees only what its own path has made. The
 * provider's list is of the whole account: it is read page by page, until one has something of the
 * caller's.
 */
import { parseJson } from "../../../shared/checked.js";
import { failure } from "../../../shared/error-code.js";
import type { Operation } from "../../../shared/operation.js";
import type { Provider } from "../../gateway.js";
import { forwardRequestHeaders } from "../../http/copy-headers.js";
import { replyFailure, replyJson, targetHeader } from "../../http/respond.js";
import { fetchAnswer } from "../../objects/fetch-answer.js";
import { ownersOf, rememberOwner } from "../../objects/object-access.js";
import { madeIds } from "../../objects/object-ids.js";
import { type ListPage, pageLimit, pageOf, pageQuery, readPage } from "../../objects/own-page.js";
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
