import t from "tap";
import type { Admission } from "../../../../proxy/limiter/admission.js";
import {
  type AdmissionRequest,
  admissionMessage,
  failOpenAdmission,
  grantedAdmission,
  rejectedOutcome,
} from "../../../../proxy/limiter/client/pending-admissions.js";
import { unlimitedLsn } from "../../../../shared/wire/lsn.js";

const [gpt, claude] = [
  { provider: "openai", model: "gpt-4o" },
  { provider: "anthropic", model: "claude" },
];
const caller = { userPath: "/team", credential: "authenticated" } as const;
const request: AdmissionRequest = {
  caller,
  targets: [gpt!, claude!],
  rerouted: null,
  submission: false,
  startedMonoMs: 11,
};
const running = (lsn: number): Admission => ({
  lease: 3,
  admittedAtMs: 50,
  lsn,
  userPath: "/team",
  keyId: "",
  target: gpt!,
  targetAtMs: 50,
  targetLsn: lsn,
  submission: false,
  startedMonoMs: 2,
  isSettled: false,
});
const verdict = {
  kind: "admitted",
  id: 7,
  target: 1,
  admittedAtMs: 100,
  lsn: 5,
  headers: null,
  key: null,
} as const;

t.test("a request asks for an admission, one whose target failed for another target", async (t) => {
  t.same(admissionMessage(7, { ...request, submission: true }, 0), {
    kind: "admit",
    id: 7,
    userPath: "/team",
    credential: "authenticated",
    targets: [gpt, claude],
    submission: true,
    read: 0,
  });
  t.same(admissionMessage(8, { ...request, rerouted: running(4), targets: [claude!] }, 6), {
    kind: "reroute",
    id: 8,
    lease: 3,
    targets: [claude],
    read: 6,
  });
});

t.test(
  "what a request is allowed by is asked for a key, which alone has a list there",
  async (t) => {
    const modelNames = ["gpt-4o"];
    for (const [credential, expected] of [
      ["h".repeat(43), modelNames],
      ["authenticated", undefined],
      [null, undefined],
    ] as const)
      t.same(
        (
          admissionMessage(
            7,
            {
              ...request,
              caller: { userPath: "/team", credential },
              modelNames,
            } as AdmissionRequest,
            0,
          ) as { modelNames?: unknown }
        ).modelNames,
        expected,
        String(credential),
      );
  },
);

t.test("what the daemon granted is what the settle will name", async (t) => {
  const granted = {
    lease: 7,
    admittedAtMs: 100,
    lsn: 5,
    userPath: "/team",
    keyId: "",
    target: claude,
    targetAtMs: 100,
    targetLsn: 5,
    submission: false,
    pricedOnly: false,
    startedMonoMs: 11,
    isSettled: false,
  };
  t.same(grantedAdmission(request, verdict), granted);
  t.same(grantedAdmission(request, { ...verdict, pricedOnly: true }), {
    ...granted,
    pricedOnly: true,
  });
  t.same(grantedAdmission(request, { ...verdict, key: { userPath: "/key", keyId: "key_1" } }), {
    ...granted,
    userPath: "/key",
    keyId: "key_1",
  });
  t.same(
    grantedAdmission({ ...request, submission: true }, verdict),
    { ...granted, target: null, targetAtMs: 0, targetLsn: 0, submission: true },
    "a submission counts at no target",
  );
  const rerouted = running(4);
  t.equal(grantedAdmission({ ...request, rerouted }, verdict), rerouted);
  t.same(rerouted, { ...running(4), target: claude, targetAtMs: 100, targetLsn: 5 });
  t.throws(() => grantedAdmission(request, { ...verdict, target: 2 }), /one of the targets/);
});

t.test("a request that goes unasked goes to its first target, which counts it later", async (t) => {
  const unasked = {
    lease: 0,
    admittedAtMs: 0,
    lsn: 0,
    userPath: "/team",
    keyId: "",
    target: gpt,
    targetAtMs: 0,
    targetLsn: 0,
    submission: false,
    pricedOnly: false,
    startedMonoMs: 11,
    isSettled: false,
  };
  t.same(failOpenAdmission(request, 0), unasked);
  t.same(failOpenAdmission(request, unlimitedLsn), {
    ...unasked,
    lsn: unlimitedLsn,
    targetLsn: unlimitedLsn,
  });
  t.same(failOpenAdmission({ ...request, submission: true }, unlimitedLsn), {
    ...unasked,
    lsn: unlimitedLsn,
    target: null,
    submission: true,
  });
  for (const [lsn, targetLsn] of [
    [4, 0],
    [unlimitedLsn, unlimitedLsn],
  ] as const) {
    const rerouted = running(lsn);
    t.equal(failOpenAdmission({ ...request, rerouted, targets: [claude!] }, 0), rerouted);
    t.same(rerouted, {
      ...running(lsn),
      target: claude,
      targetAtMs: 0,
      targetLsn,
      targetStartedMonoMs: request.startedMonoMs,
    });
  }
});

t.test("a refusal keeps the id by which the daemon remembers it, and why it was", async (t) => {
  const key = { userPath: "/key", keyId: "key_1" };
  const breach = {
    scope: "user_path",
    subject: "/team",
    periodSeconds: 60,
    dimension: "requests",
    cap: 2,
    waitSeconds: 43,
  } as const;
  const refused = { kind: "refused", id: 7, ...breach, key } as const;
  t.match(rejectedOutcome(refused), { kind: "refused", id: 7, breach, key });
  const exceeded = {
    kind: "exceeded",
    id: 8,
    scope: "user_path",
    subject: "/team",
    periodSeconds: 3600,
    amountUsd: 1,
    spentUsd: 2,
    endsAtMs: 5,
    headers: null,
    key,
  } as unknown as Parameters<typeof rejectedOutcome>[0];
  t.match(rejectedOutcome(exceeded), { kind: "exceeded", id: 8, headers: null, key });
  t.same(rejectedOutcome({ kind: "denied", id: 9, ended: "expired" } as never), {
    kind: "denied",
    ended: "expired",
  });
});
