/**
 * The paths of sockets: whether the daemon may listen at one (its directory, a stale socket of a
 * killed daemon, a live daemon that must not be displaced), and the one to which a peer connects.
 * Listening and connecting are in `ipc.ts`.
 */
import {
  accessSync,
  chmodSync,
  constants,
  lstatSync,
  realpathSync,
  statSync,
  unlinkSync,
} from "node:fs";
import net from "node:net";
import { basename, dirname, join } from "node:path";
import { socketPathBytesMax } from "../bounds.js";
import { makeDirectory } from "../make-directory.js";
import { noDirectoryReason } from "../text/system-reason.js";
import { type OwnedPath, placeProblem, SocketUntrustedError } from "./socket-place.js";

/** Why the daemon can't use its socket path. */
export class SocketTakenError extends Error {
  override name = "SocketTakenError";
}

/**
 * Frees the path to listen at. Rejects with `SocketTakenError` if a live daemon answers there or
 * the path isn't a socket, and with `SocketUntrustedError` if other users could replace it.
 * `directoryMode`: the mode of a directory that it creates.
 */
export async function claimSocket(path: string, directoryMode: number): Promise<void> {
  if (Buffer.byteLength(path) > socketPathBytesMax)
    throw new Error(`the socket path ${path} is longer than ${socketPathBytesMax} bytes`);
  makeSocketDirectory(dirname(path), directoryMode);
  requireTrustedPlace(path);
  await clearStaleSocket(path);
}

/**
 * An existing directory keeps its mode: it may be shared, and the socket's own mode excludes other
 * users.
 */
function makeSocketDirectory(path: string, mode: number): void {
  try {
    const firstMade = makeDirectory(path, mode);
    // The process's umask may have removed bits.
    if (firstMade !== undefined) chmodSync(path, mode);
  } catch (error) {
    const reason = noDirectoryReason(error);
    throw new Error(`the socket's directory ${path} can't be made: ${reason}`, { cause: error });
  }
}

/**
 * Throws `SocketUntrustedError` unless this user may trust the file at the path, or the directory
 * if there is none.
 */
export function requireTrustedPlace(path: string): void {
  const uid = process.getuid?.() ?? 0;
  const directory = realpathSync(dirname(path));
  const problem = placeProblem(
    {
      socket: ownedAt(join(directory, basename(path))),
      directory: ownedAt(directory)!,
      parent: ownedAt(dirname(directory))!,
    },
    uid,
  );
  if (problem !== null) throw new SocketUntrustedError(problem);
}

/** Null if nothing exists there. Doesn't follow a link. */
function ownedAt(path: string): OwnedPath | null {
  const stats = lstatSync(path, { throwIfNoEntry: false });
  return stats === undefined ? null : { path, uid: stats.uid, mode: stats.mode };
}

/**
 * The socket to connect to: that for administration if this user may open it, otherwise the one for
 * requests.
 */
export function chooseSocket(path: string, adminPath: string | undefined): string {
  if (adminPath === undefined) return path;
  try {
    accessSync(adminPath, constants.W_OK);
    return adminPath;
  } catch {
    // The socket doesn't exist, or this user may not open it: requests use the other one.
    return path;
  }
}

/** Whether a process answers there. */
export async function isListening(path: string): Promise<boolean> {
  return (await probe(path)) === "live";
}

/** Whether the path is still the socket that was created there, with this inode. */
export function isStillOurs(path: string, inode: number): boolean {
  try {
    return statSync(path).ino === inode;
  } catch {
    // Nothing exists there, so nothing can be removed by mistake.
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
