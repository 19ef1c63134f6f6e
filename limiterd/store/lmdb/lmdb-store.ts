/**
 * The store port on LMDB: one file, with an LMDB table for each of the store's tables. Reads and
 * commits are here. Not here: opening it (`open-lmdb-store.ts`), the bytes of keys and values
 * (`entry-bytes.ts`), and the trial of a full disk (`probe-disk.ts`).
 */
import { windowsPerSlice } from "../../../shared/bounds.js";
import { Turns } from "../../../shared/long-lists.js";
import {
  type Change,
  type Entry,
  type KeyRange,
  type Store,
  StoreBrokenError,
  StoreFailingError,
  type Table,
} from "../store.js";
import { DamagedStoreError } from "./check-store-file.js";
import {
  keyFromBytes,
  keyToBytes,
  type SealedChange,
  sealChange,
  unsealValue,
} from "./entry-bytes.js";
import {
  type Bytes,
  commitFailure,
  type Meta,
  type Root,
  tableSize,
  usedBytes,
} from "./lmdb-file.js";
import { damageReason, plainReason, probeDisk, untrustedDiskText } from "./probe-disk.js";
import { fileBytes, inodeOf, trialBytes, trialFile } from "./store-file.js";
import type { StoreLock } from "./store-lock.js";
import { markClosed, markInUse, touchMark, touchMs } from "./store-mark.js";
import { ownerMark } from "./store-owner.js";

/**
 * While the disk fails, one in this many commits goes to LMDB whatever the trial finds: about one a
 * minute.
 */
const commitsPerUntried = 60;

interface OpenedStore {
  readonly root: Root;
  readonly meta: Meta;
  readonly lock: StoreLock | null;
  /** Whether the store names this process as its owner. */
  readonly isOwned: boolean;
  readonly tables: ReadonlyMap<Table, Bytes>;
}

export class LmdbStore implements Store {
  readonly file: string;
  readonly #place: StorePlace;
  readonly #root: Root;
  readonly #meta: Meta;
  readonly #lock: StoreLock | null;
  #isOwned: boolean;
  /** Whether the mark notes keys. */
  #hasKeys: boolean;
  #touchedAtMs = 0;
  readonly #tables: ReadonlyMap<Table, Bytes>;
  /** Commits that failed since one succeeded. */
  #failedCommits = 0;

  constructor(file: string, { root, meta, lock, isOwned, tables }: OpenedStore) {
    this.file = file;
    // The inode identifies the file.
    const inode = inodeOf(file);
    this.#place = new StorePlace(() => inodeOf(file) === inode && lock?.isHeld() !== false);
    this.#root = root;
    this.#meta = meta;
    this.#lock = lock;
    this.#isOwned = isOwned;
    this.#tables = tables;
    this.#hasKeys = tableSize(tables.get("keys")!).entries > 0;
  }

  #db(table: Table): Bytes {
    return this.#tables.get(table)!;
  }

  *entries(table: Table): Iterable<Entry> {
    // A start reads 100,000: one generator, not two.
    try {
      for (const { key, value } of this.#db(table).getRange({}))
        yield this.#entry(table, key, value);
    } catch (error) {
      this.#failRead(error);
    }
  }

  get(table: Table, key: string | number): readonly unknown[] | undefined {
    try {
      const keyBytes = keyToBytes(key);
      const sealed = this.#db(table).get(keyBytes);
      return sealed === undefined ? undefined : this.#entry(table, keyBytes, sealed).value;
    } catch (error) {
      return this.#failRead(error);
    }
  }

  range(table: Table, { from, before, limit }: KeyRange): Entry[] {
    const range = { start: keyToBytes(from), end: keyToBytes(before), limit };
    try {
      return Array.from(this.#db(table).getRange(range), ({ key, value }) =>
        this.#entry(table, key, value),
      );
    } catch (error) {
      return this.#failRead(error);
    }
  }

  keys(table: Table, { from, before, limit }: KeyRange): (string | number)[] {
    return this.#keys(table, { start: keyToBytes(from), end: keyToBytes(before), limit });
  }

  lastKeys(table: Table, { from, before, limit }: KeyRange): (string | number)[] {
    const [start, end] = [keyToBytes(before), keyToBytes(from)];
    return this.#keys(table, {
      start,
      exclusiveStart: true,
      end,
      inclusiveEnd: true,
      reverse: true,
      limit,
    });
  }

  #keys(table: Table, options: Parameters<Bytes["getKeys"]>[0]): (string | number)[] {
    try {
      return Array.from(this.#db(table).getKeys(options), (bytes) => this.#key(table, bytes));
    } catch (error) {
      return this.#failRead(error);
    }
  }

  #key(table: Table, bytes: Uint8Array): string | number {
    const key = keyFromBytes(bytes);
    if (key === null)
      throw new DamagedStoreError(
        this.file,
        `the entry ${Buffer.from(bytes).toString("hex")} of ${table} is damaged`,
      );
    return key;
  }

  #entry(table: Table, bytes: Uint8Array, sealed: Buffer): Entry {
    const key = this.#key(table, bytes);
    const value = unsealValue(table, bytes, sealed);
    if (value === null)
      throw new DamagedStoreError(
        this.file,
        `the entry ${JSON.stringify(key)} of ${table} is damaged`,
      );
    return { key, value };
  }

  /** Throws the error, as a `DamagedStoreError` if LMDB finds the file damaged. */
  #failRead(error: unknown): never {
    const damage = damageReason(error);
    throw damage === null ? error : new DamagedStoreError(this.file, damage);
  }

  async commit(changes: readonly Change[]): Promise<void> {
    // Everything that can fail on its own runs before the first write, and `batch` puts the writes
    // into one transaction, so a commit is complete or has no effect.
    const sealed: SealedChange[] = [];
    const turns = new Turns(windowsPerSlice);
    for (const change of changes) {
      sealed.push(sealChange(change));
      if (turns.isOver()) await new Promise((resolve) => setImmediate(resolve));
    }
    const tryDisk = (): Promise<void> =>
      probeDisk(trialFile(this.file), {
        at: this.sizeBytes() ?? 0,
        bytes: sealed.reduce((bytes, { value }) => bytes + (value?.length ?? 0), trialBytes),
      });
    if (!this.#place.takes(changes, performance.now()))
      this.#fail("the file or its lock was deleted, moved or replaced while the daemon runs");
    // LMDB prints each of its failures, so while the disk is full a commit rarely reaches it, in
    // case the trial is wrong.
    if (this.#failedCommits % commitsPerUntried !== 0)
      await tryDisk().catch((error: unknown) => this.#fail(error));
    try {
      await this.#root.batch(() => {
        if (!this.#isOwned) void this.#meta.put("owner", Buffer.from(ownerMark()));
        for (const [i, { table }] of changes.entries()) {
          const db = this.#db(table);
          const { keyBytes, value } = sealed[i]!;
          void (value === undefined ? db.remove(keyBytes) : db.put(keyBytes, value));
        }
      });
      // Committed data survives this process, flushed data survives the machine.
      await this.#root.flushed;
      this.#failedCommits = 0;
      this.#isOwned = true;
      if (!this.#hasKeys && changes.some(({ table }) => table === "keys")) {
        this.#hasKeys = true;
        markInUse(this.file, true);
      }
      this.#touchMark();
    } catch (error) {
      const failure = await commitFailure(error);
      const why = await untrustedDiskText(failure, { tryDisk, failedBefore: this.#failedCommits });
      if (why !== null)
        throw new StoreBrokenError(
          `${this.file} can't be trusted any more: ${why}, then start the daemon again; the proxies keep what isn't acknowledged`,
          { cause: failure },
        );
      // Prefer the trial's reason: LMDB reports an I/O error if only a part of the data found room.
      this.#fail(
        await tryDisk().then(
          () => failure,
          (diskFailure: unknown) => diskFailure,
        ),
      );
    }
  }

  #touchMark(): void {
    const nowMs = performance.now();
    if (nowMs - this.#touchedAtMs < touchMs) return;
    this.#touchedAtMs = nowMs;
    touchMark(this.file);
  }

  #fail(cause: unknown): never {
    this.#failedCommits++;
    throw new StoreFailingError(plainReason(cause), { cause });
  }

  isInPlace(): boolean {
    return this.#place.isKept(performance.now());
  }

  sizeBytes(): number | null {
    return fileBytes(this.file);
  }

  usedBytes(table?: Table): number {
    return usedBytes(this.#tables, table);
  }

  holdPages(): () => void {
    const reading = this.#root.useReadTransaction();
    return () => reading.done();
  }

  async close(): Promise<void> {
    try {
      if (this.#meta.get("owner")?.toString() === ownerMark()) await this.#meta.remove("owner");
    } catch (error) {
      // The disk can't be written: the next daemon detects that this process has ended.
      await commitFailure(error);
    }
    await this.#root.flushed;
    await this.#root.close();
    if (this.isInPlace()) markClosed(this.file);
    this.#lock?.release();
  }
}

/**
 * Tables whose changes an operation has confirmed, and which nothing repeats. A reset of all rules
 * is in `epochs`. Such commits are rare, so each of them checks.
 */
const definingTables: ReadonlySet<Table> = new Set<Table>([
  "rules",
  "keys",
  "denials",
  "objects",
  "budgets",
  "resets",
  "settings",
  "epochs",
]);

/**
 * How long a check is valid, in ms: with hundreds of commits a second, checking each would cost
 * some percent of the time, and a store is moved once if ever.
 */
const checkValidMs = 100;

/**
 * Decides how often to check that the store's file is still in its place: a later daemon wouldn't
 * find commits to a moved file.
 */
export class StorePlace {
  readonly #look: () => boolean;
  #seenAtMs = Number.NEGATIVE_INFINITY;

  constructor(look: () => boolean) {
    this.#look = look;
  }

  /** Checks now. */
  isKept(nowMs: number): boolean {
    const isKept = this.#look();
    this.#seenAtMs = isKept ? nowMs : Number.NEGATIVE_INFINITY;
    return isKept;
  }

  /**
   * Whether these changes may be committed. Checks again, unless the last check is recent and no
   * change is of a defining table.
   */
  takes(changes: readonly Pick<Change, "table">[], nowMs: number): boolean {
    const isRecent = nowMs - this.#seenAtMs < checkValidMs;
    return (
      (isRecent && !changes.some(({ table }) => definingTables.has(table))) || this.isKept(nowMs)
    );
  }
}
