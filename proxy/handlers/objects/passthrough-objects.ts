/**
 * Stored objects in passthrough requests: an ended response or batch is charged when a request
 * reads it, and before a request deletes it or its file.
 */
import type { Target } from "../../../shared/domain/target-name.js";
import type { Failure } from "../../../shared/error-code.js";
import { isObjectId } from "../../../shared/wire/stored-object.js";
import { plainPath } from "../../body/passed/passthrough-model.js";
import type { Gateway } from "../../gateway.js";
import {
  endOf,
  settleBeforeDeletion,
  settleEndedResponse,
  settleTrackedBatch,
} from "../../objects/background-responses.js";
import { batchEndIn, batchReadAt, type ReadBatch, submitsBatch } from "../../objects/batches.js";
import type { ForwardResult } from "../../upstream/forwarded.js";

/** The stored objects of a provider that a request reads, deletes or creates, from its path. */
export interface StoredObjects {
  readonly response: StoredObject | null;
  readonly batch: ReadBatch | null;
  readonly deletedFile: string | null;
  readonly submitsBatch: boolean;
}

export function storedObjectsAt(method: string, path: string): StoredObjects {
  return {
    response: responseAt(method, path),
    batch: batchReadAt(method, path),
    deletedFile: deletedFile(method, path),
    submitsBatch: submitsBatch(method, path),
  };
}

/** Whether the answer may report the usage of an object, which is then charged. */
export function isAboutObject({ response, batch, submitsBatch }: StoredObjects): boolean {
  return response !== null || batch !== null || submitsBatch;
}

/**
 * Charges usage that a deletion would hide. Returns why the object can't be deleted yet, or null.
 */
export async function settleBeforeDeletions(
  gateway: Gateway,
  { provider }: Target,
  { response, batch, deletedFile }: StoredObjects,
): Promise<Failure | null> {
  for (const [kind, id] of [
    ["response", response?.isDeleted === true ? response.id : null],
    ["batch", batch?.isDeleted === true ? batch.id : null],
    ["file", deletedFile],
  ] as const) {
    const failed = id === null ? null : await settleBeforeDeletion(gateway, { provider, id, kind });
    if (failed !== null) return failed;
  }
  return null;
}

/** Charges a response or a batch that has ended according to the answer. */
export async function settleEndedObjects(
  gateway: Gateway,
  { provider }: Target,
  {
    objects: { response, batch },
    forwarded,
    answer,
  }: {
    readonly objects: StoredObjects;
    readonly forwarded: ForwardResult;
    readonly answer: unknown;
  },
): Promise<void> {
  const end = response === null ? null : endOf(answer);
  if (end !== null) await settleEndedResponse(gateway, { provider, id: response!.id, end });
  if (batch !== null && forwarded.status < 300 && (batch.isResults || batchEndIn(answer) !== null))
    void settleTrackedBatch(gateway, provider, batch.id);
}

interface StoredObject {
  readonly id: string;
  readonly isDeleted: boolean;
}

/** The id of the response or interaction that a request reads, cancels or deletes; null if none. */
function responseAt(method: string, path: string): StoredObject | null {
  const [, id, cancels] =
    /\/(?:responses|interactions)\/([^/?]+)(\/cancel)?$/.exec(plainPath(path)) ?? [];
  if (!isObjectId(id)) return null;
  const isDeleted = method === "DELETE" && cancels === undefined;
  return isDeleted || method === (cancels === undefined ? "GET" : "POST")
    ? { id, isDeleted }
    : null;
}

/**
 * The id of the file that a request deletes; null if none. Files of containers aren't the account's
 * files, and a vector store only forgets its file.
 */
function deletedFile(method: string, path: string): string | null {
  if (method !== "DELETE") return null;
  const [, owners, id] = /(?:\/(\w+)\/[^/]+)?\/files\/([^/?:]+)$/.exec(plainPath(path)) ?? [];
  const isOfAccount = owners !== "containers" && owners !== "vector_stores";
  return isOfAccount && isObjectId(id) ? id : null;
}
