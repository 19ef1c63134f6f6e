import t from "tap";
import { fittingLeases } from "../../../../proxy/limiter/client/report-leases.js";
import { frameBytesMaxToDaemon, leasesPerHello } from "../../../../shared/bounds.js";
import { encodeFrame } from "../../../../shared/wire/codec.js";
import type { ToDaemon } from "../../../../shared/wire/message-to-daemon.js";
import { writeToDaemon } from "../../../../shared/wire/message-to-daemon.js";
import { exactly } from "../../../support/patterns/exactly.js";
import {
  admissionOf,
  deadlineMs,
  gpt,
  linkedHarness,
  nothing,
  promisesResolved,
} from "./client-harness.js";

t.test(
  "a proxy that holds many leases sends them in several hellos, each lease once",
  async (t) => {
    for (const [leases, sizes] of [
      [0, [0]],
      [1, [1]],
      [leasesPerHello, [leasesPerHello]],
      [leasesPerHello + 1, [leasesPerHello, 1]],
      [2 * leasesPerHello + 50, [leasesPerHello, leasesPerHello, 50]],
    ] as const) {
      const harness = linkedHarness();
      const held: number[] = [];
      for (let i = 0; i < leases; i++) held.push((await harness.granted()).lease);
      harness.lose();
      harness.take();
      harness.connect();
      const hellos = harness.take() as Extract<ToDaemon, { kind: "hello" }>[];
      t.same(
        hellos.map(({ leases }) => leases.length),
        sizes,
      );
      t.same(
        hellos.map(({ more }) => more),
        sizes.map((_, i) => i < sizes.length - 1),
      );
      t.same(
        hellos.flatMap(({ leases }) => leases.map(({ lease }) => lease)),
        held,
      );
    }
  },
);

t.test(
  "leases with long names are sent in as many hellos as keep each within a frame",
  async (t) => {
    const harness = linkedHarness();
    for (let i = 0; i < 150; i++) await harness.granted(`/${"x".repeat(1000)}`);
    harness.lose();
    harness.take();
    harness.connect();
    const hellos = harness.take() as Extract<ToDaemon, { kind: "hello" }>[];
    t.equal(
      hellos.reduce((count, { leases }) => count + leases.length, 0),
      150,
    );
    for (const hello of hellos)
      t.ok(encodeFrame(writeToDaemon(hello)).length <= frameBytesMaxToDaemon);
  },
);

t.test(
  "what runs without a verdict is reported once, and counted by a settle of its own",
  async (t) => {
    const harness = linkedHarness({ failureMode: "open" });
    harness.lose();
    harness.advance(deadlineMs);
    const asked = [
      harness.ask(),
      harness.ask("/b"),
      harness.ask("/batch", [gpt], "authenticated", true),
    ];
    await promisesResolved();
    harness.client.settle(admissionOf(asked[1]!), nothing, () => {});
    harness.take();
    const hellos = () => {
      harness.connect();
      return harness.take().map((hello) => (hello.kind === "hello" ? hello.leases : []));
    };
    const leases = [{ userPath: "/team", lsn: 1, targetLsn: 1, target: gpt, submission: false }];
    t.match(hellos(), exactly([leases]));
    harness.lose();
    t.match(
      hellos(),
      exactly([leases]),
      "not a submission, which holds no slot, and nothing that has ended",
    );
    harness.welcome();
    t.match(
      harness.take(),
      exactly([
        { kind: "settle", seq: 1, userPath: "/b", lease: 0, lsn: 0 },
        { kind: "settle", seq: 2, userPath: "/team", lease: 0, lsn: 0, targetLsn: 0, tokens: 0 },
      ]),
    );
    t.equal(harness.client.unacknowledged().count, 2);
  },
);

t.test("as many leases go into a frame as it has room for, in whatever text", async (t) => {
  const ofPath = (bytes: number) => ({ userPath: "x".repeat(bytes), target: null });
  const ofTarget = (bytes: number) => ({
    userPath: "/é",
    target: { provider: "x".repeat(bytes - 13), model: "0123456789" },
  });
  /** A frame without what is reckoned for its head. */
  const room = frameBytesMaxToDaemon - 200;
  for (const [leases, expected] of [
    [[], leasesPerHello],
    [[ofPath(1000)], leasesPerHello],
    [[ofPath(room / 2 - 100), ofPath(room / 2 - 100)], leasesPerHello],
    [[ofPath(room / 2 - 100), ofPath(room / 2 - 99)], 1],
    [[ofPath(room / 2 - 100), ofTarget(room / 2 - 100)], leasesPerHello],
    [[ofPath(room / 2 - 100), ofTarget(room / 2 - 99)], 1],
    [[ofTarget(1000), ofPath(room - 1200), ofPath(1)], 2],
  ] as const)
    t.equal(fittingLeases(leases, 0), expected);
  const many = Array.from({ length: 70 }, () => ofPath(1000));
  t.equal(fittingLeases(many, 0), 59);
  t.equal(fittingLeases(many, 5), 59);
  t.equal(fittingLeases(many, 30), leasesPerHello, "all that are left");
});
