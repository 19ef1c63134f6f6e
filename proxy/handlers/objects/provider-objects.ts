/**
 * Stored objects of providers: files, batches, responses, conversations. These requests name no
 * model and aren't limited, except the submission of a batch, which counts as one request of its
 * user path.
 *
 * A caller reaches objects of its own path (`../objects/object-access.ts`), at the provider that
 * has them. With the master key, providers are tried in the order of the configuration until one
 * has the id. A new object goes to the first provider, or to the one that the caller names.
 */

import { assert } from "../../../shared/assert.js";
import type { Target } from "../../../shared/domain/target-name.js";
import type { Failure } from "../../../shared/error-code.js";
import type { Provider } from "../../gateway.js";
import { settleBeforeDeletion } from "../../objects/background-responses.js";
import { batchReadAt } from "../../objects/batches.js";
import { foreignObject } from "../../objects/object-access.js";
import type { RequestContext } from "../../request-context.js";
import type { ForwardResult } from "../../upstream/forwarded.js";
import { refuseBeforeAdmission } from "../refuse-request.js";
import { idInPath, ownProviders, providersFor } from "./able-providers.js";
import { listOwnObjects } from "./list-objects.js";
import { readObjectBody, type StoredOperation, sendObjectRequest } from "./send-object-request.js";

/** An unlimited request. Never rejects. */
export async function providerObjectRequest(
  context: RequestContext,
  operation: StoredOperation,
): Promise<void> {
  const { gateway, exchange, caller, record } = context;
  let candidates = providersFor(context, operation);
  if (!candidates.ok) return refuseBeforeAdmission(context, candidates.failure);
  const id = idInPath(exchange.path, operation);
  const hasId = id !== null;
  if (!caller.isOperator) {
    if (!hasId && exchange.method !== "POST")
      return listOwnObjects(context, operation, candidates.providers[0]!);
    const owning = hasId ? await ownProviders(context, candidates.providers, id) : candidates;
    if (!owning.ok) return refuseBeforeAdmission(context, owning.failure);
    candidates = owning;
  }
  const bodyRead = await readObjectBody(context, operation);
  if (!bodyRead.ok) return refuseBeforeAdmission(context, bodyRead.failure);
  const foreign = await foreignObject(gateway, caller, bodyRead.named);
  if (foreign !== null) return refuseBeforeAdmission(context, foreign);
  const problem =
    exchange.method === "DELETE" ? await deletionProblem(context, operation, candidates) : null;
  if (problem !== null) return refuseBeforeAdmission(context, problem);
  // A streamed upload can't be sent to a second provider.
  const isRepeatable = bodyRead.body === null || Buffer.isBuffer(bodyRead.body);
  const providers =
    hasId && isRepeatable
      ? healthyFirst(context, candidates.providers)
      : candidates.providers.slice(0, 1);
  let result: ForwardResult | null = null;
  for (const [i, provider] of providers.entries()) {
    const startedMonoMs = gateway.monoMs();
    const next = await sendObjectRequest(context, {
      provider,
      operation,
      body: bodyRead.body,
      headers: [],
      hasFallback: i < providers.length - 1,
      id: operation === "responses" || operation === "interactions" ? id : null,
      userPath: hasId && caller.isOperator ? null : caller.userPath,
    });
    gateway.targetHealth.note(accountOf(provider), startedMonoMs, next);
    const isFound = next.status < 300 || exchange.hasBegun || exchange.gone;
    // A failing provider may have the object, so the answer is 404 only if all say so.
    if (result === null || isFound || result.status === 404) {
      result = next;
      record.target = accountOf(provider);
    }
    if (isFound) break;
  }
  assert(result !== null, "there is a provider to ask");
  record.end(result.status, result.outcome);
  record.note = result.note;
  record.bug = result.bug;
  result.finish();
}

/** Why the object can't be deleted yet; null if it can. */
async function deletionProblem(
  { gateway, exchange }: RequestContext,
  operation: StoredOperation,
  { providers }: { readonly providers: readonly Provider[] },
): Promise<Failure | null> {
  const isOfBatch = operation === "batches" || operation === "message_batches";
  const isOfResponse = operation === "responses" || operation === "interactions";
  if (!isOfBatch && !isOfResponse && operation !== "files") return null;
  const id = isOfBatch
    ? batchReadAt(exchange.method, exchange.path)?.id
    : idInPath(exchange.path, operation);
  if (id === null || id === undefined) return null;
  const kind = isOfBatch ? "batch" : isOfResponse ? "response" : "file";
  for (const { config } of providers) {
    const deletion = { provider: config.name, id, kind } as const;
    const failure = await settleBeforeDeletion(gateway, deletion);
    if (failure !== null) return failure;
  }
  return null;
}

/** The target of requests about stored objects, which belong to no model. */
function accountOf({ config }: Provider): Target {
  return { provider: config.name, model: "" };
}

/**
 * Providers in order, those that fail last: each is tried only if the earlier ones don't have the
 * object.
 */
function healthyFirst(
  { gateway }: RequestContext<"targetHealth">,
  providers: readonly Provider[],
): readonly Provider[] {
  const byAccount = new Map(providers.map((provider) => [accountOf(provider), provider]));
  return gateway.targetHealth
    .healthyFirst([...byAccount.keys()])
    .map((account) => byAccount.get(account)!);
}
