/**
 * GET /v1/models and /v1/models/{id}: the models that a request can name, in the client's dialect.
 * A client that speaks Anthropic's names the version of that API in a header; Google's ask at
 * /v1beta/models.
 */

import { googleMethods } from "../../shared/operation.js";
import { replyFailure, replyJson, speaksGoogle, speaksMessages } from "../http/respond.js";
import type { RequestContext } from "../request-context.js";
import { resolveOnceLearned, unknownModel } from "../routing/model-catalog.js";
import { type ListedModel, listedModel, listModels } from "../routing/resolve-model.js";

/** All of them, on one page. */
export async function answerModels({
  gateway,
  exchange,
  record,
}: RequestContext<"models">): Promise<void> {
  const listed = listModels(gateway.models.current());
  record.end(200, "answered");
  if (speaksGoogle(exchange)) return replyJson(exchange, 200, { models: listed.map(forGoogle) });
  if (!speaksMessages(exchange)) return replyJson(exchange, 200, { object: "list", data: listed });
  replyJson(exchange, 200, {
    data: listed.map(forMessages),
    has_more: false,
    first_id: listed[0]?.id ?? null,
    last_id: listed.at(-1)?.id ?? null,
  });
}

/** Never rejects. */
export async function answerModel({
  gateway,
  exchange,
  record,
}: RequestContext<"models">): Promise<void> {
  const written = exchange.path.replace(/^\/v1(?:beta)?\/models\//, "");
  const name = decoded(written);
  const route = name === null ? null : await resolveOnceLearned(gateway, name);
  if (name === null || route === null) {
    const { failure, headers } = unknownModel(gateway.models, name ?? written);
    record.end(failure.status, "refused");
    return replyFailure(exchange, "model", failure, headers);
  }
  record.end(200, "answered");
  const model = listedModel(name, route.kind === "virtual" ? "sluice" : route.targets[0].provider);
  if (speaksGoogle(exchange)) return replyJson(exchange, 200, forGoogle(model));
  replyJson(exchange, 200, speaksMessages(exchange) ? forMessages(model) : model);
}

/** What each model can do isn't known: its provider says so when it is asked. */
function forGoogle({ id }: ListedModel): object {
  return {
    name: `models/${id}`,
    displayName: id,
    supportedGenerationMethods: Object.values(googleMethods),
  };
}

/** Its date isn't known: Anthropic's API documents the epoch for that. */
function forMessages({ id }: ListedModel): object {
  return { type: "model", id, display_name: id, created_at: "1970-01-01T00:00:00Z" };
}

/**
 * Ids hold slashes, which clients write as they are or in percent form. Null: the percent form is
 * broken.
 */
function decoded(text: string): string | null {
  try {
    return decodeURIComponent(text);
  } catch {
    return null;
  }
}
