import t from "tap";
import { admissionsWaitingMax } from "../../../../shared/bounds.js";
import {
  deadlineMs,
  expiryIntervalMs,
  gpt,
  linkedHarness,
  promisesResolved,
} from "./client-harness.js";

const keyHash = "h".repeat(43);
const ofKey = { userPath: "/key/path", keyId: "key_7" };

t.test(
  "closed: an admission that comes after the deadline is withdrawn at once, so that its slot is free",
  async (t) => {
    const harness = linkedHarness();
    harness.ask();
    const { id } = harness.take()[0] as { id: number };
    harness.advance(deadlineMs + expiryIntervalMs);
    harness.admits(id);
    t.match(harness.take(), [
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
    harness.lose();
    harness.connect();
    t.match(harness.take()[0], { kind: "hello", leases: [] }, "and it isn't held");
    harness.welcome({ settledSeq: 1 });
    t.equal(harness.client.unsettled, 0);
  },
);

t.test("closed: a refusal after the deadline changes nothing", async (t) => {
  const harness = linkedHarness();
  const asked = harness.ask();
  const { id } = harness.take()[0] as { id: number };
  harness.advance(deadlineMs + expiryIntervalMs);
  harness.refuses(id);
  await promisesResolved();
  t.same(
    [asked.outcome, harness.take(), harness.client.unsettled],
    [{ kind: "unavailable" }, [], 0],
  );
});

t.test(
  "open: a request that went to a target unasked adopts its late lease, reports it after a reconnect and is settled once",
  async (t) => {
    const harness = linkedHarness({ failureMode: "open" });
    const asked = harness.ask("/team/app");
    const { id } = harness.take()[0] as { id: number };
    harness.advance(deadlineMs + expiryIntervalMs);
    await promisesResolved();
    harness.admits(id);
    t.same(harness.take(), [], "it isn't given back");
    harness.lose();
    harness.connect();
    t.match(harness.take(), [
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
    harness.welcome();
    harness.settles(asked);
    t.match(harness.take(), [
      { kind: "settle", seq: 1, lease: id, admittedAtMs: 100, lsn: 5, tokens: 7 },
    ]);
  },
);

t.test(
  "open: a request that ends before its late admission is settled once, and the lease isn't kept",
  async (t) => {
    const harness = linkedHarness({ failureMode: "open" });
    const asked = harness.ask();
    const { id } = harness.take()[0] as { id: number };
    harness.advance(deadlineMs + expiryIntervalMs);
    await promisesResolved();
    harness.settles(asked);
    harness.admits(id);
    const settles = harness.take();
    t.equal(
      settles.reduce((tokens, message) => tokens + (message as { tokens: number }).tokens, 0),
      7,
    );
    t.ok(
      settles.some((message) => (message as { lease: number }).lease === id),
      "the lease is named by one of them",
    );
    harness.lose();
    harness.connect();
    t.match(harness.take()[0], { kind: "hello", leases: [] });
  },
);

t.test("open: a request that the daemon refuses late is counted with its settle", async (t) => {
  const harness = linkedHarness({ failureMode: "open" });
  const asked = harness.ask();
  const { id } = harness.take()[0] as { id: number };
  harness.advance(deadlineMs + expiryIntervalMs);
  await promisesResolved();
  harness.refuses(id);
  harness.settles(asked);
  t.match(harness.take(), [
    {
      kind: "settle",
      lease: 0,
      tokens: 7,
      startedAgoMs: deadlineMs + expiryIntervalMs,
      endedAgoMs: 0,
    },
  ]);
});

t.test(
  "open: a request without a verdict is reported to the next daemon when one is lost before it answers",
  async (t) => {
    const harness = linkedHarness({ failureMode: "open" });
    const asked = harness.ask();
    harness.advance(deadlineMs + expiryIntervalMs);
    await promisesResolved();
    harness.take();
    harness.lose();
    harness.connect();
    harness.welcome();
    const lease = 3;
    t.match(harness.take(), [
      { kind: "hello", leases: [{ lease, lsn: 1, targetLsn: 1 }] },
      { kind: "settle", part: "request", lease: 0, lsn: 0, targetLsn: 0, tokens: 0, record: null },
    ]);
    harness.settles(asked);
    t.match(harness.take(), [{ kind: "settle", lease, lsn: 1, targetLsn: 1, tokens: 7 }]);
  },
);

t.test("a key's admission that comes too late is withdrawn on the key's path", async (t) => {
  const harness = linkedHarness({ failureMode: "open" });
  const asked = harness.ask("/header", [gpt], keyHash);
  const { id } = harness.take()[0] as { id: number };
  harness.advance(deadlineMs * 2);
  await promisesResolved();
  t.equal(asked.outcome?.kind, "unavailable");
  harness.receive({
    kind: "admitted",
    id,
    target: 0,
    admittedAtMs: 100,
    lsn: 5,
    headers: null,
    key: ofKey,
  });
  t.match(harness.take(), [
    { kind: "settle", part: "withdrawn", lease: id, userPath: "/key/path" },
  ]);
});

t.test(
  "so many late verdicts are remembered and no more: a later one's is withdrawn",
  async (t) => {
    const harness = linkedHarness({ failureMode: "open" });
    const ids: number[] = [];
    const fill = (count: number): void => {
      for (let i = 0; i < count; i++) harness.ask();
      ids.push(...harness.take().map((message) => (message as { id: number }).id));
      harness.advance(deadlineMs + expiryIntervalMs);
      // It answers something, so that it isn't held to be silent.
      harness.receive({ kind: "event", name: "limited", value: true });
    };
    fill(admissionsWaitingMax);
    fill(1);
    t.equal(ids.length, admissionsWaitingMax + 1);
    const verdict = (id: number) =>
      ({
        kind: "admitted",
        id,
        target: 0,
        admittedAtMs: 100,
        lsn: 5,
        headers: null,
        key: null,
      }) as const;
    harness.receive(verdict(ids.at(-1)!));
    t.match(harness.take(), [{ kind: "settle", part: "withdrawn", lease: ids.at(-1) }]);
    harness.receive(verdict(ids.at(-2)!));
    t.same(harness.take(), [], "the last that is remembered adopts its lease");
  },
);
