import t from "tap";
import {
  type CountedVerdict,
  Proxies,
  proxyFromStored,
  UnreadVerdicts,
  verdictsFromStored,
} from "../../limiterd/peer.js";
import { leasesPerPeerMax, settledRetentionMs } from "../../shared/bounds.js";
import { askFor, counts, pathRule, settleOf, startDaemon } from "./in-memory-daemon.js";

const verdict = (number: number, changes: Partial<CountedVerdict> = {}): CountedVerdict => ({
  connection: 2,
  number,
  userPath: "/team",
  atPath: true,
  target: { provider: "openai", model: "gpt-4o" },
  lsn: 100 + number,
  atMs: 5000,
  ...changes,
});

t.test("what is acknowledged is forgotten, and the rest is handed out once", async (t) => {
  const unread = new UnreadVerdicts();
  for (let number = 1; number <= 2000; number++) {
    unread.add(verdict(number));
    if (number % 3 === 0) unread.acknowledge(number - 2);
  }
  unread.acknowledge(3);
  t.equal(unread.size, 2000 - 1996);
  const left = [1997, 1998, 1999, 2000];
  t.same(
    unread.take().map(({ number }) => number),
    left,
  );
  t.same([unread.size, unread.take()], [0, []]);
  unread.add(verdict(2001));
  unread.acknowledge(2002);
  t.equal(unread.size, 0);
});

t.test("at the bound the oldest is forgotten", async (t) => {
  const unread = new UnreadVerdicts();
  for (let number = 1; number <= leasesPerPeerMax + 5; number++) unread.add(verdict(number));
  t.equal(unread.size, leasesPerPeerMax);
  t.equal(unread.take()[0]!.number, 6);
});

t.test("verdicts come back from the store as they went in, and nothing else does", async (t) => {
  const verdicts = [
    verdict(1),
    verdict(2, { atPath: false, target: { provider: "local", model: "" } }),
    verdict(3, { target: null }),
    verdict(4, { target: { provider: "local", model: "", tools: ["web_search", "mcp:a/*"] } }),
  ];
  const unread = new UnreadVerdicts();
  for (const one of verdicts) unread.add(one);
  const stored = unread.toStored();
  t.same(verdictsFromStored(stored), verdicts);
  t.same(verdictsFromStored([]), []);
  const change = (at: number, value: unknown) => stored.map((item, i) => (i === at ? value : item));
  for (const wrong of [
    stored.slice(1),
    stored.slice(0, -1),
    [...stored, 4],
    change(0, 0),
    change(1, "1"),
    change(2, 5),
    change(2, null),
    change(3, null),
    change(4, null),
    change(5, null),
    change(6, -1),
    change(7, 0.5),
    change(5, []),
    change(5, ["gpt-4o", 7]),
  ])
    t.equal(verdictsFromStored(wrong), null);
});

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
  const proxies = new Proxies();
  const [a, b] = [proxies.get("a", 1), proxies.get("b", 2)];
  t.equal(proxies.get("a", 5), a);
  t.equal(a.seenAtMs, 1);
  for (const proxy of [a, b, a]) proxies.markDirty(proxy);
  t.same(proxies.takeDirty(), [a, b]);
  t.same(proxies.takeDirty(), []);
  proxies.markDirty(a);
  t.same(proxies.takeDirty(), [a]);
});

t.test("leases that were counted again are written with the batch that counts them", async (t) => {
  const proxies = new Proxies();
  const proxy = proxies.get("a", 1);
  const target = { provider: "openai", model: "gpt-4o" };
  proxy.recounted.set(7, { path: true, attempts: [{ target, lsn: 100 }] });
  t.same(proxies.changes(), []);
  proxies.markRecounted(proxy);
  proxies.markRecounted(proxy);
  const leases = [[7, true, ["openai", "gpt-4o", 100]]];
  const change = { table: "proxies", key: "a", value: [0, false, 1, leases] } as const;
  t.same(proxies.changes(), [change]);
  t.same(proxies.changes(), [], "once");
  const stored = proxyFromStored(change.value)!;
  t.same(new Proxies().restore("a", stored).recounted, proxy.recounted);
});

t.test("a restored proxy has settled durably what was written", async (t) => {
  const proxies = new Proxies();
  t.match(proxies.restore("a", { settledSeq: 4, seenAtMs: 3, recounted: [] }), {
    settledSeq: 4,
    durableSeq: 4,
    seenAtMs: 3,
    peer: null,
    isDirty: false,
  });
});

t.test("what was never written isn't read", async (t) => {
  const before = { settledSeq: 4, connected: true, seenAtMs: 3, recounted: [] };
  t.same(proxyFromStored([4, true, 3]), before, "an older one");
  t.same(proxyFromStored([4, true, 3, [[7, true, ["a", "b", 100]]]]), {
    ...before,
    recounted: [
      [7, { path: true, attempts: [{ target: { provider: "a", model: "b" }, lsn: 100 }] }],
    ],
  });
  for (const value of [
    ...[[], [-1, true, 3], [4, 1, 3], [4, true, -1], [4, true], ["4", true, 3]],
    ...[null, 1, [7], [[7]], [[-7, true]], [[7, true, 1]], [[7, true, ["a", "b", -1]]]].map(
      (leases) => [4, true, 3, leases],
    ),
  ])
    t.equal(proxyFromStored(value), null, JSON.stringify(value));
});
