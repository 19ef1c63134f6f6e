/** What the daemon tells of itself at /metrics/limiter. */
import t from "tap";
import { reportMetrics } from "../../../limiterd/lists/report-metrics.js";
import type { DaemonStatus } from "../../../shared/api/gateway-status.js";
import { makeManagedKey } from "../../../shared/domain/make-managed-key.js";
import { familiesOf } from "../../../shared/metrics/metrics-answer.js";
import { writeMetrics } from "../../../shared/metrics/write-metrics.js";
import { formatSeconds } from "../../../shared/time.js";
import { parseMetrics, type Sample } from "../../support/parse-metrics.js";
import { exactly } from "../../support/patterns/exactly.js";
import { budget, client, noon, spend, usd } from "../budgets/budget-fixture.js";
import { ask, askFor, pathRule, startDaemon, type TestDaemon } from "../in-memory-daemon.js";

async function samples(daemon: TestDaemon, rulesMax: number): Promise<readonly Sample[]> {
  const answer = await ask(daemon, "metrics", { rules_max: rulesMax });
  const text = [...writeMetrics(familiesOf(answer), "openmetrics")].join("");
  return [...parseMetrics(text, true).values()].flatMap((family) => family.samples);
}

const valuesOf = (all: readonly Sample[], name: string): unknown[] =>
  all.filter((sample) => sample.name === name).map(({ labels, value }) => [labels, value]);

t.test("metrics of rules and budgets have their use, in the order of the lists", async (t) => {
  const daemon = startDaemon(
    [
      pathRule("/b", 60, { requests: 10, tokens: 500 }),
      pathRule("/a", 0, { requests: 3 }),
      { ...pathRule("/team", 60, { requests: 1 }), perChild: true },
      { ...pathRule("/", 60, { requests: 1 }), perChild: true, mode: "shadow" },
    ],
    {
      budgets: [
        {
          scope: "user_path",
          subject: "/b",
          periodSeconds: 86_400,
          amountUsd: 2.5,
          perChild: false,
        },
      ],
    },
  );
  const proxy = daemon.proxy("p1");
  askFor(proxy, 2, "/b/x");
  askFor(proxy, 3, "/a");
  askFor(proxy, 4, "/a/y");
  const all = await samples(daemon, 500);
  const a = { scope: "user_path", subject: "/a", period: "concurrent" };
  const b = { scope: "user_path", subject: "/b", period: "minute" };
  t.same(valuesOf(all, "sluice_rule_used"), [
    [{ ...a, dimension: "concurrent" }, 2],
    [{ ...b, dimension: "requests" }, 1],
    [{ ...b, dimension: "tokens" }, 0],
  ]);
  t.same(valuesOf(all, "sluice_shadow_rule_would_refuse_total"), [
    [{ scope: "user_path", subject: "/", period: "minute" }, 1],
  ]);
  t.same(valuesOf(all, "sluice_rule_limit"), [
    [{ ...a, dimension: "concurrent" }, 3],
    [{ ...b, dimension: "requests" }, 10],
    [{ ...b, dimension: "tokens" }, 500],
  ]);
  t.same(valuesOf(all, "sluice_rule_in_flight"), [
    [a, 2],
    [b, 1],
  ]);
  const day = { scope: "user_path", subject: "/b", period: "daily" };
  t.same(valuesOf(all, "sluice_budget_spent_usd"), [[day, 0]]);
  t.same(valuesOf(all, "sluice_budget_amount_usd"), [[day, 2.5]]);
  t.match(
    valuesOf(all, "sluice_budget_period_end_timestamp_seconds"),
    exactly([[day, 1_767_312_000]]),
  );
  t.same(valuesOf(all, "sluice_metrics_rules_left_out"), [[{}, 0]]);
  t.same(valuesOf(all, "sluice_limiter_admissions_total"), [
    [{ verdict: "admitted" }, 3],
    [{ verdict: "refused" }, 0],
    [{ verdict: "over_budget" }, 0],
    [{ verdict: "denied" }, 0],
  ]);
  t.same(valuesOf(all, "sluice_limiter_in_flight"), [[{}, 3]]);
});

t.test("more rules than allowed are left out, and counted", async (t) => {
  const rules = Array.from({ length: 30 }, (_, i) => pathRule(`/r${i}`, 60, { requests: 1 }));
  const daemon = startDaemon(rules);
  const all = await samples(daemon, 7);
  t.equal(valuesOf(all, "sluice_rule_limit").length, 7);
  t.same(valuesOf(all, "sluice_metrics_rules_left_out"), [[{}, 23]]);
  t.same(valuesOf(all, "sluice_limiter_rules"), [[{}, 30]]);
  const none = await samples(daemon, 0);
  t.same(valuesOf(none, "sluice_rule_limit"), []);
  const counted = [...daemon.state.book.rules.values()].filter((rule) => rule.counted !== null);
  t.equal(counted.length, 7, "nothing is made for those that are left out");
});

t.test("rules that a start has left in the store are counted, and not read for it", async (t) => {
  const rules = [pathRule("/a", 60, { requests: 1 }), pathRule("/b", 60, { requests: 1 })];
  const store = startDaemon(rules).store.crash();
  const daemon = startDaemon(rules, { store, loads: false });
  const reported = await samples(daemon, 7);
  t.same(valuesOf(reported, "sluice_metrics_rules_left_out"), [[{}, 2]]);
  t.same(valuesOf(reported, "sluice_rule_limit"), []);
  t.equal(daemon.state.book.ruleSet.isRead, false);
});

t.test("a question that says no number is refused", async (t) => {
  const daemon = startDaemon([]);
  for (const body of [null, {}, { rules_max: -1 }, { rules_max: 1001 }, { rules_max: "7" }])
    await t.rejects(ask(daemon, "metrics", body), JSON.stringify(body));
});

t.test("what another release tells is passed over where it isn't known", async (t) => {
  const known = ["sluice_limiter_proxies", [], [2]];
  for (const other of [
    ["sluice_limiter_later", [], [1]],
    ["sluice_limiter_rules", ["extra"], [1]],
    ["sluice_limiter_rules", [], [1, 2]],
    ["sluice_limiter_rules", [], ["1"]],
    ["__proto__", [], [1]],
    null,
    7,
  ]) {
    const families = familiesOf({ series: [other, known] });
    const text = [...writeMetrics(families, "prometheus")].join("");
    t.same([...parseMetrics(text).keys()], ["sluice_limiter_proxies"]);
  }
  for (const answer of [null, {}, { series: 3 }])
    t.equal([...writeMetrics(familiesOf(answer), "prometheus")].join(""), "");
});

t.test("each number has its own metric", async (t) => {
  const daemon = startDaemon([]);
  const answered = async (status: object, state: object, nowMs = daemon.nowMs) => {
    const { series } = await reportMetrics(
      { ...daemon.state, ...state },
      { status: { ...known, ...status } as unknown as DaemonStatus, rulesMax: 5, nowMs },
    );
    return Object.fromEntries(
      series.map(([name, labels, values]) => [[name, ...labels].join(" "), values]),
    );
  };
  const store = { failed_commits: 11, bytes: 12, journal_bytes: 13 };
  const known = {
    ...{ admitted: 1, refused: 9, over_budget: 2, denied: 3, repeated_settles: 4, in_flight: 5 },
    ...{ proxies: 6, rules: 7, budgets: 8, child_windows: 14, keys: 15, inert_rules: 16 },
    ...{
      inert_budgets: 17,
      dropped_records: 18,
      pending_responses: 19,
      pending_responses_left_out: 20,
      version: "1.2",
      cluster: null,
      store,
    },
    followers: [
      { name: "a", lag_seconds: 1.5 },
      { name: "b", lag_seconds: null },
    ],
  };
  const { startedAtMs } = daemon.state;
  const followers = { all: () => [{ name: "a", askedAtMs: startedAtMs - 2000 }] };
  const settledParts = { request: 21, attempt: 22 };
  const counts = { ...daemon.state.counts, settledParts };
  const commits = { values: [1, 2] };
  const measures = { commits, readProcess: async () => null };
  const waiters = { size: 23, waited: 24 };
  const reported = await answered(
    {},
    { followers, counts, measures, waiters, lastSnapshotAtMs: null },
  );
  const expected = {
    "sluice_limiter_admissions_total admitted": [1],
    "sluice_limiter_admissions_total refused": [7],
    "sluice_limiter_admissions_total over_budget": [2],
    "sluice_limiter_admissions_total denied": [3],
    "sluice_limiter_settles_total request": [21],
    "sluice_limiter_settles_total attempt": [22],
    sluice_limiter_settles_repeated_total: [4],
    sluice_limiter_in_flight: [5],
    sluice_limiter_waiting: [23],
    sluice_limiter_waited_total: [24],
    sluice_limiter_proxies: [6],
    sluice_limiter_rules: [7],
    sluice_limiter_budgets: [8],
    sluice_limiter_children: [14],
    sluice_limiter_keys: [15],
    "sluice_limiter_inert rule": [16],
    "sluice_limiter_inert budget": [17],
    sluice_limiter_commit_seconds: [1, 2],
    sluice_limiter_commit_failures_total: [11],
    sluice_limiter_store_bytes: [12],
    sluice_limiter_journal_bytes: [13],
    sluice_limiter_snapshot_age_seconds: [0],
    sluice_limiter_backups_since_timestamp_seconds: [startedAtMs / 1000],
    sluice_limiter_dropped_records_total: [18],
    sluice_limiter_pending_responses: [19],
    sluice_limiter_pending_responses_left_out_total: [20],
    "sluice_limiter_build_info 1.2": [1],
    "sluice_limiter_follower_lag_seconds a": [1.5],
    "sluice_limiter_follower_silent_seconds a": [2],
    sluice_metrics_rules_left_out: [0],
  };
  t.strictSame(reported, expected);
  const readProcess = async () => ({ loopLag: [0, 1], residentBytes: 2, cpuSeconds: 3 });
  const host = (alive: boolean, configuration = false, failureMode = false) => ({
    alive,
    configuration_differs: configuration,
    failure_mode_differs: failureMode,
  });
  const cluster = {
    engine: "connected",
    changes_heard: true,
    changes_subscribers: 4,
    hosts: [host(true), host(true, true), host(true, true, true), host(false, true, true)],
    id_taken_at: "1970-01-01T00:00:07Z",
  };
  const shares = {
    counts: {
      ...{ syncs: { values: [3, 4] }, questions: 31, granted: 32, parked: 33 },
      ...{ refusedAway: 34, refusedFull: 35 },
    },
    turn: { isAway: false },
    size: 36,
  };
  const measured = { commits, readProcess };
  const lastSnapshotAtMs = startedAtMs;
  const more = { followers, counts, measures: measured, shares, waiters, lastSnapshotAtMs };
  const noBytes = { ...store, bytes: null };
  const { sluice_limiter_store_bytes: _, ...rest } = expected;
  t.strictSame(await answered({ cluster, store: noBytes }, more, startedAtMs + 500), {
    ...rest,
    sluice_limiter_snapshot_age_seconds: [0.5],
    "sluice_limiter_follower_silent_seconds a": [2.5],
    sluice_limiter_loop_lag_seconds: [0, 1],
    sluice_limiter_resident_memory_bytes: [2],
    sluice_limiter_cpu_seconds_total: [3],
    sluice_cluster_engine_up: [1],
    sluice_cluster_engine_failing: [0],
    sluice_cluster_sync_seconds: [3, 4],
    sluice_cluster_operations_total: [31],
    sluice_cluster_granted_total: [32],
    sluice_cluster_parked_total: [33],
    "sluice_cluster_refused_total engine_away": [34],
    "sluice_cluster_refused_total too_many_wait": [35],
    sluice_cluster_shares: [36],
    sluice_cluster_changes_heard: [1],
    sluice_cluster_changes_subscribers: [4],
    "sluice_cluster_hosts alive": [3],
    "sluice_cluster_hosts away": [1],
    "sluice_cluster_hosts_differing configuration": [2],
    "sluice_cluster_hosts_differing failure_mode": [1],
    sluice_cluster_id_taken_timestamp_seconds: [7],
  });
  for (const [engine, away, up, clusterFailing] of [
    ["connected", false, 1, "something else than hosts share is in the engine"],
    ["connected", true, 0, null],
    ["away", false, 0, "nothing listens at the engine's address"],
  ] as const) {
    const now = await answered(
      { cluster: { ...cluster, engine, id_taken_at: null, changes_heard: false } },
      { shares: { ...shares, turn: { isAway: away } }, clusterFailing },
    );
    t.same(now["sluice_cluster_engine_failing"], [clusterFailing === null ? 0 : 1]);
    t.same(now["sluice_cluster_engine_up"], [up], `${engine} ${away}`);
    t.same(now["sluice_cluster_changes_heard"], [0]);
    t.equal(now["sluice_cluster_id_taken_timestamp_seconds"], undefined);
  }
  const backwards = { followers, lastSnapshotAtMs: startedAtMs + 9 };
  const back = await answered({}, backwards, startedAtMs - 5000);
  t.same(back["sluice_limiter_snapshot_age_seconds"], [0], "a clock that was set back");
  t.same(back["sluice_limiter_follower_silent_seconds a"], [0]);
});

t.test("the next expiry is that of an active key", async (t) => {
  const daemon = startDaemon([]);
  const name = "sluice_limiter_next_key_expiry_timestamp_seconds";
  const expiry = async (): Promise<unknown[]> => valuesOf(await samples(daemon, 500), name);
  const issue = async (inSeconds: number | null): Promise<string> => {
    const { hash, redacted } = makeManagedKey();
    const expiresAt = inSeconds === null ? null : formatSeconds(daemon.nowMs + inSeconds * 1000);
    const issued = await ask(daemon, "keys.issue", {
      key_hash: hash,
      redacted_value: redacted,
      key: { expires_at: expiresAt },
    });
    return String(issued["id"]);
  };
  await issue(null);
  t.same(await expiry(), []);
  const startSeconds = Math.floor(daemon.nowMs / 1000);
  const first = await issue(100);
  await issue(5_000);
  t.same(await expiry(), [[{}, startSeconds + 100]]);
  await ask(daemon, "keys.deactivate", { id: first });
  t.same(await expiry(), [[{}, startSeconds + 5_000]]);
  daemon.nowMs += 6_000_000;
  t.same(await expiry(), [], "what has expired expires no more");
});

t.test("providers' own limits have metrics once a provider has reported them", async (t) => {
  const adaptive = { min: 3, max: 9 };
  const daemon = startDaemon([], {
    upstreams: new Map([["openai", { mode: "avoid", trustsLimits: true, adaptive }]]),
  });
  t.same(valuesOf(await samples(daemon, 5), "sluice_upstream_limit"), []);
  daemon.state.upstream.report(
    {
      kind: "reported",
      target: { provider: "openai", model: "gpt-4o" },
      startedAgoMs: 5,
      status: 429,
      limits: [{ name: "requests", limit: 500, remaining: 0, resetMs: 60_000 }],
      waitMs: 60_000,
    },
    1_767_225_600_000,
  );
  const all = await samples(daemon, 5);
  const target = { provider: "openai", model: "gpt-4o" };
  for (const [name, labels, value] of [
    ["sluice_upstream_limit", { ...target, limit: "requests" }, 500],
    ["sluice_upstream_remaining", { ...target, limit: "requests" }, 0],
    ["sluice_upstream_saturated", target, 1],
    ["sluice_upstream_refusals_total", target, 1],
    ["sluice_adaptive_concurrency", target, 3],
  ] as const)
    t.same(valuesOf(all, name), [[labels, value]], name);
});

t.test("the fullest children of templates have metrics, a bounded number of them", async (t) => {
  const daemon = startDaemon(
    [
      { ...pathRule("/team", 60, { requests: 100 }), perChild: true },
      { ...pathRule("/team", 3600, { requests: 1 }), perChild: true, mode: "shadow" },
      { ...pathRule("/idle", 60, { requests: 1 }), perChild: true },
    ],
    { nowMs: noon, budgets: [budget("/team", 86_400, 4, { perChild: true })] },
  );
  const proxy = daemon.proxy("p1");
  for (let child = 0; child < 60; child++)
    for (let request = 0; request <= child; request++)
      askFor(proxy, 2 + child * 100 + request, `/team/u${child}`);
  spend(client(daemon, "p2"), "/team/u7", 1 * usd);
  const all = await samples(daemon, 500);
  const used = valuesOf(all, "sluice_child_rule_used_ratio");
  t.equal(used.length, 50);
  t.same(used[0], [{ subject: "/team/u59", template: "/team", period: "minute" }, 0.6]);
  const u7 = { subject: "/team/u7", template: "/team", period: "daily" };
  t.same(valuesOf(all, "sluice_child_budget_used_ratio"), [[u7, 0.25]]);
  t.same(valuesOf(all, "sluice_child_budget_spent_usd"), [[u7, 1]]);
  const none = await samples(daemon, 0);
  t.same(valuesOf(none, "sluice_child_rule_used_ratio"), [], "as metrics.rules_max: 0 asks");
});
