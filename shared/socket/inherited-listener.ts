/**
 * A Unix socket that already listens when the daemon starts, such as systemd's: whether it is the
 * configured one, and as restricted as a socket that the daemon creates.
 */
import { readFileSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { InheritedSocketsError } from "../supervision/inherited-sockets.js";
import { requireTrustedPlace } from "./claim-socket.js";

/**
 * Throws `InheritedSocketsError` if the descriptor listens elsewhere, or if the socket's mode
 * allows more than `mode`; `SocketUntrustedError` if other users could replace it.
 */
export function requireInheritedListener(path: string, fd: number, mode: number): void {
  const bound = boundPath(fd);
  if (bound !== null && !isSamePlace(bound, path))
    throw new InheritedSocketsError(
      `the socket that systemd hands over listens on ${bound}, and the configuration says ${path}: ListenStream= of the socket unit must be the same path`,
    );
  const stats = statSync(path, { throwIfNoEntry: false });
  if (stats === undefined)
    throw new InheritedSocketsError(
      `the socket that systemd hands over listens on ${path}, where nothing is any more: restart the socket unit`,
    );
  if ((stats.mode & 0o777 & ~mode) !== 0)
    throw new InheritedSocketsError(
      `${path} has the mode ${octalText(stats.mode)}, which must be ${octalText(mode)} or less: set SocketMode= of the socket unit (0660 is for limiter.socket_group_access)`,
    );
  requireTrustedPlace(path);
}

/** The path to which the descriptor's socket is bound; null if the system doesn't report it. */
function boundPath(fd: number): string | null {
  try {
    const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${fd}`))?.[1];
    return inode === undefined
      ? null
      : findBoundPath(readFileSync("/proc/net/unix", "utf8"), inode);
  } catch {
    // Without /proc only the mode and the path can be checked.
    return null;
  }
}

/** `table`: the text of /proc/net/unix, with the path at the end of a line. */
export function findBoundPath(table: string, inode: string): string | null {
  for (const line of table.split("\n")) {
    const [, lineInode, path] = /^\S+ \S+ \S+ \S+ \S+ \S+ +(\d+) (.+)$/.exec(line) ?? [];
    if (lineInode === inode) return path!;
  }
  return null;
}

/** /var/run is /run. */
function isSamePlace(one: string, other: string): boolean {
  return one === other || realPlace(one) === realPlace(other);
}

function realPlace(path: string): string {
  try {
    return join(realpathSync(dirname(path)), basename(path));
  } catch {
    // A missing directory has no other name.
    return path;
  }
}

function octalText(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, "0");
}
