/**
 * The store port on LMDB: one file, one table each, our own bytes (version, checksum, msgpack) as
 * values. It says who owns the file and refuses what it can't read; it decides nothing else.
 */
import { closeSync, existsSync, mkdirSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { type Database, open, type RootDatabase } from "lmdb";
import { decodeValue, encodeValue } from "../shared/wire/codec.js";
import { type Change, type Store, StoreLockedError, StoreUnreadableError, type Table, tables } from "./store.js";

/** The shape of everything below; a store of another one is refused, not converted. */
const schemaVersion = 1;
const headBytes = 5;

type Bytes = Database<Buffer, string | number>;

/** Opens the store in `dataDir`, which is made if it isn't there. Throws `StoreLockedError` or `StoreUnreadableError`. */
export async function openLmdbStore(dataDir: string): Promise<Store> {
  const file = join(dataDir, "limiterd.mdb");
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const root = openRoot(file);
  const meta: Bytes = root.openDB({ name: "meta", encoding: "binary" });
  try {
    const schema = meta.get("schema");
    if (schema !== undefined && schema.toString() !== String(schemaVersion)) {
      throw new StoreUnreadableError(`${file} has the schema version ${schema.toString()}, this Sluice reads ${schemaVersion}`);
    }
    const owner = meta.get("owner");
    if (owner !== undefined && isAlive(owner.toString())) throw new StoreLockedError(`${file} is in use by the process ${owner.toString().split(" ")[0]}`);
    await meta.put("schema", Buffer.from(String(schemaVersion)));
    await meta.put("owner", Buffer.from(`${process.pid} ${startTicks(process.pid)}`));
  } catch (error) {
    await root.close();
    throw error instanceof StoreUnreadableError || error instanceof StoreLockedError ? error : unreadable(file, error);
  }
  return new LmdbStore(file, root, meta);
}

function openRoot(file: string): RootDatabase<Buffer, string | number> {
  if (existsSync(file)) checkHead(file);
  try {
    return open<Buffer, string | number>({ path: file, noSubdir: true, encoding: "binary", maxDbs: 16 });
  } catch (error) {
    throw unreadable(file, error);
  }
}

/** LMDB's own check of a foreign file isn't always a clean error, so the magic number of its first page is looked at before. */
function checkHead(file: string): void {
  const head = Buffer.alloc(32);
  let headRead: number;
  try {
    const descriptor = openSync(file, "r");
    try {
      headRead = readSync(descriptor, head);
    } finally {
      closeSync(descriptor);
    }
  } catch (error) {
    throw unreadable(file, error);
  }
  if (headRead > 0 && !magicOffsets.some((at) => head.readUInt32LE(at) === lmdbMagic)) {
    throw new StoreUnreadableError(`${file} can't be read: it is not a Sluice store. Move it away to start with an empty one`);
  }
}

const lmdbMagic = 0xbeefc0de;
/** Where the first meta page keeps it: behind the page header, whose length depends on LMDB's build. */
const magicOffsets = [16, 24];

function unreadable(file: string, cause: unknown): StoreUnreadableError {
  return new StoreUnreadableError(`${file} can't be read: ${cause instanceof Error ? cause.message : String(cause)}`, { cause });
}

/** `pid startTicks` of a process that still runs; a reused pid has another start. */
function isAlive(owner: string): boolean {
  const [pid, ticks] = owner.split(" ");
  return Number(pid) !== process.pid && ticks !== "" && startTicks(Number(pid)) === ticks;
}

function startTicks(pid: number): string {
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
    return stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19] ?? "";
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

  *entries(table: Table): Iterable<{ key: string | number; value: readonly unknown[] }> {
    for (const { key, value } of this.#tables.get(table)!.getRange({})) {
      yield { key, value: this.#unseal(table, key, value) };
    }
  }

  async commit(changes: readonly Change[]): Promise<void> {
    // Writes of one turn of the event loop share one transaction (lmdb's eventTurnBatching), and the
    // last promise resolves with it.
    const writes = changes.map(({ table, key, value }) => {
      const db = this.#tables.get(table)!;
      return value === undefined ? db.remove(key) : db.put(key, seal(value));
    });
    await Promise.all(writes);
  }

  sizeBytes(): number {
    return statSync(this.file).size;
  }

  async close(): Promise<void> {
    await this.#meta.remove("owner");
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
