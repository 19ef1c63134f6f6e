import t from "tap";
import { recordsFromStored, recordsToStored } from "../../../limiterd/usage/usage-records.js";
import { noDetailCounts } from "../../../shared/usage/usage-details.js";
import { never, takenDespite } from "../../support/damaged-fields.js";
import { exactly } from "../../support/patterns/exactly.js";
import {
  ask,
  askFor,
  counts,
  executed,
  pathRule,
  refusal,
  settleOf,
  startDaemon,
} from "../in-memory-daemon.js";
import { dayMs, noonMs, recordOn, recordsIn, spend, today, usageOf } from "./usage-fixture.js";

t.test("a record keeps all its fields, and counts for its path and all above it", async (t) => {
  const daemon = startDaemon([], { nowMs: noonMs });
  const peer = daemon.proxy("p");
  spend(peer, 1, "/team/app", {
    cachedInputTokens: 4,
    cacheWriteInputTokens: 5,
    requestId: "req_9",
    keyId: "key_1",
    rewriteTokensSaved: 8,
    rewriteCostSaved: 2_000_000,
    settled: { estimated: true, endedAgoMs: 1500 },
  });
  t.match(
    await usageOf(daemon, "/team"),
    { total_requests: 1, total_tokens: 30 },
    "it counts before it is written",
  );
  await daemon.commit();
  const { responseId: _, ...recorded } = executed({
    cachedInputTokens: 4,
    cacheWriteInputTokens: 5,
    requestId: "req_9",
    keyId: "key_1",
    rewriteTokensSaved: 8,
    rewriteCostSaved: 2_000_000,
  });
  t.same(recordsIn(daemon.store), [
    {
      ...recorded,
      atMs: noonMs - 1500,
      userPath: "/team/app",
      provider: "openai",
      model: "gpt-4o",
      estimated: true,
    },
  ]);
  for (const path of ["/", "/team", "/team/app"]) {
    t.same(
      await usageOf(daemon, path),
      {
        start_date: "2026-03-10",
        end_date: "2026-03-10",
        total_requests: 1,
        total_input_tokens: 20,
        total_output_tokens: 10,
        total_tokens: 30,
        cached_input_tokens: 4,
        cache_write_input_tokens: 5,
        uncached_input_tokens: 11,
        total_input_cost: 0,
        total_output_cost: 0,
        total_cost: 0,
        unpriced_requests: 0,
        rewrite_tokens_saved: 8,
        rewrite_cost_saved: 0.000002,
      },
      path,
    );
  }
  for (const path of ["/team/app/deeper", "/team/ap", "/tea", "/other"])
    t.match(await usageOf(daemon, path), { total_requests: 0, total_cost: 0 }, path);
  t.notOk(
    "rewrite_cost_saved" in (await usageOf(daemon, "/other")),
    "a saving that nobody priced isn't 0",
  );
});

t.test(
  "what has no price is counted as unpriced; cache hits and what wasn't executed count nothing",
  async (t) => {
    const daemon = startDaemon([], { nowMs: noonMs });
    const peer = daemon.proxy("p");
    spend(peer, 1, "/a", { inputCost: 1_000_000, outputCost: 2_000_000, totalCost: 3_500_000 });
    spend(peer, 2, "/a", { inputCost: null, outputCost: null, totalCost: null });
    spend(peer, 3, "/a", { cacheHit: true, totalCost: 0, inputCost: 0, outputCost: 0 });
    const lease = askFor(peer, 9, "/a")!;
    peer.send(settleOf(lease, 4, 0));
    t.match(await usageOf(daemon, "/"), {
      total_requests: 2,
      unpriced_requests: 1,
      total_tokens: 60,
      total_input_cost: 0.000001,
      total_output_cost: 0.000002,
      total_cost: 0.000004,
    });
    await daemon.commit();
    t.same(
      recordsIn(daemon.store).map(({ cacheHit, totalCost }) => [cacheHit, totalCost]),
      [
        [false, 3_500_000],
        [false, null],
        [true, 0],
      ],
      "the hit has its record, and what wasn't executed has none",
    );
  },
);

t.test(
  "a response from a proxy's cache is recorded and counts nowhere else: no window, slot, sum or budget, before and after a crash",
  async (t) => {
    const rule = pathRule("/", 60, { requests: 2, tokens: 100 });
    const daemon = startDaemon([rule], {
      nowMs: noonMs,
      budgets: [
        { scope: "user_path", subject: "/", periodSeconds: 86_400, amountUsd: 1, perChild: false },
      ],
    });
    const peer = daemon.proxy("p");
    const lease = {
      lease: 0,
      userPath: "/a",
      admittedAtMs: 0,
      lsn: 0,
      target: null,
      targetAtMs: 0,
      targetLsn: 0,
      submission: false,
    };
    const hit = {
      ...settleOf(lease, 1, 0),
      part: "cached" as const,
      record: executed({ cacheHit: true, inputCost: 0, outputCost: 0, totalCost: 0 }),
    };
    t.ok(peer.send(hit));
    t.ok(peer.send(hit), "a repeat");
    const untouched = { requests: 0, tokens: 0, inFlight: 0 };
    t.same(counts(daemon, rule), untouched);
    await daemon.commit();
    t.match(peer.received.at(-1), { kind: "settled", seq: 1 });
    const again = startDaemon([rule], { store: daemon.store.crash(), nowMs: noonMs + 1 });
    t.same(counts(again, rule), untouched, "after a replay");
    t.match(
      recordsIn(again.store),
      exactly([
        {
          userPath: "/a",
          provider: "openai",
          model: "gpt-4o",
          cacheHit: true,
          inputTokens: 20,
          totalCost: 0,
        },
      ]),
    );
    t.match(await usageOf(again, "/"), {
      total_requests: 0,
      total_tokens: 0,
      unpriced_requests: 0,
    });
  },
);

t.test(
  "with usage off nothing is recorded, token rules do nothing, and the summary is null",
  async (t) => {
    const daemon = startDaemon([pathRule("/", 60, { tokens: 1 })], {
      nowMs: noonMs,
      usageEnabled: false,
    });
    const peer = daemon.proxy("p");
    spend(peer, 1, "/a");
    t.ok(askFor(peer, 5, "/a"), "30 tokens are no breach of 1");
    await daemon.commit();
    t.same(recordsIn(daemon.store), []);
    t.same([...daemon.store.entries("rollups")], []);
    const status = await ask(daemon, "usage.status", today);
    t.equal(status["usage"], null);
    t.match(
      status["rate_limits"],
      exactly([{ subject: "/", max_tokens: 1, exhausted: false, inert: /usage tracking/ }]),
    );
    for (const op of ["usage.summary", "usage.export"] as const)
      t.match(await refusal(ask(daemon, op, today)), { code: "feature_unavailable" });
  },
);

t.test(
  "a record counts for the day in which its response ended, at most a week back",
  async (t) => {
    const nowMs = Date.parse("2026-03-10T00:00:00.500Z");
    const daemon = startDaemon([], { nowMs });
    const peer = daemon.proxy("p");
    spend(peer, 1, "/a", { settled: { endedAgoMs: 500 } });
    spend(peer, 2, "/a", { settled: { endedAgoMs: 501 } });
    spend(peer, 3, "/a", { settled: { endedAgoMs: 30 * dayMs } });
    t.match(await usageOf(daemon, "/a", "2026-03-10"), { total_requests: 1 });
    t.match(await usageOf(daemon, "/a", "2026-03-09"), { total_requests: 1 }, "23:59:59.999");
    t.match(await usageOf(daemon, "/a", "2026-03-03"), { total_requests: 1 });
    t.match(await usageOf(daemon, "/a", "2026-02-01", "2026-03-10"), { total_requests: 3 });
  },
);

t.test("a clock that steps back keeps the order of recording", async (t) => {
  const daemon = startDaemon([], { nowMs: noonMs });
  const peer = daemon.proxy("p");
  for (const [seq, ms] of [noonMs, noonMs - 3 * dayMs, noonMs - 3 * dayMs, noonMs].entries()) {
    daemon.nowMs = ms;
    spend(peer, seq + 1, `/n${seq}`);
    await daemon.commit();
  }
  t.same(
    recordsIn(daemon.store).map(({ userPath }) => userPath),
    ["/n0", "/n1", "/n2", "/n3"],
  );
  t.match(await usageOf(daemon, "/", "2026-03-07"), { total_requests: 2 });
  const { records } = await ask(daemon, "usage.export", {});
  t.same(
    (records as { user_path: string }[]).map(({ user_path: path }) => path),
    ["/n0", "/n1", "/n2", "/n3"],
  );
});

t.test(
  "a record names its own target, whatever the settle counts; one that names no model is a group of its own",
  async (t) => {
    const daemon = startDaemon([], { nowMs: noonMs });
    const peer = daemon.proxy("p");
    spend(peer, 1, "/a", {
      provider: "one",
      model: "recorded",
      status: 503,
      settled: { model: "last" },
    });
    spend(peer, 2, "/a", { provider: "one", model: "" });
    spend(peer, 3, "/a", { provider: "one", model: "", settled: { model: "" } });
    peer.send({
      ...settleOf(
        {
          lease: 0,
          userPath: "/a",
          admittedAtMs: 0,
          lsn: 0,
          target: null,
          targetAtMs: 0,
          targetLsn: 0,
          submission: false,
        },
        4,
        0,
      ),
      record: executed({ provider: "two", model: "b" }),
    });
    const { records } = await ask(daemon, "usage.export", {});
    t.match(
      records,
      exactly([
        { provider: "one", model: "recorded", status: 503 },
        { provider: "one", model: null },
        { provider: "one", model: null },
        { provider: "two", model: "b" },
      ]),
    );
    const keys = async (by: string): Promise<unknown> =>
      (
        (await ask(daemon, "usage.summary", { ...today, by }))["groups"] as {
          key: string;
          requests: number;
        }[]
      )
        .map(({ key, requests }) => `${key} ${requests}`)
        .sort();
    for (const _ of ["from memory", "from the store"]) {
      t.same(await keys("model"), ["one/- 2", "one/recorded 1", "two/b 1"]);
      t.same(await keys("provider"), ["one 3", "two 1"]);
      await daemon.commit();
    }
  },
);

t.test("what was asked for and the details are kept, each of them and both", async (t) => {
  const details = {
    serviceTier: null,
    region: null,
    counts: { ...noDetailCounts, webSearches: 2 },
  };
  for (const some of [
    {},
    { requestedModel: "smart" },
    { details },
    { requestedModel: "a", details },
    { session: "s-1" },
    { costSource: "operator" },
    { costSource: "list", priceList: "2026-11-28", providerRequestId: "req_9", providerKey: "a" },
    { session: "s-1", requestedModel: "a", details, atMost: { tokens: 7, cost: null } },
    { repriced: { atMs: 1, inputCost: 2, outputCost: 0, totalCost: 2 } },
    { providerKey: "a", repriced: { atMs: 1, inputCost: -2, outputCost: 0, totalCost: -2 } },
    { corrects: { id: "1.2", atMs: 3, priced: 1 } },
    { loop: 7 },
    { cutBy: "the day token limit of /team" },
    { loop: 7, session: "s-1", corrects: { id: "1.2", atMs: 3, priced: 1 } },
  ] as const) {
    const record = recordOn("/team", some);
    t.same(recordsFromStored(recordsToStored(7, [record])), [record]);
  }
});

t.test("nothing is taken for records but what was written as such", async (t) => {
  const record = recordOn("/team/app", { requestId: "req_1", keyId: "key_1", firstByteMs: 3 });
  const [lsn, item] = recordsToStored(7, [record]) as [number, readonly unknown[]];
  t.same(recordsFromStored([lsn, item, item]), [record, record]);
  t.same(recordsFromStored([0]), []);
  const { text, flag, count, maybeCount } = never;
  // A record that takes an estimate back has negative ones.
  const tokens = count.filter((value) => value !== -1);
  const cost = maybeCount.filter((value) => value !== -1);
  const path = [...text, "", "team", "/team/", "/a//b"];
  const wrong = [
    ...[count, text, path, text, text, text, text, text],
    ...[count, flag, flag, tokens, tokens, tokens, tokens],
    ...[cost, cost, cost, count, cost, count, maybeCount],
  ];
  t.strictSame(
    takenDespite(item, wrong, (damaged) => recordsFromStored([lsn, damaged])),
    [],
  );
  for (const i of [15, 16, 17, 19, 21])
    t.ok(recordsFromStored([lsn, item.with(i, null)]), "costs and the first byte may be unknown");
  for (const stored of [[], [-1, item], ["7", item], [lsn, null], [lsn, item.slice(1)]])
    t.equal(recordsFromStored(stored), null);
  t.equal(recordsFromStored([lsn, [...item, 0]]), null);
  const whole = { ...record, costSource: "list", priceList: "1", providerKey: "a" } as const;
  const [, longest] = recordsToStored(7, [whole]) as [number, readonly unknown[]];
  for (const at of [27, 28, 29, 30])
    t.equal(recordsFromStored([lsn, longest.with(at, 5)]), null, `field ${at}`);
  t.equal(recordsFromStored([lsn, longest.with(27, "guess")]), null);
  t.equal(recordsFromStored([lsn, [...longest, ""]]), null);
  const [, looped] = recordsToStored(7, [{ ...whole, loop: 7 }]) as [number, readonly unknown[]];
  for (const loop of maybeCount) t.equal(recordsFromStored([lsn, looped.with(32, loop)]), null);
  t.equal(recordsFromStored([lsn, [...looped, 0]]), null);
  const cutBy = "the day token limit of /team";
  const [, cut] = recordsToStored(7, [{ ...whole, cutBy }]) as [number, readonly unknown[]];
  for (const words of text) t.equal(recordsFromStored([lsn, cut.with(34, words)]), null);
});
