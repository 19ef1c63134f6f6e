/**
 * The file in which a follower keeps how far it is. It is exchanged as a whole, so that a crash
 * leaves the old one or the new one; and one follower at a time has it.
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
  /** Of a batch that is being sent: how many records it has; null: none is. */
  readonly sending: number | null;
  /** Of an output file: its inode and how much of it is complete; null without one. */
  readonly output: { readonly inode: number; readonly bytes: number } | null;
}

export class CursorFile {
  readonly #path: string;
  #lock: Server | null = null;

  constructor(path: string) {
    this.#path = path;
  }

  /** What was kept, locked from now on; null: nothing was. Rejects with `SinkError`. */
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

  /** Resolves when it is on the disk. Rejects with `SinkError`. */
  async keep(note: CursorNote): Promise<void> {
    const fresh = `${this.#path}.new`;
    try {
      const file = await open(fresh, "w", 0o600);
      try {
        await file.writeFile(`${JSON.stringify(note)}\n`);
        await file.sync();
      } finally {
        await file.close();
      }
      await rename(fresh, this.#path);
    } catch (error) {
      await rm(fresh, { force: true }).catch(() => {});
      throw fileFailure(this.#path, error as NodeJS.ErrnoException);
    }
  }

  close(): void {
    this.#lock?.close();
    this.#lock = null;
  }

  /** A name without a file: it is free as soon as its owner has ended, however that was. */
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

/** A full disk passes, and so does a network's; a wrong path doesn't. */
export function fileFailure(path: string, error: NodeJS.ErrnoException): SinkError {
  const { code = "" } = error;
  return new SinkError(`can't write to ${path}: ${systemReason(error)}`, {
    isPassing: ["ENOSPC", "EDQUOT", "EIO", "EROFS", "ESTALE", "EMFILE", "ENFILE"].includes(code),
    cause: error,
  });
}
