/** Arbitrary messages of each kind, and one record of an executed request. */

import fc from "fast-check";
import { adminRoles } from "../../../shared/access/admin-role.js";
import { costPicoUsdMax, tokensPerResponseMax } from "../../../shared/bounds.js";
import { budgetScopes } from "../../../shared/domain/budget.js";
import { deniedClaims } from "../../../shared/domain/jwt-denial.js";
import { costSources } from "../../../shared/domain/money.js";
import { scopes } from "../../../shared/domain/rule.js";
import { failure, invalid, plainFailure } from "../../../shared/error-code.js";
import {
  type DetailName,
  detailMax,
  detailNames,
  detailsOf,
} from "../../../shared/usage/usage-details.js";
import { adminOps } from "../../../shared/wire/admin-op.js";
import type { Execution } from "../../../shared/wire/execution.js";
import type { FromDaemon } from "../../../shared/wire/message-from-daemon.js";
import { type Lease, settledParts, type ToDaemon } from "../../../shared/wire/message-to-daemon.js";
import { wireVersions } from "../../../shared/wire/wire-versions.js";

export const count = fc.oneof(fc.nat(), fc.maxSafeInteger().map(Math.abs));

export const name = fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 });

export const userPath = fc
  .array(fc.stringMatching(/^[A-Za-z0-9_-]{1,12}$/), { maxLength: 6 })
  .map((segments) => `/${segments.join("/")}`);

export const credential = fc.oneof(
  fc.constantFrom("authenticated", "none"),
  fc.stringMatching(/^[\w-]{43}$/),
);

export const key = fc.option(fc.record({ userPath, keyId: fc.constant("key_7") }));

export const target = fc.record({ provider: name, model: fc.oneof(name, fc.constant("")) });

/** With the tools that a request carries. */
const carrying = fc.oneof(
  target,
  target.map((each) => ({ ...each, tools: ["web_search", "mcp:github/*"] })),
);

const rates = fc.option(fc.record({ input: count, output: count }));

const metered = fc.option(
  fc.record({
    promptTokens: count,
    outputMax: fc.option(count),
    isStreamed: fc.boolean(),
    rates: fc.array(rates, { maxLength: 5 }),
  }),
  { nil: undefined },
);

const holding = fc.option(fc.record({ promptTokens: count, output: count, rates, keyId: name }), {
  nil: undefined,
});

export const lease: fc.Arbitrary<Lease> = fc
  .tuple(
    fc.record({ lease: count, userPath, admittedAtMs: count, lsn: count }),
    fc.option(fc.record({ target: carrying, targetAtMs: count, targetLsn: count })),
    fc.boolean(),
    holding,
  )
  .map(([admitted, attempt, submission, holding]) => ({
    ...admitted,
    ...(attempt ?? { target: null, targetAtMs: 0, targetLsn: 0 }),
    submission: attempt === null && submission,
    holding,
  }));

/** msgpackr gives the key `__proto__` another name, which is what it should do. */
export const json = fc.jsonValue().filter((value) => !JSON.stringify(value).includes("__proto__"));

export const held = lease.map((item) => ({ ...item, lease: Math.max(1, item.lease) }));

export const tokens = fc.nat({ max: tokensPerResponseMax });

export const cost = fc.nat({ max: costPicoUsdMax });

export const execution: fc.Arbitrary<Execution> = fc
  .tuple(
    fc.record({
      requestId: fc.stringMatching(/^[\w.:/-]{1,128}$/),
      endpoint: name,
      provider: name,
      providerType: name,
      model: fc.oneof(name, fc.constant("")),
      status: fc.nat({ max: 999 }),
      outputTokens: tokens,
      cachedInputTokens: tokens,
      cacheWriteInputTokens: tokens,
      cacheHit: fc.boolean(),
      rewriteTokensSaved: tokens,
      rewriteCostSaved: fc.option(cost),
      latencyMs: count,
      firstByteMs: fc.option(count),
      keyId: fc.stringMatching(/^\w{0,64}$/),
      requestedModel: fc.oneof(name, fc.constant("")),
      session: fc.oneof(fc.uuid(), fc.constant("")),
      atMost: fc.option(fc.record({ tokens, cost: fc.option(cost) })),
      responseId: fc.constantFrom("", "resp_1"),
      costSource: fc.constantFrom(undefined, ...costSources),
      priceList: fc.constantFrom(undefined, "2026-11-28"),
      providerRequestId: fc.option(name, { nil: undefined }),
      providerKey: fc.option(fc.stringMatching(/^[\w.-]{1,64}$/), { nil: undefined }),
      loop: fc.option(fc.nat({ max: 100 }), { nil: undefined }),
      batchTokens: fc.option(fc.nat(), { nil: undefined }),
      toolCalls: fc.constantFrom(undefined, { web_search: 3, "mcp:github/create_issue": 1 }),
      cutBy: fc.option(name, { nil: undefined }),
      details: fc.option(
        fc.record({
          serviceTier: fc.option(fc.constantFrom("standard", "flex", "ultrafast")),
          region: fc.option(fc.constantFrom("us", "eu-west-1")),
          counts: fc.record(
            Object.fromEntries(
              detailNames.map((detail) => [detail, fc.nat({ max: detailMax(detail) })]),
            ) as Record<DetailName, fc.Arbitrary<number>>,
          ),
        }),
      ),
    }),
    fc.option(fc.record({ inputCost: cost, outputCost: cost, totalCost: cost })),
  )
  .map(([rest, costs]) => {
    const cachedInputTokens = Math.floor(rest.cachedInputTokens / 2);
    const cacheWriteInputTokens = Math.floor(rest.cacheWriteInputTokens / 2);
    return {
      ...rest,
      ...(costs ?? { inputCost: null, outputCost: null, totalCost: null }),
      cachedInputTokens,
      cacheWriteInputTokens,
      inputTokens: cachedInputTokens + cacheWriteInputTokens,
    };
  });

export const triple = fc.option(
  fc.record({ limit: count.map((n) => Math.max(1, n)), remaining: count, resetSeconds: count }),
);

export const toDaemon: {
  readonly [K in ToDaemon["kind"]]: fc.Arbitrary<Extract<ToDaemon, { kind: K }>>;
} = {
  hello: fc.record({
    kind: fc.constant("hello"),
    id: count,
    wireVersion: fc.constantFrom(wireVersions.oldest, wireVersions.newest),
    role: fc.constantFrom("proxy", "cli"),
    proxyId: fc.stringMatching(/^[\w-]{1,64}$/),
    leases: fc.array(held, { maxLength: 4 }),
    more: fc.boolean(),
  }),
  read: fc.record({
    kind: fc.constant("read"),
    connection: count.map((n) => Math.max(1, n)),
    earlier: fc.array(
      fc.tuple(
        count.map((n) => Math.max(1, n)),
        count,
      ),
      { maxLength: 4 },
    ),
  }),
  hold: fc.record({
    kind: fc.constant("hold"),
    leases: fc.array(held, { maxLength: 4 }),
  }),
  admit: fc.record({
    kind: fc.constant("admit"),
    id: count,
    userPath,
    credential,
    targets: fc.array(
      fc.oneof(
        carrying,
        target.map((each) => ({ ...each, unpriced: true })),
        target.map((each) => ({ ...each, tools: ["*"], unpriced: true })),
      ),
      { maxLength: 5 },
    ),
    submission: fc.boolean(),
    read: count,
    modelNames: fc.option(fc.array(name, { maxLength: 5 }), { nil: undefined }),
    uses: fc.option(fc.array(name, { maxLength: 4 }), { nil: undefined }),
    fixed: fc.option(fc.constant(true as const), { nil: undefined }),
    metered,
    wait: fc.option(
      fc.record({
        askedMs: fc.option(count),
        timeoutMs: fc.option(count),
        waitedMs: count,
        placeEveryMs: fc.option(
          count.map((n) => Math.max(1, n)),
          { nil: undefined },
        ),
      }),
      { nil: undefined },
    ),
  }),
  authorize: fc.record({ kind: fc.constant("authorize"), id: count, credential }),
  reported: fc.record({
    kind: fc.constant("reported"),
    target: target.map(({ provider, model }) => ({ provider, model })),
    startedAgoMs: count,
    status: count,
    limits: fc.array(
      fc.record({
        name: fc.stringMatching(/^[a-z_]{1,64}$/),
        limit: fc.option(count),
        remaining: fc.option(count),
        resetMs: fc.option(count),
      }),
      { maxLength: 4 },
    ),
    waitMs: fc.option(count, { nil: undefined }),
    firstByteMs: fc.option(count, { nil: undefined }),
    size: fc.option(count, { nil: undefined }),
  }),
  reroute: fc.record({
    kind: fc.constant("reroute"),
    id: count,
    lease: count.map((n) => Math.max(1, n)),
    targets: fc.array(carrying, { minLength: 1, maxLength: 5 }),
    read: count,
    uses: fc.option(fc.array(name, { maxLength: 4 }), { nil: undefined }),
    metered,
  }),
  settle: fc
    .tuple(
      lease,
      fc.record({
        kind: fc.constant("settle"),
        seq: count.map((n) => Math.max(1, n)),
        startedAgoMs: count,
        endedAgoMs: count,
        tokens: count,
        estimated: fc.boolean(),
        part: fc.constantFrom(...settledParts),
        record: fc.option(execution),
        targetStartedAgoMs: fc.option(count, { nil: undefined }),
      }),
    )
    .map(([{ submission: _, holding: _holding, ...held }, rest]) => {
      const part =
        held.target === null && ["attempt", "untried", "progress"].includes(rest.part)
          ? ("request" as const)
          : rest.part;
      if (part === "cached" || part === "final")
        return {
          ...held,
          ...rest,
          part,
          lease: 0,
          target: null,
          targetAtMs: 0,
          targetLsn: 0,
          tokens: 0,
        };
      return { ...held, ...rest, part, record: part === "request" ? rest.record : null };
    }),
  release: fc.record({ kind: fc.constant("release"), id: fc.integer({ min: 1 }) }),
  draw: fc.record({
    kind: fc.constant("draw"),
    id: fc.integer({ min: 1 }),
    total: count,
    promptTokens: fc.option(count, { nil: undefined }),
  }),
  cancel: fc.record({ kind: fc.constant("cancel"), id: fc.integer({ min: 1 }) }),
  refusal: fc.record({
    kind: fc.constant("refusal"),
    id: count,
    requestId: fc.stringMatching(/^[\w.:/-]{1,128}$/),
    model: fc.oneof(name, fc.constant("")),
  }),
  admin: fc.record({
    kind: fc.constant("admin"),
    id: count,
    op: fc.constantFrom(...adminOps),
    body: json,
  }),
};

const moment = fc.integer({ min: 1, max: 4_102_444_800_000 });
const numbers = (min: number) => fc.record({ min: fc.integer({ min }), max: fc.integer({ min }) });
const loopTimes = fc
  .tuple(numbers(0), fc.option(numbers(2), { nil: undefined }))
  .map(([repetitions, turns]) => ({ ...repetitions, turns }));
const jwtName = {
  claim: fc.constantFrom(...deniedClaims),
  value: fc.string({ minLength: 1 }),
  issuer: fc.option(fc.string({ minLength: 1 })),
};

export const fromDaemon: {
  readonly [K in FromDaemon["kind"]]: fc.Arbitrary<Extract<FromDaemon, { kind: K }>>;
} = {
  welcome: fc.record({
    kind: fc.constant("welcome"),
    id: count,
    daemonVersion: name,
    settledSeq: count,
    limited: fc.boolean(),
    inertRules: count,
    inertBudgets: count,
    keysExist: fc.boolean(),
    deniedJwts: count,
    importedKeysExist: fc.option(fc.constant(true), { nil: undefined }),
    hardLimits: fc.option(fc.constant(true), { nil: undefined }),
    loopTimes: fc.option(loopTimes, { nil: undefined }),
  }),
  admitted: fc.record({
    kind: fc.constant("admitted"),
    id: count,
    target: count,
    admittedAtMs: count,
    lsn: count,
    headers: fc.option(fc.record({ requests: triple, tokens: triple })),
    key,
    exhausted: fc.option(name, { nil: undefined }),
    shadow: fc.option(fc.array(name, { maxLength: 3 }), { nil: undefined }),
    allowance: fc.option(count, { nil: undefined }),
    cap: fc.option(name, { nil: undefined }),
  }),
  refused: fc.record({
    kind: fc.constant("refused"),
    id: count,
    scope: fc.constantFrom(...scopes),
    subject: name,
    periodSeconds: count,
    dimension: fc.constantFrom("requests", "tokens", "concurrent"),
    cap: count,
    waitSeconds: count.map((n) => Math.max(1, n)),
    key,
    models: fc.option(fc.constant("gpt-4o o3"), { nil: undefined }),
    when: fc.option(fc.constant("mon 00:00-24:00 UTC"), { nil: undefined }),
    use: fc.option(name, { nil: undefined }),
    share: fc.option(name, { nil: undefined }),
    limitName: fc.option(name, { nil: undefined }),
    above: fc.option(name, { nil: undefined }),
  }),
  queued: fc.record({
    kind: fc.constant("queued"),
    id: count,
    position: fc.option(
      count.map((n) => Math.max(1, n)),
      { nil: undefined },
    ),
    expectedMs: fc.option(count, { nil: undefined }),
  }),
  cancelled: fc.record({ kind: fc.constant("cancelled"), id: count }),
  denied: fc.record({
    kind: fc.constant("denied"),
    id: count,
    ended: fc.option(
      fc.record({
        keyId: fc.constant("key_7"),
        expiredAtMs: fc.option(moment),
      }),
    ),
  }),
  authorized: fc.record({
    kind: fc.constant("authorized"),
    id: count,
    userPath: fc.oneof(userPath, fc.constant("")),
    keyId: fc.constantFrom("", "key_7"),
    models: fc.option(fc.array(name, { maxLength: 3 }), { nil: undefined }),
    role: fc.option(fc.constantFrom(...adminRoles), { nil: undefined }),
  }),
  exceeded: fc.record({
    kind: fc.constant("exceeded"),
    id: count,
    dimension: fc.constant("budget"),
    scope: fc.constantFrom(...budgetScopes),
    subject: name,
    periodSeconds: count.map((n) => Math.max(1, n)),
    spentUsd: fc.double({ min: 0, max: 1e9, noNaN: true }),
    amountUsd: fc.double({ min: 1e-6, max: 1e9, noNaN: true }),
    waitSeconds: count.map((n) => Math.max(1, n)),
    headers: fc.option(fc.record({ requests: triple, tokens: triple })),
    key,
    models: fc.option(fc.constant("gpt-4o o3"), { nil: undefined }),
    rolling: fc.option(fc.constant(true as const), { nil: undefined }),
    use: fc.option(name, { nil: undefined }),
  }),
  settled: fc.record({ kind: fc.constant("settled"), seq: count }),
  drawn: fc.record({
    kind: fc.constant("drawn"),
    id: fc.integer({ min: 1 }),
    total: count,
    cap: fc.option(name, { nil: undefined }),
  }),
  answer: fc.record({ kind: fc.constant("answer"), id: count, body: json }),
  failed: fc.record({
    kind: fc.constant("failed"),
    id: count,
    failure: fc.oneof(
      name.map((text) => invalid(text, "field")),
      name.map((text) => failure("rate_limit_not_found", text)),
      name.map((text) => plainFailure(400, "internal_error", text)),
    ),
  }),
  event: fc.oneof(
    fc.record({
      kind: fc.constant("event" as const),
      name: fc.constant("limited" as const),
      value: fc.boolean(),
    }),
    fc.record({
      kind: fc.constant("event" as const),
      name: fc.constantFrom("inert_rules" as const, "inert_budgets" as const),
      value: count,
    }),
    fc.record({
      kind: fc.constant("event" as const),
      name: fc.constant("last_backup" as const),
      value: moment,
    }),
    fc.record({
      kind: fc.constant("event" as const),
      name: fc.constant("keys_exist" as const),
      value: fc.constant(true as const),
    }),
    fc.record({
      kind: fc.constant("event" as const),
      name: fc.constant("imported_keys_exist" as const),
      value: fc.boolean(),
    }),
    fc.record({
      kind: fc.constant("event" as const),
      name: fc.constant("hard_limits" as const),
      value: fc.boolean(),
    }),
    fc.record({
      kind: fc.constant("event" as const),
      name: fc.constant("loop_times" as const),
      value: fc.option(loopTimes),
    }),
    fc.record({
      kind: fc.constant("event" as const),
      name: fc.constant("jwts_denied" as const),
      value: fc.record({
        denied: fc.array(fc.record({ ...jwtName, expiresAtMs: fc.option(moment) })),
        allowed: fc.array(fc.record(jwtName)),
        complete: fc.boolean(),
      }),
    }),
    fc.record({
      kind: fc.constant("event" as const),
      name: fc.constant("store_failing" as const),
      value: fc.option(name),
    }),
  ),
};

/** A record in the order of the wire. */
export const executed: Execution = {
  requestId: "req_1",
  endpoint: "/v1/chat/completions",
  provider: "main",
  providerType: "openai",
  model: "gpt-4o",
  status: 200,
  inputTokens: 20,
  outputTokens: 10,
  cachedInputTokens: 5,
  cacheWriteInputTokens: 3,
  inputCost: 200,
  outputCost: 300,
  totalCost: 501,
  cacheHit: false,
  rewriteTokensSaved: 4,
  rewriteCostSaved: 40,
  latencyMs: 900,
  firstByteMs: 120,
  keyId: "key_1",
  requestedModel: "smart",
  session: "0197-a",
  details: detailsOf("flex", { cacheWrite1hTokens: 2, audioInputTokens: 1 }),
  atMost: { tokens: 90, cost: 700 },
  responseId: "resp_1",
  costSource: "list",
  priceList: "2026-11-28",
  providerRequestId: "req_9",
  providerKey: "prod",
  loop: 7,
  batchTokens: 11,
  toolCalls: { web_search: 3 },
  cutBy: "the day token limit of /team",
};

export const executedFlat = [
  "req_1",
  "/v1/chat/completions",
  "main",
  "openai",
  "gpt-4o",
  200,
  20,
  10,
  5,
  3,
  200,
  300,
  501,
  false,
  4,
  40,
  900,
  120,
  "key_1",
  "smart",
  ["flex", null, 2, 1],
  [90, 700],
  "resp_1",
  "0197-a",
  "list",
  "2026-11-28",
  "req_9",
  "prod",
  7,
  11,
  ["web_search", 3],
  "the day token limit of /team",
];

export const good: { readonly [K in ToDaemon["kind"]]: readonly unknown[] } = {
  hello: [
    "hello",
    1,
    wireVersions.newest,
    "proxy",
    "p",
    [[5, "/team", 7, 8, ["openai", "gpt-4o"], 9, 10, false]],
    false,
  ],
  read: [
    "read",
    3,
    [
      [1, 7],
      [2, 0],
    ],
  ],
  hold: ["hold", [[5, "/team", 7, 1, ["openai", "gpt-4o"], 9, 1, false]]],
  reroute: ["reroute", 4, 3, [["openai", "gpt-4o"]], 7],
  admit: ["admit", 3, "/team", "authenticated", [["openai", "gpt-4o"]], false, 7],
  authorize: ["authorize", 3, "none"],
  settle: [
    "settle",
    1,
    "attempt",
    5,
    "/team",
    7,
    8,
    ["openai", "gpt-4o"],
    9,
    10,
    9,
    2,
    30,
    true,
    [],
  ],
  release: ["release", 3],
  draw: ["draw", 3, 640],
  cancel: ["cancel", 3],
  refusal: ["refusal", 3, "req_1", "gpt-4o"],
  reported: ["reported", ["openai", "gpt-4o"], 20, 200, [["requests", 500, 0, 60_000]]],
  admin: ["admin", 4, "status", null],
};

/** Whatever can stand in a frame, more than JSON has. */
export const anything = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom<unknown>(
    undefined,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    -1,
    2 ** 53,
    1n,
    new Date(0),
    new Set([1]),
    new Map([[1, 1]]),
    Buffer.from("a"),
    /a/,
  ),
  fc.anything(),
);

/** Frames near good ones: one part of a good message exchanged, left out or added. */
export function near<T extends ToDaemon | FromDaemon>(
  kinds: Readonly<Record<string, fc.Arbitrary<T>>>,
  write: (message: T) => readonly unknown[],
): fc.Arbitrary<unknown> {
  return fc
    .tuple(
      fc.oneof(...Object.values(kinds)),
      fc.nat(13),
      anything,
      fc.constantFrom("exchange", "remove", "insert"),
    )
    .map(([message, at, value, how]) => {
      const wire = [...write(message)];
      if (how === "exchange") wire[at % wire.length] = value;
      else if (how === "remove") wire.splice(at % wire.length, 1);
      else wire.splice(at % (wire.length + 1), 0, value);
      return wire;
    });
}
