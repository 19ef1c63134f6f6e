/**
 * Batches, whose requests a provider executes later. The daemon tracks each batch that was
 * submitted through Sluice. After its end the proxy reads its results, and the daemon records their
 * usage and forgets the batch in one commit: once, however often clients read the results or parts
 * of them. The proxy reads the batch when an answer to a client shows its end, before a client
 * deletes it, and by polling (`background-responses.ts`).
 */
import { readableResponseBytesMax } from "../../shared/bounds.js";
import { isObject, parseJson } from "../../shared/checked.js";
import type { ProviderConfig } from "../../shared/config/config.js";
import { recordKind } from "../../shared/wire/execution.js";
import { isObjectId, type PendingResponseName } from "../../shared/wire/stored-object.js";
import { JsonPicker } from "../body/json-picker.js";
import { plainPath } from "../body/passed/passthrough-model.js";
import type { BatchProgress, Gateway, Provider } from "../gateway.js";
import { upstreamPath } from "../upstream/upstream-path.js";
import { BatchSums, resultPicks } from "../usage/batch-sums.js";
import { fetchAnswer } from "./fetch-answer.js";
import { AnswerBroken, fetchPieces } from "./fetch-pieces.js";

/** How long a provider may take to answer with a batch. */
const readTimeoutMs = 30_000;
/** How long reading all results of a batch may take. */
const resultsMs = 1_800_000;
/** Batches whose results one proxy reads at a time; others wait for the next poll. */
const batchReadsMax = 4;

/** The batch's id in the answer to a submission; empty if there is none. */
export function submittedBatch(answer: unknown): string {
  const batch = batchIn(answer);
  if (batch === null) return "";
  const id = batch["id"] ?? lastPart(batch["name"]);
  return isObjectId(id) ? id : "";
}

/** Together's answer has the batch in `job`. */
function batchIn(answer: unknown): Readonly<Record<string, unknown>> | null {
  if (!isObject(answer)) return null;
  return isObject(answer["job"]) ? answer["job"] : answer;
}

/** The last part of Gemini's names, such as `batches/…` and `files/…`. */
function lastPart(name: unknown): unknown {
  return typeof name === "string" ? name.slice(name.lastIndexOf("/") + 1) : undefined;
}

/** Whether a request submits a batch by passthrough. */
export function submitsBatch(method: string, path: string): boolean {
  const plain = plainPath(path);
  return (
    method === "POST" &&
    (/\/batches$/i.test(plain) || /:(?:batchGenerateContent|asyncBatchEmbedContent)$/.test(plain))
  );
}

export interface ReadBatch {
  readonly id: string;
  readonly isDeleted: boolean;
  /** Whether the answer contains the results, which only an ended batch has. */
  readonly isResults: boolean;
}

/** The batch that a request reads; null for any other request. */
export function batchReadAt(method: string, path: string): ReadBatch | null {
  const [, id, rest = ""] =
    /\/batches\/([^/:?]+)([/:](?:cancel|results))?$/i.exec(plainPath(path)) ?? [];
  if (!isObjectId(id)) return null;
  return {
    id,
    isDeleted: method === "DELETE" && rest === "",
    isResults: method === "GET" && /results$/i.test(rest),
  };
}

const endedStates: ReadonlySet<string> = new Set([
  "completed",
  "failed",
  "expired",
  "cancelled",
  "canceled",
  "ended",
  "batch_state_succeeded",
  "batch_state_failed",
  "batch_state_cancelled",
  "batch_state_expired",
]);

type Fields = Readonly<Record<string, unknown>>;

/** The results of a batch that has ended. */
interface BatchEnd {
  /** A file with one result a line; null without one. */
  readonly file: unknown;
  /** Gemini's results within its answer. */
  readonly inline: readonly unknown[];
  /**
   * The sum of usage that newer batches of OpenAI have, with the model, in case the results are
   * gone.
   */
  readonly sum: Fields;
}

/** Null if it hasn't ended, or the answer isn't a batch. */
export function batchEndIn(answer: unknown): BatchEnd | null {
  const batch = batchIn(answer);
  if (batch === null) return null;
  const { metadata, status, processing_status: processing } = batch;
  const meta = isObject(metadata) ? metadata : {};
  const state = processing ?? status ?? meta["state"];
  const isEnded = batch["done"] === true || endedStates.has(String(state).toLowerCase());
  if (!isEnded) return null;
  const output = batch["response"] ?? meta["output"];
  const ofGemini = isObject(output) ? output : {};
  const responses = ofGemini["inlinedResponses"] ?? ofGemini["inlinedEmbedContentResponses"];
  const inline = isObject(responses) ? responses["inlinedResponses"] : undefined;
  return {
    file: batch["output_file_id"] ?? lastPart(ofGemini["responsesFile"]),
    inline: Array.isArray(inline) ? (inline as unknown[]) : [],
    sum: { model: batch["model"], usage: batch["usage"] },
  };
}

export type BatchParts = Pick<
  Gateway,
  "limiter" | "prices" | "providers" | "setTimer" | "batchReads" | "log"
>;

/** Reads a tracked batch, and settles it if it has ended. Never rejects. */
export async function lookAtBatch(
  gateway: BatchParts,
  pending: PendingResponseName,
): Promise<BatchProgress> {
  const provider = gateway.providers.get(pending.provider);
  const name = nameOf(pending);
  const { batchReads } = gateway;
  // The provider may have been removed from the configuration, and may return.
  if (provider === undefined || batchReads.has(name) || batchReads.size >= batchReadsMax)
    return "unread";
  const reading = settleEndedBatch(gateway, provider, pending).finally(() =>
    batchReads.delete(name),
  );
  batchReads.set(name, reading);
  return reading;
}

function nameOf({ provider, id }: Pick<PendingResponseName, "provider" | "id">): string {
  return `${provider} ${id}`;
}

/** Waits, for a limited time, for the running read of a batch, or reads it. */
export function lookBeforeDeletion(
  gateway: BatchParts,
  pending: PendingResponseName,
): Promise<BatchProgress> {
  const reading = gateway.batchReads.get(nameOf(pending)) ?? lookAtBatch(gateway, pending);
  return new Promise((resolve) => {
    const cancel = gateway.setTimer(readTimeoutMs, () => resolve("unread"));
    void reading.then((progress) => {
      cancel();
      resolve(progress);
    });
  });
}

/** Whether a file contains the results of a batch. Never rejects. */
export async function isBatchOutput(
  gateway: Pick<BatchParts, "setTimer">,
  { config, upstream }: Provider,
  id: string,
): Promise<boolean> {
  if (config.type === "gemini") return id.startsWith("batch-");
  let cancel = (): void => {};
  const answer = await fetchAnswer(upstream, {
    path: pathBelow(config, "files", `/${id}`),
    headers: [],
    bytesMax: readableResponseBytesMax,
    onCall: (abort) => {
      cancel = gateway.setTimer(readTimeoutMs, abort);
    },
  });
  cancel();
  if (answer.kind === "failed" || answer.status >= 300) return false;
  const file = parseJson(answer.body.toString("utf8"));
  return isObject(file) && /batch.?(?:output|result)/i.test(String(file["purpose"]));
}

async function settleEndedBatch(
  gateway: BatchParts,
  provider: Provider,
  { provider: name, id, model }: PendingResponseName,
): Promise<BatchProgress> {
  const { config, upstream } = provider;
  let cancel = (): void => {};
  const answer = await fetchAnswer(upstream, {
    ...batchPlace(config, id),
    headers: [],
    bytesMax: readableResponseBytesMax,
    onCall: (abort) => {
      cancel = gateway.setTimer(readTimeoutMs, abort);
    },
  });
  cancel();
  const sums = new BatchSums({ provider: name, providerType: config.type, model }, gateway.prices);
  if (answer.kind === "failed") {
    if (!answer.isTooLarge) return "unread";
    gateway.log.warn(
      { provider: name, batch: id },
      "a batch has more than 32 MiB of results in its answer, which Sluice doesn't read: it is recorded without a price",
    );
    sums.add({});
    return settle(gateway, { provider: name, id, sums });
  }
  if (answer.status === 404) {
    const forgotten = await gateway.limiter.call("responses.forget", { provider: name, id });
    return forgotten.ok ? "settled" : "unread";
  }
  if (answer.status >= 300) return "unread";
  const end = batchEndIn(parseJson(answer.body.toString("utf8")));
  if (end === null) return "running";
  for (const line of end.inline) sums.addLine(line);
  const place = resultsPlace(config, id, end);
  const outcome = place === null ? "none" : await readResults(gateway, provider, place, sums);
  if (outcome === "failed") return "unread";
  if (outcome === "gone" && isObject(end.sum["usage"])) sums.add(end.sum);
  return settle(gateway, { provider: name, id, sums });
}

interface Settling {
  readonly provider: string;
  readonly id: string;
  readonly sums: BatchSums;
}

async function settle(
  gateway: BatchParts,
  { provider, id, sums }: Settling,
): Promise<BatchProgress> {
  const records = sums.records().map((record) => recordKind.write!(record));
  const settled = await gateway.limiter.call("batches.settle", { provider, id, records });
  if (settled.ok) return "settled";
  gateway.log.warn(
    { provider, batch: id, reason: settled.failure.message },
    "the usage of a batch isn't recorded yet: Sluice reads its results again",
  );
  return "unread";
}

interface Place {
  readonly path: string;
  readonly isNative: boolean;
}

/** The path of the batch at its provider. */
function batchPlace(config: ProviderConfig, id: string): Place {
  if (config.type === "gemini") return { path: `/batches/${id}`, isNative: true };
  const operation = config.type === "anthropic" ? "message_batches" : "batches";
  return { path: pathBelow(config, operation, `/${id}`), isNative: false };
}

/** The path of the results; null if the batch has none, or they are in its answer. */
function resultsPlace(config: ProviderConfig, id: string, { file }: BatchEnd): Place | null {
  if (config.type === "anthropic")
    return { path: pathBelow(config, "message_batches", `/${id}/results`), isNative: false };
  if (!isObjectId(file)) return null;
  return config.type === "gemini"
    ? { path: `/files/${file}:download?alt=media`, isNative: true }
    : { path: pathBelow(config, "files", `/${file}/content`), isNative: false };
}

/** The path of an operation with a suffix, before its query. */
function pathBelow(
  config: ProviderConfig,
  operation: "batches" | "message_batches" | "files",
  rest: string,
): string {
  const [path, query = ""] = upstreamPath(config, operation, "", "").split("?");
  return `${path}${rest}${query === "" ? "" : `?${query}`}`;
}

/** Adds the usage in each line of the results. `failed`: try again later. */
async function readResults(
  { setTimer }: Pick<BatchParts, "setTimer">,
  { upstream }: Provider,
  place: Place,
  sums: BatchSums,
): Promise<"read" | "gone" | "failed"> {
  let cancel = (): void => {};
  const answer = await fetchPieces(upstream, {
    ...place,
    headers: [],
    onCall: (abort) => {
      cancel = setTimer(resultsMs, abort);
    },
  });
  try {
    if (answer.kind === "failed") return "failed";
    if (answer.status !== 200) return answer.status === 404 ? "gone" : "failed";
    let line = new JsonPicker(resultPicks);
    for await (const piece of answer.pieces) {
      let from = 0;
      for (let end = piece.indexOf("\n"); end !== -1; end = piece.indexOf("\n", from)) {
        line.append(piece.subarray(from, end));
        sums.addLine(line.value());
        line = new JsonPicker(resultPicks);
        from = end + 1;
      }
      line.append(piece.subarray(from));
    }
    sums.addLine(line.value());
    return "read";
  } catch (error) {
    if (!(error instanceof AnswerBroken)) throw error;
    return "failed";
  } finally {
    cancel();
  }
}
