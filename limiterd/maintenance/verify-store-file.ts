/** Verifies the file of a store, or a backup of one, of which nothing is changed. */

import { refuseNewerSchema } from "../store/migrations.js";
import { readingDirectory, readLmdbStore } from "./read-lmdb-store.js";
import type { StoreReport } from "./store-report.js";
import { verifyStore } from "./verify-store.js";

/** Rejects with `StoreUnreadableError` for what isn't a store that this release can read. */
export async function verifyStoreFile(
  file: string,
  onProgress: (ratio: number) => void,
): Promise<StoreReport> {
  const reading = readingDirectory();
  const unreadableKeys: string[] = [];
  try {
    const { store, schema, entries, close } = readLmdbStore(file, reading.directory, (table, key) =>
      unreadableKeys.push(`a key of ${table} can't be read: ${key}`),
    );
    try {
      refuseNewerSchema(file, schema);
      const report = verifyStore(store, { schema, entries, nowMs: Date.now(), onProgress });
      return { ...report, problems: [...report.problems, ...unreadableKeys] };
    } finally {
      await close();
    }
  } finally {
    reading.remove();
  }
}
