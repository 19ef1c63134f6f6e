/**
 * The store port on LMDB: one file, one table each, our own bytes (version, checksum, msgpack) as
 * values. It says who owns the file and refuses what it can't read; it decides nothing else.
 */
import { closeSync, existsSync, fstatSync, mkdirSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { type Database, open, type RootDatabase } from "lmdb";
import { decodeValue, encodeValue } from "../shared/wire/codec.js";
import { type Change, type Entry, type KeyRange, type Store, StoreLockedError, StoreUnreadableError, type Table, tables } from "./store.js";

/** The shape of everything below; a store of another one is refused, not converted. */
const schemaVersion = 1;
const headBytes = 5;
/** What lmdb takes with pages of 4 KiB, less what it adds to a text. */
const keyBytesMax = 1970;

type Bytes = Database<Buffer, string | number>;

/** Opens the store in `dataDir`, which is made if it isn't there. Throws `StoreLockedError` or `StoreUnreadableError`. */
export async function openLmdbStore(dataDir: string): Promise<Store> {
  const file = join(dataDir, "limiterd.mdb");
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const root = openRoot(file);
  const meta: Bytes = root.openDB({ name: "meta", encoding: "binary" });
  try {
    // One transaction: of two daemons that start at once, the second sees the first.
    root.transactionSync(() => claim(file, meta));
  } catch (error) {
    await root.close();
    throw error instanceof StoreUnreadableError || error instanceof StoreLockedError ? error : unreadable(file, error);
  }
  return new LmdbStore(file, root, meta);
}

/** Throws when the store isn't ours to have; otherwise writes down that it is. */
function claim(file: string, meta: Bytes): void {
  const schema = meta.get("schema");
  if (schema !== undefined && schema.toString() !== String(schemaVersion)) {
    throw new StoreUnreadableError(`${file} has the schema version ${schema.toString()}, this Sluice reads ${schemaVersion}`);
  }
  const owner = meta.get("owner");
  if (owner !== undefined && isAlive(owner.toString())) throw new StoreLockedError(`${file} is in use by the process ${owner.toString().split(" ")[0]}`);
  meta.putSync("schema", Buffer.from(String(schemaVersion)));
  meta.putSync("owner", Buffer.from(ownMark()));
}

function openRoot(file: string): RootDatabase<Buffer, string | number> {
  if (existsSync(file)) checkHead(file);
  // LMDB makes its files by the mask: they are nobody else's.
  const mask = process.umask(0o077);
  try {
    return open<Buffer, string | number>({ path: file, noSubdir: true, encoding: "binary", maxDbs: 16, eventTurnBatching: false });
  } catch (error) {
    throw unreadable(file, error);
  } finally {
    process.umask(mask);
  }
}

/**
 * LMDB maps its file and trusts it: a foreign one isn't always a clean error, and a page that is missing
 * ends the process. So the first pages are looked at before: what they are, and how long the file must be.
 */
function checkHead(file: string): void {
  const head = Buffer.alloc(2 * smallestPageBytes);
  let headBytesRead: number;
  let fileBytes: number;
  try {
    const descriptor = openSync(file, "r");
    try {
      fileBytes = fstatSync(descriptor).size;
      headBytesRead = readSync(descriptor, head);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    throw unreadable(file, error);
  }
  if (fileBytes === 0) return;
  const first = readMeta(head, 0);
  if (first === null) throw new StoreUnreadableError(`${file} can't be read: it is not a Sluice store. Move it away to start with an empty one`);
  const second = first.pageBytes === smallestPageBytes && headBytesRead === head.length ? readMeta(head, smallestPageBytes) : null;
  const newest = second !== null && second.transaction > first.transaction ? second : first;
  if (fileBytes < 2 * first.pageBytes || fileBytes < (newest.lastPage + 1 - unwrittenPagesMax) * first.pageBytes) {
    throw new StoreUnreadableError(`${file} can't be read: it was cut short. Put a whole copy in its place, or move it away to start with an empty store`);
  }
}

const smallestPageBytes = 4096;
const lmdbMagic = 0xbeefc0de;
/** Where a meta page keeps its magic number: behind the page header, whose length depends on LMDB's build. */
const magicOffsets = [16, 24];
/** Pages at the end that a transaction took and gave back again are counted but never written. */
const unwrittenPagesMax = 16;

const noPage = 2n ** 64n - 1n;

/** LMDB's MDB_meta, as far as it is needed. */
function readMeta(head: Buffer, page: number): { readonly pageBytes: number; readonly lastPage: number; readonly transaction: bigint } | null {
  const offset = magicOffsets.find((at) => head.readUInt32LE(page + at) === lmdbMagic);
  if (offset === undefined) return null;
  const meta = page + offset;
  const lastPage = head.readBigUInt64LE(meta + 120);
  const roots = [head.readBigUInt64LE(meta + 64), head.readBigUInt64LE(meta + 112)];
  const pageBytes = head.readUInt32LE(meta + 24);
  if (pageBytes < smallestPageBytes || pageBytes > 65_536 || roots.some((root) => root > lastPage && root !== noPage)) return null;
  return { pageBytes, lastPage: Number(lastPage), transaction: head.readBigUInt64LE(meta + 128) };
}

function unreadable(file: string, cause: unknown): StoreUnreadableError {
  return new StoreUnreadableError(`${file} can't be read: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
}

/** `pid startTicks` of a process that still runs; a reused pid has another start. */
function isAlive(owner: string): boolean {
  const [pid, ticks] = owner.split(" ");
  return Number(pid) !== process.pid && ticks !== "" && startTicks(Number(pid)) === ticks;
}

function ownMark(): string {
  return `${process.pid} ${startTicks(process.pid)}`;
}

/** Why a commit failed. lmdb tells it on a promise of its own, which must be heard or it ends the process. */
async function commitFailure(error: unknown): Promise<unknown> {
  const told = typeof error === "object" && error !== null && "commitError" in error ? error.commitError : null;
  return told instanceof Promise ? await told.then(() => error, (reason: unknown) => reason) : error;
}

function startTicks(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    // A zombie holds nothing any more: whoever should reap it may never do so.
    return fields[0] === "Z" || fields[0] === "X" ? "" : (fields[19] ?? "");
  } catch {
    // No such process.
    return "";
  }
}

class LmdbStore implements Store {
  readonly file: string;
  readonly #root: RootDatabase<Buffer, string | number>;
  readonly #meta: Bytes;
  readonly #tables: ReadonlyMap<Table, Bytes>;

  constructor(file: string, root: RootDatabase<Buffer, string | number>, meta: Bytes) {
    this.file = file;
    this.#root = root;
    this.#meta = meta;
    this.#tables = new Map(tables.map((name) => [name, root.openDB({ name, encoding: "binary" })]));
  }

  *entries(table: Table): Iterable<Entry> {
    for (const { key, value } of this.#tables.get(table)!.getRange({})) {
      yield { key, value: this.#unseal(table, key, value) };
    }
  }

  get(table: Table, key: string | number): readonly unknown[] | undefined {
    const sealed = this.#tables.get(table)!.get(key);
    return sealed === undefined ? undefined : this.#unseal(table, key, sealed);
  }

  range(table: Table, { from, before, limit }: KeyRange): Entry[] {
    return Array.from(this.#tables.get(table)!.getRange({ start: from, end: before, limit }), ({ key, value }) => ({ key, value: this.#unseal(table, key, value) }));
  }

  keys(table: Table, { from, before, limit, reverse = false }: KeyRange & { readonly reverse?: boolean }): (string | number)[] {
    const keys = this.#tables.get(table)!;
    if (!reverse) return Array.from(keys.getKeys({ start: from, end: before, limit }));
    // Backwards LMDB begins with its start, which here is not part of the range.
    return Array.from(keys.getKeys({ start: before, end: from, limit: limit + 1, reverse: true })).filter((key) => key !== before).slice(0, limit);
  }

  async commit(changes: readonly Change[]): Promise<void> {
    // Writes of one turn of the event loop share one transaction (lmdb's eventTurnBatching), and the
    // last promise resolves with it.
    // What can fail by itself is done before the first write, so that a commit is whole or nothing.
    const sealed = changes.map(({ table, key, value }) => {
      if (typeof key === "string" && Buffer.byteLength(key) > keyBytesMax) throw new Error(`a key of ${table} is longer than ${keyBytesMax} bytes`);
      return value === undefined ? undefined : seal(value);
    });
    try {
      await this.#root.batch(() => {
        for (const [i, { table, key }] of changes.entries()) {
          const db = this.#tables.get(table)!;
          const value = sealed[i];
          void (value === undefined ? db.remove(key) : db.put(key, value));
        }
      });
      // Committed survives this process, flushed survives the machine.
      await this.#root.flushed;
    } catch (error) {
      throw await commitFailure(error);
    }
  }

  sizeBytes(): number | null {
    try {
      return statSync(this.file).size;
    } catch {
      // Somebody removed it under the daemon, which goes on with the file that it has open.
      return null;
    }
  }

  async close(): Promise<void> {
    if (this.#meta.get("owner")?.toString() === ownMark()) await this.#meta.remove("owner");
    await this.#root.flushed;
    await this.#root.close();
  }

  #unseal(table: Table, key: string | number, sealed: Buffer): readonly unknown[] {
    const body = sealed.subarray(headBytes);
    const whole = sealed.length > headBytes && sealed[0] === schemaVersion && sealed.readUInt32BE(1) === crc32(body);
    const value = whole ? decodeValue(body) : undefined;
    if (!Array.isArray(value)) throw new StoreUnreadableError(`${this.file} can't be read: the entry ${JSON.stringify(key)} of ${table} is damaged`);
    return value;
  }
}

function seal(value: readonly unknown[]): Buffer {
  const body = encodeValue(value);
  const sealed = Buffer.allocUnsafe(headBytes + body.length);
  sealed[0] = schemaVersion;
  sealed.writeUInt32BE(crc32(body), 1);
  body.copy(sealed, headBytes);
  return sealed;
}
