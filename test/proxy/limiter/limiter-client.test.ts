import t from "tap";
import { invalid } from "../../../shared/error-code.js";
import { wireVersion } from "../../../shared/version.js";
import {
  ClientHarness,
  deadlineMs,
  expiryIntervalMs,
  gpt,
  kinds,
  linkedHarness,
} from "./client-harness.js";

t.test(
  "the note on a refused request goes to the daemon that refused it, and to no other",
  async (t) => {
    const harness = linkedHarness();
    harness.lose();
    harness.client.noteRefusal(1, "req_1", "smart");
    harness.connect();
    harness.welcome();
    t.same(kinds(harness.take()), ["hello"]);
  },
);

t.test(
  "after a reconnect: the held leases, then the settles, then the pending admissions, then the calls",
  async (t) => {
    const harness = linkedHarness();
    const held = await harness.granted("/held");
    const ended = await harness.granted("/ended");
    harness.client.settle(ended, { tokens: 5, estimated: false, record: null }, () => {});
    harness.lose();
    const while_ = await Promise.race([
      harness.client.admit({ userPath: "/waits", credential: "authenticated" }, [gpt]),
      Promise.resolve("waits"),
    ]);
    t.equal(while_, "waits");
    void harness.client.call("status", null);
    harness.take();
    harness.connect();
    t.match(harness.take(), [
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
    harness.welcome();
    const sent = harness.take();
    t.same(kinds(sent), ["settle", "admit", "admin"]);
    t.match(sent, [
      { lease: ended.lease, userPath: "/ended" },
      { userPath: "/waits" },
      { op: "status" },
    ]);
  },
);

t.test(
  "before the welcome nothing is sent but the hello, and the next connection gets it all",
  async (t) => {
    const harness = new ClientHarness();
    harness.ask();
    harness.connect();
    harness.lose();
    harness.connect();
    t.same(kinds(harness.take()), ["hello", "hello"]);
    t.same(harness.links, [], "a connection that was never welcomed isn't reported");
    harness.welcome();
    t.same(kinds(harness.take()), ["admit"]);
    harness.lose();
    t.same(harness.links, [true, false]);
  },
);

t.test("answers to unknown ids do no harm", async (t) => {
  const harness = linkedHarness();
  const admission = await harness.granted();
  harness.take();
  harness.receive({
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
  harness.receive({ kind: "answer", id: 999, body: null });
  harness.receive({ kind: "failed", id: 999, failure: invalid("x") });
  harness.receive({ kind: "settled", seq: 999 });
  t.same(harness.take(), []);
  harness.client.settle(admission, { tokens: 4, estimated: false, record: null }, () => {});
  t.match(harness.take(), [{ kind: "settle", seq: 1, tokens: 4 }]);
  t.equal(harness.client.unsettled, 1);
});

t.test(
  "the daemon is reachable from its welcome until the connection is lost, and each change is reported",
  async (t) => {
    const harness = new ClientHarness();
    t.equal(harness.client.reachable, false);
    harness.connect();
    t.equal(harness.client.reachable, false, "connected isn't welcomed");
    harness.welcome();
    t.equal(harness.client.reachable, true);
    harness.lose();
    t.equal(harness.client.reachable, false);
    t.same(harness.links, [true, false]);
  },
);

t.test(
  "a daemon that doesn't answer in time is reported once, and isn't reachable until its next message",
  async (t) => {
    const harness = linkedHarness();
    harness.ask();
    harness.ask();
    harness.advance(deadlineMs + expiryIntervalMs);
    t.same([harness.client.reachable, harness.timeouts], [false, 1]);
    harness.ask();
    harness.advance(deadlineMs + expiryIntervalMs);
    t.equal(harness.timeouts, 1);
    harness.receive({ kind: "settled", seq: 0 });
    t.equal(harness.client.reachable, true);
    harness.ask();
    harness.advance(deadlineMs + expiryIntervalMs);
    t.same([harness.client.reachable, harness.timeouts], [false, 2]);
    harness.lose();
    harness.ask();
    harness.advance(deadlineMs + expiryIntervalMs);
    t.equal(harness.timeouts, 2, "a daemon that is away isn't silent");
  },
);
