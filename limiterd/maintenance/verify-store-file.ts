/** Verifies the file of a store or of a backup without changing it. */

import { refuseNewerSchema } from "../store/migrations.js";
import { readingDirectory, readLmdbStore } from "./read-lmdb-store.js";
import type { StoreReport } from "./store-report.js";
import { verifyStore } from "./verify-store.js";

/** Rejects with `StoreUnreadableError` if it isn't a store that this release can read. */
export async function verifyStoreFile(
  file: string,
  onProgress: (ratio: number) => void,
): Promise<StoreReport> {
  const reading = readingDirectory();
  try {
    const { store, schema, entries, close } = readLmdbStore(file, reading.directory);
    try {
      refuseNewerSchema(file, schema);
      return verifyStore(store, { schema, entries, nowMs: Date.now(), onProgress });
    } finally {
      await close();
    }
  } finally {
    reading.remove();
  }
}
