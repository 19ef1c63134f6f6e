/**
 * Writes followed records as lines, to a file or to standard output. The cursor's file notes the
 * length of the complete part of the output file. If a crash or a full disk has left more, the rest
 * is truncated, so that each record is in the file once.
 */
import { type FileHandle, open, stat } from "node:fs/promises";
import { type CursorFile, fileFailure } from "../follow/cursor-file.js";
import type { Sink } from "../follow/sink.js";
import { recordLines } from "../follow/sink.js";

/**
 * An output file that may be renamed at any time, as logs are: the next batch then creates a new
 * one.
 */
export function fileSink(path: string, cursor: CursorFile): Sink {
  let file: FileHandle | null = null;
  let inode = 0;
  let bytes = 0;
  const withErrors = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      throw (error as NodeJS.ErrnoException).code === undefined
        ? error
        : fileFailure(path, error as NodeJS.ErrnoException);
    }
  };
  const begin = async (): Promise<void> => {
    await file?.close();
    // Not in append mode: the truncated part must be overwritten.
    file = await open(path, "r+").catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
      return open(path, "wx+", 0o600);
    });
    const stats = await file.stat();
    if (!stats.isFile()) {
      await file.close();
      file = null;
      throw Object.assign(new Error("it isn't a regular file"), { code: "ENOTREG" });
    }
    inode = stats.ino;
    bytes = stats.size;
  };
  const keep = (position: string | null): Promise<void> =>
    cursor.keep({ cursor: position, sending: null, output: { inode, bytes } });
  return {
    async open() {
      const note = await cursor.open();
      const { output = null, cursor: position = null } = note ?? {};
      await withErrors(async () => {
        await begin();
        if (output?.inode !== inode || output.bytes >= bytes) return;
        await file!.truncate(output.bytes);
        bytes = output.bytes;
      });
      if (output?.inode !== inode || output.bytes !== bytes) await keep(position);
      return { cursor: position, repeat: null };
    },
    async take(batch) {
      const stats = await stat(path).catch(() => null);
      if (stats?.ino !== inode || stats.size < bytes) {
        await withErrors(begin);
        // Noted first, so that a start after a crash truncates what was written to the new file.
        await keep(batch.after);
      }
      await withErrors(async () => {
        const text = Buffer.from(recordLines(batch));
        await file!.write(text, 0, text.length, bytes).then(({ bytesWritten }) => {
          if (bytesWritten < text.length)
            throw Object.assign(new Error("no space left on device"), { code: "ENOSPC" });
        });
        await file!.sync();
        bytes += text.length;
      });
      await keep(batch.next);
      return "taken";
    },
    async close() {
      await file?.close();
      file = null;
      cursor.close();
    },
  };
}

/** `write` resolves once the text has been written. `cursor`: null if none is kept. */
export function outputSink(
  write: (text: string) => Promise<void>,
  cursor: CursorFile | null,
): Sink {
  let position: string | null = null;
  return {
    async open() {
      const note = await cursor?.open();
      position = note?.cursor ?? position;
      return { cursor: position, repeat: null };
    },
    async take(batch) {
      const text = recordLines(batch);
      if (text !== "") await write(text);
      position = batch.next;
      await cursor?.keep({ cursor: batch.next, sending: null, output: null });
      return "taken";
    },
    async close() {
      cursor?.close();
    },
  };
}
