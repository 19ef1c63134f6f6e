/**
 * A process that opens a store as the daemon would, reads all of it and writes nothing, and says
 * whether that went well. LMDB maps its file and trusts it: a page that is missing or torn ends the
 * process that meets it, and so it had better be this one. Started by `check-in-process.ts`.
 */
import { openRoot, readAll } from "./lmdb-file.js";

const file = process.argv[2]!;
try {
  const root = openRoot(file);
  readAll(root);
  await root.close();
  process.send?.({ readable: true });
} catch (error) {
  process.send?.({ problem: error instanceof Error ? error.message : String(error) });
}
process.disconnect?.();
