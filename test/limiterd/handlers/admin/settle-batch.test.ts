import t from "tap";
import type { QueueList } from "../../../../shared/api/queue-item.js";
import type { RuleDefinition } from "../../../../shared/domain/rule.js";
import { limiterMetrics } from "../../../../shared/metrics/limiter-metrics.js";
import type { MetricsAnswer } from "../../../../shared/metrics/metrics-answer.js";
import { type Execution, recordKind } from "../../../../shared/wire/execution.js";
import type { Settle } from "../../../../shared/wire/message-to-daemon.js";
import { batchRecordsMax } from "../../../../shared/wire/stored-object.js";
import { exactly } from "../../../support/patterns/exactly.js";
import {
  ask,
  askFor,
  commitUntil,
  executed,
  refusal,
  settleOf,
  startDaemon,
  type TestDaemon,
  target,
} from "../../in-memory-daemon.js";
import { daily } from "../../lifecycle/flush-fixture.js";

const dates = { start_date: "2026-01-01", end_date: "2026-01-01" };
const hourMs = 3_600_000;
const { provider } = target;

const submission = (seq: number, id: string, changes: Partial<Execution> = {}): Settle => ({
  ...settleOf(
    {
      ...{ lease: 0, userPath: "/team", admittedAtMs: 0, lsn: 0, target: null },
      ...{ targetAtMs: 0, targetLsn: 0, submission: false },
    },
    seq,
    0,
  ),
  record: executed({
    ...{ endpoint: "/v1/batches", model: "", inputTokens: 0, outputTokens: 0 },
    ...{ responseId: id, batchTokens: 100, keyId: "key_1", ...changes },
  }),
});

const used = (model: string, inputTokens: number, outputTokens = 0): unknown =>
  recordKind.write(
    executed({
      ...{ model, inputTokens, outputTokens, requestId: "batch", status: 102 },
      ...{ inputCost: 5_000_000, outputCost: 0, totalCost: 5_000_000 },
    }),
  );

async function asked(daemon: TestDaemon, op: Parameters<typeof ask>[1], body: unknown) {
  const work = ask(daemon, op, body);
  await commitUntil(daemon, work);
  return work;
}

const pendingOf = async (daemon: TestDaemon, id: string): Promise<unknown> =>
  (await ask(daemon, "responses.pending", { provider, id }))["responses"];

t.test(
  "a batch is charged to its submission's path and key once, also after a crash",
  async (t) => {
    const first = startDaemon([], { budgets: [daily("/team")] });
    first.proxy("p").send(submission(1, "batch_1"));
    await first.commit();
    const life = startDaemon([], {
      store: first.store.crash(),
      nowMs: first.nowMs,
      budgets: [daily("/team")],
    });
    t.match(
      await pendingOf(life, "batch_1"),
      exactly([{ id: "batch_1", provider, isBatch: true }]),
    );
    const settled = { provider, id: "batch_1", records: [used("a", 7, 3), used("b", 10)] };
    const both = [ask(life, "batches.settle", settled), ask(life, "batches.settle", settled)];
    await commitUntil(life, Promise.all(both));
    t.same(await asked(life, "batches.settle", settled), { status: "ok" });
    for (const daemon of [
      life,
      startDaemon([], {
        store: life.store.crash(),
        nowMs: life.nowMs,
        budgets: [daily("/team")],
      }),
    ]) {
      t.same(await pendingOf(daemon, "batch_1"), []);
      const status = await asked(daemon, "usage.status", { user_path: "/team", ...dates });
      t.match(status["usage"], {
        total_requests: 1,
        total_input_tokens: 17,
        total_output_tokens: 3,
      });
      t.match(status["budgets"], exactly([{ spent: 0.00001 }]));
      const { records } = await asked(daemon, "usage.export", dates);
      t.match(
        records,
        exactly([
          { total_tokens: 0, endpoint: "/v1/batches" },
          {
            model: "a",
            total_tokens: 10,
            user_path: "/team",
            key_id: "key_1",
            endpoint: "/v1/batches",
          },
          { model: "b", total_tokens: 10, status: 102, request_id: "req_1", estimated: false },
        ]),
      );
    }
  },
);

t.test(
  "a batch that never ends is forgotten two days later; one without usage at its end",
  async (t) => {
    const daemon = startDaemon([]);
    const proxy = daemon.proxy("p");
    proxy.send(submission(1, "batch_1"));
    proxy.send(submission(2, "batch_2"));
    await daemon.commit();
    await asked(daemon, "batches.settle", { provider, id: "batch_2", records: [] });
    t.same(await pendingOf(daemon, "batch_2"), []);
    const { pending } = daemon.state;
    t.same(pending.expire(daemon.nowMs + 48 * hourMs), []);
    t.equal(pending.expire(daemon.nowMs + 50 * hourMs).length, 1);
  },
);

t.test("wrong records settle nothing", async (t) => {
  const daemon = startDaemon([]);
  daemon.proxy("p").send(submission(1, "batch_1"));
  await daemon.commit();
  const name = { provider, id: "batch_1" };
  for (const [body, param] of [
    [null, "id"],
    [{ provider }, "id"],
    [name, "records"],
    [{ ...name, records: [[]] }, "records"],
    [{ ...name, records: ["x"] }, "records"],
    [{ ...name, records: [used("a", -1)] }, "records"],
    [{ ...name, records: Array(batchRecordsMax + 1).fill(used("a", 1)) }, "records"],
  ] as const)
    t.match(await refusal(ask(daemon, "batches.settle", body)), { param });
  t.match(await pendingOf(daemon, "batch_1"), exactly([{ id: "batch_1" }]));
});

t.test("a child of a template is listed with its enqueued tokens", async (t) => {
  const daemon = startDaemon([
    {
      ...{ scope: "user_path", subject: "/users", periodSeconds: 0, perChild: true },
      ...{ maxRequests: null, maxTokens: null, measureCaps: { enqueued_tokens: 250 } },
    },
  ]);
  await ask(daemon, "batches.enqueue", { user_path: "/users/ann/app", tokens: 100 });
  const held = { subject: "/users/ann", enqueued_tokens_used: 100, enqueued_tokens_remaining: 150 };
  for (const query of [{ user_path: "/users/ann" }, { user_path: "/users/ann", order: "use" }])
    t.match(await ask(daemon, "rate-limits.list", query), { rate_limits: exactly([held]) });
});

t.test("a child that has only unfinished batches is in each list of children", async (t) => {
  const daemon = startDaemon([
    {
      ...{ scope: "user_path", subject: "/users", periodSeconds: 0, perChild: true },
      ...{ maxRequests: 9, maxTokens: null, measureCaps: { enqueued_tokens: 250 } },
    },
  ]);
  askFor(daemon.proxy("p"), 7, "/users/bob");
  for (const [user_path, tokens] of [
    ["/users/ann/app", 100],
    ["/users/ann", 50],
    ["/users/bob", 25],
    ["/users", 9],
    ["/others/cy", 9],
  ] as const)
    await ask(daemon, "batches.enqueue", { user_path, tokens });
  const ann = { subject: "/users/ann", enqueued_tokens_used: 150, in_flight: 0 };
  const bob = { subject: "/users/bob", enqueued_tokens_used: 25, in_flight: 1 };
  const template = { user_path: "/users", period: "concurrent" };
  t.match(
    await ask(daemon, "rate-limits.children", template),
    exactly({
      children: exactly([
        { ...ann, used_ratio: 0.6 },
        { ...bob, used_ratio: 1 / 9 },
      ]),
      total: 2,
    }),
  );
  t.match(await ask(daemon, "rate-limits.children", { ...template, search: "an" }), {
    children: exactly([ann]),
  });
  t.match(await ask(daemon, "rate-limits.list", { order: "use" }), {
    rate_limits: exactly([ann, bob, { subject: "/users" }]),
  });
  for (const flat of [true, false])
    t.match(await ask(daemon, "tenants.list", { under: "/users", flat, ...dates }), {
      tenants: exactly([
        { user_path: "/users/ann", nearest: { used_ratio: 0.6 } },
        { user_path: "/users/bob" },
      ]),
    });
  const { series } = (await ask(daemon, "metrics", {
    rules_max: 10,
  })) as unknown as MetricsAnswer;
  t.match(
    series.filter(([name]) => name === limiterMetrics.childRuleUsed.name),
    exactly([
      [/./, ["/users/ann", "/users", "concurrent"], [0.6]],
      [/./, ["/users/bob", "/users", "concurrent"], [1 / 9]],
    ]),
  );
  await asked(daemon, "batches.withdraw", { user_path: "/users/ann/app", tokens: 100 });
  await asked(daemon, "batches.withdraw", { user_path: "/users/ann", tokens: 50 });
  t.match(await ask(daemon, "rate-limits.children", template), {
    children: exactly([bob]),
    total: 1,
  });
});

t.test("the unfinished batches of a path hold their tokens until they end", async (t) => {
  const capped = (subject: string, tokens: number): RuleDefinition => ({
    ...{ scope: "user_path", subject, periodSeconds: 0, perChild: false },
    ...{ maxRequests: null, maxTokens: null, measureCaps: { enqueued_tokens: tokens } },
  });
  const rules = [capped("/team", 250), capped("/", 1000)];
  const first = startDaemon(rules);
  const reserve = (daemon: TestDaemon, tokens: number, path = "/team/app"): Promise<unknown> =>
    ask(daemon, "batches.enqueue", { user_path: path, tokens });
  const over = (daemon: TestDaemon, tokens: number, path?: string): Promise<unknown> =>
    refusal(reserve(daemon, tokens, path));
  const atTeam = {
    code: "rate_limit_exceeded",
    status: 429,
    message: /250 enqueued tokens on \/team/,
  };
  await reserve(first, 100, "/team");
  t.match(await over(first, 151), atTeam, "also before the batch has an id");
  await reserve(first, 150);
  t.match(await over(first, 1), { message: /have 250, and this one has 1$/ });
  await reserve(first, 700, "/team-alpha");
  t.match(await over(first, 51, "/other"), { message: /1000 enqueued tokens on \// });
  first.proxy("p").send(submission(1, "batch_1"));
  await first.commit();
  t.match(await over(first, 1), atTeam, "it is counted once");
  await ask(first, "batches.withdraw", { user_path: "/team/app", tokens: 150 });
  await reserve(first, 150);
  const life = startDaemon(rules, { store: first.store.crash(), nowMs: first.nowMs });
  t.match(await over(life, 151), atTeam, "the batch is known after a crash");
  await reserve(life, 150);
  await asked(life, "batches.settle", { provider, id: "batch_1", records: [used("a", 1)] });
  await reserve(life, 100);
  const listed = async (): Promise<unknown> =>
    ((await asked(life, "queues.list", null)) as unknown as QueueList).enqueued.map(
      ({ tokens }) => tokens,
    );
  t.same(await listed(), [250, 250]);
  t.match(await asked(life, "rate-limits.list", null), {
    rate_limits: exactly([
      { subject: "/", enqueued_tokens_used: 250, enqueued_tokens_remaining: 750 },
      { subject: "/team", enqueued_tokens_used: 250, enqueued_tokens_remaining: 0 },
    ]),
  });
  t.match(await asked(life, "usage.status", { user_path: "/team", ...dates }), {
    rate_limits: exactly([
      { enqueued_tokens_usage_ratio: 0.25 },
      { enqueued_tokens_usage_ratio: 1 },
    ]),
  });
  life.nowMs += hourMs;
  t.same(await listed(), [0, 0], "nothing is held of batches that never came to be");
  await reserve(life, 250);
  const question = { user_path: "/other", targets: [{ provider, model: "m" }] };
  t.match(await asked(life, "explain", question), {
    enqueued: exactly([{ user_path: "/", max_tokens: 1000, tokens: 250 }]),
  });
  for (const [body, param] of [
    [null, "user_path"],
    [{ user_path: "team", tokens: 1 }, "user_path"],
    [{ user_path: "/team", tokens: -1 }, "tokens"],
  ] as const)
    for (const op of ["batches.enqueue", "batches.withdraw"] as const)
      t.match(await refusal(ask(life, op, body)), { param });
  const off = startDaemon(rules, { usageEnabled: false });
  await reserve(off, 10_000);
  t.match(await asked(off, "queues.list", null), { enqueued: exactly([]) });
});

t.test(
  "a cap on unfinished batches is made, raised, edited and deleted like any other",
  async (t) => {
    const daemon = startDaemon([]);
    const key = { user_path: "/team", limit_key: { period: "concurrent" } };
    const put = (more: object): Promise<unknown> =>
      asked(daemon, "rate-limits.put", { ...key, ...more });
    const reserve = (tokens: number, path = "/team/app"): Promise<unknown> =>
      ask(daemon, "batches.enqueue", { user_path: path, tokens });
    const isCapped = (path: string): Promise<unknown> =>
      asked(daemon, "batches.capped", { user_path: path });
    t.match(await isCapped("/team"), { capped: false });
    await put({ max_enqueued_tokens: 100 });
    t.match(await isCapped("/team/app"), { capped: true });
    t.match(await isCapped("/teams"), { capped: false });
    await reserve(100);
    t.match(await refusal(reserve(1)), { message: /limit of 100 enqueued tokens on \/team/ });
    const { verdict } = (await asked(daemon, "explain", {
      user_path: "/team",
      targets: [{ provider, model: "m" }],
    })) as { verdict?: unknown };
    t.match(verdict, { admitted: true }, "requests don't meet it");
    const raise = { max_enqueued_tokens: 300, for_seconds: 60, reason: "month's end" };
    await asked(daemon, "rate-limits.raise", { ...key, ...raise });
    t.match(await asked(daemon, "queues.list", null), { enqueued: exactly([{ max_tokens: 300 }]) });
    await reserve(200);
    daemon.nowMs += 60_000;
    t.match(await refusal(reserve(1)), { message: /limit of 100/ });
    // Requests meet it from now on: slots are counted.
    await put({ max_enqueued_tokens: 400, max_requests: 1 });
    const peer = daemon.proxy("p");
    t.not(askFor(peer, 1, "/team"), null);
    t.equal(askFor(peer, 2, "/team"), null);
    t.match(peer.received.at(-1), { kind: "refused", dimension: "concurrent", cap: 1 });
    await put({ max_requests: 1 });
    t.match(await isCapped("/team"), { capped: false });
    await put({ max_enqueued_tokens: 5, when: { from: "00:00", to: "00:01" } });
    t.match(await isCapped("/team"), { capped: false }, "its hours are over");
    t.match(await asked(daemon, "queues.list", null), { enqueued: exactly([]) });
  },
);
