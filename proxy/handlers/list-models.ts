/**
 * GET /v1/models and /v1/models/{id}: the models that a request can name, in the client's dialect.
 * Anthropic's clients send their version header; Google's use /v1beta/models.
 */

import { googleMethods } from "../../shared/operation.js";
import { percentDecoded } from "../../shared/text/percent-decoded.js";
import { type Caller, modelProblem } from "../auth/caller.js";
import { replyFailure, replyJson, speaksGoogle, speaksMessages } from "../http/respond.js";
import type { RequestContext } from "../request-context.js";
import { allowableNames } from "../routing/allowable-names.js";
import { resolveOnceLearned, unknownModel } from "../routing/model-catalog.js";
import {
  type Catalog,
  type ListedModel,
  listedModel,
  listModels,
  resolveModel,
} from "../routing/resolve-model.js";

/** All models that the caller may use, on one page. */
export async function answerModels({
  gateway,
  exchange,
  caller,
  record,
}: RequestContext<"models">): Promise<void> {
  const catalog = gateway.models.current();
  const listed = listModels(catalog).filter(({ id }) => mayUse(caller, catalog, id));
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
  caller,
  record,
}: RequestContext<"models">): Promise<void> {
  const written = exchange.path.replace(/^\/v1(?:beta)?\/models\//, "");
  const name = percentDecoded(written);
  const route = name === null ? null : await resolveOnceLearned(gateway, name);
  if (name === null || route === null) {
    const { failure, headers } = unknownModel(gateway.models, name ?? written);
    record.end(failure.status, "refused");
    return replyFailure(exchange, "model", failure, headers);
  }
  const names = allowableNames(gateway.models.current(), route);
  const notAllowed = modelProblem(caller, names);
  if (notAllowed !== null) {
    record.end(notAllowed.status, "refused");
    return replyFailure(exchange, "model", notAllowed);
  }
  record.end(200, "answered");
  const model = listedModel(name, route.kind === "virtual" ? "sluice" : route.targets[0].provider);
  if (speaksGoogle(exchange)) return replyJson(exchange, 200, forGoogle(model));
  replyJson(exchange, 200, speaksMessages(exchange) ? forMessages(model) : model);
}

function mayUse(caller: Caller, catalog: Catalog, id: string): boolean {
  if (caller.allowLists.length === 0) return true;
  const route = resolveModel(catalog, id);
  return route !== null && modelProblem(caller, allowableNames(catalog, route)) === null;
}

/** Sluice doesn't know what each model supports; its provider refuses what it doesn't. */
function forGoogle({ id }: ListedModel): object {
  return {
    name: `models/${id}`,
    displayName: id,
    supportedGenerationMethods: Object.values(googleMethods),
  };
}

/** The date is unknown; Anthropic's API documents the epoch for that. */
function forMessages({ id }: ListedModel): object {
  return { type: "model", id, display_name: id, created_at: "1970-01-01T00:00:00Z" };
}
