import { once } from "node:events";
import { join } from "node:path";
import t from "tap";
import { StoreLockedError } from "../../../../limiterd/store/store.js";
import { inProcess, refusal, tamper, temporary } from "./store-fixture.js";

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
  "a store whose owner was killed opens at once, even if its number was given to another process since",
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
