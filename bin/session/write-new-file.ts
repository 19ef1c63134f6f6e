/** Writes a new file that only its owner may read; never overwrites one. */
import { writeFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { plainFailure } from "../../shared/error-code.js";
import { systemReason } from "../../shared/text/system-reason.js";
import { refusal } from "./command-failure.js";

/** Throws `CommandFailure` if it can't be written. */
export function writeNewFile(file: string, cwd: string, text: string): void {
  try {
    const path = isAbsolute(file) ? file : join(cwd, file);
    writeFileSync(path, text, { flag: "wx", mode: 0o600 });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason =
      code === "EEXIST"
        ? `${file} is there already: it stays as it is`
        : `can't write ${file}: ${systemReason(error)}`;
    throw refusal(plainFailure(400, "invalid_request_error", reason));
  }
}
