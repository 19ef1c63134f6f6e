import t from "tap";
import { settleOutboxMax } from "../../../shared/bounds.js";
import { executed } from "../../limiterd/daemon.js";
import { ClientHarness, gpt, linkedHarness, nothing, promisesResolved } from "./client-harness.js";

t.test(
  "an answer from the cache is settled without an admission: kept until acknowledged, its callback run once it is sent",
  async (t) => {
    const harness = linkedHarness();
    let finished = false;
    harness.nowMs += 30;
    harness.client.settleCached(
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
    t.match(harness.take(), [expected]);
    t.notOk(finished);
    harness.endTurn();
    t.ok(finished);
    harness.lose();
    harness.connect();
    harness.take();
    harness.welcome();
    t.match(harness.take(), [expected], "again, after a reconnect");
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
  t.match(harness.take(), [{ startedAgoMs: 300, endedAgoMs: 0, tokens: 5, estimated: true }]);
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
    await harness.client.drained(1000);
    const admission = await harness.granted();
    harness.client.settle(admission, nothing, () => {});
    let drained = "";
    void harness.client.drained(1000).then(() => (drained += "first "));
    void harness.client.drained(50).then(() => (drained += "impatient "));
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
