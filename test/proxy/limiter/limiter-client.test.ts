import fc from "fast-check";
import t from "tap";
import type { Admission, AdmissionOutcome } from "../../../proxy/limiter/limiter.js";
import { LimiterClient } from "../../../proxy/limiter/limiter-client.js";
import type { LimiterClientOptions } from "../../../proxy/limiter/limiter-link.js";
import {
  admissionsWaitingMax,
  frameBytesMaxToDaemon,
  leasesPerHello,
  settleOutboxMax,
} from "../../../shared/bounds.js";
import { invalid } from "../../../shared/error-code.js";
import { wireVersion } from "../../../shared/version.js";
import { encodeFrame } from "../../../shared/wire/codec.js";
import type { FromDaemon, SuccessHeaders, Target, ToDaemon } from "../../../shared/wire/message.js";
import { toWire } from "../../../shared/wire/to-wire.js";
import { unlimitedLsn } from "../../../shared/wire/unlimited-lsn.js";
import { counts, executed, pathRule, startDaemon, type TestPeer } from "../../limiterd/daemon.js";

const gpt = { provider: "openai", model: "gpt-4o" };
const llama = { provider: "local", model: "llama-3" };
const deadlineMs = 1000;
/** What one look at the deadlines may be late. */
const lookMs = deadlineMs / 10;

/**
 * A client with a clock and timers that are moved by hand, and a link whose other end is the test.
 */
class Bench {
  nowMs = 5000;
  readonly sent: ToDaemon[] = [];
  readonly links: boolean[] = [];
  dropped = 0;
  silences = 0;
  readonly client: LimiterClient;
  #timers: { readonly atMs: number; readonly run: () => void }[] = [];
  #afterTurn: (() => void)[] = [];
  turns = 0;

  constructor(options: Partial<LimiterClientOptions> = {}) {
    this.client = new LimiterClient(
      {
        proxyId: "p1",
        monoMs: () => this.nowMs,
        schedule: (ms, run) => void this.#timers.push({ atMs: this.nowMs + ms, run }),
        afterTurn: (run) => void this.#afterTurn.push(run),
        onLinkChange: (linked) => void this.links.push(linked),
        onTimedOut: () => void this.silences++,
        onDropped: (settles) => {
          this.dropped += settles;
        },
      },
      { deadlineMs, failureMode: "closed", ...options },
    );
  }

  connect(): void {
    this.client.connected((message) => void this.sent.push(message));
  }

  welcome({
    settledSeq = 0,
    limited = true,
    inertRules = 0,
    inertBudgets = 0,
    keysExist = false,
  } = {}): void {
    this.hear({
      kind: "welcome",
      id: 1,
      daemonVersion: "0.1.0",
      settledSeq,
      limited,
      inertRules,
      inertBudgets,
      keysExist,
    });
  }

  hear(message: FromDaemon): void {
    this.client.received(message);
  }

  lose(): void {
    this.client.lost();
  }

  advance(ms: number): void {
    const until = this.nowMs + ms;
    for (;;) {
      const due = this.#timers
        .filter(({ atMs }) => atMs <= until)
        .sort((a, b) => a.atMs - b.atMs)[0];
      if (due === undefined) break;
      this.#timers.splice(this.#timers.indexOf(due), 1);
      this.nowMs = Math.max(this.nowMs, due.atMs);
      due.run();
    }
    this.nowMs = until;
  }

  endTurn(): void {
    const run = this.#afterTurn.splice(0);
    this.turns += run.length;
    for (const then of run) then();
  }

  /** What was sent since the last look. */
  take(): ToDaemon[] {
    return this.sent.splice(0);
  }

  /** Asks for a request; what it is told shows up in `outcome`. */
  ask(
    userPath = "/team",
    targets: readonly Target[] = [gpt],
    credential = "authenticated",
    submission = false,
  ): { outcome: AdmissionOutcome | null } {
    const asked: { outcome: AdmissionOutcome | null } = { outcome: null };
    void this.client
      .admit({ userPath, credential }, targets, submission)
      .then((outcome) => (asked.outcome = outcome));
    return asked;
  }

  /** An admission that a daemon has granted. */
  async granted(userPath = "/team"): Promise<Admission> {
    const asked = this.ask(userPath);
    const { id } = this.sent.at(-1) as { id: number };
    this.hear({
      kind: "admitted",
      id,
      target: 0,
      admittedAtMs: 100_000 + id,
      lsn: 70 + id,
      headers: null,
      key: null,
    });
    await settledPromises();
    return admissionOf(asked);
  }
}

/** A client whose daemon is there. */
function linkedBench(options: Partial<LimiterClientOptions> = {}): Bench {
  const bench = new Bench(options);
  bench.connect();
  bench.welcome();
  bench.take();
  return bench;
}

const settledPromises = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

function admissionOf({ outcome }: { readonly outcome: AdmissionOutcome | null }): Admission {
  if (outcome?.kind !== "admitted") throw new Error(`not admitted: ${JSON.stringify(outcome)}`);
  return outcome.admission;
}

const kinds = (messages: readonly ToDaemon[]): string[] => messages.map(({ kind }) => kind);
const nothing = { tokens: 0, estimated: false, record: null };

t.test(
  "an admission is asked for and resolved with the target, the headers and all that a settle needs",
  async (t) => {
    const bench = linkedBench();
    const asked = bench.ask("/team/app", [gpt, llama]);
    const [admit] = bench.take();
    t.match(admit, { kind: "admit", userPath: "/team/app", targets: [gpt, llama] });
    const headers: SuccessHeaders = {
      requests: { limit: 10, remaining: 9, resetSeconds: 60 },
      tokens: null,
    };
    bench.hear({
      kind: "admitted",
      id: (admit as { id: number }).id,
      target: 1,
      admittedAtMs: 123,
      lsn: 9,
      headers,
      key: null,
    });
    await settledPromises();
    t.match(asked.outcome, {
      kind: "admitted",
      headers,
      admission: {
        target: llama,
        userPath: "/team/app",
        admittedAtMs: 123,
        lsn: 9,
        settled: false,
      },
    });
  },
);

t.test("a refusal is resolved with its breach, and nothing is left of it", async (t) => {
  const bench = linkedBench();
  const asked = bench.ask();
  const { id } = bench.take()[0] as { id: number };
  bench.hear({
    kind: "refused",
    id,
    scope: "user_path",
    subject: "/team",
    periodSeconds: 60,
    dimension: "requests",
    cap: 10,
    waitSeconds: 61,
    key: null,
  });
  await settledPromises();
  t.match(asked.outcome, { kind: "refused", id, breach: { subject: "/team", waitSeconds: 61 } });
  bench.client.noteRefusal(id, "req_1", "smart");
  t.same(bench.take(), [{ kind: "refusal", id, requestId: "req_1", model: "smart" }]);
  bench.lose();
  bench.connect();
  t.match(bench.take(), [{ kind: "hello", leases: [], more: false }]);
});

t.test(
  "which request was refused is told to the daemon that knows of it, and to no other",
  async (t) => {
    const bench = linkedBench();
    bench.lose();
    bench.client.noteRefusal(1, "req_1", "smart");
    bench.connect();
    bench.welcome();
    t.same(kinds(bench.take()), ["hello"]);
  },
);

t.test("the numbers of inert rules and budgets are those that the daemon said last", async (t) => {
  const bench = new Bench();
  const said = (): unknown => [bench.client.inertRules, bench.client.inertBudgets];
  t.same(said(), [null, null]);
  bench.connect();
  bench.welcome({ inertRules: 2, inertBudgets: 5 });
  t.same(said(), [2, 5]);
  bench.hear({ kind: "event", name: "inert_rules", value: 3 });
  t.same(said(), [3, 5]);
  bench.hear({ kind: "event", name: "inert_budgets", value: 4 });
  t.same(said(), [3, 4]);
  bench.lose();
  t.same(said(), [3, 4]);
});

t.test(
  "why the daemon can't write its store is known until it says otherwise, or welcomes without a word of it",
  async (t) => {
    const bench = new Bench();
    t.equal(bench.client.storeFailing, null);
    bench.connect();
    bench.welcome();
    bench.hear({ kind: "event", name: "store_failing", value: "no space left on device" });
    t.equal(bench.client.storeFailing, "no space left on device");
    t.ok(bench.client.reachable, "it serves all the same");
    bench.hear({ kind: "event", name: "store_failing", value: null });
    t.equal(bench.client.storeFailing, null);
    bench.hear({ kind: "event", name: "store_failing", value: "i/o error" });
    bench.lose();
    t.equal(bench.client.storeFailing, "i/o error");
    bench.connect();
    bench.welcome();
    t.equal(bench.client.storeFailing, null);
  },
);

t.test(
  "many admissions wait side by side, and each gets its own answer in whatever order they come",
  async (t) => {
    const bench = linkedBench();
    const asked = Array.from({ length: 5 }, (_, i) => bench.ask(`/${i}`));
    const ids = bench.take().map((message) => (message as { id: number }).id);
    t.equal(new Set(ids).size, 5);
    for (const i of [3, 0, 4, 1, 2])
      bench.hear({
        kind: "admitted",
        id: ids[i]!,
        target: 0,
        admittedAtMs: i,
        lsn: i,
        headers: null,
        key: null,
      });
    await settledPromises();
    t.same(
      asked.map((one) => admissionOf(one).admittedAtMs),
      [0, 1, 2, 3, 4],
    );
    t.same(
      asked.map((one) => admissionOf(one).userPath),
      ["/0", "/1", "/2", "/3", "/4"],
    );
  },
);

t.test(
  "a daemon that is silent past the deadline: closed answers that it is unavailable, open lets through without headers",
  async (t) => {
    for (const failureMode of ["closed", "open"] as const) {
      const bench = linkedBench({ failureMode });
      const asked = bench.ask("/team", [gpt, llama]);
      bench.advance(deadlineMs - 1);
      await settledPromises();
      t.equal(asked.outcome, null, `${failureMode}: not before the deadline`);
      bench.advance(1 + lookMs);
      await settledPromises();
      t.match(
        asked.outcome,
        failureMode === "closed"
          ? { kind: "unavailable" }
          : {
              kind: "admitted",
              headers: null,
              admission: { userPath: "/team", target: gpt, settled: false },
            },
        failureMode,
      );
    }
  },
);

t.test("each admission has its own deadline, however they follow each other", async (t) => {
  const bench = linkedBench();
  const asked: { outcome: AdmissionOutcome | null }[] = [];
  for (let i = 0; i < 10; i++) {
    asked.push(bench.ask());
    bench.advance(190);
  }
  await settledPromises();
  t.same(
    asked.map(({ outcome }) => outcome?.kind ?? "waits"),
    Array.from({ length: 10 }, (_, i) =>
      1900 - i * 190 >= deadlineMs + lookMs ? "unavailable" : "waits",
    ),
  );
  bench.advance(deadlineMs + lookMs);
  await settledPromises();
  t.ok(asked.every(({ outcome }) => outcome?.kind === "unavailable"));
});

t.test(
  "while the daemon is away requests wait for it until it has been away for the deadline, then not at all",
  async (t) => {
    const bench = linkedBench();
    bench.lose();
    bench.advance(600);
    const early = bench.ask("/early");
    bench.advance(399);
    await settledPromises();
    t.equal(early.outcome, null);
    bench.advance(1 + lookMs);
    const late = bench.ask("/late");
    await settledPromises();
    t.same(
      [early.outcome, late.outcome],
      [{ kind: "unavailable" }, { kind: "unavailable" }],
      "the second without a wait",
    );
    bench.connect();
    bench.welcome();
    t.same(kinds(bench.take()), ["hello"], "and nobody asks for them later");
    const back = bench.ask();
    t.same(kinds(bench.take()), ["admit"]);
    t.equal(back.outcome, null);
  },
);

t.test("who waits while the daemon is away is asked for when it is back", async (t) => {
  const bench = new Bench();
  const asked = bench.ask();
  bench.advance(500);
  bench.connect();
  t.same(kinds(bench.take()), ["hello"], "not before the welcome");
  bench.welcome();
  const [admit] = bench.take();
  t.match(admit, { kind: "admit", userPath: "/team" });
  bench.hear({
    kind: "admitted",
    id: (admit as { id: number }).id,
    target: 0,
    admittedAtMs: 1,
    lsn: 1,
    headers: null,
    key: null,
  });
  await settledPromises();
  t.match(asked.outcome, { kind: "admitted" });
});

t.test(
  "closed: an answer after the deadline is given back at once, so that its slot is free",
  async (t) => {
    const bench = linkedBench();
    bench.ask();
    const { id } = bench.take()[0] as { id: number };
    bench.advance(deadlineMs + lookMs);
    bench.hear({
      kind: "admitted",
      id,
      target: 0,
      admittedAtMs: 100,
      lsn: 5,
      headers: null,
      key: null,
    });
    t.match(bench.take(), [
      {
        kind: "settle",
        seq: 1,
        part: "withdrawn",
        lease: id,
        userPath: "/team",
        lsn: 5,
        admittedAtMs: 100,
        target: gpt,
        targetLsn: 5,
        tokens: 0,
      },
    ]);
    bench.lose();
    bench.connect();
    t.match(bench.take()[0], { kind: "hello", leases: [] }, "and it isn't held");
    bench.welcome({ settledSeq: 1 });
    t.equal(bench.client.unsettled, 0);
  },
);

t.test("closed: a refusal after the deadline changes nothing", async (t) => {
  const bench = linkedBench();
  const asked = bench.ask();
  const { id } = bench.take()[0] as { id: number };
  bench.advance(deadlineMs + lookMs);
  bench.hear({
    kind: "refused",
    id,
    scope: "user_path",
    subject: "/team",
    periodSeconds: 60,
    dimension: "requests",
    cap: 10,
    waitSeconds: 61,
    key: null,
  });
  await settledPromises();
  t.same([asked.outcome, bench.take(), bench.client.unsettled], [{ kind: "unavailable" }, [], 0]);
});

t.test(
  "open: a late answer is adopted by the request that went on, told after a reconnect and settled once",
  async (t) => {
    const bench = linkedBench({ failureMode: "open" });
    const asked = bench.ask("/team/app");
    const { id } = bench.take()[0] as { id: number };
    bench.advance(deadlineMs + lookMs);
    await settledPromises();
    bench.hear({
      kind: "admitted",
      id,
      target: 0,
      admittedAtMs: 100,
      lsn: 5,
      headers: null,
      key: null,
    });
    t.same(bench.take(), [], "it isn't given back");
    bench.lose();
    bench.connect();
    t.match(bench.take(), [
      {
        kind: "hello",
        leases: [
          {
            lease: id,
            userPath: "/team/app",
            admittedAtMs: 100,
            lsn: 5,
            target: gpt,
            targetAtMs: 100,
            targetLsn: 5,
          },
        ],
      },
    ]);
    bench.welcome();
    bench.client.settle(
      admissionOf(asked),
      { tokens: 7, estimated: false, record: null },
      () => {},
    );
    t.match(bench.take(), [
      { kind: "settle", seq: 1, lease: id, admittedAtMs: 100, lsn: 5, tokens: 7 },
    ]);
  },
);

t.test(
  "an answer from the cache is told as no admission, kept until it is acknowledged, and goes out once it is told",
  async (t) => {
    const bench = linkedBench();
    let finished = false;
    bench.nowMs += 30;
    bench.client.settleCached(
      {
        userPath: "/team",
        startedMonoMs: bench.nowMs - 20,
        estimated: true,
        record: executed({ cacheHit: true }),
      },
      () => (finished = true),
    );
    const told = {
      kind: "settle",
      seq: 1,
      part: "cached",
      lease: 0,
      userPath: "/team",
      lsn: 0,
      target: null,
      tokens: 0,
      startedAgoMs: 20,
      endedAgoMs: 0,
      estimated: true,
      record: { cacheHit: true },
    };
    t.match(bench.take(), [told]);
    t.notOk(finished);
    bench.endTurn();
    t.ok(finished);
    bench.lose();
    bench.connect();
    bench.take();
    bench.welcome();
    t.match(bench.take(), [{ ...told }], "again, after a reconnect");
    bench.hear({ kind: "settled", seq: 1 });
    t.equal(bench.client.unsettled, 0);
  },
);

t.test(
  "open: a request that is settled before the late answer is settled once, and the lease isn't kept",
  async (t) => {
    const bench = linkedBench({ failureMode: "open" });
    const asked = bench.ask();
    const { id } = bench.take()[0] as { id: number };
    bench.advance(deadlineMs + lookMs);
    await settledPromises();
    bench.client.settle(
      admissionOf(asked),
      { tokens: 7, estimated: false, record: null },
      () => {},
    );
    bench.hear({
      kind: "admitted",
      id,
      target: 0,
      admittedAtMs: 100,
      lsn: 5,
      headers: null,
      key: null,
    });
    const settles = bench.take();
    t.equal(
      settles.reduce((tokens, message) => tokens + (message as { tokens: number }).tokens, 0),
      7,
    );
    t.ok(
      settles.some((message) => (message as { lease: number }).lease === id),
      "the lease is named by one of them",
    );
    bench.lose();
    bench.connect();
    t.match(bench.take()[0], { kind: "hello", leases: [] });
  },
);

t.test(
  "open: a request that a daemon refuses late went on all the same, and is counted with its settle",
  async (t) => {
    const bench = linkedBench({ failureMode: "open" });
    const asked = bench.ask();
    const { id } = bench.take()[0] as { id: number };
    bench.advance(deadlineMs + lookMs);
    await settledPromises();
    bench.hear({
      kind: "refused",
      id,
      scope: "user_path",
      subject: "/team",
      periodSeconds: 60,
      dimension: "requests",
      cap: 10,
      waitSeconds: 61,
      key: null,
    });
    bench.client.settle(
      admissionOf(asked),
      { tokens: 7, estimated: false, record: null },
      () => {},
    );
    t.match(bench.take(), [
      { kind: "settle", lease: 0, tokens: 7, startedAgoMs: deadlineMs + lookMs, endedAgoMs: 0 },
    ]);
  },
);

t.test(
  "open: a request that went on is counted with its settle when the daemon was lost before it answered",
  async (t) => {
    const bench = linkedBench({ failureMode: "open" });
    const asked = bench.ask();
    bench.advance(deadlineMs + lookMs);
    await settledPromises();
    bench.lose();
    bench.connect();
    bench.welcome();
    bench.take();
    bench.client.settle(
      admissionOf(asked),
      { tokens: 7, estimated: false, record: null },
      () => {},
    );
    t.match(bench.take(), [{ kind: "settle", lease: 0, tokens: 7 }]);
  },
);

t.test(
  "after a loss: the leases that are held, then the settles, then who waits, then the calls",
  async (t) => {
    const bench = linkedBench();
    const held = await bench.granted("/held");
    const ended = await bench.granted("/ended");
    bench.client.settle(ended, { tokens: 5, estimated: false, record: null }, () => {});
    bench.lose();
    const while_ = await Promise.race([
      bench.client.admit({ userPath: "/waits", credential: "authenticated" }, [gpt]),
      Promise.resolve("waits"),
    ]);
    t.equal(while_, "waits");
    void bench.client.call("status", null);
    bench.take();
    bench.connect();
    t.match(bench.take(), [
      {
        kind: "hello",
        wireVersion,
        role: "proxy",
        proxyId: "p1",
        leases: [
          {
            lease: held.lease,
            userPath: "/held",
            target: gpt,
            admittedAtMs: held.admittedAtMs,
            lsn: held.lsn,
          },
        ],
        more: false,
      },
    ]);
    bench.welcome();
    const said = bench.take();
    t.same(kinds(said), ["settle", "admit", "admin"]);
    t.match(said, [
      { lease: ended.lease, userPath: "/ended" },
      { userPath: "/waits" },
      { op: "status" },
    ]);
  },
);

t.test(
  "a welcome that never comes: nothing is said but the hello, and the next connection gets it all",
  async (t) => {
    const bench = new Bench();
    bench.ask();
    bench.connect();
    bench.lose();
    bench.connect();
    t.same(kinds(bench.take()), ["hello", "hello"]);
    t.same(bench.links, [], "a link that was never welcomed isn't told of");
    bench.welcome();
    t.same(kinds(bench.take()), ["admit"]);
    bench.lose();
    t.same(bench.links, [true, false]);
  },
);

t.test(
  "settles are repeated at each welcome until they are acknowledged, in order; acknowledged ones aren't",
  async (t) => {
    const bench = linkedBench();
    const admissions = [
      await bench.granted("/1"),
      await bench.granted("/2"),
      await bench.granted("/3"),
      await bench.granted("/4"),
    ];
    bench.take();
    for (const admission of admissions.slice(0, 3))
      bench.client.settle(admission, nothing, () => {});
    const seqs = (): number[] =>
      bench
        .take()
        .filter(({ kind }) => kind === "settle")
        .map((message) => (message as { seq: number }).seq);
    t.same(seqs(), [1, 2, 3]);
    t.equal(bench.client.unsettled, 3);
    bench.hear({ kind: "settled", seq: 1 });
    t.equal(bench.client.unsettled, 2);
    bench.lose();
    bench.client.settle(admissions[3]!, nothing, () => {});
    bench.connect();
    bench.welcome({ settledSeq: 1 });
    t.same(seqs(), [2, 3, 4]);
    bench.lose();
    bench.connect();
    bench.welcome({ settledSeq: 3 });
    t.same(seqs(), [4], "the welcome says what is durable");
    bench.hear({ kind: "settled", seq: 4 });
    bench.hear({ kind: "settled", seq: 4 });
    bench.hear({ kind: "settled", seq: 2 });
    t.equal(bench.client.unsettled, 0);
    bench.lose();
    bench.connect();
    bench.welcome({ settledSeq: 4 });
    t.same(seqs(), []);
  },
);

t.test("times in a settle are how long ago, at each sending anew", async (t) => {
  const bench = linkedBench();
  const admission = await bench.granted();
  bench.take();
  bench.advance(300);
  bench.client.settle(admission, { tokens: 5, estimated: true, record: null }, () => {});
  t.match(bench.take(), [{ startedAgoMs: 300, endedAgoMs: 0, tokens: 5, estimated: true }]);
  bench.lose();
  bench.advance(2000);
  bench.connect();
  bench.welcome();
  t.match(bench.take()[1], { startedAgoMs: 2300, endedAgoMs: 2000, tokens: 5, estimated: true });
});

t.test(
  "at the bound of settles the oldest is dropped and told, and the others keep their numbers",
  async (t) => {
    const open = new Bench({ failureMode: "open", deadlineMs: 0 });
    for (let i = 0; i < settleOutboxMax + 3; i++) {
      const outcome = await open.client.admit({ userPath: "/team", credential: "authenticated" }, [
        gpt,
      ]);
      if (outcome.kind === "admitted")
        open.client.settle(
          outcome.admission,
          { tokens: i, estimated: false, record: null },
          () => {},
        );
    }
    t.equal(open.dropped, 3);
    t.equal(open.client.unsettled, settleOutboxMax);
    open.connect();
    open.welcome();
    const settles = open.take().slice(1);
    t.equal(settles.length, settleOutboxMax);
    t.match(
      [settles[0], settles.at(-1)],
      [
        { seq: 4, tokens: 3 },
        { seq: settleOutboxMax + 3, tokens: settleOutboxMax + 2 },
      ],
    );
  },
);

t.test(
  "a proxy that holds many leases tells them in several hellos, each lease once",
  async (t) => {
    for (const [leases, sizes] of [
      [0, [0]],
      [1, [1]],
      [leasesPerHello, [leasesPerHello]],
      [leasesPerHello + 1, [leasesPerHello, 1]],
      [2 * leasesPerHello + 50, [leasesPerHello, leasesPerHello, 50]],
    ] as const) {
      const bench = linkedBench();
      const held: number[] = [];
      for (let i = 0; i < leases; i++) held.push((await bench.granted()).lease);
      bench.lose();
      bench.take();
      bench.connect();
      const hellos = bench.take() as Extract<ToDaemon, { kind: "hello" }>[];
      t.same(
        hellos.map(({ leases: told }) => told.length),
        sizes,
      );
      t.same(
        hellos.map(({ more }) => more),
        sizes.map((_, i) => i < sizes.length - 1),
      );
      t.same(
        hellos.flatMap(({ leases: told }) => told.map(({ lease }) => lease)),
        held,
      );
    }
  },
);

t.test(
  "leases with long names are told in as many hellos as keep each within a frame",
  async (t) => {
    const bench = linkedBench();
    for (let i = 0; i < 150; i++) await bench.granted(`/${"x".repeat(1000)}`);
    bench.lose();
    bench.take();
    bench.connect();
    const hellos = bench.take() as Extract<ToDaemon, { kind: "hello" }>[];
    t.equal(
      hellos.reduce((told, { leases }) => told + leases.length, 0),
      150,
    );
    for (const hello of hellos) t.ok(encodeFrame(toWire(hello)).length <= frameBytesMaxToDaemon);
  },
);

t.test(
  "with no rule a request doesn't wait for the daemon; its settle says that it was never asked for",
  async (t) => {
    const bench = new Bench();
    bench.connect();
    bench.welcome({ limited: false });
    bench.take();
    const asked = bench.ask();
    await settledPromises();
    t.same(bench.take(), []);
    t.match(asked.outcome, { kind: "admitted", headers: null, key: null });
    bench.advance(40);
    bench.client.settle(
      admissionOf(asked),
      { tokens: 3, estimated: false, record: null },
      () => {},
    );
    t.match(bench.take(), [
      {
        kind: "settle",
        part: "request",
        lease: 0,
        userPath: "/team",
        target: gpt,
        startedAgoMs: 40,
        tokens: 3,
      },
    ]);
  },
);

t.test(
  "the first rule makes the proxy ask, the last one's end lets it be; after a loss it asks until it knows",
  async (t) => {
    const bench = new Bench();
    bench.connect();
    bench.welcome({ limited: false });
    bench.take();
    const asks = (): boolean => {
      bench.ask();
      return bench.take().some(({ kind }) => kind === "admit");
    };
    t.notOk(asks());
    bench.hear({ kind: "event", name: "limited", value: true });
    t.ok(asks());
    bench.hear({ kind: "event", name: "limited", value: false });
    t.notOk(asks());
    bench.lose();
    const waits = bench.ask();
    await settledPromises();
    t.equal(waits.outcome, null, "a daemon that is away may have rules by now");
  },
);

t.test("at the bound of waiting admissions the next one isn't kept", async (t) => {
  for (const [failureMode, kind] of [
    ["closed", "unavailable"],
    ["open", "admitted"],
  ] as const) {
    const bench = linkedBench({ failureMode });
    for (let i = 0; i < admissionsWaitingMax; i++) bench.ask();
    bench.take();
    const one = bench.ask();
    await settledPromises();
    t.equal(one.outcome?.kind, kind);
    t.same(bench.take(), []);
  }
});

t.test(
  "what follows a settle runs once its frame has left, in order, all of one turn together",
  async (t) => {
    const bench = linkedBench();
    const admissions = [await bench.granted(), await bench.granted(), await bench.granted()];
    const ran: number[] = [];
    for (const [i, admission] of admissions.slice(0, 2).entries())
      bench.client.settle(admission, nothing, () => void ran.push(i));
    t.same(ran, []);
    bench.endTurn();
    t.same([ran, bench.turns], [[0, 1], 1]);
    bench.client.settle(admissions[2]!, nothing, () => void ran.push(2));
    bench.endTurn();
    t.same([ran, bench.turns], [[0, 1, 2], 2]);
  },
);

t.test("what follows a settle runs though the daemon is away", async (t) => {
  const bench = linkedBench();
  const admission = await bench.granted();
  bench.lose();
  let ran = false;
  bench.client.settle(admission, nothing, () => {
    ran = true;
  });
  bench.endTurn();
  t.ok(ran);
});

t.test("tokens that aren't whole are our own mistake", async (t) => {
  const bench = linkedBench();
  const admission = await bench.granted();
  for (const tokens of [0.5, -1, Number.NaN])
    t.throws(
      () => bench.client.settle(admission, { tokens, estimated: false, record: null }, () => {}),
      /assertion failed/,
    );
});

t.test("a second settle of one admission is our own mistake", async (t) => {
  const bench = linkedBench();
  const admission = await bench.granted();
  bench.client.settle(admission, nothing, () => {});
  t.throws(
    () => bench.client.settle(admission, nothing, () => {}),
    /assertion failed: one settle per admission/,
  );
  t.equal(bench.client.unsettled, 1);
});

t.test("a call is answered, refused, or fails when the daemon is silent", async (t) => {
  const bench = linkedBench();
  const [answered, failed, silent, unsure] = [
    bench.client.call("status", null),
    bench.client.call("rate-limits.put", { a: 1 }),
    bench.client.call("rate-limits.list", null),
    bench.client.call("budgets.delete", {}),
  ];
  const ids = bench.take().map((message) => (message as { id: number }).id);
  bench.hear({ kind: "answer", id: ids[0]!, body: { rules: 3 } });
  bench.hear({ kind: "failed", id: ids[1]!, failure: invalid("no", "a") });
  bench.advance(5_000 + lookMs);
  t.same(await answered, { ok: true, body: { rules: 3 } });
  t.match(await failed, { ok: false, failure: { status: 400, param: "a" } });
  t.match(await silent, {
    ok: false,
    failure: {
      status: 503,
      code: "limiter_unavailable",
      message: "the limiter daemon does not answer",
    },
  });
  t.match(await unsure, {
    ok: false,
    failure: {
      status: 503,
      code: "limiter_unavailable",
      message:
        "the limiter daemon does not answer: the change may have been made, or may still be; look before asking again",
    },
  });
});

t.test(
  "a call that was sent isn't sent again: the daemon that is gone may have done it",
  async (t) => {
    const bench = linkedBench();
    const sent = bench.client.call("rate-limits.put", {});
    bench.take();
    bench.lose();
    t.match(await sent, {
      ok: false,
      failure: {
        code: "limiter_unavailable",
        message: /the change may have been made, or may still be/,
      },
    });
    bench.connect();
    bench.welcome();
    t.same(kinds(bench.take()), ["hello"]);
  },
);

t.test(
  "a call that no daemon has seen waits for one, but no longer than an admission does",
  async (t) => {
    const bench = linkedBench();
    bench.lose();
    const waits = bench.client.call("status", null);
    bench.advance(500);
    bench.connect();
    bench.welcome();
    const [, call] = bench.take();
    t.match(call, { kind: "admin", op: "status" });
    bench.hear({ kind: "answer", id: (call as { id: number }).id, body: 1 });
    t.same(await waits, { ok: true, body: 1 });
    bench.lose();
    const never = bench.client.call("rate-limits.put", {});
    bench.advance(deadlineMs + lookMs);
    t.match(
      await never,
      { ok: false, failure: { status: 503, message: "the limiter daemon does not answer" } },
      "a change that was never sent is not made",
    );
  },
);

t.test(
  "a stopping proxy waits until every settle is acknowledged, but not longer than it says",
  async (t) => {
    const bench = linkedBench();
    await bench.client.drained(1000);
    const admission = await bench.granted();
    bench.client.settle(admission, nothing, () => {});
    let drained = "";
    void bench.client.drained(1000).then(() => (drained += "first "));
    void bench.client.drained(50).then(() => (drained += "impatient "));
    bench.advance(49);
    await settledPromises();
    t.equal(drained, "");
    bench.advance(1);
    await settledPromises();
    t.equal(drained, "impatient ");
    bench.hear({ kind: "settled", seq: 1 });
    await settledPromises();
    t.equal(drained, "impatient first ");
  },
);

t.test("answers to nobody's question do no harm", async (t) => {
  const bench = linkedBench();
  const admission = await bench.granted();
  bench.take();
  bench.hear({
    kind: "refused",
    id: 999,
    scope: "user_path",
    subject: "/",
    periodSeconds: 60,
    dimension: "requests",
    cap: 1,
    waitSeconds: 1,
    key: null,
  });
  bench.hear({ kind: "answer", id: 999, body: null });
  bench.hear({ kind: "failed", id: 999, failure: invalid("x") });
  bench.hear({ kind: "settled", seq: 999 });
  t.same(bench.take(), []);
  bench.client.settle(admission, { tokens: 4, estimated: false, record: null }, () => {});
  t.match(bench.take(), [{ kind: "settle", seq: 1, tokens: 4 }]);
  t.equal(bench.client.unsettled, 1);
});

t.test(
  "the daemon is reachable from its welcome until the connection is lost, and each change is told",
  async (t) => {
    const bench = new Bench();
    t.equal(bench.client.reachable, false);
    bench.connect();
    t.equal(bench.client.reachable, false, "connected isn't welcomed");
    bench.welcome();
    t.equal(bench.client.reachable, true);
    bench.lose();
    t.equal(bench.client.reachable, false);
    t.same(bench.links, [true, false]);
  },
);

t.test(
  "a daemon that doesn't answer in time is told of once, and isn't reachable until it says anything",
  async (t) => {
    const bench = linkedBench();
    bench.ask();
    bench.ask();
    bench.advance(deadlineMs + lookMs);
    t.same([bench.client.reachable, bench.silences], [false, 1]);
    bench.ask();
    bench.advance(deadlineMs + lookMs);
    t.equal(bench.silences, 1);
    bench.hear({ kind: "settled", seq: 0 });
    t.equal(bench.client.reachable, true);
    bench.ask();
    bench.advance(deadlineMs + lookMs);
    t.same([bench.client.reachable, bench.silences], [false, 2]);
    bench.lose();
    bench.ask();
    bench.advance(deadlineMs + lookMs);
    t.equal(bench.silences, 2, "a daemon that is away isn't silent");
  },
);

t.test(
  "a target that failed: its attempt is settled, then another is asked for; the admission goes on under its lease",
  async (t) => {
    const bench = linkedBench();
    const admission = await bench.granted("/team");
    const { lease, lsn, targetLsn } = admission;
    bench.take();
    const rerouting = bench.client.reroute(admission, [llama]);
    const [attempt, reroute] = bench.take();
    t.match(attempt, {
      kind: "settle",
      seq: 1,
      part: "attempt",
      lease,
      userPath: "/team",
      lsn,
      target: gpt,
      targetLsn,
      tokens: 0,
    });
    t.match(reroute, { kind: "reroute", lease, targets: [llama] });
    t.equal(admission.target, null);
    const headers: SuccessHeaders = {
      requests: { limit: 10, remaining: 9, resetSeconds: 60 },
      tokens: null,
    };
    bench.hear({
      kind: "admitted",
      id: (reroute as { id: number }).id,
      target: 0,
      admittedAtMs: 500,
      lsn: 99,
      headers,
      key: null,
    });
    const outcome = await rerouting;
    t.match(outcome, { kind: "admitted", headers, key: null });
    t.equal(admissionOf({ outcome }), admission);
    bench.lose();
    bench.connect();
    t.match(bench.take(), [
      { kind: "hello", leases: [{ lease, lsn, target: llama, targetAtMs: 500, targetLsn: 99 }] },
    ]);
    bench.welcome({ settledSeq: 1 });
    bench.client.settle(admission, { tokens: 5, estimated: false, record: null }, () => {});
    t.match(bench.take(), [
      {
        kind: "settle",
        seq: 2,
        part: "request",
        lease,
        lsn,
        target: llama,
        targetAtMs: 500,
        targetLsn: 99,
        tokens: 5,
      },
    ]);
  },
);

t.test(
  "a reroute that is refused, or that a closed client gets no answer to, leaves the path's slot, and the settle names no target",
  async (t) => {
    for (const refused of [true, false]) {
      const bench = linkedBench();
      const admission = await bench.granted();
      const rerouting = bench.client.reroute(admission, [llama]);
      const { id } = bench.take().at(-1) as { id: number };
      if (refused)
        bench.hear({
          kind: "refused",
          id,
          scope: "model",
          subject: "llama-3",
          periodSeconds: 0,
          dimension: "concurrent",
          cap: 1,
          waitSeconds: 1,
          key: null,
        });
      else bench.advance(deadlineMs + lookMs);
      t.match(
        await rerouting,
        refused ? { kind: "refused", breach: { subject: "llama-3" } } : { kind: "unavailable" },
      );
      // Late, and nobody's: the settle below tells the daemon so.
      if (!refused)
        bench.hear({
          kind: "admitted",
          id,
          target: 0,
          admittedAtMs: 500,
          lsn: 99,
          headers: null,
          key: null,
        });
      t.same(bench.take(), []);
      bench.client.settle(admission, nothing, () => {});
      t.match(bench.take(), [
        {
          kind: "settle",
          seq: 2,
          part: "request",
          lease: admission.lease,
          target: null,
          targetLsn: 0,
        },
      ]);
    }
  },
);

t.test(
  "open: a reroute without an answer goes on; a late answer for the same target is adopted, one for another isn't",
  async (t) => {
    for (const [chosen, targetLsn] of [
      [0, 99],
      [1, 0],
    ] as const) {
      const bench = linkedBench({ failureMode: "open" });
      const admission = await bench.granted();
      const rerouting = bench.client.reroute(admission, [llama, { ...llama, model: "other" }]);
      const { id } = bench.take().at(-1) as { id: number };
      bench.advance(deadlineMs + lookMs);
      t.match(await rerouting, {
        kind: "admitted",
        headers: null,
        admission: { target: llama, targetLsn: 0 },
      });
      bench.hear({
        kind: "admitted",
        id,
        target: chosen,
        admittedAtMs: 500,
        lsn: 99,
        headers: null,
        key: null,
      });
      bench.client.settle(admission, { tokens: 3, estimated: false, record: null }, () => {});
      t.match(bench.take(), [
        {
          kind: "settle",
          part: "request",
          lease: admission.lease,
          lsn: admission.lsn,
          target: llama,
          targetLsn,
          tokens: 3,
        },
      ]);
    }
  },
);

t.test(
  "a daemon that goes while a reroute is under way is told the lease without a target, then of the failed attempt, then asked again",
  async (t) => {
    const bench = linkedBench();
    const admission = await bench.granted();
    const rerouting = bench.client.reroute(admission, [llama]);
    bench.take();
    bench.lose();
    bench.advance(200);
    bench.connect();
    t.match(bench.take(), [
      { kind: "hello", leases: [{ lease: admission.lease, target: null, targetLsn: 0 }] },
    ]);
    bench.welcome();
    const said = bench.take();
    t.match(said, [
      { kind: "settle", part: "attempt", target: gpt },
      { kind: "reroute", lease: admission.lease, targets: [llama] },
    ]);
    bench.hear({
      kind: "admitted",
      id: (said[1] as { id: number }).id,
      target: 0,
      admittedAtMs: 500,
      lsn: 99,
      headers: null,
      key: null,
    });
    t.match(await rerouting, { kind: "admitted", admission: { target: llama, targetLsn: 99 } });
  },
);

t.test("a daemon that is gone for good: open goes on at once, closed doesn't", async (t) => {
  for (const failureMode of ["open", "closed"] as const) {
    const bench = linkedBench({ failureMode });
    const admission = await bench.granted();
    bench.lose();
    bench.advance(deadlineMs);
    t.match(
      await bench.client.reroute(admission, [llama]),
      failureMode === "open"
        ? { kind: "admitted", admission: { target: llama } }
        : { kind: "unavailable" },
    );
  }
});

t.test(
  "what was let through unasked goes on unasked: without a rule, and before its late answer",
  async (t) => {
    const free = new Bench();
    free.connect();
    free.welcome({ limited: false });
    const asked = free.ask();
    await settledPromises();
    free.take();
    t.match(await free.client.reroute(admissionOf(asked), [llama]), {
      kind: "admitted",
      admission: { lease: 0, target: llama },
    });
    t.match(free.take(), [
      {
        kind: "settle",
        part: "attempt",
        lease: 0,
        lsn: unlimitedLsn,
        target: gpt,
        targetLsn: unlimitedLsn,
      },
    ]);
    const open = linkedBench({ failureMode: "open" });
    const late = open.ask();
    const { id } = open.take()[0] as { id: number };
    open.advance(deadlineMs + lookMs);
    await settledPromises();
    t.match(await open.client.reroute(admissionOf(late), [llama]), {
      kind: "admitted",
      admission: { lease: id, target: llama },
    });
    t.match(open.take(), [
      { kind: "settle", part: "attempt", lease: id, target: gpt, targetLsn: 0 },
    ]);
    open.hear({
      kind: "admitted",
      id,
      target: 0,
      admittedAtMs: 100,
      lsn: 5,
      headers: null,
      key: null,
    });
    open.client.settle(admissionOf(late), { tokens: 2, estimated: false, record: null }, () => {});
    t.match(open.take(), [
      { kind: "settle", part: "request", lease: id, lsn: 5, target: llama, targetLsn: 0 },
    ]);
  },
);

/**
 * A client and the daemon's real steps, with frames that lie between them until they are delivered,
 * and are lost with the connection.
 */
class Pair {
  readonly bench: Bench;
  readonly daemon = startDaemon([minute, gauge, ofGpt, ofLlama, ofOther, gaugeOfOther]);
  #peer: TestPeer | null = null;
  #heardUpTo = 0;

  constructor(failureMode: "open" | "closed") {
    this.bench = new Bench({ failureMode });
  }

  connect(): void {
    if (this.#peer !== null) return;
    this.#peer = this.daemon.connect();
    this.#heardUpTo = 0;
    this.bench.connect();
  }

  lose(): void {
    if (this.#peer === null) return;
    this.#peer.close();
    this.#peer = null;
    this.bench.take();
    this.bench.lose();
  }

  /**
   * Delivers up to `frames` of what lies on the way to the daemon. False: the daemon closed the
   * connection.
   */
  toDaemon(frames: number): boolean {
    for (const message of this.bench.sent.splice(0, this.#peer === null ? 0 : frames))
      if (!this.#peer!.say(message)) return false;
    return true;
  }

  toProxy(frames: number): void {
    const { heard } = this.#peer ?? { heard: [] };
    for (let i = 0; i < frames && this.#heardUpTo < heard.length; i++)
      this.bench.hear(heard[this.#heardUpTo++]!);
  }

  async settleDown(): Promise<void> {
    this.connect();
    for (let i = 0; i < 4; i++) {
      this.toDaemon(Number.POSITIVE_INFINITY);
      await this.daemon.commit();
      this.toProxy(Number.POSITIVE_INFINITY);
      await settledPromises();
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

t.test(
  "open: a late answer that chose another target than the request went to charges the one that it went to",
  async (t) => {
    const pair = new Pair("open");
    await pair.settleDown();
    const full = { ...pathRule("gpt-4o", 0, { requests: 1 }), scope: "model" } as const;
    pair.daemon.state.book.put(full, { source: "manual", nowMs: pair.daemon.nowMs, lsn: 0 });
    const first = pair.bench.ask();
    await pair.settleDown();
    const asked = pair.bench.ask("/team", [gpt, llama]);
    pair.bench.advance(deadlineMs + lookMs);
    await settledPromises();
    t.same(admissionOf(asked).target, gpt, "it goes to the first");
    await pair.settleDown();
    pair.bench.client.settle(
      admissionOf(asked),
      { tokens: 50, estimated: false, record: null },
      () => {},
    );
    pair.bench.client.settle(
      admissionOf(first),
      { tokens: 1, estimated: false, record: null },
      () => {},
    );
    await pair.settleDown();
    t.match(
      { gpt: counts(pair.daemon, ofGpt), llama: counts(pair.daemon, ofLlama) },
      { gpt: { tokens: 51, inFlight: 0 }, llama: { tokens: 0, inFlight: 0 } },
    );
  },
);

t.test("open: a request that ended before its late refusal is counted all the same", async (t) => {
  const pair = new Pair("open");
  await pair.settleDown();
  const holders = [pair.bench.ask(), pair.bench.ask(), pair.bench.ask()];
  await pair.settleDown();
  const asked = pair.bench.ask();
  pair.bench.advance(deadlineMs + lookMs);
  await settledPromises();
  pair.bench.client.settle(
    admissionOf(asked),
    { tokens: 50, estimated: false, record: null },
    () => {},
  );
  await pair.settleDown();
  t.equal(pair.daemon.state.counts.refused, 1, "the gauge was full");
  t.match(counts(pair.daemon, minute), { requests: 4, tokens: 50, inFlight: holders.length });
});

t.test(
  "closed: a request that a stalled daemon admits too late isn't counted: it was never made",
  async (t) => {
    const pair = new Pair("closed");
    await pair.settleDown();
    pair.bench.ask();
    pair.bench.advance(deadlineMs + lookMs);
    await pair.settleDown();
    t.equal(pair.daemon.state.counts.admitted, 1);
    t.same(
      [counts(pair.daemon, minute), counts(pair.daemon, ofGpt)],
      Array(2).fill({ requests: 0, tokens: 0, inFlight: 0 }),
    );
  },
);

t.test(
  "a reroute that is answered too late: the target that was chosen isn't counted, the one that was used is",
  async (t) => {
    for (const failureMode of ["closed", "open"] as const) {
      const pair = new Pair(failureMode);
      await pair.settleDown();
      const [busy, asked] = [pair.bench.ask("/team", [other]), pair.bench.ask()];
      await pair.settleDown();
      // The first choice is full when the daemon answers, so it takes the second; the client has
      // gone to the first meanwhile.
      const rerouting = pair.bench.client.reroute(admissionOf(asked), [other, llama]);
      pair.bench.advance(deadlineMs + lookMs);
      t.equal((await rerouting).kind, failureMode === "open" ? "admitted" : "unavailable");
      await pair.settleDown();
      t.equal(counts(pair.daemon, ofLlama).requests, 1, "the daemon has counted what it chose");
      pair.bench.client.settle(
        admissionOf(asked),
        { tokens: failureMode === "open" ? 9 : 0, estimated: false, record: null },
        () => {},
      );
      pair.bench.client.settle(admissionOf(busy), nothing, () => {});
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
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("lose" as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant("connect" as const) }) },
);

t.test(
  "however the connection comes and goes, in the end each settle counts once and nothing is held",
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
                asked.push(pair.bench.ask("/team", what.targets));
                break;
              case "settle": {
                const open = asked.filter(
                  ({ outcome }) =>
                    outcome?.kind === "admitted" &&
                    !outcome.admission.settled &&
                    outcome.admission.target !== null,
                );
                if (open.length === 0) break;
                pair.bench.client.settle(
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
                    !outcome.admission.settled &&
                    outcome.admission.target !== null,
                );
                if (open.length === 0) break;
                const admission = admissionOf(open[what.which % open.length]!);
                const others = what.others.filter((target) => target !== admission.target);
                if (others.length === 0) break;
                rerouting.add(admission);
                void pair.bench.client
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
                pair.bench.advance(what.ms);
                break;
              case "lose":
                pair.lose();
                break;
              case "connect":
                pair.connect();
                break;
            }
            await Promise.resolve();
          }
          pair.bench.advance(2 * deadlineMs);
          await pair.settleDown();
          const waiting = asked.filter(({ outcome }) => outcome === null).length + rerouting.size;
          for (const { outcome } of asked) {
            if (outcome?.kind !== "admitted" || outcome.admission.settled) continue;
            const spent = outcome.admission.target === null ? 0 : 1;
            pair.bench.client.settle(
              outcome.admission,
              { tokens: spent, estimated: false, record: null },
              () => {},
            );
            tokens += spent;
          }
          await pair.settleDown();
          const { tokens: counted } = counts(pair.daemon, minute);
          const inFlight = [...pair.daemon.state.book.rules.values()].reduce(
            (sum, { own }) => sum + Math.abs(own!.inFlight),
            0,
          );
          const told = JSON.stringify({
            waiting,
            counted,
            tokens,
            inFlight,
            unsettled: pair.bench.client.unsettled,
          });
          if (
            waiting > 0 ||
            counted !== tokens ||
            inFlight !== 0 ||
            pair.bench.client.unsettled > 0
          )
            throw new Error(told);
        },
      ),
      { numRuns: 400, seed: 1, includeErrorInReport: true },
    );
    t.ok(settled > 400 && failed > 200, `${settled} settles, ${failed} failed targets`);
  },
);

const keyHash = "h".repeat(43);
const ofKey = { userPath: "/key/path", keyId: "key_7" };

t.test(
  "a key is looked up by the daemon even without rules, and the admission is on the path that it says",
  async (t) => {
    const bench = linkedBench();
    bench.hear({ kind: "event", name: "limited", value: false });
    const asked = bench.ask("/header", [gpt], keyHash);
    const [admit] = bench.take() as { id: number }[];
    t.match(admit, { kind: "admit", userPath: "/header", credential: keyHash });
    bench.hear({
      kind: "admitted",
      id: admit!.id,
      target: 0,
      admittedAtMs: 1,
      lsn: 5,
      headers: null,
      key: ofKey,
    });
    await settledPromises();
    const admission = admissionOf(asked);
    t.match(admission, ofKey);
    bench.client.settle(admission, { tokens: 3, estimated: false, record: null }, () => {});
    t.match(bench.take(), [{ kind: "settle", userPath: "/key/path", tokens: 3 }]);
    t.equal(
      (
        await Promise.race([
          bench.client.admit({ userPath: "/", credential: "authenticated" }, [gpt]),
          Promise.resolve(null),
        ])
      )?.kind,
      "admitted",
      "others don't wait for it",
    );
  },
);

t.test("a denied caller is told so, and nothing is held or settled for it", async (t) => {
  const bench = linkedBench();
  const asked = bench.ask("/header", [gpt], keyHash);
  bench.hear({ kind: "denied", id: (bench.take()[0] as { id: number }).id });
  await settledPromises();
  t.same(asked.outcome, { kind: "denied" });
  bench.lose();
  bench.connect();
  t.match(bench.take(), [{ kind: "hello", leases: [] }]);
});

t.test(
  "without the daemon no key is let through in either mode, and who shows nothing only where there was no key",
  async (t) => {
    for (const failureMode of ["open", "closed"] as const) {
      for (const [credential, keysExist, passes] of [
        [keyHash, false, false],
        ["none", false, true],
        ["none", true, false],
        ["authenticated", true, true],
      ] as const) {
        const bench = new Bench({ failureMode });
        bench.connect();
        bench.welcome({ keysExist });
        bench.lose();
        bench.advance(deadlineMs * 2);
        const asked = bench.ask("/team", [gpt], credential);
        await settledPromises();
        t.equal(
          asked.outcome?.kind,
          passes && failureMode === "open" ? "admitted" : "unavailable",
          `${failureMode} ${credential} ${keysExist}`,
        );
      }
      const never = new Bench({ failureMode });
      never.advance(deadlineMs * 2);
      const asked = never.ask("/team", [gpt], "none");
      await settledPromises();
      t.equal(asked.outcome?.kind, "unavailable", "nothing was ever known of keys");
      t.equal(never.client.keysExist, null);
    }
  },
);

t.test("a key's admission that comes too late is withdrawn on the key's path", async (t) => {
  const bench = linkedBench({ failureMode: "open" });
  const asked = bench.ask("/header", [gpt], keyHash);
  const { id } = bench.take()[0] as { id: number };
  bench.advance(deadlineMs * 2);
  await settledPromises();
  t.equal(asked.outcome?.kind, "unavailable");
  bench.hear({
    kind: "admitted",
    id,
    target: 0,
    admittedAtMs: 100,
    lsn: 5,
    headers: null,
    key: ofKey,
  });
  t.match(bench.take(), [{ kind: "settle", part: "withdrawn", lease: id, userPath: "/key/path" }]);
});

t.test(
  "a question about a caller is asked again after a reconnect, and ends at its deadline; an operation that was sent isn't repeated",
  async (t) => {
    const bench = linkedBench();
    const authorized = bench.client.authorize(keyHash);
    const operation = bench.client.call("keys.deactivate", { id: "key_7" });
    t.match(bench.take(), [{ kind: "authorize", credential: keyHash }, { kind: "admin" }]);
    bench.lose();
    t.match(await operation, { ok: false, failure: { code: "limiter_unavailable" } });
    bench.connect();
    bench.take();
    bench.welcome();
    const [again] = bench.take() as { id: number }[];
    t.match(again, { kind: "authorize", credential: keyHash });
    bench.hear({ kind: "authorized", id: again!.id, ...ofKey });
    t.match(await authorized, { kind: "authorized", ...ofKey });

    const denied = bench.client.authorize(keyHash);
    bench.hear({ kind: "denied", id: (bench.take()[0] as { id: number }).id });
    t.match(await denied, { kind: "denied" });
    const silent = bench.client.authorize(keyHash);
    bench.advance(deadlineMs * 2);
    t.same(await silent, { kind: "unavailable" });
    bench.lose();
    bench.advance(deadlineMs * 2);
    t.same(
      await bench.client.authorize(keyHash),
      { kind: "unavailable" },
      "at once, long after the daemon went",
    );
  },
);

t.test("the first key is known from the event, and from each welcome", async (t) => {
  const bench = linkedBench();
  t.equal(bench.client.keysExist, false);
  bench.hear({ kind: "event", name: "keys_exist", value: true });
  t.equal(bench.client.keysExist, true);
  bench.lose();
  t.equal(bench.client.keysExist, true, "as it was said last");
  bench.connect();
  bench.welcome({ keysExist: false });
  t.equal(bench.client.keysExist, false);
});

t.test(
  "a request without credentials that waited while the first key came is judged by the daemon, rules or not",
  async (t) => {
    const bench = linkedBench();
    bench.hear({ kind: "event", name: "limited", value: false });
    const before = bench.ask("/team", [gpt], "none");
    await settledPromises();
    t.equal(before.outcome?.kind, "admitted", "nobody is asked while there is no key");
    bench.hear({ kind: "event", name: "keys_exist", value: true });
    bench.take();
    bench.ask("/team", [gpt], "none");
    t.match(bench.take(), [{ kind: "admit", credential: "none" }]);
  },
);

const submitted = (bench: Bench): { outcome: AdmissionOutcome | null } =>
  bench.ask("/team", [gpt], "authenticated", true);
const atNoTarget = { target: null, targetAtMs: 0, targetLsn: 0 };

t.test(
  "a submission says so when it is asked for and told again, has no target, and is settled at none",
  async (t) => {
    const bench = linkedBench();
    const asked = submitted(bench);
    const [admit] = bench.take();
    t.match(admit, { kind: "admit", userPath: "/team", targets: [gpt], submission: true });
    const { id } = admit as { id: number };
    bench.hear({
      kind: "admitted",
      id,
      target: 0,
      admittedAtMs: 123,
      lsn: 9,
      headers: null,
      key: null,
    });
    await settledPromises();
    const admission = admissionOf(asked);
    t.match(admission, { lease: id, lsn: 9, submission: true, ...atNoTarget });
    const request = await bench.granted();
    bench.lose();
    bench.connect();
    t.match(bench.take().at(-1), {
      kind: "hello",
      leases: [
        { lease: id, admittedAtMs: 123, lsn: 9, submission: true, ...atNoTarget },
        { lease: request.lease, submission: false, target: gpt },
      ],
    });
    bench.welcome();
    bench.client.settle(admission, nothing, () => {});
    t.match(bench.take(), [
      { kind: "settle", part: "request", lease: id, userPath: "/team", lsn: 9, ...atNoTarget },
    ]);
    t.throws(() => bench.client.reroute(admission, [llama]), /has a target that failed/);
  },
);

t.test(
  "a submission whose answer comes too late: taken back when closed, adopted when open, at no target either way",
  async (t) => {
    for (const failureMode of ["closed", "open"] as const) {
      const bench = linkedBench({ failureMode });
      const asked = submitted(bench);
      const { id } = bench.take()[0] as { id: number };
      bench.advance(deadlineMs + lookMs);
      await settledPromises();
      bench.hear({
        kind: "admitted",
        id,
        target: 0,
        admittedAtMs: 100,
        lsn: 5,
        headers: null,
        key: null,
      });
      if (failureMode === "open") bench.client.settle(admissionOf(asked), nothing, () => {});
      t.match(
        bench.take(),
        [
          {
            kind: "settle",
            part: failureMode === "open" ? "request" : "withdrawn",
            lease: id,
            admittedAtMs: 100,
            lsn: 5,
            ...atNoTarget,
          },
        ],
        failureMode,
      );
    }
  },
);

t.test(
  "a submission that is let through unasked is counted with its settle, at no target",
  async (t) => {
    const bench = new Bench();
    bench.connect();
    bench.welcome({ limited: false });
    bench.take();
    const asked = submitted(bench);
    await settledPromises();
    bench.client.settle(admissionOf(asked), nothing, () => {});
    t.match(bench.take(), [
      {
        kind: "settle",
        part: "request",
        lease: 0,
        lsn: unlimitedLsn,
        userPath: "/team",
        ...atNoTarget,
      },
    ]);
  },
);
