import t from "tap";
import { endReconnectGrace } from "../../../limiterd/handlers/reconnect-grace.js";
import { askFor, counts, pathRule, settleOf, startDaemon } from "../in-memory-daemon.js";

const rule = pathRule("/team", 86_400, { requests: 100, tokens: 1000 });

t.test("a batch that a window on the disk holds already isn't counted again", async (t) => {
  const first = startDaemon([rule]);
  const peer = first.proxy("p1");
  peer.send(settleOf(askFor(peer, 2, "/team")!, 1, 30));
  first.state.writer.closeBatch();
  await first.commit();
  const batches = [...first.store.entries("journal")];
  t.ok(batches.length > 0);
  await first.snapshot();
  const { store } = first;
  const [window] = [...store.entries("windows")];
  const lsn = window!.value.at(-1) as number;
  for (const [key, expected] of [
    [lsn, { requests: 1, tokens: 30 }],
    [lsn + 1, { requests: 2, tokens: 60 }],
  ] as const) {
    const crashed = store.crash();
    await crashed.commit(batches.map(({ value }) => ({ table: "journal", key, value })));
    const again = startDaemon([rule], { store: crashed, nowMs: first.nowMs });
    endReconnectGrace(again.state);
    t.match(counts(again, rule), expected, key === lsn ? "held" : "newer than the window");
  }
});
