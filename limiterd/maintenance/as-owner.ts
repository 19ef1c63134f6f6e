/**
 * Makes root work on a store with the rights of the directory's owner, so that links or other files
 * which that user puts there lead no further than the user's own rights. It can't be undone, so use
 * it for commands that exit afterwards.
 */
import { constants, openSync, type Stats, statSync } from "node:fs";
import { dirname, resolve } from "node:path";

/** What `process` has of it where there are users. */
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
    // Root's own may be shut to others.
    for (const name of ["TMPDIR", "TMP", "TEMP"]) delete process.env[name];
  },
  seteuid: (id) => process.seteuid?.(id),
};

/** Others than the owner can write to the directory, so no user's rights are low enough. */
export class OpenDirectoryError extends Error {
  override name = "OpenDirectoryError";
}

const writableByOthers = 0o022;
const sticky = 0o1000;

/**
 * From now on this process has the rights of the owner of `directory`, or, where it isn't there
 * yet, of the nearest one above. Nothing changes for those who aren't root, and where the owner is
 * root. Throws `OpenDirectoryError`.
 */
export function becomeOwnerOf(directory: string, privileges = ownPrivileges): void {
  if (privileges.getuid() !== 0) return;
  const { uid, gid, mode } = ofNearest(resolve(directory));
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
 * Opens a file to be read: root with the rights of the owner of its directory, who may have put a
 * link there.
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

function ofNearest(directory: string): Stats {
  return statSync(directory, { throwIfNoEntry: false }) ?? ofNearest(dirname(directory));
}
