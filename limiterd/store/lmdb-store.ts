/**
 * The store port on LMDB: one file, a table of LMDB for each of ours. Here it is opened, read and
 * committed; the bytes of a value are in `sealed-value.ts`, the file and those
 * beside it in `store-file.ts`, the trial of a full disk in `disk-trial.ts`.
 */
import { existsSync } from "node:fs";
import { type Database, open, type RootDatabase } from "lmdb";
import { checkStoreFile } from "./check-store-file.js";
import { plainReason, tryToWrite } from "./disk-trial.js";
import { schemaVersion, sealValue, unsealValue } from "./sealed-value.js";
import {
  type Change,
  type Entry,
  type KeyRange,
  type Store,
  StoreFailingError,
  StoreLockedError,
  StoreUnreadableError,
  type Table,
  tables,
} from "./store.js";
import {
  fileBytes,
  placeStoreFile,
  prepareStoreFile,
  removeUnfinished,
  trialBytes,
  trialFile,
} from "./store-file.js";
import { isOtherOwnerAlive, ownerMark, ownerPid } from "./store-owner.js";

/** What lmdb takes with pages of 4 KiB, less what it adds to a text. */
const keyBytesMax = 1970;

/**
 * While the disk fails, one commit in so many goes to LMDB whatever the trial finds: one in a
 * minute.
 */
const commitsPerUntried = 60;

type Bytes = Database<Buffer, string | number>;

/**
 * Opens the store in `dataDir`, a directory that is created if it isn't there. Rejects with
 * `StoreLockedError` or `StoreUnreadableError`.
 */
export async function openLmdbStore(dataDir: string): Promise<Store> {
  const file = await prepareStoreFile(dataDir);
  if (!existsSync(file)) await makeStore(file);
  const root = openRoot(file);
  try {
    const meta: Bytes = root.openDB({ name: "meta", encoding: "binary" });
    // One transaction: of two daemons that start at once, the second sees the first.
    root.transactionSync(() => claim(file, meta));
    removeUnfinished(dataDir);
    return new LmdbStore(file, root, meta);
  } catch (error) {
    await root.close();
    throw error instanceof StoreUnreadableError || error instanceof StoreLockedError
      ? error
      : unreadable(file, error);
  }
}

async function makeStore(file: string): Promise<void> {
  try {
    await placeStoreFile(file, async (fresh) => {
      const root = openRoot(fresh);
      try {
        root
          .openDB<Buffer, string>({ name: "meta", encoding: "binary" })
          .putSync("schema", Buffer.from(String(schemaVersion)));
        await root.flushed;
      } finally {
        await root.close();
      }
    });
  } catch (error) {
    throw error instanceof StoreUnreadableError ? error : unreadable(file, error);
  }
}

/** Throws when this process may not have the store; otherwise writes down that it has it. */
function claim(file: string, meta: Bytes): void {
  const schema = meta.get("schema");
  if (schema !== undefined && schema.toString() !== String(schemaVersion)) {
    throw new StoreUnreadableError(
      `${file} has the schema version ${schema.toString()}, this Sluice reads ${schemaVersion}`,
    );
  }
  const owner = meta.get("owner")?.toString();
  if (owner !== undefined && isOtherOwnerAlive(owner))
    throw new StoreLockedError(`${file} is in use by the process ${ownerPid(owner)}`);
  meta.putSync("schema", Buffer.from(String(schemaVersion)));
  meta.putSync("owner", Buffer.from(ownerMark()));
}

function openRoot(file: string): RootDatabase<Buffer, string | number> {
  // LMDB creates its files by the mask: they are readable by their owner alone.
  const mask = process.umask(0o077);
  try {
    if (existsSync(file)) checkStoreFile(file);
    return open<Buffer, string | number>({
      path: file,
      noSubdir: true,
      encoding: "binary",
      maxDbs: 16,
      eventTurnBatching: false,
    });
  } catch (error) {
    throw error instanceof StoreUnreadableError ? error : unreadable(file, error);
  } finally {
    process.umask(mask);
  }
}

function unreadable(file: string, cause: unknown): StoreUnreadableError {
  return new StoreUnreadableError(`${file} can't be opened: ${plainReason(cause)}`, { cause });
}

/**
 * Why a commit failed. lmdb reports it by a promise of its own, which must be handled or it ends
 * the process.
 */
async function commitFailure(error: unknown): Promise<unknown> {
  const reported =
    typeof error === "object" && error !== null && "commitError" in error
      ? error.commitError
      : null;
  return reported instanceof Promise
    ? await reported.then(
        () => error,
        (reason: unknown) => reason,
      )
    : error;
}

class LmdbStore implements Store {
  readonly file: string;
  readonly #root: RootDatabase<Buffer, string | number>;
  readonly #meta: Bytes;
  readonly #tables: ReadonlyMap<Table, Bytes>;
  /** Commits that failed since one succeeded. */
  #failed = 0;

  constructor(file: string, root: RootDatabase<Buffer, string | number>, meta: Bytes) {
    this.file = file;
    this.#root = root;
    this.#meta = meta;
    this.#tables = new Map(tables.map((name) => [name, root.openDB({ name, encoding: "binary" })]));
  }

  /** Every table has been opened. */
  #db(table: Table): Bytes {
    return this.#tables.get(table)!;
  }

  *entries(table: Table): Iterable<Entry> {
    for (const { key, value } of this.#db(table).getRange({})) {
      yield { key, value: this.#unseal(table, key, value) };
    }
  }

  get(table: Table, key: string | number): readonly unknown[] | undefined {
    const sealed = this.#db(table).get(key);
    return sealed === undefined ? undefined : this.#unseal(table, key, sealed);
  }

  range(table: Table, { from, before, limit }: KeyRange): Entry[] {
    return Array.from(
      this.#db(table).getRange({ start: from, end: before, limit }),
      ({ key, value }) => ({ key, value: this.#unseal(table, key, value) }),
    );
  }

  keys(
    table: Table,
    { from, before, limit, reverse = false }: KeyRange & { readonly reverse?: boolean },
  ): (string | number)[] {
    const keys = this.#db(table);
    if (!reverse) return Array.from(keys.getKeys({ start: from, end: before, limit }));
    // Backwards LMDB begins with its start, which here is not part of the range.
    return Array.from(keys.getKeys({ start: before, end: from, limit: limit + 1, reverse: true }))
      .filter((key) => key !== before)
      .slice(0, limit);
  }

  async commit(changes: readonly Change[]): Promise<void> {
    // What can fail by itself is done before the first write, and `batch` puts the writes into one
    // transaction: a commit is complete or nothing.
    const sealed = changes.map(({ table, key, value }) => {
      if (typeof key === "string" && Buffer.byteLength(key) > keyBytesMax)
        throw new Error(`a key of ${table} is longer than ${keyBytesMax} bytes`);
      return value === undefined ? undefined : sealValue(value);
    });
    const tryDisk = (): Promise<void> =>
      tryToWrite(trialFile(this.file), {
        at: this.sizeBytes() ?? 0,
        bytes: sealed.reduce((bytes, value) => bytes + (value?.length ?? 0), trialBytes),
      });
    // LMDB prints each of its failures: while the disk is full a commit reaches it now and then
    // only, in case the trial is wrong.
    if (this.#failed % commitsPerUntried !== 0)
      await tryDisk().catch((error: unknown) => this.#fail(error));
    try {
      await this.#root.batch(() => {
        for (const [i, { table, key }] of changes.entries()) {
          const db = this.#db(table);
          const value = sealed[i];
          void (value === undefined ? db.remove(key) : db.put(key, value));
        }
      });
      // Committed survives this process, flushed survives the machine.
      await this.#root.flushed;
      this.#failed = 0;
    } catch (error) {
      const failure = await commitFailure(error);
      // The disk's own reason is better: LMDB calls it an I/O error when only a part found room.
      this.#fail(
        await tryDisk().then(
          () => failure,
          (diskFailure: unknown) => diskFailure,
        ),
      );
    }
  }

  #fail(cause: unknown): never {
    this.#failed++;
    throw new StoreFailingError(plainReason(cause), { cause });
  }

  sizeBytes(): number | null {
    return fileBytes(this.file);
  }

  async close(): Promise<void> {
    if (this.#meta.get("owner")?.toString() === ownerMark()) await this.#meta.remove("owner");
    await this.#root.flushed;
    await this.#root.close();
  }

  #unseal(table: Table, key: string | number, sealed: Buffer): readonly unknown[] {
    const value = unsealValue(sealed);
    if (value === null)
      throw new StoreUnreadableError(
        `${this.file} can't be read: the entry ${JSON.stringify(key)} of ${table} is damaged`,
      );
    return value;
  }
}
