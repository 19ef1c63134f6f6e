import { spawnSync } from "node:child_process";
import { once } from "node:events";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import t from "tap";
import { openLmdbStore } from "../../../../limiterd/store/lmdb/open-lmdb-store.js";
import { StoreLockedError } from "../../../../limiterd/store/store.js";
import { inProcess, put, refusal, temporary } from "./store-fixture.js";

const namespaces = spawnSync("unshare", ["--pid", "--net", "--fork", "--mount-proc", "true"]);

t.test(
  "of two daemons in PID and network namespaces of their own, both with the number 1, one has the store",
  { skip: namespaces.status === 0 ? false : "needs unshare and the right to use it" },
  async (t) => {
    const directory = temporary(t);
    const apart = {
      within: ["unshare", "--pid", "--net", "--fork", "--kill-child", "--mount-proc"],
    };
    const first = inProcess(t, directory, "hold", apart);
    await first.until(() => first.received.length > 0);
    t.same(first.received[0], { opened: 1 });
    const second = inProcess(t, directory, "hold", apart);
    await second.until(() => second.received.length > 0);
    t.equal(
      second.received[0]?.failed,
      `StoreLockedError: ${directory}/limiterd.mdb is in use by the process 1`,
    );
    t.ok((await refusal(directory)) instanceof StoreLockedError, "nor does one outside");
    first.child.kill("SIGKILL");
    // The process within holds the channel until it is gone, too.
    await once(first.child, "disconnect");
    t.equal(await refusal(directory), null, "until the first is gone");
  },
);

t.test("a directory whose path is longer than a socket's address is locked too", async (t) => {
  const directory = join(temporary(t), "d".repeat(200));
  const store = await openLmdbStore(directory);
  t.ok((await refusal(directory)) instanceof StoreLockedError);
  await store.close();
  t.equal(await refusal(directory), null);
  t.notOk(existsSync(join(directory, "limiterd.lock")));
});

t.test("what isn't a socket in the lock's place is moved out of the way", async (t) => {
  const directory = temporary(t);
  writeFileSync(join(directory, "limiterd.lock"), "x");
  t.equal(await refusal(directory), null);
  t.same(
    readdirSync(directory).filter((name) => name.includes("lock.")),
    [],
  );
});

t.test(
  "a store that is deleted, moved, or whose lock is taken while it is open takes no commit, until it is back",
  async (t) => {
    const directory = temporary(t);
    const store = await openLmdbStore(directory);
    const away = join(directory, "away");
    mkdirSync(away);
    for (const name of ["limiterd.mdb", "limiterd.lock"]) {
      t.ok(store.isInPlace());
      renameSync(join(directory, name), join(away, name));
      t.notOk(store.isInPlace(), name);
      await t.rejects(store.commit([put("rules", "a", 1)]), {
        name: "StoreFailingError",
        message: "the file or its lock was deleted, moved or replaced while the daemon runs",
      });
      renameSync(join(away, name), join(directory, name));
      await store.commit([put("rules", "a", 1)]);
    }
    rmSync(store.file);
    writeFileSync(store.file, "another file");
    t.notOk(store.isInPlace());
    await store.close();
    t.match(readFileSync(`${store.file}.mark`, "utf8"), /^in use /, "not as its owner left it");
  },
);
