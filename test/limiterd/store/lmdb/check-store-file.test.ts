import { once } from "node:events";
import {
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import t from "tap";
import {
  checkStoreFile,
  requireStoreFile,
} from "../../../../limiterd/store/lmdb/check-store-file.js";
import { StoreUnreadableError } from "../../../../limiterd/store/store.js";
import { filledStore, inProcess, refusal, temporary } from "./store-fixture.js";

t.test("a file that isn't a store is refused by name and left alone", async (t) => {
  const foreign: readonly (readonly [name: string, bytes: Buffer])[] = [
    ["a text", Buffer.from("just a text that somebody put here, longer than any head of a page\n")],
    ["a short text", Buffer.from("hi")],
    ["zeros", Buffer.alloc(100_000)],
    ["a SQLite file", Buffer.concat([Buffer.from("SQLite format 3\u0000"), Buffer.alloc(4096)])],
  ];
  for (const [name, bytes] of foreign) {
    const directory = temporary(t);
    const file = join(directory, "limiterd.mdb");
    writeFileSync(file, bytes);
    const refused = await refusal(directory);
    t.ok(refused instanceof StoreUnreadableError, name);
    t.match(refused?.message, new RegExp(`^${file} can't be read`), name);
    t.ok(readFileSync(file).equals(bytes), `${name}: untouched`);
    t.same(readdirSync(directory), ["limiterd.mdb"], `${name}: nothing beside it`);
  }
});

t.test("a directory in the file's place is refused and left alone", async (t) => {
  const directory = temporary(t);
  mkdirSync(join(directory, "limiterd.mdb"));
  const refused = await refusal(directory);
  t.ok(refused instanceof StoreUnreadableError);
  t.match(refused?.message, /limiterd\.mdb can't be read: it is not a regular file\. /);
  t.same(readdirSync(join(directory, "limiterd.mdb")), []);
});

t.test(
  "an empty file in the store's place is a store that was lost, and doesn't become a new one",
  async (t) => {
    const directory = temporary(t);
    const file = await filledStore(directory);
    truncateSync(file, 0);
    const refused = await refusal(directory);
    t.ok(refused instanceof StoreUnreadableError);
    t.match(
      refused?.message,
      /limiterd\.mdb can't be read: it is empty: .* Restore a backup with sluice restore, or, to begin with a new store .*, move it away and remove .*limiterd\.mdb\.mark$/,
    );
    t.equal(statSync(file).size, 0, "untouched");
    rmSync(file);
    t.match(
      (await refusal(directory))?.message,
      /limiterd\.mdb can't be read: it is gone, though this directory has had a store\. /,
      "nor does one that is gone",
    );
    rmSync(`${file}.mark`);
    t.equal(await refusal(directory), null, "until the operator wants a new store");
  },
);

t.test(
  "a file that was cut short is refused with its name, wherever it was cut, and doesn't end the process",
  async (t) => {
    const directory = temporary(t);
    const { size } = statSync(await filledStore(directory, 3000));
    for (const bytes of [20, 4095, 8192, 12_288, Math.floor(size / 2)]) {
      const copy = join(directory, `cut-${bytes}`);
      mkdirSync(copy);
      const file = join(copy, "limiterd.mdb");
      writeFileSync(file, readFileSync(join(directory, "limiterd.mdb")));
      truncateSync(file, bytes);
      const before = readFileSync(file);
      const { child, received } = inProcess(t, copy, "read");
      const [[code, signal]] = (await Promise.all([
        once(child, "exit"),
        once(child, "disconnect"),
      ])) as [[number | null, string | null], unknown];
      t.match(
        { code, signal, failed: received[0]?.failed },
        { code: 0, signal: null, failed: /^StoreUnreadableError: .*limiterd\.mdb/ },
        `${bytes} bytes: it reports why`,
      );
      t.ok(readFileSync(file).equals(before), `${bytes} bytes: untouched`);
    }
  },
);

/** The head of a file whose first page is a meta page of LMDB, and `bytes` of it. */
function storeHead({
  bytes = 8192,
  at = 24,
  pageBytes = 4096,
  lastPage = 9n,
  roots = [1n, 9n],
}: {
  bytes?: number;
  at?: number;
  pageBytes?: number;
  lastPage?: bigint;
  roots?: readonly bigint[];
}): Buffer {
  const head = Buffer.alloc(Math.max(bytes, 4096));
  head.writeUInt32LE(0xbeefc0de, at);
  head.writeUInt32LE(pageBytes, at + 24);
  head.writeBigUInt64LE(roots[0]!, at + 64);
  head.writeBigUInt64LE(roots[1]!, at + 112);
  head.writeBigUInt64LE(lastPage, at + 120);
  return head.subarray(0, bytes);
}

t.test("the head of a store is recognised by its meta page and its length", async (t) => {
  const none = 2n ** 64n - 1n;
  const foreign = /can't be read: it is not a Sluice store\. /;
  const short = /can't be read: it was cut short\. /;
  const file = join(temporary(t), "limiterd.mdb");
  for (const [head, problem] of [
    [storeHead({}), null],
    [storeHead({ at: 16 }), null],
    [storeHead({ at: 20 }), foreign],
    [storeHead({ bytes: 8191 }), short],
    [storeHead({ bytes: 4096 }), short],
    [storeHead({ pageBytes: 65_536, bytes: 131_072 }), null],
    [storeHead({ pageBytes: 65_536, bytes: 131_071 }), short],
    [storeHead({ pageBytes: 65_537, bytes: 200_000 }), foreign],
    [storeHead({ pageBytes: 4095 }), foreign],
    [storeHead({ roots: [none, none] }), null],
    [storeHead({ roots: [10n, none] }), foreign],
    [storeHead({ roots: [none, 10n] }), foreign],
    [storeHead({ roots: [none - 1n, 1n] }), foreign],
    [Buffer.alloc(0), /can't be read: it is empty: its content is lost\. /],
    [Buffer.alloc(8192), foreign],
  ] as const) {
    writeFileSync(file, head);
    const unreadable = { name: "StoreUnreadableError" };
    if (problem === null) {
      t.doesNotThrow(() => checkStoreFile(file));
      t.doesNotThrow(() => requireStoreFile(file));
    } else {
      t.throws(() => checkStoreFile(file), { ...unreadable, message: problem });
      t.throws(() => requireStoreFile(file), unreadable);
    }
  }
  t.throws(() => checkStoreFile(`${file}.none`), { code: "ENOENT" });
  t.throws(() => requireStoreFile(`${file}.none`), {
    name: "StoreUnreadableError",
    message: `${file}.none can't be read: no such file or directory`,
  });
  const open = readdirSync("/proc/self/fd").filter((fd) => {
    try {
      return readlinkSync(`/proc/self/fd/${fd}`) === file;
    } catch {
      return false;
    }
  });
  t.same(open, [], "none of them stays open");
});
