import t from "tap";
import {
  exportRecords,
  untilRecordsAreWritten,
} from "../../../../limiterd/handlers/admin/export-records.js";
import { client, noon, spend, usd } from "../../budgets/budget-fixture.js";
import { startDaemon } from "../../in-memory-daemon.js";

t.test("what has arrived is in the store before it is exported, without waiting", async (t) => {
  const daemon = startDaemon([], { nowMs: noon });
  spend(client(daemon), "/team", usd);
  t.same([...daemon.store.entries("usage")], []);
  await untilRecordsAreWritten(daemon.state);
  t.equal([...daemon.store.entries("usage")].length, 1);
});

t.test("a store that fails stops an export before it begins, not on its way", async (t) => {
  const daemon = startDaemon([], { nowMs: noon });
  const proxy = client(daemon);
  for (let i = 0; i < 3; i++) spend(proxy, "/team", usd);
  const page = { userPath: "/", limit: 2, fromMs: null, beforeMs: null };
  const first = await exportRecords(daemon.state, { ...page, after: null }, noon);
  t.match(first, { records: { length: 2 }, next: "1.2", progress: 0 });
  daemon.store.broken = true;
  spend(proxy, "/team", usd);
  await t.rejects(exportRecords(daemon.state, { ...page, after: null }, noon), {
    name: "StoreFailingError",
    message: /^the latest usage can't be read: the store can't be written \(the disk is broken\)/,
  });
  const last = await exportRecords(daemon.state, { ...page, after: { key: 1, index: 2 } }, noon);
  t.match(last, { records: { length: 1 }, next: null, progress: 1 });
});
