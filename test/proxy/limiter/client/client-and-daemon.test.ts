/** The limiter client with the daemon's real steps: losses and late verdicts in any order. */
import fc from "fast-check";
import t from "tap";
import type { Admission, AdmissionOutcome } from "../../../../proxy/limiter/admission.js";
import { wireVersions } from "../../../../shared/wire/wire-versions.js";
import {
  counts,
  pathRule,
  startDaemon,
  type TestPeer,
} from "../../../limiterd/in-memory-daemon.js";
import {
  admissionOf,
  ClientHarness,
  deadlineMs,
  expiryIntervalMs,
  gpt,
  llama,
  nothing,
  promisesResolved,
} from "./client-harness.js";

/**
 * A client and the daemon's real steps, with frames that lie between them until they are delivered,
 * and are lost with the connection.
 */
class Pair {
  readonly harness: ClientHarness;
  daemon = startDaemon(rules);
  #peer: TestPeer | null = null;
  #deliveredUpTo = 0;

  constructor(failureMode: "open" | "closed", wireVersion = wireVersions.newest) {
    const spoken = { oldest: wireVersions.oldest, newest: wireVersion };
    this.harness = new ClientHarness({ failureMode, wireVersions: spoken });
  }

  connect(): void {
    if (this.#peer !== null) return;
    this.#peer = this.daemon.connect();
    this.#deliveredUpTo = 0;
    this.harness.connect();
  }

  lose(): void {
    if (this.#peer === null) return;
    this.#peer.close();
    this.#peer = null;
    this.harness.take();
    this.harness.lose();
  }

  /** Kills the daemon and starts it again from what has reached the disk. */
  crash(): void {
    this.lose();
    const { store, nowMs } = this.daemon;
    this.daemon = startDaemon(rules, { store: store.crash(), nowMs });
  }

  /**
   * Delivers up to `frames` of what lies on the way to the daemon. False: the daemon closed the
   * connection.
   */
  toDaemon(frames: number): boolean {
    for (const message of this.harness.sent.splice(0, this.#peer === null ? 0 : frames))
      if (!this.#peer!.send(message)) return false;
    return true;
  }

  toProxy(frames: number): void {
    const { received } = this.#peer ?? { received: [] };
    for (let i = 0; i < frames && this.#deliveredUpTo < received.length; i++)
      this.harness.receive(received[this.#deliveredUpTo++]!);
  }

  async settleDown(): Promise<void> {
    this.connect();
    for (let i = 0; i < 4; i++) {
      this.toDaemon(Number.POSITIVE_INFINITY);
      await this.daemon.commit();
      this.toProxy(Number.POSITIVE_INFINITY);
      await promisesResolved();
    }
  }
}

const minute = pathRule("/team", 86_400, { requests: 1_000_000, tokens: 1_000_000_000 });

const gauge = pathRule("/team", 0, { requests: 3 });

const ofGpt = {
  ...pathRule("gpt-4o", 86_400, { requests: 1_000_000, tokens: 1_000_000_000 }),
  scope: "model",
} as const;

const ofLlama = { ...ofGpt, subject: "llama-3" };

/** Has room for one at a time. */
const other = { provider: "local", model: "other" };

const ofOther = { ...ofGpt, subject: "other" };

const gaugeOfOther = { ...pathRule("other", 0, { requests: 1 }), scope: "model" } as const;

const rules = [minute, gauge, ofGpt, ofLlama, ofOther, gaugeOfOther];

t.test(
  "open: a late admission to another target than the request went to charges the one that it went to",
  async (t) => {
    const pair = new Pair("open");
    await pair.settleDown();
    const full = { ...pathRule("gpt-4o", 0, { requests: 1 }), scope: "model" } as const;
    pair.daemon.state.book.put(full, { source: "manual", nowMs: pair.daemon.nowMs, lsn: 0 });
    const first = pair.harness.ask();
    await pair.settleDown();
    const asked = pair.harness.ask("/team", [gpt, llama]);
    pair.harness.advance(deadlineMs + expiryIntervalMs);
    await promisesResolved();
    t.same(admissionOf(asked).target, gpt, "it goes to the first");
    await pair.settleDown();
    t.match(
      { gpt: counts(pair.daemon, ofGpt), llama: counts(pair.daemon, ofLlama) },
      { gpt: { requests: 2, inFlight: 2 }, llama: { requests: 0, inFlight: 0 } },
      "as soon as the proxy has the answer",
    );
    pair.harness.client.settle(
      admissionOf(asked),
      { tokens: 50, estimated: false, record: null },
      () => {},
    );
    pair.harness.client.settle(
      admissionOf(first),
      { tokens: 1, estimated: false, record: null },
      () => {},
    );
    await pair.settleDown();
    t.match(
      { gpt: counts(pair.daemon, ofGpt), llama: counts(pair.daemon, ofLlama) },
      {
        gpt: { requests: 2, tokens: 51, inFlight: 0 },
        llama: { requests: 0, tokens: 0, inFlight: 0 },
      },
    );
  },
);

t.test("open: a request that ended before its late refusal is counted all the same", async (t) => {
  const pair = new Pair("open");
  await pair.settleDown();
  const holders = [pair.harness.ask(), pair.harness.ask(), pair.harness.ask()];
  await pair.settleDown();
  const asked = pair.harness.ask();
  pair.harness.advance(deadlineMs + expiryIntervalMs);
  await promisesResolved();
  pair.harness.client.settle(
    admissionOf(asked),
    { tokens: 50, estimated: false, record: null },
    () => {},
  );
  await pair.settleDown();
  t.equal(pair.daemon.state.counts.refused, 1, "the gauge was full");
  t.match(counts(pair.daemon, minute), { requests: 4, tokens: 50, inFlight: holders.length });
});

/** What makes a proxy miss the verdicts that are on their way. */
const breaks: Readonly<Record<string, (pair: Pair) => Promise<void>>> = {
  "a connection that breaks while both live": async (pair) => pair.lose(),
  "a daemon that stops while the proxy stands still": async (pair) => {
    await pair.daemon.snapshot();
    pair.crash();
  },
  "a daemon that is killed behind its commit": async (pair) => {
    await pair.daemon.commit();
    pair.crash();
  },
  "a daemon that is killed before its commit": async (pair) => pair.crash(),
  "a daemon that is killed before it has written what it took back": async (pair) => {
    await pair.daemon.commit();
    pair.lose();
    pair.connect();
    pair.toDaemon(1);
    pair.toProxy(Number.POSITIVE_INFINITY);
    pair.toDaemon(1);
    pair.crash();
  },
  "a daemon that is killed once it has written what it took back": async (pair) => {
    await pair.daemon.commit();
    pair.lose();
    pair.connect();
    pair.toDaemon(1);
    pair.toProxy(Number.POSITIVE_INFINITY);
    pair.toDaemon(1);
    await pair.daemon.commit();
    pair.crash();
  },
};

for (const [what, happens] of Object.entries(breaks)) {
  t.test(`${what} counts nothing twice, and nothing that the proxy gave up`, async (t) => {
    for (const failureMode of ["closed", "open"] as const) {
      const pair = new Pair(failureMode);
      await pair.settleDown();
      const ask = (): { outcome: AdmissionOutcome | null } => pair.harness.ask("/elsewhere");
      const answered = [ask(), ask(), ask(), ask()];
      await pair.settleDown();
      const [moved, ...others] = answered;
      const unanswered = [ask(), ask(), ask()];
      pair.toDaemon(2);
      const rerouting = pair.harness.client.reroute(admissionOf(moved!), [llama]);
      pair.toDaemon(Number.POSITIVE_INFINITY);
      await happens(pair);
      await pair.settleDown();
      t.match(await rerouting, { kind: "admitted" });
      t.same(counts(pair.daemon, ofGpt), { requests: 4 + 3, tokens: 0, inFlight: 3 + 3 });
      t.same(counts(pair.daemon, ofLlama), { requests: 1, tokens: 0, inFlight: 1 });
      // The next verdicts come too late, or never.
      const given = [ask(), ask()];
      const late = pair.harness.client.reroute(admissionOf(moved!), [other]);
      pair.toDaemon(Number.POSITIVE_INFINITY);
      await happens(pair);
      pair.harness.advance(2 * deadlineMs);
      await promisesResolved();
      const passes = failureMode === "open" ? 1 : 0;
      t.equal(given[0]!.outcome?.kind, passes ? "admitted" : "unavailable");
      t.equal((await late).kind, passes ? "admitted" : "unavailable");
      await pair.settleDown();
      t.match(counts(pair.daemon, ofGpt), { requests: 7 + 2 * passes, inFlight: 6 + 2 * passes });
      t.match(counts(pair.daemon, ofOther), { requests: passes, inFlight: passes });
      for (const one of [moved!, ...others, ...unanswered, ...(passes ? given : [])])
        pair.harness.client.settle(admissionOf(one), { ...nothing, tokens: 2 }, () => {});
      await pair.settleDown();
      const tokens = 2 * (6 + 2 * passes);
      t.same(counts(pair.daemon, ofGpt), { requests: 7 + 2 * passes, tokens, inFlight: 0 });
      t.same(counts(pair.daemon, ofLlama), { requests: 1, tokens: 0, inFlight: 0 });
      t.same(counts(pair.daemon, ofOther), { requests: passes, tokens: 2 * passes, inFlight: 0 });
    }
  });
}

t.test(
  "closed: a request that a stalled daemon admits too late isn't counted: it never went to a target",
  async (t) => {
    const pair = new Pair("closed");
    await pair.settleDown();
    pair.harness.ask();
    pair.harness.advance(deadlineMs + expiryIntervalMs);
    await pair.settleDown();
    t.equal(pair.daemon.state.counts.admitted, 1);
    t.same(
      [counts(pair.daemon, minute), counts(pair.daemon, ofGpt)],
      Array(2).fill({ requests: 0, tokens: 0, inFlight: 0 }),
    );
  },
);

t.test(
  "a reroute with a late answer: the target that was used is counted, the one that the daemon chose isn't",
  async (t) => {
    for (const failureMode of ["closed", "open"] as const) {
      const pair = new Pair(failureMode);
      await pair.settleDown();
      const [busy, asked] = [pair.harness.ask("/team", [other]), pair.harness.ask()];
      await pair.settleDown();
      // The first choice is full when the daemon answers, so it takes the second; the client has
      // gone to the first meanwhile.
      const rerouting = pair.harness.client.reroute(admissionOf(asked), [other, llama]);
      pair.harness.advance(deadlineMs + expiryIntervalMs);
      t.equal((await rerouting).kind, failureMode === "open" ? "admitted" : "unavailable");
      await pair.settleDown();
      t.match(counts(pair.daemon, ofLlama), { requests: 0 }, "what the daemon chose is taken back");
      t.match(counts(pair.daemon, ofOther), { requests: failureMode === "open" ? 2 : 1 });
      pair.harness.client.settle(
        admissionOf(asked),
        { tokens: failureMode === "open" ? 9 : 0, estimated: false, record: null },
        () => {},
      );
      pair.harness.client.settle(admissionOf(busy), nothing, () => {});
      await pair.settleDown();
      t.same(counts(pair.daemon, ofLlama), { requests: 0, tokens: 0, inFlight: 0 }, failureMode);
      t.same(
        counts(pair.daemon, ofOther),
        failureMode === "open"
          ? { requests: 2, tokens: 9, inFlight: 0 }
          : { requests: 1, tokens: 0, inFlight: 0 },
      );
      t.same(
        counts(pair.daemon, ofGpt),
        { requests: 1, tokens: 0, inFlight: 0 },
        "the attempt was made",
      );
      t.match(counts(pair.daemon, minute), { requests: 2, inFlight: 0 });
    }
  },
);

t.test(
  "open: what was let through without the daemon holds slots and counts once it is back, however often it goes away again",
  async (t) => {
    const pair = new Pair("open");
    pair.harness.advance(deadlineMs);
    const asked = [pair.harness.ask(), pair.harness.ask(), pair.harness.ask(), pair.harness.ask()];
    const [short, ...long] = asked;
    await promisesResolved();
    const client = pair.harness.client;
    client.settle(admissionOf(short!), { ...nothing, tokens: 10 }, () => {});
    const running = { requests: 4, tokens: 10, inFlight: 3 };
    for (let round = 0; round < 3; round++) {
      pair.connect();
      pair.toDaemon(1);
      t.match(counts(pair.daemon, gauge), { inFlight: 3 }, "its cap is reached before the welcome");
      await pair.settleDown();
      t.same(counts(pair.daemon, minute), running);
      t.same(counts(pair.daemon, ofGpt), running);
      const refused = pair.harness.ask();
      await pair.settleDown();
      t.equal(refused.outcome?.kind, "refused", "no slot is left");
      if (round < 2) pair.lose();
    }
    t.equal(client.unsettled, 0);
    for (const one of long) client.settle(admissionOf(one), { ...nothing, tokens: 5 }, () => {});
    await pair.settleDown();
    t.same(counts(pair.daemon, minute), { requests: 4, tokens: 25, inFlight: 0 });
    t.same(counts(pair.daemon, ofGpt), { requests: 4, tokens: 25, inFlight: 0 });
  },
);

t.test(
  "open: requests admitted while the daemon is stopped take slots as soon as it continues, although it refuses them",
  async (t) => {
    const pair = new Pair("open");
    await pair.settleDown();
    const asked = [pair.harness.ask(), pair.harness.ask()];
    const full = [pair.harness.ask(), pair.harness.ask("/team", [other])];
    pair.harness.advance(deadlineMs + expiryIntervalMs);
    t.equal(pair.harness.client.state, "silent");
    const unasked = pair.harness.ask();
    const ended = pair.harness.ask();
    await promisesResolved();
    pair.harness.client.settle(admissionOf(ended), { ...nothing, tokens: 4 }, () => {});
    await pair.settleDown();
    t.equal(pair.daemon.state.counts.refused, 1, "three have room");
    t.match(counts(pair.daemon, gauge), { inFlight: 5 }, "all five that run hold their slot");
    t.match(counts(pair.daemon, minute), { requests: 6, tokens: 4 });
    t.match(counts(pair.daemon, ofOther), { requests: 1, inFlight: 1 });
    const refused = pair.harness.ask();
    await pair.settleDown();
    t.equal(refused.outcome?.kind, "refused");
    for (const one of [...asked, ...full, unasked])
      pair.harness.client.settle(admissionOf(one), { ...nothing, tokens: 5 }, () => {});
    await pair.settleDown();
    t.same(counts(pair.daemon, minute), { requests: 6, tokens: 29, inFlight: 0 });
  },
);

t.test("open: a reported request moves to the next target by the daemon's verdict", async (t) => {
  const pair = new Pair("open");
  pair.harness.advance(deadlineMs);
  const asked = pair.harness.ask("/team", [gpt, other]);
  const between = pair.harness.ask("/team", [gpt]);
  await promisesResolved();
  await pair.settleDown();
  void pair.harness.client.reroute(admissionOf(asked), [other]);
  await pair.settleDown();
  t.same(counts(pair.daemon, ofGpt), { requests: 2, tokens: 0, inFlight: 1 });
  t.same(counts(pair.daemon, ofOther), { requests: 1, tokens: 0, inFlight: 1 });
  const full = pair.harness.client.reroute(admissionOf(between), [other]);
  await pair.settleDown();
  t.equal((await full).kind, "refused", "its gauge judges it");
  for (const one of [asked, between])
    pair.harness.client.settle(admissionOf(one), { ...nothing, tokens: 3 }, () => {});
  await pair.settleDown();
  t.same(counts(pair.daemon, minute), { requests: 2, tokens: 6, inFlight: 0 });
  t.same(counts(pair.daemon, ofOther), { requests: 1, tokens: 3, inFlight: 0 });
});

const happening = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("ask" as const),
      targets: fc.constantFrom([gpt], [gpt, llama]),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("settle" as const),
      which: fc.nat(),
      tokens: fc.nat(100),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      kind: fc.constant("fail" as const),
      which: fc.nat(),
      others: fc.constantFrom([llama], [llama, gpt], [other]),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant("deliver" as const),
      out: fc.nat(5),
      back: fc.nat(5),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("commit" as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("time" as const), ms: fc.nat(1500) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom("lose" as const, "crash" as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("connect" as const) }) },
);

t.test(
  "however the connection comes and goes, in the end each request and each settle counts once, and nothing is held",
  async (t) => {
    let settled = 0;
    let failed = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom("open" as const, "closed" as const),
        fc.array(happening, { maxLength: 60, size: "max" }),
        async (failureMode, happenings) => {
          const pair = new Pair(failureMode);
          const asked: { outcome: AdmissionOutcome | null }[] = [];
          const rerouting = new Set<Admission>();
          let tokens = 0;
          for (const what of happenings) {
            switch (what.kind) {
              case "ask":
                asked.push(pair.harness.ask("/team", what.targets));
                break;
              case "settle": {
                const open = asked.filter(
                  ({ outcome }) =>
                    outcome?.kind === "admitted" &&
                    !outcome.admission.isSettled &&
                    outcome.admission.target !== null,
                );
                if (open.length === 0) break;
                pair.harness.client.settle(
                  admissionOf(open[what.which % open.length]!),
                  { tokens: what.tokens, estimated: false, record: null },
                  () => {},
                );
                tokens += what.tokens;
                settled++;
                break;
              }
              case "fail": {
                const open = asked.filter(
                  ({ outcome }) =>
                    outcome?.kind === "admitted" &&
                    !outcome.admission.isSettled &&
                    outcome.admission.target !== null,
                );
                if (open.length === 0) break;
                const admission = admissionOf(open[what.which % open.length]!);
                const others = what.others.filter((target) => target !== admission.target);
                if (others.length === 0) break;
                rerouting.add(admission);
                void pair.harness.client
                  .reroute(admission, others)
                  .then(() => rerouting.delete(admission));
                failed++;
                break;
              }
              case "deliver":
                if (!pair.toDaemon(what.out))
                  throw new Error("the daemon closes the proxy's connection");
                pair.toProxy(what.back);
                break;
              case "commit":
                await pair.daemon.commit();
                break;
              case "time":
                pair.harness.advance(what.ms);
                break;
              case "lose":
                pair.lose();
                break;
              case "crash":
                pair.crash();
                break;
              case "connect":
                pair.connect();
                break;
            }
            await Promise.resolve();
          }
          pair.harness.advance(2 * deadlineMs);
          await pair.settleDown();
          const waiting = asked.filter(({ outcome }) => outcome === null).length + rerouting.size;
          for (const { outcome } of asked) {
            if (outcome?.kind !== "admitted" || outcome.admission.isSettled) continue;
            const spent = outcome.admission.target === null ? 0 : 1;
            pair.harness.client.settle(
              outcome.admission,
              { tokens: spent, estimated: false, record: null },
              () => {},
            );
            tokens += spent;
          }
          await pair.settleDown();
          const { tokens: counted, requests } = counts(pair.daemon, minute);
          const passed = asked.filter(({ outcome }) => outcome?.kind === "admitted").length;
          const inFlight = [...pair.daemon.state.book.rules.values()].reduce(
            (sum, { own }) => sum + Math.abs(own!.inFlight),
            0,
          );
          const state = JSON.stringify({
            waiting,
            counted,
            tokens,
            requests,
            passed,
            inFlight,
            unsettled: pair.harness.client.unsettled,
          });
          if (
            waiting > 0 ||
            counted !== tokens ||
            requests !== passed ||
            inFlight !== 0 ||
            pair.harness.client.unsettled > 0
          )
            throw new Error(state);
        },
      ),
      { numRuns: 400, seed: 1, includeErrorInReport: true },
    );
    t.ok(settled > 400 && failed > 200, `${settled} settles, ${failed} failed targets`);
  },
);
