/**
 * A process that checks a store's file, opens it as the daemon would, reads all of it without
 * writing, and reports the result. LMDB maps its file and trusts it, so damage that the check
 * doesn't find may end this process instead of the daemon. Started by `check-in-process.ts`.
 */
import { checkWholeStore, DamagedStoreError } from "./check-store-file.js";
import { openRoot, readAll } from "./lmdb-file.js";

void report(process.argv[2]!);

async function report(file: string): Promise<void> {
  try {
    checkWholeStore(file);
    const root = openRoot(file);
    readAll(root);
    await root.close();
    process.send?.({ readable: true });
  } catch (error) {
    process.send?.(
      error instanceof DamagedStoreError
        ? { flaw: error.flaw }
        : { problem: error instanceof Error ? error.message : String(error) },
    );
  }
  process.disconnect?.();
}
