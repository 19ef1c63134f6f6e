import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { copyFileSync, existsSync, readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { crc32 } from "node:zlib";
import { open as openRaw } from "lmdb";
import t from "tap";
import { StorePlace } from "../../../../limiterd/store/lmdb/lmdb-store.js";
import { openLmdbStore } from "../../../../limiterd/store/lmdb/open-lmdb-store.js";
import { type Change, StoreUnreadableError } from "../../../../limiterd/store/store.js";
import { ask, pathRule, startDaemon } from "../../in-memory-daemon.js";
import {
  filledStore,
  inProcess,
  put,
  read,
  refusal,
  remove,
  tamper,
  temporary,
} from "./store-fixture.js";

t.test("a store is created where there is none, its directory for its owner alone", async (t) => {
  const directory = join(temporary(t), "a", "b");
  const store = await openLmdbStore(directory);
  t.equal(store.file, join(directory, "limiterd.mdb"));
  t.equal((statSync(directory).mode & 0o777).toString(8), "700");
  t.equal(store.sizeBytes(), statSync(store.file).size);
  await store.close();
});

t.test("a process that is started meanwhile has of the store the file alone", async (t) => {
  const directory = temporary(t);
  const store = await openLmdbStore(directory);
  await store.commit([put("journal", 1, 1)]);
  // Not the last command: the shell would become it.
  const list = 'for each in /proc/$$/fd/*; do readlink "$each"; done; true';
  const { stdout } = spawnSync("/bin/sh", ["-c", list], { encoding: "utf8" });
  // Neither its lock nor the directory's; LMDB leaves the file open on purpose.
  t.same(
    stdout.split("\n").filter((name) => name.includes(directory)),
    [store.file],
  );
  await store.close();
});

t.test("what was committed is there after a close, and again after another", async (t) => {
  const directory = temporary(t);
  for (let epoch = 1; epoch <= 3; epoch++) {
    const store = await openLmdbStore(directory);
    t.same(
      read(store, "journal"),
      Array.from({ length: epoch - 1 }, (_, n) => [n + 1, [n + 1]]),
    );
    await store.commit([put("journal", epoch, epoch)]);
    await store.close();
  }
});

/** The bytes with the lowest bit of one of them changed. */
function flipped(sealed: Buffer, at: number): Buffer {
  const copy = Buffer.from(sealed);
  copy[at] = sealed[at]! ^ 1;
  return copy;
}

t.test(
  "a store with an entry that is damaged isn't opened: it is named, and nothing is written over it",
  async (t) => {
    const damages: readonly (readonly [name: string, damage: (sealed: Buffer) => Buffer])[] = [
      ["a flipped bit in the body", (sealed) => flipped(sealed, sealed.length - 1)],
      ["a flipped bit in the checksum", (sealed) => flipped(sealed, 2)],
      [
        "another layout's version",
        (sealed) => Buffer.from([sealed[0]! + 1, ...sealed.subarray(1)]),
      ],
      ["cut short", (sealed) => sealed.subarray(0, 4)],
      ["a head without a body", (sealed) => sealed.subarray(0, 5)],
      ["empty", () => Buffer.alloc(0)],
      ["something else", () => Buffer.from("not ours at all")],
      ["another entry's", () => Buffer.from("replaced below")],
    ];
    const file = await filledStore(temporary(t));
    for (const [name, damage] of damages) {
      const directory = temporary(t);
      const copy = join(directory, "limiterd.mdb");
      copyFileSync(file, copy);
      let damaged = Buffer.alloc(0);
      await tamper(copy, "windows", async (db) => {
        damaged = Buffer.from(
          name === "another entry's" ? db.get("w8")! : damage(Buffer.from(db.get("w7")!)),
        );
        await db.put("w7", damaged);
      });
      const refused = await refusal(directory);
      t.equal(refused?.name, "StoreUnreadableError", name);
      t.match(
        refused?.message,
        `${copy} can't be read: the entry "w7" of windows is damaged. Restore a backup with sluice restore`,
        name,
      );
      await tamper(copy, "windows", async (db) => {
        t.ok(db.get("w7")!.equals(damaged), `${name}: it is as it was`);
      });
    }
  },
);

t.test("an entry that is damaged while the store is open is named when it is read", async (t) => {
  const directory = temporary(t);
  const file = await filledStore(directory);
  const store = await openLmdbStore(directory);
  const root = openRaw<Buffer, string>({ path: file, noSubdir: true, encoding: "binary" });
  const windows = root.openDB<Buffer, Buffer>({
    name: "windows",
    encoding: "binary",
    keyEncoding: "binary",
  });
  await windows.put(Buffer.from("w7"), flipped(Buffer.from(windows.get(Buffer.from("w7"))!), 9));
  await windows.put(Buffer.of(0x80, 0x61), Buffer.of(1));
  const named = (key: string) => ({
    name: "StoreUnreadableError",
    message: `${file} can't be read: the entry ${key} of windows is damaged. Restore a backup that is whole`,
  });
  t.throws(() => read(store, "windows"), named('"w7"'));
  const behind = { from: "x", before: "\u{10ffff}", limit: 9 };
  t.throws(() => store.keys("windows", behind), named("8061"), "a key that was never written");
  t.throws(() => store.get("windows", "w7"), named('"w7"'));
  t.throws(() => store.range("windows", { from: "w7", before: "w7~", limit: 99 }), named('"w7"'));
  t.same(read(store, "rules"), [], "the other tables can be read");
  await root.close();
  await store.close();
});

t.test("a value that is complete but no list is damaged too", async (t) => {
  const directory = temporary(t);
  const file = await filledStore(directory);
  await tamper(file, "windows", async (db) => {
    const body = Buffer.from([5]);
    const sealed = Buffer.concat([Buffer.from([1, 0, 0, 0, 0]), body]);
    sealed.writeUInt32BE(crc32(body, crc32("w1", crc32("windows"))), 1);
    await db.put("w1", sealed);
  });
  const store = await openLmdbStore(directory);
  t.throws(() => read(store, "windows"), StoreUnreadableError);
  await store.close();
});

t.test(
  "a full disk is reported in the words of the operating system, by LMDB once, and the store works again when there is room",
  { skip: spawnSync("prlimit", ["--version"]).error === undefined ? false : "needs prlimit" },
  async (t) => {
    const directory = temporary(t);
    const { child, received, until, printed } = inProcess(t, directory, "commit");
    const commit = async (bytes: number): Promise<unknown> => {
      const before = received.length;
      child.send(bytes);
      await until(() => received.length > before);
      return received.at(-1);
    };
    const bound = (bytes: string): void =>
      void t.equal(
        spawnSync("prlimit", ["--pid", String(child.pid), `--fsize=${bytes}:`]).status,
        0,
      );
    await until(() => received.length === 1);
    t.same(await commit(10), { committed: 10 });
    bound(String(statSync(join(directory, "limiterd.mdb")).size));
    for (let round = 0; round < 5; round++)
      t.same(await commit(200_000), { refused: "StoreFailingError: file too large" });
    bound("unlimited");
    t.same(await commit(200_000), { committed: 200_000 });
    child.disconnect();
    await once(child, "exit");
    t.equal(printed().split("Error:").length - 1, 1, printed());
    t.same(readdirSync(directory).sort(), [
      "limiterd.lock",
      "limiterd.mdb",
      "limiterd.mdb-lock",
      "limiterd.mdb.mark",
    ]);
  },
);

t.test("a store of a newer layout is refused and left alone", async (t) => {
  const directory = temporary(t);
  const file = await filledStore(directory);
  await tamper(file, "meta", (db) => db.put("schema", Buffer.from("2")));
  const refused = await refusal(directory);
  t.ok(refused instanceof StoreUnreadableError);
  t.match(
    refused?.message,
    /limiterd\.mdb was written by a later release: it has the schema 2, and this Sluice reads up to 1/,
  );
  await tamper(file, "meta", async (db) => {
    t.equal(db.get("schema")?.toString(), "2");
    t.equal(db.get("owner"), undefined);
  });
});

t.test(
  "what was committed survives the sudden end of its writer, whole commits only",
  async (t) => {
    for (const written of [1, 20, 100]) {
      const directory = temporary(t);
      const writer = inProcess(t, directory, "write");
      await writer.until(() => (writer.received.at(-1)?.written ?? 0) >= written);
      writer.child.kill("SIGKILL");
      await once(writer.child, "exit");
      const acknowledged = writer.received.at(-1)!.written!;
      const store = await openLmdbStore(directory);
      const windows = new Map(
        [...store.entries("windows")].map(({ key, value }) => [key, value[0] as number]),
      );
      t.ok(windows.get("left")! >= acknowledged, `${windows.get("left")} of ${acknowledged}`);
      t.equal(windows.get("left"), windows.get("right"), "a commit is all or nothing");
      t.same(
        [...store.entries("journal")].map(({ key }) => key),
        Array.from({ length: windows.get("left")! }, (_, n) => n + 1),
      );
      await store.close();
    }
  },
);

t.test("a key may be as long as LMDB takes it, in bytes", async (t) => {
  const store = await openLmdbStore(temporary(t));
  const longest = "é".repeat(985);
  await store.commit([put("rules", longest, 1)]);
  t.same(read(store, "rules"), [[longest, [1]]]);
  await t.rejects(store.commit([put("rules", `${longest}x`, 2)]), {
    message: "a key of rules is longer than 1970 bytes",
  });
  t.same(read(store, "rules"), [[longest, [1]]]);
  await store.close();
});

t.test("a commit of which one change can't be written writes none", async (t) => {
  const directory = temporary(t);
  const store = await openLmdbStore(directory);
  await t.rejects(
    store.commit([put("rules", "a", 1), put("rules", "k".repeat(5000), 2), put("rules", "c", 3)]),
  );
  await store.commit([put("windows", "after", 1)]);
  t.same(read(store, "rules"), []);
  t.same(read(store, "windows"), [["after", [1]]], "and the store works");
  await store.close();
  t.ok(existsSync(store.file));
});

t.test("keys come back as they went in, in their order", async (t) => {
  const store = await openLmdbStore(temporary(t));
  const long = `m\n/\n2026-03-10\nlocal\n${"m\u0000\u0002".padEnd(70, "x")}`;
  const texts = ["a", "é日🙂", "x".repeat(500), "t\n\n\n2026-03-10", long];
  await store.commit(texts.map((key) => put("rollups", key, 1)));
  const numbers = [1, 7, 2 ** 31, 2 ** 40 + 3, 2 ** 53 - 1];
  await store.commit(numbers.map((key) => put("usage", key, 1)));
  const range = { from: "", before: "\u{10ffff}", limit: 9 };
  t.same(
    store.keys("rollups", range),
    ["a", long, "t\n\n\n2026-03-10", "x".repeat(500), "é日🙂"],
    "the one on which it used to end, too",
  );
  t.same(
    [...store.entries("usage")].map(({ key }) => key),
    numbers,
  );
  await store.commit([remove("usage", 7), remove("rollups", long), remove("rollups", "a")]);
  t.equal(store.get("usage", 7), undefined);
  t.equal(store.keys("rollups", range).length, 3);
  t.same(store.range("rollups", { ...range, limit: 1 }).length, 1);
  t.same(store.lastKeys("usage", { from: 0, before: 2 ** 53, limit: 2 }), [
    2 ** 53 - 1,
    2 ** 40 + 3,
  ]);
  await store.close();
});

t.test("what is removed counts as used no longer, though the file stays as large", async (t) => {
  const store = await openLmdbStore(temporary(t));
  const some = (n: number): readonly ReturnType<typeof put>[] =>
    Array.from({ length: 500 }, (_, i) => put("usage", n * 500 + i, "x".repeat(300)));
  const empty = store.usedBytes()!;
  for (let n = 0; n < 4; n++) await store.commit(some(n));
  const [used, size] = [store.usedBytes()!, store.sizeBytes()!];
  t.ok(used > empty + 2000 * 300 && used <= size);
  for (let n = 0; n < 4; n++) await store.commit(some(n).map(({ key }) => remove("usage", key)));
  t.ok(store.usedBytes()! < used / 10);
  t.ok(store.sizeBytes()! >= size);
  for (let n = 0; n < 3; n++) await store.commit(some(n));
  t.ok(store.sizeBytes()! < size * 1.5, "its room is used again");
  await store.close();
});

const counts = [{ table: "windows" }, { table: "journal" }, { table: "usage" }] as const;

t.test(
  "a store that was seen in its place is believed there for a tenth of a second",
  async (t) => {
    let isThere = true;
    let looks = 0;
    const place = new StorePlace(() => {
      looks++;
      return isThere;
    });
    t.ok(place.takes(counts, 1000));
    isThere = false;
    t.ok(place.takes(counts, 1099));
    t.equal(looks, 1, "nobody has looked again");
    t.notOk(place.takes(counts, 1100));
    isThere = true;
    t.ok(place.takes(counts, 1101), "one that is missing is looked for each time");
    isThere = false;
    t.notOk(place.isKept(1102), "whoever asks for a look gets one");
    t.notOk(place.takes(counts, 1103), "and it is believed at once");
  },
);

t.test("what is defined is committed to a store that is seen in its place then", async (t) => {
  for (const table of [
    "rules",
    "keys",
    "denials",
    "objects",
    "budgets",
    "resets",
    "settings",
  ] as const) {
    let isThere = true;
    const place = new StorePlace(() => isThere);
    t.ok(place.takes([...counts, { table }], 1000), table);
    isThere = false;
    t.ok(place.takes(counts, 1001), "it is believed for what counts");
    t.notOk(place.takes([...counts, { table }], 1001), table);
  }
});

t.test("so is a reset of all rules", async (t) => {
  const daemon = startDaemon([pathRule("/a", 60, { requests: 1 })]);
  await daemon.commit();
  const committed: Change[] = [];
  const commit = daemon.store.commit.bind(daemon.store);
  daemon.store.commit = (changes) => {
    for (const change of changes) committed.push(change);
    return commit(changes);
  };
  await ask(daemon, "rate-limits.reset", { confirmation: "reset" });
  let isThere = true;
  const place = new StorePlace(() => isThere);
  place.isKept(1000);
  isThere = false;
  t.notOk(place.takes(committed, 1001));
});
