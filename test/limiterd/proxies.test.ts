import t from "tap";
import { createProxies, proxyFromStored } from "../../limiterd/proxies.js";
import { settledRetentionMs } from "../../shared/bounds.js";
import { askFor, counts, pathRule, settleOf, startDaemon } from "./in-memory-daemon.js";

const minute = pathRule("/team", 60, { requests: 10, tokens: 1000 });
const stored = (daemon: ReturnType<typeof startDaemon>): unknown[] =>
  [...daemon.store.entries("proxies")].map(({ key }) => key);

t.test(
  "a proxy is forgotten when it was away for seven days, however long it was connected before",
  async (t) => {
    const daemon = startDaemon([minute]);
    const staying = daemon.proxy("staying");
    const lease = askFor(staying, 2, "/team")!;
    staying.send(settleOf(lease, 7, 30));
    const leaving = daemon.proxy("leaving");
    leaving.send(settleOf(askFor(leaving, 2, "/team")!, 9, 30));
    await daemon.snapshot();
    leaving.close();
    const other = daemon.proxy("other");
    /** A snapshot at rest writes nothing, and forgets nobody. */
    const busySnapshot = async (seq: number): Promise<void> => {
      other.send(settleOf(askFor(other, seq, "/elsewhere")!, seq, 1));
      await daemon.commit();
      await daemon.snapshot();
    };
    daemon.nowMs += settledRetentionMs;
    await busySnapshot(2);
    t.same(stored(daemon), ["leaving", "other", "staying"], "to the millisecond");
    daemon.nowMs += 1;
    await busySnapshot(3);
    t.same(stored(daemon), ["other", "staying"]);
    const before = counts(daemon, minute);
    staying.send(settleOf(lease, 7, 30));
    t.same(counts(daemon, minute), before, "its repeated settle counts once");
    t.equal(daemon.state.counts.repeatedSettles, 1);
    t.equal(daemon.proxy("leaving").state.proxy!.settledSeq, 0);
  },
);

t.test("each changed proxy is handed out once, as long as it doesn't change again", async (t) => {
  const proxies = createProxies();
  const [a, b] = [proxies.get("a", 1), proxies.get("b", 2)];
  t.equal(proxies.get("a", 5), a);
  t.equal(a.seenAtMs, 1);
  for (const proxy of [a, b, a]) proxies.markDirty(proxy);
  t.same(proxies.takeDirty(), [a, b]);
  t.same(proxies.takeDirty(), []);
  proxies.markDirty(a);
  t.same(proxies.takeDirty(), [a]);
});

t.test("a restored proxy has settled durably what was written", async (t) => {
  const proxies = createProxies();
  t.match(proxies.restore("a", { settledSeq: 4, connected: true, seenAtMs: 3 }), {
    settledSeq: 4,
    durableSeq: 4,
    seenAtMs: 3,
    peer: null,
    dirty: false,
  });
});

t.test("what was never written isn't read", async (t) => {
  t.same(proxyFromStored([4, true, 3]), { settledSeq: 4, connected: true, seenAtMs: 3 });
  for (const value of [[], [-1, true, 3], [4, 1, 3], [4, true, -1], [4, true], ["4", true, 3]])
    t.equal(proxyFromStored(value), null, JSON.stringify(value));
});
