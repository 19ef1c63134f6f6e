/** Rules on loops in the daemon: which one applies to a path, and what proxies and lists learn. */
import t from "tap";
import type { LoopRule } from "../../../shared/domain/loop-rule.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import { ask, pathRule, startDaemon, type TestDaemon, target } from "../in-memory-daemon.js";

const usual: LoopRule = {
  ...{ warn_after: 5, refuse_after: 0, compare_results: true },
  ...{ warn_after_turns: 200, refuse_after_turns: 0 },
};

function onLoops(path: string, changed: Partial<LoopRule> = {}): RuleDefinition {
  return {
    ...pathRule(path, 0, { requests: 1 }),
    maxRequests: null,
    loops: { ...usual, ...changed },
  };
}

const found = async (daemon: TestDaemon, userPath: string): Promise<LoopRule | null> =>
  ((await ask(daemon, "loops.find", { user_path: userPath })) as { loops: LoopRule | null }).loops;

const strict = { warn_after: 2, refuse_after: 3 };

t.test("the nearest path with a rule decides, also of rules that a start has left", async (t) => {
  const rules = [
    onLoops("/agents"),
    onLoops("/agents/evals", { warn_after: 0 }),
    pathRule("/agents/evals/a", 0, { requests: 3 }),
    pathRule("/agents", 60, { requests: 3 }),
    { ...onLoops("/customers", strict), perChild: true },
  ];
  const { crash } = startDaemon(rules).store;
  for (const daemon of [startDaemon(rules), startDaemon(rules, { store: crash(), loads: false })]) {
    for (const [path, loops] of [
      ["/", null],
      ["/agentsx", null],
      ["/agents", usual],
      ["/agents/a/b", usual],
      ["/agents/evals", { ...usual, warn_after: 0 }],
      ["/agents/evals/a", { ...usual, warn_after: 0 }],
      ["/customers", null],
      ["/customers/acme/app", { ...usual, ...strict }],
    ] as const)
      t.same(await found(daemon, path), loops, path);
  }
  const off = startDaemon(rules, { rateLimitsEnabled: false });
  t.equal(await found(off, "/agents"), null, "rate limits are off");
  t.match(off.proxy("p1").received[0], { kind: "welcome", loopTimes: undefined });
});

t.test("proxies learn when rules act, as rules come, change and go", async (t) => {
  const daemon = startDaemon([onLoops("/evals", { warn_after: 0, warn_after_turns: 0 })]);
  const peer = daemon.proxy("p1");
  t.match(peer.received[0], { kind: "welcome", loopTimes: undefined }, "none ever acts");
  const key = (path: string) => ({ user_path: path, limit_key: { period: "concurrent" } });
  const put = (path: string, loops: object | null, more: object = {}) =>
    ask(daemon, "rate-limits.put", { ...key(path), loops, ...more });
  await put("/a", strict);
  await put("/b", { refuse_after: 20 });
  await put("/b", { refuse_after: 20, compare_results: false });
  await put("/a", { warn_after: 4, refuse_after_turns: 50 });
  const turns = { min: 50, max: 200 };
  t.match(daemon.proxy("p2").received[0], { loopTimes: { min: 4, max: 20, turns } });
  await put("/b", null, { max_requests: 5 });
  await ask(daemon, "rate-limits.delete", key("/a"));
  t.same(
    peer.received.flatMap((message) =>
      message.kind === "event" && message.name === "loop_times" ? [message.value] : [],
    ),
    [
      { min: 2, max: 3, turns: { min: 200, max: 200 } },
      { min: 2, max: 20, turns: { min: 200, max: 200 } },
      { min: 4, max: 20, turns },
      { min: 4, max: 4, turns: { min: 50, max: 50 } },
      null,
    ],
  );
});

t.test("after a restart, also one that leaves rules in the store, proxies learn it", async (t) => {
  const rules = [
    onLoops("/a", { ...strict, warn_after_turns: 60 }),
    onLoops("/b", { warn_after: 9, refuse_after_turns: 700 }),
  ];
  const { store } = startDaemon(rules);
  for (const loads of [true, false]) {
    const daemon = startDaemon(rules, { store: store.crash(), loads });
    const turns = { min: 60, max: 700 };
    t.match(daemon.proxy("p1").received[0], { loopTimes: { min: 2, max: 9, turns } }, `${loads}`);
  }
});

t.test(
  "a rule keeps it with an edit that doesn't name it; lists and explanations show it",
  async (t) => {
    const daemon = startDaemon([]);
    const key = { user_path: "/agents", limit_key: { period: "concurrent" } };
    await ask(daemon, "rate-limits.put", { ...key, loops: strict });
    const listed = async () =>
      ((await ask(daemon, "rate-limits.list", {})) as { rate_limits: object[] }).rate_limits[0];
    const loops = { ...usual, ...strict };
    t.match(await listed(), { loops, period_label: "concurrent" });
    t.notMatch(await listed(), { max_requests: Number });
    await ask(daemon, "rate-limits.put", { ...key, max_requests: 4 });
    t.match(await listed(), { loops, max_requests: 4, requests_used: 0 });
    t.match(
      await ask(daemon, "explain", { user_path: "/agents/a", model: "m", targets: [target] }),
      {
        loops: { user_path: "/agents", ...loops },
      },
    );
    const dates = { start_date: "2026-01-01", end_date: "2026-01-01" };
    const status = await ask(daemon, "usage.status", { user_path: "/agents", ...dates });
    const [own] = status["rate_limits"] as object[];
    t.match(own, { loops, exhausted: false });
  },
);
