import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { Writable } from "node:stream";
import t from "tap";
import {
  isOtherOwnerAlive,
  ownerMark,
  ownerPid,
} from "../../../../limiterd/store/lmdb/store-owner.js";
import { StoreLockedError } from "../../../../limiterd/store/store.js";
import { filledStore, inProcess, refusal, tamper, temporary } from "./store-fixture.js";

t.test(
  "a store that a living process holds is refused, and opens once that has closed it",
  async (t) => {
    const directory = temporary(t);
    const first = inProcess(t, directory, "hold");
    await first.until(() => first.received.length > 0);
    const refused = await refusal(directory);
    t.ok(refused instanceof StoreLockedError);
    t.match(
      refused?.message,
      new RegExp(`limiterd\\.mdb is in use by the process ${first.child.pid}$`),
    );
    const third = inProcess(t, directory, "read");
    await third.until(() => third.received.length > 0);
    t.match(third.received[0]?.failed, /^StoreLockedError/);
    first.child.send("close");
    await first.until(() => first.received.some(({ closed }) => closed === true));
    t.equal(await refusal(directory), null, "though the process still lives");
  },
);

t.test(
  "a store whose owner was killed opens immediately, even if another process now has its process id",
  async (t) => {
    const directory = temporary(t);
    const first = inProcess(t, directory, "hold");
    await first.until(() => first.received.length > 0);
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
    for (const running of both) await running.until(() => running.received.length > 0);
    t.same(both.map(({ received }) => received[0]?.failed?.split(":")[0] ?? "opened").sort(), [
      "StoreLockedError",
      "opened",
    ]);
  }
});

/** The start of a process as the mark has it; its state. */
function statOf(pid: number): { readonly ticks: string; readonly state: string } {
  const stat = readFileSync(`/proc/${pid}/stat`, "latin1");
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return { ticks: fields[19]!, state: fields[0]! };
}

t.test("an owner is another process that runs, started when its mark says", async (t) => {
  // It becomes a program that reaps no child, and only then its child ends.
  const child = spawn("sh", ["-c", "sh -c 'read x <&3' & echo $!; exec sleep 60"], {
    stdio: ["ignore", "pipe", "ignore", "pipe"],
  });
  t.teardown(() => void child.kill("SIGKILL"));
  const [line] = (await once(child.stdout!, "data")) as [Buffer];
  const zombie = Number(String(line));
  const until = async (isSo: () => boolean): Promise<void> => {
    while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
  };
  await until(() => readFileSync(`/proc/${child.pid}/cmdline`, "latin1").startsWith("sleep"));
  (child.stdio[3] as Writable).end("\n");
  await until(() => statOf(zombie).state === "Z");
  const { ticks } = statOf(child.pid!);
  t.match(ownerMark(), /^\d+ \d+$/);
  t.equal(ownerMark(), `${process.pid} ${statOf(process.pid).ticks}`);
  t.equal(ownerPid("12 34"), 12);
  for (const [mark, expected] of [
    [ownerMark(), false],
    [`${child.pid} ${ticks}`, true],
    [`${child.pid} ${Number(ticks) + 1}`, false],
    [`${child.pid} `, false],
    [`${zombie} ${statOf(zombie).ticks}`, false],
    ["999999999 1", false],
    ["999999999 ", false],
  ] as const)
    t.equal(isOtherOwnerAlive(mark), expected, mark);
});

t.test("a store says whose it is, also where no lock does", async (t) => {
  const directory = temporary(t);
  const file = await filledStore(directory);
  const claim = (mark: string): Promise<void> =>
    tamper(file, "meta", (db) => db.put("owner", Buffer.from(mark)));
  await claim(`${process.ppid} ${statOf(process.ppid).ticks}`);
  t.match(await refusal(directory), {
    name: "StoreLockedError",
    message: `${file} is in use by the process ${process.ppid}`,
  });
  await claim(ownerMark());
  t.equal(await refusal(directory), null, "this process's own mark");
  await tamper(file, "meta", async (db) => {
    t.equal(db.get("owner"), undefined, "which goes with the close");
    t.equal(db.get("schema")?.toString(), "1");
  });
});
