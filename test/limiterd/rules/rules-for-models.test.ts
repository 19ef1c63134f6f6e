/** Rules on user paths that are for some models: where they differ from the others. */
import t from "tap";
import type { RulePage } from "../../../shared/api/rule-item.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import type { Target } from "../../../shared/domain/target-name.js";
import type { Admitted, Refused } from "../../../shared/wire/message-from-daemon.js";
import { exactly } from "../../support/patterns/exactly.js";
import {
  ask,
  executed,
  leaseOf,
  pathRule,
  settleOf,
  startDaemon,
  type TestDaemon,
  type TestPeer,
} from "../in-memory-daemon.js";

const opus = { provider: "anthropic", model: "claude-opus-4" };
const mini = { provider: "openai", model: "gpt-4o-mini" };
const twenty: RuleDefinition = {
  ...pathRule("/interns", 60, { requests: 2, tokens: 1000 }),
  models: "claude-opus-* openai/o3",
};

function admit(
  peer: TestPeer,
  id: number,
  targets: readonly Target[],
  { userPath = "/interns/ann", submission = false } = {},
): Admitted | Refused {
  peer.send({
    kind: "admit",
    id,
    userPath,
    credential: "authenticated",
    targets,
    submission,
    read: 0,
  });
  return peer.received.at(-1) as Admitted | Refused;
}

/** Requests, tokens and slots of each rule, by its name. */
async function counts(daemon: TestDaemon): Promise<Record<string, readonly number[]>> {
  const page = (await ask(daemon, "rate-limits.list", null)) as unknown as RulePage;
  return Object.fromEntries(
    page.rate_limits.map((rule) => [
      [rule.subject, rule.period_label, ...(rule.models ?? [])].join(" "),
      [rule.requests_used, rule.tokens_used, rule.in_flight],
    ]),
  );
}

t.test("it counts the attempts at its models alone, and names them when it refuses", async (t) => {
  const all = pathRule("/interns", 60, { requests: 10 });
  const daemon = startDaemon([all, twenty]);
  const peer = daemon.proxy("p");
  const first = admit(peer, 1, [opus]) as Admitted;
  t.match(admit(peer, 2, [opus]), { kind: "admitted" });
  t.match(admit(peer, 3, [opus]), {
    kind: "refused",
    subject: "/interns",
    cap: 2,
    models: twenty.models,
  });
  const other = admit(peer, 4, [mini]) as Admitted;
  t.match(other, { kind: "admitted", headers: { requests: { limit: 10, remaining: 7 } } });
  t.match(admit(peer, 5, [opus, mini]), { kind: "admitted", target: 1 }, "the next target");
  t.same(await counts(daemon), {
    "/interns minute": [4, 0, 4],
    "/interns minute claude-opus-* openai/o3": [2, 0, 2],
  });
  peer.send(settleOf(leaseOf(first, "/interns/ann", opus), 1, 70));
  peer.send(settleOf(leaseOf(other, "/interns/ann", mini), 2, 5));
  t.same((await counts(daemon))["/interns minute claude-opus-* openai/o3"], [2, 70, 1]);
});

t.test("the rule with the least left gives the headers, whichever it is", async (t) => {
  const daemon = startDaemon([pathRule("/interns", 60, { requests: 3 }), twenty]);
  const peer = daemon.proxy("p");
  t.match(admit(peer, 1, [opus]), { headers: { requests: { limit: 2, remaining: 1 } } });
  t.match(admit(peer, 2, [mini]), { headers: { requests: { limit: 3, remaining: 1 } } });
});

t.test("a failed attempt counts, its slot is free, and the next target is asked", async (t) => {
  const gauge: RuleDefinition = { ...pathRule("/", 0, { requests: 1 }), models: "claude-*" };
  const daemon = startDaemon([gauge, twenty, { ...twenty, models: "gpt-*", maxRequests: 1 }]);
  const peer = daemon.proxy("p");
  t.match(admit(peer, 1, [opus, mini]), { kind: "admitted", target: 0 });
  t.match(admit(peer, 2, [opus]), { kind: "refused", dimension: "concurrent" });
  peer.send({ kind: "reroute", id: 3, lease: 1, targets: [mini], read: 0 });
  t.match(peer.received.at(-1), { kind: "admitted", id: 3, target: 0 });
  t.same(await counts(daemon), {
    "/ concurrent claude-*": [0, 0, 0],
    "/interns minute claude-opus-* openai/o3": [1, 0, 0],
    "/interns minute gpt-*": [1, 0, 1],
  });
  peer.send({ kind: "reroute", id: 4, lease: 1, targets: [mini], read: 0 });
  t.match(peer.received.at(-1), { kind: "refused", id: 4, models: "gpt-*" });
});

t.test("each child of a template counts alone; a submission isn't counted", async (t) => {
  const each = { ...twenty, perChild: true, maxRequests: 1 };
  const daemon = startDaemon([each]);
  const peer = daemon.proxy("p");
  t.match(admit(peer, 1, [opus], { submission: true }), { kind: "admitted", headers: null });
  t.match(admit(peer, 2, [opus]), { kind: "admitted" });
  t.match(admit(peer, 3, [opus]), { kind: "refused", subject: "/interns/ann" });
  t.match(admit(peer, 4, [opus], { userPath: "/interns/bob/x" }), { kind: "admitted" });
  t.match(admit(peer, 5, [opus], { userPath: "/interns" }), { kind: "admitted", headers: null });
  const key = { user_path: "/interns", period: "minute", models: each.models!.split(" ") };
  t.match(await ask(daemon, "rate-limits.children", key), { total: 2 });
  const query = { ...key, models: "openai/o3,CLAUDE-opus-*" };
  t.match(await ask(daemon, "rate-limits.children", query), { total: 2 }, "as a query has it");
});

t.test("it outlives a restart, with its counts", async (t) => {
  const daemon = startDaemon([]);
  const body = {
    user_path: "/interns",
    limit_key: { period: "minute" },
    models: ["openai/O3", "claude-opus-*"],
    max_requests: 2,
  };
  await ask(daemon, "rate-limits.put", body);
  admit(daemon.proxy("p"), 1, [opus]);
  await daemon.snapshot();
  const { store, nowMs } = daemon;
  const next = startDaemon([], { store, nowMs });
  t.same(await counts(next), { "/interns minute claude-opus-* openai/o3": [1, 0, 0] });
  const peer = next.proxy("p");
  t.match(admit(peer, 2, [opus]), { kind: "admitted" });
  t.match(admit(peer, 3, [opus]), { kind: "refused" });
});

t.test("the same path and period with other models is another rule", async (t) => {
  const plain = pathRule("/interns", 60, { requests: 5 });
  const daemon = startDaemon([plain, twenty, { ...twenty, models: "gpt-*" }]);
  const key = { user_path: "/interns", limit_key: { period: "minute" } };
  await ask(daemon, "rate-limits.put", { ...key, models: ["gpt-*"], max_requests: 9 });
  await ask(daemon, "rate-limits.delete", { ...key, models: ["OPENAI/o3", "claude-opus-*"] });
  t.same(Object.keys(await counts(daemon)), ["/interns minute", "/interns minute gpt-*"]);
  await t.rejects(ask(daemon, "rate-limits.delete", { ...key, models: ["o3"] }), {
    message: /no minute rule on user_path \/interns on o3/,
  });
  const pages: unknown[] = [];
  for (let after: string | null = null; ; ) {
    const page: RulePage = (await ask(daemon, "rate-limits.list", {
      after,
      limit: 1,
    })) as unknown as RulePage;
    pages.push(...page.rate_limits.map(({ models, max_requests }) => [models, max_requests]));
    if (page.next === null) break;
    after = page.next;
  }
  t.same(pages, [
    [undefined, 5],
    [["gpt-*"], 9],
  ]);
});

t.test("an explanation has it with its target; the caller's own status has it too", async (t) => {
  const daemon = startDaemon([pathRule("/interns", 60, { requests: 5 }), twenty]);
  const peer = daemon.proxy("p");
  admit(peer, 1, [opus]);
  admit(peer, 2, [opus]);
  const models = twenty.models!.split(" ");
  const both = { user_path: "/interns/x", targets: [opus, mini] };
  const explained = exactly({
    verdict: { admitted: true, target: "openai/gpt-4o-mini" },
    rules: [{ subject: "/interns", requests_used: 2 }],
    targets: [
      {
        admits: false,
        message:
          "rate limit exceeded for /interns on claude-opus-*, openai/o3: minute request limit of 2 reached",
        rules: [{ models, requests_used: 2, breached: ["requests"] }],
      },
      { admits: true, rules: [] },
    ],
  });
  t.match(await ask(daemon, "explain", both), explained);
  const one = { user_path: "/interns/x", targets: [opus] };
  t.match(await ask(daemon, "explain", one), {
    verdict: { admitted: false, rule: { subject: "/interns", models } },
  });
  const today = { start_date: "2026-01-01", end_date: "2026-01-01" };
  const { rate_limits: limits } = await ask(daemon, "usage.status", {
    user_path: "/interns/x",
    ...today,
  });
  const status = exactly([
    { subject: "/interns", requests_used: 2, max_requests: 5 },
    { subject: "/interns", requests_used: 2, max_requests: 2, models, exhausted: true },
  ]);
  t.match(limits, status);
});

t.test("a back-test judges the recorded requests for these models alone", async (t) => {
  const daemon = startDaemon([]);
  const peer = daemon.proxy("p");
  for (let i = 1; i <= 6; i++) {
    const target = i % 2 === 0 ? mini : opus;
    const lease = leaseOf(admit(peer, i, [target]) as Admitted, "/interns/ann", target);
    peer.send({ ...settleOf(lease, i, 10), record: executed({ requestId: `r${i}`, ...target }) });
  }
  const rule = {
    user_path: "/interns",
    limit_key: { period: "minute" },
    models: ["claude-*"],
    max_requests: 2,
  };
  t.match(await ask(daemon, "rate-limits.test", rule), { requests: 3, refused: 1, next: null });
});

const ban: RuleDefinition = {
  ...pathRule("/interns", 60, { requests: 0 }),
  models: "anthropic/* claude-*",
};

t.test("a cap of 0 bans its models; a target that isn't banned is taken", async (t) => {
  const daemon = startDaemon([ban, pathRule("/interns", 60, { requests: 2 })]);
  const peer = daemon.proxy("p");
  const banned = {
    kind: "refused",
    subject: "/interns",
    dimension: "banned",
    cap: 0,
    models: ban.models,
  };
  t.match(admit(peer, 1, [opus]), banned);
  t.match(admit(peer, 2, [opus, mini]), { kind: "admitted", target: 1 });
  peer.send({ kind: "reroute", id: 3, lease: 2, targets: [opus], read: 0 });
  t.match(peer.received.at(-1), { ...banned, id: 3 });
  t.match(admit(peer, 4, [opus], { userPath: "/else" }), { kind: "admitted" });
  t.match(admit(peer, 5, [mini]), { kind: "admitted" });
  t.match(admit(peer, 6, [mini]), { kind: "refused", dimension: "requests" });
  t.match(admit(peer, 7, [opus, mini]), { kind: "refused", dimension: "requests" });
  t.match(admit(peer, 8, [opus]), banned, "waiting wouldn't help");
  t.same(await counts(daemon), {
    "/interns minute": [2, 0, 2],
    "/interns minute anthropic/* claude-*": [0, 0, 0],
  });
});

t.test("of two targets the one that only lacks room is reported, not the ban", async (t) => {
  const full = { ...pathRule("/interns", 3600, { requests: 1 }), models: "gpt-*" };
  const daemon = startDaemon([ban, full]);
  const peer = daemon.proxy("p");
  t.match(admit(peer, 1, [mini]), { kind: "admitted" });
  for (const [id, targets] of [
    [2, [opus, mini]],
    [3, [mini, opus]],
  ] as const)
    t.match(admit(peer, id, targets), { dimension: "requests", models: "gpt-*" });
});

t.test("each child of a template, and at once, may be banned too", async (t) => {
  const daemon = startDaemon([
    { ...ban, perChild: true },
    { ...ban, subject: "/team", periodSeconds: 0 },
  ]);
  const peer = daemon.proxy("p");
  t.match(admit(peer, 1, [opus]), { dimension: "banned", subject: "/interns/ann" });
  t.match(admit(peer, 2, [opus], { userPath: "/interns" }), { kind: "admitted" });
  t.match(admit(peer, 3, [opus], { userPath: "/team/x" }), {
    dimension: "banned",
    subject: "/team",
    periodSeconds: 0,
  });
});

t.test(
  "a ban in explanations, refusals, the caller's status, back-tests and the store",
  async (t) => {
    const written = startDaemon([]);
    const body = {
      user_path: "/interns",
      limit_key: { period: "minute" },
      models: ["claude-*", "anthropic/*"],
      max_requests: 0,
    };
    admit(written.proxy("p"), 1, [opus]);
    await ask(written, "rate-limits.put", body);
    const { store, nowMs } = written;
    await written.snapshot();
    const daemon = startDaemon([], { store, nowMs });
    const peer = daemon.proxy("p");
    t.match(admit(peer, 1, [opus]), { dimension: "banned" }, "after a restart");
    const models = ban.models!.split(" ");
    const message =
      "model not allowed for /interns on anthropic/*, claude-*: minute rule with max_requests 0";
    const user_path = "/interns/x";
    t.match(
      await ask(daemon, "explain", { user_path, targets: [opus] }),
      exactly({
        verdict: {
          admitted: false,
          message,
          dimension: "banned",
          cap: 0,
          retry_after: null,
          admitted_at: null,
          needs_slot: false,
        },
        targets: [
          {
            admits: false,
            message,
            retry_after: null,
            rules: [{ models, max_requests: 0, breached: ["banned"], retry_after: null }],
          },
        ],
      }),
    );
    t.match(await ask(daemon, "explain", { user_path, targets: [opus, mini] }), {
      verdict: { admitted: true, target: "openai/gpt-4o-mini" },
    });
    const refused = exactly({ refusals: [{ message, retry_after: null, admitted_at: null }] });
    t.match(await ask(daemon, "refusals.list", { dimension: "banned" }), refused);
    const today = { start_date: "2026-01-01", end_date: "2026-01-01" };
    const { rate_limits: limits } = await ask(daemon, "usage.status", { user_path, ...today });
    const status = { models, max_requests: 0, requests_usage_ratio: 0, exhausted: true };
    t.match(limits, exactly([status]));
    const listed = { max_requests: 0, requests_used: 0, requests_remaining: 0 };
    const byUse = await ask(daemon, "rate-limits.list", { order: "use" });
    t.match(byUse, exactly({ rate_limits: [listed] }));
  },
);

t.test("a back-test of a ban refuses each recorded request of its models", async (t) => {
  const daemon = startDaemon([]);
  const peer = daemon.proxy("p");
  for (let i = 1; i <= 5; i++) {
    const target = i % 2 === 0 ? mini : opus;
    const lease = leaseOf(admit(peer, i, [target]) as Admitted, "/interns/ann", target);
    peer.send({ ...settleOf(lease, i, 10), record: executed({ requestId: `r${i}`, ...target }) });
  }
  const rule = {
    user_path: "/interns",
    limit_key: { period: "concurrent" },
    models: ["claude-*"],
    max_requests: 0,
  };
  t.match(await ask(daemon, "rate-limits.test", rule), {
    requests: 3,
    refused: 3,
    refused_for: { banned: 3, requests: 0 },
    next: null,
  });
});
