import { type ChildProcess, fork, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { crc32 } from "node:zlib";
import { open } from "lmdb";
import t, { type Test } from "tap";
import { plainReason } from "../../../limiterd/store/disk-trial.js";
import { openLmdbStore } from "../../../limiterd/store/lmdb-store.js";
import {
  type Change,
  type Store,
  StoreLockedError,
  StoreUnreadableError,
  type Table,
  tables,
} from "../../../limiterd/store/store.js";
import { createMemoryStore } from "../../support/memory-store.js";

function temporary(t: Test): string {
  const directory = mkdtempSync(join(tmpdir(), "sluice-store-"));
  t.teardown(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

const put = (table: Table, key: string | number, ...value: readonly unknown[]): Change => ({
  table,
  key,
  value,
});
const remove = (table: Table, key: string | number): Change => ({ table, key, value: undefined });
const read = (store: Store, table: Table): unknown[] =>
  [...store.entries(table)].map(({ key, value }) => [key, value]);

const stores: readonly (readonly [name: string, make: (t: Test) => Promise<Store>])[] = [
  ["memory", async () => createMemoryStore()],
  [
    "LMDB",
    async (t) => {
      const store = await openLmdbStore(temporary(t));
      t.teardown(() => store.close());
      return store;
    },
  ],
];

for (const [name, make] of stores) {
  t.test(`${name}: a new store is empty in every table`, async (t) => {
    const store = await make(t);
    for (const table of tables) t.same(read(store, table), [], table);
  });

  t.test(
    `${name}: what is committed stands in its own table, in the order of the keys`,
    async (t) => {
      const store = await make(t);
      await store.commit([
        put("rules", "b", 1),
        put("rules", "a", 2),
        put("windows", "a", 3),
        put("rules", "a\nb", 4),
        put("rules", "ab", 5),
        put("proxies", "a", 6),
      ]);
      t.same(read(store, "rules"), [
        ["a", [2]],
        ["a\nb", [4]],
        ["ab", [5]],
        ["b", [1]],
      ]);
      t.same(read(store, "windows"), [["a", [3]]]);
      t.same(read(store, "proxies"), [["a", [6]]]);
      t.same(read(store, "journal"), []);
    },
  );

  t.test(`${name}: numbers as keys come back as numbers, in their order`, async (t) => {
    const store = await make(t);
    const keys = [10, 2, 1_000_001, 1, 2 ** 40, 100];
    await store.commit(keys.map((key) => put("journal", key, key)));
    t.same(
      read(store, "journal"),
      [...keys].sort((a, b) => a - b).map((key) => [key, [key]]),
    );
  });

  t.test(
    `${name}: one entry, a range of entries or of keys is read without the rest`,
    async (t) => {
      const store = await make(t);
      const keys = [
        "t\n/team\n\u00e9 t\u00e9\n2026-01-02",
        "t\n/team\na\n2026-01-01",
        "t\n/team\na\n2026-01-03",
        "t\n/team\na b\n2026-01-01",
        "t\n/team\na-b\n2026-01-01",
        "t\n/team\na\u{1f600}\n2026-01-01",
        "t\n/teams\na\n2026-01-01",
        "t\n\n\n2026-01-01",
      ];
      await store.commit([
        ...keys.map((key, i) => put("rollups", key, i)),
        ...[30, 10, 20, 2 ** 50].map((key) => put("usage", key, key)),
      ]);
      t.same(store.get("rollups", keys[3]!), [3]);
      t.equal(store.get("rollups", "t\n/team\na\n2026-01-02"), undefined);
      t.equal(store.get("usage", 11), undefined);
      t.same(store.get("usage", 2 ** 50), [2 ** 50]);
      const under = (prefix: string, limit = 100) =>
        store.keys("rollups", { from: prefix, before: `${prefix.slice(0, -1)}\u000b`, limit });
      t.same(under("t\n/team\na\n"), [keys[1], keys[2]], "and no name that begins with it");
      t.same(
        under("t\n/team\n"),
        [
          keys[1],
          keys[2],
          keys[3],
          keys[4],
          ...[keys[0]!, keys[5]!].sort((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b))),
        ],
        "all children, whatever they are called",
      );
      t.same(under("t\n\n\n"), [keys[7]]);
      t.same(under("t\n/team\n", 2), [keys[1], keys[2]]);
      t.same(
        store.range("rollups", {
          from: "t\n/team\na\n2026-01-01",
          before: "t\n/team\na\n2026-01-03",
          limit: 9,
        }),
        [{ key: keys[1], value: [1] }],
        "with its beginning, without its end",
      );
      t.same(store.range("usage", { from: 11, before: 2 ** 50, limit: 1 }), [
        { key: 20, value: [20] },
      ]);
      t.same(
        store.keys("usage", { from: 0, before: Number.MAX_SAFE_INTEGER, limit: 2, reverse: true }),
        [2 ** 50, 30],
      );
      t.same(
        store.keys("usage", { from: 0, before: 30, limit: 9, reverse: true }),
        [20, 10],
        "backwards, too",
      );
      t.same(store.keys("usage", { from: 31, before: 40, limit: 9 }), []);
    },
  );

  t.test(`${name}: values come back as they were, of every kind that we keep`, async (t) => {
    const store = await make(t);
    const values = [
      [],
      [null, true, false],
      [0, 1, -1, 64, 127, 2 ** 53 - 1, 0.5],
      ["", "é日🙂", "x".repeat(5000), "a\nb\u0000"],
      [
        ["p", 1],
        ["q", [2, [3]]],
      ],
      Array.from({ length: 2000 }, (_, i) => i),
    ];
    await store.commit(values.map((value, i) => put("windows", `v${i}`, ...value)));
    t.same(
      read(store, "windows"),
      values.map((value, i) => [`v${i}`, value]),
    );
  });

  t.test(
    `${name}: a later value replaces the earlier one, a removal takes it away, and removing nothing is no failure`,
    async (t) => {
      const store = await make(t);
      await store.commit([put("rules", "a", 1), put("rules", "b", 1)]);
      await store.commit([put("rules", "a", 2), remove("rules", "b"), remove("rules", "c")]);
      t.same(read(store, "rules"), [["a", [2]]]);
      await store.commit([
        put("rules", "d", 1),
        remove("rules", "d"),
        remove("rules", "a"),
        put("rules", "a", 3),
      ]);
      t.same(read(store, "rules"), [["a", [3]]], "changes of one commit apply in their order");
      await store.commit([]);
      t.same(read(store, "rules"), [["a", [3]]]);
    },
  );

  t.test(`${name}: commits that aren't waited for apply in their order`, async (t) => {
    const store = await make(t);
    await Promise.all(
      Array.from({ length: 50 }, (_, n) =>
        store.commit([
          put("windows", "a", n),
          n % 2 === 0 ? put("windows", "b", n) : remove("windows", "b"),
        ]),
      ),
    );
    t.same(read(store, "windows"), [["a", [49]]]);
  });

  t.test(
    `${name}: a value that is changed after its commit stays as it was committed`,
    async (t) => {
      const store = await make(t);
      const value = ["before"];
      const committed = store.commit([{ table: "rules", key: "a", value }]);
      value[0] = "after";
      await committed;
      value[0] = "later";
      t.same(read(store, "rules"), [["a", ["before"]]]);
    },
  );

  t.test(`${name}: a long list of changes is one commit`, async (t) => {
    const store = await make(t);
    await store.commit(
      Array.from({ length: 3000 }, (_, n) => put("windows", `w${String(n).padStart(5, "0")}`, n)),
    );
    t.equal([...store.entries("windows")].length, 3000);
  });

  t.test(`${name}: it has a name for messages, and a size`, async (t) => {
    const store = await make(t);
    t.match(store.file, /\S/);
    t.ok(store.sizeBytes()! >= 0);
  });
}

/** A store with a few entries, closed; returns its file. */
async function filledStore(directory: string, entries = 20): Promise<string> {
  const store = await openLmdbStore(directory);
  await store.commit(
    Array.from({ length: entries }, (_, n) => put("windows", `w${n}`, n, "x".repeat(100))),
  );
  await store.close();
  return store.file;
}

/** What opening says, or null when it opens. */
async function refusal(directory: string): Promise<Error | null> {
  try {
    const store = await openLmdbStore(directory);
    await store.close();
    return null;
  } catch (error) {
    return error as Error;
  }
}

/** Does something to a store's file below our own layer. */
async function tamper(
  file: string,
  table: string,
  change: (db: {
    get(key: string): Buffer | undefined;
    put(key: string, value: Buffer): Promise<unknown>;
  }) => Promise<unknown>,
): Promise<void> {
  const root = open<Buffer, string>({ path: file, noSubdir: true, encoding: "binary", maxDbs: 16 });
  await change(root.openDB<Buffer, string>({ name: table, encoding: "binary" }));
  await root.close();
}

interface Running {
  readonly child: ChildProcess;
  readonly heard: {
    readonly opened?: number;
    readonly written?: number;
    readonly entries?: number;
    readonly failed?: string;
    readonly closed?: true;
    readonly committed?: number;
    readonly refused?: string;
  }[];
  /** All that it wrote to standard error. */
  printed(): string;
  /** Resolved once something that it said satisfies. */
  until(satisfies: () => boolean): Promise<void>;
}

/** A process with a store of its own; it ends with the test. */
function inProcess(
  t: Test,
  directory: string,
  task: "hold" | "write" | "read" | "commit",
): Running {
  const child = fork(
    new URL("../../support/processes/store-process.js", import.meta.url),
    [directory, task],
    { execArgv: [], stdio: ["ignore", "inherit", "pipe", "ipc"] },
  );
  let printed = "";
  child.stderr?.on("data", (text: Buffer) => (printed += text.toString()));
  const heard: Running["heard"] = [];
  const waiting: (() => void)[] = [];
  const wake = (): void => waiting.splice(0).forEach((run) => run());
  child.on("message", (message) => {
    heard.push(message as Running["heard"][number]);
    wake();
  });
  child.on("exit", wake);
  t.teardown(() => void child.kill("SIGKILL"));
  return {
    child,
    heard,
    printed: () => printed,
    async until(satisfies) {
      while (!satisfies()) {
        if (child.exitCode !== null || child.signalCode !== null)
          throw new Error(`the process ended: ${child.exitCode ?? child.signalCode}`);
        await new Promise<void>((resolve) => waiting.push(resolve));
      }
    },
  };
}

t.test("a store is made where there is none, its directory for its owner alone", async (t) => {
  const directory = join(temporary(t), "a", "b");
  const store = await openLmdbStore(directory);
  t.equal(store.file, join(directory, "limiterd.mdb"));
  t.equal((statSync(directory).mode & 0o777).toString(8), "700");
  t.equal(store.sizeBytes(), statSync(store.file).size);
  await store.close();
});

t.test("what was committed is there after a close, and again after another", async (t) => {
  const directory = temporary(t);
  for (let life = 1; life <= 3; life++) {
    const store = await openLmdbStore(directory);
    t.same(
      read(store, "journal"),
      Array.from({ length: life - 1 }, (_, n) => [n + 1, [n + 1]]),
    );
    await store.commit([put("journal", life, life)]);
    await store.close();
  }
});

t.test(
  "an entry that is damaged is told with its table and key, and nothing is written over it",
  async (t) => {
    const damages: readonly (readonly [name: string, damage: (sealed: Buffer) => Buffer])[] = [
      ["a flipped bit in the body", (sealed) => ((sealed[sealed.length - 1]! ^= 1), sealed)],
      ["a flipped bit in the checksum", (sealed) => ((sealed[2]! ^= 1), sealed)],
      ["another layout's version", (sealed) => ((sealed[0]! += 1), sealed)],
      ["cut short", (sealed) => sealed.subarray(0, 4)],
      ["a head without a body", (sealed) => sealed.subarray(0, 5)],
      ["empty", () => Buffer.alloc(0)],
      ["something else", () => Buffer.from("not ours at all")],
    ];
    for (const [name, damage] of damages) {
      const directory = temporary(t);
      const file = await filledStore(directory);
      let damaged: Buffer = Buffer.alloc(0);
      await tamper(file, "windows", async (db) => {
        damaged = damage(Buffer.from(db.get("w7")!));
        await db.put("w7", damaged);
      });
      const store = await openLmdbStore(directory);
      for (const reads of [
        () => read(store, "windows"),
        () => store.get("windows", "w7"),
        () => store.range("windows", { from: "w", before: "x", limit: 99 }),
      ]) {
        t.throws(
          reads,
          {
            name: "StoreUnreadableError",
            message: `${file} can't be read: the entry "w7" of windows is damaged`,
          },
          name,
        );
      }
      t.same(read(store, "rules"), [], "the other tables can be read");
      await store.close();
      await tamper(file, "windows", async (db) =>
        t.ok(db.get("w7")!.equals(damaged), `${name}: it is as it was`),
      );
    }
  },
);

t.test("a value that is whole but no list is damaged too", async (t) => {
  const directory = temporary(t);
  const file = await filledStore(directory);
  await tamper(file, "windows", async (db) => {
    const body = Buffer.from([5]);
    const sealed = Buffer.concat([Buffer.from([1, 0, 0, 0, 0]), body]);
    sealed.writeUInt32BE(crc32(body), 1);
    await db.put("w1", sealed);
  });
  const store = await openLmdbStore(directory);
  t.throws(() => read(store, "windows"), StoreUnreadableError);
  await store.close();
});

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
  t.match(refused?.message, /limiterd\.mdb can't be opened: illegal operation on a directory$/);
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
      /limiterd\.mdb can't be read: it is empty: .* Put a whole copy in its place, or move it away to begin with a new store/,
    );
    t.equal(statSync(file).size, 0, "untouched");
    rmSync(file);
    t.equal(await refusal(directory), null, "whoever removes it begins anew");
  },
);

t.test(
  "a first start that was cut off is made good by the next one, and leaves nothing",
  async (t) => {
    const directory = temporary(t);
    for (const [name, content] of [
      ["limiterd.mdb.17.new", ""],
      ["limiterd.mdb.17.new-lock", "x"],
      [`limiterd.mdb.${process.pid}.new`, "half"],
      ["limiterd.mdb-lock", ""],
    ] as const)
      writeFileSync(join(directory, name), content);
    t.equal(await refusal(directory), null);
    t.same(readdirSync(directory).sort(), ["limiterd.mdb", "limiterd.mdb-lock"]);
    t.equal((statSync(join(directory, "limiterd.mdb")).mode & 0o777).toString(8), "600");
  },
);

t.test(
  "a start removes the trial of the disk within which another process was killed",
  async (t) => {
    const directory = temporary(t);
    await filledStore(directory);
    writeFileSync(join(directory, "limiterd.mdb.17.trial"), "x");
    t.equal(await refusal(directory), null);
    t.same(readdirSync(directory).sort(), ["limiterd.mdb", "limiterd.mdb-lock"]);
  },
);

t.test(
  "a first start on a disk that takes nothing says so, and leaves nothing",
  { skip: spawnSync("prlimit", ["--version"]).error === undefined ? false : "needs prlimit" },
  async (t) => {
    const directory = temporary(t);
    const script = fileURLToPath(
      new URL("../../support/processes/store-process.js", import.meta.url),
    );
    const child = spawn("prlimit", ["--fsize=1", process.execPath, script, directory, "hold"], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    const [said] = (await once(child, "message")) as [{ failed?: string }];
    t.equal(said.failed, `StoreUnreadableError: ${directory} can't be written: file too large`);
    t.same(readdirSync(directory), []);
  },
);

t.test(
  "a disk that takes no more is told in its own plain words, by LMDB once, and the store goes on when it does",
  { skip: spawnSync("prlimit", ["--version"]).error === undefined ? false : "needs prlimit" },
  async (t) => {
    const directory = temporary(t);
    const { child, heard, until, printed } = inProcess(t, directory, "commit");
    const commit = async (bytes: number): Promise<unknown> => {
      const before = heard.length;
      child.send(bytes);
      await until(() => heard.length > before);
      return heard.at(-1);
    };
    const bound = (bytes: string): void =>
      void t.equal(
        spawnSync("prlimit", ["--pid", String(child.pid), `--fsize=${bytes}:`]).status,
        0,
      );
    await until(() => heard.length === 1);
    t.same(await commit(10), { committed: 10 });
    bound(String(statSync(join(directory, "limiterd.mdb")).size));
    for (let round = 0; round < 5; round++)
      t.same(await commit(200_000), { refused: "StoreFailingError: file too large" });
    bound("unlimited");
    t.same(await commit(200_000), { committed: 200_000 });
    child.disconnect();
    await once(child, "exit");
    t.equal(printed().split("Error:").length - 1, 1, printed());
    t.same(readdirSync(directory).sort(), ["limiterd.mdb", "limiterd.mdb-lock"]);
  },
);

t.test(
  "the words for an error are the operating system's, or LMDB's without its addresses",
  async (t) => {
    const failure = (message: string, fields: object): Error =>
      Object.assign(new Error(message), fields);
    for (const [error, words] of [
      [
        failure(
          "No space left on device: Attempting to write page at position 4096, size 8192, blocks 2, buffer sizes 4096 4096 987022336",
          { code: 28 },
        ),
        "no space left on device",
      ],
      [
        failure("ENOSPC: no space left on device, write", { code: "ENOSPC", errno: -28 }),
        "no space left on device",
      ],
      [
        failure("EROFS: read-only file system, open '/x'", { code: "EROFS", errno: -30 }),
        "read-only file system",
      ],
      [
        failure(
          "MDB_MAP_FULL: Environment mapsize limit reached: Attempting to write page at position 1, size 2, blocks 1, buffer sizes 1 2 3",
          { code: -30792 },
        ),
        "MDB_MAP_FULL: Environment mapsize limit reached",
      ],
      [new Error("Database is closed"), "Database is closed"],
      ["odd", "odd"],
    ] as const)
      t.equal(plainReason(error), words);
  },
);

t.test(
  "a file that was cut short is refused with its name, wherever it was cut, and doesn't end the process",
  async (t) => {
    const directory = temporary(t);
    const { size } = statSync(await filledStore(directory, 3000));
    for (const bytes of [0, 20, 100, 4095, 4096, 8192, 12_288, Math.floor(size / 2)]) {
      const copy = join(directory, `cut-${bytes}`);
      mkdirSync(copy);
      const file = join(copy, "limiterd.mdb");
      writeFileSync(file, readFileSync(join(directory, "limiterd.mdb")));
      truncateSync(file, bytes);
      const before = readFileSync(file);
      const { child, heard } = inProcess(t, copy, "read");
      const [[code, signal]] = (await Promise.all([
        once(child, "exit"),
        once(child, "disconnect"),
      ])) as [[number | null, string | null], unknown];
      t.match(
        { code, signal, said: heard[0]?.failed },
        { code: 0, signal: null, said: /^StoreUnreadableError: .*limiterd\.mdb/ },
        `${bytes} bytes: it said why`,
      );
      t.ok(readFileSync(file).equals(before), `${bytes} bytes: untouched`);
    }
  },
);

t.test("a store of a newer layout is refused and left alone", async (t) => {
  const directory = temporary(t);
  const file = await filledStore(directory);
  await tamper(file, "meta", (db) => db.put("schema", Buffer.from("2")));
  const refused = await refusal(directory);
  t.ok(refused instanceof StoreUnreadableError);
  t.match(refused?.message, /limiterd\.mdb has the schema version 2, this Sluice reads 1$/);
  await tamper(file, "meta", async (db) => {
    t.equal(db.get("schema")?.toString(), "2");
    t.equal(db.get("owner"), undefined);
  });
});

t.test(
  "a store that a living process holds is refused, and opens once that has closed it",
  async (t) => {
    const directory = temporary(t);
    const first = inProcess(t, directory, "hold");
    await first.until(() => first.heard.length > 0);
    const refused = await refusal(directory);
    t.ok(refused instanceof StoreLockedError);
    t.match(
      refused?.message,
      new RegExp(`limiterd\\.mdb is in use by the process ${first.child.pid}$`),
    );
    const third = inProcess(t, directory, "read");
    await third.until(() => third.heard.length > 0);
    t.match(third.heard[0]?.failed, /^StoreLockedError/);
    first.child.send("close");
    await first.until(() => first.heard.some(({ closed }) => closed === true));
    t.equal(await refusal(directory), null, "though the process still lives");
  },
);

t.test(
  "a store whose owner was killed opens at once, even if its number was given to another process since",
  async (t) => {
    const directory = temporary(t);
    const first = inProcess(t, directory, "hold");
    await first.until(() => first.heard.length > 0);
    first.child.kill("SIGKILL");
    await once(first.child, "exit");
    t.equal(await refusal(directory), null);
    await tamper(join(directory, "limiterd.mdb"), "meta", (db) =>
      db.put("owner", Buffer.from(`${process.ppid} 1`)),
    );
    t.equal(
      await refusal(directory),
      null,
      "another process with that number, which started at another time",
    );
  },
);

t.test("of two processes that open at the same moment one has the store", async (t) => {
  for (let round = 0; round < 3; round++) {
    const directory = temporary(t);
    const both = [inProcess(t, directory, "hold"), inProcess(t, directory, "hold")];
    for (const running of both) await running.until(() => running.heard.length > 0);
    t.same(both.map(({ heard }) => heard[0]?.failed?.split(":")[0] ?? "opened").sort(), [
      "StoreLockedError",
      "opened",
    ]);
  }
});

t.test(
  "what was committed survives the sudden end of its writer, whole commits only",
  async (t) => {
    for (const written of [1, 20, 100]) {
      const directory = temporary(t);
      const writer = inProcess(t, directory, "write");
      await writer.until(() => (writer.heard.at(-1)?.written ?? 0) >= written);
      writer.child.kill("SIGKILL");
      await once(writer.child, "exit");
      const acknowledged = writer.heard.at(-1)!.written!;
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

t.test("a commit of which one change can't be written writes none", async (t) => {
  const directory = temporary(t);
  const store = await openLmdbStore(directory);
  await t.rejects(
    store.commit([put("rules", "a", 1), put("rules", "k".repeat(5000), 2), put("rules", "c", 3)]),
  );
  await store.commit([put("windows", "after", 1)]);
  t.same(read(store, "rules"), []);
  t.same(read(store, "windows"), [["after", [1]]], "and the store goes on");
  await store.close();
  t.ok(existsSync(store.file));
});
