/**
 * The operation `backup`. Without an offset it starts a copy of the store, or answers with the
 * copy's progress; with an offset it answers with the piece at that offset. The copy includes
 * everything that was acknowledged before. With `kept` the command reports that it has stored a
 * complete copy, and the time that the copy captures.
 */
import { type Checked, isCount, isObject } from "../../shared/checked.js";
import { failure, invalid } from "../../shared/error-code.js";
import { parseTimestamp } from "../../shared/time.js";
import type { PeerState } from "../peer.js";
import type { DaemonState } from "../state.js";
import { lastBackupChange, laterBackup } from "../store/last-backup.js";
import type { AnswerPorts } from "./admin/admin-operation.js";
import { announceLastBackup } from "./announcements/announce.js";

/** How far a clock may have stepped back since the backup began. */
const clockStepMsMax = 60_000;

export async function backUp(
  state: DaemonState,
  peer: PeerState,
  { body, nowMs }: { readonly body: unknown; readonly nowMs: number },
  ports: AnswerPorts,
): Promise<void> {
  const answered = await answerOf(state, peer, body, nowMs);
  if (answered.ok) ports.answer(answered.value);
  else ports.fail(answered.failure);
}

async function answerOf(
  state: DaemonState,
  peer: PeerState,
  body: unknown,
  nowMs: number,
): Promise<Checked<unknown>> {
  const { backups, writer } = state;
  const { offset = null, kept = null } = isObject(body) ? body : {};
  if (kept !== null) return noteBackup(state, kept, nowMs);
  if (offset !== null) {
    if (!isCount(offset))
      return { ok: false, failure: invalid("offset must be an integer from 0", "offset") };
    const piece = await backups.read(peer, offset);
    return piece.ok ? { ok: true, value: { piece: piece.value } } : piece;
  }
  if (!backups.isOf(peer)) {
    writer.closeBatch();
    const failing = await writer.tryWrite([]);
    // If the disk has no room for settles, it has none for a copy.
    if (failing !== null)
      return {
        ok: false,
        failure: failure(
          "limiter_unavailable",
          `the backup can't be made: the store can't be written (${failing.message})`,
        ),
      };
    // If the peer has disconnected meanwhile, nothing would end the copy.
    if (!state.peers.has(peer))
      return { ok: false, failure: failure("limiter_unavailable", "the connection is gone") };
  }
  return backups.progress(peer, nowMs);
}

async function noteBackup(
  state: DaemonState,
  kept: unknown,
  nowMs: number,
): Promise<Checked<unknown>> {
  const atMs = typeof kept === "string" ? parseTimestamp(kept) : null;
  if (atMs === null || atMs <= 0 || atMs > nowMs + clockStepMsMax)
    return { ok: false, failure: invalid("kept must be the as_of of a backup", "kept") };
  state.lastBackup = laterBackup(state.lastBackup, Math.min(atMs, nowMs), nowMs);
  announceLastBackup(state);
  const failing = await state.writer.tryWrite([lastBackupChange(state.lastBackup)]);
  return failing === null
    ? { ok: true, value: { status: "ok" } }
    : {
        ok: false,
        failure: failure(
          "limiter_unavailable",
          `the store can't be written (${failing.message}): the backup is noted once it can`,
        ),
      };
}
