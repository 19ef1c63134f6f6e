/** Shadow rules: what they note, and that nothing else notices them. */
import { deepStrictEqual } from "node:assert/strict";
import fc from "fast-check";
import t from "tap";
import { pastRequest } from "../../../limiterd/rules/back-tests/back-test.js";
import { Replay } from "../../../limiterd/rules/back-tests/replay.js";
import type { PastRequest } from "../../../limiterd/rules/back-tests/replayed-rule.js";
import { recordOf } from "../../../limiterd/usage/usage-records.js";
import type { Explanation } from "../../../shared/api/explanation.js";
import type { RuleItem, RulePage } from "../../../shared/api/rule-item.js";
import { type RuleDefinition, ruleId } from "../../../shared/domain/rule.js";
import type { Target } from "../../../shared/domain/target-name.js";
import type { FromDaemon } from "../../../shared/wire/message-from-daemon.js";
import type { Lease } from "../../../shared/wire/message-to-daemon.js";
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
  target,
} from "../in-memory-daemon.js";

const shadow = (rule: RuleDefinition): RuleDefinition => ({ ...rule, mode: "shadow" });
const key = { user_path: "/team", limit_key: { period: "minute" } };

let sequence = 0;

function admit(
  peer: TestPeer,
  {
    userPath = "/team",
    targets = [target] as readonly Target[],
    submission = false,
    id = ++sequence,
  } = {},
): FromDaemon {
  const request = { userPath, credential: "authenticated", targets } as const;
  peer.send({ kind: "admit", id, ...request, submission, read: 0 });
  return peer.received.at(-1)!;
}

async function list(daemon: TestDaemon): Promise<readonly RuleItem[]> {
  return ((await ask(daemon, "rate-limits.list", null)) as unknown as RulePage).rate_limits;
}

async function shadowItem(daemon: TestDaemon): Promise<RuleItem> {
  return (await list(daemon)).find(({ mode }) => mode === "shadow")!;
}

function leased(answer: FromDaemon, userPath = "/team"): Lease {
  if (answer.kind !== "admitted") throw new Error(`not admitted: ${answer.kind}`);
  return leaseOf(answer, userPath);
}

t.test(
  "it stands beside the enforced rule, refuses nothing, and isn't in the headers",
  async (t) => {
    const daemon = startDaemon([
      pathRule("/team", 60, { requests: 4 }),
      shadow(pathRule("/team", 60, { requests: 2, tokens: 100 })),
    ]);
    const peer = daemon.proxy("p");
    for (const remaining of [3, 2]) {
      const answer = admit(peer);
      t.match(answer, { kind: "admitted", headers: { requests: { limit: 4, remaining } } });
      t.equal((answer as { shadow?: unknown }).shadow, undefined);
    }
    daemon.nowMs += 1500;
    t.match(
      admit(peer),
      exactly({
        kind: "admitted",
        headers: { requests: { limit: 4, remaining: 1 }, tokens: null },
        shadow: ["/team minute"],
      }),
    );
    t.match(admit(peer), { kind: "admitted" });
    t.match(admit(peer), { kind: "refused", cap: 4 }, "the real verdict comes first");
    t.match(
      await list(daemon),
      exactly([
        { requests_used: 4, in_flight: 4 },
        {
          mode: "shadow",
          requests_used: 2,
          in_flight: 2,
          would_refuse: 2,
          last_would_refuse_at: "2026-01-01T00:00:01.500Z",
        },
      ]),
    );
    t.notOk("mode" in (await list(daemon))[0]!);
  },
);

t.test(
  "what a shadow template would refuse is its own count, not that of each child",
  async (t) => {
    const template = { ...pathRule("/team", 60, { requests: 1 }), perChild: true };
    const daemon = startDaemon([shadow(template)]);
    const peer = daemon.proxy("p");
    for (const userPath of ["/team/a", "/team/a", "/team/b", "/team/b"]) admit(peer, { userPath });
    t.match(await list(daemon), exactly([{ would_refuse: 2 }]));
    const page = await ask(daemon, "rate-limits.list", { order: "use" });
    const children = (page as unknown as RulePage).rate_limits.filter(
      ({ template }) => template !== undefined,
    );
    t.equal(children.length, 2);
    for (const child of children) t.equal(child.would_refuse, undefined, child.subject);
  },
);

t.test("what it would refuse isn't counted by it, whatever becomes of the request", async (t) => {
  const daemon = startDaemon([shadow(pathRule("/team", 60, { requests: 1, tokens: 1000 }))]);
  const peer = daemon.proxy("p");
  const first = leased(admit(peer));
  const second = leased(admit(peer));
  const third = leased(admit(peer));
  const withdrawn = leased(admit(peer));
  peer.send(settleOf(first, 1, 70));
  peer.send(settleOf(second, 2, 500));
  t.match(await shadowItem(daemon), { requests_used: 1, tokens_used: 70, in_flight: 0 });
  await ask(daemon, "rate-limits.put", { ...key, mode: "shadow", max_requests: 1, max_tokens: 9 });
  peer.send(settleOf(third, 3, 500));
  peer.send({ ...settleOf(withdrawn, 4, 0), part: "withdrawn" });
  t.match(
    await shadowItem(daemon),
    { max_tokens: 9, requests_used: 1, tokens_used: 70, would_refuse: 3 },
    "also if rules have changed meanwhile",
  );
});

t.test("rules of every kind have a shadow form", async (t) => {
  const other = { provider: "azure", model: "o3" };
  const tools = { ...target, tools: ["web_search"] };
  const rules: Readonly<Record<string, readonly [RuleDefinition, FromDaemonOf]>> = {
    "requests of some models": [
      { ...pathRule("/", 60, { requests: 1 }), models: "gpt-4o" },
      (peer) => [admit(peer), admit(peer, { targets: [other] }), admit(peer)],
    ],
    "requests with a tool": [
      { ...pathRule("/", 60, { requests: 1 }), models: "tool:web_search" },
      (peer) => [admit(peer, { targets: [tools] }), admit(peer), admit(peer, { targets: [tools] })],
    ],
    "a provider": [
      { ...pathRule("/", 60, { requests: 1 }), scope: "provider", subject: "OpenAI" },
      (peer) => [admit(peer), admit(peer, { targets: [other] }), admit(peer)],
    ],
    "a model": [
      { ...pathRule("/", 60, { requests: 1 }), scope: "model", subject: "gpt-4o" },
      (peer) => [admit(peer), admit(peer, { targets: [other] }), admit(peer)],
    ],
    "requests in flight": [
      pathRule("/", 0, { requests: 1 }),
      (peer) => [admit(peer), admit(peer, { submission: true }), admit(peer)],
    ],
    "a child of a template": [
      { ...pathRule("/", 60, { requests: 1 }), perChild: true },
      (peer) => [
        admit(peer),
        admit(peer, { userPath: "/b" }),
        admit(peer, { userPath: "/team/a" }),
      ],
    ],
    hours: [
      { ...pathRule("/", 60, { requests: 1 }), when: "thu 00:00-24:00 UTC" },
      (peer) => [admit(peer), admit(peer, { userPath: "/b" })],
    ],
    "a ban": [
      { ...pathRule("/", 60, {}), maxRequests: 0, models: "gpt-4o" },
      (peer) => [admit(peer, { targets: [other] }), admit(peer)],
    ],
    cost: [
      { ...pathRule("/", 60, {}), measureCaps: { cost: 1e-10 } },
      (peer) => {
        const first = admit(peer);
        peer.send({ ...settleOf(leased(first), 1, 30), record: executed() });
        // 100 pico-dollars are the cap, and the record has 90.
        const second = admit(peer);
        peer.send({ ...settleOf(leased(second), 2, 30), record: executed() });
        return [first, second, admit(peer)];
      },
    ],
  };
  for (const [name, [rule, run]] of Object.entries(rules)) {
    const daemon = startDaemon([shadow(rule)]);
    const answers = run(daemon.proxy("p"));
    const last = answers.pop()!;
    for (const answer of answers)
      t.match(answer, { kind: "admitted", shadow: undefined }, `${name}: admitted`);
    t.match(last, exactly({ kind: "admitted", headers: null, shadow: [String] }), `${name}: noted`);
    t.match(await shadowItem(daemon), { would_refuse: 1 }, name);
  }
});
type FromDaemonOf = (peer: TestPeer) => FromDaemon[];

t.test("an attempt at the next target is judged by the rules of that target", async (t) => {
  const azure = { provider: "azure", model: "gpt-4o" };
  const ofProvider = { ...pathRule("azure", 60, { requests: 1 }), scope: "provider" } as const;
  const daemon = startDaemon([
    pathRule("/", 60, { requests: 9 }),
    shadow(ofProvider),
    shadow(pathRule("/", 60, { requests: 2 })),
  ]);
  const peer = daemon.proxy("p");
  admit(peer, { targets: [azure] });
  admit(peer, { id: 901 });
  peer.send({ kind: "reroute", id: 902, lease: 901, targets: [azure], read: 0 });
  t.match(peer.received.at(-1), exactly({ kind: "admitted", shadow: ["provider azure minute"] }));
  admit(peer, { id: 903 });
  peer.send({ kind: "reroute", id: 904, lease: 903, targets: [azure], read: 0 });
  t.match(
    await list(daemon),
    exactly([
      { scope: "provider", requests_used: 1, in_flight: 1, would_refuse: 2 },
      { requests_used: 3, in_flight: 3 },
      { requests_used: 2, in_flight: 2, would_refuse: 1 },
    ]),
  );
  const lease = { ...leaseOf(peer.received.at(-1) as never, "/team", azure), lease: 903 };
  peer.send(settleOf(lease, 1, 40));
  t.match(
    (await list(daemon)).map(({ tokens_used, in_flight }) => [tokens_used, in_flight]),
    exactly([
      [0, 1],
      [40, 2],
      [0, 2],
    ]),
  );
});

t.test("an unread verdict is taken back from what counts it, also after a crash", async (t) => {
  for (const crashes of [false, true]) {
    const daemon = startDaemon([shadow(pathRule("/team", 60, { requests: 1 }))]);
    const peer = daemon.proxy("p");
    peer.send({ kind: "read", connection: 1, earlier: [] });
    admit(peer, { id: 1 });
    admit(peer, { id: 2 });
    await daemon.commit();
    if (!crashes) peer.close();
    const { store, nowMs } = daemon;
    const next = crashes
      ? startDaemon([shadow(pathRule("/team", 60, { requests: 1 }))], { store, nowMs })
      : daemon;
    const again = next.proxy("p", [{ ...leased(peer.received.at(-2)!), lease: 1 }]);
    again.send({ kind: "read", connection: 2, earlier: [[1, 1]] });
    t.match(await shadowItem(next), { requests_used: 1, in_flight: 1, would_refuse: 1 });
  }
});

t.test("a shadow rule with what it would have refused outlives restarts and crashes", async (t) => {
  const daemon = startDaemon([]);
  await ask(daemon, "rate-limits.put", { ...key, mode: "shadow", max_requests: 1 });
  await ask(daemon, "rate-limits.put", { ...key, max_requests: 9 });
  const peer = daemon.proxy("p");
  for (let i = 0; i < 3; i++) admit(peer);
  await daemon.commit();
  const { store, nowMs } = daemon;
  for (const restarts of [1, 2]) {
    const next = startDaemon([], { store, nowMs });
    t.match(
      await list(next),
      exactly([
        { max_requests: 9, requests_used: 3 },
        { mode: "shadow", max_requests: 1, requests_used: 1, would_refuse: 2 },
      ]),
      `restart ${restarts}`,
    );
    await next.snapshot();
  }
  const next = startDaemon([], { store, nowMs });
  const caps = { max_requests: 2 };
  await ask(next, "rate-limits.put", { ...key, mode: "shadow", ...caps });
  t.match(await shadowItem(next), { ...caps, would_refuse: 2 }, "new caps keep its counts");
  await ask(next, "rate-limits.reset-one", {
    user_path: "/team",
    period: "minute",
    mode: "shadow",
  });
  t.match(await list(next), exactly([{ requests_used: 3 }, { requests_used: 0, would_refuse: 2 }]));
  await ask(next, "rate-limits.delete", { ...key, mode: "shadow" });
  t.match(await list(next), exactly([{ max_requests: 9 }]));
  t.equal(next.state.book.shadows, null, "nothing is left that a request would pay for");
});

t.test("enforced, it goes on with its windows, and its children's", async (t) => {
  for (const perChild of [false, true])
    for (const beside of [false, true]) {
      const daemon = startDaemon([]);
      const place = { user_path: perChild ? "/" : "/team", limit_key: { period: "minute" } };
      const caps = { max_requests: 2, max_cost: 5, per_child: perChild };
      if (beside) await ask(daemon, "rate-limits.put", { ...place, ...caps, max_requests: 9 });
      await ask(daemon, "rate-limits.put", { ...place, ...caps, mode: "shadow" });
      const peer = daemon.proxy("p");
      const first = admit(peer);
      peer.send({
        ...settleOf(leased(first), 1, 7),
        record: executed({ totalCost: 1_000_000_000_000 }),
      });
      for (let i = 0; i < 3; i++) admit(peer);
      await ask(daemon, "rate-limits.put", {
        ...place,
        ...caps,
        mode: "enforce",
        replaces: { ...place, mode: "shadow" },
      });
      const check = async (of: TestDaemon, by: TestPeer, what: string): Promise<void> => {
        const name = `${what}, ${perChild ? "template" : "rule"}${beside ? " beside another" : ""}`;
        t.match(await list(of), exactly([{ max_requests: 2, mode: undefined }]), name);
        const counts = perChild
          ? ((await ask(of, "rate-limits.children", place)) as { children: unknown }).children
          : await list(of);
        t.match(counts, exactly([{ requests_used: 2, tokens_used: 7, cost_used: 1 }]), name);
        t.match(admit(by), { kind: "refused", cap: 2 }, name);
      };
      await check(daemon, peer, "enforced");
      await daemon.snapshot();
      const next = startDaemon([], { store: daemon.store, nowMs: daemon.nowMs });
      await check(next, next.proxy("p"), "restarted");
    }
});

t.test("explain says what would be refused, and the verdict is another", async (t) => {
  const daemon = startDaemon([
    pathRule("/team", 60, { requests: 4 }),
    shadow(pathRule("/team", 60, { requests: 1 })),
    shadow({ ...pathRule("/", 60, { requests: 5 }), models: "gpt-*" }),
  ]);
  admit(daemon.proxy("p"));
  const body = { user_path: "/team", targets: [target] };
  const { verdict, rules, shadows } = (await ask(
    daemon,
    "explain",
    body,
  )) as unknown as Explanation;
  t.match(
    { verdict, rules },
    exactly({ verdict: { admitted: true }, rules: [{ max_requests: 4 }] }),
  );
  t.match(
    shadows,
    exactly([
      { models: ["gpt-*"], would_refuse: false, breached: [] },
      { mode: "shadow", would_refuse: true, breached: ["requests"], retry_after: 61 },
    ]),
  );
  t.match(await list(daemon), exactly([{}, {}, { would_refuse: 0 }]), "asking notes nothing");
});

t.test("bodies that can't mean anything are refused", async (t) => {
  const daemon = startDaemon([]);
  const put = (fields: object): Promise<unknown> =>
    ask(daemon, "rate-limits.put", { ...key, max_requests: 1, ...fields });
  await t.rejects(put({ mode: "Shadow" }), {
    message: 'mode must be enforce or shadow, not "Shadow"',
  });
  await t.rejects(put({ mode: "shadow", on_exhausted: "warn" }), {
    message: "on_exhausted can't be combined with the mode shadow, which refuses nothing",
  });
  await put({ mode: "enforce" });
  t.match(await list(daemon), exactly([{ mode: undefined }]), "the default");
  await t.rejects(ask(daemon, "rate-limits.delete", { ...key, mode: "shadow" }), {
    message: "no minute rule on user_path /team (shadow)",
  });
});

const targets = [
  target,
  { provider: "azure", model: "gpt-4o" },
  { provider: "openai", model: "o3", tools: ["web_search"] },
] as const;

/** Rules of every kind with caps that some of the drawn requests reach. */
const anyRule: fc.Arbitrary<RuleDefinition> = fc
  .record({
    scope: fc.constantFrom("user_path", "user_path", "user_path", "provider", "model"),
    subject: fc.constantFrom("/", "/a"),
    periodSeconds: fc.constantFrom(0, 2, 60, 60),
    caps: fc.constantFrom("requests", "tokens", "both", "output_tokens", "cost"),
    cap: fc.oneof(fc.integer({ min: 1, max: 3 }), fc.integer({ min: 2, max: 20 })),
    perChild: fc.boolean(),
    models: fc.constantFrom(undefined, undefined, "gpt-*", "tool:web_search", "openai/*"),
    when: fc.constantFrom(undefined, undefined, "thu 00:00-00:01 UTC"),
  })
  .map(({ scope, subject, periodSeconds, caps, cap, perChild, models, when }) => {
    const isPath = scope === "user_path";
    const isGauge = periodSeconds === 0;
    const hasRequests = isGauge || caps === "requests" || caps === "both";
    const measureCaps =
      isGauge || !(caps === "output_tokens" || caps === "cost")
        ? {}
        : { measureCaps: caps === "cost" ? { cost: cap * 1e-10 } : { output_tokens: cap * 20 } };
    return {
      ...{ scope: scope as RuleDefinition["scope"], periodSeconds },
      subject: isPath ? subject : scope === "provider" ? "openai" : "gpt-4o",
      maxRequests: hasRequests ? cap : null,
      maxTokens: !isGauge && (caps === "tokens" || caps === "both") ? cap * 40 : null,
      perChild: isPath && perChild,
      ...(isPath && models !== undefined ? { models } : {}),
      ...(when === undefined ? {} : { when }),
      ...measureCaps,
    };
  });

const anyTraffic = fc.array(
  fc.record({
    afterMs: fc.oneof(
      { weight: 9, arbitrary: fc.integer({ min: 1, max: 900 }) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 50_000 }) },
    ),
    lastsMs: fc.oneof(fc.integer({ min: 1, max: 900 }), fc.integer({ min: 1, max: 90_000 })),
    userPath: fc.constantFrom("/a", "/a/b", "/a/c/d", "/b"),
    target: fc.constantFrom(...targets),
    outputTokens: fc.nat(60),
    submission: fc.integer({ min: 0, max: 9 }).map((n) => n === 0),
  }),
  { minLength: 5, maxLength: 40, size: "max" },
);
type Traffic = typeof anyTraffic extends fc.Arbitrary<infer T> ? T : never;

/** Runs traffic through a daemon; returns the numbers of requests that the shadow rule noted. */
function noted(rules: readonly RuleDefinition[], traffic: Traffic) {
  const daemon = startDaemon(rules);
  const peer = daemon.proxy("p");
  let startMs = daemon.nowMs;
  const events = traffic.flatMap((request, number) => {
    startMs += request.afterMs;
    const endMs = startMs + request.lastsMs;
    const both = { request, number, startMs, endMs };
    return [
      { ...both, atMs: startMs, isStart: true },
      { ...both, atMs: endMs, isStart: false },
    ];
  });
  events.sort((a, b) => a.atMs - b.atMs || Number(a.isStart) - Number(b.isStart));
  const shadowed: number[] = [];
  const past: { readonly number: number; readonly request: PastRequest }[] = [];
  const leases = new Map<number, Lease>();
  let seq = 0;
  for (const { request, number, startMs, isStart, atMs } of events) {
    daemon.nowMs = atMs;
    const { userPath, outputTokens, submission } = request;
    if (isStart) {
      const asked = { userPath, targets: [request.target], submission, id: number + 1 };
      const answer = admit(peer, asked);
      if (answer.kind !== "admitted") continue;
      if (answer.shadow !== undefined) shadowed.push(number);
      const lease = leaseOf(answer, userPath, request.target);
      const none = { target: null, targetAtMs: 0, targetLsn: 0 };
      leases.set(number, submission ? { ...lease, ...none, submission } : lease);
      continue;
    }
    const lease = leases.get(number);
    if (lease === undefined) continue;
    const record = executed({
      ...{ requestId: String(number), outputTokens, latencyMs: atMs - startMs },
      ...{ provider: request.target.provider, model: request.target.model },
      ...("tools" in request.target ? { toolCalls: { web_search: 1 } } : {}),
      ...(submission ? { endpoint: "/v1/batches" } : {}),
    });
    const settle = {
      ...settleOf(lease, ++seq, 20 + outputTokens, { started: atMs - startMs }),
      record,
    };
    peer.send(settle);
    past.push({ number, request: pastRequest(recordOf(settle, record, atMs), null) });
  }
  return { daemon, peer, shadowed, past };
}

/** What a back-test of the records refuses. */
function backTested(
  rule: RuleDefinition,
  past: ReturnType<typeof noted>["past"],
  fromMs: number,
): readonly number[] {
  const names = { hashKey: [1, 2], providers: new Map() } as const;
  const replay = new Replay(rule, names, { fromMs });
  const refused: number[] = [];
  replay.sums.add = (request, breach) => {
    if (breach !== null) refused.push(past.find((each) => each.request === request)!.number);
  };
  for (const { request } of past) replay.add(request);
  while (replay.held > 0) replay.playNext();
  return refused;
}

t.test("a shadow rule notes exactly what a back-test of the records refuses", async (t) => {
  let refusals = 0;
  fc.assert(
    fc.property(anyRule, anyRule, anyTraffic, (enforced, rule, traffic) => {
      const { shadowed, past } = noted([enforced, shadow(rule)], traffic);
      refusals += shadowed.length;
      deepStrictEqual(shadowed, backTested(rule, past, 1_767_225_600_000));
    }),
    { numRuns: 1000 },
  );
  t.ok(refusals > 1000, `and that was often: ${refusals}`);
});

t.test("without its shadow rules a history has the same answers and counters", async (t) => {
  let both = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(anyRule, { maxLength: 3 }),
      fc.array(anyRule, { minLength: 1, maxLength: 3 }),
      anyTraffic,
      async (enforced, shadows, traffic) => {
        const distinct = [...new Map(enforced.map((rule) => [ruleId(rule), rule])).values()];
        const others = [...new Map(shadows.map((rule) => [ruleId(rule), shadow(rule)])).values()];
        const [without, withThem] = [
          noted(distinct, traffic),
          noted([...distinct, ...others], traffic),
        ];
        both += withThem.shadowed.length;
        const answers = ({ peer }: typeof without): unknown =>
          peer.received
            .filter(({ kind }) => kind === "admitted" || kind === "refused")
            .map((answer) => ({ ...answer, shadow: undefined }));
        deepStrictEqual(answers(withThem), answers(without));
        deepStrictEqual(withThem.past, without.past, "records");
        const listed = (await list(withThem.daemon)).filter(({ mode }) => mode === undefined);
        deepStrictEqual(listed, await list(without.daemon), "counters");
        const inFlight = (await list(withThem.daemon)).map(({ in_flight }) => in_flight);
        deepStrictEqual(
          inFlight.filter((count) => count !== 0),
          [],
          "no slot is left",
        );
      },
    ),
    { numRuns: 300 },
  );
  t.ok(both > 300, `and shadow rules refused often: ${both}`);
});
