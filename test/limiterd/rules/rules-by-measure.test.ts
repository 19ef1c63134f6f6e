/** Rules that cap input tokens, output tokens or cost, and weights of tokens. */
import t from "tap";
import type { RulePage } from "../../../shared/api/rule-item.js";
import type { RuleDefinition } from "../../../shared/domain/rule.js";
import { detailsOf } from "../../../shared/usage/usage-details.js";
import type { Execution } from "../../../shared/wire/execution.js";
import type { Admitted, Refused } from "../../../shared/wire/message-from-daemon.js";
import { exactly } from "../../support/patterns/exactly.js";
import {
  ask,
  executed,
  leaseOf,
  pathRule,
  refusal,
  settleOf,
  startDaemon,
  type TestDaemon,
  type TestPeer,
  target,
} from "../in-memory-daemon.js";

const usd = 1_000_000_000_000;
const measured: RuleDefinition = {
  ...pathRule("/team", 60, {}),
  measureCaps: { input_tokens: 100, output_tokens: 50, cost: 2 },
};

function admit(peer: TestPeer, id: number, userPath = "/team/ann"): Admitted | Refused {
  peer.send({
    kind: "admit",
    id,
    userPath,
    credential: "authenticated",
    targets: [target],
    submission: false,
    read: 0,
  });
  return peer.received.at(-1) as Admitted | Refused;
}

/** Admits a request and settles it with this usage. */
function run(
  peer: TestPeer,
  id: number,
  used: Partial<Execution>,
  userPath = "/team/ann",
): Admitted {
  const verdict = admit(peer, id, userPath) as Admitted;
  const record = executed({ requestId: `r${id}`, ...used });
  const tokens = record.inputTokens + record.outputTokens;
  peer.send({ ...settleOf(leaseOf(verdict, userPath), id, tokens), record });
  return verdict;
}

async function listed(daemon: TestDaemon): Promise<RulePage["rate_limits"]> {
  return ((await ask(daemon, "rate-limits.list", null)) as unknown as RulePage).rate_limits;
}

const costly = (totalCost: number): Partial<Execution> => ({
  inputTokens: 1,
  outputTokens: 1,
  inputCost: totalCost,
  outputCost: 0,
  totalCost,
});

t.test("each measure is counted alone, refuses alone, and is named", async (t) => {
  for (const [used, dimension, cap, message] of [
    [
      { inputTokens: 100, outputTokens: 1 },
      "input_tokens",
      100,
      "rate limit exceeded for /team: minute input token limit of 100 reached",
    ],
    [
      { inputTokens: 1, outputTokens: 50 },
      "output_tokens",
      50,
      "rate limit exceeded for /team: minute output token limit of 50 reached",
    ],
    [
      costly(2 * usd),
      "cost",
      2 * usd,
      "rate limit exceeded for /team: minute cost limit of $2 reached",
    ],
  ] as const) {
    const daemon = startDaemon([measured]);
    const peer = daemon.proxy("p");
    t.match(run(peer, 1, used), { kind: "admitted" });
    t.match(admit(peer, 2), { kind: "refused", dimension, cap, waitSeconds: 61 });
    const explained = await ask(daemon, "explain", { user_path: "/team/x", targets: [target] });
    t.match(
      explained,
      exactly({
        verdict: {
          admitted: false,
          message,
          dimension,
          cap: dimension === "cost" ? 2 : cap,
          retry_after: 61,
        },
        rules: [{ subject: "/team", breached: [dimension], retry_after: 61 }],
      }),
    );
    t.match(admit(peer, 3, "/else"), { kind: "admitted" });
  }
});

t.test("a request below every cap is admitted; what has only a cost counts too", async (t) => {
  const daemon = startDaemon([measured]);
  const peer = daemon.proxy("p");
  run(peer, 1, { inputTokens: 99, outputTokens: 49, ...{ totalCost: 5 } });
  t.match(admit(peer, 2), { kind: "admitted" });
  daemon.nowMs += 30_000;
  t.match((await listed(daemon))[0], { exhausted_in_seconds: 1 }, "at the pace of the fullest");
  daemon.nowMs -= 30_000;
  run(peer, 3, { ...costly(2 * usd), inputTokens: 0, outputTokens: 0 });
  t.match(admit(peer, 4), { kind: "refused", dimension: "cost" });
  const [rule] = await listed(daemon);
  t.match(rule, {
    max_input_tokens: 100,
    max_output_tokens: 50,
    max_cost: 2,
    input_tokens_used: 99,
    input_tokens_remaining: 1,
    output_tokens_used: 49,
    cost_used: 2.000000000005,
    cost_remaining: 0,
    tokens_used: 148,
  });
  t.notHas(rule, { max_tokens: 1 });
  t.equal((await listed(daemon)).length, 1, "one rule, however many caps");
});

t.test("the headers have what is left of each, and the status the caller's own", async (t) => {
  const daemon = startDaemon([{ ...measured, maxRequests: 5 }]);
  const peer = daemon.proxy("p");
  run(peer, 1, { inputTokens: 40, outputTokens: 10, totalCost: usd / 2 });
  t.match(admit(peer, 2), {
    headers: {
      requests: { limit: 5, remaining: 3 },
      tokens: null,
      measures: {
        input_tokens: { limit: 100, remaining: 60, resetSeconds: 60 },
        output_tokens: { limit: 50, remaining: 40, resetSeconds: 60 },
        cost: { limit: 2 * usd, remaining: 1.5 * usd, resetSeconds: 60 },
      },
    },
  });
  const today = { start_date: "2026-01-01", end_date: "2026-01-01" };
  const status = await ask(daemon, "usage.status", { user_path: "/team/x", ...today });
  t.match(status, {
    rate_limits: exactly([
      {
        max_cost: 2,
        cost_used: 0.5,
        cost_usage_ratio: 0.25,
        input_tokens_usage_ratio: 0.4,
        exhausted: false,
      },
    ]),
  });
});

t.test("counts slide, and outlive a restart and a crash", async (t) => {
  const daemon = startDaemon([measured]);
  const peer = daemon.proxy("p");
  run(peer, 1, { inputTokens: 100, outputTokens: 7 });
  await daemon.commit();
  const crashed = startDaemon([measured], { store: daemon.store.crash(), nowMs: daemon.nowMs });
  t.match((await listed(crashed))[0], { input_tokens_used: 100, output_tokens_used: 7 });
  await daemon.snapshot();
  const { store, nowMs } = daemon;
  const next = startDaemon([measured], { store, nowMs });
  const [rule] = await listed(next);
  t.match(rule, { input_tokens_used: 100, output_tokens_used: 7 });
  next.nowMs += 90_000;
  t.match((await listed(next))[0], { input_tokens_used: 50 });
  t.match(admit(next.proxy("p"), 1), { kind: "admitted" });
});

t.test("each child of a template counts for itself", async (t) => {
  const daemon = startDaemon([{ ...measured, perChild: true }]);
  const peer = daemon.proxy("p");
  run(peer, 1, { inputTokens: 3, outputTokens: 50 });
  t.match(admit(peer, 2), { kind: "refused", subject: "/team/ann", dimension: "output_tokens" });
  t.match(admit(peer, 3, "/team/bob"), { kind: "admitted" });
  const key = { user_path: "/team", period: "minute" };
  t.match(await ask(daemon, "rate-limits.children", key), {
    total: 2,
    children: exactly([
      { subject: "/team/ann", output_tokens_used: 50, used_ratio: 1 },
      { subject: "/team/bob", output_tokens_used: 0, used_ratio: 0 },
    ]),
  });
});

t.test("weights: the rule's own, else those for all", async (t) => {
  const plain = pathRule("/team", 60, { tokens: 1000 });
  const own: RuleDefinition = {
    ...pathRule("/team", 3600, { tokens: 1000 }),
    measureCaps: { input_tokens: 1000, output_tokens: 1000 },
    tokenWeights: { cached: 0.1, cache_write: 1.25, reasoning: 2 },
  };
  const daemon = startDaemon([plain, own], { tokenWeights: { cached: 0 } });
  const peer = daemon.proxy("p");
  run(peer, 1, {
    inputTokens: 100,
    cachedInputTokens: 60,
    cacheWriteInputTokens: 20,
    outputTokens: 30,
    details: detailsOf(null, { reasoningTokens: 10 }),
  });
  t.match(
    await listed(daemon),
    exactly([
      { period_label: "minute", tokens_used: 70 },
      {
        period_label: "hour",
        tokens_used: 20 + 6 + 25 + 20 + 20,
        input_tokens_used: 51,
        output_tokens_used: 40,
        token_weights: own.tokenWeights,
      },
    ]),
  );
});

t.test("caps are added, changed and removed; the others keep their counts", async (t) => {
  const daemon = startDaemon([]);
  const peer = daemon.proxy("p");
  const put = (caps: object): Promise<unknown> =>
    ask(daemon, "rate-limits.put", {
      user_path: "/team",
      limit_key: { period: "minute" },
      ...caps,
    });
  await put({ max_requests: 9 });
  run(peer, 1, { inputTokens: 30, outputTokens: 5 });
  await put({ max_requests: 9, max_input_tokens: 40 });
  run(peer, 2, { inputTokens: 30, outputTokens: 5 });
  t.match((await listed(daemon))[0], { requests_used: 2, input_tokens_used: 30, tokens_used: 70 });
  await put({ max_requests: 9, max_input_tokens: 30, max_output_tokens: 8 });
  t.match(admit(peer, 3), { kind: "refused", dimension: "input_tokens", cap: 30 });
  await put({ max_requests: 9, max_output_tokens: 8 });
  t.match(run(peer, 4, { inputTokens: 500, outputTokens: 8 }), { kind: "admitted" });
  t.match(admit(peer, 5), { kind: "refused", dimension: "output_tokens" });
  await daemon.snapshot();
  await put({ max_requests: 9 });
  await put({ max_requests: 9, max_output_tokens: 8 });
  await daemon.commit();
  const next = startDaemon([], { store: daemon.store.crash(), nowMs: daemon.nowMs });
  t.match((await listed(next))[0], { requests_used: 3, output_tokens_used: 0 }, "counted anew");
  await ask(next, "rate-limits.reset-one", { user_path: "/team", period: "minute" });
  t.match((await listed(next))[0], { requests_used: 0, tokens_used: 0 });
});

t.test("a reset clears them, that of one rule and that of all", async (t) => {
  for (const [op, body] of [
    ["rate-limits.reset-one", { user_path: "/team", period: "minute" }],
    ["rate-limits.reset", { confirmation: "reset" }],
  ] as const) {
    const daemon = startDaemon([measured]);
    const peer = daemon.proxy("p");
    run(peer, 1, { inputTokens: 100, outputTokens: 50 });
    await ask(daemon, op, body);
    t.match(admit(peer, 2), { kind: "admitted" });
    t.match((await listed(daemon))[0], { input_tokens_used: 0, output_tokens_used: 0 });
    await daemon.snapshot();
    const { store, nowMs } = daemon;
    const next = startDaemon([measured], { store, nowMs });
    t.match((await listed(next))[0], { input_tokens_used: 0, output_tokens_used: 0 });
  }
});

t.test("a settle with an invalid record counts its tokens as both", async (t) => {
  const daemon = startDaemon([measured]);
  const peer = daemon.proxy("p");
  const lease = leaseOf(admit(peer, 1) as Admitted, "/team/ann");
  peer.send({ ...settleOf(lease, 1, 60), record: executed({ inputTokens: Number.NaN }) });
  t.match((await listed(daemon))[0], { input_tokens_used: 60, output_tokens_used: 60 });
  t.match(admit(peer, 2), { kind: "refused", dimension: "output_tokens" });
});

t.test("a cost at the bound of an integer is full, and stays restorable", async (t) => {
  const huge = { ...measured, measureCaps: { cost: 9000 } };
  const daemon = startDaemon([huge]);
  const peer = daemon.proxy("p");
  const lease = admit(peer, 1) as Admitted;
  const other = admit(peer, 2) as Admitted;
  for (const [seq, verdict] of [lease, other].entries())
    peer.send({
      ...settleOf(leaseOf(verdict, "/team/ann"), seq + 1, 2),
      record: executed({ requestId: `h${seq}`, ...costly(9000 * usd) }),
    });
  t.match(admit(peer, 3), { kind: "refused", dimension: "cost" });
  await daemon.commit();
  const next = startDaemon([huge], { store: daemon.store.crash(), nowMs: daemon.nowMs });
  t.match(admit(next.proxy("p"), 1), { kind: "refused", dimension: "cost" });
});

t.test("while usage is off they are inert", async (t) => {
  const daemon = startDaemon([{ ...measured, measureCaps: { cost: 1 } }], { usageEnabled: false });
  t.match((await listed(daemon))[0], { inert: "cost limits need usage tracking, which is off" });
});

t.test("a back-test judges the records by measure, with weights", async (t) => {
  const daemon = startDaemon([], { tokenWeights: { cached: 0.5 } });
  const peer = daemon.proxy("p");
  for (let i = 1; i <= 4; i++) {
    run(peer, i, { ...costly(usd), inputTokens: 40, cachedInputTokens: 40, outputTokens: 10 });
    daemon.nowMs += 1000;
  }
  const test = (caps: object): Promise<unknown> =>
    ask(daemon, "rate-limits.test", {
      user_path: "/team",
      limit_key: { period: "minute" },
      ...caps,
    });
  t.match(await test({ max_cost: 2 }), {
    requests: 4,
    refused: 2,
    refused_for: { cost: 2, requests: 0 },
    lowest_caps: { max_cost: 3.000000000001 },
  });
  t.match(await test({ max_input_tokens: 40 }), {
    refused: 2,
    refused_for: { input_tokens: 2 },
    lowest_caps: { max_input_tokens: 61 },
  });
  t.match(await test({ max_output_tokens: 3, token_weights: { output: 2 } }), {
    refused: 3,
    refused_for: { output_tokens: 3 },
    lowest_caps: { max_output_tokens: 61 },
  });
});

t.test("what can't mean anything is refused by name", async (t) => {
  const daemon = startDaemon([]);
  for (const [caps, param, message] of [
    [{ max_cost: 0 }, "max_cost", /max_cost must be a number of US dollars from 1e-12 to 9000/],
    [{ max_cost: 9001 }, "max_cost", /not 9001/],
    [{ max_input_tokens: 1.5 }, "max_input_tokens", /must be an integer from 1/],
    [{ max_output_tokens: 0 }, "max_output_tokens", /must be greater than 0/],
    [{ max_requests: 1, token_weights: { cached: 1 } }, "token_weights", /needs max_tokens/],
    [{ max_cost: 1, token_weights: { cached: 1 } }, "token_weights", /needs max_tokens/],
    [{ max_tokens: 1, token_weights: { cachd: 1 } }, "token_weights.cachd", /unknown field/],
    [{ max_requests: 0, models: ["x"], max_cost: 1 }, "max_cost", /can't be combined/],
    [{}, "max_requests", /max_requests is required, or another cap: .* or max_tool_calls$/],
  ] as const)
    t.match(
      await refusal(
        ask(daemon, "rate-limits.put", {
          user_path: "/a",
          limit_key: { period: "minute" },
          ...caps,
        }),
      ),
      { param, message },
    );
  const gauge = { user_path: "/a", limit_key: { period: "concurrent" }, max_requests: 1 };
  for (const field of ["max_input_tokens", "max_output_tokens", "max_cost"])
    t.match(await refusal(ask(daemon, "rate-limits.put", { ...gauge, [field]: 1 })), {
      param: field,
      message: /can't be combined with the period concurrent/,
    });
});
