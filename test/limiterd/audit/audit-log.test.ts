import t from "tap";
import { AuditLog, parseAuditQuery } from "../../../limiterd/audit/audit-log.js";
import type { Change } from "../../../limiterd/store/store.js";
import type { AuditEntry, AuditPage } from "../../../shared/api/audit-entry.js";
import type { RecordItem } from "../../../shared/api/record-item.js";
import { auditedPerChangeMax } from "../../../shared/bounds.js";
import { hashKey, makeManagedKey } from "../../../shared/domain/make-managed-key.js";
import { type AdminOp, adminOps, isAudited } from "../../../shared/wire/admin-op.js";
import { createMemoryStore } from "../../support/memory-store.js";
import { ask, commitUntil, executed, refusal, settleOf, startDaemon } from "../in-memory-daemon.js";
import { reconciliation } from "../usage/reconciliation.js";

const first = makeManagedKey();
const second = makeManagedKey();
const rule = { scope: "user_path", subject: "/team", limit_key: { period: "day" } };
const budget = { scope: "user_path", subject: "/team", budget_key: { period: "monthly" } };
const jwt = { sub: "alice", issuer: "https://id.example" };
const session = { session_hash: hashKey("a token"), mark: hashKey("a mark") };
const issue = { key_hash: first.hash, redacted_value: first.redacted, key: { user_path: "/team" } };
const dates = { start_date: "2026-01-01", end_date: "2026-01-01" };
const raise = { for_seconds: 3600, reason: "a launch", by: "Bob" };

type Step = readonly [op: AdminOp, body: unknown];
interface Sample {
  readonly before?: readonly Step[];
  readonly body: unknown;
  readonly entry: Partial<AuditEntry>;
}

const put: Step = ["rate-limits.put", { ...rule, max_requests: 5 }];
const putBudget: Step = ["budgets.put", { ...budget, amount: 5 }];
const dayRule = "day rule on user_path /team";
const month = "monthly budget on user_path /team";
const none = { before: null, after: null };
const raised: Step = ["rate-limits.raise", { ...rule, ...raise, max_requests: 9 }];
const budgetRaised: Step = ["budgets.raise", { ...budget, ...raise, amount: 9 }];

/** One call of each operation that has entries in the audit log. */
const samples: Readonly<Record<string, Sample>> = {
  "reconciliations.keep": {
    body: reconciliation({ gap_percent: 5 }),
    entry: {
      subject: "bill of openai, 2026-01-01 to 2026-01-07",
      before: null,
      after: { recorded_usd: "1", billed_usd: "1.05", gap_percent: 5 },
    },
  },
  "rate-limits.put": {
    before: [put],
    body: { ...rule, max_requests: 7 },
    entry: { subject: dayRule, before: { max_requests: 5 }, after: { max_requests: 7 } },
  },
  "rate-limits.delete": {
    before: [put],
    body: rule,
    entry: { subject: dayRule, before: { max_requests: 5 }, after: null },
  },
  "rate-limits.raise": {
    before: [put],
    body: raised[1],
    entry: { subject: dayRule, before: null, after: [{ max_requests: 9, by: "Bob" }] },
  },
  "rate-limits.end-raise": {
    before: [put, raised],
    body: { ...rule, by: "Bob" },
    entry: { subject: dayRule, before: [{ max_requests: 9 }], after: null },
  },
  "rate-limits.reset-one": { before: [put], body: rule, entry: { subject: dayRule, ...none } },
  "rate-limits.reset": {
    body: { confirmation: "reset" },
    entry: { subject: "all rules", ...none },
  },
  "budgets.put": {
    before: [putBudget],
    body: { ...budget, amount: 7 },
    entry: { subject: month, before: { amount: 5 }, after: { amount: 7 } },
  },
  "budgets.delete": {
    before: [putBudget],
    body: budget,
    entry: { subject: month, before: { amount: 5 }, after: null },
  },
  "budgets.raise": {
    before: [putBudget],
    body: budgetRaised[1],
    entry: { subject: month, before: null, after: [{ amount: 9, reason: "a launch" }] },
  },
  "budgets.end-raise": {
    before: [putBudget, budgetRaised],
    body: { ...budget, by: "Bob" },
    entry: { subject: month, before: [{ amount: 9 }], after: null },
  },
  "budgets.reset-one": { before: [putBudget], body: budget, entry: { subject: month, ...none } },
  "budgets.reset": {
    before: [putBudget],
    body: { confirmation: "reset" },
    entry: { subject: "all budgets", ...none },
  },
  "budgets.put-settings": {
    body: { daily_reset_hour: 5 },
    entry: { subject: "starts of budget periods" },
  },
  "limits.apply": { body: null, entry: { subject: dayRule, before: null } },
  "keys.issue": {
    body: issue,
    entry: {
      subject: "key key_1",
      before: null,
      after: { user_path: "/team", redacted_value: first.redacted },
    },
  },
  "keys.rotate": {
    before: [["keys.issue", issue]],
    body: { id: "key_1", new_hash: second.hash, redacted_value: second.redacted, rotation: {} },
    entry: {
      subject: "key key_1",
      before: { redacted_value: first.redacted },
      after: { redacted_value: second.redacted },
    },
  },
  "keys.deactivate": {
    before: [["keys.issue", issue]],
    body: { id: "key_1" },
    entry: { subject: "key key_1", before: { deactivated_at: null } },
  },
  "keys.delete": {
    before: [["keys.issue", issue]],
    body: { id: "key_1" },
    entry: { subject: "key key_1", before: { user_path: "/team" }, after: null },
  },
  "jwts.deny": { body: { jwt }, entry: { subject: "JWT sub alice", before: null } },
  "jwts.allow": {
    before: [["jwts.deny", { jwt }]],
    body: jwt,
    entry: { subject: "JWT sub alice", after: null },
  },
  "usage.adjust": {
    body: null,
    entry: { subject: "usage records", after: { records: 1 } },
  },
  "sessions.open": {
    before: [["keys.issue", issue]],
    body: { session_hash: session.session_hash, key_hash: first.hash },
    entry: { who: "key key_1", subject: "dashboard" },
  },
  "sessions.open-admin": { body: session, entry: { who: "master key", subject: "dashboard" } },
  "sessions.close": {
    before: [["sessions.open-admin", session]],
    body: { session_hash: session.session_hash },
    entry: { who: "master key", subject: "dashboard" },
  },
  "sessions.failed": {
    body: { reason: "wrong key" },
    entry: { who: "bob", subject: "dashboard", after: { reason: "wrong key" } },
  },
};

const by = { who: "bob", from: "192.0.2.7", requestId: "req_1" };

t.test("each operation that changes something has an entry, also after kill -9", async (t) => {
  t.same(Object.keys(samples).sort(), adminOps.filter(isAudited).sort());
  for (const [name, sample] of Object.entries(samples)) {
    const op = name as AdminOp;
    const daemon = startDaemon([]);
    for (const [before, body] of sample.before ?? []) await ask(daemon, before, body);
    let { body } = sample;
    if (op === "usage.adjust") {
      const lease = { lease: 0, userPath: "/team", admittedAtMs: 0, lsn: 0, submission: false };
      daemon.proxy("p").send({
        ...settleOf({ ...lease, target: null, targetAtMs: 0, targetLsn: 0 }, 1, 0),
        record: executed({}),
      });
      await daemon.commit();
      const read = ask(daemon, "usage.export", dates);
      await commitUntil(daemon, read);
      const [record] = (await read)["records"] as readonly RecordItem[];
      body = { adjustments: [[record!.id, 7, 0, 7, "operator", ""]] };
    }
    if (op === "limits.apply") {
      const file = { id: "f", rate_limits: [{ ...rule, max_requests: 5 }] };
      await ask(daemon, "limits.stage", { ...file, part: 0 });
      const { revision } = await ask(daemon, "limits.plan", { id: "f" });
      body = { id: "f", revision };
    }
    daemon.nowMs += 1000;
    const asked = ask(daemon, op, body, by);
    await commitUntil(daemon, asked);
    await asked;
    await daemon.commit();
    const killed = startDaemon([], { store: daemon.store.crash(), nowMs: daemon.nowMs });
    const { entries } = (await ask(killed, "audit.list", null)) as unknown as AuditPage;
    const { who = "bob", ...entry } = sample.entry;
    const known = { operation: op, who, from: "192.0.2.7", request_id: "req_1", ...entry };
    t.match(entries[0], known, op);
    t.equal(entries.filter(({ time }) => time === entries[0]!.time).length, 1, `${op}: one entry`);
    const text = JSON.stringify(entries);
    for (const secret of [first, second])
      t.notOk(text.includes(secret.value) || text.includes(secret.hash), `${op}: no secret`);
    t.notOk(
      text.includes(session.session_hash) || text.includes(session.mark),
      `${op}: no session`,
    );
  }
});

t.test("an operation that fails has no entry", async (t) => {
  const daemon = startDaemon([]);
  await ask(daemon, "rate-limits.delete", rule).catch(() => {});
  await ask(daemon, "keys.deactivate", { id: "key_7" }).catch(() => {});
  t.same((await ask(daemon, "audit.list", null))["entries"], []);
});

const asked = { op: "rate-limits.put", by };
const of = (subject: string): { subject: string; before: null; after: null } => ({
  ...{ subject, before: null, after: null },
});

t.test("a page is filtered and goes on where it ended, newest first", async (t) => {
  const store = createMemoryStore();
  const log = new AuditLog(store);
  const startMs = 1_767_225_600_000;
  for (let i = 0; i < 5; i++)
    await store.commit(log.record([of(`/a${i}`), of(`/b${i}`)], asked, startMs + i * 1000));
  const list = (query: object): AuditPage => {
    const parsed = parseAuditQuery(query);
    if (!parsed.ok) throw new Error(parsed.failure.message);
    return new AuditLog(store).list(parsed.value, startMs);
  };
  const subjects = (page: AuditPage): string[] => page.entries.map(({ subject }) => subject);
  const page = list({ limit: 3 });
  t.same(subjects(page), ["/b4", "/a4", "/b3"]);
  t.same(subjects(list({ limit: 3, after: page.next })), ["/a3", "/b2", "/a2"]);
  t.same(subjects(list({ subject: "/A" })), ["/a4", "/a3", "/a2", "/a1", "/a0"]);
  t.same(list({ who: "alice" }).entries, []);
  t.equal(list({ who: "BOB", operation: "rate-limits." }).entries.length, 10);
  const range = { from: "2026-01-01T00:00:01Z", to: "2026-01-01T00:00:03Z" };
  t.same(subjects(list(range)), ["/b2", "/a2", "/b1", "/a1"]);
  for (const [field, value] of Object.entries({ from: "x", to: 1, who: 1, limit: 0, after: "x" }))
    t.match(parseAuditQuery({ [field]: value }), { ok: false, failure: { param: field } });
});

t.test(
  "entries are removed by age, and a clock that is set back keeps them in order",
  async (t) => {
    const store = createMemoryStore();
    const log = new AuditLog(store);
    const dayMs = 86_400_000;
    await store.commit(log.record([of("/old")], asked, 10 * dayMs));
    await store.commit(log.record([of("/new")], asked, 12 * dayMs));
    await store.commit(log.record([of("/later")], asked, 11 * dayMs));
    t.same(log.trim(12 * dayMs, 3), []);
    const removals = log.trim(12 * dayMs, 1);
    t.equal(removals.length, 1);
    await store.commit(removals);
    const query = parseAuditQuery(null);
    const left = query.ok ? log.list(query.value, 0).entries : [];
    t.same(
      left.map(({ subject }) => subject),
      ["/later", "/new"],
    );
  },
);

t.test("the entries of one change and failed sign-ins are bounded", async (t) => {
  const log = new AuditLog(createMemoryStore());
  const many = Array.from({ length: auditedPerChangeMax + 5 }, (_, i) => of(`/${i}`));
  const changes = log.record(many, asked, 1);
  t.equal(changes.length, auditedPerChangeMax + 1);
  t.equal(changes.at(-1)!.value![4], "5 more");
  const failed: Change[] = [];
  for (let i = 0; i < 100; i++) failed.push(...log.failedSignIn("wrong key", asked, 60_000));
  t.equal(failed.length, 20);
  t.match(
    String(log.failedSignIn("wrong key", asked, 120_000)[0]!.value![6]),
    /"failures_left_out":80/,
  );
});

t.test("a damaged entry is reported, and the list fails with 503", async (t) => {
  for (const [table, op, what, value] of [
    [
      "audit",
      "audit.list",
      "audit log",
      [1, "ann", "socket", "op", "subject", "nu\0ll", "null", ""],
    ],
    ["audit", "audit.list", "audit log", ["ann"]],
    ["reconciliations", "reconciliations.list", "comparisons with bills", [1, "{"]],
  ] as const) {
    const store = createMemoryStore();
    await store.commit([{ table, key: 5, value }]);
    const daemon = startDaemon([], { store });
    t.match(await refusal(ask(daemon, op, {})), {
      status: 503,
      code: "usage_status_failed",
      message: `the ${what} can't be read: the daemon's log says why`,
    });
    t.match(daemon.damageReports.join(), new RegExp(`the entry 5 of ${table} is not what`));
  }
});
