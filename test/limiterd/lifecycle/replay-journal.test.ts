import t from "tap";
import { windowKey, windowToStored } from "../../../limiterd/counters/window.js";
import { endReconnectGrace } from "../../../limiterd/handlers/accept-hello.js";
import { batchToStored } from "../../../limiterd/store/writer.js";
import { ruleId } from "../../../shared/domain/rule.js";
import { childNames } from "../counters/child-names.js";
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

t.test(
  "what a batch has counted is counted again in its own period and for its child",
  async (t) => {
    const users = { ...pathRule("/users", 60, { requests: 100 }), perChild: true };
    const plain = pathRule("/plain", 60, { requests: 100, tokens: 1000 });
    const first = startDaemon([users, plain]);
    await first.commit();
    const { store, nowMs } = first;
    const lsn = first.state.writer.lsn + 1;
    const now = nowMs / 60_000;
    const ofPlain = (...rest: readonly unknown[]): readonly unknown[] => [ruleId(plain), ...rest];
    const ofUsers = (...rest: readonly unknown[]): readonly unknown[] => [ruleId(users), ...rest];
    await store.commit([
      {
        table: "windows",
        key: windowKey(ruleId(plain), ""),
        value: windowToStored(
          {
            startMs: nowMs - 60_000,
            previousRequests: 9,
            currentRequests: 3,
            previousTokens: 0,
            currentTokens: 30,
          },
          lsn - 1,
        ),
      },
      {
        table: "journal",
        key: lsn,
        value: batchToStored({
          settled: new Map(),
          counted: [
            ofPlain("", now, 2, 20),
            ofPlain("", now - 1, -1, 5),
            ofPlain("x", now, 7, 7),
            ofUsers("", now, 7, 7),
            ofUsers("a", now, 2, 0),
            ofUsers("a", now, -1, 0),
            ofUsers("b", now, -1, 0),
            ofUsers("c", now, 0, 4),
            ["user_path\n/gone\n60", "", now, 1, 1],
          ].flat(),
        }),
      },
    ]);
    const { book } = startDaemon([users, plain], { store, nowMs }).state;
    t.same(book.find(plain)!.own!.window, {
      startMs: nowMs,
      previousRequests: 2,
      currentRequests: 2,
      previousTokens: 35,
      currentTokens: 20,
    });
    const { children } = book.find(users)!;
    t.same(
      childNames(children).sort(),
      ["a", "c"],
      "what a child no longer has is taken from none",
    );
    t.match(children.copy("a")!.window, { currentRequests: 1, previousRequests: 0 });
    t.match(children.copy("c")!.window, { currentRequests: 0, currentTokens: 4 });
  },
);
