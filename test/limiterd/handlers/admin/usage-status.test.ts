/**
 * What the daemon tells of usage: the status of a path, summaries, exports; and that nobody waits
 * for it.
 */
import t from "tap";
import { RecordDays } from "../../../../limiterd/usage/record-days.js";
import { rollupOf, rollupToStored } from "../../../../limiterd/usage/rollup.js";
import {
  modelSuffix,
  modelsPrefix,
  originKey,
  totalPrefix,
} from "../../../../limiterd/usage/rollup-keys.js";
import { createUsageTrimmer } from "../../../../limiterd/usage/trim-usage.js";
import type { UsageRecord } from "../../../../limiterd/usage/usage-records.js";
import {
  batchesPerTrim,
  exportedRecordsMax,
  rollupsPerSlice,
  usageGroupsHeldMax,
  usageGroupsMax,
} from "../../../../shared/bounds.js";
import { dayOf } from "../../../../shared/time.js";
import { detailsOf } from "../../../../shared/usage/usage-details.js";
import { groupings } from "../../../../shared/wire/admin-op.js";
import { createMemoryStore } from "../../../support/memory-store.js";
import { exactly } from "../../../support/patterns/exactly.js";
import {
  ask,
  askFor,
  counts,
  executed,
  pathRule,
  refusal,
  settleOf,
  startDaemon,
  type TestDaemon,
} from "../../in-memory-daemon.js";

const dayMs = 86_400_000;
const nowMs = Date.parse("2026-03-10T12:00:20Z");
const year = { start_date: "2025-03-11", end_date: "2026-03-10" };
const today = { start_date: "2026-03-10", end_date: "2026-03-10" };

const record: UsageRecord = {
  ...executed(),
  atMs: nowMs,
  userPath: "/a",
  provider: "openai",
  model: "gpt-4o",
  estimated: false,
};

function add(daemon: TestDaemon, userPath: string, changes: Partial<UsageRecord> = {}): void {
  daemon.state.usage.add({ ...record, atMs: daemon.nowMs, userPath, ...changes }, daemon.nowMs);
}

/** Closes the batch of what was added, as a settle would; it isn't committed yet. */
function closeBatch(daemon: TestDaemon): void {
  daemon.state.writer.journal("p", 1, () => {});
}

/**
 * Closes the batch and lets it be committed. Then the sums are written, unless `written` is false.
 */
async function commit(daemon: TestDaemon, { written = true } = {}): Promise<void> {
  closeBatch(daemon);
  await daemon.commit();
  if (written) await daemon.flush();
}

t.test(
  "rate limits are those of the path and its ancestors, a template as the path's own child of it, and nothing is made by asking",
  async (t) => {
    const template = { ...pathRule("/team", 60, { requests: 2, tokens: 25 }), perChild: true };
    const concurrent = pathRule("/", 0, { requests: 1 });
    const rules = [
      pathRule("/", 3600, { tokens: 20 }),
      concurrent,
      template,
      pathRule("/team/app/deep", 60, { requests: 5 }),
      pathRule("/tea", 60, { requests: 5 }),
      { ...pathRule("gpt-4o", 60, { requests: 5 }), scope: "model" as const },
      { ...pathRule("openai", 60, { requests: 5 }), scope: "provider" as const },
    ];
    const daemon = startDaemon(rules, { nowMs });
    const peer = daemon.proxy("p");
    const status = async (path: string): Promise<Record<string, unknown>> =>
      ask(daemon, "usage.status", { user_path: path, ...today });
    const rateLimits = async (path: string): Promise<unknown> =>
      (await status(path))["rate_limits"];
    const fresh = await status("/team/app");
    t.match(fresh, {
      user_path: "/team/app",
      server_time: "2026-03-10T12:00:20.000Z",
      budgets: { length: 0 },
    });
    t.same(fresh["rate_limits"], [
      {
        subject: "/",
        user_path: "/",
        per_child: false,
        period_label: "concurrent",
        period_seconds: 0,
        max_requests: 1,
        requests_used: 0,
        requests_remaining: 1,
        tokens_used: 0,
        in_flight: 0,
        requests_usage_ratio: 0,
        exhausted: false,
      },
      {
        subject: "/",
        user_path: "/",
        per_child: false,
        period_label: "hour",
        period_seconds: 3600,
        window_start: "2026-03-10T12:00:00Z",
        window_end: "2026-03-10T13:00:00Z",
        resets_in_seconds: 3580,
        max_tokens: 20,
        requests_used: 0,
        tokens_used: 0,
        tokens_remaining: 20,
        in_flight: 0,
        tokens_usage_ratio: 0,
        exhausted: false,
      },
      {
        subject: "/team/app",
        user_path: "/team/app",
        per_child: true,
        period_label: "minute",
        period_seconds: 60,
        window_start: "2026-03-10T12:00:00Z",
        window_end: "2026-03-10T12:01:00Z",
        resets_in_seconds: 40,
        max_requests: 2,
        max_tokens: 25,
        requests_used: 0,
        requests_remaining: 2,
        tokens_used: 0,
        tokens_remaining: 25,
        in_flight: 0,
        requests_usage_ratio: 0,
        tokens_usage_ratio: 0,
        exhausted: false,
      },
    ]);
    t.equal(daemon.state.book.find(template)!.children.size, 0, "the child wasn't made");
    const lease = askFor(peer, 5, "/team/app/deep")!;
    t.match(
      await rateLimits("/team/app/deep"),
      exactly([
        {
          period_label: "concurrent",
          requests_used: 1,
          requests_remaining: 0,
          in_flight: 1,
          requests_usage_ratio: 1,
          exhausted: true,
        },
        { period_label: "hour" },
        {
          subject: "/team/app",
          requests_used: 1,
          requests_remaining: 1,
          in_flight: 1,
          requests_usage_ratio: 0.5,
          exhausted: false,
        },
        { subject: "/team/app/deep", requests_used: 1 },
      ]),
    );
    peer.send(settleOf(lease, 1, 50));
    t.match(
      await rateLimits("/team/app"),
      exactly([
        { in_flight: 0, exhausted: false },
        { tokens_used: 50, tokens_remaining: 0, tokens_usage_ratio: 2.5, exhausted: true },
        { tokens_used: 50, tokens_usage_ratio: 2, exhausted: true },
      ]),
      "ratios aren't cut",
    );
    t.match(
      await rateLimits("/team/other"),
      exactly([{}, {}, { subject: "/team/other", requests_used: 0, tokens_used: 0 }]),
      "another child has its own",
    );
    t.equal(
      ((await rateLimits("/team")) as unknown[]).length,
      2,
      "the template's own path isn't matched by it",
    );
    t.same(
      counts(daemon, rules[0]!),
      { requests: 1, tokens: 50, inFlight: 0 },
      "asking counts nothing",
    );
  },
);

t.test(
  "with rate limits disabled none are listed, and usage is reported all the same",
  async (t) => {
    const daemon = startDaemon([pathRule("/", 60, { requests: 1 })], {
      nowMs,
      rateLimitsEnabled: false,
    });
    add(daemon, "/a");
    t.match(await ask(daemon, "usage.status", { user_path: "/a", ...today }), {
      rate_limits: { length: 0 },
      usage: { total_requests: 1 },
    });
  },
);

t.test("what isn't a window is refused by name", async (t) => {
  const daemon = startDaemon([], { nowMs });
  const table: readonly (readonly [body: unknown, param: string])[] = [
    [null, "body"],
    [{ user_path: "/.." }, "user_path"],
    [{ user_path: 5, ...today }, "user_path"],
    [{ ...today, start_date: "2026-02-30" }, "start_date"],
    [{ start_date: "2026-03-10" }, "end_date"],
    [{ start_date: "2026-03-11", end_date: "2026-03-10" }, "start_date"],
    [{ start_date: "2025-03-10", end_date: "2026-03-10" }, "start_date"],
  ];
  for (const [body, param] of table)
    t.match(
      await refusal(ask(daemon, "usage.status", body)),
      { status: 400, param },
      JSON.stringify(body),
    );
  t.match(await refusal(ask(daemon, "usage.summary", { ...today, by: "hour" })), {
    status: 400,
    param: "by",
  });
  for (const body of [
    { after: "x" },
    { after: 5 },
    { limit: 0 },
    { limit: exportedRecordsMax + 1 },
    { start_date: 5 },
    { start_date: "2026-03-02", end_date: "2026-03-01" },
  ])
    t.match(await refusal(ask(daemon, "usage.export", body)), {
      status: 400,
      param: Object.keys(body)[0],
    });
});

t.test("a year of sums is read in slices: admissions are answered between them", async (t) => {
  const store = createMemoryStore();
  const daemon = startDaemon([pathRule("/", 60, { requests: 1000 })], { nowMs, store });
  for (let back = 0; back < 365; back++) add(daemon, "/a", { atMs: nowMs - back * dayMs });
  await commit(daemon);
  const peer = daemon.proxy("p");
  const happened: string[] = [];
  let id = 10;
  const { range } = store;
  store.range = (table, keys) => {
    const entries = range.call(store, table, keys);
    happened.push(`${entries.length} sums`);
    return entries;
  };
  const { yieldToEventLoop } = daemon.state;
  Object.assign(daemon.state, {
    yieldToEventLoop: () => {
      // A frame that arrives while the answer is being made.
      setImmediate(() => happened.push(askFor(peer, ++id, "/a") === null ? "refused" : "admitted"));
      return yieldToEventLoop();
    },
  });
  const { usage } = await ask(daemon, "usage.status", { user_path: "/a", ...year });
  t.match(usage, { total_requests: 365 });
  t.ok(happened.filter((what) => what === "admitted").length >= 3, happened.join(", "));
  t.ok(
    happened.every(
      (what) => !what.endsWith("sums") || Number.parseInt(what, 10) <= rollupsPerSlice,
    ),
  );
});

t.test(
  "a year of any path costs the same number of reads, however many records there are",
  async (t) => {
    const reads = async (records: number): Promise<number> => {
      const store = createMemoryStore();
      const daemon = startDaemon([], { nowMs, store });
      for (let i = 0; i < records; i++)
        add(daemon, `/a/k${i % 10}`, { atMs: nowMs - (i % 365) * dayMs });
      await commit(daemon);
      let entries = 0;
      const { range } = store;
      store.range = (table, keys) => {
        const found = range.call(store, table, keys);
        entries += found.length;
        return found;
      };
      t.match((await ask(daemon, "usage.status", { user_path: "/a", ...year }))["usage"], {
        total_requests: records,
      });
      return entries;
    };
    t.equal(await reads(365 * 40), await reads(365));
  },
);

t.test("sums that come while a long answer is read count once or not at all", async (t) => {
  const daemon = startDaemon([], { nowMs });
  for (let back = 0; back < 365; back++) add(daemon, "/a", { atMs: nowMs - back * dayMs });
  await commit(daemon);
  for (let back = 0; back < 365; back += 50) add(daemon, "/a", { atMs: nowMs - back * dayMs });
  add(daemon, "/a", { atMs: nowMs + dayMs });
  let turns = 0;
  const { yieldToEventLoop } = daemon.state;
  Object.assign(daemon.state, {
    yieldToEventLoop: async () => {
      turns++;
      await commit(daemon);
      return yieldToEventLoop();
    },
  });
  const { usage } = await ask(daemon, "usage.status", {
    user_path: "/a",
    start_date: "2025-03-12",
    end_date: "2026-03-11",
  });
  t.ok(turns >= 3);
  t.match(usage, { total_requests: 364 + 8 + 1 });
});

t.test("a summary has its groups by day, model, provider or direct child", async (t) => {
  const daemon = startDaemon([], { nowMs });
  const summary = async (
    by: string | null,
    path = "/team",
  ): Promise<{ groups: { key: string; requests: number }[]; [field: string]: unknown }> =>
    (await ask(daemon, "usage.summary", { user_path: path, ...year, by })) as never;
  const groupsBy = async (by: string, path?: string): Promise<unknown[]> =>
    (await summary(by, path)).groups.map(({ key, requests }) => [key, requests]);
  for (const written of [true, false]) {
    add(daemon, "/team/a");
    add(daemon, "/team/a/deep", { model: "gpt-4o-mini", totalCost: 5_000_000 });
    add(daemon, "/team/a-b", {
      provider: "local",
      inputCost: null,
      outputCost: null,
      totalCost: null,
    });
    add(daemon, "/team", { atMs: nowMs - dayMs });
    add(daemon, "/teams/x");
    if (written) await commit(daemon);
  }
  t.same(await groupsBy("day"), [
    ["2026-03-09", 2],
    ["2026-03-10", 6],
  ]);
  t.same(
    await groupsBy("path"),
    [
      ["/team/a", 4],
      ["/team", 2],
      ["/team/a-b", 2],
    ],
    "the path's own requests are no child's, and a row of their own",
  );
  t.same(await groupsBy("path", "/"), [
    ["/team", 8],
    ["/teams", 2],
  ]);
  t.same(
    await groupsBy("model"),
    [
      ["openai/gpt-4o-mini", 2],
      ["openai/gpt-4o", 4],
      ["local/gpt-4o", 2],
    ],
    "by cost",
  );
  t.same(await groupsBy("provider"), [
    ["openai", 6],
    ["local", 2],
  ]);
  const targets = [
    ["openai/gpt-4o-mini", 2],
    ["openai/gpt-4o", 4],
    ["local/gpt-4o", 2],
  ];
  t.same(await groupsBy("requested_model"), targets);
  t.same(await groupsBy("key"), [["(none)", 8]]);
  t.same(await groupsBy("label"), [["(none)", 8]]);
  t.match(await summary(null), {
    user_path: "/team",
    groups: { length: 0 },
    usage: { total_requests: 8, unpriced_requests: 2 },
  });
  t.match((await summary("provider")).groups[1], {
    key: "local",
    requests: 2,
    input_tokens: 40,
    output_tokens: 20,
    total_tokens: 60,
    total_cost: 0,
    unpriced_requests: 2,
  });
  add(daemon, "/team/a", { atMs: nowMs - 2 * dayMs });
  add(daemon, "/team/a", { atMs: nowMs - 3 * dayMs });
  add(daemon, "/team/new", { atMs: nowMs - 2 * dayMs });
  add(daemon, "/team/new", { atMs: nowMs - 3 * dayMs });
  t.same(
    await groupsBy("path"),
    [
      ["/team/a", 6],
      ["/team", 2],
      ["/team/new", 2],
      ["/team/a-b", 2],
    ],
    "days that aren't written yet, of a child that is and of one that isn't",
  );
});

t.test(
  "a summary is as of its beginning, whatever is recorded and written meanwhile, and delays nothing",
  async (t) => {
    const daemon = startDaemon([pathRule("/", 60, { requests: 1_000_000 })], { nowMs });
    const peer = daemon.proxy("p");
    const names = Array.from({ length: 1200 }, (_, i) => `/team/c${i}`);
    for (const written of [true, false]) {
      for (const [i, name] of names.entries())
        if (written ? i % 3 > 0 : i % 3 < 2) add(daemon, name, { totalCost: i });
      for (let i = 0; i < 7; i++) add(daemon, "/team", { totalCost: 5_000_000, model: `m${i}` });
      await commit(daemon, { written });
    }
    let turns = 0;
    let refused = 0;
    const { yieldToEventLoop } = daemon.state;
    const total = names.reduce((sum, _, i) => sum + (i % 3 === 1 ? 2 : 1), 14);
    for (const by of ["path", "model", "provider", "day", "requested_model", "key"]) {
      let comes = 0;
      Object.assign(daemon.state, {
        yieldToEventLoop: async () => {
          if (askFor(peer, ++turns + 1, "/team/x") === null) refused++;
          // Known ones, new ones, and the path itself; and now and then all of it is written.
          for (const path of [names[turns % 1200]!, `/team/new${turns}`, "/team"])
            add(daemon, path, { model: `late${turns}` });
          comes += 3;
          if (turns % 3 === 0) await commit(daemon);
          return yieldToEventLoop();
        },
      });
      const { usage, groups } = (await ask(daemon, "usage.summary", {
        user_path: "/team",
        ...year,
        by,
      })) as {
        usage: { total_requests: number };
        groups: { key: string; requests: number; total_cost: number }[];
      };
      Object.assign(daemon.state, { yieldToEventLoop });
      const before = total + (turns * 3 - comes);
      t.equal(usage.total_requests, before, by);
      t.equal(
        groups.reduce((sum, { requests }) => sum + requests, 0),
        before,
        `${by}: the groups are the whole`,
      );
      if (by !== "path") continue;
      t.match(
        groups.find(({ key }) => key === "/team"),
        { requests: 14, total_cost: 0.00007 },
        "what was used at the path itself",
      );
      t.equal(groups.at(-1)!.key, "other");
      t.ok(turns * rollupsPerSlice >= names.length, `${turns} turns`);
    }
    t.equal(refused, 0);
  },
);

t.test("an export holds every record once, page by page, in the order of recording", async (t) => {
  const daemon = startDaemon([], { nowMs });
  const all: string[] = [];
  for (let batch = 0; batch < 7; batch++) {
    for (let i = 0; i < 9; i++) {
      all.push(`r${batch}-${i}`);
      add(daemon, i % 3 === 0 ? "/a/b" : "/c", {
        requestId: `r${batch}-${i}`,
        atMs: daemon.nowMs - i,
      });
    }
    if (batch < 6) await commit(daemon);
    else closeBatch(daemon);
    daemon.nowMs += dayMs;
  }
  const exported = async (body: Record<string, unknown>): Promise<string[]> => {
    const ids: string[] = [];
    let after: string | null = null;
    let progress = 0;
    do {
      const page = (await ask(daemon, "usage.export", { ...body, after })) as {
        records: { request_id: string }[];
        next: string | null;
        progress: number;
      };
      if (typeof body["limit"] === "number") t.ok(page.records.length <= body["limit"]);
      t.ok(page.progress >= progress && page.progress <= 1, "progress grows");
      progress = page.progress;
      ids.push(...page.records.map(({ request_id: id }) => id));
      after = page.next;
    } while (after !== null);
    t.equal(progress, 1);
    return ids;
  };
  t.same(await exported({ limit: 4 }), all, "with what was settled just before");
  t.same(await exported({}), all);
  t.same(
    await exported({ user_path: "/a", limit: 2 }),
    all.filter((_, i) => (i % 9) % 3 === 0),
  );
  t.same(await exported({ start_date: "2026-03-12", end_date: "2026-03-13" }), all.slice(18, 36));
  const { records } = (await ask(daemon, "usage.export", { limit: 1 })) as { records: unknown[] };
  t.same(records, [
    {
      id: "1.0",
      time: "2026-03-10T12:00:20.000Z",
      request_id: "r0-0",
      user_path: "/a/b",
      key_id: null,
      provider: "openai",
      provider_type: "openai",
      model: "gpt-4o",
      endpoint: "/v1/chat/completions",
      status: 200,
      input_tokens: 20,
      output_tokens: 10,
      total_tokens: 30,
      cached_input_tokens: 0,
      cache_write_input_tokens: 0,
      input_cost: 60e-12,
      output_cost: 30e-12,
      total_cost: 90e-12,
      rewrite_tokens_saved: 0,
      rewrite_cost_saved: null,
      cache_hit: false,
      estimated: false,
      tokens_at_most: null,
      cost_at_most: null,
      repriced_cost: null,
      repriced_at: null,
      corrects: null,
      latency_ms: 5,
      first_byte_ms: 2,
      requested_model: "gpt-4o",
      key_name: null,
      labels: [],
      service_tier: null,
      region: null,
      cache_write_1h_input_tokens: 0,
      audio_input_tokens: 0,
      cached_audio_input_tokens: 0,
      image_input_tokens: 0,
      cached_image_input_tokens: 0,
      reasoning_tokens: 0,
      audio_output_tokens: 0,
      image_output_tokens: 0,
      web_searches: 0,
      file_searches: 0,
      maps_searches: 0,
      search_units: 0,
      audio_ms: 0,
      characters: 0,
      images: 0,
      containers: 0,
      pages: 0,
      cache_write_12h_input_tokens: 0,
      session: null,
      cost_source: null,
      price_list: null,
      provider_request_id: null,
      provider_key: null,
      loop: 0,
      tool_calls: [],
      cut_by: null,
    },
  ]);
});

t.test("an export names the key and the model of a record if it has them", async (t) => {
  const daemon = startDaemon([], { nowMs });
  add(daemon, "/a", { keyId: "key_1", model: "" });
  closeBatch(daemon);
  t.match(
    await ask(daemon, "usage.export", {}),
    exactly({ records: [{ key_id: "key_1", model: null }] }),
  );
});

t.test("records and groups say who asked, by which name, and what else was told", async (t) => {
  const labelsOf = (keyId: string): readonly string[] => (keyId === "key_1" ? ["eu", "prod"] : []);
  const daemon = startDaemon([], { nowMs, labelsOf });
  await ask(daemon, "keys.issue", {
    key_hash: "h".repeat(43),
    redacted_value: "sk-sluice-aaaa…",
    key: { name: "ci", labels: ["eu", "prod"] },
  });
  const details = detailsOf("flex", { webSearches: 2, reasoningTokens: 5 });
  add(daemon, "/team/a", { keyId: "key_1", requestedModel: "smart", details });
  add(daemon, "/team/a", { keyId: "key_1", session: "s-1" });
  add(daemon, "/team", { keyId: "key_9", session: "s-1" });
  add(daemon, "/other", { keyId: "key_1" });
  const groupsOf = async (by: string): Promise<unknown> => {
    const { groups } = (await ask(daemon, "usage.summary", {
      user_path: "/team",
      ...today,
      by,
    })) as { groups: { key: string; name?: string | null; requests: number }[] };
    return groups.map(({ key, name, requests }) => [key, requests, name]);
  };
  for (const written of [false, true]) {
    if (written) await commit(daemon);
    t.same(await groupsOf("requested_model"), [
      ["openai/gpt-4o", 2, undefined],
      ["smart", 1, undefined],
    ]);
    t.strictSame(await groupsOf("key"), [
      ["key_1", 2, "ci"],
      ["key_9", 1, null],
    ]);
    t.same(await groupsOf("label"), [
      ["eu", 2, undefined],
      ["prod", 2, undefined],
      ["(none)", 1, undefined],
    ]);
    t.same(await groupsOf("session"), [
      ["s-1", 2, undefined],
      ["(none)", 1, undefined],
    ]);
  }
  const ofSession = await ask(daemon, "usage.records", { session: "s-1" });
  t.match(
    ofSession,
    exactly({ records: [{ session: "s-1", user_path: "/team" }, { session: "s-1" }] }),
  );
  const status = await ask(daemon, "usage.status", { user_path: "/team", ...today, by: "key" });
  t.match(
    status,
    exactly({
      usage: { total_requests: 3, web_searches: 2, reasoning_tokens: 5, file_searches: undefined },
      groups: [{ key: "key_1" }, { key: "key_9" }],
    }),
  );
  const { records } = (await ask(daemon, "usage.export", {})) as { records: unknown[] };
  t.match(
    records,
    exactly([
      {
        requested_model: "smart",
        key_name: "ci",
        labels: ["eu", "prod"],
        service_tier: "flex",
        web_searches: 2,
        reasoning_tokens: 5,
      },
      {
        requested_model: "gpt-4o",
        key_name: "ci",
        service_tier: null,
        web_searches: 0,
        session: "s-1",
      },
      { key_name: null, labels: { length: 0 } },
      {},
    ]),
  );
});

t.test("what an earlier release recorded has no origin: it is among the others", async (t) => {
  const store = createMemoryStore();
  const sum = rollupToStored(rollupOf({ ...record, atMs: nowMs }), 1);
  await store.commit([
    { table: "rollups", key: `${totalPrefix("/")}2026-03-10`, value: sum },
    { table: "rollups", key: `${totalPrefix("/a")}2026-03-10`, value: sum },
  ]);
  const daemon = startDaemon([], { nowMs, store });
  add(daemon, "/a", { keyId: "key_1" });
  const { groups } = await ask(daemon, "usage.summary", { user_path: "/a", ...today, by: "key" });
  t.match(
    groups,
    exactly([
      { key: "key_1", requests: 1 },
      { key: "other", requests: 1, total_cost: 0 },
    ]),
  );
});

t.test("an export of nothing is one empty page", async (t) => {
  const daemon = startDaemon([], { nowMs });
  t.match(await ask(daemon, "usage.export", {}), {
    records: { length: 0 },
    next: null,
    progress: 1,
  });
});

t.test(
  "records go after their retention in slices, sums after it and at least a year, once a day",
  async (t) => {
    const store = createMemoryStore();
    const daysAgo = (days: number): number => nowMs - days * dayMs;
    const records = Array.from({ length: batchesPerTrim + 3 }, (_, i) => ({
      table: "usage" as const,
      key: i + 1,
      value: [1],
    }));
    const kept = { table: "usage" as const, key: batchesPerTrim + 4, value: [1] };
    const dayNumber = (ago: number): number => Math.floor(daysAgo(ago) / dayMs);
    const old = { firstKey: 1, fromDay: dayNumber(38), toDay: dayNumber(31) };
    const days = new RecordDays([
      old,
      { firstKey: kept.key, fromDay: dayNumber(36), toDay: dayNumber(29) },
    ]);
    const sums = [0, 365, 366, 367, 500].map((days) => ({
      table: "rollups" as const,
      key: totalPrefix("/a") + dayOf(daysAgo(days)),
      value: [1],
    }));
    await store.commit([...records, kept, ...sums]);
    let walks = 0;
    const { keys } = store;
    store.keys = (table, range) => {
      if (table === "rollups") walks++;
      return keys.call(store, table, range);
    };
    const trimmer = createUsageTrimmer(store, days, 30);
    const removed: (string | number)[] = [];
    for (const expected of [batchesPerTrim + 2, 4, 0]) {
      const changes = trimmer.next(nowMs, Infinity);
      t.equal(changes.length, expected);
      t.ok(changes.every(({ value }) => value === undefined));
      removed.push(...changes.map(({ key }) => key));
      await store.commit(changes);
    }
    t.same(
      removed.filter((key) => typeof key === "string"),
      [sums[4]!.key, sums[3]!.key],
    );
    t.equal(walks, 1, "sums are walked through once a day");
    t.same(
      [...store.entries("usage")].map(({ key }) => key),
      [kept.key],
    );
    t.equal(
      trimmer.next(nowMs + dayMs, Infinity).length,
      1,
      "the day after the next sum's time has come",
    );
    t.equal(
      createUsageTrimmer(store, days, 500).next(nowMs, Infinity).length,
      0,
      "a longer retention keeps sums as long",
    );
  },
);

t.test("a summary leaves no view of the sums open", async (t) => {
  const daemon = startDaemon([]);
  const { rollups } = daemon.state.usage;
  let open = 0;
  const { open: original } = rollups;
  rollups.open = () => {
    const view = original.call(rollups);
    open++;
    const close = (): void => {
      open--;
      view.close();
    };
    return { ...view, close };
  };
  for (const by of [undefined, ...groupings]) {
    const asked = { user_path: "/", ...today, ...(by === undefined ? {} : { by }) };
    t.match(await ask(daemon, "usage.summary", asked), { user_path: "/" });
    t.equal(open, 0, String(by));
  }
});

t.test(
  "of very many models, and names that were asked for, the largest are shown, the rest is one group, and others have their turn while they are sorted",
  async (t) => {
    const count = usageGroupsHeldMax + 7;
    const store = createMemoryStore();
    const sumOf = (requests: number): readonly unknown[] =>
      rollupToStored({ ...rollupOf({ ...record, atMs: nowMs }), requests }, 1);
    const day = "2026-03-10";
    const names = Array.from({ length: count }, (_, i) => `m${String(i).padStart(5, "0")}`);
    await store.commit([
      { table: "rollups", key: `${totalPrefix("/a")}${day}`, value: sumOf(2 * count) },
      ...names.flatMap((name, i) => [
        {
          table: "rollups" as const,
          key: `${modelsPrefix("/a")}${day}${modelSuffix("p", name)}`,
          value: sumOf(i === 50 ? 9 : 2),
        },
        {
          table: "rollups" as const,
          key: originKey(day, { userPath: "/a", keyId: "" }, modelSuffix("", name)),
          value: sumOf(i === 50 ? 9 : 2),
        },
      ]),
    ]);
    const daemon = startDaemon([], { nowMs, store });
    let sinceRead = 0;
    const { range } = store;
    store.range = (table, keys) => {
      sinceRead = 0;
      return range.call(store, table, keys);
    };
    (daemon.state as { yieldToEventLoop: () => Promise<void> }).yieldToEventLoop = async () =>
      void sinceRead++;
    for (const [by, largest] of [
      ["model", "p/m00050"],
      ["requested_model", "m00050"],
    ] as const) {
      const asked = { user_path: "/a", ...today, by };
      const { groups } = (await ask(daemon, "usage.summary", asked)) as {
        groups: { key: string; requests: number }[];
      };
      t.equal(groups.length, usageGroupsMax + 1, by);
      t.match(groups[0], { key: largest, requests: 9 });
      t.match(groups.at(-1), { key: "other", requests: 2 * (count - usageGroupsMax) });
      t.ok(sinceRead >= usageGroupsHeldMax / usageGroupsMax - 2, `${by}: ${sinceRead} turns`);
    }
  },
);

t.test("of a rule that each host counts for itself it is said so, and of no other", async (t) => {
  const hostOnly = { ...pathRule("/a", 60, { requests: 5 }), hostOnly: true };
  const daemon = startDaemon([hostOnly, pathRule("/a", 3600, { requests: 5 })]);
  const { rate_limits: rules } = (await ask(daemon, "usage.status", {
    user_path: "/a",
    ...today,
  })) as { rate_limits: readonly { host_only?: boolean; period_seconds: number }[] };
  t.same(
    rules.map(({ period_seconds: seconds, host_only: alone }) => [seconds, alone]).toSorted(),
    [
      [3600, undefined],
      [60, true],
    ],
  );
});

interface Series {
  readonly groups: readonly { readonly key: string }[];
  readonly series: {
    readonly step: string;
    readonly times: readonly string[];
    readonly groups: readonly {
      readonly key: string;
      readonly requests: readonly number[];
      readonly total_tokens: readonly number[];
      readonly total_cost: readonly number[];
    }[];
  };
}

t.test("a summary over time has the largest groups by day, and the rest", async (t) => {
  const daemon = startDaemon([], { nowMs });
  const window = { start_date: "2026-03-08", end_date: "2026-03-10" };
  for (const written of [true, false]) {
    for (let i = 0; i < 9; i++)
      add(daemon, `/team/u${i}`, { model: `m${i}`, totalCost: (i + 1) * 1_000_000 });
    add(daemon, "/team", { atMs: nowMs - dayMs, totalCost: 500 });
    if (written) await commit(daemon);
  }
  for (const [by, names] of [
    ["model", (i: number) => `openai/m${i}`],
    ["path", (i: number) => `/team/u${i}`],
  ] as const) {
    const asked = { user_path: "/team", ...window, by, step: "day" };
    const { series } = (await ask(daemon, "usage.summary", asked)) as unknown as Series;
    t.same(series.times, ["2026-03-08", "2026-03-09", "2026-03-10"]);
    t.same(
      series.groups.map(({ key, requests }) => [key, ...requests]),
      [...[8, 7, 6, 5, 4, 3, 2].map((i) => [names(i), 0, 0, 2]), ["other", 0, 2, 4]],
      by,
    );
    t.same(series.groups[0]?.total_cost, [0, 0, 0.000018]);
    t.equal(series.groups[0]?.total_tokens[2], 2 * (record.inputTokens + record.outputTokens));
  }
  const all = { user_path: "/team", ...window, step: "day" };
  t.match(
    await ask(daemon, "usage.summary", all),
    exactly({ groups: [], series: { groups: [{ key: "other", requests: [0, 2, 18] }] } }),
  );
});

t.test("a range with times has the requests that ended in it, in every split", async (t) => {
  const daemon = startDaemon([], { nowMs });
  Object.assign(daemon.state, { labelsOf: (id: string) => (id === "key_1" ? ["a", "b"] : []) });
  const at = (time: string) => ({ atMs: Date.parse(`2026-03-10T${time}Z`) });
  add(daemon, "/team/x", { ...at("11:29:59"), keyId: "key_1" });
  add(daemon, "/team/x", { ...at("10:30:00"), keyId: "key_1", session: "s" });
  add(daemon, "/team", at("10:40:00"));
  add(daemon, "/team/x", at("10:29:59"));
  add(daemon, "/team/x", at("11:30:00"));
  add(daemon, "/other", at("11:00:00"));
  const range = { start: "2026-03-10T10:30:00Z", end: "2026-03-10T11:30:00Z" };
  const split = async (by: string): Promise<unknown> => {
    const { groups } = (await ask(daemon, "usage.summary", {
      user_path: "/team",
      ...range,
      by,
    })) as unknown as { groups: { key: string; requests: number }[] };
    return Object.fromEntries(groups.map(({ key, requests }) => [key, requests]));
  };
  t.same(await split("path"), { "/team/x": 2, "/team": 1 });
  t.same(await split("day"), { "2026-03-10": 3 });
  t.same(await split("model"), { "openai/gpt-4o": 3 });
  t.same(await split("label"), { a: 2, b: 2, "(none)": 1 });
  t.same(await split("session"), { s: 1, "(none)": 2 });
  const asked = { user_path: "/team", ...range, by: "path", step: "hour" };
  const { usage, series } = (await ask(daemon, "usage.summary", asked)) as unknown as Series & {
    usage: unknown;
  };
  t.match(usage, {
    ...{ total_requests: 3, start_date: "2026-03-10", end_date: "2026-03-10" },
    ...{ start: "2026-03-10T10:30:00.000Z", end: "2026-03-10T11:30:00.000Z" },
  });
  t.same(series.times, ["2026-03-10T10:00:00Z", "2026-03-10T11:00:00Z"]);
  t.same(Object.fromEntries(series.groups.map(({ key, requests }) => [key, requests])), {
    "/team/x": [1, 1],
    "/team": [1, 0],
  });
  for (const [body, message] of [
    [{ start: "2026-03-11T00:00:00Z" }, "start must not be in the future"],
    [{ end: range.end }, "start is required beside end"],
    [{ start: range.end, end: range.start }, "start must be before end"],
    [{ start: "10:30", end: range.end }, /^start must be a time such as .*, not "10:30"$/],
    [{ ...range, start: "2026-03-01T00:00:00Z" }, /^start and end must be at most 7 days apart/],
    [{ ...range, ...today }, /^start and end can't be combined with start_date and end_date$/],
  ] as const)
    t.match(await refusal(ask(daemon, "usage.summary", { user_path: "/team", ...body })), {
      message,
    });
  const untilNow = { user_path: "/team", start: "2026-03-10T11:30:00Z" };
  t.match(await ask(daemon, "usage.summary", untilNow), { usage: { total_requests: 1 } });
  closeBatch(daemon);
  await daemon.commit();
  for (const op of ["usage.records", "usage.export"] as const)
    t.match(await ask(daemon, op, { ...range, user_path: "/team", limit: 9, after: null }), {
      records: { length: 3 },
    });
});

t.test("by hour it is summed from the records, of a few days only", async (t) => {
  const daemon = startDaemon([], { nowMs });
  Object.assign(daemon.state, { labelsOf: (id: string) => (id === "key_1" ? ["a", "b"] : []) });
  add(daemon, "/team/x", { keyId: "key_1", session: "s", requestedModel: "smart" });
  add(daemon, "/team/y/deep", { atMs: nowMs - 3_600_000 });
  add(daemon, "/team", { atMs: nowMs - 3_600_000, cacheHit: true });
  add(daemon, "/other");
  const hourly = async (by: string): Promise<unknown> => {
    const asked = { user_path: "/team", ...today, by, step: "hour" };
    const { series } = (await ask(daemon, "usage.summary", asked)) as unknown as Series;
    t.equal(series.times.length, 13, "up to now");
    t.equal(series.times[12], "2026-03-10T12:00:00Z");
    return Object.fromEntries(series.groups.map(({ key, requests }) => [key, requests.slice(11)]));
  };
  t.same(await hourly("path"), { "/team/x": [0, 1], "/team/y": [1, 0] });
  t.same(await hourly("model"), { "openai/gpt-4o": [1, 1] });
  t.same(await hourly("provider"), { openai: [1, 1] });
  t.same(await hourly("requested_model"), { smart: [0, 1], "openai/gpt-4o": [1, 0] });
  t.same(await hourly("key"), { key_1: [0, 1], "(none)": [1, 0] });
  t.same(await hourly("label"), { a: [0, 1], b: [0, 1], "(none)": [1, 0] });
  t.same(await hourly("session"), { s: [0, 1], "(none)": [1, 0] });
  for (const [body, message] of [
    [{ ...year, step: "hour" }, "step=hour needs at most 7 days, not 365"],
    [{ ...today, step: "week" }, 'step must be one of day, hour, not "week"'],
  ] as const)
    t.match(await refusal(ask(daemon, "usage.summary", body)), { param: "step", message });
});
