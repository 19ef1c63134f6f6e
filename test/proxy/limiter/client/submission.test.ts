import t from "tap";
import type { AdmissionOutcome } from "../../../../proxy/limiter/admission.js";
import { unlimitedLsn } from "../../../../shared/wire/lsn.js";
import { exactly } from "../../../support/patterns/exactly.js";
import {
  admissionOf,
  ClientHarness,
  deadlineMs,
  expiryIntervalMs,
  gpt,
  linkedHarness,
  llama,
  nothing,
  promisesResolved,
} from "./client-harness.js";

const submitted = (harness: ClientHarness): { outcome: AdmissionOutcome | null } =>
  harness.ask("/team", [gpt], "authenticated", true);

const atNoTarget = { target: null, targetAtMs: 0, targetLsn: 0 };

t.test(
  "a submission is marked in its admit and in hellos, has no target, and is settled without one",
  async (t) => {
    const harness = linkedHarness();
    const asked = submitted(harness);
    const [admit] = harness.take();
    t.match(admit, exactly({ kind: "admit", userPath: "/team", targets: [gpt], submission: true }));
    const { id } = admit as { id: number };
    harness.receive({
      kind: "admitted",
      id,
      target: 0,
      admittedAtMs: 123,
      lsn: 9,
      headers: null,
      key: null,
    });
    await promisesResolved();
    const admission = admissionOf(asked);
    t.match(admission, { lease: id, lsn: 9, submission: true, ...atNoTarget });
    const request = await harness.granted();
    harness.lose();
    harness.connect();
    t.match(
      harness.take().at(-1),
      exactly({
        kind: "hello",
        leases: [
          { lease: id, admittedAtMs: 123, lsn: 9, submission: true, ...atNoTarget },
          { lease: request.lease, submission: false, target: gpt },
        ],
      }),
    );
    harness.welcome();
    harness.client.settle(admission, nothing, () => {});
    t.match(
      harness.take(),
      exactly([
        { kind: "settle", part: "request", lease: id, userPath: "/team", lsn: 9, ...atNoTarget },
      ]),
    );
    t.throws(() => harness.client.reroute(admission, [llama]), /runs at a target/);
  },
);

t.test(
  "a submission whose verdict is late: it is withdrawn, and counted with its settle if it went on, without a target",
  async (t) => {
    for (const failureMode of ["closed", "open"] as const) {
      const harness = linkedHarness({ failureMode });
      const asked = submitted(harness);
      const { id } = harness.take()[0] as { id: number };
      harness.advance(deadlineMs + expiryIntervalMs);
      await promisesResolved();
      harness.admits(id);
      if (failureMode === "open") harness.client.settle(admissionOf(asked), nothing, () => {});
      t.match(
        harness.take(),
        exactly([
          { part: "withdrawn", lease: id, admittedAtMs: 100, lsn: 5, ...atNoTarget },
          ...(failureMode === "open" ? [{ part: "request", lease: 0, lsn: 0, ...atNoTarget }] : []),
        ]),
        failureMode,
      );
    }
  },
);

t.test("a submission without a verdict is counted with its settle, without a target", async (t) => {
  const harness = new ClientHarness();
  harness.connect();
  harness.welcome({ limited: false });
  harness.take();
  const asked = submitted(harness);
  await promisesResolved();
  harness.client.settle(admissionOf(asked), nothing, () => {});
  t.match(
    harness.take(),
    exactly([
      {
        kind: "settle",
        part: "request",
        lease: 0,
        lsn: unlimitedLsn,
        userPath: "/team",
        ...atNoTarget,
      },
    ]),
  );
});

t.test("a request is no submission unless it says so", async (t) => {
  const harness = linkedHarness();
  void harness.client.admit({ userPath: "/team", credential: "authenticated" }, [gpt]);
  t.match(harness.take(), exactly([{ kind: "admit", submission: false }]));
});

t.test(
  "a request that isn't read yet is judged without a target, and admitted by nothing",
  async (t) => {
    const harness = linkedHarness();
    const caller = { userPath: "/team", credential: "authenticated" };
    const asked = async (answer: (id: number) => void): Promise<unknown> => {
      const refusal = harness.client.refusal(caller);
      const [admit] = harness.take();
      t.match(admit, exactly({ kind: "admit", userPath: "/team", targets: [], submission: false }));
      answer((admit as { id: number }).id);
      return await refusal;
    };
    const authorized = (id: number): void =>
      harness.receive({ kind: "authorized", id, userPath: "", keyId: "", models: undefined });
    t.equal(await asked(authorized), null);
    t.match(await asked((id) => harness.refuses(id)), { kind: "refused", breach: { cap: 10 } });
    t.match(await asked((id) => harness.receive({ kind: "denied", id, ended: null })), {
      kind: "denied",
    });
    t.match(await asked(() => harness.advance(deadlineMs + expiryIntervalMs)), {
      kind: "unavailable",
    });
    t.same(harness.take(), [], "nothing is settled or withdrawn");
  },
);

t.test("without the daemon, or without rules, nothing refuses a request unread", async (t) => {
  const caller = { userPath: "/team", credential: "authenticated" };
  const open = linkedHarness({ failureMode: "open" });
  open.lose();
  const waiting = open.client.refusal(caller);
  open.advance(deadlineMs + expiryIntervalMs);
  t.equal(await waiting, null);
  open.connect();
  open.welcome();
  t.same(
    open.take().map(({ kind }) => kind),
    ["hello"],
    "the daemon is told of no request",
  );
  const unlimited = new ClientHarness();
  unlimited.connect();
  unlimited.welcome({ limited: false });
  unlimited.take();
  t.equal(await unlimited.client.refusal(caller), null);
  t.same(unlimited.take(), []);
});

t.test("an answer that isn't a verdict admits nothing", async (t) => {
  const harness = linkedHarness();
  const asked = harness.ask();
  const [admit] = harness.take();
  const { id } = admit as { id: number };
  harness.receive({ kind: "authorized", id, userPath: "", keyId: "", models: undefined });
  await promisesResolved();
  t.match(asked.outcome, { kind: "unavailable" });
});
