/**
 * The submission of a batch, in OpenAI's or Anthropic's dialect. It counts as one request of its
 * user path. The requests in the batch are charged after its end (`../../objects/batches.ts`).
 */
import { isAbsent } from "../../../shared/checked.js";
import { type Failure, invalid } from "../../../shared/error-code.js";
import { isObjectId } from "../../../shared/wire/stored-object.js";
import type { Caller } from "../../auth/caller.js";
import { kindOf } from "../../body/json-value.js";
import type { Gateway } from "../../gateway.js";
import { admittedHeaders } from "../../http/limit-headers.js";
import type { Admission } from "../../limiter/admission.js";
import { foreignObject } from "../../objects/object-access.js";
import { notObject } from "../../objects/object-body.js";
import type { RequestContext } from "../../request-context.js";
import { sessionOf } from "../../routing/session.js";
import {
  admitRequest,
  refuseAfterAdmission,
  refuseUnread,
  settleRequest,
} from "../admit-and-settle.js";
import { refuseBeforeAdmission } from "../refuse-request.js";
import { providersFor, providerWith } from "./able-providers.js";
import { readBatchInput } from "./batch-input-problem.js";
import { type BatchOperation, readObjectBody, sendObjectRequest } from "./send-object-request.js";

/** A batch counts as one request of the user path, and holds no slot. Never rejects. */
export async function submitBatch(
  context: RequestContext,
  operation: BatchOperation,
): Promise<void> {
  const candidates = providersFor(context, operation);
  if (!candidates.ok) return refuseBeforeAdmission(context, candidates.failure);
  const isCompressed = context.exchange.header("content-encoding") !== undefined;
  if (isCompressed && (await refuseUnread(context, { submission: true }))) return;
  const result = await readObjectBody(context, operation);
  if (!result.ok) return refuseBeforeAdmission(context, result.failure);
  const { fields } = result;
  if (fields === null)
    return refuseBeforeAdmission(context, notObject("it is not valid JSON").failure);
  const problem = batchProblem(fields, operation, context.caller);
  if (problem !== null) return refuseBeforeAdmission(context, problem);
  const foreign = await foreignObject(context.gateway, context.caller, result.named);
  if (foreign !== null) return refuseBeforeAdmission(context, foreign);
  const fileId = operation === "batches" ? inputFileOf(fields) : null;
  const provider = await providerWith(context, candidates.providers, fileId);
  context.record.session = sessionOf(context.exchange, null);
  const target = { provider: provider.config.name, model: "" };
  const admitted = await admitRequest(context, {
    targets: [target],
    model: "",
    modelNames: [],
    submission: true,
  });
  if (admitted === null) return;
  context.record.target = target;
  const { admission } = admitted;
  const isCapped = await hasEnqueuedCap(context.gateway, admission);
  // After the admission, since it reads a large file, which a caller over its limit can't cause.
  const input =
    fileId === null || (context.caller.isOperator && !isCapped)
      ? { problem: null, bytes: Buffer.isBuffer(result.body) ? result.body.length : 0 }
      : await readBatchInput(context, admission, { provider, fileId });
  const countProblem =
    isCapped && fileId === null && operation === "batches" ? noFileToCount() : null;
  const inputProblem = input.problem ?? countProblem;
  if (inputProblem !== null || context.exchange.gone)
    return refuseAfterAdmission(context, admitted, inputProblem);
  const { userPath } = admission;
  const tokens = isCapped ? Math.ceil(input.bytes / bytesPerToken) : 0;
  const capFailure = isCapped
    ? await enqueue(context.gateway, { user_path: userPath, tokens })
    : null;
  if (capFailure !== null) return refuseAfterAdmission(context, admitted, capFailure);
  const forwarded = await sendObjectRequest(context, {
    provider,
    operation,
    body: result.body,
    headers: admittedHeaders(admitted),
    hasFallback: false,
    userPath,
  });
  const isCreated = (forwarded.responseId ?? "") !== "";
  if (isCapped && !isCreated)
    void context.gateway.limiter.call("batches.withdraw", { user_path: userPath, tokens });
  settleRequest(context, admission, isCreated ? { ...forwarded, batchTokens: tokens } : forwarded);
}

/** For estimating a batch's tokens. */
const bytesPerToken = 4;

/** Whether a rule caps the enqueued tokens of the path (`max_enqueued_tokens`). */
export async function hasEnqueuedCap(
  { limiter, config }: Pick<Gateway, "limiter" | "config">,
  { userPath }: Pick<Admission, "userPath">,
): Promise<boolean> {
  const answer = await limiter.call("batches.capped", { user_path: userPath });
  if (answer.ok) return (answer.body as { readonly capped: boolean }).capped;
  // Without the daemon, `enqueue` fails too.
  return config.limiter.failureMode !== "open";
}

function noFileToCount(): Failure {
  return invalid(
    "input_blob can't be submitted here: its tokens can't be counted for max_enqueued_tokens",
    "input_blob",
  );
}

/** Adds the tokens to those that are enqueued; a failure if that exceeds a cap. */
async function enqueue(
  { limiter, config }: Pick<Gateway, "limiter" | "config">,
  batch: { readonly user_path: string; readonly tokens: number },
): Promise<Failure | null> {
  const enqueued = await limiter.call("batches.enqueue", batch);
  if (enqueued.ok) return null;
  const { failure } = enqueued;
  const isAway = failure.code === "limiter_unavailable";
  return isAway && config.limiter.failureMode === "open" ? null : failure;
}

type Fields = Readonly<Record<string, unknown>>;

/** The input file of a checked batch; null for a blob that Azure reads. */
function inputFileOf({ input_file_id: id }: Fields): string | null {
  return isObjectId(id) ? id : null;
}

/** Why no provider can execute the body of the batch, or why this caller may not submit it. */
function batchProblem(
  value: Fields,
  operation: BatchOperation,
  { isOperator }: Pick<Caller, "isOperator">,
): Failure | null {
  if (operation === "message_batches") {
    const { requests } = value;
    if (Array.isArray(requests)) return null;
    return requests === undefined
      ? invalid("requests is required", "requests")
      : invalid(`requests must be an array, not ${kindOf(requests)}`, "requests");
  }
  const blob = Object.keys(value).find((name) => /^(?:input_blob|output_folder)$/i.test(name));
  if (blob !== undefined && !isOperator)
    return invalid(`${blob} needs the master key: it names storage of the operator's`, blob);
  // Azure takes the address of a blob instead of a file.
  const required = ["endpoint", "completion_window"];
  if (isAbsent(value["input_blob"])) required.unshift("input_file_id");
  for (const field of required) {
    const fieldValue = value[field];
    if (fieldValue === undefined || fieldValue === null)
      return invalid(`${field} is required`, field);
    if (typeof fieldValue !== "string")
      return invalid(`${field} must be a string, not ${kindOf(fieldValue)}`, field);
  }
  return isOperator || isObjectId(value["input_file_id"])
    ? null
    : invalid("input_file_id must be the id of a file", "input_file_id");
}
