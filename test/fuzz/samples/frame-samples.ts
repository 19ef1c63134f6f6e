/** Valid frames in both directions, and valid bodies of every operation, to be mutated. */
import { wireVersion } from "../../../shared/version.js";
import { type AdminOp, adminOps } from "../../../shared/wire/admin-op.js";
import type { FromDaemon } from "../../../shared/wire/message-from-daemon.js";
import type { Hello, ToDaemon } from "../../../shared/wire/message-to-daemon.js";
import { executed, settleOf, target } from "../../limiterd/in-memory-daemon.js";

export const keyHash = "a".repeat(43);
const lease = {
  lease: 2,
  userPath: "/team/app",
  admittedAtMs: 1_767_225_600_000,
  lsn: 1_000_002,
  target,
  targetAtMs: 1_767_225_600_000,
  targetLsn: 1_000_002,
  submission: false,
};
const rule = { user_path: "/team/x", limit_key: { period: "minute" }, max_requests: 5 };
/** The body with which a key is issued over HTTP. */
export const issuedKey = {
  name: "n",
  user_path: "/team/app",
  labels: ["research"],
  expires_at: "2030-01-01T00:00:00Z",
};
const range = { start_date: "2025-12-20", end_date: "2026-01-01" };

/** By the operation; those that aren't here take no body, or an empty one. */
const adminBodies: Readonly<Partial<Record<AdminOp, readonly object[]>>> = {
  "rate-limits.list": [
    {},
    { after: null },
    { after: "user_path\n/team\n60" },
    { limit: 3, search: "TEAM", scope: "user_path", source: "manual" },
  ],
  "rate-limits.children": [{ user_path: "/team", period: "minute", limit: 3, search: "a" }],
  "rate-limits.test": [
    { ...rule, days: 3 },
    { ...rule, after: "1" },
  ],
  "leases.list": [{}, { after: "1767225600000.1.p1", limit: 1, search: "team" }],
  "refusals.list": [{}, { after: "1", dimension: "requests", search: "req_1" }],
  "rate-limits.put": [
    rule,
    { ...rule, per_child: true },
    { scope: "model", subject: "gpt-4o", limit_key: { period: "day" }, max_tokens: 100 },
    { scope: "provider", subject: "openai", limit_key: { period: "concurrent" }, max_requests: 3 },
    { user_path: "/team", limit_key: { period_seconds: 300 }, max_requests: 9 },
  ],
  "rate-limits.delete": [
    { scope: "user_path", subject: "/team/x", limit_key: { period: "minute" } },
  ],
  "rate-limits.raise": [
    {
      user_path: "/team",
      limit_key: { period: "minute" },
      max_requests: 9,
      for_seconds: 60,
      reason: "x",
    },
  ],
  "rate-limits.end-raise": [{ user_path: "/team", limit_key: { period: "minute" }, by: "ann" }],
  "rate-limits.reset-one": [{ scope: "user_path", subject: "/team", period: "minute" }],
  "rate-limits.reset": [{ confirmation: "reset" }],
  "budgets.put": [
    { user_path: "/team", budget_key: { period: "monthly" }, amount: 12.5 },
    { scope: "label", subject: "research", budget_key: { period: "weekly" }, amount: 3 },
    { user_path: "/team", per_child: true, budget_key: { period: "daily" }, amount: 0.1 },
  ],
  "budgets.delete": [{ user_path: "/team", budget_key: { period: "monthly" } }],
  "budgets.raise": [
    {
      user_path: "/team",
      budget_key: { period: "monthly" },
      amount: 9,
      for_seconds: 60,
      reason: "x",
      by: "ann",
    },
  ],
  "budgets.end-raise": [{ user_path: "/team", budget_key: { period: "monthly" } }],
  "budgets.reset-one": [{ scope: "user_path", subject: "/team", period: "monthly" }],
  "budgets.reset": [{ confirmation: "reset" }],
  "budgets.put-settings": [
    { daily_reset_hour: 5, daily_reset_minute: 30, weekly_reset_weekday: 2, monthly_reset_day: 31 },
  ],
  "keys.issue": [
    { key_hash: keyHash, redacted_value: "sk-sluice-abcd…", key: issuedKey },
    { key_hash: "b".repeat(43), redacted_value: "sk-sluice-abcd…", key: { name: "n" } },
  ],
  "keys.deactivate": [{ id: "key_1" }],
  explain: [
    { user_path: "/team/app", targets: [target], model: "gpt-4o", operation: "chat_completions" },
    { request_id: "req_1" },
  ],
  "usage.status": [
    { ...range, user_path: "/team/app" },
    { ...range, user_path: "/" },
  ],
  "usage.summary": [
    { ...range, by: "day" },
    { ...range, by: "model", user_path: "/team" },
    { ...range, by: "path" },
  ],
  "usage.export": [range, { ...range, after: null, user_path: "/team" }],
};

const plainAdmit: ToDaemon = {
  kind: "admit",
  read: 0,
  id: 2,
  userPath: "/team/app",
  credential: "authenticated",
  targets: [target, { provider: "local", model: "llama-3" }],
  submission: false,
};

export const hello: Hello = {
  kind: "hello",
  id: 1,
  wireVersion,
  role: "proxy",
  proxyId: "p-hostile",
  leases: [],
  more: false,
};

const settle = settleOf(lease, 1, 30, { started: 50, ended: 2 });

const holdingRates = { input: 3_000_000, output: 15_000_000 };

export const toDaemonSamples: readonly ToDaemon[] = [
  plainAdmit,
  plainAdmit,
  { ...plainAdmit, id: 3, userPath: "/", targets: [target] },
  { ...plainAdmit, id: 4, credential: keyHash },
  { ...plainAdmit, id: 5, submission: true, targets: [{ provider: "openai", model: "" }] },
  { kind: "authorize", id: 6, credential: "none" },
  { read: 0, kind: "reroute", id: 7, lease: 2, targets: [{ provider: "local", model: "llama-3" }] },
  {
    ...{ read: 0, kind: "reroute", id: 9, lease: 2 },
    targets: [{ ...target, tools: ["web_search", "mcp:github/*"] }],
  },
  settle,
  { ...settle, seq: 2, record: executed() },
  { ...settle, seq: 3, lease: 0, lsn: 0, record: executed({ model: "m2", keyId: "key_1" }) },
  { ...settle, seq: 4, part: "attempt" },
  { ...settle, seq: 5, part: "withdrawn", tokens: 0 },
  {
    ...settle,
    seq: 6,
    part: "cached",
    lease: 0,
    target: null,
    tokens: 0,
    record: executed({ cacheHit: true, inputCost: 0, outputCost: 0, totalCost: 0 }),
  },
  { kind: "refusal", id: 2, requestId: "req_1", model: "gpt-4o" },
  {
    ...plainAdmit,
    id: 10,
    metered: { promptTokens: 900, outputMax: null, isStreamed: true, rates: [holdingRates, null] },
  },
  { kind: "draw", id: 10, total: 192 },
  { kind: "draw", id: 2, total: 4096, promptTokens: 300, waitMs: 80 },
  {
    ...hello,
    leases: [
      { ...lease, holding: { promptTokens: 900, output: 192, rates: holdingRates, keyId: "" } },
    ],
  },
  { ...hello, leases: [lease, { ...lease, lease: 9, target: null, targetAtMs: 0, targetLsn: 0 }] },
  { ...hello, role: "cli", proxyId: "cli" },
  ...adminOps.flatMap((op) =>
    (adminBodies[op] ?? [{}]).map((body): ToDaemon => ({ kind: "admin", id: 8, op, body })),
  ),
];

const headers = {
  requests: { limit: 10, remaining: 9, resetSeconds: 60 },
  tokens: { limit: 100, remaining: 9, resetSeconds: 60 },
};

export const fromDaemonSamples: readonly FromDaemon[] = [
  {
    kind: "welcome",
    id: 1,
    daemonVersion: "1",
    settledSeq: 0,
    limited: true,
    inertRules: 0,
    inertBudgets: 0,
    keysExist: false,
    deniedJwts: 0,
  },
  { kind: "admitted", id: 2, target: 0, admittedAtMs: 100, lsn: 70, headers: null, key: null },
  {
    kind: "admitted",
    id: 3,
    target: 1,
    admittedAtMs: 100,
    lsn: 71,
    headers: headers as never,
    key: { userPath: "/team", keyId: "key_1" },
  },
  {
    kind: "refused",
    id: 4,
    scope: "user_path",
    subject: "/team",
    periodSeconds: 60,
    dimension: "requests",
    cap: 10,
    waitSeconds: 3,
    key: null,
  },
  {
    kind: "exceeded",
    id: 5,
    dimension: "budget",
    scope: "user_path",
    subject: "/team",
    periodSeconds: 86_400,
    spentUsd: 12.5,
    amountUsd: 10,
    waitSeconds: 30,
    headers: null,
    key: null,
  },
  { kind: "denied", id: 6, ended: null },
  { kind: "authorized", id: 7, userPath: "/team", keyId: "key_1" },
  { kind: "settled", seq: 3 },
  { kind: "drawn", id: 3, total: 192 },
  { kind: "drawn", id: 3, total: 192, cap: "the daily budget of /team" },
  { kind: "answer", id: 8, body: { rate_limits: [], server_time: "2026-01-01T00:00:00Z" } },
  {
    kind: "failed",
    id: 9,
    failure: {
      status: 400,
      type: "invalid_request_error",
      message: "no",
      code: null,
      param: "x",
    } as never,
  },
  { kind: "event", name: "limited", value: true },
  { kind: "event", name: "inert_rules", value: 2 },
  { kind: "event", name: "last_backup", value: 1_795_435_200_000 },
  { kind: "event", name: "keys_exist", value: true },
  {
    kind: "event",
    name: "jwts_denied",
    value: {
      denied: [{ claim: "jti", value: "a", issuer: null, expiresAtMs: null }],
      allowed: [{ claim: "sub", value: "b", issuer: "c" }],
      complete: false,
    },
  },
  { kind: "event", name: "store_failing", value: "disk full" },
];
