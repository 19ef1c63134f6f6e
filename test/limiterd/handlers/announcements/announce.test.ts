import t from "tap";
import { noteStoreState } from "../../../../limiterd/handlers/announcements/announce.js";
import { exactly } from "../../../support/patterns/exactly.js";
import { ask, askFor, pathRule, settleOf, startDaemon } from "../../in-memory-daemon.js";

const minute = pathRule("/team", 60, { requests: 10, tokens: 1000 });

t.test("proxies learn when the first rule is made and the last one is deleted", async (t) => {
  const daemon = startDaemon([]);
  const peer = daemon.proxy("p1");
  t.match(peer.received[0], { kind: "welcome", limited: false });
  peer.send({
    kind: "admin",
    id: 5,
    op: "rate-limits.put",
    body: { user_path: "/a", limit_key: { period: "minute" }, max_requests: 1 },
  });
  await daemon.commit();
  t.match(
    peer.received.slice(1),
    exactly([
      { kind: "event", name: "limited", value: true },
      { kind: "answer", id: 5 },
    ]),
  );
  peer.send({
    kind: "admin",
    id: 6,
    op: "rate-limits.delete",
    body: { user_path: "/a", limit_key: { period: "minute" } },
  });
  await daemon.commit();
  t.match(
    peer.received.slice(3),
    exactly([
      { kind: "event", name: "limited", value: false },
      { kind: "answer", id: 6 },
    ]),
  );
});

t.test(
  "proxies learn when the store can't be written, with the welcome if need be, and when it can again",
  async (t) => {
    const daemon = startDaemon([minute]);
    await daemon.commit();
    const first = daemon.proxy("p1");
    await daemon.commit();
    const events = (peer: typeof first): unknown[] =>
      peer.received.flatMap((message) => (message.kind === "event" ? [message.value] : []));
    daemon.store.broken = true;
    first.send(settleOf(askFor(first, 2, "/team")!, 1, 30));
    for (let round = 0; round < 3; round++) await daemon.commit();
    t.same(events(first), ["the disk is broken"], "once");
    t.match(await ask(daemon, "status", null), {
      store: { failing: "the disk is broken", failed_commits: 3 },
    });
    const second = daemon.proxy("p2");
    t.match(
      second.received,
      exactly([
        { kind: "welcome" },
        { kind: "event", name: "store_failing", value: "the disk is broken" },
      ]),
    );
    t.not(askFor(second, 3, "/team"), null, "requests are still admitted");
    daemon.store.broken = false;
    await daemon.commit();
    t.same(
      [events(first), events(second)],
      [
        ["the disk is broken", null],
        ["the disk is broken", null],
      ],
    );
  },
);

t.test("what fails is counted, what works isn't", async (t) => {
  const { state } = startDaemon([]);
  for (const [error, failed, isAnnounced] of [
    [null, 0, false],
    [new Error("full"), 1, true],
    [new Error("full"), 2, false],
    [new Error("gone"), 3, true],
    [null, 3, true],
    [null, 3, false],
  ] as const)
    t.same([noteStoreState(state, error), state.counts.failedCommits], [isAnnounced, failed]);
});
