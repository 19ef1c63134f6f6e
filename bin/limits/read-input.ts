/** Reads an input file, or standard input for `-`. */
import { randomUUID } from "node:crypto";
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { resolve } from "node:path";
import { systemReason } from "../../shared/text/system-reason.js";
import { usageFailure } from "../session/command-failure.js";

interface Input {
  /** The name in messages. */
  readonly name: string;
  readonly text: string;
}

/** As for a configuration: ten thousand rules take about 1 MB. */
const bytesMax = 16 * 1024 * 1024;
/** The capacity of a pipe. */
const pieceBytes = 64 * 1024;

/** Rejects with `CommandFailure`. */
export async function readInput(file: string, cwd: string): Promise<Input> {
  const isStandard = file === "-";
  const name = isStandard ? "standard input" : file;
  try {
    const bytes = isStandard ? await readStandard() : readFile(resolve(cwd, file));
    return { name, text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why =
      code === "ERR_ENCODING_INVALID_ENCODED_DATA" ? "it isn't UTF-8 text" : systemReason(error);
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

/**
 * Node has made standard input non-blocking: `readSync` can't wait for data that isn't written yet.
 * A terminal is opened again, since it is needed for a confirmation afterwards.
 */
async function readStandard(): Promise<Buffer> {
  if (process.stdin.isTTY) return readFile("/dev/stdin");
  // Node would treat a directory as an input that has ended.
  if (fstatSync(0).isDirectory()) throw Object.assign(new Error(), { code: "EISDIR" });
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of process.stdin as AsyncIterable<Buffer>) {
    bytes += piece.length;
    if (bytes > bytesMax) throw tooLarge();
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Pipes and devices have no length, and some never end. */
function readAll(fd: number): Buffer {
  const pieces: Buffer[] = [];
  const piece = Buffer.allocUnsafe(pieceBytes);
  for (let bytes = 0; ; ) {
    const length = readSync(fd, piece);
    if (length === 0) return Buffer.concat(pieces);
    bytes += length;
    if (bytes > bytesMax) throw tooLarge();
    // Copied: a pipe that is written to line by line is read in small pieces.
    pieces.push(Buffer.from(piece.subarray(0, length)));
  }
}

function tooLarge(): Error {
  return new Error(`it is larger than ${bytesMax} bytes`);
}

/** The id by which the daemon identifies the file. */
export function newFileId(): string {
  return randomUUID();
}
