/** Files of limits in a daemon: all of one or nothing, also when it is killed in between. */
import { createHash } from "node:crypto";
import t from "tap";
import { limitFilesHeldMax, limitsPerTurn, plansInSlicesMax } from "../../../../shared/bounds.js";
import { applyLimits } from "../../../../shared/limit-files/apply-limits.js";
import type { LimitsPlan } from "../../../../shared/limit-files/limits-plan.js";
import { formatMillis } from "../../../../shared/time.js";
import { wireVersion } from "../../../../shared/version.js";
import type { AdminOp } from "../../../../shared/wire/admin-op.js";
import { createMemoryStore, type MemoryStore } from "../../../support/memory-store.js";
import { exactly } from "../../../support/patterns/exactly.js";
import {
  ask,
  askFor,
  pathRule,
  refusal,
  startDaemon,
  type TestDaemon,
} from "../../in-memory-daemon.js";

let ids = 0;

/** As the command line and the HTTP API do it. */
function applied(daemon: TestDaemon, body: object): ReturnType<typeof applyLimits> {
  return applyLimits(body, {
    call: (op, asked) =>
      ask(daemon, op, asked).then(
        (answer) => ({ ok: true, body: answer }),
        (error) => {
          if (error.failure === undefined) throw error;
          return { ok: false, failure: error.failure };
        },
      ),
    newId: () => `file-${++ids}`,
  });
}

async function planOf(daemon: TestDaemon, body: object): Promise<LimitsPlan> {
  const done = await applied(daemon, body);
  if (!done.ok) throw new Error(done.failure.message);
  return done.plan;
}

const rule = (subject: string, requests: number, more: object = {}): object => ({
  subject,
  limit_key: { period: "minute" },
  max_requests: requests,
  ...more,
});
const budget = (subject: string, amount: number): object => ({
  subject,
  budget_key: { period: "daily" },
  amount,
});

const hashOf = (key: string): string => createHash("sha256").update(key).digest("base64url");
const hexOf = (key: string): string => createHash("sha256").update(key).digest("hex");

/** False: it isn't answered, for the daemon is killed. */
async function carriedOut(daemon: TestDaemon, body: object): Promise<boolean> {
  const { changes: _, revision } = await planOf(daemon, { ...body, dry_run: true });
  const id = `file-${++ids}`;
  const { prune: _prune, ...sections } = body as { readonly prune?: boolean };
  await ask(daemon, "limits.stage", { id, part: 0, ...sections });
  await ask(daemon, "limits.plan", { id, prune: true });
  const peer = daemon.proxy("p1");
  peer.send({ kind: "admin", id: 2, op: "limits.apply", body: { id, revision } });
  for (let i = 0; i < 50; i++) await daemon.commit();
  return peer.received.at(-1)?.kind === "answer";
}

/** What the store of a daemon that was killed has. */
function limitsIn(store: MemoryStore): unknown {
  const { book, budgets } = startDaemon([], { store: store.crash(), budgets: null }).state;
  return [
    ...book.sorted().map(({ definition: { subject, maxRequests } }) => [subject, maxRequests]),
    ...budgets.sorted().map(({ definition: { subject, amountUsd } }) => [subject, amountUsd]),
  ];
}

t.test(
  "a plan says what is changed, changes nothing by itself, and is carried out as a whole",
  async (t) => {
    const daemon = startDaemon([], {});
    await ask(daemon, "rate-limits.put", rule("/old", 1));
    await ask(daemon, "rate-limits.put", rule("/kept", 3));
    await ask(daemon, "rate-limits.put", rule("/edited", 5));
    const body = {
      rate_limits: [rule("/edited", 50), rule("/kept", 3), rule("/new", 7, { per_child: true })],
      budgets: [budget("/", 20)],
      prune: true,
    };
    const plan = await planOf(daemon, { ...body, dry_run: true });
    const minute = { scope: "user_path", period_label: "minute", period_seconds: 60 };
    t.match(
      plan,
      exactly({
        applied: false,
        counts: {
          add: 2,
          change: 1,
          remove: 1,
          revert: 0,
          take_over: 0,
          locked: 0,
          unchanged: 1,
          kept: 0,
        },
        changes: [
          {
            ...minute,
            kind: "rule",
            action: "change",
            subject: "/edited",
            before: { max_requests: 5 },
            after: { max_requests: 50 },
          },
          {
            ...minute,
            kind: "rule",
            action: "add",
            subject: "/new",
            after: { max_requests: 7, per_child: true },
          },
          {
            ...minute,
            kind: "rule",
            action: "remove",
            subject: "/old",
            before: { max_requests: 1 },
          },
          {
            kind: "budget",
            action: "add",
            subject: "/",
            period_label: "daily",
            after: { amount: 20 },
          },
        ],
      }),
    );
    t.equal(daemon.state.book.rules.size, 3, "nothing was changed");
    t.same(daemon.appliedLimits, []);
    t.equal(daemon.state.limitFiles.size, 0, "nothing is held for a plan that is only looked at");

    const done = await planOf(daemon, { ...body, revision: plan.revision });
    t.same(done, { ...plan, applied: true, server_time: done.server_time });
    const after = [
      ["/edited", 50],
      ["/kept", 3],
      ["/new", 7],
      ["/", 20],
    ];
    t.same(limitsIn(daemon.store), after, "and it is on the disk");
    t.match(daemon.appliedLimits, exactly([{ add: 2, change: 1, remove: 1 }]));
    const again = await planOf(daemon, body);
    t.match(again, { applied: true, changes: { length: 0 }, counts: { unchanged: 4 } });
    t.equal(daemon.appliedLimits.length, 1, "the log is told of what was changed alone");
  },
);

t.test("a plan that would be another one by now isn't carried out", async (t) => {
  const daemon = startDaemon([], {});
  const body = { rate_limits: [rule("/a", 1), rule("/b", 2)] };
  const { revision } = await planOf(daemon, { ...body, dry_run: true });
  await ask(daemon, "rate-limits.put", rule("/other", 1));
  await ask(daemon, "rate-limits.put", rule("/a", 9));
  t.match(await applied(daemon, { ...body, revision }), {
    ok: false,
    failure: {
      status: 409,
      message: /^nothing was changed: rules, budgets, keys or denied JWTs have changed since/,
    },
  });
  t.equal(daemon.state.book.rules.size, 2);
  t.equal(daemon.state.limitFiles.size, 0);

  // The same between the plan and its carrying out, of one request.
  let isEdited = false;
  const raced = await applyLimits(body, {
    call: async (op, asked) => {
      if (op === "limits.apply" && !isEdited) {
        isEdited = true;
        await ask(daemon, "rate-limits.put", rule("/b", 5));
      }
      return ask(daemon, op, asked).then(
        (answer) => ({ ok: true, body: answer }),
        (error) => ({ ok: false, failure: error.failure }),
      );
    },
    newId: () => "raced",
  });
  t.match(raced, { ok: false, failure: { status: 409 } });
  t.match(
    limitsIn(daemon.store),
    exactly([
      ["/a", 9],
      ["/b", 5],
      ["/other", 1],
    ]),
  );
});

t.test("one bad entry is named, and nothing is changed", async (t) => {
  const daemon = startDaemon([], {});
  const many = Array.from({ length: 500 }, (_, i) => rule(`/team/${i}`, 1));
  const rows: readonly (readonly [object, string, string])[] = [
    [
      { rate_limits: [...many, rule("/x", 0)] },
      "rate_limits[500]: max_requests must be greater than 0, not 0",
      "rate_limits[500].max_requests",
    ],
    [
      { rate_limits: [...many, rule("/team/7", 2)] },
      "rate_limits[500]: /team/7 minute is there twice",
      "rate_limits[500]",
    ],
    [
      { budgets: [budget("/", 1), { ...budget("/x", 1), currency: "EUR" }] },
      "budgets[1]: unknown field currency: expected user_path, scope, subject, models, per_child, budget_key, amount, unpriced, time_zone, anchor_day, rolling, rollover, on_exhausted, hold",
      "budgets[1].currency",
    ],
    [{ rate_limits: {} }, "rate_limits must be a list", "rate_limits"],
    [
      { rate_limits: [rule("/x", 1), null] },
      "rate_limits[1] must be an object, not null",
      "rate_limits[1]",
    ],
    [
      {},
      "one of rate_limits, budgets, keys, denied_jwts is required: a list, empty for none",
      "rate_limits",
    ],
    [
      { keys: [{ hash: hashOf("a") }, { user_path: "/a" }] },
      "keys[1]: hash is required: the SHA-256 of a key: 64 hex digits, or 43 characters of base64url",
      "keys[1].hash",
    ],
    [
      { keys: [{ hash: hashOf("a") }, { hash: hexOf("a") }] },
      "keys[1]: a key with this hash is there twice",
      "keys[1]",
    ],
    [
      { keys: [{ hash: hashOf("a"), role: "viewer" }] },
      "keys[0]: hash can't be combined with role: Sluice generates keys of administration",
      "keys[0].hash",
    ],
    [
      { denied_jwts: [{ sub: "a", jti: "b" }] },
      "denied_jwts[0]: exactly one of jti and sub is required",
      "denied_jwts[0].jti",
    ],
    [
      { denied_jwts: [{ sub: "a" }, { sub: "a", expires_at: "2030-01-01T00:00:00Z" }] },
      'denied_jwts[1]: sub "a" is there twice',
      "denied_jwts[1]",
    ],
    [{ budgets: [], prune: "yes" }, "prune must be true or false", "prune"],
    [{ budgets: [], dryrun: true }, "unknown field dryrun: did you mean dry_run?", "dryrun"],
    [{ budgets: [budget(`/${"x".repeat(20_000)}`, 1)] }, "budgets[0] is too large", "budgets[0]"],
    [
      { rate_limits: Array.from({ length: 10_001 }, () => 0) },
      "at most 10000 entries can be applied together",
      "rate_limits",
    ],
  ];
  for (const [body, message, param] of rows)
    t.match(
      await applied(daemon, { ...body, prune: (body as { prune?: unknown }).prune ?? true }),
      {
        ok: false,
        failure: { status: 400, message, param },
      },
    );
  t.same(limitsIn(daemon.store), []);
  t.equal(daemon.state.limitFiles.size, 0, "what is wrong isn't held");
});

t.test(
  "thousands of rules and budgets are all there or none of them is, wherever the daemon is killed",
  async (t) => {
    const body = {
      rate_limits: Array.from({ length: 600 }, (_, i) => rule(`/team/${i}`, 2)),
      budgets: Array.from({ length: 600 }, (_, i) => budget(`/team/${i}`, 3)),
      prune: true,
    };
    for (const sections of [body, { budgets: body.budgets, prune: true }]) {
      const seen = new Set<number>();
      for (let commits = 0; commits < 3; commits++) {
        const store = createMemoryStore();
        const daemon = startDaemon([], { store });
        await ask(daemon, "rate-limits.put", rule("/before", 1));
        await ask(daemon, "budgets.put", budget("/before", 1));
        const before = limitsIn(store);
        store.commitsLeft = commits;
        const isAnswered = await carriedOut(daemon, sections);
        const left = limitsIn(store) as readonly unknown[];
        seen.add(left.length);
        if (isAnswered) t.not(left.length, 2, "what was answered is there");
        if (left.length === 2) t.same(left, before);
        else t.equal(left.length, "rate_limits" in sections ? 1200 : 601);
      }
      t.equal(seen.size, 2, "both were seen");
    }
  },
);

t.test(
  "what the configuration has otherwise locks the file; taken over, the file's is put before it, and pruned it comes back",
  async (t) => {
    const store = createMemoryStore();
    const configured = [
      pathRule("/config", 60, { requests: 100 }),
      pathRule("/same", 60, { requests: 1 }),
    ];
    const daemon = startDaemon(configured, { store });
    const body = { rate_limits: [rule("/config", 7), rule("/same", 1)] };
    const locked = await planOf(daemon, { ...body, dry_run: true });
    t.match(
      locked,
      exactly({
        counts: { locked: 1, unchanged: 1 },
        changes: [
          {
            action: "locked",
            subject: "/config",
            before: { max_requests: 100 },
            after: { max_requests: 7 },
          },
        ],
      }),
    );
    t.match(await applied(daemon, body), {
      ok: false,
      failure: {
        status: 409,
        message: /^nothing was changed: of 1 rules or budgets the configuration says/,
      },
    });
    const taken = await planOf(daemon, { ...body, take_over: true });
    t.match(taken.counts, { take_over: 2 });
    t.match(await planOf(daemon, { ...body, take_over: true }), { changes: { length: 0 } });
    const sources = (): unknown =>
      daemon.state.book.sorted().map(({ source, definition }) => [source, definition.maxRequests]);
    t.same(sources(), [
      ["manual", 7],
      ["manual", 1],
    ]);
    const pruned = await planOf(daemon, { rate_limits: [], prune: true });
    t.match(pruned.counts, { revert: 2, remove: 0 });
    t.same(sources(), [
      ["config", 100],
      ["config", 1],
    ]);
    t.match(await planOf(daemon, { rate_limits: [], prune: true }), { changes: { length: 0 } });
  },
);

t.test(
  "counters continue if only the caps change, and restart if a rule becomes or stops being a template",
  async (t) => {
    const daemon = startDaemon([], {});
    await ask(daemon, "rate-limits.put", rule("/a", 5));
    const found = daemon.state.book.find({ scope: "user_path", subject: "/a", periodSeconds: 60 })!;
    daemon.state.book.count(found.own!, daemon.nowMs, 3, 0);
    await planOf(daemon, { rate_limits: [rule("/a", 6)] });
    t.match(
      await ask(daemon, "rate-limits.list", null),
      exactly({
        rate_limits: [{ requests_used: 3, max_requests: 6 }],
      }),
    );
    await planOf(daemon, { rate_limits: [rule("/a", 6, { per_child: true })] });
    t.match(
      await ask(daemon, "rate-limits.list", null),
      exactly({
        rate_limits: [{ requests_used: 0, per_child: true }],
      }),
    );
  },
);

t.test("a rule by which each host counts alone stays one, and becomes one", async (t) => {
  const daemon = startDaemon([], {});
  const own = rule("/a", 5, { host_only: true });
  t.match(
    await planOf(daemon, { rate_limits: [own] }),
    exactly({
      changes: [{ action: "add", after: { max_requests: 5, host_only: true } }],
    }),
  );
  t.match(await planOf(daemon, { rate_limits: [own] }), {
    changes: { length: 0 },
    counts: { unchanged: 1 },
  });
  t.match(
    (await planOf(daemon, { rate_limits: [rule("/a", 5)] })).changes,
    exactly([{ action: "change", before: { host_only: true }, after: { max_requests: 5 } }]),
  );
  t.notMatch(await ask(daemon, "rate-limits.list", null), { rate_limits: [{ host_only: true }] });
});

t.test(
  "a section that the file doesn't have is left alone, and one that is switched off is refused",
  async (t) => {
    const daemon = startDaemon([], {});
    await ask(daemon, "budgets.put", budget("/", 1));
    t.match((await planOf(daemon, { rate_limits: [], prune: true })).changes, { length: 0 });
    t.equal(daemon.state.budgets.budgets.size, 1);
    const off = startDaemon([], { rateLimitsEnabled: false });
    t.match(await applied(off, { rate_limits: [] }), {
      failure: { status: 503, code: "feature_unavailable", message: /^rate limits are disabled/ },
    });
    t.ok((await applied(off, { budgets: [budget("/", 1)] })).ok);
    const starting = startDaemon([], { loads: false });
    t.match(await applied(starting, { budgets: [] }), { failure: { code: "overloaded" } });
    for (const { state } of [off, starting]) t.equal(state.limitFiles.size, 0);
  },
);

t.test(
  "a piece that is asked again counts once; one of a file that isn't held is refused, as after a restart",
  async (t) => {
    const daemon = startDaemon([], {});
    const piece = (part: number, more: object): Promise<unknown> =>
      ask(daemon, "limits.stage", { id: "f", part, ...more });
    await piece(0, { rate_limits: [rule("/a", 1)] });
    await piece(1, { rate_limits: [rule("/b", 1)] });
    await piece(0, { rate_limits: [rule("/a", 1)] });
    await piece(1, { rate_limits: [rule("/b", 1)] });
    const gone = { code: "overloaded", message: /^nothing was changed: the daemon has restarted/ };
    t.match(await refusal(piece(3, {})), gone);
    t.match(await refusal(ask(daemon, "limits.stage", { id: "g", part: 1 })), gone);
    t.match(await refusal(ask(daemon, "limits.plan", { id: "g" })), gone);
    t.match(await refusal(ask(daemon, "limits.apply", { id: "g" })), gone);
    t.match(await refusal(ask(daemon, "limits.stage", { id: "a b", part: 0 })), { param: "id" });
    t.match(await refusal(ask(daemon, "limits.stage", { id: "a", part: -1 })), { param: "part" });
    t.match(await ask(daemon, "limits.plan", { id: "f" }), { counts: { add: 2 } });
    for (let i = 0; i < limitFilesHeldMax; i++)
      await ask(daemon, "limits.stage", { id: `n${i}`, part: 0 });
    t.match(
      await refusal(ask(daemon, "limits.plan", { id: "f" })),
      gone,
      "it gave way to newer ones",
    );
    t.equal(daemon.state.limitFiles.size, limitFilesHeldMax);
  },
);

/** Keys and denied JWTs that open or refuse something, by what a file says of them. */
async function credentialsOf(daemon: TestDaemon): Promise<unknown> {
  const { keys } = (await ask(daemon, "limits.keys", {})) as { keys: { hash: string }[] };
  const denied = [...daemon.state.denials.all()].map(({ value }) => value);
  return { keys: keys.map(({ hash, ...more }) => [nameOfHash(hash), more]), denied };
}

const nameOfHash = (hash: string): string | undefined =>
  ["a", "b", "c", "d"].find((key) => hashOf(key) === hash);

const none = { name: null, user_path: null, labels: [], models: null, expires_at: null };

t.test("keys and denied JWTs become as the file says, and with it only", async (t) => {
  const daemon = startDaemon([], {});
  const body = {
    rate_limits: [rule("/team", 1)],
    keys: [
      { hash: hashOf("a"), user_path: "/team", name: "CI", labels: ["ci"] },
      { hash: hexOf("b"), redacted_value: "sk-abc…" },
    ],
    denied_jwts: [
      { sub: "ann", expires_at: "2030-01-01T00:00:00.5Z" },
      { jti: "7", issuer: "x" },
    ],
  };
  const plan = await planOf(daemon, { ...body, dry_run: true });
  t.match(
    plan.changes,
    exactly([
      { kind: "rule" },
      { kind: "key", action: "add", redacted_value: "sk-abc…", after: none },
      {
        kind: "key",
        action: "add",
        redacted_value: "…",
        after: { ...none, name: "CI", user_path: "/team", labels: ["ci"] },
      },
      { kind: "denied_jwt", action: "add", claim: "jti", value: "7", after: { expires_at: null } },
      { kind: "denied_jwt", action: "add", claim: "sub", value: "ann", issuer: null },
    ]),
  );
  t.notMatch(JSON.stringify(plan), hashOf("a"), "no plan has a hash");
  t.equal(daemon.state.keys.size, 0, "a dry run adds none");
  await planOf(daemon, { ...body, revision: plan.revision });
  const all = {
    keys: [
      ["b", { redacted_value: "sk-abc…" }],
      ["a", { name: "CI", user_path: "/team", labels: ["ci"], redacted_value: "…" }],
    ],
    denied: ["7", "ann"],
  };
  t.same(await credentialsOf(daemon), all);
  t.match(await planOf(daemon, { ...body, prune: true }), { changes: { length: 0 } });

  daemon.state.keys.use(daemon.state.keys.find(hashOf("a"))!, hashOf("a"), daemon.nowMs);
  const changed = { hash: hashOf("a"), user_path: "/team", name: "CI 2", models: ["fast"] };
  const edited = await planOf(daemon, { keys: [changed], denied_jwts: [{ sub: "ann" }] });
  t.match(edited.counts, { change: 2, kept: 2, remove: 0 });
  t.match(
    edited.changes,
    exactly([
      {
        action: "change",
        id: "key_2",
        before: { name: "CI", labels: ["ci"], models: null },
        after: { name: "CI 2", labels: [], models: ["fast"] },
      },
      {
        action: "change",
        before: { expires_at: "2030-01-01T00:00:00Z" },
        after: { expires_at: null },
      },
    ]),
  );
  t.match(daemon.state.keys.find(hashOf("a")), { id: "key_2", lastUsedAtMs: daemon.nowMs });
  t.match(
    await planOf(daemon, { rate_limits: [rule("/team", 1)], prune: true }),
    { changes: { length: 0 } },
    "without the sections nothing is said of keys",
  );
  const pruned = await planOf(daemon, { keys: [changed], denied_jwts: [], prune: true });
  t.match(pruned.counts, { remove: 3, unchanged: 1 });
  t.match(await credentialsOf(daemon), exactly({ keys: [["a", { name: "CI 2" }]], denied: [] }));
  t.equal(daemon.state.keys.find(hashOf("b")), undefined, "a removed key is deleted");

  const restarted = startDaemon([], { store: daemon.store.crash() });
  t.match(await credentialsOf(restarted), exactly({ keys: [["a", { name: "CI 2" }]] }));
});

t.test("a file adds nothing that has expired, and prunes nothing that opens nothing", async (t) => {
  const daemon = startDaemon([], {});
  const expired = formatMillis(daemon.nowMs - 1000);
  const soon = formatMillis(daemon.nowMs + 5000);
  const old = {
    keys: [{ hash: hashOf("a"), expires_at: expired }],
    denied_jwts: [{ sub: "ann", expires_at: expired }],
  };
  t.match(await planOf(daemon, { ...old, prune: true }), {
    changes: { length: 0 },
    counts: { unchanged: 2 },
  });
  await planOf(daemon, {
    keys: [{ hash: hashOf("b"), expires_at: soon }, { hash: hashOf("c") }],
  });
  await ask(daemon, "keys.deactivate", { key_hash: hashOf("c") });
  daemon.nowMs += 6000;
  t.match(await credentialsOf(daemon), exactly({ keys: [] }));
  t.match(await planOf(daemon, { keys: [], prune: true }), {
    changes: { length: 0 },
    counts: { kept: 0 },
  });
});

t.test("a key that is taken back, rotated or of administration locks the file", async (t) => {
  const daemon = startDaemon([], {});
  const redacted = { redacted_value: "sk-sluice-abcd…" };
  await planOf(daemon, { keys: [{ hash: hashOf("a") }, { hash: hashOf("b") }] });
  await ask(daemon, "keys.deactivate", { key_hash: hashOf("a") });
  await ask(daemon, "keys.rotate", {
    key_hash: hashOf("b"),
    new_hash: hashOf("c"),
    ...redacted,
    rotation: {},
  });
  await ask(daemon, "keys.issue", {
    key_hash: hashOf("d"),
    ...redacted,
    key: { role: "viewer" },
  });
  const before = daemon.state.keys.all().map(({ hash }) => hash);
  for (const [key, lock, message] of [
    ["a", "deactivated", /^nothing was changed: key_2 is deactivated, and a file can't undo that/],
    ["b", "rotated", /^nothing was changed: key_1 has a new secret since it was rotated/],
    ["d", "role", /^nothing was changed: key_3 is a key of administration/],
  ] as const) {
    const body = { keys: [{ hash: hashOf(key) }], rate_limits: [rule("/x", 1)] };
    const plan = await planOf(daemon, { ...body, dry_run: true });
    t.match(plan.changes.at(-1), { kind: "key", action: "locked", locked_by: lock });
    t.match(await applied(daemon, body), { ok: false, failure: { status: 409, message } });
  }
  t.same(
    daemon.state.keys.all().map(({ hash }) => hash),
    before,
  );
  t.same(limitsIn(daemon.store), []);
  t.same(
    (await planOf(daemon, { keys: [], prune: true })).changes.map((change) => change.kind),
    ["key"],
    "the rotated key goes, the key of administration stays",
  );
});

t.test("keys and limits of one file are all in the store or none of them is", async (t) => {
  const body = {
    rate_limits: [rule("/a", 1)],
    keys: Array.from({ length: 1500 }, (_, i) => ({ hash: hashOf(`${i}`), user_path: "/a" })),
    denied_jwts: [{ sub: "ann" }],
  };
  for (const sections of [body, { ...body, rate_limits: undefined }]) {
    const seen = new Set<string>();
    for (let commits = 0; commits < 3; commits++) {
      const store = createMemoryStore();
      const daemon = startDaemon([], { store });
      store.commitsLeft = commits;
      const isAnswered = await carriedOut(daemon, sections);
      const { state } = startDaemon([], { store: store.crash() });
      const left = [state.keys.size, state.denials.size].join();
      if (isAnswered) t.equal(left, "1500,1");
      seen.add(left);
    }
    t.same([...seen].sort(), ["0,0", "1500,1"]);
  }
});

t.test("a file is refused where its keys or denied JWTs wouldn't fit", async (t) => {
  const daemon = startDaemon([], {});
  await planOf(daemon, {
    denied_jwts: Array.from({ length: 10_000 }, (_, i) => ({ sub: `${i}` })),
  });
  t.match(await applied(daemon, { denied_jwts: [{ sub: "more" }], rate_limits: [rule("/a", 1)] }), {
    ok: false,
    failure: {
      message: "nothing was changed: there would be 10001 denied JWTs, and 10000 is the most",
    },
  });
  t.ok((await applied(daemon, { denied_jwts: [{ sub: "more" }], prune: true })).ok);
  t.equal(daemon.state.denials.size, 1);
  Object.defineProperty(daemon.state.keys, "size", { value: 200_000 });
  t.match(await applied(daemon, { keys: [{ hash: hashOf("a") }] }), {
    ok: false,
    failure: {
      message: "nothing was changed: there would be 200001 keys, and 200000 is the most",
    },
  });
});

t.test("a file that was refused isn't held any more", async (t) => {
  const daemon = startDaemon([], {});
  const table: readonly (readonly [op: AdminOp, more: object, param: string])[] = [
    ["limits.apply", { revision: "x" }, "revision"],
    ["limits.plan", { after: "1" }, "after"],
  ];
  for (const [op, more, param] of table) {
    await ask(daemon, "limits.stage", { id: "f", part: 0, rate_limits: [rule("/a", 1)] });
    t.match(await refusal(ask(daemon, op, { id: "f", ...more })), { param }, op);
    t.equal(daemon.state.limitFiles.size, 0, op);
  }
});

t.test(
  "where hosts share limits, a file changes at most as many limits as the engine takes in one call",
  async (t) => {
    const daemon = startDaemon([], {});
    daemon.state.sharedDefinitions = {
      change: () => Promise.reject(new Error("the engine isn't asked")),
    } as unknown as typeof daemon.state.sharedDefinitions;
    const many = Array.from({ length: 2001 }, (_, i) => rule(`/team/${i}`, 1));
    t.match(await planOf(daemon, { rate_limits: many, dry_run: true }), { counts: { add: 2001 } });
    t.match(await applied(daemon, { rate_limits: many }), {
      failure: {
        status: 400,
        message: /may change 2000 rules and budgets, and this one changes 2001/,
      },
    });
  },
);

t.test("these operations are an administrator's", async (t) => {
  const daemon = startDaemon([], {});
  const peer = daemon.connect(false);
  peer.send({
    kind: "hello",
    id: 1,
    wireVersion,
    role: "cli",
    proxyId: "cli",
    leases: [],
    more: false,
  });
  for (const op of ["limits.stage", "limits.plan", "limits.apply"] as readonly AdminOp[]) {
    peer.send({ kind: "admin", id: 2, op, body: {} });
    t.match(peer.received.at(-1), { kind: "failed", failure: { status: 403 } });
  }
});

/** A file whose plan takes at least eight turns, and carrying it out four. */
const longFile = (requests: number): { rate_limits: object[] } => ({
  rate_limits: Array.from({ length: 4 * limitsPerTurn }, (_, i) => rule(`/team-${i}`, requests)),
});

/** Runs in each turn between those of a long operation; returns how many there were. */
function inTurnsBetween(daemon: TestDaemon, run: (turn: number) => void): () => number {
  let turns = 0;
  const { yieldToEventLoop } = daemon.state;
  Object.assign(daemon.state, {
    yieldToEventLoop: async () => {
      await yieldToEventLoop();
      run(++turns);
    },
  });
  return () => turns;
}

t.test("requests are judged while a long file is planned and prepared", async (t) => {
  const daemon = startDaemon([]);
  const peer = daemon.proxy("p1");
  let admitted = 0;
  const seen = new Set<number>();
  const turns = inTurnsBetween(daemon, (turn) => {
    seen.add(daemon.state.book.rules.size);
    if (askFor(peer, 1000 + turn, "/team-7") !== null) admitted++;
  });
  const plan = await planOf(daemon, longFile(5));
  t.match(plan, { applied: true, counts: { add: 4 * limitsPerTurn } });
  t.equal(turns(), 12, "wanted, shown and made: four turns each, and the plan is made once");
  t.equal(admitted, 12);
  t.strictSame([...seen], [0], "no request meets a part of the file");
  t.equal(daemon.state.book.rules.size, 4 * limitsPerTurn);
});

t.test("a plan of which something changes meanwhile is made again", async (t) => {
  for (const changes of [1, 2, Number.POSITIVE_INFINITY]) {
    const daemon = startDaemon([]);
    await planOf(daemon, longFile(5));
    let made = 0;
    // The entries, and what there is.
    const turnsOfPlan = 4 + 4;
    const turns = inTurnsBetween(daemon, (turn) => {
      if (made >= changes || turn % turnsOfPlan !== 1) return;
      made++;
      void ask(daemon, "rate-limits.put", rule("/team-7", 100 + made));
    });
    const { counts, changes: shown } = await planOf(daemon, { ...longFile(5), dry_run: true });
    t.match(counts, { change: 1, unchanged: 4 * limitsPerTurn - 1 });
    const before = { max_requests: 100 + made };
    t.match(shown, exactly([{ subject: "/team-7", before, after: { max_requests: 5 } }]));
    const inSlices = Math.min(changes + 1, plansInSlicesMax);
    t.equal(turns(), turnsOfPlan * inSlices, "at last it is made in one turn");
  }
});

t.test("what is no more as it was planned isn't carried out, and else it is", async (t) => {
  for (const [meanwhile, works] of [
    ["/team-7", false],
    ["/elsewhere", true],
  ] as const)
    for (const turn of [1, 4]) {
      const daemon = startDaemon([]);
      await planOf(daemon, longFile(5));
      const id = `file-${++ids}`;
      await ask(daemon, "limits.stage", { id, part: 0, ...longFile(6) });
      const { revision } = await ask(daemon, "limits.plan", { id });
      inTurnsBetween(daemon, (at) => {
        if (at === turn) void ask(daemon, "rate-limits.put", rule(meanwhile, 77));
      });
      const done = await ask(daemon, "limits.apply", { id, revision }).then(
        () => true,
        ({ failure }) => failure.message,
      );
      t.match(
        done,
        works ? true : /rules, budgets, keys or denied JWTs have changed since the plan was made/,
      );
      const caps = daemon.state.book.sorted().map(({ definition }) => definition.maxRequests);
      const old = 4 * limitsPerTurn - 1;
      t.strictSame(
        [5, 6, 77].map((cap) => caps.filter((one) => one === cap).length),
        works ? [0, old + 1, 1] : [old, 0, 1],
      );
    }
});

t.test("a piece that arrives after the plan invalidates it", async (t) => {
  const daemon = startDaemon([]);
  const id = `file-${++ids}`;
  await ask(daemon, "limits.stage", { id, part: 0, rate_limits: [rule("/a", 5)] });
  const { revision } = await ask(daemon, "limits.plan", { id });
  await ask(daemon, "limits.stage", { id, part: 1, rate_limits: [rule("/b", 5)] });
  const message = /have changed since/;
  t.match(await refusal(ask(daemon, "limits.apply", { id, revision })), { message });
  t.equal(daemon.state.book.rules.size, 0);
});

t.test("what a plan removes may be removed by others while it is prepared", async (t) => {
  for (const sort of ["rate_limits", "budgets"] as const) {
    const daemon = startDaemon([]);
    const many = Array.from({ length: 4 * limitsPerTurn }, (_, i) =>
      sort === "budgets" ? budget(`/team-${i}`, 5) : rule(`/team-${i}`, 5),
    );
    await planOf(daemon, { [sort]: many });
    const id = `file-${++ids}`;
    await ask(daemon, "limits.stage", { id, part: 0, [sort]: [] });
    const { revision } = await ask(daemon, "limits.plan", { id, prune: true });
    inTurnsBetween(daemon, (turn) => {
      if (turn !== 1) return;
      if (sort === "rate_limits")
        void ask(daemon, "rate-limits.delete", {
          subject: "/team-999",
          limit_key: { period: "minute" },
        });
      else
        void ask(daemon, "budgets.delete", {
          subject: "/team-999",
          budget_key: { period: "daily" },
        });
    });
    const message = /rules, budgets, keys or denied JWTs have changed since the plan was made/;
    t.match(await refusal(ask(daemon, "limits.apply", { id, revision })), { message }, sort);
    const left = sort === "rate_limits" ? daemon.state.book.rules : daemon.state.budgets.budgets;
    t.equal(left.size, many.length - 1, "the one alone is gone");
  }
});
