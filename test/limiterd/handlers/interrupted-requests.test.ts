import t from "tap";
import { Held } from "../../../limiterd/counters/held.js";
import { endReconnectGrace } from "../../../limiterd/handlers/accept-hello.js";
import {
  chargeInterrupted,
  interruptedKeptMs,
  storeHolds,
} from "../../../limiterd/handlers/interrupted-requests.js";
import type { UsageRecord } from "../../../limiterd/usage/usage-records.js";
import { recordsFromStored } from "../../../limiterd/usage/usage-records.js";
import { sumUsd } from "../../../shared/domain/money.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import type { Drawn } from "../../../shared/wire/message-from-daemon.js";
import type { Lease, Settle } from "../../../shared/wire/message-to-daemon.js";
import { exactly } from "../../support/patterns/exactly.js";
import { budget, hour } from "../budgets/budget-fixture.js";
import {
  counts,
  executed,
  pathRule,
  settleOf,
  startDaemon,
  type TestDaemon,
  type TestPeer,
  target,
} from "../in-memory-daemon.js";

const rates = { input: 3_000_000, output: 15_000_000 };
const tokens: RuleDefinition = {
  ...pathRule("/team", 86_400, { tokens: 100_000 }),
  hold: "hard",
};
const soft = pathRule("/", 86_400, { tokens: 100_000 });
const paid = budget("/team", 86_400, 5, { hold: "hard" });

interface Running {
  readonly lease: Lease;
  readonly promptTokens: number;
  allowance: number;
}

function begin(peer: TestPeer, id: number, userPath = "/team", promptTokens = 1000): Running {
  const metered = { promptTokens, outputMax: null, isStreamed: true, rates: [rates] };
  peer.send({
    ...{ read: 0, kind: "admit", id, userPath, credential: "authenticated", targets: [target] },
    ...{ submission: false, metered },
  });
  const answer = peer.received.at(-1)!;
  if (answer.kind !== "admitted") throw new Error(JSON.stringify(answer));
  const { admittedAtMs, lsn, allowance = 0 } = answer;
  const lease: Lease = {
    ...{ lease: id, userPath, admittedAtMs, lsn, target, submission: false },
    ...{ targetAtMs: admittedAtMs, targetLsn: lsn },
  };
  return { lease, promptTokens, allowance };
}

function draw(peer: TestPeer, request: Running, more: number): void {
  peer.send({ kind: "draw", id: request.lease.lease, total: request.allowance + more });
  request.allowance = (peer.received.at(-1) as Drawn).total;
}

/** What a request holds: its provider may send 8 tokens until the call is cancelled. */
const heldBy = (...requests: readonly Running[]): number =>
  requests.reduce((sum, { promptTokens, allowance }) => sum + promptTokens + allowance + 8, 0);

const reported = ({ lease, promptTokens, allowance }: Running): Lease => ({
  ...lease,
  holding: { promptTokens, output: allowance, rates, keyId: "" },
});

function settle({ lease }: Running, input: number, output: number): Settle {
  const [inputCost, outputCost] = [input * rates.input, output * rates.output];
  const costs = { inputCost, outputCost, totalCost: inputCost + outputCost };
  const record = executed({ inputTokens: input, outputTokens: output, ...costs });
  return { ...settleOf(lease, 1, input + output), record };
}

const heldOf = ({ state }: TestDaemon): number =>
  (state.book.find(tokens)?.held ?? new Held()).of("");

function spentOf({ state, nowMs }: TestDaemon): number {
  const [account] = state.budgets.budgets.values();
  return sumUsd(state.budgets.runningPeriod(account!.own!, nowMs).spent);
}

async function recordsOf(daemon: TestDaemon): Promise<readonly UsageRecord[]> {
  await daemon.commit();
  await daemon.commit();
  return [...daemon.store.entries("usage")].flatMap(({ value }) => recordsFromStored(value)!);
}

const start = (store?: TestDaemon["store"], nowMs?: number): TestDaemon =>
  startDaemon([tokens, soft], {
    budgets: [paid],
    ...(store === undefined ? {} : { store }),
    ...(nowMs === undefined ? {} : { nowMs }),
  });

/** So much time passes that a proxy that isn't back has ended. */
function pass(daemon: TestDaemon, ms = interruptedKeptMs): void {
  daemon.nowMs += ms;
  chargeInterrupted(daemon.state, daemon.nowMs);
}

t.test("what a killed proxy's requests held is charged, as an estimate", async (t) => {
  const daemon = start();
  const peer = daemon.proxy("p1");
  const requests = [begin(peer, 2), begin(peer, 3)];
  draw(peer, requests[0]!, 700);
  const held = heldBy(...requests);
  t.equal(heldOf(daemon), held);
  daemon.nowMs += 3000;
  peer.close();
  const { nowMs } = daemon;
  pass(daemon, interruptedKeptMs - 1);
  t.same([heldOf(daemon), counts(daemon, tokens).tokens], [held, 0], "it may come back");
  pass(daemon, 1);
  t.same([heldOf(daemon), counts(daemon, tokens).tokens], [0, held]);
  t.equal(counts(daemon, soft).tokens, held, "a soft limit counts the records of its path");
  const records = await recordsOf(daemon);
  t.match(
    records.map((record) => ({ ...record })),
    exactly(
      requests.map(({ lease, allowance }) => ({
        ...{ requestId: `p1_${lease.lease}`, status: 599, estimated: true, userPath: "/team" },
        ...{ atMs: nowMs, latencyMs: 3000, provider: target.provider, model: target.model },
        ...{ inputTokens: 1000, outputTokens: allowance + 8, inputCost: 3_000_000_000 },
        outputCost: (allowance + 8) * rates.output,
        totalCost: 3_000_000_000 + (allowance + 8) * rates.output,
        atMost: { tokens: 1008 + allowance, cost: 3e9 + (allowance + 8) * rates.output },
      })),
    ),
  );
  const dollars = records.reduce((sum, { totalCost }) => sum + totalCost!, 0) / 1e12;
  t.ok(Math.abs(spentOf(daemon) - dollars) < 1e-6);
  const { counts: since } = daemon.state;
  t.same([since.tokens, sumUsd(since.cost)], [held, dollars], "as the status says");
  pass(daemon);
  t.equal(counts(daemon, tokens).tokens, held, "once");
});

t.test("requests that no hard cap counts leave nothing: SPEC counts what has ended", async (t) => {
  const daemon = start();
  const peer = daemon.proxy("p1");
  begin(peer, 2, "/other");
  peer.close();
  pass(daemon);
  t.same([counts(daemon, soft).tokens, await recordsOf(daemon)], [0, []]);
});

t.test("a proxy that is back in time is charged by its settles alone", async (t) => {
  const daemon = start();
  const peer = daemon.proxy("p1");
  const [running, ended, unread] = [begin(peer, 2), begin(peer, 3), begin(peer, 4)];
  peer.close();
  const back = daemon.proxy("p1", [reported(running)]);
  back.send(settle(ended, 10, 20));
  t.equal(heldOf(daemon), heldBy(running, unread));
  pass(daemon);
  t.equal(heldOf(daemon), heldBy(running), "the proxy never read the third verdict");
  back.send({ ...settle(running, 30, 40), seq: 2 });
  t.same([heldOf(daemon), counts(daemon, tokens).tokens], [0, 100]);
  t.equal((await recordsOf(daemon)).length, 2);
});

t.test("an admission that is asked for again is held once", (t) => {
  const daemon = start();
  const peer = daemon.proxy("p1");
  begin(peer, 2);
  peer.close();
  const again = begin(daemon.proxy("p1"), 2);
  t.equal(heldOf(daemon), heldBy(again));
  t.end();
});

t.test("a settle that comes after all replaces the estimate, also after a restart", async (t) => {
  for (const restarts of [false, true]) {
    let daemon = start();
    const peer = daemon.proxy("p1");
    const request = begin(peer, 2);
    peer.close();
    pass(daemon);
    const estimate = heldBy(request);
    t.equal((await recordsOf(daemon)).length, 1);
    if (restarts) {
      daemon = start(daemon.store.crash(), daemon.nowMs + 60_000);
      endReconnectGrace(daemon.state);
      pass(daemon);
    }
    t.equal(counts(daemon, tokens).tokens, estimate);
    // As the proxy that delivers the spool of another one.
    daemon.proxy("p1").send(settle(request, 300, 20));
    const records = await recordsOf(daemon);
    const sum = (of: (record: UsageRecord) => number): number =>
      records.reduce((all, record) => all + of(record), 0);
    t.same(
      [records.length, sum((r) => r.inputTokens), sum((r) => r.outputTokens)],
      [3, 300, 20],
      "records add up to what was used",
    );
    t.equal(
      sum(({ status }) => (status === 102 ? -1 : 1)),
      1,
      "of one request",
    );
    t.ok(Math.abs(spentOf(daemon) - 0.0012) < 1e-6, `${spentOf(daemon)}`);
    t.equal(counts(daemon, tokens).tokens, estimate, "a window isn't reduced");
    t.same([...daemon.store.entries("holds")], []);
  }
});

t.test("the status counts what a settle has beyond the estimate that it replaces", (t) => {
  const daemon = start();
  const peer = daemon.proxy("p1");
  const [less, more] = [begin(peer, 2), begin(peer, 3)];
  peer.close();
  pass(daemon);
  const { counts: since } = daemon.state;
  const [estimate, dollars] = [heldBy(less), sumUsd(since.cost) / 2];
  const settler = daemon.proxy("p1");
  settler.send(settle(less, 300, 20));
  t.same([since.tokens, sumUsd(since.cost)], [2 * estimate, 2 * dollars]);
  settler.send({ ...settle(more, 3000, 1000), seq: 2 });
  t.same([since.tokens, sumUsd(since.cost)], [estimate + 4000, dollars + 0.024]);
  t.end();
});

t.test("what was held is charged if daemon and proxy are killed together", async (t) => {
  const daemon = start();
  const peer = daemon.proxy("p1");
  const requests = [begin(peer, 2), begin(peer, 3), begin(peer, 4)];
  await storeHolds(daemon.state);
  draw(peer, requests[0]!, 700);
  await storeHolds(daemon.state);
  peer.send(settle(requests[1]!, 10, 20));
  await daemon.commit();
  await daemon.commit();
  const held = heldBy(requests[0]!, requests[2]!);
  const next = start(daemon.store.crash(), daemon.nowMs + 60_000);
  t.equal(heldOf(next), held, "new requests leave it");
  endReconnectGrace(next.state);
  pass(next, interruptedKeptMs - 1);
  t.equal(counts(next, tokens).tokens, 30);
  pass(next, 1);
  t.same([heldOf(next), counts(next, tokens).tokens], [0, 30 + held]);
  t.equal((await recordsOf(next)).length, 3);
  const last = start(next.store.crash(), next.nowMs + 60_000);
  endReconnectGrace(last.state);
  pass(last);
  t.same([heldOf(last), counts(last, tokens).tokens], [0, 30 + held], "once");
  pass(last, hour);
  await last.commit();
  t.same([...last.store.entries("holds")], [], "it isn't kept for ever");
});

t.test("a daemon that was killed alone charges what its proxies settle", async (t) => {
  const daemon = start();
  const peer = daemon.proxy("p1");
  const [request, ended] = [begin(peer, 2), begin(peer, 3)];
  await storeHolds(daemon.state);
  await daemon.commit();
  const next = start(daemon.store.crash(), daemon.nowMs + 1000);
  const back = next.proxy("p1", [reported(request)]);
  t.equal(heldOf(next), heldBy(request, ended));
  back.send(settle(ended, 10, 20));
  t.equal(heldOf(next), heldBy(request));
  pass(next);
  back.send({ ...settle(request, 30, 40), seq: 2 });
  t.same([heldOf(next), counts(next, tokens).tokens], [0, 100]);
  await next.commit();
  t.same([...next.store.entries("holds")], []);
});

t.test("with weights, each token counts as it was held: as one of the dearest kind", (t) => {
  const weighted: RuleDefinition = {
    ...tokens,
    tokenWeights: { input: 1, cache_write: 1.5, output: 2, reasoning: 3 },
  };
  const daemon = startDaemon([weighted]);
  const peer = daemon.proxy("p1");
  const { allowance } = begin(peer, 2);
  peer.close();
  pass(daemon);
  t.equal(counts(daemon, weighted).tokens, 1500 + 3 * (allowance + 8));
  t.end();
});

t.test("many requests of a killed proxy are stored and charged in slices", async (t) => {
  const daemon = start();
  const peer = daemon.proxy("p1");
  const requests = Array.from({ length: 250 }, (_, i) => begin(peer, i + 2, "/team", 10));
  const storing = storeHolds(daemon.state);
  const last = requests.pop()!;
  peer.send(settle(last, 10, 1));
  await storing;
  await daemon.commit();
  const stored = [...daemon.store.entries("holds")];
  t.equal(stored.length, requests.length, "one that ended meanwhile isn't stored");
  peer.close();
  daemon.nowMs += interruptedKeptMs;
  const charged = [counts(daemon, tokens).tokens];
  for (let isMore = true; isMore; ) {
    isMore = chargeInterrupted(daemon.state, daemon.nowMs);
    charged.push(counts(daemon, tokens).tokens);
  }
  const sizes = [0, 100, 200, 249].map((n) => 11 + heldBy(...requests.slice(0, n)));
  t.same(charged, sizes);
  t.equal(heldOf(daemon), 0);
});

t.test("a returned request stays noted as charged until it is settled", async (t) => {
  const daemon = start();
  const peer = daemon.proxy("p1");
  const request = begin(peer, 2);
  peer.close();
  pass(daemon);
  const charged = counts(daemon, tokens).tokens;
  daemon.proxy("p1", [reported(request)]);
  await storeHolds(daemon.state);
  await daemon.commit();
  const restarted = start(daemon.store.crash(), daemon.nowMs);
  const again = restarted.proxy("p1", [reported(request)]);
  endReconnectGrace(restarted.state);
  t.equal(counts(restarted, tokens).tokens, charged);
  again.send(settle(request, 900, 20));
  t.equal(counts(restarted, tokens).tokens, charged, "the settle replaces the estimate");
});

t.test(
  "a returned request holds only what it draws beyond its charge, but on a budget all",
  (t) => {
    const paying = start();
    const payer = paying.proxy("p1");
    const paidRequest = begin(payer, 2);
    payer.close();
    pass(paying);
    paying.proxy("p1", [reported(paidRequest)]);
    t.equal(heldOf(paying), heldBy(paidRequest), "its settle moves the charge to another period");
    const daemon = startDaemon([tokens, soft]);
    const peer = daemon.proxy("p1");
    const request = begin(peer, 2);
    peer.close();
    pass(daemon);
    const charged = counts(daemon, tokens).tokens;
    const back = daemon.proxy("p1", [reported(request)]);
    const held = heldOf(daemon);
    t.ok(held <= 8, `${held} are held of what was charged`);
    const before = request.allowance;
    draw(back, request, 700);
    t.equal(heldOf(daemon), request.allowance - before);
    back.send(settle(request, 1000, request.allowance));
    t.same([heldOf(daemon), counts(daemon, tokens).tokens], [0, 1000 + request.allowance]);
    t.ok(counts(daemon, tokens).tokens > charged);
    t.end();
  },
);

t.test("an admission that is asked for again and refused leaves nothing to charge", async (t) => {
  const daemon = start();
  const peer = daemon.proxy("p1");
  begin(peer, 2);
  await storeHolds(daemon.state);
  await daemon.commit();
  t.equal([...daemon.store.entries("holds")].length, 1);
  peer.close();
  const back = daemon.proxy("p1");
  const metered = { promptTokens: 300_000, outputMax: null, isStreamed: true, rates: [rates] };
  back.send({
    ...{ read: 0, kind: "admit", id: 2, userPath: "/team", credential: "authenticated" },
    ...{ targets: [target], submission: false, metered },
  });
  t.match(back.received.at(-1), { kind: "refused" });
  await daemon.commit();
  t.same([...daemon.store.entries("holds")], []);
  const next = start(daemon.store.crash(), daemon.nowMs + 60_000);
  endReconnectGrace(next.state);
  pass(next);
  t.same([heldOf(next), counts(next, tokens).tokens], [0, 0]);
});
