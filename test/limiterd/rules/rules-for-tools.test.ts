/**
 * Rules for tools: which requests they cover and what they count. The expected counts are sums of
 * the calls in the records, made apart from the rules.
 */
import t from "tap";
import type { RulePage } from "../../../shared/api/rule-item.js";
import { refusalMessage } from "../../../shared/domain/refusal-message.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import type { ToolCalls } from "../../../shared/usage/tool-calls.js";
import type { Admitted, Refused } from "../../../shared/wire/message-from-daemon.js";
import {
  ask,
  counts,
  executed,
  leaseOf,
  pathRule,
  settleOf,
  startDaemon,
  type TestDaemon,
  type TestPeer,
} from "../in-memory-daemon.js";

const target = { provider: "openai", model: "gpt-5" };
const userPath = "/team/ann";

function toolRule(models: string, calls: number, perChild = false): RuleDefinition {
  return {
    ...pathRule("/team", 3600, {}),
    models,
    perChild,
    measureCaps: { tool_calls: calls },
  };
}

function admit(peer: TestPeer, id: number, tools: readonly string[] | null): Admitted | Refused {
  peer.send({
    kind: "admit",
    id,
    userPath,
    credential: "authenticated",
    targets: [tools === null ? target : { ...target, tools }],
    submission: false,
    read: 0,
  });
  return peer.received.at(-1) as Admitted | Refused;
}

function settle(peer: TestPeer, admitted: Admitted, seq: number, toolCalls: ToolCalls): void {
  peer.send({
    ...settleOf(leaseOf(admitted, userPath, target), seq, 10),
    record: executed({ requestId: `r${seq}`, ...target, toolCalls }),
  });
}

async function used(daemon: TestDaemon): Promise<Record<string, unknown>> {
  const page = (await ask(daemon, "rate-limits.list", null)) as unknown as RulePage;
  return Object.fromEntries(
    page.rate_limits.map((rule) => [(rule.models ?? []).join(" "), rule.tool_calls_used]),
  );
}

t.test(
  "calls are counted when the answer reports them; then requests that carry the tool are refused",
  async (t) => {
    const daemon = startDaemon([toolRule("tool:web_search", 3)]);
    const peer = daemon.proxy("p");
    settle(peer, admit(peer, 1, ["web_search"]) as Admitted, 1, { web_search: 2, web_fetch: 9 });
    t.same(await used(daemon), { "tool:web_search": 2 });
    settle(peer, admit(peer, 2, ["web_search"]) as Admitted, 2, { web_search: 2 });
    const refused = admit(peer, 3, ["file_search", "web_search"]) as Refused;
    t.match(refused, { kind: "refused", subject: "/team", dimension: "tool_calls", cap: 3 });
    t.equal(
      refusalMessage(refused),
      "rate limit exceeded for /team on tool:web_search: hour tool call limit of 3 reached",
    );
    t.match(admit(peer, 4, ["file_search"]), { kind: "admitted" }, "another tool");
    t.match(admit(peer, 5, null), { kind: "admitted" }, "no tool");
    t.match(
      await ask(daemon, "usage.status", {
        user_path: userPath,
        start_date: "2026-01-01",
        end_date: "2026-01-01",
      }),
      {
        rate_limits: {
          0: { max_tool_calls: 3, tool_calls_used: 4, tool_calls_remaining: 0, exhausted: true },
        },
      },
    );
  },
);

t.test(
  "a tool that the provider ran unasked counts too, and a search that Sluice ran",
  async (t) => {
    const daemon = startDaemon([toolRule("tool:*", 100)]);
    const peer = daemon.proxy("p");
    settle(peer, admit(peer, 1, null) as Admitted, 1, { "mcp:github/search": 1 });
    const lease = leaseOf(admit(peer, 2, null) as Admitted, userPath, target);
    peer.send({
      ...settleOf({ ...lease, lease: 0, lsn: 0, targetLsn: 0, target: null }, 2, 0),
      part: "cached",
      record: executed({ requestId: "r2", ...target, toolCalls: { web_search: 1 } }),
    });
    t.same(await used(daemon), { "tool:*": 2 });
  },
);

const searching = { ...target, tools: ["web_search"] };

const requestRule = (periodSeconds: number, caps: { requests?: number; tokens?: number }) => ({
  ...pathRule("/team", periodSeconds, caps),
  models: "tool:web_search",
});

t.test("after a crash, requests in flight hold their slots and count as before", async (t) => {
  const gauge = requestRule(0, { requests: 5 });
  const hour = requestRule(3600, { requests: 100 });
  const rules = [gauge, hour];
  const daemon = startDaemon(rules);
  const peer = daemon.proxy("p");
  await daemon.snapshot();
  const leases = [1, 2, 3, 4, 5].map((id) =>
    leaseOf(admit(peer, id, ["web_search"]) as Admitted, userPath, searching),
  );
  const after = startDaemon(rules, { store: daemon.store.crash(), nowMs: daemon.nowMs + 300 });
  t.equal(counts(after, hour).requests, 0, "the crash lost them");
  const back = after.proxy("p", leases.slice(1));
  t.match(counts(after, gauge), { inFlight: 4 });
  t.equal(counts(after, hour).requests, 4);
  t.match(admit(back, 6, ["web_search"]), { kind: "admitted" });
  t.match(admit(back, 7, ["web_search"]), { kind: "refused", dimension: "concurrent" });
  t.match(admit(back, 8, null), { kind: "admitted" }, "without the tool");
  back.send(settleOf(leases[0]!, 1, 0));
  t.equal(counts(after, hour).requests, 6, "the one that ended meanwhile counts with its settle");
  back.send(settleOf(leases[1]!, 2, 0));
  t.match(counts(after, hour), { requests: 6 }, "a lease's count isn't repeated");
  t.match(counts(after, gauge), { inFlight: 4 });
});

t.test("what was counted for a target is taken back, whoever takes it back", async (t) => {
  const hour = requestRule(3600, { requests: 100 });
  const daemon = startDaemon([hour]);
  const peer = daemon.proxy("p");
  const lease = leaseOf(admit(peer, 1, ["web_search"]) as Admitted, userPath, searching);
  const reroute = { kind: "reroute", lease: 1, read: 0 } as const;
  peer.send({ ...reroute, id: 2, targets: [{ ...searching, model: "gpt-5-mini" }] });
  t.equal(counts(daemon, hour).requests, 2, "the next target counts the tool too");
  const { lsn, admittedAtMs: targetAtMs } = peer.received.at(-1) as Admitted;
  const next = { target: { ...searching, model: "gpt-5-mini" }, targetAtMs, targetLsn: lsn };
  peer.send({ ...settleOf({ ...lease, ...next }, 1, 0), part: "untried" });
  t.equal(counts(daemon, hour).requests, 1, "an untried target");
  const late = leaseOf(admit(peer, 3, ["web_search"]) as Admitted, userPath, searching);
  daemon.state.book.put(
    { ...hour, periodSeconds: 86_400 },
    { source: "manual", nowMs: daemon.nowMs, lsn: 0 },
  );
  peer.send({ ...settleOf(late, 2, 0), part: "withdrawn" });
  t.equal(counts(daemon, hour).requests, 1, "an admission that arrived too late");
  t.end();
});

t.test("other caps count requests that carry the tool, whatever was called", async (t) => {
  const hour = requestRule(3600, { tokens: 1000 });
  const carried = { ...target, tools: ["web_search", "code_execution"] };
  const daemon = startDaemon([hour]);
  const peer = daemon.proxy("p");
  let seq = 0;
  const spend = (toolCalls: ToolCalls | undefined, between = (): void => {}): number => {
    const admitted = admit(peer, ++seq, carried.tools) as Admitted;
    between();
    const calls = toolCalls === undefined ? {} : { toolCalls };
    peer.send({
      ...settleOf(leaseOf(admitted, userPath, carried), seq, 10),
      record: executed({ requestId: `r${seq}`, ...target, ...calls }),
    });
    return counts(daemon, hour).tokens;
  };
  const change = (): void => {
    const other = { ...hour, periodSeconds: 60 * seq };
    daemon.state.book.put(other, { source: "manual", nowMs: daemon.nowMs, lsn: 0 });
  };
  t.equal(spend({ web_search: 1 }), 10);
  t.equal(spend({ code_execution: 1 }), 20, "another tool was called");
  t.equal(spend(undefined), 30, "none was called");
  t.equal(spend(undefined, change), 40, "the rules have changed meanwhile");
  t.equal(spend({ code_execution: 2 }, change), 50);
});

t.test("the calls of a background response count when it has ended, once", async (t) => {
  const calls = toolRule("tool:web_search", 100);
  const daemon = startDaemon([calls]);
  const peer = daemon.proxy("p");
  const lease = leaseOf(admit(peer, 1, ["web_search"]) as Admitted, userPath, searching);
  const record = (toolCalls: ToolCalls) =>
    executed({ ...target, requestId: "r", responseId: "resp_1", toolCalls });
  peer.send({ ...settleOf(lease, 1, 10), record: record({ web_search: 1 }) });
  t.same(await used(daemon), { "tool:web_search": 1 }, "those that its stream showed");
  const ended = { ...settleOf({ ...lease, lease: 0, lsn: 0 }, 2, 0), part: "final" } as const;
  const none = { target: null, targetAtMs: 0, targetLsn: 0, userPath: "/" };
  for (const seq of [2, 3])
    peer.send({ ...ended, ...none, seq, record: record({ web_search: 3, web_fetch: 1 }) });
  t.same(await used(daemon), { "tool:web_search": 3 });
});

t.test("a cap of 0 bans the tools of a connector, whether listed or not", async (t) => {
  const ban = { ...pathRule("/team", 60, { requests: 0 }), models: "tool:mcp:github/delete_*" };
  const daemon = startDaemon([ban]);
  const peer = daemon.proxy("p");
  const refused = admit(peer, 1, ["mcp:github/*"]) as Refused;
  t.match(refused, { kind: "refused", dimension: "banned" });
  t.match(refusalMessage(refused), /^tool not allowed for \/team on tool:mcp:github\/delete_\*/);
  t.match(admit(peer, 2, ["mcp:github/delete_repo"]), { kind: "refused" });
  t.match(admit(peer, 3, ["mcp:github/create_issue", "mcp:linear/*"]), { kind: "admitted" });
});

t.test("windows survive a restart, and a back-test judges what was recorded", async (t) => {
  const rule = toolRule("tool:mcp:github/*", 3, true);
  const daemon = startDaemon([rule]);
  const peer = daemon.proxy("p");
  for (let i = 1; i <= 3; i++)
    settle(peer, admit(peer, i, ["mcp:github/*"]) as Admitted, i, { "mcp:github/a": 1 });
  await daemon.snapshot();
  const { store, nowMs } = daemon;
  const again = startDaemon([rule], { store, nowMs });
  t.match(admit(again.proxy("p"), 9, ["mcp:github/*"]), {
    kind: "refused",
    subject: "/team/ann",
    dimension: "tool_calls",
  });
  const body = {
    user_path: "/team",
    limit_key: { period: "hour" },
    models: ["tool:mcp:*"],
    max_tool_calls: 2,
  };
  t.match(await ask(daemon, "rate-limits.test", body), {
    requests: 3,
    refused_for: { requests: 0 },
    next: null,
  });
});

t.test("any calls of any tools add up to what a plain sum says", async (t) => {
  let seed = 7;
  const random = (below: number): number => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed % below;
  };
  const names = ["web_search", "code_execution", "mcp:github/a", "mcp:github/b", "mcp:linear/a"];
  const rules: Readonly<Record<string, (name: string) => boolean>> = {
    "tool:*": () => true,
    "tool:web_search": (name) => name === "web_search",
    "tool:mcp:github/*": (name) => name.startsWith("mcp:github/"),
    "tool:mcp:* !tool:mcp:github/*": (name) => name.startsWith("mcp:linear/"),
    "tool:code_interpreter": (name) => name === "code_execution",
  };
  const daemon = startDaemon(Object.keys(rules).map((models) => toolRule(models, 1e6)));
  const peer = daemon.proxy("p");
  const expected = new Map<string, number>(Object.keys(rules).map((models) => [models, 0]));
  for (let seq = 1; seq <= 200; seq++) {
    const calls: Record<string, number> = {};
    for (const name of names) if (random(3) === 0) calls[name] = 1 + random(5);
    const carried = random(2) === 0 ? names.filter(() => random(2) === 0) : null;
    const asked = carried === null || carried.length === 0 ? null : carried;
    settle(peer, admit(peer, seq, asked) as Admitted, seq, calls);
    for (const [models, has] of Object.entries(rules))
      for (const [name, count] of Object.entries(calls))
        if (has(name)) expected.set(models, expected.get(models)! + count);
  }
  t.same(await used(daemon), Object.fromEntries(expected));
});
