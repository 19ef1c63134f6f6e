/**
 * Submissions: one request of the user path's rules, at no target, without a slot, and exactly once
 * whatever dies.
 */
import t from "tap";
import { endReconnectGrace } from "../../../limiterd/handlers/accept-hello.js";
import { wireVersion } from "../../../shared/version.js";
import type { Lease } from "../../../shared/wire/message-to-daemon.js";
import { exactly } from "../../support/patterns/exactly.js";
import {
  ask,
  askFor,
  counts,
  executed,
  pathRule,
  settleOf,
  startDaemon,
  submit,
  type TestDaemon,
  type TestPeer,
} from "../in-memory-daemon.js";

const path = pathRule("/team", 60, { requests: 10, tokens: 1000 });
const gauge = pathRule("/team", 0, { requests: 1 });
const provider = { ...pathRule("openai", 60, { requests: 1 }), scope: "provider" as const };
const rules = [path, gauge, provider];

/** Requests of the path, and what is in flight at each rule. */
const seen = (daemon: TestDaemon): string =>
  `${counts(daemon, path).requests}: ${rules.map((rule) => counts(daemon, rule).inFlight).join(" ")}`;
const refusedBy = (peer: TestPeer): unknown => peer.received.at(-1);

t.test(
  "it is accepted at a full gauge, counts at the path alone and is never in flight",
  async (t) => {
    const daemon = startDaemon(rules);
    const peer = daemon.proxy("p1");
    const request = askFor(peer, 2, "/team/app")!;
    t.equal(askFor(peer, 3, "/team/app"), null, "the slot is taken");
    const lease = submit(peer, 4, "/team/app")!;
    t.match(peer.received.at(-1), {
      kind: "admitted",
      target: 0,
      headers: { requests: { limit: 10, remaining: 8 } },
    });
    t.equal(seen(daemon), "2: 1 1 1");
    t.match(peer.state.leases.get(4), { target: null, targetAtMs: 0, targetLsn: 0 });
    t.equal(
      counts(daemon, provider).requests,
      1,
      "the provider is full, but its rules don't judge it",
    );
    t.match(await ask(daemon, "status", null), { in_flight: 1 });
    t.match(
      (await ask(daemon, "rate-limits.list", {}))["rate_limits"],
      exactly([{ in_flight: 1 }, { in_flight: 1 }, { in_flight: 1 }]),
    );
    peer.send(settleOf(request, 1, 5));
    t.equal(seen(daemon), "2: 0 0 0");
    peer.send(settleOf(lease, 2, 0));
    t.equal(seen(daemon), "2: 0 0 0", "it gives back no slot, for it had none");
    const other = daemon.proxy("p2");
    submit(other, 2, "/team");
    other.close();
    t.equal(seen(daemon), "3: 0 0 0");
  },
);

t.test(
  "a window and a budget refuse it, and the refusal is explained without slots and targets",
  async (t) => {
    const daemon = startDaemon([pathRule("/team", 60, { requests: 1 }), gauge, provider], {
      budgets: [
        {
          scope: "user_path",
          subject: "/poor",
          periodSeconds: 3600,
          amountUsd: 0.000001,
          perChild: false,
        },
      ],
    });
    const peer = daemon.proxy("p1");
    submit(peer, 2, "/team");
    t.equal(submit(peer, 3, "/team"), null);
    t.match(refusedBy(peer), {
      kind: "refused",
      id: 3,
      scope: "user_path",
      subject: "/team",
      dimension: "requests",
      cap: 1,
    });
    peer.send({ kind: "refusal", id: 3, requestId: "req_3", model: "" });
    const {
      refusal,
      rules: met,
      targets,
      verdict,
    } = (await ask(daemon, "explain", { request_id: "req_3" })) as Record<
      string,
      { readonly length?: number }
    >;
    t.match(refusal, exactly({ model: null, submission: true, targets: ["openai/-"] }));
    t.match(
      { met, targets, verdict },
      exactly({
        met: [{ period_seconds: 60 }],
        targets: { length: 0 },
        verdict: { admitted: false, needs_slot: false, retry_after: 61 },
      }),
    );
    t.same([met?.length, targets?.length], [1, 0]);
    daemon.nowMs += 120_000;
    t.match(await ask(daemon, "explain", { request_id: "req_3" }), {
      verdict: { admitted: true, target: null },
    });
    peer.send({
      ...settleOf(submit(peer, 4, "/poor")!, 1, 0),
      record: executed({ totalCost: 2_000_000 }),
    });
    t.equal(submit(peer, 5, "/poor"), null);
    t.match(refusedBy(peer), { kind: "exceeded", id: 5, subject: "/poor" });
  },
);

t.test(
  "it has no target to leave: a reroute of it breaks the grammar, and so does a lease with one",
  (t) => {
    const daemon = startDaemon(rules);
    const peer = daemon.proxy("p1");
    const lease = submit(peer, 2, "/team")!;
    t.notOk(
      peer.send({
        read: 0,
        kind: "reroute",
        id: 3,
        lease: 2,
        targets: [{ provider: "openai", model: "a" }],
      }),
    );
    const withTarget = { ...lease, target: { provider: "openai", model: "" } };
    t.notOk(
      daemon.connect().send({
        kind: "hello",
        id: 1,
        wireVersion,
        role: "proxy",
        proxyId: "p2",
        leases: [withTarget],
        more: false,
      }),
    );
    t.end();
  },
);

/** Each way from an admission to the disk, with a crash of the daemon in it. */
const ways: readonly (readonly [
  name: string,
  run: (first: TestDaemon, peer: TestPeer) => Promise<TestDaemon>,
])[] = [
  [
    "named again by the proxy that holds it",
    async (first, peer) => {
      const lease = submit(peer, 2, "/team")!;
      return again(first, [lease], (peer) => void peer.send(settleOf(lease, 1, 0)));
    },
  ],
  [
    "replayed from the journal",
    async (first, peer) => {
      peer.send(settleOf(submit(peer, 2, "/team")!, 1, 0));
      await first.commit();
      return again(first, [], () => {});
    },
  ],
  [
    "replayed into a window that holds it",
    async (first, peer) => {
      const lease = submit(peer, 2, "/team")!;
      await first.snapshot();
      peer.send(settleOf(lease, 1, 0));
      await first.commit();
      return again(first, [], () => {});
    },
  ],
  [
    "settled after the daemon's death",
    async (first, peer) => {
      const lease = submit(peer, 2, "/team")!;
      return again(first, [], (peer) => void peer.send(settleOf(lease, 1, 0)));
    },
  ],
  [
    "settled again, for the acknowledgement was lost",
    async (first, peer) => {
      const settle = settleOf(submit(peer, 2, "/team")!, 1, 0);
      peer.send(settle);
      await first.commit();
      return again(first, [], (peer) => void peer.send(settle));
    },
  ],
  [
    "sent without an admission, and settled twice around a crash",
    async (first, peer) => {
      const settle = settleOf(
        {
          lease: 0,
          userPath: "/team",
          admittedAtMs: 0,
          lsn: 0,
          target: null,
          targetAtMs: 0,
          targetLsn: 0,
          submission: true,
        },
        1,
        0,
      );
      peer.send(settle);
      await first.commit();
      return again(first, [], (peer) => void peer.send(settle));
    },
  ],
];

/** The next life, with what a proxy that lived on holds and tells. */
async function again(
  daemon: TestDaemon,
  leases: readonly Lease[],
  tell: (peer: TestPeer) => void,
): Promise<TestDaemon> {
  const next = startDaemon(rules, { store: daemon.store.crash(), nowMs: daemon.nowMs });
  const peer = next.proxy("p1", leases);
  endReconnectGrace(next.state);
  tell(peer);
  await next.commit();
  return next;
}

t.test("it is counted once, whatever crashes on the way", async (t) => {
  for (const [name, run] of ways) {
    const daemon = startDaemon(rules);
    const peer = daemon.proxy("p1");
    await daemon.snapshot();
    t.equal(seen(await run(daemon, peer)), "1: 0 0 0", name);
  }
});

t.test("one that came too late is taken back, at the path", async (t) => {
  const daemon = startDaemon(rules);
  const peer = daemon.proxy("p1");
  const lease = submit(peer, 2, "/team")!;
  t.ok(peer.send({ ...settleOf(lease, 1, 0), part: "withdrawn" }));
  t.equal(seen(daemon), "0: 0 0 0");
  await daemon.commit();
  t.equal(seen(await again(daemon, [], () => {})), "0: 0 0 0");
});

t.test("its record names the provider and the endpoint", async (t) => {
  const daemon = startDaemon(rules);
  const peer = daemon.proxy("p1");
  peer.send({
    ...settleOf(submit(peer, 2, "/team")!, 1, 0),
    record: executed({ model: "", endpoint: "/v1/batches", inputTokens: 0, outputTokens: 0 }),
  });
  t.match(
    (await ask(daemon, "usage.export", {}))["records"],
    exactly([
      {
        provider: "openai",
        model: null,
        endpoint: "/v1/batches",
        user_path: "/team",
        total_tokens: 0,
      },
    ]),
  );
});

t.test(
  "a template's child counts it and what it used, though nothing of it is in flight in between",
  async (t) => {
    const template = { ...path, perChild: true };
    const daemon = startDaemon([template]);
    const peer = daemon.proxy("p1");
    const used = (child: string): unknown => {
      const { currentRequests, currentTokens } = daemon.state.book
        .find(template)!
        .children.copy(child)!.window;
      return [currentRequests, currentTokens];
    };
    const [kept, withdrawn] = [submit(peer, 2, "/team/app")!, submit(peer, 3, "/team/other")!];
    askFor(peer, 4, "/team/app");
    await daemon.snapshot();
    peer.send(settleOf(kept, 1, 7));
    peer.send({ ...settleOf(withdrawn, 2, 0), part: "withdrawn" });
    t.same(
      [used("app"), used("other")],
      [
        [2, 7],
        [0, 0],
      ],
    );
  },
);
