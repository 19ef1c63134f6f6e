/**
 * The doctor's readings of this host. A failed reading is null. They change nothing except for a
 * file in the data directory, which is removed immediately.
 */
import {
  closeSync,
  fsyncSync,
  openSync,
  readFileSync,
  rmSync,
  statfsSync,
  statSync,
  writeSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { readSynchronized } from "./host-clock.js";
import { type InstalledUnits, readInstalledUnits } from "./installed-units.js";

/** A file or directory; null if it doesn't exist or isn't readable. */
export interface PlaceFacts {
  readonly path: string;
  /** The nine permission bits. */
  readonly mode: number;
  readonly uid: number;
}

interface DiskFacts {
  readonly freeBytes: number;
  readonly totalBytes: number;
  /** As `statfs` reports it, such as NFS. */
  readonly fileSystem: string | null;
}

export interface HostFacts {
  readonly nodeVersion: string;
  /** How many files a process may open; null if unknown or unlimited. */
  readonly filesMax: number | null;
  /** How many connections wait to be accepted. */
  readonly backlogMax: number | null;
  readonly configFile: PlaceFacts | null;
  readonly dataDir: PlaceFacts | null;
  readonly secretFiles: readonly PlaceFacts[];
  readonly disk: DiskFacts | null;
  /** Why the data directory isn't writable, "" if it is; null if this user may not try. */
  readonly trialWrite: string | null;
  readonly units: InstalledUnits;
  /** Whether the clock is synchronized; null if unknown. */
  readonly synchronized: boolean | null;
}

export function readHostFacts(paths: {
  readonly configFile: string | null;
  readonly dataDir: string | null;
  readonly secretFiles: readonly string[];
  /** The directory of the running program. */
  readonly programs: string;
}): HostFacts {
  const { configFile, dataDir, secretFiles, programs } = paths;
  const limits = /^Max open files\s+(\d+)/m.exec(readText("/proc/self/limits") ?? "")?.[1];
  const backlog = readText("/proc/sys/net/core/somaxconn");
  return {
    nodeVersion: process.versions.node,
    filesMax: limits === undefined ? null : Number(limits),
    backlogMax: backlog === null ? null : Number(backlog),
    configFile: configFile === null ? null : placeFacts(configFile),
    dataDir: dataDir === null ? null : placeFacts(dataDir),
    secretFiles: secretFiles.map(placeFacts).filter((place) => place !== null),
    disk: dataDir === null ? null : diskOf(dataDir),
    trialWrite: dataDir === null ? null : tryWrite(dataDir),
    units: readInstalledUnits(join(programs, "../../systemd")),
    synchronized: readSynchronized(),
  };
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, "utf8");
  } catch {
    // Unknown on another operating system, or in a container without /proc.
    return null;
  }
}

function placeFacts(path: string): PlaceFacts | null {
  try {
    const { mode, uid } = statSync(path);
    return { path, mode: mode & 0o777, uid };
  } catch {
    // The path doesn't exist or belongs to another user: other checks report that.
    return null;
  }
}

/** File systems on which LMDB's locks and memory maps don't work correctly. */
const fileSystemNames: Readonly<Record<number, string>> = {
  26985: "NFS",
  4283649346: "CIFS",
  4266872130: "SMB2",
  1702057286: "FUSE",
  16914839: "9P",
};

/** The disk of a directory; if that doesn't exist yet, of its closest existing parent. */
function diskOf(path: string): DiskFacts | null {
  for (let ancestor = path; ; ancestor = dirname(ancestor)) {
    try {
      const { bavail, blocks, bsize, type } = statfsSync(ancestor);
      return {
        freeBytes: bavail * bsize,
        totalBytes: blocks * bsize,
        fileSystem: fileSystemNames[type >>> 0] ?? null,
      };
    } catch {
      if (ancestor === dirname(ancestor)) return null;
    }
  }
}

/** Large enough that a full disk is noticed. */
const trialBytes = 64 * 1024;

/**
 * Writes a small file in a directory, through to the disk, and removes it. Why the directory isn't
 * writable; "" if it is; null if this user may not try.
 */
export function tryWrite(directory: string): string | null {
  const file = join(directory, `.sluice-doctor-${process.pid}`);
  let opened: number | null = null;
  try {
    opened = openSync(file, "wx", 0o600);
    writeSync(opened, Buffer.alloc(trialBytes, 1));
    fsyncSync(opened);
    return "";
  } catch (error) {
    const { code = "", message } = error as NodeJS.ErrnoException;
    return ["EACCES", "EPERM", "ENOENT", "EEXIST"].includes(code) ? null : message;
  } finally {
    if (opened !== null) {
      closeSync(opened);
      rmSync(file, { force: true });
    }
  }
}
