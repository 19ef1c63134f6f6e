import t from "tap";
import { Held } from "../../../limiterd/counters/held.js";
import {
  chargeInterrupted,
  interruptedKeptMs,
} from "../../../limiterd/handlers/interrupted-requests.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import { ruleId } from "../../../shared/domain/rule.js";
import type { Drawn } from "../../../shared/wire/message-from-daemon.js";
import type { Lease, Metered, Settle } from "../../../shared/wire/message-to-daemon.js";
import { budget } from "../budgets/budget-fixture.js";
import {
  ask,
  counts,
  executed,
  pathRule,
  settleOf,
  startDaemon,
  type TestDaemon,
  type TestPeer,
  target,
} from "../in-memory-daemon.js";

const dear = { input: 3_000_000, output: 15_000_000 };
const stream = (promptTokens: number, more: Partial<Metered> = {}): Metered => ({
  promptTokens,
  outputMax: null,
  isStreamed: true,
  rates: [dear],
  ...more,
});
/** What a stream holds beyond its allowance. */
const onItsWay = 8;
const whole = (promptTokens: number, outputMax: number | null): Metered =>
  stream(promptTokens, { outputMax, isStreamed: false });
const hard = (caps: Partial<RuleDefinition>, subject = "/team"): RuleDefinition => ({
  ...pathRule(subject, 60, {}),
  hold: "hard",
  ...caps,
});
const tokens = (maxTokens: number): RuleDefinition => hard({ maxTokens });

interface Running {
  readonly peer: TestPeer;
  readonly metered: Metered;
  lease: Lease;
  allowance: number;
}

/** A request in flight, or what refused it and its wait. */
function begin(peer: TestPeer, id: number, metered: Metered, userPath = "/team"): Running | string {
  peer.send({
    ...{ read: 0, kind: "admit", id, userPath, credential: "authenticated", targets: [target] },
    ...{ submission: false, metered },
  } as never);
  const answer = peer.received.at(-1)!;
  if (answer.kind === "refused" || answer.kind === "exceeded")
    return `${answer.dimension} ${answer.waitSeconds}`;
  if (answer.kind !== "admitted") throw new Error(JSON.stringify(answer));
  const { admittedAtMs, lsn, allowance = -1 } = answer;
  const lease = {
    ...{ lease: id, userPath, admittedAtMs, lsn, target },
    ...{ targetAtMs: admittedAtMs, targetLsn: lsn, submission: false },
  };
  return { peer, metered, lease, allowance };
}

function running(peer: TestPeer, id: number, metered: Metered, userPath?: string): Running {
  const begun = begin(peer, id, metered, userPath);
  if (typeof begun === "string") throw new Error(begun);
  return begun;
}

/** Asks for this much in all; returns the words of the cap that ends it. */
function draw(request: Running, total: number, promptTokens?: number): string | undefined {
  request.peer.send({ kind: "draw", id: request.lease.lease, total, promptTokens });
  const answer = request.peer.received.at(-1) as Drawn;
  request.allowance = answer.total;
  return answer.cap;
}

t.test("a stream that can't wait is answered at once, though others hold the rest", (t) => {
  const daemon = startDaemon([tokens(1000)], { drawsWait: true });
  const peer = daemon.proxy("p1");
  const others = [2, 3].map((id) => running(peer, id, stream(300)));
  const { lease, allowance } = others[0]!;
  const ask = (waitMs?: number): readonly unknown[] => {
    const answers = peer.received.length;
    peer.send({ kind: "draw", id: lease.lease, total: allowance + 2000, waitMs });
    return peer.received.slice(answers);
  };
  while ((ask(0).at(-1) as Drawn).cap === undefined);
  t.same(ask(1), [], "another one waits");
  const [answer, ...more] = ask(0);
  t.match(answer, { kind: "drawn", cap: /token limit of \/team/ });
  t.same(more, []);
  t.end();
});

t.test("a stream may draw beyond its own maximum: its tokens are estimates", async (t) => {
  const peer = startDaemon([tokens(10_000)]).proxy("p1");
  const request = running(peer, 2, stream(40, { outputMax: 100 }));
  t.equal(request.allowance, 100);
  t.equal(draw(request, 164), undefined);
  t.equal(request.allowance, 164);
});

t.test("an answer that isn't streamed hears which cap has lowered its maximum", async (t) => {
  const peer = startDaemon([tokens(10_000), hard({ maxTokens: 9000 }, "/")]).proxy("p1");
  const capOf = (id: number, outputMax: number | null): string | undefined => {
    running(peer, id, whole(40, outputMax));
    return (peer.received.at(-1) as { cap?: string }).cap;
  };
  t.equal(capOf(2, 100), undefined, "it gets all that it asks for");
  t.equal(capOf(3, null), "the minute token limit of /");
  t.equal(capOf(4, 5000), "the minute token limit of /");
});

let seq = 0;
function settled(lease: Lease, input: number, output: number): Settle {
  const cost = input * dear.input + output * dear.output;
  const costs = { inputCost: 0, outputCost: cost, totalCost: cost };
  const record = executed({ inputTokens: input, outputTokens: output, ...costs });
  return { ...settleOf(lease, ++seq, input + output), record };
}

function settle({ peer, lease }: Running, input: number, output: number): void {
  if (!peer.send(settled(lease, input, output))) throw new Error("a broken settle");
}

const heldOf = ({ state }: TestDaemon, definition: RuleDefinition): number =>
  (state.book.find(definition)?.held ?? new Held()).of("");

t.test(
  "a stream holds its prompt and its allowance, draws more, and its settle replaces both",
  async (t) => {
    const rule = tokens(10_000);
    const daemon = startDaemon([rule]);
    const peer = daemon.proxy("p1");
    const request = running(peer, 2, stream(1000));
    t.equal(request.allowance, 189, "2% of what is left, with two bytes a token of the prompt");
    t.equal(heldOf(daemon, rule), 1189 + onItsWay);
    t.equal(draw(request, 400), undefined);
    t.equal(request.allowance, 375, "2% of what is left");
    draw(request, 400);
    draw(request, 400);
    t.equal(request.allowance, 400, "no more than it asks for, and a repeat draws nothing twice");
    t.equal(heldOf(daemon, rule), 1400 + onItsWay);
    draw(request, 400, 250);
    t.equal(heldOf(daemon, rule), 650 + onItsWay, "the provider has counted the prompt");
    settle(request, 250, 390);
    t.equal(heldOf(daemon, rule), 0);
    t.match(counts(daemon, rule), { tokens: 640, inFlight: 0 });
  },
);

t.test(
  "a prompt that the provider has counted counts in full, though its stream is alone",
  async (t) => {
    const rule = tokens(10_000);
    const daemon = startDaemon([rule]);
    const request = running(daemon.proxy("p1"), 2, stream(8000));
    while (draw(request, request.allowance + 4096, 5000) === undefined);
    t.equal(request.allowance, 5000 - onItsWay);
    settle(request, 5000, request.allowance);
    t.equal(counts(daemon, rule).tokens, 10_000 - onItsWay);
  },
);

t.test("requests one after the other leave less of a cap than one needs", async (t) => {
  for (const isStreamed of [true, false])
    for (const limit of ["rule", "budget"] as const) {
      const rule = tokens(10_000);
      const daemon =
        limit === "rule"
          ? startDaemon([rule])
          : startDaemon([], { budgets: [{ ...budget("/team", 86_400, 0.12), hold: "hard" }] });
      const peer = daemon.proxy("p1");
      let [id, used] = [2, 0];
      for (;;) {
        const request = begin(peer, id++, stream(310, { isStreamed, outputMax: 100 }));
        if (typeof request === "string") break;
        const output = Math.min(60, request.allowance);
        settle(request, 40, output);
        used += limit === "rule" ? 40 + output : 40 * dear.input + output * dear.output;
      }
      const left = 1 - used / (limit === "rule" ? 10_000 : 0.12e12);
      t.ok(left >= 0 && left < 0.01, `${limit}: ${left}, streamed: ${isStreamed}`);
    }
});

t.test("estimates, cached answers and sums of several prompts teach nothing", async (t) => {
  const daemon = startDaemon([tokens(1_000_000)]);
  const peer = daemon.proxy("p1");
  const likely = (): number => daemon.state.learnedPrompts.likely(target, 1000);
  let id = 2;
  const ended = (change: (settle: Settle) => Settle, before: Partial<Settle> = {}): void => {
    const { lease } = running(peer, id++, stream(1000));
    const whole = settled(lease, 900, 10);
    if (Object.keys(before).length > 0) peer.send({ ...settled(lease, 900, 10), ...before });
    peer.send({ ...change(whole), seq: ++seq });
  };
  ended((settle) => ({ ...settle, estimated: true }));
  ended((settle) => ({ ...settle, record: { ...settle.record!, cacheHit: true } }));
  const atMost = { tokens: 910, cost: null };
  ended((settle) => ({ ...settle, record: { ...settle.record!, atMost } }));
  ended((settle) => ({ ...settle, record: null }));
  ended((settle) => settle, { part: "progress" });
  t.equal(likely(), 500);
  ended((settle) => settle);
  t.equal(likely(), 1000);
});

t.test("without a hard cap, no request holds anything, whatever it says of itself", async (t) => {
  const rule = pathRule("/team", 60, { tokens: 100 });
  const daemon = startDaemon([rule, hard({ maxTokens: 5 }, "/other")]);
  const peer = daemon.proxy("p1");
  t.match(peer.received[0], { kind: "welcome", hardLimits: true });
  const request = running(peer, 2, stream(100_000));
  t.equal(request.allowance, -1);
  t.equal(draw(request, 5000), undefined);
  t.equal(request.allowance, 5000);
  t.equal(heldOf(daemon, rule), 0);
});

t.test(
  "100 streams at the same time stay within a cap, whoever settles when, and use it",
  async (t) => {
    for (const limit of ["rule", "budget"] as const) {
      const rule = tokens(200_000);
      const daemon =
        limit === "rule"
          ? startDaemon([rule])
          : startDaemon([], { budgets: [{ ...budget("/team", 86_400, 3), hold: "hard" }] });
      const peer = daemon.proxy("p1");
      const used = async (): Promise<number> => {
        if (limit === "rule") return counts(daemon, rule).tokens / 200_000;
        const { budgets } = (await ask(daemon, "budgets.list", {})) as {
          budgets: { spent: number }[];
        };
        return budgets[0]!.spent / 3;
      };
      let id = 2;
      let refused = 0;
      const all: Running[] = [];
      for (let round = 0; round < 400 && refused < 300; round++) {
        while (all.length < 100) {
          const begun = begin(peer, id++, stream(400));
          if (typeof begun === "string") {
            refused++;
            break;
          }
          all.push(begun);
        }
        for (const request of [...all]) {
          const cap = draw(request, request.allowance + 200);
          const isEnded = cap !== undefined || request.allowance > 2000;
          if (!isEnded) continue;
          all.splice(all.indexOf(request), 1);
          settle(request, 200, request.allowance);
        }
      }
      for (const request of all) settle(request, 200, request.allowance);
      // What is left is less than one request of this size is held for.
      for (let i = 0; i < 50; i++) {
        const begun = begin(peer, id++, stream(400));
        if (typeof begun !== "string") settle(begun, 200, begun.allowance);
      }
      const share = await used();
      t.ok(share <= 1, `${limit}: ${share} of the cap`);
      t.ok(share > 0.99, `${limit}: ${share} of the cap`);
      t.equal(heldOf(daemon, rule), 0);
      for (const each of daemon.state.budgets.budgets.values()) t.equal(each.held?.of("") ?? 0, 0);
    }
  },
);

t.test(
  "the request that a cap ends learns which, and what is missing decides the wait",
  async (t) => {
    const daemon = startDaemon([tokens(100_000)], {
      budgets: [{ ...budget("/team", 86_400, 0.01), hold: "hard" }],
    });
    const peer = daemon.proxy("p1");
    const first = running(peer, 2, stream(400));
    let cap: string | undefined;
    for (let i = 0; i < 500 && cap === undefined; i++) cap = draw(first, first.allowance + 1000);
    t.equal(cap, "the daily budget of /team");
    t.ok(first.allowance > 400, `${first.allowance}`);
    t.equal(begin(peer, 3, stream(100)), "budget 1", "what runs may give it back");
    settle(first, 400, first.allowance);
    t.match(begin(peer, 4, stream(400)), /^budget \d{4,}$/, "nothing is left");
  },
);

t.test("a lone request is refused by no reserve that it doesn't need", async (t) => {
  const daemon = startDaemon([tokens(10_000)]);
  const peer = daemon.proxy("p1");
  const large = running(peer, 2, stream(19_000));
  t.ok(large.allowance >= 8);
  t.equal(begin(peer, 3, stream(10)), "tokens 1");
  settle(large, 4800, 64);
  t.equal(begin(peer, 4, stream(19_000)), "tokens 108");
  t.equal(typeof begin(peer, 5, stream(5000)), "object");
});

t.test("a request that never fits doesn't wait, since others would wait behind it", async (t) => {
  const waiting = { maxMs: 3_600_000, defaultMs: 3_600_000, paths: [] };
  const wait = { askedMs: null, timeoutMs: null, waitedMs: 0 };
  for (const [rules, budgets] of [
    [[tokens(1000)], []],
    [[], [{ ...budget("/team", 300, 0.003), hold: "hard" as const }]],
  ] as const) {
    const daemon = startDaemon([...rules], { waiting, budgets: [...budgets] });
    const peer = daemon.proxy("p1");
    const answer = (id: number, promptTokens: number): string => {
      peer.send({
        ...{ read: 0, kind: "admit", id, userPath: "/team", credential: "authenticated" },
        ...{ targets: [target], submission: false, metered: stream(promptTokens), wait },
      } as never);
      return peer.received.at(-1)!.kind;
    };
    t.match(answer(2, 5000), /refused|exceeded/);
    t.match(peer.received.at(-1), { waitSeconds: 3601 });
    const small = running(peer, 3, stream(100));
    t.match(answer(4, 5000), /refused|exceeded/, "nor while others run");
    t.equal(answer(5, 1500), "queued", "alone it probably fits");
    settle(small, 50, 1);
    daemon.nowMs += 100;
    await daemon.commit();
    t.ok(peer.received.some((answer) => answer.kind === "admitted" && answer.id === 5));
  }
});

t.test("what isn't streamed gets its whole maximum, unless it would lock the cap", async (t) => {
  const daemon = startDaemon([], { budgets: [{ ...budget("/team", 86_400, 25), hold: "hard" }] });
  const peer = daemon.proxy("p1");
  settle(running(peer, 2, whole(1000, 100)), 1000, 100);
  t.equal(running(peer, 3, whole(1000, 500)).allowance, 500);
  t.equal(running(peer, 4, whole(1000, null)).allowance, 32_768);
  t.equal(running(peer, 5, whole(1000, 0)).allowance, 0, "embeddings have no output");
  for (let id = 6; id < 100; id++)
    t.equal(
      typeof begin(peer, id, whole(1000, 128_000)),
      "object",
      "a budget 1% used refuses none",
    );
});

t.test("a cap on a measure counts what it measures", async (t) => {
  for (const [measureCaps, held] of [
    [{ input_tokens: 10_000 }, 1000],
    [{ output_tokens: 10_000 }, 199 + onItsWay],
    [{ cost: 1 }, 1000 * dear.input + (256 + onItsWay) * dear.output],
  ] as const) {
    const rule = hard({ measureCaps });
    const daemon = startDaemon([rule]);
    const request = running(daemon.proxy("p1"), 2, stream(1000));
    const [part] = daemon.state.book.find(rule)!.parts;
    t.equal(part!.held!.of(""), held, JSON.stringify(measureCaps));
    settle(request, 10, 20);
    t.equal(part!.held!.of(""), 0);
  }
});

t.test("the smallest of several caps decides, and a child holds of its template", async (t) => {
  const template = { ...tokens(2000), subject: "/", perChild: true };
  const daemon = startDaemon([tokens(1_000_000), template, hard({ maxTokens: 500 }, "/team/a")]);
  const peer = daemon.proxy("p1");
  t.equal(running(peer, 2, stream(100), "/team/b").allowance, 38);
  const held = () => daemon.state.book.find(template)!.held!.of("team");
  t.equal(held(), 139, "2000 / 128 / 8 is 1 more");
  t.equal(begin(peer, 3, stream(1200), "/team/a"), "tokens 3601");
  t.equal(held(), 139, "all or none");
  peer.close();
  chargeInterrupted(daemon.state, daemon.nowMs + interruptedKeptMs);
  t.equal(held(), 0);
});

t.test("a lost connection gives nothing back before its requests end", async (t) => {
  const rule = tokens(10_000);
  for (const isBack of [true, false]) {
    const daemon = startDaemon([rule]);
    const peer = daemon.proxy("p1");
    const request = running(peer, 2, stream(1000));
    const other = running(peer, 3, stream(1000));
    const held = heldOf(daemon, rule);
    peer.close();
    t.equal(heldOf(daemon, rule), held);
    if (!isBack) {
      chargeInterrupted(daemon.state, daemon.nowMs + interruptedKeptMs - 1);
      t.equal(heldOf(daemon, rule), held);
      chargeInterrupted(daemon.state, daemon.nowMs + interruptedKeptMs);
      t.equal(heldOf(daemon, rule), 0, "the proxy has gone");
      continue;
    }
    const holding = { promptTokens: 1000, output: request.allowance, rates: dear, keyId: "" };
    const back = daemon.proxy("p1", [{ ...request.lease, holding }]);
    t.equal(heldOf(daemon, rule), held, "of both: the other has ended, but isn't settled");
    settle({ ...other, peer: back }, 1000, other.allowance);
    settle({ ...request, peer: back }, 1000, request.allowance);
    t.equal(heldOf(daemon, rule), 0);
    t.equal(counts(daemon, rule).tokens, held - 2 * onItsWay);
  }
});

t.test("a daemon that restarts holds again what its proxies report", async (t) => {
  const rule = tokens(10_000);
  const daemon = startDaemon([rule]);
  const peer = daemon.proxy("p1");
  const request = running(peer, 2, stream(1000));
  draw(request, 300);
  await daemon.commit();
  const next = startDaemon([rule], { store: daemon.store });
  const holding = { promptTokens: 1000, output: request.allowance, rates: dear, keyId: "" };
  const back = next.proxy("p1", [{ ...request.lease, holding }]);
  t.equal(heldOf(next, rule), 1000 + request.allowance + onItsWay);
  const again = { ...request, peer: back };
  draw(again, 350);
  t.ok(again.allowance >= 350);
  settle(again, 1000, again.allowance);
  t.equal(heldOf(next, rule), 0);
});

t.test(
  "edits, resets and deletions between a draw and its settle double and leak nothing",
  async (t) => {
    const rule = tokens(10_000);
    const edit = (more: object) => ({
      user_path: "/team",
      limit_key: { period: "minute" },
      max_tokens: 10_000,
      ...more,
    });
    for (const [op, body, held] of [
      ["rate-limits.put", edit({ max_tokens: 100 }), 1197],
      ["rate-limits.put", edit({ hold: "soft" }), 1197],
      ["rate-limits.reset-one", { user_path: "/team", period: "minute" }, 1197],
      ["rate-limits.delete", { user_path: "/team", limit_key: { period: "minute" } }, 0],
    ] as const) {
      const daemon = startDaemon([rule]);
      const peer = daemon.proxy("p1");
      const request = running(peer, 2, stream(1000));
      await ask(daemon, op, body);
      t.equal(heldOf(daemon, rule), held, op);
      draw(request, 200);
      settle(request, 500, 100);
      t.equal(heldOf(daemon, rule), 0, op);
      if (held > 0) t.equal(counts(daemon, rule).tokens, 600);
    }
  },
);

t.test("a request that moves to another target holds what it may use there", async (t) => {
  const daemon = startDaemon([hard({ measureCaps: { cost: 1 } })]);
  const peer = daemon.proxy("p1");
  const request = running(peer, 2, stream(1000));
  const [part] = [...daemon.state.book.ruleSet.all.values()][0]!.parts;
  const held = () => part!.held!.of("");
  const cheap = { provider: "local", model: "llama" };
  const reroute = (id: number, rates: Metered["rates"]) =>
    peer.send({
      ...{ read: 0, kind: "reroute", id, lease: 2, targets: [target, cheap] },
      metered: stream(1000, { rates }),
    } as never);
  reroute(3, [
    { input: 2_000_000_000, output: 1 },
    { input: 1, output: 2 },
  ]);
  t.match(peer.received.at(-1), { kind: "admitted", target: 1, allowance: 256 });
  t.equal(held(), 1000 + 2 * (256 + onItsWay));
  reroute(4, [
    { input: 2_000_000_000, output: 1 },
    { input: 2_000_000_000, output: 2 },
  ]);
  t.match(peer.received.at(-1), { kind: "refused", dimension: "cost", waitSeconds: 3601 });
  t.equal(held(), 0, "nothing runs");
  settle(request, 0, 0);
  t.equal(held(), 0);
});

t.test("what a progress settle charges isn't held any more", async (t) => {
  const rule = tokens(100_000);
  const daemon = startDaemon([rule]);
  const peer = daemon.proxy("p1");
  const request = running(peer, 2, stream(1000));
  t.equal(request.allowance, 256);
  peer.send({ ...settled(request.lease, 900, 50), part: "progress" });
  t.equal(heldOf(daemon, rule), 100 + 206 + onItsWay);
  t.equal(counts(daemon, rule).tokens, 950);
  draw(request, 300);
  t.equal(heldOf(daemon, rule), 100 + 250 + onItsWay);
  settle(request, 50, 250);
  t.equal(heldOf(daemon, rule), 0);
});

t.test("proxies learn when the first hard cap is made and the last one is deleted", async (t) => {
  const daemon = startDaemon([]);
  const peer = daemon.proxy("p1");
  t.match(peer.received[0], { kind: "welcome", hardLimits: undefined });
  const key = { user_path: "/team", limit_key: { period: "minute" } };
  await ask(daemon, "rate-limits.put", { ...key, max_tokens: 5, hold: "hard" });
  await ask(daemon, "rate-limits.delete", key);
  t.same(
    peer.received.flatMap((message) =>
      message.kind === "event" && message.name === "hard_limits" ? [message.value] : [],
    ),
    [true, false],
  );
  t.equal(daemon.state.book.rules.has(ruleId(tokens(5))), false);
});

t.test("lists and metrics show what is held now", async (t) => {
  const rule = { ...tokens(10_000), measureCaps: { cost: 1 } };
  const daemon = startDaemon([rule, pathRule("/team", 30, { tokens: 5000 })], {
    budgets: [{ ...budget("/team", 86_400, 3), hold: "hard" }, budget("/", 86_400, 3)],
  });
  running(daemon.proxy("p1"), 2, stream(100));
  const output = 198 + onItsWay;
  const cost = (100 * dear.input + output * dear.output) / 1e12;
  const listed = (await ask(daemon, "rate-limits.list", {})) as {
    rate_limits: Record<string, unknown>[];
  };
  t.same(
    listed.rate_limits.map((each) => [each["hold"], each["tokens_held"], each["cost_held"]]),
    [
      [undefined, undefined, undefined],
      ["hard", 100 + output, cost],
    ],
  );
  const { budgets } = (await ask(daemon, "budgets.list", {})) as {
    budgets: Record<string, unknown>[];
  };
  t.same(
    budgets.map((each) => [each["hold"], each["held"]]),
    [
      [undefined, undefined],
      ["hard", cost],
    ],
  );
  const text = JSON.stringify(await ask(daemon, "metrics", { rules_max: 10 }));
  t.match(text, /sluice_budget_held_usd|budgetHeld/);
});

t.test("children that share a hard cap: their streams keep off others' floors", async (t) => {
  const childShares = { children: { a: { floor: 0.4 }, b: {} } };
  const rule = hard({ maxTokens: 10_000, childShares });
  const daemon = startDaemon([rule]);
  const peer = daemon.proxy("p1");
  const ofChild = (child: string): number =>
    daemon.state.book.find(rule)!.tenants!.held?.of(child) ?? 0;
  const b = running(peer, 2, stream(0), "/team/b");
  while (b.allowance < 5000) t.equal(draw(b, b.allowance + 4096), undefined, "nobody else asks");
  const a = running(peer, 3, stream(0), "/team/a/x");
  t.same([ofChild("a"), ofChild("b")], [a.allowance + onItsWay, b.allowance + onItsWay]);
  let words: string | undefined;
  while (words === undefined) words = draw(b, b.allowance + 4096);
  t.equal(words, "b's share of the minute token limit of /team");
  t.equal(b.allowance + onItsWay, 6000, "all but what is left of the floor");
  t.match(begin(peer, 4, stream(0), "/team/b"), "tokens 1", "so what is held may come back");
  words = undefined;
  while (words === undefined) words = draw(a, a.allowance + 4096);
  t.equal(a.allowance + onItsWay, 4000, "its floor");
  t.equal(words, "the minute token limit of /team");
  settle(a, 0, 1000);
  settle(b, 0, 6000);
  t.same([ofChild("a"), ofChild("b"), heldOf(daemon, rule)], [0, 0, 0]);
  t.match(begin(peer, 5, stream(0), "/team/b"), /^tokens \d\d/, "3000 are kept for a");
  t.equal(typeof begin(peer, 6, stream(2000), "/team/a"), "object");
});

t.test("of a hard cap, children whose streams were cut get parts by weight", async (t) => {
  const childShares = { children: { a: { weight: 3 } } };
  const daemon = startDaemon([hard({ maxTokens: 8000, childShares })]);
  const peer = daemon.proxy("p1");
  const [a, b] = ["a", "b"].map((child, i) => running(peer, 2 + i, stream(0), `/team/${child}`));
  // One of them is short, as if another request of it were.
  const { sharing } = [...daemon.state.book.shared][0]!.tenants!;
  for (const child of ["a", "b"]) sharing!.findOrMake("")!.noteRefusal(child, daemon.nowMs);
  for (const request of [b!, a!]) while (draw(request, request.allowance + 4096) === undefined);
  t.same([a!.allowance, b!.allowance], [6000 - 7, 2000 - 7], "a part of a smaller cap");
});
