/**
 * The file with a follower's cursor. It is replaced as a whole, so that a crash leaves the old or
 * the new version, and only one follower at a time may use it.
 */
import { createHash } from "node:crypto";
import { open, readFile, realpath, rename, rm } from "node:fs/promises";
import { createServer, type Server } from "node:net";
import { basename, dirname, join } from "node:path";
import { isCount, isObject, parseJson } from "../../../shared/checked.js";
import { systemReason } from "../../../shared/text/system-reason.js";
import { SinkError } from "./sink.js";

interface CursorNote {
  readonly cursor: string | null;
  /** The number of records of the batch being sent; null if there is none. */
  readonly sending: number | null;
  /** For an output file: its inode and the length of its complete part; otherwise null. */
  readonly output: { readonly inode: number; readonly bytes: number } | null;
}

export class CursorFile {
  readonly #path: string;
  #lock: Server | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  /** Locks the file and returns its content; null if it is new. Rejects with `SinkError`. */
  async open(): Promise<CursorNote | null> {
    this.#lock ??= await this.#take();
    const text = await readFile(this.#path, "utf8").catch((error: NodeJS.ErrnoException) => {
      if (error.code === "ENOENT") return null;
      throw fileFailure(this.#path, error);
    });
    if (text === null) return null;
    const note = parseNote(text);
    if (note !== null) return note;
    throw new SinkError(
      `${this.#path} isn't the cursor of a follower: name another file, or remove this one to begin with the first record`,
      { isPassing: false },
    );
  }

  /** Resolves once it is on disk. Rejects with `SinkError`. */
  async keep(note: CursorNote): Promise<void> {
    const temporary = `${this.#path}.new`;
    try {
      const file = await open(temporary, "w", 0o600);
      try {
        await file.writeFile(`${JSON.stringify(note)}\n`);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(temporary, this.#path);
    } catch (error) {
      await rm(temporary, { force: true }).catch(() => {});
      throw fileFailure(this.#path, error as NodeJS.ErrnoException);
    }
  }

  close(): void {
    this.#lock?.close();
    this.#lock = null;
  }

  /** A socket name without a file: it is released when its owner ends, however it ends. */
  async #take(): Promise<Server> {
    const directory = await realpath(dirname(this.#path)).catch((error: NodeJS.ErrnoException) => {
      throw fileFailure(this.#path, error);
    });
    const id = createHash("sha256")
      .update(join(directory, basename(this.#path)))
      .digest("hex");
    const server = createServer();
    server.unref();
    return await new Promise((resolve, reject) => {
      server.once("error", (error: NodeJS.ErrnoException) =>
        reject(
          error.code === "EADDRINUSE"
            ? new SinkError(`another follower has the cursor ${this.#path}`, { isPassing: false })
            : fileFailure(this.#path, error),
        ),
      );
      server.listen({ path: `\0sluice-follow-${id.slice(0, 32)}` }, () => resolve(server));
    });
  }
}

function parseNote(text: string): CursorNote | null {
  const value = parseJson(text);
  if (!isObject(value)) return null;
  const { cursor, sending, output } = value;
  const inode = isObject(output) ? output["inode"] : null;
  const bytes = isObject(output) ? output["bytes"] : null;
  if (!(cursor === null || typeof cursor === "string") || !(sending === null || isCount(sending)))
    return null;
  if (output === null) return { cursor, sending, output: null };
  return isCount(inode) && isCount(bytes) ? { cursor, sending, output: { inode, bytes } } : null;
}

/** A full disk or a network failure is temporary; a wrong path isn't. */
export function fileFailure(path: string, error: NodeJS.ErrnoException): SinkError {
  const { code = "" } = error;
  return new SinkError(`can't write to ${path}: ${systemReason(error)}`, {
    isPassing: ["ENOSPC", "EDQUOT", "EIO", "EROFS", "ESTALE", "EMFILE", "ENFILE"].includes(code),
    cause: error,
  });
}
