/** Reads a file that a command is given, or standard input: `-`. */
import { randomUUID } from "node:crypto";
import { closeSync, openSync, readSync } from "node:fs";
import { resolve } from "node:path";
import { usageFailure } from "../session/command-failure.js";

interface Input {
  /** What it is called in messages. */
  readonly name: string;
  readonly text: string;
}

/** As of a configuration: ten thousand rules take about one megabyte. */
const bytesMax = 16 * 1024 * 1024;
/** What a pipe holds. */
const pieceBytes = 64 * 1024;

/** Throws `CommandFailure`. */
export function readInput(file: string, cwd: string): Input {
  const isStandard = file === "-";
  const name = isStandard ? "standard input" : file;
  try {
    const bytes = isStandard ? readAll(0) : readFile(resolve(cwd, file));
    return { name, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why =
      code === "ENOENT"
        ? "there is no such file"
        : code === "EISDIR"
          ? "it is a directory"
          : code === "ERR_ENCODING_INVALID_ENCODED_DATA"
            ? "it isn't UTF-8 text"
            : message;
    throw usageFailure([{ message: `${name} can't be read: ${why}`, param: "file" }]);
  }
}

function readFile(path: string): Buffer {
  const fd = openSync(path, "r");
  try {
    return readAll(fd);
  } finally {
    closeSync(fd);
  }
}

/** Pipes and devices don't say how long they are, and some never end. */
function readAll(fd: number): Buffer {
  const pieces: Buffer[] = [];
  const piece = Buffer.allocUnsafe(pieceBytes);
  for (let bytes = 0; ; ) {
    const read = readSync(fd, piece);
    if (read === 0) return Buffer.concat(pieces);
    bytes += read;
    if (bytes > bytesMax) throw new Error(`it is larger than ${bytesMax} bytes`);
    // Copied: a pipe that is written to line by line is read in small pieces.
    pieces.push(Buffer.from(piece.subarray(0, read)));
  }
}

/** What the daemon knows a file by while it takes it. */
export function newFileId(): string {
  return randomUUID();
}
