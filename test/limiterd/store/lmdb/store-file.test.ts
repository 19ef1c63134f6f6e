import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import t from "tap";
import { filledStore, refusal, temporary } from "./store-fixture.js";

t.test(
  "a first start that was interrupted is made good by the next one, and leaves nothing",
  async (t) => {
    const directory = temporary(t);
    for (const [name, content] of [
      ["limiterd.mdb.17.new", ""],
      ["limiterd.lock.17.x1y2", ""],
      ["limiterd.mdb.mark.new", ""],
      ["limiterd.mdb.17.new-lock", "x"],
      [`limiterd.mdb.${process.pid}.new`, "half"],
      ["limiterd.mdb-lock", ""],
    ] as const)
      writeFileSync(join(directory, name), content);
    t.equal(await refusal(directory), null);
    t.same(readdirSync(directory).sort(), [
      "limiterd.mdb",
      "limiterd.mdb-lock",
      "limiterd.mdb.mark",
    ]);
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
    t.same(readdirSync(directory).sort(), [
      "limiterd.mdb",
      "limiterd.mdb-lock",
      "limiterd.mdb.mark",
    ]);
  },
);

t.test(
  "a first start on a full disk fails with that reason, and leaves nothing",
  { skip: spawnSync("prlimit", ["--version"]).error === undefined ? false : "needs prlimit" },
  async (t) => {
    const directory = temporary(t);
    const script = fileURLToPath(
      new URL("../../../support/processes/store-process.js", import.meta.url),
    );
    const child = spawn("prlimit", ["--fsize=1", process.execPath, script, directory, "hold"], {
      stdio: ["ignore", "inherit", "inherit", "ipc"],
    });
    const [answer] = (await once(child, "message")) as [{ failed?: string }];
    t.equal(answer.failed, `StoreUnreadableError: ${directory} can't be written: file too large`);
    t.same(readdirSync(directory), []);
  },
);
