/**
 * `batches.settle`: records what a batch used, at the path and key that submitted it, and forgets
 * the batch, in one commit. A batch that is no longer pending has been settled or has expired.
 * `batches.capped`, `batches.enqueue` and `batches.withdraw`: the tokens of a batch that is being
 * submitted.
 */
import { bad, type Checked, good, isCount, isObject, show } from "../../../shared/checked.js";
import { addCost } from "../../../shared/domain/money.js";
import { isNormalUserPath } from "../../../shared/domain/user-path.js";
import { failure } from "../../../shared/error-code.js";
import { type Execution, flawOf, recordKind } from "../../../shared/wire/execution.js";
import { batchRecordsMax, parseObjectName } from "../../../shared/wire/stored-object.js";
import { broken } from "../../../shared/wire/wire-kinds.js";
import { noteBatches } from "../../alerts/watch-rates.js";
import { capsOnBatches } from "../../lists/list-queues.js";
import { isShown, viewerAt } from "../../rules/limits-above.js";
import type { DaemonState } from "../../state.js";
import { addRecord } from "../../usage/add-record.js";
import { type EnqueuedTokens, finalOf } from "../../usage/pending-responses.js";
import { recordOf } from "../../usage/usage-records.js";
import { untilRecordsAreWritten } from "./export-records.js";

interface EndedBatch {
  readonly provider: string;
  readonly id: string;
  readonly records: readonly Execution[];
}

export function parseEndedBatch(body: unknown): Checked<EndedBatch> {
  const name = parseObjectName(body);
  if (!name.ok) return name;
  const raw = isObject(body) ? body["records"] : undefined;
  if (!Array.isArray(raw) || raw.length > batchRecordsMax)
    return bad(`records must be at most ${batchRecordsMax} usage records`, "records");
  const records: Execution[] = [];
  for (const [i, item] of (raw as unknown[]).entries()) {
    const record = recordKind.read(item);
    const flaw = record === broken || record === null ? "form" : flawOf(record);
    if (record === broken || record === null || flaw !== null)
      return bad(`records[${i}] has an invalid ${flaw}`, "records");
    records.push(record);
  }
  return good({ ...name.value, records });
}

/** Rejects with `StoreFailingError` if the store can't be written. */
export async function settleBatch(
  state: DaemonState,
  { provider, id, records }: EndedBatch,
  nowMs: number,
): Promise<{ readonly status: "ok" }> {
  const pending = state.pending.take(provider, id, nowMs);
  if (pending !== undefined) {
    state.writer.addToBatch([pending.change]);
    const { record: submitted } = pending.response;
    const { userPath } = submitted;
    for (const used of records) {
      const reported = recordOf({ userPath, estimated: false, endedAgoMs: 0 }, used, nowMs);
      // A batch may run several models.
      const record = { ...finalOf(submitted, reported), model: reported.model };
      if (record.totalCost !== null) addCost(state.counts.cost, record.totalCost);
      addRecord(state, record, nowMs);
    }
    state.writer.closeContributed();
  }
  await untilRecordsAreWritten(state);
  return { status: "ok" };
}

/** Whether the tokens of batches of a path are capped: then they must be counted. */
export function isCapped(
  state: Pick<DaemonState, "book" | "settings">,
  body: unknown,
  nowMs: number,
): Checked<{ readonly capped: boolean }> {
  const userPath = parseUserPathOf(body);
  if (!userPath.ok) return userPath;
  return good({ capped: capsOnBatches(state, userPath.value, nowMs).length > 0 });
}

/** The user path that a body names. */
export function parseUserPathOf(body: unknown): Checked<string> {
  const userPath = isObject(body) ? body["user_path"] : undefined;
  return typeof userPath === "string" && isNormalUserPath(userPath)
    ? good(userPath)
    : bad(`user_path must be a user path, not ${show(userPath)}`, "user_path");
}

export function parseEnqueued(body: unknown): Checked<EnqueuedTokens> {
  const userPath = parseUserPathOf(body);
  if (!userPath.ok) return userPath;
  const tokens = isObject(body) ? body["tokens"] : undefined;
  return isCount(tokens)
    ? good({ userPath: userPath.value, tokens })
    : bad(`tokens must be an integer of at least 0, not ${show(tokens)}`, "tokens");
}

/** Reserves the tokens of a batch; a failure if the batches of a path would exceed its cap. */
export function enqueueBatch(
  state: Pick<DaemonState, "alerts" | "book" | "pending" | "settings">,
  batch: EnqueuedTokens,
  nowMs: number,
): Checked<{ readonly status: "ok" }> {
  const caps = capsOnBatches(state, batch.userPath, nowMs);
  const breach = state.pending.reserve(batch, caps, nowMs);
  if (breach === null) {
    noteBatches(state, batch.userPath, nowMs);
    return good({ status: "ok" });
  }
  const { cap, enqueued } = breach;
  const isNamed = isShown(
    { scope: "user_path", subject: cap.path },
    viewerAt(state, batch.userPath),
  );
  const message = !isNamed
    ? `a limit of enqueued tokens above ${batch.userPath} is reached: this batch has ${batch.tokens}`
    : `the limit of ${cap.tokens} enqueued tokens on ${cap.path} is reached: its unfinished batches have ${enqueued}, and this one has ${batch.tokens}`;
  return { ok: false, failure: failure("rate_limit_exceeded", message) };
}
