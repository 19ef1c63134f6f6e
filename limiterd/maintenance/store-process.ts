/**
 * A process that copies or verifies a store for another process, or prepares a copy to replace it,
 * because a damaged file may end the process that reads it. Started by `run-store-process.ts`.
 */

import { StoreUnreadableError } from "../store/store.js";
import { adoptStore } from "./adopt-store.js";
import { copyStore } from "./copy-store.js";
import { lowerPriority } from "./lower-priority.js";
import { verifyStoreFile } from "./verify-store-file.js";

/** As `runStoreProcess` passes them; `other` is the copy to make, or the store to replace. */
const [, , name, file = "", other = ""] = process.argv;
// The parent process has ended, so its result is not needed.
process.on("disconnect", () => process.exit(1));

async function work(): Promise<unknown> {
  lowerPriority();
  switch (name) {
    case "copy":
      return copyStore(file, other);
    case "adopt":
      return adoptStore(file, other === "" ? null : other);
    case "verify":
      return verifyStoreFile(file, (progress) => process.send?.({ progress }));
    default:
      throw new Error(`unknown work: ${name}`);
  }
}

/** Adds the file to errors, because LMDB's messages don't name it. */
function problemOf(error: unknown): string {
  const reason = error instanceof Error ? error.message : String(error);
  return error instanceof StoreUnreadableError ? reason : `${file} can't be read: ${reason}`;
}

void work()
  .then(
    (result) => process.send?.({ result }),
    (error: unknown) => process.send?.({ problem: problemOf(error) }),
  )
  .finally(() => {
    process.removeAllListeners("disconnect");
    process.disconnect?.();
  });
