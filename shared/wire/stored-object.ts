/**
 * The owners of objects that a provider stores (docs/security.md, "Stored objects"): the messages
 * about them between proxy and daemon, and the bounds.
 */
import { bad, type Checked, good, isCount, isObject, show } from "../checked.js";
import { isNormalUserPath } from "../domain/user-path.js";

/** An object of a provider instance, by the id that the provider gave it. */
interface ObjectName {
  readonly provider: string;
  readonly id: string;
}

export interface ObjectOwner {
  readonly provider: string;
  readonly userPath: string;
}

/** Objects created by a request. */
export interface MadeObjects {
  readonly userPath: string;
  readonly objects: readonly ObjectName[];
  /** For how many days the owner is kept. */
  readonly days: number;
}

/** Objects in one message: fits into a frame with the longest ids. */
export const objectsPerCall = 100;
/** Objects of all callers: about 300 MB on disk. Beyond this no further owner is kept. */
export const objectsMax = 2_000_000;
/** OpenAI deletes responses after 30 days. Files and conversations stay until they are deleted. */
export const responseDays = 30;
/** Google deletes interactions after 55 days, and earlier on its free tier. */
export const interactionDays = 55;
/** Anthropic deletes a thread of messages at most an hour after its last use. */
export const threadDays = 1;
export const objectDays = 365;

/** The characters of providers' ids, which Sluice's paths accept. */
const idPattern = /^[\w-][\w.-]{0,255}$/;

export function isObjectId(value: unknown): value is string {
  return typeof value === "string" && idPattern.test(value);
}

/** The body of `objects.own`. */
export function parseMadeObjects(body: unknown): Checked<MadeObjects> {
  if (!isObject(body)) return bad(`the body must be an object, not ${show(body)}`, "body");
  const { user_path: userPath, objects, days } = body;
  if (typeof userPath !== "string" || !isNormalUserPath(userPath))
    return bad(`user_path must be a user path, not ${show(userPath)}`, "user_path");
  if (!isCount(days, 1) || days > objectDays)
    return bad(`days must be an integer from 1 to ${objectDays}, not ${show(days)}`, "days");
  if (!Array.isArray(objects) || objects.length > objectsPerCall || !objects.every(isObjectName))
    return bad(`objects must be at most ${objectsPerCall} providers and ids`, "objects");
  return good({ userPath, objects, days });
}

function isObjectName(value: unknown): value is ObjectName {
  return (
    isObject(value) &&
    isObjectId(value["id"]) &&
    typeof value["provider"] === "string" &&
    /^\S{1,512}$/.test(value["provider"])
  );
}

/** The body of `objects.owners`. */
export function parseObjectIds(body: unknown): Checked<readonly string[]> {
  const ids = isObject(body) ? body["ids"] : undefined;
  return Array.isArray(ids) && ids.length <= objectsPerCall && ids.every(isObjectId)
    ? good(ids)
    : bad(`ids must be at most ${objectsPerCall} ids of objects`, "ids");
}

/** A response or a batch whose usage is pending. */
export interface PendingResponseName extends ObjectName {
  /** The model that it was charged at; empty if the request named none. */
  readonly model: string;
  readonly isBatch: boolean;
  /** Whether the estimate keeps the fee per request when its usage replaces it. */
  readonly keepsFee: boolean;
}

/** Usage records of one batch: fits into a frame with the longest names of models. */
export const batchRecordsMax = 40;

/** Pending responses returned in one answer. */
export const dueResponsesMax = 20;

/** The body of `responses.pending` and `responses.forget`. */
export function parseObjectName(body: unknown): Checked<ObjectName> {
  return isObjectName(body)
    ? good({ provider: body.provider, id: body.id })
    : bad("the body must name a provider and an id", "id");
}

/** The provider in a body of `responses.pending` that asks for all of its batches; else null. */
export function providerOfBatches(body: unknown): string | null {
  return isObject(body) && body["batches"] === true && typeof body["provider"] === "string"
    ? body["provider"]
    : null;
}

/** Reads the answer to `responses.pending` and `responses.due`. */
export function readPendingResponses(body: unknown): readonly PendingResponseName[] {
  const responses = isObject(body) ? body["responses"] : undefined;
  return Array.isArray(responses) ? responses.filter(isPendingName) : [];
}

function isPendingName(value: unknown): value is PendingResponseName {
  const fields = value as Partial<Record<keyof PendingResponseName, unknown>>;
  const areFlags = typeof fields.isBatch === "boolean" && typeof fields.keepsFee === "boolean";
  return isObjectName(value) && typeof fields.model === "string" && areFlags;
}

/** Reads the answer to `objects.owners`: the owners of each id, at each provider that has it. */
export function readObjectOwners(
  body: unknown,
  count: number,
): readonly (readonly ObjectOwner[])[] {
  const owners = isObject(body) ? body["owners"] : undefined;
  if (!Array.isArray(owners) || owners.length !== count) return Array(count).fill([]) as [];
  return owners.map((list: unknown) => (Array.isArray(list) ? list.filter(isOwner) : []));
}

function isOwner(value: unknown): value is ObjectOwner {
  return (
    isObject(value) &&
    typeof value["provider"] === "string" &&
    typeof value["userPath"] === "string"
  );
}
