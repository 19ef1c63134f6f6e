import t from "tap";
import { recordsWritten } from "../../../../limiterd/handlers/admin/export-records.js";
import { client, noon, spend, usd } from "../../budgets/budget-fixture.js";
import { startDaemon } from "../../in-memory-daemon.js";

t.test("what has arrived is in the store before it is exported, without waiting", async (t) => {
  const daemon = startDaemon([], { nowMs: noon });
  spend(client(daemon), "/team", usd);
  t.same([...daemon.store.entries("usage")], []);
  await recordsWritten(daemon.state);
  t.equal([...daemon.store.entries("usage")].length, 1);
});
