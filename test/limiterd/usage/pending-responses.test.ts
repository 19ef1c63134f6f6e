import t from "tap";
import {
  cancellationOf,
  keepsFee,
  PendingResponses,
} from "../../../limiterd/usage/pending-responses.js";
import { addRollup, emptyRollup, rollupOf } from "../../../limiterd/usage/rollup.js";
import { recordsFromStored, recordsToStored } from "../../../limiterd/usage/usage-records.js";
import type { RecordItem } from "../../../shared/api/record-item.js";
import { detailsOf } from "../../../shared/usage/usage-details.js";
import type { Settle } from "../../../shared/wire/message-to-daemon.js";
import { ask, commitUntil, executed, settleOf, startDaemon, target } from "../in-memory-daemon.js";
import { daily, recordOn } from "../lifecycle/flush-fixture.js";

const dates = { start_date: "2026-01-01", end_date: "2026-01-01" };
const hourMs = 3_600_000;
const bounds = { lookMs: 60_000, waitMs: 24 * hourMs, max: 2 };
const estimate = { ...recordOn("/a"), estimated: true, atMost: { tokens: 900, cost: null } };
const { provider } = estimate;

t.test("one is looked at less and less often, and not for ever", async (t) => {
  const pending = new PendingResponses(bounds);
  const { atMs } = estimate;
  t.equal(pending.add("resp_1", estimate, atMs).length, 1);
  t.same(pending.add("resp_1", estimate, atMs), [], "it is there already");
  t.equal(pending.add("resp_2", estimate, atMs).length, 1);
  t.same(pending.add("resp_3", estimate, atMs), [], "there are as many as may be");
  t.equal(pending.leftOut, 1);
  t.same(pending.due(atMs + 59_999, 5), []);
  t.equal(pending.due(atMs + 60_000, 1).length, 1, "as many as are asked for");
  t.equal(pending.due(atMs + 60_000, 5).length, 1, "and the others");
  t.same(pending.due(atMs + 60_000, 5), [], "nobody else is handed them");
  let looks = 1;
  for (let ms = 60_000; ms < bounds.waitMs; ms += 1000)
    looks += pending.due(atMs + ms, 1).filter(({ id }) => id === "resp_1").length;
  t.ok(looks > 20 && looks < 60, `${looks} looks in a day`);
  t.same(pending.expire(atMs + bounds.waitMs - 1), []);
  t.equal(pending.expire(atMs + bounds.waitMs).length, 2);
  t.equal(pending.size, 0);
  const never = new PendingResponses({ ...bounds, lookMs: 0 });
  never.add("resp_1", estimate, atMs);
  t.same(never.due(atMs + hourMs, 5), [], "nobody looks, and it is waited for all the same");
  t.ok(never.find(provider, "resp_1"));
});

t.test("what is taken back is what was charged, and nothing else", async (t) => {
  const record = { ...estimate, rewriteTokensSaved: 3, details: detailsOf("flex", {}) };
  const back = cancellationOf({ ...record, inputCost: 0, outputCost: 0, totalCost: 0 });
  t.match(back, {
    inputTokens: -record.inputTokens,
    outputTokens: -record.outputTokens,
    rewriteTokensSaved: 0,
    details: detailsOf("flex", {}),
    atMost: { tokens: -900, cost: null },
    atMs: record.atMs,
    status: 102,
  });
  t.ok(Object.is(back.totalCost, 0), "there is no negative nothing");
});

t.test("the counts of an estimate and of its withdrawal add up to nothing", async (t) => {
  const counts = { reasoningTokens: 6000, webSearches: 3 };
  const charged = { ...estimate, inputCost: 3, outputCost: 3, totalCost: 36 };
  const record = { ...charged, details: detailsOf("flex", counts, "us") };
  const back = cancellationOf(record);
  t.match(back, { inputCost: -3, outputCost: -3, totalCost: -36 }, "with the fees of the searches");
  t.match(back.details, {
    serviceTier: "flex",
    region: "us",
    counts: { reasoningTokens: -6000, webSearches: -3, images: 0 },
  });
  const stored = recordsFromStored(recordsToStored(1, [back]));
  t.same(stored![0]!.details, back.details, "as stored");
  const sum = emptyRollup();
  for (const each of [record, back]) addRollup(sum, rollupOf(each));
  t.match(sum.details, { reasoningTokens: 0, webSearches: 0 });
  const reasoned = { ...charged, details: detailsOf(null, { reasoningTokens: 5 }) };
  t.match(cancellationOf(reasoned), { totalCost: -6 }, "the fee per request stays");
});

t.test("the fee per request stays with the estimate, unless it has units", async (t) => {
  t.ok(keepsFee(estimate));
  t.ok(keepsFee({ ...estimate, details: detailsOf("flex", { reasoningTokens: 5 }) }));
  t.notOk(keepsFee({ ...estimate, details: detailsOf(null, { webSearches: 1 }) }));
  const charged = { ...estimate, inputCost: 3, outputCost: 4, totalCost: 107 };
  t.match(cancellationOf(charged), { inputCost: -3, outputCost: -4, totalCost: -7 });
  t.match(cancellationOf({ ...charged, totalCost: null }), { totalCost: null });
});

t.test("the usage counts once, for the caller that submitted it, also after a crash", async (t) => {
  const daemon = startDaemon([]);
  const first = daemon.proxy("p");
  const lease = {
    lease: 0,
    userPath: "/team",
    admittedAtMs: 0,
    lsn: 0,
    target: null,
    targetAtMs: 0,
    targetLsn: 0,
    submission: false,
  };
  const settle = (
    seq: number,
    part: "request" | "final",
    changes: Parameters<typeof executed>[0],
  ): Settle => ({
    ...settleOf(lease, seq, 0),
    part,
    userPath: part === "final" ? "/" : "/team",
    estimated: part === "request",
    record: executed({ responseId: "resp_1", ...changes }),
  });
  first.send(settle(1, "request", { atMost: { tokens: 500, cost: 9 } }));
  await daemon.commit();
  const life = startDaemon([], { store: daemon.store.crash(), nowMs: daemon.nowMs });
  const waiting = { responses: [{ id: "resp_1", ...target }] };
  t.match(
    await ask(life, "responses.pending", { id: "resp_1", provider: target.provider }),
    waiting,
  );
  const used = { inputTokens: 7, outputTokens: 70, requestId: "final", keyId: "" };
  const second = life.proxy("p");
  await life.commit();
  for (const seq of [2, 3]) second.send(settle(seq, "final", used));
  await life.commit();
  const usage = async (daemon: typeof life): Promise<unknown> =>
    (await ask(daemon, "usage.status", { user_path: "/team", ...dates }))["usage"];
  const known = { total_requests: 1, total_input_tokens: 7, total_output_tokens: 70 };
  t.match(await usage(life), { ...known, unknown_calls: undefined });
  const last = startDaemon([], { store: life.store.crash(), nowMs: life.nowMs });
  t.match(await usage(last), known);
  t.same(await ask(last, "responses.pending", { id: "resp_1", provider: target.provider }), {
    responses: [],
  });
});

t.test(
  "an estimate isn't repriced while its response runs, nor by what was read before it ended",
  async (t) => {
    const daemon = startDaemon([]);
    const proxy = daemon.proxy("p");
    const lease = { lease: 0, userPath: "/team", admittedAtMs: 0, lsn: 0, submission: false };
    const settled = (
      seq: number,
      part: "request" | "final",
      changes: Parameters<typeof executed>[0],
    ): void =>
      void proxy.send({
        ...settleOf({ ...lease, target: null, targetAtMs: 0, targetLsn: 0 }, seq, 0),
        part,
        estimated: part === "request",
        record: executed(changes),
      });
    const records = async () => {
      const asked = ask(daemon, "usage.export", dates);
      await commitUntil(daemon, asked);
      return (await asked)["records"] as readonly RecordItem[];
    };
    const booked = async (read: readonly RecordItem[]): Promise<unknown> => {
      const adjustments = read.map(({ id, total_tokens: tokens }) => {
        const cost = tokens < 0 ? -7 : 7;
        return [id, cost, 0, cost, "operator", ""];
      });
      const asked = ask(daemon, "usage.adjust", { adjustments });
      await commitUntil(daemon, asked);
      return (await asked)["adjusted"];
    };
    settled(1, "request", { responseId: "resp_1", requestId: "mine" });
    await daemon.commit();
    daemon.nowMs += 1;
    settled(2, "request", { requestId: "mine" });
    await daemon.commit();
    const [running, other] = await records();
    t.equal(await booked([running!]), 0, "it will be replaced");
    t.equal(await booked([other!]), 1, "a caller may reuse the id of a request");
    settled(3, "final", { responseId: "resp_1" });
    await daemon.commit();
    t.equal(await booked([running!]), 0, "the record that cancels it wasn't read");
    daemon.nowMs += 600_000;
    const estimates = (await records()).filter(
      ({ time, estimated }) => time === running!.time && estimated,
    );
    t.equal(estimates.length, 2);
    t.equal(await booked(estimates), 2, "both, minutes later");
  },
);

t.test(
  "a budget gets the estimate back in the period that it was charged in, and the usage in its own",
  async (t) => {
    const lease = {
      ...{ lease: 0, userPath: "/team", admittedAtMs: 0, lsn: 0 },
      ...{ target: null, targetAtMs: 0, targetLsn: 0, submission: false },
    };
    const usd = 1_000_000_000_000;
    const budgets = [daily("/team"), daily("prod", { scope: "label" })];
    for (const [days, resets, left] of [
      [0, false, 21],
      [0, true, 20],
      [1, false, 20],
      [2, false, 20],
    ] as const) {
      const daemon = startDaemon([], { budgets, labelsOf: () => ["prod"] });
      const proxy = daemon.proxy("p");
      const settle = (
        seq: number,
        part: "request" | "final",
        changes: Parameters<typeof executed>[0],
      ): void =>
        void proxy.send({
          ...settleOf(lease, seq, 0),
          part,
          estimated: part === "request",
          record: executed({ responseId: "resp_1", keyId: "key_1", inputCost: null, ...changes }),
        });
      const spent = async (): Promise<unknown> =>
        ((await ask(daemon, "budgets.list", {}))["budgets"] as { spent: number }[]).map(
          ({ spent }) => spent,
        );
      settle(1, "request", { inputCost: 2 * usd, outputCost: 1 * usd, totalCost: 3 * usd });
      settle(2, "request", { responseId: "", inputCost: usd, outputCost: 0, totalCost: usd });
      await daemon.commit();
      t.same(await spent(), [4, 4]);
      daemon.nowMs += 1 + days * 24 * hourMs;
      if (resets) {
        const reset = ask(daemon, "budgets.reset", { confirmation: "reset" });
        await commitUntil(daemon, reset);
        await reset;
      }
      settle(3, "final", { inputCost: 20 * usd, outputCost: 0, totalCost: 20 * usd });
      await daemon.commit();
      t.same(await spent(), [left, left], `${days} days later, ${resets}`);
    }
  },
);
