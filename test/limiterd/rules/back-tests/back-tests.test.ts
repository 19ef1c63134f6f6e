import t from "tap";
import type { BackTestReport } from "../../../../shared/api/rule-item.js";
import {
  ask,
  askFor,
  executed,
  pathRule,
  refusal,
  settleOf,
  startDaemon,
  type TestDaemon,
} from "../../in-memory-daemon.js";
import { spend, spending } from "../../usage/usage-fixture.js";

const start = Date.parse("2026-03-10T12:00:00Z");
const rule = { user_path: "/team", limit_key: { period: "minute" }, max_requests: 2 };

async function backTest(daemon: TestDaemon, body: object): Promise<BackTestReport> {
  let report = (await ask(daemon, "rate-limits.test", body)) as unknown as BackTestReport;
  while (report.next !== null)
    report = (await ask(daemon, "rate-limits.test", {
      ...body,
      after: report.next,
    })) as unknown as BackTestReport;
  return report;
}

/** A request each second, each of two seconds. */
function record(daemon: TestDaemon, count: number): void {
  const peer = daemon.proxy("p1");
  for (let i = 0; i < count; i++) {
    daemon.nowMs += 1000;
    spend(peer, i + 1, "/team/app", { latencyMs: 2000, inputTokens: 6, outputTokens: 4 });
  }
}

t.test("a rule is judged by what was recorded, and nothing is changed", async (t) => {
  const daemon = startDaemon([], { nowMs: start });
  record(daemon, 10);
  t.same(await backTest(daemon, rule), {
    start: "2026-03-03T12:00:10.000Z",
    end: "2026-03-10T12:00:10.000Z",
    oldest_record_at: "2026-03-10T12:00:01.000Z",
    requests: 10,
    refused: 7,
    refused_for: { requests: 7, tokens: 0, concurrent: 0, children: 0, banned: 0 },
    first_refused_at: "2026-03-10T12:00:02.000Z",
    last_refused_at: "2026-03-10T12:00:08.000Z",
    days: [{ date: "2026-03-10", requests: 10, refused: 7 }],
    paths: [{ user_path: "/team/app", refused: 7 }],
    lowest_caps: { max_requests: 9 },
    late: 0,
    progress: 1,
    next: null,
    server_time: "2026-03-10T12:00:10.000Z",
  });
  t.match(await ask(daemon, "rate-limits.list", {}), { rate_limits: { length: 0 } });
  t.equal(daemon.state.backTests.size, 0);
  t.match(
    await backTest(daemon, { ...rule, limit_key: { period: "concurrent" }, max_requests: 1 }),
    { refused: 5, lowest_caps: { max_requests: 2 } },
  );
  t.match(
    await backTest(daemon, {
      ...{ scope: "provider", subject: "nobody", days: 1 },
      ...{ limit_key: rule.limit_key, max_requests: 1 },
    }),
    { requests: 0, refused: 0, inert: /nobody/, start: "2026-03-09T12:00:10.000Z" },
    "one that would do nothing says so",
  );
});

t.test("a background response counts with its final usage, not with its estimate", async (t) => {
  const daemon = startDaemon([], { nowMs: start });
  const peer = daemon.proxy("p1");
  const recorded = { responseId: "resp_1", requestId: "r" };
  spend(peer, 1, "/team/app", { ...recorded, inputTokens: 400, outputTokens: 600 });
  daemon.nowMs += 1000;
  peer.send({
    ...spending(2, "/", { ...recorded, inputTokens: 10, outputTokens: 20 }),
    ...{ part: "final", target: null, tokens: 0 },
  });
  daemon.nowMs += 1000;
  spend(peer, 3, "/team/app", { inputTokens: 1, outputTokens: 1 });
  await daemon.commit();
  const hour = { user_path: "/team", limit_key: { period: "hour" } };
  for (const [caps, lowest] of [
    [{ max_tokens: 500 }, { max_tokens: 31 }],
    [{ max_input_tokens: 500 }, { max_input_tokens: 11 }],
    [{ max_output_tokens: 500 }, { max_output_tokens: 21 }],
  ] as const)
    t.match(await backTest(daemon, { ...hour, ...caps }), { refused: 0, lowest_caps: lowest });
  const { lowest_caps: costs } = await backTest(daemon, { ...hour, max_cost: 1 });
  t.match(costs, { max_cost: 91e-12 });
});

t.test("a rule that was in force refuses nothing of what it let through", async (t) => {
  const enforced = pathRule("/team", 60, { requests: 3, tokens: 100 });
  const daemon = startDaemon([enforced], { nowMs: start });
  const peer = daemon.proxy("p1");
  let seq = 0;
  let refused = 0;
  for (let i = 0; i < 300; i++) {
    daemon.nowMs += (i * 7919) % 23_000;
    const begun = daemon.nowMs;
    const lease = askFor(peer, i + 2, `/team/${i % 3}`);
    if (lease === null) refused++;
    daemon.nowMs += (i * 104_729) % 9000;
    if (lease === null) continue;
    const latencyMs = daemon.nowMs - begun;
    peer.send({
      ...settleOf(lease, ++seq, (i * 31) % 70, { started: latencyMs }),
      record: executed({ inputTokens: (i * 31) % 70, outputTokens: 0, latencyMs }),
    });
  }
  t.ok(refused > 20, "it has refused some");
  const body = { ...rule, max_requests: 3, max_tokens: 100 };
  t.match(await backTest(daemon, body), { requests: seq, refused: 0 });
  t.ok((await backTest(daemon, { ...body, max_requests: 2 })).refused > 0);
});

t.test("a long one is answered in parts, and each part goes on", async (t) => {
  const daemon = startDaemon([], { nowMs: start - 3_600_000 });
  const peer = daemon.proxy("p1");
  for (let i = 0; i < 45_000; i++) {
    if (i % 30 === 0) daemon.nowMs += 1000;
    peer.send(spending(i + 1, `/team/${i % 7}`));
    if (i % 5000 === 0) await daemon.commit();
  }
  const first = (await ask(daemon, "rate-limits.test", rule)) as unknown as BackTestReport;
  t.match(first, { next: "1", requests: 0 });
  t.match(await refusal(ask(daemon, "rate-limits.test", { ...rule, days: 1, after: "1" })), {
    param: "after",
    message: /another rule/,
  });
  t.ok(first.progress > 0.1 && first.progress < 0.9);
  const cursors: (string | null)[] = [];
  let report = first;
  while (report.next !== null) {
    const next = (await ask(daemon, "rate-limits.test", {
      ...rule,
      after: report.next,
    })) as unknown as BackTestReport;
    t.ok(next.progress > report.progress, "it is nearer to its end");
    cursors.push(next.next);
    report = next;
  }
  t.ok(cursors.length >= 3);
  t.match(report, { requests: 45_000, late: 0, progress: 1 });
  t.match(await refusal(ask(daemon, "rate-limits.test", { ...rule, after: "1" })), {
    status: 400,
    param: "after",
    message: /has ended/,
  });
});

t.test("two back-tests run at a time; an abandoned one is forgotten", async (t) => {
  const daemon = startDaemon([], { nowMs: start });
  const peer = daemon.proxy("p1");
  for (let i = 0; i < 25_000; i++) peer.send(spending(i + 1, "/team"));
  const begin = async (): Promise<unknown> => {
    daemon.nowMs += 1000;
    return (await ask(daemon, "rate-limits.test", rule))["next"];
  };
  t.same([await begin(), await begin(), await begin()], ["1", "2", "3"]);
  t.equal(daemon.state.backTests.size, 2);
  t.match(await refusal(ask(daemon, "rate-limits.test", { ...rule, after: "1" })), {
    param: "after",
  });
  daemon.state.backTests.forgetIdle(daemon.nowMs + 60_000);
  t.equal(daemon.state.backTests.size, 1);
  daemon.state.backTests.forgetIdle(daemon.nowMs + 61_000);
  t.equal(daemon.state.backTests.size, 0);
});

t.test("what can't be judged is refused", async (t) => {
  const daemon = startDaemon([], { nowMs: start });
  for (const [body, expected] of [
    [null, { param: "body" }],
    [
      { ...rule, days: 0 },
      { param: "days", message: "days must be an integer from 1 to 31, not 0" },
    ],
    [{ ...rule, days: 32 }, { param: "days" }],
    [{ ...rule, max_requests: 0 }, { param: "max_requests" }],
    [{ ...rule, replaces: {} }, { param: "replaces" }],
    [{ ...rule, after: "x" }, { param: "after" }],
    [{ ...rule, after: "7" }, { param: "after" }],
  ] as const)
    t.match(await refusal(ask(daemon, "rate-limits.test", body)), { status: 400, ...expected });
  const off = startDaemon([], { nowMs: start, usageEnabled: false });
  t.match(await refusal(ask(off, "rate-limits.test", rule)), {
    message: "usage isn't tracked: usage.enabled is false",
  });
});
