/** Writes a new file that only its owner may read; never overwrites one. */
import { existsSync, writeFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { plainFailure } from "../../shared/error-code.js";
import { systemReason } from "../../shared/text/system-reason.js";
import { type CommandFailure, refusal } from "./command-failure.js";

/** Throws `CommandFailure` if the file exists. */
export function requireNewFile(file: string, cwd: string): void {
  if (existsSync(pathOf(file, cwd))) throw fileExistsFailure(file);
}

/** Throws `CommandFailure` if it can't be written. */
export function writeNewFile(file: string, cwd: string, text: string): void {
  try {
    writeFileSync(pathOf(file, cwd), text, { flag: "wx", mode: 0o600 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw code === "EEXIST"
      ? fileExistsFailure(file)
      : writeRefusal(`can't write ${file}: ${systemReason(error)}`);
  }
}

function pathOf(file: string, cwd: string): string {
  return isAbsolute(file) ? file : join(cwd, file);
}

function fileExistsFailure(file: string): CommandFailure {
  return writeRefusal(`${file} is there already: it stays as it is`);
}

function writeRefusal(reason: string): CommandFailure {
  return refusal(plainFailure(400, "invalid_request_error", reason));
}
