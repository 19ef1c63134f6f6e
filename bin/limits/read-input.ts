/** Reads a file that a command is given, or standard input: `-`. */
import { randomUUID } from "node:crypto";
import { readFileSync, statSync } from "node:fs";
import { resolve } from "node:path";
import { usageFailure } from "../session/command-failure.js";

interface Input {
  /** What it is called in messages. */
  readonly name: string;
  readonly text: string;
}

/** As of a configuration: ten thousand rules take about one megabyte. */
const bytesMax = 16 * 1024 * 1024;

/** Throws `CommandFailure`. */
export function readInput(file: string, cwd: string): Input {
  const isStandard = file === "-";
  const name = isStandard ? "standard input" : file;
  try {
    const path = isStandard ? 0 : resolve(cwd, file);
    if (statOf(path) > bytesMax) throw new Error(`it is larger than ${bytesMax} bytes`);
    const bytes = readFileSync(path);
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

/** Of a pipe 0: it is bounded by what is written to it. */
function statOf(path: string | 0): number {
  return path === 0 ? 0 : statSync(path).size;
}

/** What the daemon knows a file by while it takes it. */
export function newFileId(): string {
  return randomUUID();
}
