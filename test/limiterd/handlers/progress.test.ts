/** What a request that goes on reports as used: counted at once, and once, whatever dies. */
import t from "tap";
import { interimStatus } from "../../../shared/wire/execution.js";
import type { Lease, Settle } from "../../../shared/wire/message-to-daemon.js";
import { exactly } from "../../support/patterns/exactly.js";
import { budget } from "../budgets/budget-fixture.js";
import {
  ask,
  askFor,
  counts,
  executed,
  pathRule,
  settleOf,
  startDaemon,
  type TestDaemon,
} from "../in-memory-daemon.js";

const minute = pathRule("/team", 60, { requests: 10, tokens: 1000 });
const gauge = pathRule("/team", 0, { requests: 2 });

function progressOf(lease: Lease, seq: number, tokens: number): Settle {
  const costs = { inputCost: 1_000_000, outputCost: 1_000_000, totalCost: 2_000_000 };
  const record = executed({ requestId: "req_1", status: interimStatus, ...costs });
  return { ...settleOf(lease, seq, tokens), part: "progress", record };
}

async function usage(daemon: TestDaemon): Promise<unknown> {
  const dates = { start_date: "2026-01-01", end_date: "2026-01-01" };
  return (await ask(daemon, "usage.status", { user_path: "/team", ...dates }))["usage"];
}

t.test(
  "progress is charged to windows, budgets and usage immediately; the request counts once and keeps its slot",
  async (t) => {
    const daemon = startDaemon([minute, gauge], { budgets: [budget("/team", 86_400, 1)] });
    const peer = daemon.proxy("p1");
    const lease = askFor(peer, 2, "/team")!;
    peer.send(progressOf(lease, 1, 30));
    peer.send(progressOf(lease, 2, 40));
    t.same(counts(daemon, minute), { requests: 1, tokens: 70, inFlight: 1 });
    t.equal(counts(daemon, gauge).inFlight, 1);
    await daemon.commit();
    t.same(peer.received.at(-1), { kind: "settled", seq: 2 });
    t.match(await usage(daemon), {
      total_requests: 0,
      unpriced_requests: 0,
      total_tokens: 60,
      total_cost: 0.000004,
    });
    t.match(await ask(daemon, "budgets.list", {}), exactly({ budgets: [{ spent: 0.000004 }] }));
    peer.send({
      ...settleOf(lease, 3, 5),
      record: executed({ status: 101, totalCost: null, inputCost: null, outputCost: null }),
    });
    t.same(counts(daemon, minute), { requests: 1, tokens: 75, inFlight: 0 });
    t.match(await usage(daemon), { total_requests: 1, unpriced_requests: 1, total_tokens: 90 });
  },
);

t.test("a token limit that a session exceeds refuses the next request, and not this one", (t) => {
  const daemon = startDaemon([pathRule("/team", 60, { tokens: 50 })]);
  const peer = daemon.proxy("p1");
  const lease = askFor(peer, 2, "/team")!;
  peer.send(progressOf(lease, 1, 60));
  t.equal(askFor(peer, 3, "/team"), null);
  t.ok(peer.send(progressOf(lease, 2, 60)));
  t.ok(peer.send(settleOf(lease, 3, 0)));
  t.equal(peer.state.leases.size, 0);
  t.end();
});

t.test(
  "progress is counted once across a repeat, a crash before and after the snapshot, and a lost lease",
  async (t) => {
    for (const snapshot of ["none", "before", "after"] as const) {
      const daemon = startDaemon([minute]);
      const peer = daemon.proxy("p1");
      const lease = askFor(peer, 2, "/team")!;
      if (snapshot === "before") await daemon.snapshot();
      const first = progressOf(lease, 1, 30);
      peer.send(first);
      peer.send(first);
      await daemon.commit();
      if (snapshot === "after") await daemon.snapshot();
      const reborn = startDaemon([minute], { store: daemon.store.crash(), nowMs: daemon.nowMs });
      const again = reborn.proxy("p1", [lease]);
      again.send(first);
      t.same(counts(reborn, minute), { requests: 1, tokens: 30, inFlight: 1 }, snapshot);
      again.send(progressOf(lease, 2, 12));
      again.close();
      // The connection is gone, and with it the lease.
      const last = reborn.proxy("p1");
      last.send(progressOf(lease, 3, 8));
      t.equal(counts(reborn, minute).tokens, 50);
      last.send(settleOf(lease, 4, 1));
      t.same(counts(reborn, minute), { requests: 1, tokens: 51, inFlight: 0 }, snapshot);
    }
  },
);

t.test("progress of a request without a verdict leaves the request to its settle", async (t) => {
  const daemon = startDaemon([minute]);
  const peer = daemon.proxy("p1");
  const asked = askFor(peer, 2, "/team")!;
  peer.send(settleOf(asked, 1, 0));
  const unasked = { ...asked, lease: 0, admittedAtMs: 0, lsn: 0, targetAtMs: 0, targetLsn: 0 };
  peer.send(progressOf(unasked, 2, 30));
  t.same(counts(daemon, minute), { requests: 1, tokens: 30, inFlight: 0 });
  peer.send(settleOf(unasked, 3, 5));
  t.same(counts(daemon, minute), { requests: 2, tokens: 35, inFlight: 0 });
  await daemon.commit();
  const reborn = startDaemon([minute], { store: daemon.store.crash(), nowMs: daemon.nowMs });
  t.same(counts(reborn, minute), { requests: 2, tokens: 35, inFlight: 0 });
});
