/**
 * GET /v1/models and /v1/models/{id}: the models that can be named, in the dialect of who asks. A
 * client that speaks Anthropic's names the version of that API in a header.
 */

import type { Gateway } from "../gateway.js";
import type { Exchange } from "../http/exchange.js";
import { replyFailure, replyJson, speaksMessages } from "../http/respond.js";
import type { RequestRecord } from "../request-record.js";
import { resolveOnceLearned, unknownModel } from "../routing/model-catalog.js";
import { type ListedModel, listedModel, listModels } from "../routing/resolve-model.js";

/** All of them, on one page. */
export function replyModels(gateway: Gateway, exchange: Exchange, record: RequestRecord): void {
  const listed = listModels(gateway.models.current());
  record.end(200, "answered");
  if (!speaksMessages(exchange)) return replyJson(exchange, 200, { object: "list", data: listed });
  replyJson(exchange, 200, {
    data: listed.map(forMessages),
    has_more: false,
    first_id: listed[0]?.id ?? null,
    last_id: listed.at(-1)?.id ?? null,
  });
}

/** Never rejects. */
export async function replyModel(
  gateway: Gateway,
  exchange: Exchange,
  record: RequestRecord,
): Promise<void> {
  const written = exchange.path.slice("/v1/models/".length);
  const name = decoded(written);
  const route = name === null ? null : await resolveOnceLearned(gateway, name);
  if (name === null || route === null) {
    const what = unknownModel(name ?? written);
    record.end(what.status, "refused");
    return replyFailure(exchange, "model", what);
  }
  record.end(200, "answered");
  const model = listedModel(name, route.kind === "virtual" ? "sluice" : route.targets[0].provider);
  replyJson(exchange, 200, speaksMessages(exchange) ? forMessages(model) : model);
}

/** When it was made isn't known; its clients are told that a date may be the epoch's. */
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
