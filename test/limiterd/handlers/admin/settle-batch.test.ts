import t from "tap";
import type { QueueList } from "../../../../shared/api/queue-item.js";
import { type Execution, recordKind } from "../../../../shared/wire/execution.js";
import type { Settle } from "../../../../shared/wire/message-to-daemon.js";
import { batchRecordsMax } from "../../../../shared/wire/stored-object.js";
import { exactly } from "../../../support/patterns/exactly.js";
import {
  ask,
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

t.test("the unfinished batches of a path hold their tokens until they end", async (t) => {
  const enqueuedCaps = [
    { path: "/team", tokens: 250 },
    { path: "/", tokens: 1000 },
  ];
  const first = startDaemon([], { enqueuedCaps });
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
  const life = startDaemon([], { store: first.store.crash(), nowMs: first.nowMs, enqueuedCaps });
  t.match(await over(life, 151), atTeam, "the batch is known after a crash");
  await reserve(life, 150);
  await asked(life, "batches.settle", { provider, id: "batch_1", records: [used("a", 1)] });
  await reserve(life, 100);
  const listed = async (): Promise<unknown> =>
    ((await asked(life, "queues.list", null)) as unknown as QueueList).enqueued.map(
      ({ tokens }) => tokens,
    );
  t.same(await listed(), [250, 250]);
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
  const off = startDaemon([], { enqueuedCaps, usageEnabled: false });
  await reserve(off, 10_000);
  t.match(await asked(off, "queues.list", null), { enqueued: exactly([]) });
});
