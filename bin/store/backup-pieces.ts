/**
 * Fetches a backup from the daemon piece by piece, with at most one piece in memory, and reports to
 * the daemon that it is kept.
 */
import { isCount, isObject } from "../../shared/checked.js";
import { bodyOrThrow, unreadableAnswer } from "../session/daemon-answer.js";
import type { AdminClient } from "../session/with-daemon.js";

interface BackupPiece {
  /** The time of the backup's state; null if the daemon's release doesn't record backups. */
  readonly asOf: string | null;
  readonly bytes: Uint8Array;
  readonly received: number;
  readonly total: number;
}

/**
 * All pieces; each is requested after the previous one was consumed. `onCopying` gets the copied
 * share. Throws `CommandFailure` and `DaemonError`.
 */
export async function* backupPieces(
  client: AdminClient,
  onCopying: (copied: number, total: number) => void,
): AsyncGenerator<BackupPiece> {
  let total = 0;
  let asOf: string | null = null;
  for (let ready = false; !ready; ) {
    const progress = progressFrom(bodyOrThrow(await client.call("backup", null)));
    ({ ready, total, asOf } = progress);
    onCopying(progress.copied, total);
  }
  for (let received = 0; received < total; ) {
    const body = bodyOrThrow(await client.call("backup", { offset: received }));
    const { piece } = isObject(body) ? body : {};
    if (!(piece instanceof Uint8Array) || piece.length === 0) throw unreadableAnswer("backup");
    received += piece.length;
    yield { asOf, bytes: piece, received, total };
  }
}

function progressFrom(body: unknown): {
  readonly ready: boolean;
  readonly copied: number;
  readonly total: number;
  readonly asOf: string | null;
} {
  const { ready, as_of: asOf, copied_bytes: copied, bytes: total } = isObject(body) ? body : {};
  if (typeof ready !== "boolean" || !isCount(copied) || !isCount(total))
    throw unreadableAnswer("backup");
  return { ready, copied, total, asOf: typeof asOf === "string" ? asOf : null };
}

/** Throws `CommandFailure` and `DaemonError`. */
export async function noteBackup(client: AdminClient, asOf: string): Promise<void> {
  bodyOrThrow(await client.call("backup", { kept: asOf }));
}
