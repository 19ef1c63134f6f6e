import t from "tap";
import type { AdmissionOutcome, Place } from "../../../../proxy/limiter/admission.js";
import { admissionsWaitingMax } from "../../../../shared/bounds.js";
import type { SuccessHeaders } from "../../../../shared/domain/verdict.js";
import { failure } from "../../../../shared/error-code.js";
import { uncountedLsn } from "../../../../shared/wire/lsn.js";
import type { Admit, Settle } from "../../../../shared/wire/message-to-daemon.js";
import { exactly } from "../../../support/patterns/exactly.js";
import {
  admissionOf,
  ClientHarness,
  deadlineMs,
  expiryIntervalMs,
  gpt,
  kinds,
  linkedHarness,
  llama,
  nothing,
  promisesResolved,
} from "./client-harness.js";

const keyHash = "h".repeat(43);
const ofKey = { userPath: "/key/path", keyId: "key_7" };

t.test(
  "an admission resolves with the target, the headers and all that a settle needs",
  async (t) => {
    const harness = linkedHarness();
    const asked = harness.ask("/team/app", [gpt, llama]);
    const [admit] = harness.take();
    t.match(admit, exactly({ kind: "admit", userPath: "/team/app", targets: [gpt, llama] }));
    const headers: SuccessHeaders = {
      requests: { limit: 10, remaining: 9, resetSeconds: 60 },
      tokens: null,
    };
    harness.receive({
      kind: "admitted",
      id: (admit as { id: number }).id,
      target: 1,
      admittedAtMs: 123,
      lsn: 9,
      headers,
      key: null,
    });
    await promisesResolved();
    t.match(asked.outcome, {
      kind: "admitted",
      headers,
      admission: {
        target: llama,
        userPath: "/team/app",
        admittedAtMs: 123,
        lsn: 9,
        isSettled: false,
      },
    });
  },
);

t.test(
  "an admission to a target that the request doesn't have is no verdict, and is withdrawn",
  async (t) => {
    const harness = linkedHarness();
    const asked = harness.ask("/team/app", [gpt, llama]);
    const { id } = harness.take()[0] as { id: number };
    harness.receive({
      kind: "admitted",
      id,
      target: 2,
      admittedAtMs: 123,
      lsn: 9,
      headers: null,
      key: null,
    });
    await promisesResolved();
    t.same(asked.outcome, { kind: "unavailable" });
    const target = { provider: "none", model: "none" };
    const [withdrawn] = harness.take();
    t.match(withdrawn, { kind: "settle", part: "withdrawn", lease: id, lsn: 9, target });
    t.equal((withdrawn as Settle).userPath, "/team/app", "on the path where it was counted");
  },
);

t.test("each question says how many verdicts were read before it", async (t) => {
  const harness = linkedHarness();
  const admission = await harness.granted();
  await harness.granted();
  void harness.client.reroute(admission, [llama]);
  t.same(
    harness
      .take()
      .filter(({ kind }) => kind === "admit" || kind === "reroute")
      .map((message) => (message as Admit).read),
    [0, 1, 2],
  );
});

t.test("a refusal resolves with its breach, and no lease is held", async (t) => {
  const harness = linkedHarness();
  const asked = harness.ask();
  const { id } = harness.take()[0] as { id: number };
  harness.refuses(id);
  await promisesResolved();
  t.match(asked.outcome, { kind: "refused", id, breach: { subject: "/team", waitSeconds: 61 } });
  harness.client.noteRefusal(id, "req_1", "smart");
  t.same(harness.take(), [{ kind: "refusal", id, requestId: "req_1", model: "smart" }]);
  harness.lose();
  harness.connect();
  t.match(harness.take(), exactly([{ kind: "hello", leases: { length: 0 }, more: false }]));
});

t.test(
  "many admissions wait side by side, and each gets its own verdict in whatever order they come",
  async (t) => {
    const harness = linkedHarness();
    const asked = Array.from({ length: 5 }, (_, i) => harness.ask(`/${i}`));
    const ids = harness.take().map((message) => (message as { id: number }).id);
    t.equal(new Set(ids).size, 5);
    for (const i of [3, 0, 4, 1, 2])
      harness.receive({
        kind: "admitted",
        id: ids[i]!,
        target: 0,
        admittedAtMs: i,
        lsn: i,
        headers: null,
        key: null,
      });
    await promisesResolved();
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
  "no verdict by the deadline: unavailable in mode closed, admitted without headers in mode open",
  async (t) => {
    for (const failureMode of ["closed", "open"] as const) {
      const harness = linkedHarness({ failureMode });
      const asked = harness.ask("/team", [gpt, llama]);
      harness.advance(deadlineMs - 1);
      await promisesResolved();
      t.equal(asked.outcome, null, `${failureMode}: not before the deadline`);
      harness.advance(1 + expiryIntervalMs);
      await promisesResolved();
      t.match(
        asked.outcome,
        failureMode === "closed"
          ? { kind: "unavailable" }
          : {
              kind: "admitted",
              headers: null,
              admission: { userPath: "/team", target: gpt, isSettled: false },
            },
        failureMode,
      );
    }
  },
);

t.test("each admission has its own deadline, however they follow each other", async (t) => {
  const harness = linkedHarness();
  const asked: { outcome: AdmissionOutcome | null }[] = [];
  for (let i = 0; i < 10; i++) {
    asked.push(harness.ask());
    harness.advance(190);
    harness.receive(null);
  }
  await promisesResolved();
  t.same(
    asked.map(({ outcome }) => outcome?.kind ?? "waits"),
    Array.from({ length: 10 }, (_, i) =>
      1900 - i * 190 >= deadlineMs + expiryIntervalMs ? "unavailable" : "waits",
    ),
  );
  harness.advance(deadlineMs + expiryIntervalMs);
  await promisesResolved();
  t.ok(asked.every(({ outcome }) => outcome?.kind === "unavailable"));
});

t.test(
  "while the daemon is away, requests wait until it has been away for the deadline, then not at all",
  async (t) => {
    const harness = linkedHarness();
    harness.lose();
    harness.advance(600);
    const early = harness.ask("/early");
    harness.advance(399);
    await promisesResolved();
    t.equal(early.outcome, null);
    harness.advance(1 + expiryIntervalMs);
    const late = harness.ask("/late");
    await promisesResolved();
    t.same(
      [early.outcome, late.outcome],
      [{ kind: "unavailable" }, { kind: "unavailable" }],
      "the second without a wait",
    );
    harness.connect();
    harness.welcome();
    t.same(kinds(harness.take()), ["hello"], "and they aren't sent later");
    const back = harness.ask();
    t.same(kinds(harness.take()), ["admit"]);
    t.equal(back.outcome, null);
  },
);

t.test("pending admissions are sent again when the daemon is back", async (t) => {
  const harness = new ClientHarness();
  const asked = harness.ask();
  harness.advance(500);
  harness.connect();
  t.same(kinds(harness.take()), ["hello"], "not before the welcome");
  harness.welcome();
  const [admit] = harness.take();
  t.match(admit, { kind: "admit", userPath: "/team" });
  harness.receive({
    kind: "admitted",
    id: (admit as { id: number }).id,
    target: 0,
    admittedAtMs: 1,
    lsn: 1,
    headers: null,
    key: null,
  });
  await promisesResolved();
  t.match(asked.outcome, { kind: "admitted" });
});

t.test("a daemon that is gone for good: open admits immediately, closed doesn't", async (t) => {
  for (const failureMode of ["open", "closed"] as const) {
    const harness = linkedHarness({ failureMode });
    const admission = await harness.granted();
    harness.lose();
    harness.advance(deadlineMs);
    t.match(
      await harness.client.reroute(admission, [llama]),
      failureMode === "open"
        ? { kind: "admitted", admission: { target: llama } }
        : { kind: "unavailable" },
    );
  }
});

t.test("at the bound of pending admissions the next one doesn't wait", async (t) => {
  for (const [failureMode, kind] of [
    ["closed", "unavailable"],
    ["open", "admitted"],
  ] as const) {
    const harness = linkedHarness({ failureMode });
    for (let i = 0; i < admissionsWaitingMax; i++) harness.ask();
    harness.take();
    const one = harness.ask();
    await promisesResolved();
    t.equal(one.outcome?.kind, kind);
    t.same(kinds(harness.take()), failureMode === "open" ? ["settle", "hold"] : []);
  }
});

t.test(
  "without rules a request doesn't wait for the daemon; its settle shows that it had no verdict",
  async (t) => {
    const harness = new ClientHarness();
    harness.connect();
    harness.welcome({ limited: false });
    harness.take();
    const asked = harness.ask();
    await promisesResolved();
    t.same(harness.take(), []);
    t.match(asked.outcome, { kind: "admitted", headers: null, key: null });
    harness.advance(40);
    harness.client.settle(
      admissionOf(asked),
      { tokens: 3, estimated: false, record: null },
      () => {},
    );
    t.match(
      harness.take(),
      exactly([
        {
          kind: "settle",
          part: "request",
          lease: 0,
          userPath: "/team",
          target: gpt,
          startedAgoMs: 40,
          tokens: 3,
        },
      ]),
    );
  },
);

t.test(
  "the proxy asks from the first rule until the last is gone; after a loss it asks until the next welcome",
  async (t) => {
    const harness = new ClientHarness();
    harness.connect();
    harness.welcome({ limited: false });
    harness.take();
    const asks = (): boolean => {
      harness.ask();
      return harness.take().some(({ kind }) => kind === "admit");
    };
    t.notOk(asks());
    harness.receive({ kind: "event", name: "limited", value: true });
    t.ok(asks());
    harness.receive({ kind: "event", name: "limited", value: false });
    t.notOk(asks());
    harness.lose();
    const waits = harness.ask();
    await promisesResolved();
    t.equal(waits.outcome, null, "a daemon that is away may have rules by now");
  },
);

t.test(
  "the daemon looks a key up even without rules, and the admission is on the key's path",
  async (t) => {
    const harness = linkedHarness();
    harness.receive({ kind: "event", name: "limited", value: false });
    const asked = harness.ask("/header", [gpt], keyHash);
    const [admit] = harness.take() as { id: number }[];
    t.match(admit, { kind: "admit", userPath: "/header", credential: keyHash });
    harness.receive({
      kind: "admitted",
      id: admit!.id,
      target: 0,
      admittedAtMs: 1,
      lsn: 5,
      headers: null,
      key: ofKey,
    });
    await promisesResolved();
    const admission = admissionOf(asked);
    t.match(admission, ofKey);
    harness.client.settle(admission, { tokens: 3, estimated: false, record: null }, () => {});
    t.match(harness.take(), exactly([{ kind: "settle", userPath: "/key/path", tokens: 3 }]));
    t.equal(
      (
        await Promise.race([
          harness.client.admit({ userPath: "/", credential: "authenticated" }, [gpt]),
          Promise.resolve(null),
        ])
      )?.kind,
      "admitted",
      "others don't wait for it",
    );
  },
);

t.test("a denied caller gets that outcome, and nothing is held or settled for it", async (t) => {
  const harness = linkedHarness();
  const asked = harness.ask("/header", [gpt], keyHash);
  harness.receive({ kind: "denied", id: (harness.take()[0] as { id: number }).id, ended: null });
  await promisesResolved();
  t.same(asked.outcome, { kind: "denied", ended: null });
  harness.lose();
  harness.connect();
  t.match(harness.take(), exactly([{ kind: "hello", leases: { length: 0 } }]));
});

t.test(
  "without the daemon no key is admitted in either mode, and callers without credentials only if no key exists",
  async (t) => {
    for (const failureMode of ["open", "closed"] as const) {
      for (const [credential, keysExist, passes] of [
        [keyHash, false, false],
        ["none", false, true],
        ["none", true, false],
        ["authenticated", true, true],
      ] as const) {
        const harness = new ClientHarness({ failureMode });
        harness.connect();
        harness.welcome({ keysExist });
        harness.lose();
        harness.advance(deadlineMs * 2);
        const asked = harness.ask("/team", [gpt], credential);
        await promisesResolved();
        t.equal(
          asked.outcome?.kind,
          passes && failureMode === "open" ? "admitted" : "unavailable",
          `${failureMode} ${credential} ${keysExist}`,
        );
      }
      const never = new ClientHarness({ failureMode });
      never.advance(deadlineMs * 2);
      const asked = never.ask("/team", [gpt], "none");
      await promisesResolved();
      t.equal(asked.outcome?.kind, "unavailable", "nothing was ever known of keys");
      t.equal(never.client.notices.keysExist, null);
    }
  },
);

t.test(
  "a request without credentials that waited while the first key was issued is the daemon's to judge, rules or not",
  async (t) => {
    const harness = linkedHarness();
    harness.receive({ kind: "event", name: "limited", value: false });
    const before = harness.ask("/team", [gpt], "none");
    await promisesResolved();
    t.equal(before.outcome?.kind, "admitted", "without a key no verdict is needed");
    harness.receive({ kind: "event", name: "keys_exist", value: true });
    harness.take();
    harness.ask("/team", [gpt], "none");
    t.match(harness.take(), exactly([{ kind: "admit", credential: "none" }]));
  },
);

t.test("an admission that the daemon can't take is refused, in either mode", async (t) => {
  for (const failureMode of ["closed", "open"] as const) {
    const harness = linkedHarness({ failureMode });
    const [asked, late] = [harness.ask(), harness.ask()];
    const [first, second] = harness.take() as Admit[];
    const full = failure("overloaded", "full");
    harness.receive({ kind: "failed", id: first!.id, failure: full });
    await promisesResolved();
    t.same(asked.outcome, { kind: "failed", failure: full });
    harness.advance(deadlineMs + expiryIntervalMs);
    harness.receive({ kind: "failed", id: second!.id, failure: full });
    await promisesResolved();
    t.equal(late.outcome?.kind, failureMode === "open" ? "admitted" : "unavailable");
    if (late.outcome?.kind !== "admitted") continue;
    harness.client.settle(late.outcome.admission, nothing, () => {});
    t.match(
      harness.take(),
      exactly([
        { kind: "settle", lease: 0, lsn: 0, tokens: 0 },
        { kind: "hold", leases: exactly([{ lsn: uncountedLsn }]) },
        { kind: "settle", lsn: uncountedLsn },
      ]),
      "the daemon has no lease of it before it is told",
    );
  }
});

/** Asks for an admission that may wait; `leave` once it waits. */
function askAndWait(harness: ClientHarness, atMostMs = 60_000, placeEveryMs?: number) {
  const asked: {
    outcome: AdmissionOutcome | null;
    leave: (() => void) | null;
    id: number;
    places: Place[];
  } = { outcome: null, leave: null, id: 0, places: [] };
  const wait = {
    askedMs: 60_000,
    timeoutMs: null,
    waitedMs: 0,
    atMostMs,
    onQueued: (leave: () => void) => {
      asked.leave = leave;
    },
    placeEveryMs,
    onPlace: (place: Place) => void asked.places.push(place),
  };
  const caller = { userPath: "/team", credential: "authenticated" };
  void harness.client.admit(caller, [gpt], { wait }).then((outcome) => {
    asked.outcome = outcome;
  });
  asked.id = (harness.sent.at(-1) as Admit).id;
  return asked;
}

t.test("a request that waits for room gets its verdict long after the deadline", async (t) => {
  const harness = linkedHarness();
  const asked = askAndWait(harness);
  t.match(harness.take().at(-1), { wait: { askedMs: 60_000, timeoutMs: null, waitedMs: 0 } });
  harness.receive({ kind: "queued", id: asked.id });
  harness.advance(20 * deadlineMs);
  await promisesResolved();
  t.equal(asked.outcome, null);
  harness.admits(asked.id);
  await promisesResolved();
  t.match(asked.outcome, {
    kind: "admitted",
    admission: { waited: { ms: 20 * deadlineMs, isPreferred: true } },
  });
  asked.leave!();
  t.notMatch(kinds(harness.take()), /cancel/);
});

t.test("a place is passed on, and doesn't begin another wait", async (t) => {
  const harness = linkedHarness();
  const asked = askAndWait(harness, 60_000, 15_000);
  t.match(harness.take().at(-1), { wait: { placeEveryMs: 15_000 } });
  harness.receive({ kind: "queued", id: asked.id });
  t.same(asked.places, []);
  harness.receive({ kind: "queued", id: asked.id, position: 4, expectedMs: 6000 });
  harness.receive({ kind: "queued", id: asked.id, position: 3 });
  t.same(asked.places, [
    { position: 4, expectedMs: 6000 },
    { position: 3, expectedMs: null },
  ]);
  asked.leave!();
  harness.receive({ kind: "queued", id: asked.id, position: 2 });
  t.equal(asked.places.length, 2);
});

t.test("a refusal says how long the request has waited", async (t) => {
  const harness = linkedHarness();
  const asked = askAndWait(harness);
  harness.receive({ kind: "queued", id: asked.id });
  harness.advance(500);
  harness.refuses(asked.id);
  await promisesResolved();
  t.match(asked.outcome, { kind: "refused", waited: { ms: 500, isPreferred: true } });
});

t.test("a client that leaves cancels its wait; a verdict that crosses is withdrawn", async (t) => {
  const harness = linkedHarness();
  for (const crosses of [false, true]) {
    const asked = askAndWait(harness);
    harness.receive({ kind: "queued", id: asked.id });
    harness.take();
    asked.leave!();
    await promisesResolved();
    t.same(asked.outcome, { kind: "left" });
    t.same(harness.take(), [{ kind: "cancel", id: asked.id }]);
    if (crosses) harness.admits(asked.id);
    else harness.receive({ kind: "cancelled", id: asked.id });
    const sent = harness.take();
    t.equal(sent.length, crosses ? 1 : 0);
    if (crosses) t.match(sent[0], { kind: "settle", part: "withdrawn", lease: asked.id });
  }
});

t.test("a wait goes on at the next daemon, and ends if there is none", async (t) => {
  const harness = linkedHarness({ failureMode: "open" });
  const asked = askAndWait(harness);
  const left = askAndWait(harness);
  for (const { id } of [asked, left]) harness.receive({ kind: "queued", id });
  harness.advance(5000);
  harness.lose();
  left.leave!();
  harness.connect();
  harness.take();
  harness.welcome();
  const again = harness.take().filter(({ kind }) => kind === "admit");
  t.match(again[0], { id: asked.id, wait: { askedMs: 60_000, waitedMs: 5000 } });
  t.equal(again.length, 1, "one client has left meanwhile");
  harness.receive({ kind: "queued", id: asked.id });
  harness.advance(20 * deadlineMs);
  await promisesResolved();
  t.equal(asked.outcome, null);
  harness.lose();
  harness.advance(deadlineMs + expiryIntervalMs);
  await promisesResolved();
  t.match(asked.outcome, { kind: "admitted", admission: { lsn: 0 } }, "the failure mode decides");
});
