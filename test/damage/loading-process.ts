/**
 * Opens stores as a daemon's start does, in a process of its own: one for each message. It answers
 * with all that is in the store, then works with it, or with why it doesn't open.
 */
import { hash } from "node:crypto";
import { checkWholeStore } from "../../limiterd/store/lmdb/check-store-file.js";
import { openLmdbStore } from "../../limiterd/store/lmdb/open-lmdb-store.js";
import { type Change, tables } from "../../limiterd/store/store.js";
import { contentOf } from "../support/worked-store.js";

export type Loaded =
  | { readonly kind: "served"; readonly digest: string }
  | { readonly kind: "refused"; readonly name: string; readonly message: string };

async function load(directory: string): Promise<Loaded> {
  try {
    const store = await openLmdbStore(directory);
    const digest = hash("sha256", contentOf(store));
    for (let round = 0; round < 3; round++)
      await store.commit(
        tables.map(
          (table): Change => ({ table, key: `damage-${round}`, value: ["x".repeat(5000 * round)] }),
        ),
      );
    await store.close();
    checkWholeStore(store.file);
    return { kind: "served", digest };
  } catch (error) {
    const { name, message } = error instanceof Error ? error : new Error(String(error));
    return { kind: "refused", name, message };
  }
}

process.on("disconnect", () => process.exit(0));
process.on("message", (directory: string) => void load(directory).then((it) => process.send?.(it)));
