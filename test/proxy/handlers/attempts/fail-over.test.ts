import t from "tap";
import { failOver } from "../../../../proxy/handlers/attempts/fail-over.js";
import type { Admission, AdmissionOutcome } from "../../../../proxy/limiter/admission.js";
import { RequestRecord } from "../../../../proxy/request-record.js";
import type { TargetFailure } from "../../../../proxy/upstream/errors/failover-reason.js";
import type { ForwardResult } from "../../../../proxy/upstream/forwarded.js";
import type { Target } from "../../../../shared/domain/target-name.js";
import { failure } from "../../../../shared/error-code.js";
import { FakeExchange } from "../../fake-exchange.js";
import { fakeMetrics } from "../../fake-metrics.js";

const targets: readonly Target[] = ["a", "b", "c", "d"].map((provider) => ({
  provider,
  model: "m",
}));

/** How a target ends: `ok`, or `503`, `429/7` with a wait, or `-` without an answer. */
function ended(how: string, name: string): ForwardResult {
  const [status = "", retryAfter = ""] = how.split("/");
  const failed: TargetFailure | null =
    how === "ok"
      ? null
      : {
          isAnswered: how !== "-",
          status: how === "-" ? 502 : Number(status),
          retryAfterMs: retryAfter === "" ? null : Number(retryAfter) * 1000,
          isWorthRetrying: false,
          refusesCredentials: false,
          why: `${how} of ${name}`,
        };
  return {
    status: how === "ok" ? 200 : (failed?.status ?? 0),
    usage: null,
    executed: false,
    estimated: false,
    outcome: how === "ok" ? "complete" : "upstream_error",
    firstByteMonoMs: null,
    note: name,
    failed,
    finish: () => {},
  } as unknown as ForwardResult;
}

interface Run {
  /** How each target ends that is sent to, by its provider. */
  readonly ends: Readonly<Record<string, string>>;
  /** The targets without room, or how the daemon answers in place of a verdict. */
  readonly full?: readonly string[];
  readonly daemon?: AdmissionOutcome;
  /** The client leaves: when this target is asked for, or answers. */
  readonly leavesAt?: string;
  readonly leavesDuring?: "start" | "reroute" | "send";
}

async function run({ ends, full = [], daemon, leavesAt = "", leavesDuring }: Run) {
  const exchange = new FakeExchange();
  const record = new RequestRecord(0);
  record.attemptCount = 1;
  const sent: string[] = [];
  const asked: string[] = [];
  const admission = { target: targets[0]! as Target | null } as Admission;
  const metrics = fakeMetrics();
  const gateway = {
    metrics,
    config: { budgets: { unpriced: "allow" } },
    limiter: {
      async reroute(given: Admission, untried: readonly Target[]): Promise<AdmissionOutcome> {
        asked.push(untried.map(({ provider }) => provider).join(""));
        given.target = null;
        if (leavesDuring === "reroute") exchange.leave();
        if (daemon !== undefined) return daemon;
        const next = untried.find(({ provider }) => !full.includes(provider));
        if (next === undefined)
          return {
            kind: "refused",
            id: 1,
            key: null,
            breach: {
              dimension: "requests",
              scope: "provider",
              subject: "b",
              periodSeconds: 60,
              limit: 1,
              waitSeconds: 9,
            },
          } as unknown as AdmissionOutcome;
        given.target = next;
        return {
          kind: "admitted",
          admission: given,
          headers: {
            requests: { limit: 5, remaining: untried.length, resetSeconds: 1 },
            tokens: null,
          },
        } as unknown as AdmissionOutcome;
      },
    },
  };
  if (leavesDuring === "start") exchange.leave();
  const first = ended(ends["a"]!, "a");
  const result = await failOver(
    { gateway, exchange, record } as unknown as Parameters<typeof failOver>[0],
    {
      admission,
      targets,
      async send(target, headers, hasFallback) {
        record.attemptCount++;
        sent.push(
          `${target.provider}${hasFallback ? "+" : ""} ${headers.length > 0 ? headers[1] : ""}`,
        );
        if (leavesDuring === "send" && target.provider === leavesAt) exchange.leave();
        return ended(ends[target.provider]!, target.provider);
      },
    },
    first,
  );
  return { result, record, sent, asked, admission };
}

t.test("the first target that answers is the result, at any position", async (t) => {
  for (const [ends, sent, asked] of [
    [{ a: "503", b: "ok" }, ["b+ 5"], ["bcd"]],
    [{ a: "503", b: "404", c: "ok" }, ["b+ 5", "c+ 5"], ["bcd", "cd"]],
    [{ a: "-", b: "-", c: "429", d: "ok" }, ["b+ 5", "c+ 5", "d 5"], ["bcd", "cd", "d"]],
  ] as const) {
    const done = await run({ ends });
    const last = sent.at(-1)![0]!;
    t.same(done.sent, sent);
    t.same(done.asked, asked);
    t.match(done.result, { status: 200, failed: null, note: last });
    t.match(done.record, { target: { provider: last }, attemptCount: sent.length + 1 });
    t.equal(done.admission.target?.provider, last);
    t.same(
      done.record.earlierFailures!.map(({ target, why }) => [target.provider, why]),
      Object.entries(ends)
        .slice(0, -1)
        .map(([name, how]) => [name, `${how} of ${name}`]),
    );
  }
});

t.test("of failures alone the most useful is the result, and its target is recorded", async (t) => {
  for (const [ends, best] of [
    [{ a: "503", b: "503", c: "503", d: "503" }, "d"],
    [{ a: "503", b: "-", c: "-", d: "-" }, "a"],
    [{ a: "-", b: "404", c: "-", d: "-" }, "b"],
    [{ a: "404", b: "503", c: "404", d: "-" }, "b"],
    [{ a: "429/9", b: "429/3", c: "429/8", d: "429" }, "b"],
    [{ a: "404", b: "404", c: "429/5", d: "404" }, "c"],
    [{ a: "-", b: "-", c: "-", d: "-" }, "d"],
    [{ a: "429/2", b: "503", c: "429/1", d: "404" }, "c"],
    [{ a: "404", b: "404", c: "404", d: "503" }, "d"],
  ] as const) {
    const { result, record, admission, sent } = await run({ ends });
    t.equal(result.note, best, JSON.stringify(ends));
    t.equal(record.target!.provider, best, "the record has the target that gave it");
    t.equal(admission.target!.provider, "d", "the settle counts the last one");
    t.same(sent, ["b+ 5", "c+ 5", "d 5"], "the last has no fallback");
    t.equal(record.attemptCount, 4);
    t.equal(record.earlierFailures!.length, 4);
  }
});

t.test("targets without room are passed over; with none left the failure says why", async (t) => {
  const passed = await run({ ends: { a: "503", c: "404", d: "ok" }, full: ["b"] });
  t.same(passed.sent, ["c+ 5", "d+ 5"], "b is still untried");
  t.same(passed.asked, ["bcd", "bd"]);
  const none = await run({ ends: { a: "503", c: "404" }, full: ["b", "d"] });
  t.same(none.asked, ["bcd", "bd"]);
  t.match(none.result, { status: 503, outcome: "upstream_error" });
  t.match(none.result.note, /^no other target: .*b/);
  t.match(none.record, { target: { provider: "a" }, attemptCount: 2 });
  for (const [daemon, note] of [
    [{ kind: "unavailable" }, "no other target: the limiter daemon does not answer"],
    [{ kind: "denied", ended: null }, "no other target: the limiter daemon does not answer"],
    [{ kind: "failed", failure: failure("overloaded", "full") }, "no other target: full"],
  ] as const) {
    const { result, sent } = await run({ ends: { a: "429/3" }, daemon });
    t.match(result, { status: 429, note });
    t.same(sent, []);
  }
});

t.test("a client that is gone isn't served by another target", async (t) => {
  for (const [what, how, asked, sent, best] of [
    ["before", { leavesDuring: "start" }, [], [], "a"],
    ["while the daemon chooses", { leavesDuring: "reroute" }, ["bcd"], [], "a"],
    ["while the second answers", { leavesDuring: "send", leavesAt: "b" }, ["bcd"], ["b+ 5"], "b"],
  ] as const) {
    const done = await run({ ends: { a: "404", b: "503" }, ...how });
    done.result.finish();
    t.match(done.result, { status: 499, outcome: "client_gone" }, what);
    t.same([done.asked, done.sent], [asked, sent], what);
    t.equal(done.record.target!.provider, best, what);
  }
  const answered = await run({
    ends: { a: "404", b: "ok" },
    leavesDuring: "send",
    leavesAt: "b",
  });
  t.match(answered.result, { status: 200 }, "one that has answered is the result as it is");
});
