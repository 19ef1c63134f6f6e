/**
 * The directory in which stopping proxies leave their settles. It writes a file completely or not
 * at all, and lets only one proxy take it. `settle-file.ts` has the format of a file.
 *
 * While a proxy delivers a file, the file's name contains the proxy's id, and the proxy touches it
 * from time to time, so a file of a proxy that died becomes free after a while. Two proxies that
 * deliver the same file count nothing twice: the daemon recognizes settles by their numbers. Names
 * and times only save work, and prevent delivery of settles that the daemon may have forgotten.
 */
import { lstat, mkdir, open, readdir, rename, stat, unlink, utimes } from "node:fs/promises";
import { join } from "node:path";
import { settledRetentionMs, spoolBytesMax } from "../../../shared/bounds.js";
import type { Settle } from "../../../shared/wire/message-to-daemon.js";
import { endFrame, headFrame, type SettleFileHead, settleFrame } from "./settle-file.js";

/** The age of a file's last touch after which no process is delivering it any more, in ms. */
const takenMs = 10_000;

/** One day less than the daemon's own retention: clocks and its last write differ a little. */
const rememberedMs = settledRetentionMs - 24 * 3_600_000;

const unfinished = ".settles.part";

/** The suffix of a file that can't be delivered. */
const refused = ".refused";

const pieceBytes = 256 * 1024;
const settlesPerPiece = 500;
const writableByOthers = 0o022;

/** The owner whose files are trusted: another user's could charge anyone. */
const ownUid = process.geteuid?.() ?? 0;

/** A file that this process may take or must set aside. */
export interface SpoolFile {
  readonly name: string;
  readonly proxyId: string;
  /** When its delivery was last tried; null if never. */
  readonly triedAtMs: number | null;
  /** Why the file can't be trusted; null if it can. */
  readonly flaw: string | null;
}

export class SettleDirectory {
  readonly path: string;
  /** This process, as it appears in the names of its files. */
  readonly #self: string;

  constructor(path: string, self: string) {
    this.path = path;
    this.#self = self;
  }

  /**
   * Creates the directory, but not its parent, which is the daemon's. Rejects if it can't be used.
   */
  async prepare(): Promise<void> {
    await mkdir(this.path, { mode: 0o700 }).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "EEXIST") throw error;
    });
    const { uid, mode } = await stat(this.path);
    if ((uid !== ownUid && uid !== 0) || (mode & writableByOthers) !== 0)
      throw new Error(
        `${this.path} must belong to this user and be writable by this user only (uid ${uid}, mode ${(mode & 0o7777).toString(8)})`,
      );
  }

  /** The files that no other proxy is delivering. */
  async find(nowMs: number): Promise<SpoolFile[]> {
    const files: SpoolFile[] = [];
    for (const name of await readdir(this.path)) {
      const parsed = parseFileName(name.replace(/\.part$/, ""));
      const status = await lstat(join(this.path, name)).catch(() => null);
      if (parsed === null || status === null) continue;
      const { proxyId, takenBy } = parsed;
      const isUntouched = nowMs - status.mtimeMs > takenMs;
      if (isUnfinished(name) ? !isUntouched : !isFree(parsed, status.mtimeMs, nowMs)) continue;
      const isTrusted =
        status.isFile() && status.uid === ownUid && (status.mode & writableByOthers) === 0;
      files.push({
        name,
        proxyId,
        triedAtMs: takenBy === null ? null : status.mtimeMs,
        flaw: isUnfinished(name)
          ? "its proxy was killed while it wrote the file"
          : isTrusted
            ? null
            : `it isn't a file of this user alone (uid ${status.uid})`,
      });
    }
    return files;
  }

  /** Null if another proxy was first. */
  async take({ name, proxyId }: SpoolFile): Promise<ClaimedFile | null> {
    const path = join(this.path, fileName({ proxyId, takenBy: this.#self }));
    const releasedPath = join(this.path, fileName({ proxyId, takenBy: "" }));
    try {
      await rename(join(this.path, name), path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
      throw error;
    }
    const file = new ClaimedFile(path, releasedPath);
    return (await file.touch()) ? file : null;
  }

  /** Renames a file that a person must inspect. */
  async setAside(name: string): Promise<void> {
    await rename(join(this.path, name), join(this.path, name + refused));
  }

  /**
   * Writes a file of settles. Returns their number, as many as the bound on the directory allows.
   * Rejects if it can't be written; then no file remains.
   */
  async write(head: SettleFileHead, settles: Iterable<Settle>): Promise<number> {
    const path = join(this.path, fileName({ proxyId: head.proxyId, takenBy: null }));
    const part = path.replace(/\.settles$/, unfinished);
    let bytesLeft = spoolBytesMax - (await this.#totalBytes());
    let writtenCount = 0;
    const file = await open(part, "wx", 0o600);
    try {
      let gathered = [headFrame(head)];
      for (const settle of settles) {
        const frame = settleFrame(settle);
        bytesLeft -= frame.length;
        if (bytesLeft < 0) break;
        gathered.push(frame);
        if (++writtenCount % settlesPerPiece > 0) continue;
        await file.appendFile(Buffer.concat(gathered));
        gathered = [];
      }
      await file.appendFile(Buffer.concat([...gathered, endFrame(writtenCount)]));
      await file.sync();
      await rename(part, path);
      await this.#sync();
      return writtenCount;
    } catch (error) {
      await unlink(part).catch(() => {});
      throw error;
    } finally {
      await file.close();
    }
  }

  /** The size of all files in the directory. */
  async #totalBytes(): Promise<number> {
    let bytes = 0;
    for (const name of await readdir(this.path)) {
      const status = await lstat(join(this.path, name)).catch(() => null);
      bytes += status?.size ?? 0;
    }
    return bytes;
  }

  /** Makes the new name durable. */
  async #sync(): Promise<void> {
    const directory = await open(this.path, "r");
    await directory.sync().finally(() => directory.close());
  }
}

/** A file that this process is delivering. */
export class ClaimedFile {
  readonly path: string;
  readonly #releasedPath: string;

  /** `releasedPath`: the file's path once it is left to the next proxy. */
  constructor(path: string, releasedPath: string) {
    this.path = path;
    this.#releasedPath = releasedPath;
  }

  async *readPieces(): AsyncGenerator<Buffer> {
    const file = await open(this.path, "r");
    try {
      for (;;) {
        const piece = Buffer.allocUnsafe(pieceBytes);
        const { bytesRead } = await file.read(piece, 0, pieceBytes);
        if (bytesRead === 0) return;
        yield piece.subarray(0, bytesRead);
      }
    } finally {
      await file.close();
    }
  }

  /** Marks the file as being delivered; false if another proxy has taken it meanwhile. */
  async touch(): Promise<boolean> {
    const now = new Date();
    return utimes(this.path, now, now).then(
      () => true,
      () => false,
    );
  }

  /** Leaves the file to the next proxy. */
  async release(): Promise<void> {
    await rename(this.path, this.#releasedPath).catch(() => {});
  }

  async setAside(): Promise<void> {
    await rename(this.path, this.#releasedPath.replace(/~$/, refused));
  }

  /** Removes the file after its delivery. */
  async remove(): Promise<void> {
    await unlink(this.path).catch(() => {});
  }
}

interface SettleFileName {
  readonly proxyId: string;
  /** The proxy that delivers it; empty if that gave it up; null if none ever has. */
  readonly takenBy: string | null;
}

/** Null for any other file. */
export function parseFileName(name: string): SettleFileName | null {
  const [, proxyId, takenBy = null] = /^([\w-]{1,64})\.settles(?:~([\w-]*))?$/.exec(name) ?? [];
  return proxyId === undefined ? null : { proxyId, takenBy };
}

export function fileName({ proxyId, takenBy }: SettleFileName): string {
  return `${proxyId}.settles${takenBy === null ? "" : `~${takenBy}`}`;
}

/** Whether the file is incomplete: a proxy was killed while writing it. */
function isUnfinished(name: string): boolean {
  return name.endsWith(unfinished);
}

/** Whether the file may be taken. */
export function isFree({ takenBy }: SettleFileName, touchedAtMs: number, nowMs: number): boolean {
  return takenBy === null || takenBy === "" || nowMs - touchedAtMs > takenMs;
}

/**
 * Whether the daemon may have forgotten which of the settles it has counted. `triedAtMs`: when
 * their delivery was last tried; null if never.
 */
export function isForgotten(
  { sentAtMs }: Pick<SettleFileHead, "sentAtMs">,
  triedAtMs: number | null,
  nowMs: number,
): boolean {
  const knownAtMs = Math.max(sentAtMs, triedAtMs ?? 0);
  return knownAtMs > 0 && nowMs - knownAtMs > rememberedMs;
}
