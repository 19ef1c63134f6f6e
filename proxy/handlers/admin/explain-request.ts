/**
 * POST /admin/explain: what would happen to a request for a model on a user path or by a key, or
 * what happened to the request with an id. The proxy resolves the model as for a real request; the
 * daemon judges the rules.
 */
import { asObject, show } from "../../../shared/checked.js";
import { parseUserPath } from "../../../shared/domain/limit-key.js";
import { looksLikeManagedKey } from "../../../shared/domain/managed-key.js";
import { mcpTarget, modelNameProblem } from "../../../shared/domain/target-name.js";
import { type Failure, invalid } from "../../../shared/error-code.js";
import { isSession, sessionCharsMax } from "../../../shared/wire/execution.js";
import type { Gateway } from "../../gateway.js";
import { replyJson } from "../../http/respond.js";
import type { RequestContext } from "../../request-context.js";
import { resolveOnceLearned, unknownModel } from "../../routing/model-catalog.js";
import { allowableNames, resolveModel } from "../../routing/resolve-model.js";
import { failAdmin, readJson } from "./admin-json.js";
import { askDaemon, subtreeOf } from "./asked-by.js";

type ExplainContext = RequestContext<
  "limiter" | "models" | "targetOrder" | "mcpServers" | "credentials" | "isUtf8"
>;

/** Consumes nothing, and doesn't advance a virtual model's rotation. */
export async function explainRequest(context: ExplainContext): Promise<void> {
  const body = await readJson(context);
  if (!body.ok) return failAdmin(context, body.failure);
  // A role for a subtree asks about the root of the subtree, unless it names a path.
  const parsed = readQuestion(body.value, subtreeOf(context.caller));
  if (!parsed.ok) return failAdmin(context, parsed.failure);
  const { question } = parsed;
  if (question.kind === "past")
    return replyExplanation(context, { request_id: question.requestId }, {});
  const { userPath, model, key, session } = question;
  const caller = { user_path: userPath, session, ...keyFields(context.gateway, key) };
  const { models, targetOrder, mcpServers } = context.gateway;
  const serverTarget = mcpTarget(model, (name) => mcpServers.has(name));
  if (serverTarget !== null)
    return replyExplanation(
      context,
      {
        ...caller,
        ...{
          targets: [serverTarget],
          model_names: [`${serverTarget.provider}/${serverTarget.model}`],
        },
      },
      { model },
    );
  const route =
    resolveModel(models.current(), model) ?? (await resolveOnceLearned({ models }, model));
  if (route === null) return failAdmin(context, unknownModel(models, model).failure);
  const targetFields = {
    targets: targetOrder.peek(route).map(({ provider, model }) => ({ provider, model })),
    model_names: allowableNames(models.current(), route),
  };
  await replyExplanation(context, { ...caller, ...targetFields }, { model });
}

/** `ours`: the proxy's fields of the answer, in addition to the daemon's explanation. */
async function replyExplanation(
  context: RequestContext<"limiter">,
  question: object,
  ours: object,
): Promise<void> {
  const { exchange, record } = context;
  const explanation = await askDaemon(context, "explain", question);
  if (!explanation.ok) return failAdmin(context, explanation.failure);
  record.end(200, "answered");
  replyJson(exchange, 200, { ...ours, ...(explanation.body as object) });
}

type Question =
  /** Why was this request refused? */
  | { readonly kind: "past"; readonly requestId: string }
  /** What would happen to this request? `key`: a managed key or its id; null without one. */
  | {
      readonly kind: "hypothetical";
      readonly userPath: string;
      readonly key: string | null;
      readonly model: string;
      /** Null without a session. */
      readonly session: string | null;
    };

type ParsedQuestion =
  | { readonly ok: true; readonly question: Question }
  | { readonly ok: false; readonly failure: Failure };

const fieldNames = ["user_path", "key", "model", "session", "request_id"];

function readQuestion(body: unknown, ownPath: string): ParsedQuestion {
  const fields = asObject(body, fieldNames);
  if (!fields.ok) return fields;
  const { user_path: userPath, key = null, model, session = null } = fields.value;
  const { request_id: requestId } = fields.value;
  if (requestId !== undefined) {
    if (typeof requestId !== "string" || requestId === "")
      return wrongQuestion(
        `request_id must be the X-Request-ID of a refused request, not ${show(requestId)}`,
        "request_id",
      );
    if (model !== undefined || key !== null || userPath !== undefined || session !== null)
      return wrongQuestion(
        "request_id can't be combined with user_path, key, model and session: it names them",
        "request_id",
      );
    return { ok: true, question: { kind: "past", requestId } };
  }
  if (typeof model !== "string" || model === "")
    return wrongQuestion(
      model === undefined
        ? "model or request_id is required"
        : `model must be a model's name, not ${show(model)}`,
      "model",
    );
  const nameProblem = modelNameProblem(model);
  if (nameProblem !== null) return wrongQuestion(nameProblem, "model");
  if (key !== null && (typeof key !== "string" || key === ""))
    return wrongQuestion(
      `key must be a managed key or its id, such as key_7, not ${show(key)}`,
      "key",
    );
  if (session !== null && !isSession(session))
    return wrongQuestion(
      `session must be the name of a session, up to ${sessionCharsMax} characters, not ${show(session)}`,
      "session",
    );
  const path = parseUserPath(userPath ?? ownPath, "user_path");
  return path.ok
    ? { ok: true, question: { kind: "hypothetical", userPath: path.value, key, model, session } }
    : path;
}

function wrongQuestion(message: string, param: string): ParsedQuestion {
  return { ok: false, failure: invalid(message, param) };
}

/** The daemon gets the hash of a key, never the key. */
function keyFields(
  { credentials }: Pick<Gateway, "credentials">,
  key: string | null,
): { readonly key?: object } {
  if (key === null) return {};
  return { key: looksLikeManagedKey(key) ? { key_hash: credentials.hashKey(key) } : { id: key } };
}
