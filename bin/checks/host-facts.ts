/** What the doctor reads of this host. Whatever can't be read is null; nothing is changed. */
import { readFileSync, statfsSync, statSync } from "node:fs";
import { dirname } from "node:path";

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
  readonly disk: DiskFacts | null;
}

export function readHostFacts(paths: {
  readonly configFile: string | null;
  readonly dataDir: string | null;
}): HostFacts {
  const { configFile, dataDir } = paths;
  const limits = /^Max open files\s+(\d+)/m.exec(readText("/proc/self/limits") ?? "")?.[1];
  const backlog = readText("/proc/sys/net/core/somaxconn");
  return {
    nodeVersion: process.versions.node,
    filesMax: limits === undefined ? null : Number(limits),
    backlogMax: backlog === null ? null : Number(backlog),
    configFile: configFile === null ? null : placeOf(configFile),
    dataDir: dataDir === null ? null : placeOf(dataDir),
    disk: dataDir === null ? null : diskOf(dataDir),
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
