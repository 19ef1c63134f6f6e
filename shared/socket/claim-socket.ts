/**
 * The daemon's right to its socket's path: its directory, a stale socket that a killed daemon left,
 * and a living daemon that must not be pushed out. Listening is in `ipc.ts`.
 */
import { chmodSync, mkdirSync, statSync, unlinkSync } from "node:fs";
import net from "node:net";
import { dirname } from "node:path";
import { socketPathBytesMax } from "../bounds.js";

/** Why the daemon can't have its socket. */
export class SocketTakenError extends Error {
  override name = "SocketTakenError";
}

/**
 * Makes the path free to listen at. Rejects with `SocketTakenError` when a living daemon answers
 * there, or when the path isn't a socket. `directoryMode`: of a directory that is made.
 */
export async function claimSocket(path: string, directoryMode: number): Promise<void> {
  if (Buffer.byteLength(path) > socketPathBytesMax)
    throw new Error(`the socket path ${path} is longer than ${socketPathBytesMax} bytes`);
  makeDirectory(dirname(path), directoryMode);
  await clearStaleSocket(path);
}

/**
 * A directory that exists keeps its mode: it may be shared, and the socket's own mode keeps others
 * out.
 */
function makeDirectory(path: string, mode: number): void {
  const made = mkdirSync(path, { recursive: true, mode });
  const own = process.getuid?.() ?? 0;
  const owner = statSync(path).uid;
  if (own !== 0 && owner !== own && owner !== 0)
    throw new Error(`the socket's directory ${path} belongs to another user (uid ${owner})`);
  // The mask of the process may have taken bits away.
  if (made !== undefined) chmodSync(path, mode);
}

/** Whether the path is still the socket that was made there, with this inode. */
export function isStillOurs(path: string, inode: number): boolean {
  try {
    return statSync(path).ino === inode;
  } catch {
    // Nothing is there: nothing can be removed by mistake.
    return true;
  }
}

/** Removes a socket that no process listens on. */
async function clearStaleSocket(path: string): Promise<void> {
  const state = await probe(path);
  if (state === "live") throw new SocketTakenError(`another daemon listens on ${path}`);
  if (state === "absent") return;
  if (!statSync(path).isSocket()) throw new SocketTakenError(`${path} exists and is not a socket`);
  unlinkSync(path);
}

function probe(path: string): Promise<"live" | "stale" | "absent"> {
  return new Promise((resolve, reject) => {
    const socket = net.connect({ path });
    socket.once("connect", () => {
      socket.destroy();
      resolve("live");
    });
    socket.once("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") resolve("absent");
      else if (error.code === "ECONNREFUSED" || error.code === "ENOTSOCK") resolve("stale");
      else reject(error);
    });
  });
}
