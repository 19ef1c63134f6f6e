/**
 * A store that lost something: it is never opened with less than there was. Damage at random is
 * `npm run heavy -- damage`.
 */
import {
  closeSync,
  copyFileSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { open } from "lmdb";
import t, { type Test } from "tap";
import { verifyStoreFile } from "../../../../limiterd/maintenance/verify-store-file.js";
import { checkPages, DamagedPagesError } from "../../../../limiterd/store/lmdb/check-pages.js";
import {
  checkWholeStore,
  DamagedStoreError,
} from "../../../../limiterd/store/lmdb/check-store-file.js";
import { openLmdbStore } from "../../../../limiterd/store/lmdb/open-lmdb-store.js";
import { markClosed, markInUse } from "../../../../limiterd/store/lmdb/store-mark.js";
import { tables } from "../../../../limiterd/store/store.js";
import { createRandom } from "../../../sim/random.js";
import { contentOf, makeWorkedStore } from "../../../support/worked-store.js";
import { refusal, temporary } from "./store-fixture.js";

const pageBytes = 4096;

interface Whole {
  readonly file: string;
  readonly bytes: Buffer;
  /** Where the page of its tables is. */
  readonly rootAt: number;
}

async function wholeStore(t: Test, requests = 40): Promise<Whole> {
  const random = createRandom(1);
  const file = await makeWorkedStore(temporary(t), { requests, random });
  const bytes = readFileSync(file);
  const latest = [24, pageBytes + 24].reduce((a, b) =>
    bytes.readBigUInt64LE(a + 128) > bytes.readBigUInt64LE(b + 128) ? a : b,
  );
  return { file, bytes, rootAt: Number(bytes.readBigUInt64LE(latest + 112)) * pageBytes };
}

/** Why a start refuses these bytes. `isCopy`: nothing is known of them, else they are as left. */
async function refusalOf(t: Test, bytes: Buffer, isCopy = false): Promise<string | null> {
  const directory = temporary(t);
  const file = join(directory, "limiterd.mdb");
  writeFileSync(file, bytes);
  if (!isCopy) {
    markInUse(file, true);
    markClosed(file);
  }
  const refused = await refusal(directory);
  if (refused === null) return null;
  t.equal(refused.name, "StoreUnreadableError");
  t.ok(readFileSync(file).equals(bytes), "it is left as it was");
  const [, flaw] =
    /^.*limiterd\.mdb can't be read: (.*)\. Restore a backup with sluice restore, or, to begin with a new store without the keys, the limits and the usage that were in it, move it away and remove .*limiterd\.mdb\.mark$/.exec(
      refused.message,
    ) ?? [];
  t.ok(flaw, refused.message);
  return flaw ?? "";
}

function changed(bytes: Buffer, change: (copy: Buffer) => void): Buffer {
  const copy = Buffer.from(bytes);
  change(copy);
  return copy;
}

t.test("a flipped bit in the name of any table ends the start", async (t) => {
  const { bytes, rootAt } = await wholeStore(t);
  for (const name of [...tables, "meta"]) {
    const at = bytes.indexOf(`${name}\0`, rootAt, "latin1");
    t.ok(at > rootAt && at < rootAt + pageBytes, name);
    for (let bit = 0; bit < 8; bit++)
      t.ok(
        flawOf(
          t,
          changed(bytes, (copy) => (copy[at]! ^= 1 << bit)),
        ),
        `${name} ${bit}`,
      );
  }
  const at = bytes.indexOf("keys\0", rootAt, "latin1") + "keys".length - 1;
  const damaged = changed(bytes, (copy) => (copy[at]! ^= 1));
  for (const isCopy of [false, true])
    t.equal(await refusalOf(t, damaged, isCopy), "its table keyr is none of a store's");
});

t.test("a zeroed half of the page of its tables, or all of it, ends the start", async (t) => {
  const { bytes, rootAt } = await wholeStore(t);
  for (const [from, to] of [
    [0, 2048],
    [2048, 4096],
    [0, 4096],
  ] as const)
    for (const isCopy of [false, true])
      t.match(
        await refusalOf(
          t,
          changed(bytes, (copy) => copy.fill(0, rootAt + from, rootAt + to)),
          isCopy,
        ),
        /its page \d+ is damaged/,
      );
});

t.test("a file that is cut at any page is refused, or lacks nothing", async (t) => {
  const { bytes } = await wholeStore(t);
  const whole = await contentOfBytes(t, bytes);
  let cuts = 0;
  for (let at = 0; at < bytes.length; at += pageBytes) {
    const flaw = flawOf(t, bytes.subarray(0, at));
    if (flaw !== null) cuts++;
    // The last pages may have been given back.
    else t.equal(await contentOfBytes(t, bytes.subarray(0, at)), whole);
    t.match(flaw ?? "", /^$|cut short|it is empty|there is no page/, `at ${at}`);
  }
  t.ok(cuts > bytes.length / pageBytes - 5);
  t.equal(await refusalOf(t, bytes.subarray(0, 8 * pageBytes)), "it was cut short");
});

t.test("whatever bit of its heads is flipped, it is refused, or is the same store", async (t) => {
  const { file } = await wholeStore(t, 0);
  const whole = entriesOf(file);
  const descriptor = openSync(file, "r+");
  t.teardown(() => closeSync(descriptor));
  const byte = Buffer.alloc(1);
  let refused = 0;
  for (let at = 0; at < 2 * pageBytes; at++) {
    // What is behind the numbers of a head isn't used.
    if (at % (pageBytes / 2) >= 24 + 144) continue;
    readSync(descriptor, byte, 0, 1, at);
    for (let bit = 0; bit < 8; bit++) {
      writeSync(descriptor, Buffer.of(byte[0]! ^ (1 << bit)), 0, 1, at);
      const found = entriesOf(file);
      if (found === null) refused++;
      else if (found !== whole) t.fail(`byte ${at}, bit ${bit}`);
    }
    writeSync(descriptor, byte, 0, 1, at);
  }
  t.equal(entriesOf(file), whole);
  t.ok(refused > 500);
});

/** What a check finds in a file; null: damage. */
function entriesOf(file: string): string | null {
  const sums: string[] = [];
  try {
    checkPages(file, {
      tables: new Set([...tables, "meta"]),
      onEntry: (table, key, value) => void sums.push(`${table} ${crc32(value, crc32(key))}`),
    });
    return sums.join();
  } catch (error) {
    if (error instanceof DamagedPagesError) return null;
    throw error;
  }
}

/** Why these bytes are no whole store; null: they are one. */
function flawOf(t: Test, bytes: Buffer): string | null {
  const file = join(temporary(t), "store.mdb");
  writeFileSync(file, bytes);
  try {
    checkWholeStore(file);
    return null;
  } catch (error) {
    if (error instanceof DamagedStoreError) return error.flaw;
    throw error;
  }
}

/** What a start finds in these bytes. */
async function contentOfBytes(t: Test, bytes: Buffer): Promise<string> {
  const directory = temporary(t);
  writeFileSync(join(directory, "limiterd.mdb"), bytes);
  const store = await openLmdbStore(directory);
  try {
    return contentOf(store);
  } finally {
    await store.close();
  }
}

t.test("a table that is gone, or lacks what it counts, ends the start", async (t) => {
  const { file, bytes, rootAt } = await wholeStore(t);
  for (const name of ["meta", "keys", "objects"]) {
    const gone = join(temporary(t), "limiterd.mdb");
    copyFileSync(file, gone);
    const root = open<Buffer, string>({
      path: gone,
      noSubdir: true,
      encoding: "binary",
      maxDbs: 32,
    });
    root.openDB<Buffer, string>({ name, encoding: "binary" }).dropSync();
    await root.close();
    for (const isCopy of [false, true])
      t.equal(await refusalOf(t, readFileSync(gone), isCopy), `its table ${name} is missing`);
    await t.rejects(
      verifyStoreFile(gone, () => {}),
      {
        name: "StoreUnreadableError",
        message: `${gone} can't be read: its table ${name} is missing. Restore a backup that is whole`,
      },
    );
  }
  // Its head follows the name: pad, flags, depth, pages of three kinds, entries.
  const head = bytes.indexOf("objects\0", rootAt, "latin1") + "objects\0".length;
  const damaged = changed(bytes, (copy) => copy.writeBigUInt64LE(7n, head + 32));
  t.equal(await refusalOf(t, damaged), "objects should have 7 entries, and 40 are there");
});

t.test("a store whose keys are gone isn't opened where there were some", async (t) => {
  const { file } = await wholeStore(t);
  const directory = join(file, "..");
  const root = open<Buffer, string>({ path: file, noSubdir: true, encoding: "binary", maxDbs: 32 });
  root.openDB<Buffer, string>({ name: "keys", encoding: "binary" }).clearSync();
  await root.close();
  t.match(
    (await refusal(directory))?.message,
    `${file} has no keys, though this directory has had a store with some`,
  );
  rmSync(`${file}.mark`);
  t.equal(await refusal(directory), null, "until the operator says that there are none");
});

t.test("that there are keys is in the mark once the first is committed", async (t) => {
  const directory = temporary(t);
  const store = await openLmdbStore(directory);
  const mark = (): string => readFileSync(`${store.file}.mark`, "utf8");
  await store.commit([{ table: "rules", key: "a", value: [1] }]);
  t.match(mark(), /^in use [^\n]*\n$/);
  await store.commit([{ table: "keys", key: 1, value: [1] }]);
  t.match(mark(), /^in use [^\n]*\nkeys\n$/);
  await store.close();
  t.match(mark(), /^closed [^\n]*\nkeys\n$/);
});

t.test("a damaged backup is refused as it is verified", async (t) => {
  const { bytes, rootAt } = await wholeStore(t);
  const backup = join(temporary(t), "backup.mdb");
  for (const [damaged, flaw] of [
    [changed(bytes, (copy) => copy.fill(0, rootAt, rootAt + 2048)), /its page \d+ is damaged/],
    [bytes.subarray(0, bytes.length - 8 * pageBytes), /it was cut short/],
    [changed(bytes, (copy) => copy.fill(0, 4096, 8192)), /its head is damaged/],
  ] as const) {
    writeFileSync(backup, damaged);
    await t.rejects(
      verifyStoreFile(backup, () => {}),
      {
        name: "StoreUnreadableError",
        message: new RegExp(
          `^${backup} can't be read: ${flaw.source}\\. Restore a backup that is whole$`,
        ),
      },
    );
  }
});
