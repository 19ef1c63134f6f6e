/**
 * GET /v1/models and /v1/models/{id}: the models that a request can name, in the client's dialect.
 * Anthropic's clients send their version header; Google's use /v1beta/models.
 */

import { isObject } from "../../shared/checked.js";
import { ModelFilter } from "../../shared/config/model-filter.js";
import { namingsOf } from "../../shared/config/model-name.js";
import { modelPatterns, parseLimitedModels } from "../../shared/domain/limited-models.js";
import { type Failure, invalid } from "../../shared/error-code.js";
import { googleMethods } from "../../shared/operation.js";
import { percentDecoded } from "../../shared/text/percent-decoded.js";
import { type Caller, modelProblem } from "../auth/caller.js";
import type { Gateway } from "../gateway.js";
import type { Exchange } from "../http/exchange.js";
import { queryParameters } from "../http/query-parameters.js";
import { replyFailure, replyJson, speaksGoogle, speaksMessages } from "../http/respond.js";
import type { RequestContext } from "../request-context.js";
import { resolveOnceLearned, unknownModel } from "../routing/model-catalog.js";
import { type ModelSize, smallerSize, unknownSize } from "../routing/model-sizes.js";
import {
  allowableNames,
  type Catalog,
  type ListedModel,
  listedModel,
  listModels,
  type Route,
  resolveModel,
} from "../routing/resolve-model.js";

/** The models that the caller may use: all, or a page where the client's dialect has pages. */
export async function answerModels({
  gateway,
  exchange,
  caller,
  record,
}: RequestContext<"models" | "sizeOf" | "limiter" | "config">): Promise<void> {
  const bans = await bansOn(gateway, caller.userPath);
  const catalog = gateway.models.current();
  const models = listModels(catalog).filter(
    ({ id }) => mayUse(caller, catalog, id) && !isBanned(bans, catalog, id),
  );
  const page = pageOf(models, exchange);
  if (!page.ok) {
    record.end(page.failure.status, "refused");
    return replyFailure(exchange, "model", page.failure);
  }
  record.end(200, "answered");
  const items = page.items.map((model) => modelInDialect(exchange, withSize(gateway, model)));
  if (speaksGoogle(exchange))
    return replyJson(exchange, 200, {
      models: items,
      ...(page.hasMore ? { nextPageToken: page.items.at(-1)!.id } : {}),
    });
  if (!speaksMessages(exchange)) return replyJson(exchange, 200, { object: "list", data: items });
  replyJson(exchange, 200, {
    data: items,
    has_more: page.hasMore,
    first_id: page.items[0]?.id ?? null,
    last_id: page.items.at(-1)?.id ?? null,
  });
}

/** The models that the rules of a path ban; none while the daemon doesn't answer. */
async function bansOn(
  { limiter, config }: Pick<Gateway, "limiter" | "config">,
  userPath: string,
): Promise<readonly ModelFilter[]> {
  if (!limiter.notices.hasLimits) return [];
  const answered = await limiter.call("rate-limits.banned", { user_path: userPath });
  const { banned = [] } = answered.ok && isObject(answered.body) ? answered.body : {};
  const namings = namingsOf(config.providers);
  return (Array.isArray(banned) ? banned : []).flatMap((models: unknown) => {
    const parsed = parseLimitedModels(models, "models");
    return parsed.ok && parsed.value !== undefined
      ? [new ModelFilter(modelPatterns(parsed.value), namings)]
      : [];
  });
}

/** Whether no target of a model may be called. */
function isBanned(bans: readonly ModelFilter[], catalog: Catalog, id: string): boolean {
  if (bans.length === 0) return false;
  const targets = resolveModel(catalog, id)?.targets ?? [];
  return (
    targets.length > 0 && targets.every((target) => bans.some((filter) => filter.covers(target)))
  );
}

type Page =
  | { readonly ok: true; readonly items: readonly ListedModel[]; readonly hasMore: boolean }
  | { readonly ok: false; readonly failure: Failure };

/** Anthropic's and Google's own maximum of models in a page; also the default here. */
const pageMax = 1000;

/** All models for OpenAI's clients, whose list has no pages; otherwise one page. */
function pageOf(models: readonly ListedModel[], exchange: Exchange): Page {
  const isGoogle = speaksGoogle(exchange);
  if (!isGoogle && !speaksMessages(exchange)) return { ok: true, items: models, hasMore: false };
  const query = queryParameters(exchange.query);
  const requested = Number(query.get(isGoogle ? "pageSize" : "limit"));
  const limit =
    Number.isInteger(requested) && requested >= 1 ? Math.min(requested, pageMax) : pageMax;
  const cursor = isGoogle
    ? "pageToken"
    : query.has("before_id") && !query.has("after_id")
      ? "before_id"
      : "after_id";
  const id = query.get(cursor);
  const index = id === null ? -1 : models.findIndex((model) => model.id === id);
  if (id !== null && index === -1)
    return {
      ok: false,
      failure: invalid(`${cursor} must be the id of a listed model`, cursor),
    };
  if (cursor === "before_id") {
    const start = Math.max(0, index - limit);
    return { ok: true, items: models.slice(start, index), hasMore: start > 0 };
  }
  const items = models.slice(index + 1, index + 1 + limit);
  return { ok: true, items, hasMore: index + 1 + limit < models.length };
}

/** Never rejects. */
export async function answerModel({
  gateway,
  exchange,
  caller,
  record,
}: RequestContext<"models" | "sizeOf">): Promise<void> {
  const pathId = exchange.path.replace(/^\/v1(?:beta)?\/models\//, "");
  const name = percentDecoded(pathId);
  const route = name === null ? null : await resolveOnceLearned(gateway, name);
  if (name === null || route === null) {
    const { failure, headers } = unknownModel(gateway.models, name ?? pathId);
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
  replyJson(exchange, 200, modelInDialect(exchange, { ...model, ...sizeOfRoute(gateway, route) }));
}

type SizedModel = ListedModel & ModelSize;

type Sizing = Pick<Gateway, "models" | "sizeOf">;

function withSize(gateway: Sizing, model: ListedModel): SizedModel {
  const route = resolveModel(gateway.models.current(), model.id);
  return { ...model, ...(route === null ? unknownSize : sizeOfRoute(gateway, route)) };
}

/** The smallest sizes of the targets, since any of them may get the request. */
function sizeOfRoute({ models, sizeOf }: Sizing, { targets }: Route): ModelSize {
  return targets
    .map((target) => sizeOf(target, models.learnedSize(target)))
    .reduce(smallerSize, unknownSize);
}

function modelInDialect(exchange: Exchange, model: SizedModel): object {
  if (speaksGoogle(exchange)) return googleModel(model);
  return speaksMessages(exchange) ? anthropicModel(model) : openaiModel(model);
}

/**
 * A model in OpenAI's form. OpenAI has no sizes: their names are those of OpenRouter, vLLM and
 * Groq.
 */
function openaiModel({ contextTokens, outputTokens, ...model }: SizedModel): object {
  return {
    ...model,
    ...(contextTokens === null
      ? {}
      : { context_length: contextTokens, max_model_len: contextTokens }),
    ...(outputTokens === null ? {} : { max_completion_tokens: outputTokens }),
  };
}

function mayUse(caller: Caller, catalog: Catalog, id: string): boolean {
  if (caller.allowLists.length === 0) return true;
  const route = resolveModel(catalog, id);
  return route !== null && modelProblem(caller, allowableNames(catalog, route)) === null;
}

/**
 * A model in Google's form. Sluice doesn't know which methods it supports; its provider refuses the
 * others.
 */
function googleModel({ id, contextTokens, outputTokens }: SizedModel): object {
  return {
    name: `models/${id}`,
    displayName: id,
    supportedGenerationMethods: Object.values(googleMethods),
    ...(contextTokens === null ? {} : { inputTokenLimit: contextTokens }),
    ...(outputTokens === null ? {} : { outputTokenLimit: outputTokens }),
  };
}

/** A model in Anthropic's form. Dates are unknown: Anthropic's API documents the epoch for that. */
function anthropicModel({ id, contextTokens, outputTokens }: SizedModel): object {
  return {
    type: "model",
    id,
    display_name: id,
    created_at: "1970-01-01T00:00:00Z",
    max_input_tokens: contextTokens,
    max_tokens: outputTokens,
    capabilities: null,
    lifecycle: "active",
    line: null,
    deprecated_at: null,
    retires_at: null,
  };
}
