import t from "tap";
import type { Admission } from "../../../../proxy/limiter/admission.js";
import {
  type AdmissionRequest,
  LateAdmissions,
} from "../../../../proxy/limiter/client/pending-admissions.js";
import type { SettleOutbox } from "../../../../proxy/limiter/settle-outbox.js";
import { admissionsWaitingMax } from "../../../../shared/bounds.js";
import { uncountedLsn } from "../../../../shared/wire/lsn.js";
import type { Settle } from "../../../../shared/wire/message-to-daemon.js";
import { exactly } from "../../../support/patterns/exactly.js";
import {
  deadlineMs,
  expiryIntervalMs,
  gpt,
  linkedHarness,
  llama,
  promisesResolved,
} from "./client-harness.js";

const keyHash = "h".repeat(43);
const ofKey = { userPath: "/key/path", keyId: "key_7" };

t.test(
  "closed: an admission that comes after the deadline is withdrawn immediately, so that its slot is free",
  async (t) => {
    const harness = linkedHarness();
    harness.ask();
    const { id } = harness.take()[0] as { id: number };
    harness.advance(deadlineMs + expiryIntervalMs);
    harness.admits(id);
    t.match(
      harness.take(),
      exactly([
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
      ]),
    );
    harness.lose();
    harness.connect();
    t.match(harness.take()[0], { kind: "hello", leases: { length: 0 } }, "and it isn't held");
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
  "open: a late admission is withdrawn, whether its request still runs or has ended",
  async (t) => {
    for (const hasEnded of [false, true]) {
      const harness = linkedHarness({ failureMode: "open" });
      const asked = harness.ask("/team/app");
      const { id } = harness.take()[0] as { id: number };
      harness.advance(deadlineMs + expiryIntervalMs);
      await promisesResolved();
      if (hasEnded) harness.settles(asked);
      harness.admits(id);
      if (!hasEnded) harness.settles(asked);
      const lease = id + 1;
      const withdrawn = { part: "withdrawn", lease: id, lsn: 5, target: gpt, targetLsn: 5 };
      t.match(
        harness.take(),
        exactly(
          hasEnded
            ? [{ part: "request", lease: 0, lsn: 0, tokens: 7 }, withdrawn]
            : [
                { part: "request", lease: 0, lsn: 0, target: gpt, targetLsn: 0, tokens: 0 },
                { kind: "hold", leases: [{ lease, lsn: uncountedLsn, target: gpt }] },
                withdrawn,
                { part: "request", lease, lsn: uncountedLsn, targetLsn: uncountedLsn, tokens: 7 },
              ],
        ),
      );
      harness.lose();
      harness.connect();
      t.match(harness.take()[0], { kind: "hello", leases: { length: 0 } });
    }
  },
);

t.test("open: a request that the daemon refuses late is reported, and counted", async (t) => {
  const harness = linkedHarness({ failureMode: "open" });
  const asked = harness.ask();
  const { id } = harness.take()[0] as { id: number };
  harness.advance(deadlineMs + expiryIntervalMs);
  await promisesResolved();
  harness.refuses(id);
  harness.settles(asked);
  t.match(
    harness.take(),
    exactly([
      {
        kind: "settle",
        lease: 0,
        tokens: 0,
        startedAgoMs: deadlineMs + expiryIntervalMs,
        endedAgoMs: 0,
      },
      { kind: "hold", leases: [{ lsn: uncountedLsn }] },
      { kind: "settle", lsn: uncountedLsn, tokens: 7 },
    ]),
  );
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
    t.match(
      harness.take(),
      exactly([
        { kind: "hello", leases: [{ lease, lsn: 1, targetLsn: 1 }] },
        {
          kind: "settle",
          part: "request",
          lease: 0,
          lsn: 0,
          targetLsn: 0,
          tokens: 0,
          record: null,
        },
      ]),
    );
    harness.settles(asked);
    t.match(harness.take(), exactly([{ kind: "settle", lease, lsn: 1, targetLsn: 1, tokens: 7 }]));
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
  t.match(
    harness.take(),
    exactly([{ kind: "settle", part: "withdrawn", lease: id, userPath: "/key/path" }]),
  );
});

t.test(
  "so many late verdicts are remembered and no more: a later one is withdrawn by its lease alone",
  async (t) => {
    const harness = linkedHarness();
    const ids: number[] = [];
    const fill = (count: number): void => {
      for (let i = 0; i < count; i++) harness.ask();
      ids.push(...harness.take().map((message) => (message as { id: number }).id));
      harness.advance(deadlineMs + expiryIntervalMs);
      harness.take();
      // It answers something, so that it isn't held to be silent.
      harness.receive({ kind: "event", name: "limited", value: true });
      harness.take();
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
    const withdraws = (id: number, userPath: string): void => {
      harness.receive(verdict(id));
      const sent = harness.take();
      t.match(sent, exactly([{ part: "withdrawn", lease: id }]));
      t.equal((sent[0] as Settle).userPath, userPath);
    };
    withdraws(ids.at(-1)!, "/");
    withdraws(ids.at(-2)!, "/team");
    // Each verdict has made room for one, whatever it was.
    fill(1);
    harness.refuses(ids[0]!);
    fill(1);
    for (const id of ids.splice(-2)) withdraws(id, "/team");
    // Of an earlier connection no verdict comes any more.
    harness.lose();
    harness.connect();
    harness.welcome();
    harness.take();
    fill(3);
    for (const id of ids.splice(-3)) withdraws(id, "/team");
  },
);

/** Late verdicts alone: what they have the outbox add. */
function lateAdmissions() {
  const added: unknown[] = [];
  const outbox = {
    add: (part: string, settled: object) => void added.push({ part, ...settled }),
  } as unknown as SettleOutbox;
  return { late: new LateAdmissions(outbox, () => 9), added };
}

const asked: AdmissionRequest = {
  caller: { userPath: "/team", credential: "authenticated" },
  targets: [gpt, llama],
  rerouted: null,
  submission: false,
  startedMonoMs: 2,
};
const comes = (id: number, target = 0) =>
  ({
    kind: "admitted",
    id,
    target,
    admittedAtMs: 100,
    lsn: 5,
    headers: null,
    key: null,
  }) as const;

t.test("what a late verdict has counted is withdrawn where it was counted", async (t) => {
  const none = { provider: "none", model: "none" };
  const at = { targetAtMs: 100, targetLsn: 5 };
  for (const [what, request, index, expected] of [
    ["the first target", {}, 0, { userPath: "/team", target: gpt, ...at }],
    ["another one", {}, 1, { userPath: "/team", target: llama, ...at }],
    ["one that wasn't asked for", {}, 2, { userPath: "/team", target: none, ...at }],
    [
      "a submission, which has no target",
      { submission: true },
      0,
      { userPath: "/team", target: null, targetAtMs: 0, targetLsn: 0 },
    ],
  ] as const) {
    const { late, added } = lateAdmissions();
    late.expect(7, { ...asked, ...request });
    late.onAdmitted(comes(7, index));
    const whole = { part: "withdrawn", lease: 7, admittedAtMs: 100, lsn: 5, startedMonoMs: 9 };
    t.same(added, [{ ...whole, ...expected }], what);
    late.onAdmitted(comes(7));
    t.match(added[1], { lease: 7, userPath: "/", target: none }, "it is expected once");
  }
});

t.test("what isn't expected is withdrawn by its lease alone", async (t) => {
  for (const forget of [
    (late: LateAdmissions) => late.onRejected(7),
    (late: LateAdmissions) => late.onDisconnect(),
  ]) {
    const { late, added } = lateAdmissions();
    late.expect(7, asked);
    forget(late);
    late.onAdmitted(comes(7));
    t.match(added, exactly([{ part: "withdrawn", lease: 7, userPath: "/" }]));
  }
  const { late, added } = lateAdmissions();
  for (let id = 1; id <= admissionsWaitingMax + 1; id++) late.expect(id, asked);
  late.onAdmitted(comes(admissionsWaitingMax + 1));
  late.onAdmitted(comes(admissionsWaitingMax));
  t.match(added, exactly([{ userPath: "/" }, { userPath: "/team" }]), "beyond the bound none is");
});

t.test("a late reroute has its new target withdrawn; a submission has none", async (t) => {
  const rerouted = { lease: 3, userPath: "/team", target: gpt } as Admission;
  const untried = { part: "untried", lease: 3, target: llama, targetAtMs: 100, targetLsn: 5 };
  for (const [submission, expected] of [
    [false, [untried]],
    [true, []],
  ] as const) {
    const { late, added } = lateAdmissions();
    late.expect(7, { ...asked, rerouted, submission });
    late.onAdmitted(comes(7, 1));
    t.match(added, expected, `${submission}`);
    t.equal(added.length, expected.length);
  }
});
