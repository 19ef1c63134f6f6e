/**
 * What the doctor reads of this host. Whatever can't be read is null; nothing is changed, but for a
 * file in the data directory that is removed at once.
 */
import { readFileSync, statfsSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { readSynchronized } from "./host-clock.js";
import { type InstalledUnits, readInstalledUnits } from "./installed-units.js";
import { tryWrite } from "./try-write.js";

/** A file or directory; null: it isn't there, or may not be looked at. */
export interface PlaceFacts {
  readonly path: string;
  /** Of the permissions, the last nine bits. */
  readonly mode: number;
  readonly uid: number;
}

interface DiskFacts {
  readonly freeBytes: number;
  readonly totalBytes: number;
  /** As `statfs` tells it, such as NFS. */
  readonly fileSystem: string | null;
}

export interface HostFacts {
  readonly nodeVersion: string;
  /** How many files a process may open; null: unknown, or no limit. */
  readonly filesMax: number | null;
  /** How many connections wait to be accepted. */
  readonly backlogMax: number | null;
  readonly configFile: PlaceFacts | null;
  readonly dataDir: PlaceFacts | null;
  readonly secretFiles: readonly PlaceFacts[];
  readonly disk: DiskFacts | null;
  /** Why the data directory takes no file, "" if it does; null: this user may not try. */
  readonly trialWrite: string | null;
  readonly units: InstalledUnits;
  /** Whether something keeps the clock right; null: unknown. */
  readonly synchronized: boolean | null;
}

export function readHostFacts(paths: {
  readonly configFile: string | null;
  readonly dataDir: string | null;
  readonly secretFiles: readonly string[];
  /** The directory of the program that runs. */
  readonly programs: string;
}): HostFacts {
  const { configFile, dataDir, secretFiles, programs } = paths;
  const limits = /^Max open files\s+(\d+)/m.exec(readText("/proc/self/limits") ?? "")?.[1];
  const backlog = readText("/proc/sys/net/core/somaxconn");
  return {
    nodeVersion: process.versions.node,
    filesMax: limits === undefined ? null : Number(limits),
    backlogMax: backlog === null ? null : Number(backlog),
    configFile: configFile === null ? null : placeOf(configFile),
    dataDir: dataDir === null ? null : placeOf(dataDir),
    secretFiles: secretFiles.map(placeOf).filter((place) => place !== null),
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
    // Another operating system, or a container without /proc: it is unknown then.
    return null;
  }
}

function placeOf(path: string): PlaceFacts | null {
  try {
    const { mode, uid } = statSync(path);
    return { path, mode: mode & 0o777, uid };
  } catch {
    // It isn't there, or it is another user's: other checks say so.
    return null;
  }
}

/** File systems on which LMDB's locks and memory maps don't work as they must. */
const shared: Readonly<Record<number, string>> = {
  26985: "NFS",
  4283649346: "CIFS",
  4266872130: "SMB2",
  1702057286: "FUSE",
  16914839: "9P",
};

/** Of a directory that may not be there yet: of the next one above it. */
function diskOf(path: string): DiskFacts | null {
  for (let at = path; ; at = dirname(at)) {
    try {
      const { bavail, blocks, bsize, type } = statfsSync(at);
      return {
        freeBytes: bavail * bsize,
        totalBytes: blocks * bsize,
        fileSystem: shared[type >>> 0] ?? null,
      };
    } catch {
      if (at === dirname(at)) return null;
    }
  }
}
