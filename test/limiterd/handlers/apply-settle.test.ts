import t from "tap";
import { tokensPerResponseMax } from "../../../shared/bounds.js";
import {
  ask,
  askFor,
  counts,
  executed,
  pathRule,
  settleOf,
  startDaemon,
  target,
} from "../in-memory-daemon.js";

const minute = pathRule("/team", 60, { requests: 10, tokens: 1000 });
const gauge = pathRule("/team", 0, { requests: 2 });

t.test("a lease holds its slot until it is settled, and tokens are charged then", async (t) => {
  const daemon = startDaemon([minute, gauge]);
  const peer = daemon.proxy("p1");
  const lease = askFor(peer, 2, "/team/app")!;
  t.same(counts(daemon, minute), { requests: 1, tokens: 0, inFlight: 1 });
  t.ok(peer.send(settleOf(lease, 1, 30)));
  t.same(counts(daemon, minute), { requests: 1, tokens: 30, inFlight: 0 });
  t.equal(daemon.state.counts.tokens, 30);
  t.equal(peer.received.at(-1)?.kind, "admitted", "not acknowledged before the commit");
  await daemon.commit();
  t.same(peer.received.at(-1), { kind: "settled", seq: 1 });
});

t.test(
  "a release frees the slots of a lease, once; its settle charges what it would have charged",
  async (t) => {
    const daemon = startDaemon([minute, gauge]);
    const peer = daemon.proxy("p1");
    const lease = askFor(peer, 2, "/team/app")!;
    askFor(peer, 3, "/team/app");
    t.ok(peer.send({ kind: "release", id: lease.lease }));
    t.ok(peer.send({ kind: "release", id: lease.lease }));
    t.same(counts(daemon, minute), { requests: 2, tokens: 0, inFlight: 1 });
    peer.send(settleOf(lease, 1, 30));
    t.same(counts(daemon, minute), { requests: 2, tokens: 30, inFlight: 1 });
    peer.close();
    t.same(counts(daemon, minute), { requests: 2, tokens: 30, inFlight: 0 });
  },
);

t.test(
  "what was spent counts at the target that the settle names, not at that of the lease",
  async (t) => {
    const ofModel = (subject: string): typeof minute => ({ ...minute, scope: "model", subject });
    const [asked, named] = [ofModel("gpt-4o"), ofModel("llama-3")];
    for (const part of ["request", "progress"] as const) {
      const daemon = startDaemon([minute, asked, named]);
      const peer = daemon.proxy("p1");
      const settle = settleOf(askFor(peer, 2, "/team")!, 1, 30);
      peer.send({ ...settle, part, target: { provider: "local", model: "llama-3" } });
      t.same(
        [minute, asked, named].map((rule) => counts(daemon, rule).tokens),
        [30, 0, 30],
        part,
      );
    }
  },
);

t.test("a repeated settle is acknowledged and not counted again", async (t) => {
  const daemon = startDaemon([minute]);
  const peer = daemon.proxy("p1");
  const settle = settleOf(askFor(peer, 2, "/team")!, 1, 30);
  peer.send(settle);
  peer.send(settle);
  await daemon.commit();
  peer.close();
  const again = daemon.proxy("p1");
  t.match(again.received[0], { kind: "welcome", settledSeq: 1 });
  again.send(settle);
  await daemon.commit();
  t.same(again.received.at(-1), { kind: "settled", seq: 1 });
  t.same(counts(daemon, minute), { requests: 1, tokens: 30, inFlight: 0 });
  t.equal(daemon.state.counts.repeatedSettles, 2);
});

t.test(
  "an acknowledgement goes to the connection that the proxy has when the commit ends",
  async (t) => {
    const daemon = startDaemon([minute]);
    const first = daemon.proxy("p1");
    const settle = settleOf(askFor(first, 2, "/team")!, 1, 5);
    first.send(settle);
    first.close();
    const second = daemon.proxy("p1");
    second.send(settle);
    await daemon.commit();
    t.same(second.received.at(-1), { kind: "settled", seq: 1 });
  },
);

t.test("tokens aren't charged while usage is off", (t) => {
  const daemon = startDaemon([minute], { usageEnabled: false });
  const peer = daemon.proxy("p1");
  peer.send(settleOf(askFor(peer, 2, "/team")!, 1, 5000));
  t.same(counts(daemon, minute), { requests: 1, tokens: 0, inFlight: 0 });
  t.ok(askFor(peer, 3, "/team"), "and token rules don't refuse");
  t.end();
});

t.test(
  "invalid usage is cut or dropped and its settle counts: a closed proxy would repeat it for ever",
  async (t) => {
    const daemon = startDaemon([pathRule("/team", 60, { tokens: 5 })]);
    const peer = daemon.proxy("p1");
    t.ok(
      peer.send({
        ...settleOf(askFor(peer, 2, "/team")!, 1, 1e12),
        record: executed({ cachedInputTokens: 21, requestId: "req_7" }),
      }),
    );
    t.same(counts(daemon, pathRule("/team", 60, {})), {
      requests: 1,
      tokens: 2 * tokensPerResponseMax,
      inFlight: 0,
    });
    await daemon.commit();
    t.same(peer.received.at(-1), { kind: "settled", seq: 1 });
    t.same(daemon.droppedRecords, ["p1 req_7 cachedInputTokens"]);
    t.match(await ask(daemon, "status", null), { dropped_records: 1, closed_peers: 0 });
    t.match(await ask(daemon, "usage.export", {}), { records: { length: 0 } });
  },
);

t.test(
  "what ended while the daemon was away exceeds a cap by no more than waits, until it arrives",
  (t) => {
    const capped = pathRule("/team", 3600, { requests: 5, tokens: 100 });
    const daemon = startDaemon([capped]);
    const [late, first] = [daemon.proxy("late"), daemon.proxy("first")];
    const unasked = { ...askFor(daemon.proxy("elsewhere"), 2, "/")!, userPath: "/team" };
    const waiting = [1, 2, 3, 4].map((seq) =>
      settleOf({ ...unasked, lease: 0, lsn: 0, targetLsn: 0 }, seq, 30),
    );
    const admitted = [2, 3, 4, 5, 6].filter((id) => askFor(first, id, "/team") !== null);
    t.equal(admitted.length, 5, "the cap is all that binds those who ask first");
    t.equal(askFor(first, 7, "/team"), null);
    for (const settle of waiting) t.ok(late.send(settle));
    t.match(counts(daemon, capped), { requests: 5 + waiting.length, tokens: 120 });
    t.equal(askFor(first, 8, "/team"), null, "from then on all of it binds");
    daemon.nowMs += 3_600_000;
    t.equal(askFor(first, 9, "/team"), null, "in the next period too");
    t.end();
  },
);

t.test("a target that took over without a verdict counts the request from then on", (t) => {
  for (const [targetStartedAgoMs, previous, current] of [
    [undefined, 1, 0],
    [50_000, 1, 0],
    [5000, 0, 1],
  ] as const) {
    const ofModel = { ...pathRule("gpt-4o", 60, { requests: 9 }), scope: "model" } as const;
    const daemon = startDaemon([minute, ofModel]);
    daemon.nowMs += 70_000;
    const none = { lease: 0, admittedAtMs: 0, lsn: 0, targetAtMs: 0, targetLsn: 0 };
    const lease = { ...none, userPath: "/team", target, submission: false };
    const unasked = settleOf(lease, 1, 0, { started: 50_000 });
    t.ok(daemon.proxy("p1").send({ ...unasked, targetStartedAgoMs }));
    const { window } = daemon.state.book.find(ofModel)!.own!;
    t.same([window.previousRequests, window.currentRequests], [previous, current]);
    t.match(daemon.state.book.find(minute)!.own!.window, {
      previousRequests: 1,
      currentRequests: 0,
    });
  }
  t.end();
});

t.test(
  "settles are counted by their parts, and what they cost while usage is recorded",
  async (t) => {
    for (const usageEnabled of [true, false]) {
      const daemon = startDaemon([minute], { usageEnabled });
      const peer = daemon.proxy("p1");
      for (const [seq, totalCost] of [5, null, 7].entries()) {
        const lease = askFor(peer, 2 + seq, "/team")!;
        const of = { record: executed({ totalCost }), part: "request" as const };
        peer.send({ ...settleOf(lease, 1 + seq, 3), ...of });
      }
      t.match(daemon.state.counts, { settledParts: { request: 3, attempt: 0 }, tokens: 9 });
      t.equal(daemon.state.counts.cost.picoUsd, usageEnabled ? 12 : 0);
    }
  },
);

t.test(
  "what isn't durable isn't acknowledged, and nothing takes an acknowledgement back",
  async (t) => {
    const daemon = startDaemon([minute]);
    const peer = daemon.proxy("p1");
    const acknowledged = (): unknown[] =>
      peer.received.flatMap((message) => (message.kind === "settled" ? [message.seq] : []));
    const settles = [1, 2].map((seq) => settleOf(askFor(peer, 1 + seq, "/team")!, seq, 1));
    for (const one of [settles[0]!, settles[0]!]) peer.send(one);
    await Promise.resolve();
    t.same(acknowledged(), []);
    peer.send(settles[1]!);
    await daemon.commit();
    t.same(acknowledged(), [2]);
    for (const one of [settles[1]!, settles[0]!]) peer.send(one);
    await Promise.resolve();
    t.same(acknowledged(), [2, 2]);
  },
);
