/**
 * POST /admin/explain: what would happen to a request for this model on this user path or by this
 * key, or what did happen to the one with this id. The model is resolved here, as for a real
 * request; the rules are asked in the daemon.
 */

import { isObject } from "../../../shared/assert.js";
import { show } from "../../../shared/checked.js";
import { parseUserPath } from "../../../shared/domain/limit-key.js";
import { looksLikeManagedKey } from "../../../shared/domain/managed-key.js";
import { type Failure, failure, invalid } from "../../../shared/error-code.js";
import type { Gateway } from "../../gateway.js";
import type { Exchange } from "../../http/exchange.js";
import { replyJson } from "../../http/respond.js";
import type { RequestRecord } from "../../request-record.js";
import { resolveModel } from "../../routing/resolve-model.js";
import { failAdmin, readJson } from "./admin-api.js";

/** Consumes nothing; no virtual model's turn is taken. */
export async function explainRequest(
  gateway: Gateway,
  exchange: Exchange,
  record: RequestRecord,
): Promise<void> {
  const body = await readJson(exchange, gateway.isUtf8);
  if (!body.ok) return failAdmin(exchange, record, body.failure);
  const asked = readQuestion(body.value);
  if (!asked.ok) return failAdmin(exchange, record, asked.failure);
  const question =
    asked.requestId === null
      ? await resolved(gateway, asked, keyAsked(gateway, asked.key))
      : { request_id: asked.requestId };
  if (question === null)
    return failAdmin(
      exchange,
      record,
      failure(
        "model_not_found",
        `the model ${show(asked.model)} does not exist: GET /v1/models lists those that do`,
        "model",
      ),
    );
  const answer = await gateway.limiter.call("explain", question);
  if (!answer.ok) return failAdmin(exchange, record, answer.failure);
  record.end(200, "answered");
  replyJson(
    exchange,
    200,
    asked.requestId === null ? { model: asked.model, ...(answer.body as object) } : answer.body,
  );
}

interface Question {
  readonly ok: true;
  /** Null: the question is for path and model. */
  readonly requestId: string | null;
  readonly userPath: string;
  /** A managed key or its id; null without one. */
  readonly key: string | null;
  readonly model: string;
}

const known = ["user_path", "key", "model", "request_id"];

function readQuestion(body: unknown): Question | { readonly ok: false; readonly failure: Failure } {
  if (!isObject(body)) return wrong(`the body must be a JSON object, not ${show(body)}`, "body");
  const unknown = Object.keys(body).find((name) => !known.includes(name));
  if (unknown !== undefined)
    return wrong(`unknown field ${unknown}: expected ${known.join(", ")}`, unknown);
  const { user_path: userPath = "/", key = null, model, request_id: requestId } = body;
  if (requestId !== undefined) {
    if (typeof requestId !== "string" || requestId === "")
      return wrong(
        `request_id must be the X-Request-ID of a refused request, not ${show(requestId)}`,
        "request_id",
      );
    if (model !== undefined || key !== null || body["user_path"] !== undefined)
      return wrong(
        "request_id can't be combined with user_path, key and model: it names them",
        "request_id",
      );
    return { ok: true, requestId, userPath: "/", key: null, model: "" };
  }
  if (typeof model !== "string" || model === "")
    return wrong(
      model === undefined
        ? "model or request_id is required"
        : `model must be a model's name, not ${show(model)}`,
      "model",
    );
  if (key !== null && (typeof key !== "string" || key === ""))
    return wrong(`key must be a managed key or its id, such as key_7, not ${show(key)}`, "key");
  const path = parseUserPath(userPath, "user_path");
  return path.ok ? { ok: true, requestId: null, userPath: path.value, key, model } : path;
}

function wrong(message: string, param: string): { readonly ok: false; readonly failure: Failure } {
  return { ok: false, failure: invalid(message, param) };
}

/** The daemon isn't told keys, only their hashes. */
function keyAsked({ credentials }: Gateway, key: string | null): object {
  if (key === null) return {};
  return { key: looksLikeManagedKey(key) ? { key_hash: credentials.hashKey(key) } : { id: key } };
}

async function resolved(
  gateway: Gateway,
  { userPath, model }: Question,
  key: object,
): Promise<object | null> {
  let route = resolveModel(gateway.models.current(), model);
  if (route === null) {
    await gateway.models.firstLearned();
    route = resolveModel(gateway.models.current(), model);
  }
  return route === null
    ? null
    : {
        user_path: userPath,
        ...key,
        targets: gateway.targetOrder
          .peek(route)
          .map((target) => ({ provider: target.provider, model: target.model })),
      };
}
