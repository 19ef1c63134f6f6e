/**
 * The operation `backup`: without an offset it begins a copy of the store, or waits for it, with
 * one it answers the piece that begins there. The copy holds all that was acknowledged before.
 */
import { type Checked, isCount, isObject } from "../../shared/checked.js";
import { failure, invalid } from "../../shared/error-code.js";
import type { PeerState } from "../peer.js";
import type { DaemonState } from "../state.js";
import type { AnswerPorts } from "./admin/admin-operation.js";

export async function backUp(
  state: DaemonState,
  peer: PeerState,
  body: unknown,
  ports: AnswerPorts,
): Promise<void> {
  const answered = await answerOf(state, peer, body);
  if (answered.ok) ports.answer(answered.value);
  else ports.fail(answered.failure);
}

async function answerOf(
  state: DaemonState,
  peer: PeerState,
  body: unknown,
): Promise<Checked<unknown>> {
  const { backups, writer } = state;
  const { offset = null } = isObject(body) ? body : {};
  if (offset !== null) {
    if (!isCount(offset))
      return { ok: false, failure: invalid("offset must be an integer from 0", "offset") };
    const piece = await backups.read(peer, offset);
    return piece.ok ? { ok: true, value: { piece: piece.value } } : piece;
  }
  if (!backups.isOf(peer)) {
    writer.closeBatch();
    const failing = await writer.tryWrite([]);
    // What has no room for settles has none for a copy.
    if (failing !== null)
      return {
        ok: false,
        failure: failure(
          "limiter_unavailable",
          `the backup can't be made: the store can't be written (${failing.message})`,
        ),
      };
    // Nobody would end it.
    if (!state.peers.has(peer))
      return { ok: false, failure: failure("limiter_unavailable", "the connection is gone") };
  }
  return backups.progress(peer);
}
