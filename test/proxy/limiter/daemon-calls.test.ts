import t from "tap";
import { admissionsWaitingMax, framesPerWindow } from "../../../shared/bounds.js";
import { invalid } from "../../../shared/error-code.js";
import type { Admin } from "../../../shared/wire/message-to-daemon.js";
import { exactly } from "../../support/patterns/exactly.js";
import {
  ClientHarness,
  deadlineMs,
  expiryIntervalMs,
  kinds,
  linkedHarness,
  promisesResolved,
} from "./client/client-harness.js";

const keyHash = "h".repeat(43);
const ofKey = { userPath: "/key/path", keyId: "key_7" };

t.test("a call is answered, refused, or fails at its deadline", async (t) => {
  const harness = linkedHarness();
  const [answered, failed, silent, unsure] = [
    harness.client.call("status", null),
    harness.client.call("rate-limits.put", { a: 1 }),
    harness.client.call("rate-limits.list", null),
    harness.client.call("budgets.delete", {}),
  ];
  const ids = harness.take().map((message) => (message as { id: number }).id);
  harness.receive({ kind: "answer", id: ids[0]!, body: { rules: 3 } });
  harness.receive({ kind: "failed", id: ids[1]!, failure: invalid("no", "a") });
  harness.advance(5_000 + expiryIntervalMs);
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

t.test("only of a change that was sent is it said that it may have been made", async (t) => {
  for (const [op, isChange] of [
    ["rate-limits.list", false],
    ["rate-limits.put", true],
  ] as const)
    for (const wasSent of [true, false]) {
      const harness = wasSent ? linkedHarness() : new ClientHarness();
      const call = harness.client.call(op, {});
      harness.advance(5_000 + expiryIntervalMs);
      const answer = (await call) as { failure: { message: string } };
      t.equal(/may have been made/.test(answer.failure.message), isChange && wasSent, op);
    }
});

t.test("a call fails when the clock reads its deadline, not only beyond it", async (t) => {
  const harness = linkedHarness();
  let failed = false;
  void harness.client.call("status", null).then(() => {
    failed = true;
  });
  harness.advance(5_000 - 1);
  await Promise.resolve();
  t.notOk(failed);
  harness.advance(1);
  for (let turn = 0; turn < 5; turn++) await Promise.resolve();
  t.ok(failed);
});

t.test(
  "a change that no daemon has received wasn't made, and its failure says no more",
  async (t) => {
    const harness = new ClientHarness();
    const unsent = harness.client.call("rate-limits.put", {});
    harness.advance(deadlineMs + expiryIntervalMs);
    t.match(await unsent, {
      ok: false,
      failure: { status: 503, message: "the limiter daemon does not answer" },
    });
  },
);

t.test(
  "a call that was sent isn't sent again: the daemon that is gone may have done it",
  async (t) => {
    const harness = linkedHarness();
    const sent = harness.client.call("rate-limits.put", {});
    harness.take();
    harness.lose();
    t.match(await sent, {
      ok: false,
      failure: {
        code: "limiter_unavailable",
        message: /the change may have been made, or may still be/,
      },
    });
    harness.connect();
    harness.welcome();
    t.same(kinds(harness.take()), ["hello"]);
  },
);

t.test("a call that may be done twice is asked again of the next daemon", async (t) => {
  const harness = linkedHarness();
  const calls = (["objects.owners", "objects.own", "status"] as const).map((op) =>
    harness.client.call(op, null),
  );
  harness.take();
  harness.lose();
  harness.advance(deadlineMs - 500);
  harness.connect();
  harness.welcome();
  const [, ...again] = harness.take();
  t.match(again, exactly([{ op: "objects.owners" }, { op: "objects.own" }, { op: "status" }]));
  for (const message of again)
    harness.receive({ kind: "answer", id: (message as { id: number }).id, body: 1 });
  for (const call of calls) t.same(await call, { ok: true, body: 1 });
});

t.test("a call that is asked again waits for a daemon as an admission does", async (t) => {
  const harness = linkedHarness();
  const call = harness.client.call("status", null);
  harness.lose();
  harness.advance(deadlineMs + expiryIntervalMs);
  t.match(await call, { ok: false, failure: { status: 503, code: "limiter_unavailable" } });
});

t.test(
  "a call that no daemon has received waits for one, but no longer than an admission does",
  async (t) => {
    const harness = linkedHarness();
    harness.lose();
    const waits = harness.client.call("status", null);
    harness.advance(500);
    harness.connect();
    harness.welcome();
    const [, call] = harness.take();
    t.match(call, { kind: "admin", op: "status" });
    harness.receive({ kind: "answer", id: (call as { id: number }).id, body: 1 });
    t.same(await waits, { ok: true, body: 1 });
    harness.lose();
    const never = harness.client.call("rate-limits.put", {});
    harness.advance(deadlineMs + expiryIntervalMs);
    t.match(
      await never,
      { ok: false, failure: { status: 503, message: "the limiter daemon does not answer" } },
      "a change that was never sent is not made",
    );
  },
);

t.test(
  "a check of a caller is sent again after a reconnect, and ends at its deadline; an operation that was sent isn't repeated",
  async (t) => {
    const harness = linkedHarness();
    const authorized = harness.client.authorize(keyHash);
    const operation = harness.client.call("keys.deactivate", { id: "key_7" });
    t.match(
      harness.take(),
      exactly([{ kind: "authorize", credential: keyHash }, { kind: "admin" }]),
    );
    harness.lose();
    t.match(await operation, { ok: false, failure: { code: "limiter_unavailable" } });
    harness.connect();
    harness.take();
    harness.welcome();
    const [again] = harness.take() as { id: number }[];
    t.match(again, { kind: "authorize", credential: keyHash });
    harness.receive({ kind: "authorized", id: again!.id, ...ofKey });
    t.match(await authorized, { kind: "authorized", ...ofKey });

    const denied = harness.client.authorize(keyHash);
    harness.receive({ kind: "denied", id: (harness.take()[0] as { id: number }).id, ended: null });
    t.match(await denied, { kind: "denied", ended: null });
    const silent = harness.client.authorize(keyHash);
    harness.advance(deadlineMs * 2);
    t.same(await silent, { kind: "unavailable" });
    harness.lose();
    harness.advance(deadlineMs * 2);
    t.same(
      await harness.client.authorize(keyHash),
      { kind: "unavailable" },
      "at once, long after the daemon went",
    );
  },
);

t.test("a change that a daemon got at its welcome isn't asked of the next one", async (t) => {
  const harness = new ClientHarness();
  const change = harness.client.call("rate-limits.put", {});
  harness.connect();
  harness.welcome();
  t.same(kinds(harness.take()), ["hello", "admin"]);
  harness.lose();
  t.match(await change, { ok: false, failure: { message: /the change may have been made/ } });
  harness.connect();
  harness.welcome();
  t.same(kinds(harness.take()), ["hello"]);
});

t.test("what is asked between two windows of a welcome is sent once", async (t) => {
  const harness = new ClientHarness();
  for (let i = 0; i <= framesPerWindow; i++) void harness.client.call("status", i);
  harness.connect();
  harness.welcome();
  harness.take();
  void harness.client.call("status", "late");
  harness.takenByKernel();
  t.same(
    harness.take().map((message) => (message as Admin).body),
    ["late", framesPerWindow],
  );
  t.notOk(harness.takenByKernel());
});

t.test("an answer of another kind than was asked for is none", async (t) => {
  const harness = linkedHarness();
  const operation = harness.client.call("status", null);
  const check = harness.client.authorize(keyHash);
  const ids = harness.take().map((message) => (message as { id: number }).id);
  harness.receive({ kind: "denied", id: ids[0]!, ended: null });
  harness.receive({ kind: "answer", id: ids[1]!, body: {} });
  t.match(await operation, { ok: false, failure: { code: "limiter_unavailable" } });
  t.same(await check, { kind: "unavailable" });
});

t.test("once a daemon is away for the deadline, nothing waits for it any more", async (t) => {
  for (const [awayMs, waits] of [
    [deadlineMs - 1, true],
    [deadlineMs, false],
  ] as const) {
    const harness = linkedHarness();
    harness.lose();
    harness.advance(awayMs);
    const answered: unknown[] = [];
    void harness.client.call("status", null).then((answer) => answered.push(answer));
    void harness.client.authorize(keyHash).then((answer) => answered.push(answer));
    await promisesResolved();
    t.equal(answered.length, waits ? 0 : 2, `${awayMs} ms`);
  }
});

t.test("as many calls wait as admissions may; the next is answered immediately", async (t) => {
  const harness = linkedHarness();
  for (let i = 1; i < admissionsWaitingMax; i++) void harness.client.authorize(keyHash);
  const answered: unknown[] = [];
  const ask = async (): Promise<void> => {
    void harness.client.authorize(keyHash).then(({ kind }) => answered.push(kind));
    await promisesResolved();
  };
  await ask();
  t.same(answered, []);
  await ask();
  t.same(answered, ["unavailable"]);
});
