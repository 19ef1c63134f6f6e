/**
 * The store port on LMDB: one file, a table of LMDB for each of ours. Here it is read and
 * committed; how it is opened is in `open-lmdb-store.ts`, the bytes of a key and a value are in
 * `key-bytes.ts` and `sealed-value.ts`, the trial of a full disk in `probe-disk.ts`.
 */
import { windowsPerSlice } from "../../../shared/bounds.js";
import { firstOf, Turns } from "../../../shared/long-lists.js";
import {
  type Change,
  type Entry,
  type KeyRange,
  type Store,
  StoreBrokenError,
  StoreFailingError,
  StoreUnreadableError,
  type Table,
} from "../store.js";
import { StorePlace } from "../store-place.js";
import { keyFromBytes, keyToBytes } from "./key-bytes.js";
import {
  type Bytes,
  commitFailure,
  type Meta,
  openTables,
  type Root,
  usedBytes,
} from "./lmdb-file.js";
import { plainReason, probeDisk, whyUntrusted } from "./probe-disk.js";
import { type SealedChange, sealChange, unsealValue } from "./sealed-value.js";
import { fileBytes, inodeOf, trialBytes, trialFile } from "./store-file.js";
import type { StoreLock } from "./store-lock.js";
import { markClosed, touchMark, touchMs } from "./store-mark.js";
import { ownerMark } from "./store-owner.js";

/** Keys that can't be read of which each is reported once. */
const unreadableKeysMax = 1000;

/**
 * While the disk fails, one commit in so many goes to LMDB whatever the trial finds: one in a
 * minute.
 */
const commitsPerUntried = 60;

/** Called with a table and the bytes of a key in it that can't be read: it is passed over. */
export type OnUnreadableKey = (table: Table, key: string) => void;

interface Opened {
  readonly root: Root;
  readonly meta: Meta;
  readonly lock: StoreLock | null;
  /** Whether the store says that this process has it. */
  readonly owned: boolean;
  /** All of them, unless the file is only read. */
  readonly tables?: ReadonlyMap<Table, Bytes>;
}

export class LmdbStore implements Store {
  readonly file: string;
  readonly #place: StorePlace;
  readonly #root: Root;
  readonly #meta: Meta;
  readonly #lock: StoreLock | null;
  readonly #onUnreadableKey: OnUnreadableKey;
  #owned: boolean;
  #touchedAtMs = 0;
  readonly #unreadableKeys = new Set<string>();
  readonly #tables: ReadonlyMap<Table, Bytes>;
  /** Commits that failed since one succeeded. */
  #failed = 0;

  constructor(file: string, opened: Opened, onUnreadableKey: OnUnreadableKey) {
    const { root, meta, lock, owned, tables = openTables(root) } = opened;
    this.file = file;
    // The file's, which stays the same for as long as it is this file.
    const inode = inodeOf(file);
    this.#place = new StorePlace(() => inodeOf(file) === inode && lock?.isHeld() !== false);
    this.#root = root;
    this.#meta = meta;
    this.#lock = lock;
    this.#owned = owned;
    this.#onUnreadableKey = onUnreadableKey;
    this.#tables = tables;
  }

  /** Undefined where the file is only read, and has no such table. */
  #db(table: Table): Bytes | undefined {
    return this.#tables.get(table);
  }

  *entries(table: Table): Iterable<Entry> {
    // A start reads 100,000: one generator, not two.
    for (const { key: bytes, value } of this.#db(table)?.getRange({}) ?? []) {
      const key = keyFromBytes(bytes);
      if (key === null) this.#reportKey(table, bytes);
      else yield { key, value: this.#unseal(table, key, value) };
    }
  }

  get(table: Table, key: string | number): readonly unknown[] | undefined {
    const sealed = this.#db(table)?.get(keyToBytes(key));
    return sealed === undefined ? undefined : this.#unseal(table, key, sealed);
  }

  range(table: Table, { from, before, limit }: KeyRange): Entry[] {
    const found = this.#db(table)?.getRange({ start: keyToBytes(from), end: keyToBytes(before) });
    return Array.from(firstOf(this.#readable(table, found ?? []), limit), ({ key, value }) => ({
      key,
      value: this.#unseal(table, key, value),
    }));
  }

  keys(table: Table, { from, before, limit }: KeyRange): (string | number)[] {
    const found = this.#db(table)
      ?.getKeys({ start: keyToBytes(from), end: keyToBytes(before) })
      .map((key) => ({ key, value: null }));
    return Array.from(firstOf(this.#readable(table, found ?? []), limit), ({ key }) => key);
  }

  lastKeys(table: Table, { from, before, limit }: KeyRange): (string | number)[] {
    const [start, end] = [keyToBytes(before), keyToBytes(from)];
    const found = this.#db(table)
      ?.getKeys({ start, exclusiveStart: true, end, inclusiveEnd: true, reverse: true })
      .map((key) => ({ key, value: null }));
    return Array.from(firstOf(this.#readable(table, found ?? []), limit), ({ key }) => key);
  }

  /**
   * The entries whose keys can be read. One that can't be is passed over: it is from damage below
   * our layer, or an earlier release.
   */
  *#readable<V>(
    table: Table,
    entries: Iterable<{ readonly key: Buffer; readonly value: V }>,
  ): Iterable<{ readonly key: string | number; readonly value: V }> {
    for (const { key: bytes, value } of entries) {
      const key = keyFromBytes(bytes);
      if (key !== null) yield { key, value };
      else this.#reportKey(table, bytes);
    }
  }

  #reportKey(table: Table, bytes: Uint8Array): void {
    const key = Buffer.from(bytes).toString("hex");
    const known = `${table} ${key}`;
    if (this.#unreadableKeys.has(known) || this.#unreadableKeys.size >= unreadableKeysMax) return;
    this.#unreadableKeys.add(known);
    this.#onUnreadableKey(table, key);
  }

  async commit(changes: readonly Change[]): Promise<void> {
    // What can fail by itself is done before the first write, and `batch` puts the writes into one
    // transaction: a commit is complete or nothing.
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
    // LMDB prints each of its failures: while the disk is full a commit reaches it now and then
    // only, in case the trial is wrong.
    if (this.#failed % commitsPerUntried !== 0)
      await tryDisk().catch((error: unknown) => this.#fail(error));
    try {
      await this.#root.batch(() => {
        if (!this.#owned) void this.#meta.put("owner", Buffer.from(ownerMark()));
        for (const [i, { table }] of changes.entries()) {
          const db = this.#db(table)!;
          const { keyBytes, value } = sealed[i]!;
          void (value === undefined ? db.remove(keyBytes) : db.put(keyBytes, value));
        }
      });
      // Committed survives this process, flushed survives the machine.
      await this.#root.flushed;
      this.#failed = 0;
      this.#owned = true;
      this.#touchMark();
    } catch (error) {
      const failure = await commitFailure(error);
      const why = await whyUntrusted(failure, { tryDisk, failedBefore: this.#failed });
      if (why !== null)
        throw new StoreBrokenError(
          `${this.file} can't be trusted any more: ${why}, then start the daemon again; the proxies keep what isn't acknowledged`,
          { cause: failure },
        );
      // The disk's own reason is better: LMDB calls it an I/O error when only a part found room.
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
    this.#failed++;
    throw new StoreFailingError(plainReason(cause), { cause });
  }

  isInPlace(): boolean {
    return this.#place.isKept(performance.now());
  }

  sizeBytes(): number | null {
    return fileBytes(this.file);
  }

  usedBytes(of?: Table): number {
    return usedBytes(this.#tables, of);
  }

  holdPages(): () => void {
    const reading = this.#root.useReadTransaction();
    return () => reading.done();
  }

  async close(): Promise<void> {
    try {
      if (this.#meta.get("owner")?.toString() === ownerMark()) await this.#meta.remove("owner");
    } catch (error) {
      // The disk takes nothing: the next daemon finds that this process has ended.
      await commitFailure(error);
    }
    await this.#root.flushed;
    await this.#root.close();
    if (this.isInPlace()) markClosed(this.file);
    this.#lock?.release();
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
