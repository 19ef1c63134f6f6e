import t from "tap";
import { breakersMax } from "../../../proxy/bounds.js";
import { TargetHealth } from "../../../proxy/routing/target-health.js";
import type { ForwardResult } from "../../../proxy/upstream/forwarded.js";
import type { Target } from "../../../shared/domain/target-name.js";
import type { UpstreamLimitMode } from "../../../shared/domain/upstream-limits.js";
import { exactly } from "../../support/patterns/exactly.js";

const [a, b, c] = ["a", "b", "c"].map((provider): Target => ({ provider, model: "m" })) as [
  Target,
  Target,
  Target,
];

type Attempt = Pick<ForwardResult, "failed" | "outcome" | "note">;

const answered: Attempt = { failed: null, outcome: "complete", note: null };

function failed(status: number, more: object = {}): Attempt {
  return {
    failed: {
      why: String(status),
      status,
      refusesCredentials: false,
      isAnswered: true,
      retryAfterMs: null,
      isWorthRetrying: true,
      ...more,
    },
    outcome: "upstream_error",
    note: null,
  };
}

/** Opens at two failures, for a second; `told` is what it reports. */
function healthAt(mode: UpstreamLimitMode = "observe") {
  const clock = { nowMs: 0 };
  const notices: string[] = [];
  const health = new TargetHealth({
    monoMs: () => clock.nowMs,
    nowMs: () => 1_000_000 + clock.nowMs,
    configOf: () => ({
      breakerFailures: 2,
      breakerOpenMs: 1000,
      upstreamLimits: { mode, trustsLimits: true, adaptive: null },
    }),
    onOpened: ({ provider }, why, openMs) => notices.push(`${provider} opens: ${why}, ${openMs}`),
    onClosed: ({ provider }) => notices.push(`${provider} closes`),
    onRefused: ({ provider }, why) => notices.push(`${provider} refuses: ${why}`),
  });
  const note = (target: Target, ...attempts: Attempt[]): void => {
    for (const attempt of attempts) health.note(target, clock.nowMs, attempt);
  };
  const order = (targets: readonly Target[]): string => {
    const names = (some: readonly Target[]): string =>
      some.map(({ provider }) => provider).join("");
    const { targets: first, all } = health.candidates(targets);
    return `${names(first)}/${names(all)}`;
  };
  return { clock, notices, health, note, order };
}

t.test(
  "the last success and the last failure of a provider are known, and when they were",
  async (t) => {
    const { clock, health, note } = healthAt();
    t.same(health.lastOf("a"), { answeredAtMs: null, failure: null });
    note(a, failed(503));
    clock.nowMs = 5;
    note(a, answered);
    note(b, failed(404));
    t.same(health.lastOf("a"), {
      answeredAtMs: 1_000_005,
      failure: { atMs: 1_000_000, model: a.model, why: "503" },
    });
    t.same(
      health.lastOf("b"),
      { answeredAtMs: null, failure: null },
      "a missing model says nothing",
    );
  },
);

t.test("what passes as it is, and a session, speak for their target and against it", async (t) => {
  const direct = (status: number, outcome: ForwardResult["outcome"], executed = true) => ({
    status,
    outcome,
    executed,
    note: executed ? null : "ECONNREFUSED",
  });
  const table = [
    [direct(200, "complete"), "answered"],
    [direct(101, "complete"), "answered"],
    [direct(502, "upstream_error", false), "ECONNREFUSED"],
    [direct(200, "upstream_cut"), "200"],
    [direct(500, "upstream_error"), "500"],
    [direct(429, "upstream_error"), "429"],
    [direct(400, "upstream_error"), null],
    [direct(401, "upstream_error"), null],
    [direct(499, "client_gone"), null],
    [direct(503, "overloaded"), null],
  ] as const;
  for (const [attempt, expected] of table) {
    const { health, note } = healthAt();
    note(a, failed(503));
    health.noteDirect(a, 0, attempt);
    const [known] = health.report();
    const what = `${attempt.status} ${attempt.outcome}`;
    if (expected === "answered") t.equal(known, undefined, what);
    else if (expected === null) t.match(known, { failures: 1, why: "503", state: "failing" }, what);
    else t.match(known, { failures: 2, why: expected, state: "open", retryInMs: 1000 }, what);
  }
});

t.test("those that are left alone come last, and no probe is taken", async (t) => {
  const { clock, health, note, order } = healthAt();
  const names = (): string =>
    health
      .healthyFirst([a, b, c])
      .map(({ provider }) => provider)
      .join("");
  t.equal(names(), "abc");
  note(a, failed(503), failed(503));
  note(b, failed(503));
  t.equal(names(), "bca");
  clock.nowMs = 1000;
  t.equal(names(), "abc", "its time is over");
  t.equal(order([a, b]), "ab/ab", "the probe is still to be taken");
  note(a, failed(502));
  health.noteAnswered(b, 1000);
  t.match(health.report(), exactly([{ target: a, failures: 3, why: "502" }]));
});

t.test("while all is well the order is handed through as it is", async (t) => {
  const { health, note } = healthAt();
  const targets = [a, b];
  t.equal(health.candidates(targets).targets, targets);
  note(a, answered, failed(404), answered);
  t.same(health.counts(), { failing: 0, open: 0 });
  note(a, failed(503));
  t.equal(health.candidates(targets).targets, targets, "one failure isn't enough");
  t.same(health.counts(), { failing: 1, open: 0 });
  note(a, answered, failed(503));
  t.same(health.candidates(targets).targets, targets, "they must be in a row");
});

t.test(
  "a target that keeps failing is left out while another is well, then tried once",
  async (t) => {
    const { clock, notices, health, note, order } = healthAt();
    note(b, failed(503), failed(500));
    t.equal(order([a, b, c]), "ac/acb");
    t.ok(health.isOpen(b));
    note(c, failed(503), failed(503, { retryAfterMs: 500 }));
    note(a, failed(429), failed(429, { retryAfterMs: 9000 }));
    t.equal(order([a, b, c]), "bca/bca", "when none is well: the one that may recover first");
    t.equal(order([a]), "a/a", "a direct model has no other");
    clock.nowMs = 1000;
    t.equal(order([b, a]), "b/ba", "its time is over: this request may be its probe");
    t.equal(order([b, c, a]), "c/cba", "and no other one");
    note(b, answered);
    t.equal(order([a, b, c]), "b/bca");
    t.same(notices, ["b opens: 500, 1000", "c opens: 503, 1000", "a opens: 429, 9000", "b closes"]);
  },
);

t.test("a target after a healthy one keeps its probe", async (t) => {
  const { clock, note, order } = healthAt();
  note(b, failed(503), failed(503));
  clock.nowMs = 1000;
  t.equal(order([a, b]), "ab/ab");
  t.equal(order([a, b]), "ab/ab");
  t.equal(order([b, a]), "ba/ba");
  t.equal(order([b, a]), "a/ab");
});

t.test("what speaks against a target, and what doesn't", async (t) => {
  const table: readonly (readonly [what: string, attempt: Attempt, counts: boolean])[] = [
    ["a server error", failed(500), true],
    ["too many requests", failed(429), true],
    ["no connection, or silence", failed(502, { isAnswered: false }), true],
    ["our key is refused", failed(502, { refusesCredentials: true }), true],
    ["a stream that is cut", { failed: null, outcome: "upstream_cut", note: "reset" }, true],
    ["a missing model", failed(404), false],
    ["a request of the wrong size", failed(400), false],
    ["a client that leaves", { failed: null, outcome: "client_gone", note: null }, false],
    ["our own lack", { failed: null, outcome: "overloaded", note: null }, false],
    ["a bug of ours", { failed: null, outcome: "internal_error", note: null }, false],
  ];
  for (const [what, attempt, counts] of table) {
    const { health, note } = healthAt();
    note(a, attempt);
    t.equal(health.counts().failing, counts ? 1 : 0, what);
  }
});

t.test("a refused provider key is logged once, until the target answers again", async (t) => {
  const { notices, note } = healthAt();
  const refused = {
    ...failed(502, { refusesCredentials: true }),
    note: "the provider answered 401",
  };
  note(a, refused, failed(500), refused, answered, refused);
  t.same(
    notices.filter((line) => line.includes("refuses")),
    ["a refuses: the provider answered 401", "a refuses: the provider answered 401"],
  );
});

t.test("the report names each with its state; the number of them is bounded", async (t) => {
  const { clock, health, note } = healthAt();
  note(a, failed(500));
  note(b, failed(500), failed(500));
  clock.nowMs = 400;
  t.same(health.report(), [
    { target: a, state: "failing", failures: 1, why: "500", retryInMs: 0 },
    { target: b, state: "open", failures: 2, why: "500", retryInMs: 600 },
  ]);
  for (let i = 0; i < breakersMax + 10; i++)
    health.note({ provider: "p", model: String(i) }, 0, failed(500));
  t.equal(health.counts().failing, breakersMax);
  t.notOk(health.isOpen(b), "the oldest are forgotten");
});

t.test("a stream that broke off counts as a failure, with no wait of the provider's", async (t) => {
  const { health, note, clock, notices } = healthAt();
  const cut: Attempt = { failed: null, outcome: "upstream_cut", note: "reset" };
  note(a, cut);
  t.same(health.counts(), { failing: 1, open: 0 });
  note(a, cut);
  t.same(health.counts(), { failing: 1, open: 1 });
  t.same(notices, ["a opens: reset, 1000"]);
  note(b, failed(503));
  t.same(health.counts(), { failing: 2, open: 1 });
  clock.nowMs = 400;
  t.same(health.report(), [
    { target: a, state: "open", failures: 2, why: "reset", retryInMs: 600 },
    { target: b, state: "failing", failures: 1, why: "503", retryInMs: 0 },
  ]);
});

t.test("why our key was refused is said in the provider's words, or by its status", async (t) => {
  const { note, notices } = healthAt();
  note(a, failed(401, { refusesCredentials: true }));
  note(b, { ...failed(401, { refusesCredentials: true }), note: "the key has expired" });
  t.same(notices, ["a refuses: 401", "b refuses: the key has expired"]);
});

t.test("what a client breaks off speaks neither for a target nor against it", async (t) => {
  const { health, note } = healthAt();
  note(a, failed(503), { ...answered, outcome: "client_gone" }, failed(503));
  t.ok(health.isOpen(a));
});

t.test("a request that has one target is no probe of it", async (t) => {
  const { clock, note, order } = healthAt();
  note(b, failed(503), failed(503));
  clock.nowMs = 1000;
  t.same([order([b]), order([b])], ["b/b", "b/b"]);
  t.equal(order([b, a]), "ba/ba", "the next one that has another may be it");
  t.equal(order([b, a]), "a/ab");
});

t.test("one target that is left alone is enough to change the order", async (t) => {
  const { health, note } = healthAt();
  note(a, failed(503), failed(503));
  t.same(health.healthyFirst([a, b]), [b, a]);
});

t.test("an answer speaks for its own target, if it began after that failed", async (t) => {
  const { clock, notices, health, note } = healthAt();
  clock.nowMs = 500;
  note(a, failed(503));
  note(b, answered);
  t.same(health.counts(), { failing: 1, open: 0 });
  note(a, answered);
  t.same([health.counts(), notices], [{ failing: 0, open: 0 }, []], "it was never left alone");
  note(a, failed(503), failed(503));
  t.same(notices, ["a opens: 503, 1000"]);
  health.note(a, 499, answered);
  health.noteAnswered(a, 499);
  t.ok(health.isOpen(a));
  clock.nowMs = 9000;
  t.match(health.report(), exactly([{ state: "open", retryInMs: 0 }]), "its time is over");
  health.noteAnswered(a, 500);
  t.same(notices, ["a opens: 503, 1000", "a closes"]);
});

t.test("why the last attempt failed is known of each kind of it", async (t) => {
  const cut = (note: string | null): Attempt => ({ failed: null, outcome: "upstream_cut", note });
  for (const [attempt, why] of [
    [failed(503), "503"],
    [{ ...failed(503), note: "its words" }, "503"],
    [cut("reset"), "reset"],
    [cut(null), ""],
  ] as const) {
    const { health, note } = healthAt();
    note(a, attempt);
    t.same(health.lastOf("a"), {
      answeredAtMs: null,
      failure: { atMs: 1_000_000, model: "m", why },
    });
    t.match(health.report(), exactly([{ why }]));
  }
  const { clock, health } = healthAt();
  const direct = { status: 500, executed: true, note: null };
  health.noteDirect(a, 0, { ...direct, outcome: "upstream_error" });
  clock.nowMs = 5;
  health.noteDirect(a, 0, { ...direct, status: 200, outcome: "complete" });
  t.same(health.lastOf("a"), {
    answeredAtMs: 1_000_005,
    failure: { atMs: 1_000_000, model: "m", why: "500" },
  });
});

t.test("a 429 that names its wait opens no circuit where the daemon heeds it", async (t) => {
  const refused = failed(429, { retryAfterMs: 3000 });
  const avoiding = healthAt("avoid");
  avoiding.note(a, refused, refused, refused);
  t.equal(avoiding.order([a, b]), "ab/ab");
  avoiding.note(a, failed(429), failed(429));
  t.equal(avoiding.order([a, b]), "b/ba", "without a wait it is a failure like any other");
  const observing = healthAt();
  observing.note(a, refused, refused);
  t.equal(observing.order([a, b]), "b/ba");
});
