/**
 * The store port on LMDB: one file, one table each, our own bytes (version, checksum, msgpack) as
 * values. It says who owns the file and refuses what it can't read; it decides nothing else.
 */
import {
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { type Database, open, type RootDatabase } from "lmdb";
import { decodeValue, encodeValue } from "../../shared/wire/codec.js";
import { checkStoreFile } from "./check-store-file.js";
import { plainReason, tryToWrite } from "./disk-trial.js";
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

/** The shape of everything below; a store of another one is refused, not converted. */
const schemaVersion = 1;
const headBytes = 5;
/** What lmdb takes with pages of 4 KiB, less what it adds to a text. */
const keyBytesMax = 1970;

/**
 * Of the tries to write to a disk that failed, one in so many goes to LMDB whatever the trial says:
 * one in a minute.
 */
const askedAnywayEvery = 60;
/** What a trial writes beside values: pages on their way. */
const trialBytes = 64 * 1024;

/**
 * What a process leaves that is killed within a first start or a trial; a trial may seem as large
 * as the store.
 */
const unfinished = /^limiterd\.mdb\.\d+\.(?:new(?:-lock)?|trial)$/;

type Bytes = Database<Buffer, string | number>;

/**
 * Opens the store in `dataDir`, which is made if it isn't there. Throws `StoreLockedError` or
 * `StoreUnreadableError`.
 */
export async function openLmdbStore(dataDir: string): Promise<Store> {
  const file = join(dataDir, "limiterd.mdb");
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  if (!existsSync(`${file}-lock`)) await needRoom(dataDir, file);
  if (!existsSync(file)) await makeStore(file);
  const root = openRoot(file);
  try {
    const meta: Bytes = root.openDB({ name: "meta", encoding: "binary" });
    // One transaction: of two daemons that start at once, the second sees the first.
    root.transactionSync(() => claim(file, meta));
    // Those of a second daemon too that starts at this moment: it finds that there is a store now.
    for (const name of readdirSync(dataDir))
      if (unfinished.test(name)) rmSync(join(dataDir, name), { force: true });
    return new LmdbStore(file, root, meta);
  } catch (error) {
    await root.close();
    throw error instanceof StoreUnreadableError || error instanceof StoreLockedError
      ? error
      : unreadable(file, error);
  }
}

/**
 * LMDB maps its lock file too: where that is still to be made, a disk without room for it would end
 * the process without a word.
 */
async function needRoom(dataDir: string, file: string): Promise<void> {
  try {
    await tryToWrite(trialFile(file), { at: 0, bytes: trialBytes });
  } catch (error) {
    throw new StoreUnreadableError(`${dataDir} can't be written: ${plainReason(error)}`, {
      cause: error,
    });
  }
}

/**
 * Makes an empty store beside its place and puts it there whole, so that a file which is empty or
 * short is always a damaged one, wherever a first start was cut off.
 */
async function makeStore(file: string): Promise<void> {
  const fresh = `${file}.${process.pid}.new`;
  try {
    // What an earlier process of this number left.
    for (const end of ["", "-lock"]) rmSync(`${fresh}${end}`, { force: true });
    const root = openRoot(fresh);
    try {
      root
        .openDB<Buffer, string>({ name: "meta", encoding: "binary" })
        .putSync("schema", Buffer.from(String(schemaVersion)));
      await root.flushed;
    } finally {
      await root.close();
    }
    putInPlace(fresh, file);
  } catch (error) {
    throw error instanceof StoreUnreadableError ? error : unreadable(file, error);
  }
}

/** Never over a store that another daemon has made meanwhile. */
function putInPlace(fresh: string, file: string): void {
  try {
    linkSync(fresh, file);
  } catch (error) {
    // A file system without links; there, two first starts in the very same moment aren't told
    // apart.
    if (!existsSync(file)) renameSync(fresh, file);
  }
}

/** Throws when the store isn't ours to have; otherwise writes down that it is. */
function claim(file: string, meta: Bytes): void {
  const schema = meta.get("schema");
  if (schema !== undefined && schema.toString() !== String(schemaVersion)) {
    throw new StoreUnreadableError(
      `${file} has the schema version ${schema.toString()}, this Sluice reads ${schemaVersion}`,
    );
  }
  const owner = meta.get("owner");
  if (owner !== undefined && isAlive(owner.toString()))
    throw new StoreLockedError(
      `${file} is in use by the process ${owner.toString().split(" ")[0]}`,
    );
  meta.putSync("schema", Buffer.from(String(schemaVersion)));
  meta.putSync("owner", Buffer.from(ownMark()));
}

function openRoot(file: string): RootDatabase<Buffer, string | number> {
  // LMDB makes its files by the mask: they are nobody else's.
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

function trialFile(file: string): string {
  return `${file}.${process.pid}.trial`;
}

function unreadable(file: string, cause: unknown): StoreUnreadableError {
  return new StoreUnreadableError(`${file} can't be opened: ${plainReason(cause)}`, { cause });
}

/** `pid startTicks` of a process that still runs; a reused pid has another start. */
function isAlive(owner: string): boolean {
  const [pid, ticks] = owner.split(" ");
  return Number(pid) !== process.pid && ticks !== "" && startTicks(Number(pid)) === ticks;
}

function ownMark(): string {
  return `${process.pid} ${startTicks(process.pid)}`;
}

/**
 * Why a commit failed. lmdb tells it on a promise of its own, which must be heard or it ends the
 * process.
 */
async function commitFailure(error: unknown): Promise<unknown> {
  const told =
    typeof error === "object" && error !== null && "commitError" in error
      ? error.commitError
      : null;
  return told instanceof Promise
    ? await told.then(
        () => error,
        (reason: unknown) => reason,
      )
    : error;
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
  /** Commits that failed since one succeeded. */
  #failed = 0;

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
    return Array.from(
      this.#tables.get(table)!.getRange({ start: from, end: before, limit }),
      ({ key, value }) => ({ key, value: this.#unseal(table, key, value) }),
    );
  }

  keys(
    table: Table,
    { from, before, limit, reverse = false }: KeyRange & { readonly reverse?: boolean },
  ): (string | number)[] {
    const keys = this.#tables.get(table)!;
    if (!reverse) return Array.from(keys.getKeys({ start: from, end: before, limit }));
    // Backwards LMDB begins with its start, which here is not part of the range.
    return Array.from(keys.getKeys({ start: before, end: from, limit: limit + 1, reverse: true }))
      .filter((key) => key !== before)
      .slice(0, limit);
  }

  async commit(changes: readonly Change[]): Promise<void> {
    // Writes of one turn of the event loop share one transaction (lmdb's eventTurnBatching), and
    // the last promise resolves with it. What can fail by itself is done before the first write, so
    // that a commit is whole or nothing.
    const sealed = changes.map(({ table, key, value }) => {
      if (typeof key === "string" && Buffer.byteLength(key) > keyBytesMax)
        throw new Error(`a key of ${table} is longer than ${keyBytesMax} bytes`);
      return value === undefined ? undefined : seal(value);
    });
    const tryDisk = (): Promise<void> =>
      tryToWrite(trialFile(this.file), {
        at: this.sizeBytes() ?? 0,
        bytes: sealed.reduce((bytes, value) => bytes + (value?.length ?? 0), trialBytes),
      });
    // LMDB prints each of its failures: while the disk is full it is asked now and then only, in
    // case the trial is wrong.
    if (this.#failed % askedAnywayEvery !== 0)
      await tryDisk().catch((error: unknown) => this.#fail(error));
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
      this.#failed = 0;
    } catch (error) {
      const told = await commitFailure(error);
      // The disk says it better: LMDB calls it an I/O error when only a part found room.
      this.#fail(
        await tryDisk().then(
          () => told,
          (refused: unknown) => refused,
        ),
      );
    }
  }

  #fail(cause: unknown): never {
    this.#failed++;
    throw new StoreFailingError(plainReason(cause), { cause });
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
    const whole =
      sealed.length > headBytes &&
      sealed[0] === schemaVersion &&
      sealed.readUInt32BE(1) === crc32(body);
    const value = whole ? decodeValue(body) : undefined;
    if (!Array.isArray(value))
      throw new StoreUnreadableError(
        `${this.file} can't be read: the entry ${JSON.stringify(key)} of ${table} is damaged`,
      );
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
