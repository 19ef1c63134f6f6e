import t from "tap";
import { askFor, counts, pathRule, settleOf, startDaemon } from "../in-memory-daemon.js";

const minute = pathRule("/team", 60, { requests: 10, tokens: 1000 });

t.test(
  "a request that was settled before its proxy had the verdict is still counted after a crash",
  async (t) => {
    const daemon = startDaemon([minute]);
    const peer = daemon.proxy("p1");
    const lease = askFor(peer, 2, "/team")!;
    peer.send(settleOf({ ...lease, admittedAtMs: 0, lsn: 0 }, 1, 40));
    t.same(counts(daemon, minute), { requests: 1, tokens: 40, inFlight: 0 });
    await daemon.commit();
    const next = startDaemon([minute], { store: daemon.store.crash(), nowMs: daemon.nowMs });
    t.same(counts(next, minute), { requests: 1, tokens: 40, inFlight: 0 });
  },
);

t.test(
  "a crash between journal and snapshot counts everything once, whatever was written",
  async (t) => {
    const daemon = startDaemon([minute]);
    const peer = daemon.proxy("p1");
    for (let seq = 1; seq <= 5; seq++) {
      peer.send(settleOf(askFor(peer, seq + 1, "/team")!, seq, 10));
      await daemon.commit();
      if (seq === 3) await daemon.snapshot();
      const copy = startDaemon([minute], { store: daemon.store.crash(), nowMs: daemon.nowMs });
      t.same(
        counts(copy, minute),
        { requests: seq, tokens: seq * 10, inFlight: 0 },
        `after settle ${seq}`,
      );
    }
  },
);
