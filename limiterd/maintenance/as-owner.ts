/**
 * Makes a process of root work on a store with the rights of the directory's owner, so that links
 * or other files that the owner puts there give no more access than the owner has. It can't be
 * undone, so use it for commands that exit afterwards.
 */
import { constants, openSync, type Stats, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

/** The functions of `process` on systems with users. */
export interface Privileges {
  getuid(): number;
  setgroups(groups: readonly number[]): void;
  setgid(id: number): void;
  setuid(id: number): void;
  seteuid(id: number): void;
}

const ownPrivileges: Privileges = {
  getuid: () => process.getuid?.() ?? -1,
  setgroups: (groups) => process.setgroups?.(groups),
  setgid: (id) => process.setgid?.(id),
  setuid(id) {
    process.setuid?.(id);
    // The owner may have no access to root's temporary directories.
    for (const name of ["TMPDIR", "TMP", "TEMP"]) delete process.env[name];
  },
  seteuid: (id) => process.seteuid?.(id),
};

/** Users other than the owner can write to the directory, so the owner's rights are too high. */
export class OpenDirectoryError extends Error {
  override name = "OpenDirectoryError";
}

const writableByOthers = 0o022;
const sticky = 0o1000;

/**
 * Gives this process the rights of the owner of `directory` or, if it doesn't exist, of its nearest
 * existing parent. Changes nothing if the process isn't root's or the owner is root. Throws
 * `OpenDirectoryError`.
 */
export function becomeOwnerOf(directory: string, privileges = ownPrivileges): void {
  if (privileges.getuid() !== 0) return;
  const { uid, gid, mode } = statsOfNearest(resolve(directory));
  if (uid === 0 && (mode & writableByOthers) !== 0 && (mode & sticky) === 0)
    throw new OpenDirectoryError(
      `${directory} can be written by others than root, who could exchange what root puts there: give it to the daemon's user, or run this as that user`,
    );
  if (uid === 0) return;
  privileges.setgroups([gid]);
  privileges.setgid(gid);
  privileges.setuid(uid);
}

/**
 * Opens a file for reading. A process of root uses the rights of the owner of its directory, who
 * may have put a link there.
 */
export function openAsOwner(file: string, privileges = ownPrivileges): number {
  // Opening a FIFO without a writer would block.
  const flags = constants.O_RDONLY | constants.O_NONBLOCK;
  if (privileges.getuid() !== 0) return openSync(file, flags);
  privileges.seteuid(statSync(dirname(resolve(file))).uid);
  try {
    return openSync(file, flags);
  } finally {
    privileges.seteuid(0);
  }
}

function statsOfNearest(directory: string): Stats {
  return statSync(directory, { throwIfNoEntry: false }) ?? statsOfNearest(dirname(directory));
}
