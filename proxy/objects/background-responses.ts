/**
 * Responses and interactions that a provider runs in the background. Their estimate is charged at
 * submission, and their usage once an answer to any client contains it. If no client asks, Sluice
 * polls (docs/reference/usage-record.md, "Background responses"). The daemon tracks the unfinished
 * ones.
 */
import { readableResponseBytesMax } from "../../shared/bounds.js";
import { isObject, parseJson } from "../../shared/checked.js";
import { type Failure, plainFailure } from "../../shared/error-code.js";
import { isNativeToGoogle } from "../../shared/operation.js";
import { interimStatus } from "../../shared/wire/execution.js";
import {
  dueResponsesMax,
  isObjectId,
  type PendingResponseName,
  readPendingResponses,
} from "../../shared/wire/stored-object.js";
import { type Gateway, providerOf } from "../gateway.js";
import { upstreamPath } from "../upstream/upstream-path.js";
import { toolCallsIn, withCountedCalls } from "../usage/answered-tools.js";
import { findUsage } from "../usage/find-usage.js";
import { readUsage } from "../usage/read-usage.js";
import type { Usage } from "../usage/usage.js";
import { usageRecord } from "../usage/usage-record.js";
import { type BatchParts, isBatchOutput, lookAtBatch, lookBeforeDeletion } from "./batches.js";
import { fetchAnswer } from "./fetch-answer.js";

/** The timeout of a poll. */
const readTimeoutMs = 30_000;

const unfinished: ReadonlySet<unknown> = new Set(["queued", "in_progress"]);
/** The statuses of responses that have ended; from `requires_action` on, of interactions. */
const finished: ReadonlySet<unknown> = new Set([
  "completed",
  "failed",
  "cancelled",
  "incomplete",
  "requires_action",
  "requires_continuation",
  "budget_exceeded",
]);

/**
 * The id of an unfinished response or interaction; empty for a finished one. Only for answers of
 * operations that `mayRunInBackground`.
 */
export function unfinishedId(answer: unknown): string {
  if (!isObject(answer)) return "";
  const { id, status } = answer;
  return unfinished.has(status) && isObjectId(id) ? id : "";
}

/** The end of a response, as shown by an answer. */
export type ResponseEnd =
  | { readonly kind: "used"; readonly usage: Usage }
  /** Finished, without usage. */
  | { readonly kind: "unknown" };

/** Null if it isn't done, or the answer isn't a response. */
export function endOf(answer: unknown): ResponseEnd | null {
  if (!isObject(answer) || !finished.has(answer["status"])) return null;
  const usage = readUsage(findUsage(answer));
  if (usage.kind !== "usage") return { kind: "unknown" };
  const toolCalls = withCountedCalls(toolCallsIn(answer), usage.details);
  return { kind: "used", usage: toolCalls === undefined ? usage : { ...usage, toolCalls } };
}

type PollParts = BatchParts & Pick<Gateway, "monoMs">;

interface EndedResponse {
  readonly provider: string;
  readonly id: string;
  readonly end: ResponseEnd;
}

/** Counts the usage of an ended response, if the daemon tracks it. Never rejects. */
export async function settleEndedResponse(
  gateway: PollParts,
  { provider, id, end }: EndedResponse,
): Promise<void> {
  const answer = await gateway.limiter.call("responses.pending", { provider, id });
  const [pending] = answer.ok ? readPendingResponses(answer.body) : [];
  if (pending !== undefined) await settle(gateway, pending, end);
}

async function settle(
  { limiter, prices, providers, monoMs }: PollParts,
  { provider, id, model, keepsFee }: PendingResponseName,
  end: ResponseEnd,
): Promise<void> {
  if (end.kind === "unknown")
    return void (await limiter.call("responses.forget", { provider, id }));
  const target = { provider, model };
  const nowMonoMs = monoMs();
  // The daemon knows the owner.
  const record = usageRecord(
    { usage: end.usage, status: interimStatus, executed: true, firstByteMonoMs: null },
    {
      requestId: "final",
      endpoint: "/v1/responses",
      target,
      providerType: providerOf({ providers }, target).config.type,
      keyId: "",
      requestedModel: "",
      session: "",
      startedMonoMs: nowMonoMs,
      endedMonoMs: nowMonoMs,
      savedBytes: 0,
      price: prices.priceOf(target),
      priceSource: prices.sourceOf(target),
      isPart: keepsFee,
      isUnmetered: false,
      priceOf: (name) => prices.priceOf({ provider, model: name }),
    },
  );
  if (record !== null) limiter.settleFinal({ ...record, responseId: id });
}

/**
 * Reads the state of a batch if the daemon tracks it, because a client has read that it has ended.
 * Never rejects.
 */
export async function settleTrackedBatch(
  gateway: PollParts,
  provider: string,
  id: string,
): Promise<void> {
  const answer = await gateway.limiter.call("responses.pending", { provider, id });
  const [pending] = answer.ok ? readPendingResponses(answer.body) : [];
  if (pending !== undefined) await pollResponse(gateway, pending);
}

interface Deletion {
  readonly provider: string;
  readonly id: string;
  /** The object that the path names for deletion. */
  readonly kind: "response" | "batch" | "file";
}

/**
 * Settles a tracked response or batch before it or the file with its results is deleted. Returns
 * why a batch or a file can't be deleted yet, because its usage would be lost; null if it can.
 * Never rejects.
 */
export async function settleBeforeDeletion(
  gateway: PollParts,
  deletion: Deletion,
): Promise<Failure | null> {
  if (deletion.kind === "file") return settleBeforeFileDeletion(gateway, deletion);
  const { provider, id, kind } = deletion;
  const isOfBatch = kind === "batch";
  const answer = await gateway.limiter.call("responses.pending", { provider, id });
  if (!answer.ok)
    return isOfBatch && answer.failure.code === "limiter_unavailable" ? answer.failure : null;
  const [pending] = readPendingResponses(answer.body);
  // An id may be that of a batch and of a response.
  if (pending === undefined || pending.isBatch !== isOfBatch) return null;
  if (!pending.isBatch) {
    await pollResponse(gateway, pending);
    return null;
  }
  await lookBeforeDeletion(gateway, pending);
  const again = await gateway.limiter.call("responses.pending", { provider, id });
  return again.ok && readPendingResponses(again.body).length === 0
    ? null
    : plainFailure(
        409,
        "invalid_request_error",
        `the usage of batch ${id} isn't recorded yet: retry, or cancel the batch first if it runs`,
      );
}

/** A file's object says whether it contains results, but not of which batch. */
async function settleBeforeFileDeletion(
  gateway: PollParts,
  { provider: name, id }: Omit<Deletion, "kind">,
): Promise<Failure | null> {
  const answer = await gateway.limiter.call("responses.pending", { provider: name, batches: true });
  const pending = answer.ok ? readPendingResponses(answer.body) : [];
  const isAway = !answer.ok && answer.failure.code === "limiter_unavailable";
  const provider = gateway.providers.get(name);
  if (provider === undefined || (pending.length === 0 && !isAway)) return null;
  if (!(await isBatchOutput(gateway, provider, id))) return null;
  if (!answer.ok) return answer.failure;
  for (const batch of pending)
    if ((await lookBeforeDeletion(gateway, batch)) === "unread")
      return plainFailure(
        409,
        "invalid_request_error",
        `file ${id} has results of a batch, and the usage of batch ${batch.id} isn't recorded yet: retry`,
      );
  return null;
}

async function pollResponse(gateway: PollParts, pending: PendingResponseName): Promise<void> {
  if (pending.isBatch) return void (await lookAtBatch(gateway, pending));
  const provider = gateway.providers.get(pending.provider);
  // A reload may add the provider again.
  if (provider === undefined) return;
  // Google has interactions, all others have responses.
  const operation = provider.config.operations.has("responses") ? "responses" : "interactions";
  const [path, query = ""] = upstreamPath(provider.config, operation, "", "").split("?");
  let cancel = (): void => {};
  const answer = await fetchAnswer(provider.upstream, {
    path: `${path}/${pending.id}${query === "" ? "" : `?${query}`}`,
    isNative: isNativeToGoogle(operation),
    headers: [],
    bytesMax: readableResponseBytesMax,
    onCall: (abort) => {
      cancel = gateway.setTimer(readTimeoutMs, abort);
    },
  });
  cancel();
  if (answer.kind === "failed") return;
  if (answer.status === 404) return settle(gateway, pending, { kind: "unknown" });
  if (answer.status >= 300) return;
  const end = endOf(parseJson(answer.body.toString("utf8")));
  if (end !== null) await settle(gateway, pending, end);
}

async function pollEach(
  gateway: PollParts,
  responses: readonly PendingResponseName[],
  isStopped: () => boolean,
): Promise<void> {
  for (const pending of responses) {
    if (isStopped()) return;
    await pollResponse(gateway, pending);
  }
}

/** Polls the responses and batches that are due. Never rejects. */
async function pollDue(gateway: PollParts, isStopped: () => boolean): Promise<void> {
  for (;;) {
    const answer = await gateway.limiter.call("responses.due", {});
    const due = answer.ok ? readPendingResponses(answer.body) : [];
    // Results of batches are long: responses don't wait for them.
    const batches = due.filter(({ isBatch }) => isBatch);
    const responses = due.filter(({ isBatch }) => !isBatch);
    void pollEach(gateway, batches, isStopped);
    await pollEach(gateway, responses, isStopped);
    if (isStopped()) return;
    if (due.length < dueResponsesMax) return;
  }
}

/** Polls in intervals the responses that no client asked for, until stopped. */
export function startPolling(
  gateway: PollParts & Pick<Gateway, "config">,
  everyMs: number,
): { stop(): void } {
  let isStopped = false;
  let cancel = (): void => {};
  const scheduleNext = (): void => {
    if (!isStopped && everyMs > 0) cancel = gateway.setTimer(everyMs, () => void poll());
  };
  const poll = async (): Promise<void> => {
    if (gateway.limiter.reachable) await pollDue(gateway, () => isStopped);
    scheduleNext();
  };
  scheduleNext();
  return {
    stop() {
      isStopped = true;
      cancel();
    },
  };
}
