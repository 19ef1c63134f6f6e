import t from "tap";
import type { DaemonConnection } from "../../../proxy/limiter/daemon-connection.js";
import { noTarget, nothingSpent, SettleOutbox } from "../../../proxy/limiter/settle-outbox.js";
import { acknowledgementWaitMs, settleOutboxMax } from "../../../shared/bounds.js";
import { executed } from "../../limiterd/in-memory-daemon.js";
import { exactly } from "../../support/patterns/exactly.js";
import {
  admissionOf,
  ClientHarness,
  gpt,
  kinds,
  linkedHarness,
  nothing,
  promisesResolved,
} from "./client/client-harness.js";

t.test(
  "an answer from the cache is settled without an admission: kept until acknowledged, its callback run once it is sent",
  async (t) => {
    const harness = linkedHarness();
    let finished = false;
    harness.nowMs += 30;
    harness.client.settleUnadmitted(
      {
        userPath: "/team",
        startedMonoMs: harness.nowMs - 20,
        estimated: true,
        record: executed({ cacheHit: true }),
      },
      () => (finished = true),
    );
    const expected = {
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
    t.match(harness.take(), exactly([expected]));
    t.notOk(finished);
    harness.endTurn();
    t.ok(finished);
    harness.lose();
    harness.connect();
    harness.take();
    harness.welcome();
    t.match(harness.take(), exactly([expected]), "again, after a reconnect");
    harness.receive({ kind: "settled", seq: 1 });
    t.equal(harness.client.unsettled, 0);
  },
);

t.test(
  "settles are repeated at each welcome until they are acknowledged, in order; acknowledged ones aren't",
  async (t) => {
    const harness = linkedHarness();
    const admissions = [
      await harness.granted("/1"),
      await harness.granted("/2"),
      await harness.granted("/3"),
      await harness.granted("/4"),
    ];
    harness.take();
    for (const admission of admissions.slice(0, 3))
      harness.client.settle(admission, nothing, () => {});
    const seqs = (): number[] =>
      harness
        .take()
        .filter(({ kind }) => kind === "settle")
        .map((message) => (message as { seq: number }).seq);
    t.same(seqs(), [1, 2, 3]);
    t.equal(harness.client.unsettled, 3);
    harness.receive({ kind: "settled", seq: 1 });
    t.equal(harness.client.unsettled, 2);
    harness.lose();
    harness.client.settle(admissions[3]!, nothing, () => {});
    harness.connect();
    harness.welcome({ settledSeq: 1 });
    t.same(seqs(), [2, 3, 4]);
    harness.lose();
    harness.connect();
    harness.welcome({ settledSeq: 3 });
    t.same(seqs(), [4], "the welcome says what is durable");
    harness.receive({ kind: "settled", seq: 4 });
    harness.receive({ kind: "settled", seq: 4 });
    harness.receive({ kind: "settled", seq: 2 });
    t.equal(harness.client.unsettled, 0);
    harness.lose();
    harness.connect();
    harness.welcome({ settledSeq: 4 });
    t.same(seqs(), []);
  },
);

t.test("times in a settle are relative to each sending", async (t) => {
  const harness = linkedHarness();
  const admission = await harness.granted();
  harness.take();
  harness.advance(300);
  harness.client.settle(admission, { tokens: 5, estimated: true, record: null }, () => {});
  t.match(
    harness.take(),
    exactly([{ startedAgoMs: 300, endedAgoMs: 0, tokens: 5, estimated: true }]),
  );
  harness.lose();
  harness.advance(2000);
  harness.connect();
  harness.welcome();
  t.match(harness.take()[1], { startedAgoMs: 2300, endedAgoMs: 2000, tokens: 5, estimated: true });
});

t.test(
  "at the bound of settles the oldest is dropped and reported, and the others keep their numbers",
  async (t) => {
    const open = new ClientHarness({ failureMode: "open", deadlineMs: 0 });
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
    t.same([open.dropped, open.client.dropped], [3, 3]);
    t.equal(open.client.unsettled, settleOutboxMax);
    open.connect();
    open.welcome();
    while (open.takenByKernel() || open.client.unsettled > 0) {
      const last = open.sent.at(-1);
      if (last?.kind === "settle") open.receive({ kind: "settled", seq: last.seq });
    }
    const settles = open.take().slice(1);
    t.equal(settles.length, settleOutboxMax);
    t.match(
      [settles[0], settles.at(-1)],
      exactly([
        { seq: 4, tokens: 3 },
        { seq: settleOutboxMax + 3, tokens: settleOutboxMax + 2 },
      ]),
    );
  },
);

t.test(
  "callbacks of settles run once the frames have left, in order, all of one turn together",
  async (t) => {
    const harness = linkedHarness();
    const admissions = [await harness.granted(), await harness.granted(), await harness.granted()];
    const ran: number[] = [];
    for (const [i, admission] of admissions.slice(0, 2).entries())
      harness.client.settle(admission, nothing, () => void ran.push(i));
    t.same(ran, []);
    harness.endTurn();
    t.same([ran, harness.turns], [[0, 1], 1]);
    harness.client.settle(admissions[2]!, nothing, () => void ran.push(2));
    harness.endTurn();
    t.same([ran, harness.turns], [[0, 1, 2], 2]);
  },
);

t.test("a settle's callback runs though the daemon is away", async (t) => {
  const harness = linkedHarness();
  const admission = await harness.granted();
  harness.lose();
  let ran = false;
  harness.client.settle(admission, nothing, () => {
    ran = true;
  });
  harness.endTurn();
  t.ok(ran);
});

t.test("a count of tokens that isn't an integer fails an assertion", async (t) => {
  const harness = linkedHarness();
  const admission = await harness.granted();
  for (const tokens of [0.5, -1, Number.NaN])
    t.throws(
      () => harness.client.settle(admission, { tokens, estimated: false, record: null }, () => {}),
      /assertion failed/,
    );
});

t.test("a second settle of one admission fails an assertion", async (t) => {
  const harness = linkedHarness();
  const admission = await harness.granted();
  harness.client.settle(admission, nothing, () => {});
  t.throws(
    () => harness.client.settle(admission, nothing, () => {}),
    /assertion failed: one settle per admission/,
  );
  t.equal(harness.client.unsettled, 1);
});

t.test(
  "a stopping proxy waits until every settle is acknowledged, but not longer than its deadline",
  async (t) => {
    const harness = linkedHarness();
    await harness.client.untilDrained(1000);
    const admission = await harness.granted();
    harness.client.settle(admission, nothing, () => {});
    let drained = "";
    void harness.client.untilDrained(1000).then(() => (drained += "first "));
    void harness.client.untilDrained(50).then(() => (drained += "impatient "));
    harness.advance(49);
    await promisesResolved();
    t.equal(drained, "");
    harness.advance(1);
    await promisesResolved();
    t.equal(drained, "impatient ");
    harness.receive({ kind: "settled", seq: 1 });
    await promisesResolved();
    t.equal(drained, "impatient first ");
  },
);

const settleWindow = { settles: 10, unacknowledged: 25 };

/** A client with a backlog that has just been welcomed; `seqs`: those sent since the last look. */
async function withBacklog(backlog: number) {
  const harness = new ClientHarness({ failureMode: "open", deadlineMs: 0, settleWindow });
  const settle = async (): Promise<void> => {
    const asked = harness.ask();
    await promisesResolved();
    harness.client.settle(admissionOf(asked), nothing, () => {});
  };
  for (let i = 0; i < backlog; i++) await settle();
  const seqs = (): number[] =>
    harness.take().flatMap((message) => (message.kind === "settle" ? [message.seq] : []));
  harness.connect();
  harness.welcome();
  return { harness, settle, seqs };
}

const range = (from: number, to: number): number[] =>
  Array.from({ length: to - from + 1 }, (_, i) => from + i);

t.test(
  "a backlog leaves in windows: the next when the kernel has taken the last, and not far beyond the last acknowledgement",
  async (t) => {
    const { harness, settle, seqs } = await withBacklog(60);
    t.same(seqs(), range(1, 10));
    await settle();
    t.same(seqs(), [], "a new one waits for its turn");
    harness.takenByKernel();
    t.same(seqs(), range(11, 20));
    harness.takenByKernel();
    t.same(seqs(), range(21, 25), "so many may be unacknowledged");
    t.notOk(harness.takenByKernel());
    harness.receive({ kind: "settled", seq: 7 });
    t.same(seqs(), range(26, 30), "the rest of the window");
    harness.takenByKernel();
    t.same(seqs(), range(31, 32));
    harness.receive({ kind: "settled", seq: 32 });
    t.same(seqs(), range(33, 40));
    harness.takenByKernel();
    harness.takenByKernel();
    t.same(seqs(), range(41, 57));
    harness.receive({ kind: "settled", seq: 57 });
    harness.takenByKernel();
    t.same(seqs(), range(58, 62), "what was told and settled meanwhile comes last");
  },
);

t.test("other messages are sent immediately while a backlog waits", async (t) => {
  const { harness } = await withBacklog(60);
  t.same(kinds(harness.take()), ["hello", ...Array.from({ length: 10 }, () => "settle")]);
  harness.client.noteRefusal(1, "req_1", "smart");
  void harness.client.call("status", null);
  t.same(kinds(harness.take()), ["refusal", "admin"]);
});

t.test(
  "a daemon that acknowledges nothing, because it can't write, gets the settles all the same, in time",
  async (t) => {
    const { harness, seqs } = await withBacklog(60);
    while (harness.takenByKernel());
    t.same(seqs(), range(1, 25));
    harness.advance(acknowledgementWaitMs);
    while (harness.takenByKernel());
    t.same(seqs(), range(26, 50));
    harness.advance(acknowledgementWaitMs);
    t.same(seqs(), range(51, 60));
  },
);

t.test("a daemon that reads nothing gets no more than one window", async (t) => {
  const { harness, settle, seqs } = await withBacklog(30);
  t.same(seqs(), range(1, 10));
  await settle();
  harness.advance(10 * acknowledgementWaitMs);
  t.same(seqs(), []);
});

t.test(
  "after a reconnect a backlog continues after the last durable settle, with whole windows",
  async (t) => {
    const { harness, seqs } = await withBacklog(60);
    harness.takenByKernel();
    t.same(seqs(), range(1, 20));
    harness.lose();
    harness.connect();
    harness.take();
    harness.welcome({ settledSeq: 15 });
    t.same(seqs(), range(16, 25));
    harness.takenByKernel();
    t.same(seqs(), range(26, 35));
  },
);

t.test(
  "a request that ends while a backlog is sent frees its slots immediately, unless a verdict may still come",
  async (t) => {
    const { harness } = await withBacklog(30);
    const asked = harness.ask();
    await promisesResolved();
    const admission = { ...admissionOf(asked), lease: 7, lsn: 70, targetLsn: 70 };
    harness.take();
    harness.client.settle(admission, nothing, () => {});
    t.same(harness.take(), [{ kind: "release", id: 7 }]);
    const unnumbered = { ...admission, isSettled: false, targetLsn: 0 };
    harness.client.settle(unnumbered, nothing, () => {});
    const withoutTarget = { ...admission, isSettled: false, target: null };
    harness.client.settle(withoutTarget, nothing, () => {});
    t.same(harness.take(), []);
  },
);

t.test("a stopping proxy reports the remaining settles, and whether any was sent", async (t) => {
  const harness = linkedHarness({ failureMode: "open" });
  const settle = async (): Promise<void> => {
    const asked = harness.ask();
    harness.advance(1200);
    await promisesResolved();
    harness.client.settle(admissionOf(asked), { ...nothing, tokens: 7 }, () => {});
  };
  t.match(harness.client.unacknowledged(), { count: 0, sentAgoMs: null });
  harness.lose();
  await settle();
  harness.advance(50);
  const unsent = harness.client.unacknowledged();
  t.match(unsent, { count: 1, sentAgoMs: null });
  t.match([...unsent.settles], exactly([{ kind: "settle", seq: 1, tokens: 7, endedAgoMs: 50 }]));
  harness.connect();
  harness.welcome();
  harness.lose();
  await settle();
  const sent = harness.client.unacknowledged();
  t.match(sent, { count: 2, sentAgoMs: 1200 });
  t.same(
    [...sent.settles].map(({ seq }) => seq),
    [1, 2],
  );
  harness.connect();
  harness.welcome({ settledSeq: 1 });
  harness.lose();
  t.match(harness.client.unacknowledged(), { count: 1 }, "what is durable isn't left");
});

t.test("progress is kept until it is acknowledged, and ends nothing", async (t) => {
  const harness = linkedHarness();
  const admission = await harness.granted();
  harness.take();
  const spent = { tokens: 30, estimated: false, record: executed({ status: 102 }) };
  harness.client.progress(admission, spent);
  t.match(
    harness.take(),
    exactly([{ kind: "settle", part: "progress", lease: admission.lease, tokens: 30 }]),
  );
  harness.lose();
  harness.connect();
  t.match(harness.take(), exactly([{ kind: "hello", leases: [{ lease: admission.lease }] }]));
  harness.welcome();
  t.match(harness.take(), exactly([{ part: "progress", seq: 1, tokens: 30 }]));
  harness.client.settle(admission, nothing, () => {});
  t.match(harness.take(), exactly([{ part: "request", seq: 2 }]));
  t.throws(() => harness.client.progress(admission, spent), /runs at a target/);
});

t.test("settles leave one by one in a window of one, each once", async (t) => {
  const sent: number[] = [];
  const taken: (() => void)[] = [];
  const connection = {
    linked: true,
    takesSettles: true,
    send: (message: { readonly seq: number }) => void sent.push(message.seq),
    whenSent: (run: () => void) => void taken.push(run),
  } as unknown as DaemonConnection;
  const ports = { monoMs: () => 50, schedule: () => {}, onDropped: () => {} };
  const outbox = new SettleOutbox(ports, connection, { settles: 1, unacknowledged: 100 });
  outbox.onWelcome(0);
  const lease = { lease: 0, userPath: "/", admittedAtMs: 0, lsn: 0, ...noTarget };
  for (let i = 0; i < 4; i++) outbox.add("request", { ...lease, startedMonoMs: 0 }, nothingSpent);
  t.same(sent, [1]);
  for (const expected of [
    [1, 2],
    [1, 2, 3],
    [1, 2, 3, 4],
    [1, 2, 3, 4],
  ]) {
    t.equal(taken.length, 1, "the next goes once this one has left");
    taken.shift()!();
    t.same(sent, expected);
  }
  t.same([taken.length, outbox.size, outbox.dropped], [0, 4, 0]);
});
