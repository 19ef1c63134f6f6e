import t from "tap";
import type { UnadmittedUsage } from "../../../../proxy/limiter/admission.js";
import { framesPerWindow, leasesPerHello, reconnectGraceMs } from "../../../../shared/bounds.js";
import { invalid } from "../../../../shared/error-code.js";
import { wireVersion } from "../../../../shared/version.js";
import type { Failed } from "../../../../shared/wire/message-from-daemon.js";
import type { Admit } from "../../../../shared/wire/message-to-daemon.js";
import { exactly } from "../../../support/patterns/exactly.js";
import {
  ClientHarness,
  deadlineMs,
  expiryIntervalMs,
  gpt,
  kinds,
  linkedHarness,
  nothing,
  promisesResolved,
} from "./client-harness.js";

const keyHash = "h".repeat(43);

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
    t.match(
      harness.take(),
      exactly([
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
      ]),
    );
    harness.welcome();
    const sent = harness.take();
    t.same(kinds(sent), ["settle", "admit", "admin"]);
    t.match(
      sent,
      exactly([
        { lease: ended.lease, userPath: "/ended" },
        { userPath: "/waits" },
        { op: "status" },
      ]),
    );
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
  t.match(harness.take(), exactly([{ kind: "settle", seq: 1, tokens: 4 }]));
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
  "a daemon that says nothing for a deadline is silent: reported once, asked nothing more, until its next message",
  async (t) => {
    for (const failureMode of ["closed", "open"] as const) {
      const without = failureMode === "closed" ? "unavailable" : "admitted";
      const harness = linkedHarness({ failureMode });
      const first = harness.ask();
      harness.advance(deadlineMs - 1);
      const second = harness.ask();
      t.equal(harness.client.state, "connected");
      harness.take();
      harness.advance(1);
      await promisesResolved();
      t.same([first.outcome?.kind, second.outcome], [without, null]);
      t.same([harness.client.state, harness.client.reachable], ["silent", false]);
      const later = [harness.ask(), harness.ask()];
      const call = harness.client.call("status", null);
      const check = harness.client.authorize(keyHash);
      await promisesResolved();
      t.same(
        later.map(({ outcome }) => outcome?.kind),
        [without, without],
        "at once",
      );
      t.match(await call, { ok: false, failure: { code: "limiter_unavailable" } });
      t.same(await check, { kind: "unavailable" });
      t.same(kinds(harness.take()), [], "and nothing is sent");
      harness.advance(deadlineMs * 10);
      t.same(harness.silences, ["silent"]);
      harness.receive(null);
      t.same(harness.silences, ["silent", `answers after ${deadlineMs * 10}`]);
      t.equal(harness.client.state, "connected", "whatever the message is");
      t.same(
        kinds(harness.take()),
        failureMode === "open" ? [...Array<string>(4).fill("settle"), "hold"] : [],
        "it is told what runs without a verdict",
      );
      harness.ask();
      t.same(kinds(harness.take()), ["admit"]);
    }
  },
);

t.test(
  "a daemon that answers others in time isn't silent, however long one of them waits",
  async (t) => {
    const harness = linkedHarness();
    const slow = harness.ask();
    harness.advance(deadlineMs / 2);
    harness.receive({ kind: "settled", seq: 0 });
    harness.advance(deadlineMs);
    await promisesResolved();
    t.same(slow.outcome, { kind: "unavailable" });
    t.same([harness.silences, harness.client.state], [["late"], "connected"]);
  },
);

t.test(
  "what a change waits for is a commit, so its silence is the store's; a check of a caller's is the daemon's",
  async (t) => {
    const harness = linkedHarness();
    harness.advance(10);
    void harness.client.call("rate-limits.put", {});
    harness.advance(20_000);
    t.same([harness.silences, harness.client.state], [[], "connected"]);
    void harness.client.authorize(keyHash);
    harness.advance(deadlineMs + expiryIntervalMs);
    t.same([harness.silences, harness.client.state], [["silent"], "silent"]);
  },
);

t.test(
  "a daemon that takes the connection and never welcomes is reported once, over all attempts",
  async (t) => {
    const harness = new ClientHarness();
    for (let i = 0; i < 5; i++) {
      harness.connect();
      t.equal(harness.client.state, i === 0 ? "away" : "silent", "it is given its time once");
      harness.advance(deadlineMs + reconnectGraceMs);
      t.equal(harness.client.state, "silent");
      harness.receive(null);
      t.equal(harness.client.state, "silent", "nonsense isn't a welcome");
      harness.lose();
      t.equal(harness.client.state, "away");
    }
    t.same(harness.silences, ["no welcome"]);
    harness.connect();
    harness.welcome();
    t.equal(harness.client.state, "connected");
    t.equal(harness.silences.length, 2);
    harness.advance(deadlineMs * 10);
    t.equal(harness.client.state, "connected", "the timers of earlier attempts mean nothing");
  },
);

t.test(
  "a silent daemon whose connection ends is away, and the next one is no silent one",
  async (t) => {
    const harness = linkedHarness();
    harness.ask();
    harness.advance(deadlineMs + expiryIntervalMs);
    harness.lose();
    t.equal(harness.client.state, "away");
    const waits = harness.ask();
    await promisesResolved();
    t.equal(waits.outcome, null, "it may be back at once");
    harness.connect();
    harness.welcome();
    t.same([harness.client.state, harness.silences], ["connected", ["silent"]]);
    t.same(kinds(harness.take()).slice(-1), ["admit"]);
  },
);

t.test(
  "what has waited is asked again in windows, each when the kernel has taken the last one",
  async (t) => {
    const harness = new ClientHarness();
    const waiting = framesPerWindow * 2 + 7;
    for (let i = 0; i < waiting; i++) harness.ask(`/${i}`);
    for (let i = 0; i <= framesPerWindow; i++) void harness.client.authorize(keyHash);
    harness.connect();
    harness.welcome();
    const windows: string[][] = [];
    do windows.push(kinds(harness.take()).filter((kind) => kind !== "hello"));
    while (harness.takenByKernel());
    const counted = windows.map((sent) =>
      ["admit", "authorize"].map((kind) => sent.filter((one) => one === kind).length),
    );
    t.same(counted, [
      [framesPerWindow, framesPerWindow],
      [framesPerWindow, 1],
      [7, 0],
    ]);
  },
);

t.test(
  "between two windows nothing is sent for those whose time is up, or on a connection that is lost",
  async (t) => {
    const harness = new ClientHarness();
    for (let i = 0; i < framesPerWindow + 1; i++) harness.ask();
    harness.connect();
    harness.welcome();
    harness.take();
    harness.advance(deadlineMs + expiryIntervalMs);
    harness.receive(null);
    const late = harness.ask();
    t.ok(harness.takenByKernel());
    t.same(kinds(harness.take()), ["admit"], "the one that was asked since");
    await promisesResolved();
    t.equal(late.outcome, null);
    const other = new ClientHarness();
    for (let i = 0; i < framesPerWindow + 1; i++) other.ask();
    other.connect();
    other.welcome();
    other.lose();
    other.connect();
    other.take();
    other.takenByKernel();
    t.same(kinds(other.take()), []);
    other.welcome();
    t.equal(other.take().length, framesPerWindow, "the next daemon is asked all of them");
    t.ok(other.takenByKernel());
    t.equal(other.take().length, 1);
  },
);

t.test("a proxy with more leases than fit reports them in windows too", async (t) => {
  const harness = linkedHarness();
  const leases = leasesPerHello * framesPerWindow + 1;
  for (let i = 0; i < leases; i++) void harness.granted();
  await promisesResolved();
  harness.lose();
  harness.take();
  harness.connect();
  t.equal(harness.take().length, framesPerWindow);
  t.ok(harness.takenByKernel());
  t.match(harness.take(), exactly([{ kind: "hello", leases: { length: 1 }, more: false }]));
});

const refusal: Failed = { kind: "failed", id: 1, failure: invalid("another wire version") };

t.test(
  "a daemon that doesn't speak this version is offered the one before, on the next connection",
  async (t) => {
    const harness = new ClientHarness({ wireVersions: { oldest: 3, newest: 5 } });
    for (const [wireVersion, closed] of [
      [5, 1],
      [4, 2],
    ] as const) {
      harness.connect();
      t.match(harness.take(), exactly([{ kind: "hello", wireVersion }]));
      harness.receive(refusal);
      t.equal(harness.closed, closed, "it closes the connection itself");
      harness.receive(refusal);
      t.equal(harness.closed, closed, "once");
      harness.lose();
    }
    harness.connect();
    t.match(harness.take(), exactly([{ kind: "hello", wireVersion: 3 }]));
    harness.welcome();
    t.ok(harness.client.reachable);
    harness.lose();
    harness.connect();
    t.match(
      harness.take(),
      exactly([{ kind: "hello", wireVersion: 5 }]),
      "the next may be a newer one",
    );
    t.same(harness.refusals, [], "nothing of it is news");
  },
);

t.test(
  "a daemon that speaks none of this proxy's versions gets its settles, and is asked nothing",
  async (t) => {
    const harness = linkedHarness({ wireVersions: { oldest: 4, newest: 5 } });
    const [running, ended] = [await harness.granted(), await harness.granted()];
    harness.lose();
    harness.client.settle(ended, { ...nothing, tokens: 5 }, () => {});
    harness.advance(deadlineMs);
    harness.connect();
    harness.receive(refusal);
    harness.lose();
    harness.connect();
    harness.take();
    harness.receive(refusal);
    t.same(harness.refusals, ["another wire version"], "reported once");
    t.match(harness.take(), exactly([{ kind: "settle", seq: 1, tokens: 5 }]));
    harness.client.settle(running, { ...nothing, tokens: 7 }, () => {});
    t.match(harness.take(), exactly([{ kind: "settle", seq: 2, tokens: 7 }]));
    harness.receive({ kind: "settled", seq: 2 });
    t.equal(harness.client.unsettled, 0);
    const asked = harness.ask();
    await promisesResolved();
    t.match(asked.outcome, { kind: "unavailable" }, "as if it were away");
    t.equal(harness.client.state, "away");
    harness.advance(10 * deadlineMs);
    t.same(harness.silences, [], "it is no silent daemon");
    t.same(harness.take(), []);
    t.equal(harness.closed, 1, "the connection stays until that daemon ends");
    harness.lose();
    harness.connect();
    t.match(harness.take(), exactly([{ kind: "hello", wireVersion: 5 }]));
  },
);

t.test("an event of a later release changes nothing", async (t) => {
  const harness = linkedHarness();
  harness.receive({ kind: "unknown event" });
  t.ok(harness.client.reachable);
  t.same(harness.take(), []);
});

t.test("the next daemon learns what was read of each welcomed connection", async (t) => {
  const harness = new ClientHarness();
  harness.connect();
  harness.lose();
  harness.connect();
  harness.welcome();
  await harness.granted();
  await harness.granted();
  harness.lose();
  harness.connect();
  harness.lose();
  harness.connect();
  harness.welcome();
  t.same(
    harness.sent.filter(({ kind }) => kind === "read"),
    [
      { kind: "read", connection: 1, earlier: [] },
      { kind: "read", connection: 2, earlier: [[1, 2]] },
    ],
  );
});

t.test("requests that began before the welcome are reported right after it", async (t) => {
  const harness = linkedHarness({ failureMode: "open" });
  harness.lose();
  harness.advance(deadlineMs);
  harness.connect();
  const asked = harness.ask();
  await promisesResolved();
  t.equal(asked.outcome?.kind, "admitted");
  harness.take();
  harness.welcome();
  t.same(kinds(harness.take()), ["settle", "hold"]);
});

t.test("of what the next daemon wasn't asked yet it is no news that no answer came", async (t) => {
  const harness = linkedHarness();
  for (let i = 0; i <= framesPerWindow; i++) harness.ask();
  harness.take();
  harness.lose();
  harness.advance(1);
  harness.connect();
  harness.welcome();
  const asked = harness.take().filter(({ kind }) => kind === "admit") as Admit[];
  t.equal(asked.length, framesPerWindow);
  for (const { id } of asked) harness.refuses(id);
  harness.advance(deadlineMs + expiryIntervalMs);
  t.same([harness.silences, harness.client.state], [[], "connected"]);
});

t.test("what ends a request runs once its settle has left, whichever it is", async (t) => {
  const harness = linkedHarness();
  const admission = await harness.granted();
  harness.take();
  const ended: string[] = [];
  const record = null as unknown as UnadmittedUsage["record"];
  harness.client.settle(admission, { ...nothing, tokens: 3 }, () => ended.push("settled"));
  harness.client.settleUnadmitted(
    { userPath: "/team", startedMonoMs: harness.nowMs, estimated: false, record },
    () => ended.push("cached"),
  );
  t.match(
    harness.take(),
    exactly([
      { kind: "settle", part: "request", lease: admission.lease, tokens: 3 },
      { kind: "settle", part: "cached", lease: 0, tokens: 0 },
    ]),
  );
  t.same(ended, []);
  harness.endTurn();
  t.same(ended, ["settled", "cached"]);
});

t.test("what has ended neither goes on nor ends again", async (t) => {
  const harness = linkedHarness();
  const admission = await harness.granted();
  harness.take();
  harness.client.progress(admission, { ...nothing, tokens: 2 });
  t.match(harness.take(), exactly([{ kind: "settle", part: "progress", tokens: 2 }]));
  harness.client.settle(admission, nothing, () => {});
  harness.take();
  t.throws(() => harness.client.settle(admission, nothing, () => {}), /one settle per admission/);
  t.throws(() => harness.client.progress(admission, nothing), /runs at a target/);
  t.throws(() => harness.client.reroute(admission, [gpt]), /runs at a target/);
  t.same(harness.take(), []);
});

t.test(
  "one timer looks at deadlines, ten times in their length, while anything waits",
  async (t) => {
    for (const [deadlineMs, intervalMs] of [
      [5000, 500],
      [101, 10.1],
      [100, 10],
      [50, 10],
      [0, 10],
    ] as const) {
      const harness = linkedHarness({ deadlineMs });
      const before = harness.timersMs.length;
      for (let i = 0; i < 2; i++) void harness.client.call("status", null);
      t.same(harness.timersMs.slice(before), [intervalMs]);
    }
    for (const wait of [
      (harness: ClientHarness): void => void harness.ask(),
      (harness: ClientHarness): void => void harness.client.authorize("none"),
    ]) {
      const harness = linkedHarness();
      const running = (): number => harness.timersMs.filter((ms) => ms === expiryIntervalMs).length;
      t.equal(running(), 0);
      wait(harness);
      harness.advance(expiryIntervalMs);
      t.equal(running(), 1, "something still waits");
      const { id } = harness.take()[0] as { id: number };
      harness.receive({ kind: "denied", id, ended: null });
      harness.advance(expiryIntervalMs);
      t.equal(running(), 0);
      wait(harness);
      t.equal(running(), 1, "and again for the next one");
    }
  },
);
