import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import t from "tap";
import {
  candidatesMax,
  costPicoUsdMax,
  leasesPerHello,
  requestIdCharsMax,
  subjectBytesMax,
  tokensPerResponseMax,
} from "../../../shared/bounds.js";
import { budgetScopes } from "../../../shared/domain/budget.js";
import { scopes } from "../../../shared/domain/rule.js";
import { failure, invalid, plainFailure } from "../../../shared/error-code.js";
import { adminOps } from "../../../shared/wire/admin-op.js";
import { createFrameReader, encodeFrame } from "../../../shared/wire/codec.js";
import { type Execution, flawOf } from "../../../shared/wire/execution.js";
import { fromDaemonFromWire } from "../../../shared/wire/from-daemon.js";
import {
  type FromDaemon,
  type Lease,
  settledParts,
  type ToDaemon,
} from "../../../shared/wire/message.js";
import { toDaemonFromWire } from "../../../shared/wire/to-daemon.js";
import { toWire } from "../../../shared/wire/to-wire.js";

const count = fc.oneof(fc.nat(), fc.maxSafeInteger().map(Math.abs));
const name = fc.string({ unit: "grapheme", minLength: 1, maxLength: 40 });
const userPath = fc
  .array(fc.stringMatching(/^[A-Za-z0-9_-]{1,12}$/), { maxLength: 6 })
  .map((segments) => `/${segments.join("/")}`);
const credential = fc.oneof(
  fc.constantFrom("authenticated", "none"),
  fc.stringMatching(/^[\w-]{43}$/),
);
const key = fc.option(fc.record({ userPath, keyId: fc.constant("key_7") }));
const target = fc.record({ provider: name, model: fc.oneof(name, fc.constant("")) });
const lease: fc.Arbitrary<Lease> = fc
  .tuple(
    fc.record({ lease: count, userPath, admittedAtMs: count, lsn: count }),
    fc.option(fc.record({ target, targetAtMs: count, targetLsn: count })),
    fc.boolean(),
  )
  .map(([admitted, attempt, submission]) => ({
    ...admitted,
    ...(attempt ?? { target: null, targetAtMs: 0, targetLsn: 0 }),
    submission: attempt === null && submission,
  }));
/** msgpackr gives the key `__proto__` another name, which is what it should do. */
const json = fc.jsonValue().filter((value) => !JSON.stringify(value).includes("__proto__"));
const held = lease.map((item) => ({ ...item, lease: Math.max(1, item.lease) }));
const tokens = fc.nat({ max: tokensPerResponseMax });
const cost = fc.nat({ max: costPicoUsdMax });
const execution: fc.Arbitrary<Execution> = fc
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
const triple = fc.option(
  fc.record({ limit: count.map((n) => Math.max(1, n)), remaining: count, resetSeconds: count }),
);

const toDaemon: { readonly [K in ToDaemon["kind"]]: fc.Arbitrary<Extract<ToDaemon, { kind: K }>> } =
  {
    hello: fc.record({
      kind: fc.constant("hello"),
      id: count,
      wireVersion: count,
      role: fc.constantFrom("proxy", "cli"),
      proxyId: fc.stringMatching(/^[\w-]{1,64}$/),
      leases: fc.array(held, { maxLength: 4 }),
      more: fc.boolean(),
    }),
    admit: fc.record({
      kind: fc.constant("admit"),
      id: count,
      userPath,
      credential,
      targets: fc.array(target, { minLength: 1, maxLength: 5 }),
      submission: fc.boolean(),
    }),
    authorize: fc.record({ kind: fc.constant("authorize"), id: count, credential }),
    reroute: fc.record({
      kind: fc.constant("reroute"),
      id: count,
      lease: count.map((n) => Math.max(1, n)),
      targets: fc.array(target, { minLength: 1, maxLength: 5 }),
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
        }),
      )
      .map(([{ submission: _, ...held }, rest]) => {
        const part =
          held.target === null && rest.part === "attempt" ? ("request" as const) : rest.part;
        if (part === "cached")
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

const fromDaemon: {
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
  }),
  admitted: fc.record({
    kind: fc.constant("admitted"),
    id: count,
    target: count,
    admittedAtMs: count,
    lsn: count,
    headers: fc.option(fc.record({ requests: triple, tokens: triple })),
    key,
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
  }),
  denied: fc.record({ kind: fc.constant("denied"), id: count }),
  authorized: fc.record({
    kind: fc.constant("authorized"),
    id: count,
    userPath: fc.oneof(userPath, fc.constant("")),
    keyId: fc.constantFrom("", "key_7"),
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
  }),
  settled: fc.record({ kind: fc.constant("settled"), seq: count }),
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
      name: fc.constant("keys_exist" as const),
      value: fc.constant(true as const),
    }),
    fc.record({
      kind: fc.constant("event" as const),
      name: fc.constant("store_failing" as const),
      value: fc.option(name),
    }),
  ),
};

/** What the other end decodes. */
function overTheWire(wire: readonly unknown[]): unknown {
  let frame: unknown;
  createFrameReader(64 * 1024 * 1024).feed(encodeFrame(wire), (decoded) => (frame = decoded));
  return frame;
}

/** JSON's zero has no sign. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) as unknown;

t.test("every kind of message towards the daemon comes back as it was", async (t) => {
  for (const [kind, arbitrary] of Object.entries(toDaemon) as [string, fc.Arbitrary<ToDaemon>][]) {
    fc.assert(
      fc.property(arbitrary, (message) =>
        isDeepStrictEqual(plain(toDaemonFromWire(overTheWire(toWire(message)))), plain(message)),
      ),
      { numRuns: 300 },
    );
    t.pass(kind);
  }
});

t.test("every kind of message from the daemon comes back as it was", async (t) => {
  for (const [kind, arbitrary] of Object.entries(fromDaemon) as [
    string,
    fc.Arbitrary<FromDaemon>,
  ][]) {
    fc.assert(
      fc.property(arbitrary, (message) =>
        isDeepStrictEqual(plain(fromDaemonFromWire(overTheWire(toWire(message)))), plain(message)),
      ),
      { numRuns: 300 },
    );
    t.pass(kind);
  }
});

t.test("a message begins with its kind and its id, as the grammar says", async (t) => {
  const targets = [
    { provider: "openai", model: "gpt-4o" },
    { provider: "local", model: "llama" },
  ];
  const lease = {
    lease: 5,
    userPath: "/team",
    admittedAtMs: 7,
    lsn: 8,
    target: targets[0]!,
    targetAtMs: 9,
    targetLsn: 10,
  };
  const between = { ...lease, target: null, targetAtMs: 0, targetLsn: 0 };
  const unnamed = [{ provider: "openai", model: "" }];
  const table: readonly (readonly [message: ToDaemon | FromDaemon, wire: readonly unknown[]])[] = [
    [
      {
        kind: "admit",
        id: 3,
        userPath: "/team",
        credential: "authenticated",
        targets,
        submission: false,
      },
      ["admit", 3, "/team", "authenticated", ["openai", "gpt-4o", "local", "llama"], false],
    ],
    [
      {
        kind: "admit",
        id: 3,
        userPath: "/team",
        credential: "authenticated",
        targets: unnamed,
        submission: true,
      },
      ["admit", 3, "/team", "authenticated", ["openai", ""], true],
    ],
    [
      { kind: "reroute", id: 4, lease: 3, targets },
      ["reroute", 4, 3, ["openai", "gpt-4o", "local", "llama"]],
    ],
    [
      {
        kind: "settle",
        seq: 1,
        part: "attempt",
        ...lease,
        startedAgoMs: 9,
        endedAgoMs: 2,
        tokens: 30,
        estimated: true,
        record: null,
      },
      ["settle", 1, "attempt", 5, "/team", 7, 8, ["openai", "gpt-4o", 9, 10], 9, 2, 30, true, []],
    ],
    [
      {
        kind: "settle",
        seq: 1,
        part: "request",
        ...between,
        startedAgoMs: 9,
        endedAgoMs: 2,
        tokens: 0,
        estimated: false,
        record: null,
      },
      ["settle", 1, "request", 5, "/team", 7, 8, [], 9, 2, 0, false, []],
    ],
    [
      {
        kind: "settle",
        seq: 1,
        part: "request",
        ...lease,
        startedAgoMs: 9,
        endedAgoMs: 2,
        tokens: 30,
        estimated: false,
        record: executed,
      },
      [
        "settle",
        1,
        "request",
        5,
        "/team",
        7,
        8,
        ["openai", "gpt-4o", 9, 10],
        9,
        2,
        30,
        false,
        executedFlat,
      ],
    ],
    [
      {
        kind: "hello",
        id: 1,
        wireVersion: 1,
        role: "proxy",
        proxyId: "p",
        leases: [
          { ...lease, submission: false },
          { ...between, submission: false },
          { ...between, submission: true },
        ],
        more: false,
      },
      [
        "hello",
        1,
        1,
        "proxy",
        "p",
        [
          [5, "/team", 7, 8, ["openai", "gpt-4o", 9, 10], false],
          [5, "/team", 7, 8, [], false],
          [5, "/team", 7, 8, [], true],
        ],
        false,
      ],
    ],
    [
      { kind: "admitted", id: 3, target: 0, admittedAtMs: 7, lsn: 8, headers: null, key: null },
      ["admitted", 3, 0, 7, 8, [], []],
    ],
    [
      {
        kind: "admitted",
        id: 3,
        target: 0,
        admittedAtMs: 7,
        lsn: 8,
        headers: { requests: { limit: 1, remaining: 0, resetSeconds: 5 }, tokens: null },
        key: { userPath: "/team", keyId: "key_7" },
      },
      ["admitted", 3, 0, 7, 8, [1, 0, 5, 0, 0, 0], ["/team", "key_7"]],
    ],
    [{ kind: "event", name: "limited", value: true }, ["event", 0, "limited", true]],
  ];
  for (const [message, wire] of table) t.same(toWire(message), wire, message.kind);
});

/** A record in the order of the wire. */
const executed: Execution = {
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
};
const executedFlat = [
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
];

const good: { readonly [K in ToDaemon["kind"]]: readonly unknown[] } = {
  hello: [
    "hello",
    1,
    1,
    "proxy",
    "p",
    [[5, "/team", 7, 8, ["openai", "gpt-4o", 9, 10], false]],
    false,
  ],
  reroute: ["reroute", 4, 3, ["openai", "gpt-4o"]],
  admit: ["admit", 3, "/team", "authenticated", ["openai", "gpt-4o"], false],
  authorize: ["authorize", 3, "none"],
  settle: [
    "settle",
    1,
    "attempt",
    5,
    "/team",
    7,
    8,
    ["openai", "gpt-4o", 9, 10],
    9,
    2,
    30,
    true,
    [],
  ],
  refusal: ["refusal", 3, "req_1", "gpt-4o"],
  admin: ["admin", 4, "status", null],
};

t.test("a frame towards the daemon that breaks the grammar anywhere is refused", async (t) => {
  const change = (kind: ToDaemon["kind"], at: number, value: unknown): unknown =>
    good[kind].map((item, i) => (i === at ? value : item));
  const notCounts = [
    -1,
    0.5,
    Number.NaN,
    Number.POSITIVE_INFINITY,
    2 ** 53,
    "1",
    null,
    true,
    [1],
    1n,
  ];
  const notPaths = [
    "",
    "team",
    "/team/",
    "/a//b",
    "/..",
    "/a:b",
    "/a\u0000",
    " /team",
    `/${"x".repeat(1100)}`,
    `/${Array(33).fill("a").join("/")}`,
    5,
    null,
    ["/team"],
  ];
  const notModels = ["x".repeat(subjectBytesMax + 1), 5, null, {}];
  const notNames = ["", ...notModels];
  const oneLease = (at: number, value: unknown): unknown => [
    [5, "/team", 7, 8, ["openai", "gpt-4o", 9, 10], false].map((item, i) =>
      i === at ? value : item,
    ),
  ];
  const oneOf = (at: number, values: readonly unknown[]): unknown[] =>
    values.map((value) => ["openai", "gpt-4o", 9, 10].map((item, i) => (i === at ? value : item)));
  const notAttempts = [
    null,
    "openai",
    {},
    ["openai"],
    ["openai", "gpt-4o"],
    ["openai", "gpt-4o", 9],
    ["openai", "gpt-4o", 9, 10, 11],
    ...oneOf(0, notNames),
    ...oneOf(1, notModels),
    ...oneOf(2, notCounts),
    ...oneOf(3, notCounts),
  ];
  const notTargets = [
    [],
    ["openai"],
    ["openai", "a", "b"],
    "openai",
    null,
    {},
    Array(candidatesMax * 2 + 2).fill("a"),
    ...notNames.map((value) => [value, "m"]),
    ...notModels.flatMap((value) => [
      ["p", value],
      ["p", "m", "p", value],
    ]),
  ];
  const notFlags = [0, 1, "true", null];
  const notCredentials = [
    "",
    "nobody",
    "/team",
    `sk-sluice-${"x".repeat(43)}`,
    "x".repeat(42),
    "x".repeat(44),
    `${"x".repeat(42)}=`,
    `${"x".repeat(43)}\n`,
    5,
    null,
    ["authenticated"],
    Buffer.alloc(32),
  ];
  const table: readonly (readonly [
    kind: ToDaemon["kind"],
    at: number,
    values: readonly unknown[],
  ])[] = [
    ["admit", 1, notCounts],
    ["admit", 2, notPaths],
    ["admit", 3, notCredentials],
    ["admit", 4, notTargets],
    ["admit", 5, notFlags],
    ["authorize", 1, notCounts],
    ["authorize", 2, notCredentials],
    ["reroute", 1, notCounts],
    ["reroute", 2, [0, ...notCounts]],
    ["reroute", 3, notTargets],
    ["settle", 1, [0, ...notCounts]],
    ...[3, 5, 6, 8, 9, 10].map((at) => ["settle", at, notCounts] as const),
    ["settle", 2, ["", "Request", null, 0, "toString", ["request"]]],
    ["settle", 4, notPaths],
    ["settle", 7, [[], ...notAttempts]],
    ["settle", 11, notFlags],
    ["settle", 12, [null, {}, "[]", executedFlat]],
    ["hello", 1, notCounts],
    ["hello", 2, notCounts],
    ["hello", 3, ["daemon", "", null, 1]],
    ["hello", 4, ["", "a b", "é", "x".repeat(65), null, 5]],
    [
      "hello",
      5,
      [
        null,
        {},
        "[]",
        Array(leasesPerHello + 1).fill((good["hello"][5] as unknown[])[0]),
        [[]],
        [null],
        [[5, "/team", 7, 8, []]],
        [[5, "/team", 7, 8, [], false, 9]],
        ...notFlags.map((value) => oneLease(5, value)),
        oneLease(5, true),
        ...[0, ...notCounts].map((value) => oneLease(0, value)),
        ...notPaths.map((value) => oneLease(1, value)),
        ...notAttempts.map((value) => oneLease(4, value)),
        ...notCounts.flatMap((value) => [oneLease(2, value), oneLease(3, value)]),
      ],
    ],
    ["hello", 6, [0, 1, null, "false"]],
    ["refusal", 1, notCounts],
    ["refusal", 2, ["", "x".repeat(requestIdCharsMax + 1), 5, null, {}]],
    ["refusal", 3, notModels],
    ["admin", 1, notCounts],
    ["admin", 2, ["rate-limits.drop", "", null, "toString", ["status"]]],
  ];
  for (const kind of Object.keys(good) as ToDaemon["kind"][]) {
    t.equal(toDaemonFromWire(good[kind])?.kind, kind);
    t.equal(toDaemonFromWire([...good[kind], null]), null, `${kind}: one more`);
    t.equal(toDaemonFromWire(good[kind].slice(0, -1)), null, `${kind}: one less`);
  }
  const cached = ["settle", 1, "cached", 0, "/team", 0, 0, [], 9, 2, 0, true, executedFlat];
  t.match(toDaemonFromWire(cached), { part: "cached", record: executed });
  for (const [at, value] of [
    [3, 5],
    [7, good.settle[7]],
    [10, 1],
  ] as const)
    t.equal(
      toDaemonFromWire(cached.map((item, i) => (i === at ? value : item))),
      null,
      `what was cached has no admission, target or tokens: ${at}`,
    );
  for (const [kind, at, values] of table)
    t.same(
      values.filter((value) => toDaemonFromWire(change(kind, at, value)) !== null),
      [],
      `${kind} ${at}`,
    );
  for (const frame of [
    undefined,
    null,
    5,
    "admit",
    {},
    [],
    ["admit"],
    ["unknown", 1],
    [1, 1],
    ["welcome", 1, "0.1.0", 0, true],
    { 0: "admit", 1: 3, 2: "/team", 3: ["a", "b"], length: 4 },
  ])
    t.equal(toDaemonFromWire(frame), null, String(JSON.stringify(frame)));
});

/** A settle's frame with a record; `at` exchanges one of its fields. */
const settleWith = (record: readonly unknown[]): unknown => [
  "settle",
  1,
  "request",
  5,
  "/team",
  7,
  8,
  ["openai", "gpt-4o", 9, 10],
  9,
  2,
  30,
  true,
  record,
];
const changedAt = (at: number, value: unknown): unknown =>
  settleWith(executedFlat.map((item, i) => (i === at ? value : item)));
const recordIn = (frame: unknown): Execution =>
  (toDaemonFromWire(frame) as Extract<ToDaemon, { kind: "settle" }>).record!;

t.test(
  "the record of a settle is refused when a field is of another kind, missing or too many",
  async (t) => {
    t.same(recordIn(settleWith(executedFlat)), executed);
    for (const [at, item] of executedFlat.entries()) {
      const kinds = ["text", 5, true, null, undefined, {}, [], 1n].filter(
        (value) =>
          typeof value !== typeof item && !(value === null && [10, 11, 12, 15, 17].includes(at)),
      );
      t.same(
        kinds.filter((value) => toDaemonFromWire(changedAt(at, value)) !== null),
        [],
        `field ${at}`,
      );
    }
    t.equal(toDaemonFromWire(settleWith([...executedFlat, 1])), null, "one more");
    t.equal(toDaemonFromWire(settleWith(executedFlat.slice(0, -1))), null, "one less");
  },
);

t.test(
  "a record that makes no sense is taken, so that its settle can be counted, and its flaw is told",
  async (t) => {
    const notCounts = [-1, 0.5, 2 ** 53, Number.NaN, Number.POSITIVE_INFINITY];
    const notTokens = [...notCounts, tokensPerResponseMax + 1];
    const notCosts = [...notCounts, costPicoUsdMax + 1];
    const long = "x".repeat(subjectBytesMax + 1);
    const table: readonly (readonly [at: number, flaw: string, values: readonly unknown[]])[] = [
      [0, "requestId", ["", "x".repeat(requestIdCharsMax + 1)]],
      [1, "endpoint", ["", long]],
      [2, "provider", ["", long]],
      [3, "providerType", ["", long]],
      [4, "model", [long]],
      [5, "status", [...notCounts, 1000]],
      [6, "inputTokens", notTokens],
      [6, "cachedInputTokens", [4]],
      [6, "cacheWriteInputTokens", [7]],
      [7, "outputTokens", notTokens],
      [8, "cachedInputTokens", notTokens],
      [9, "cacheWriteInputTokens", [...notTokens, 16]],
      [10, "inputCost", [...notCosts, null]],
      [11, "outputCost", [...notCosts, null]],
      [12, "totalCost", notCosts],
      [12, "inputCost", [null]],
      [14, "rewriteTokensSaved", notTokens],
      [15, "rewriteCostSaved", notCosts],
      [16, "latencyMs", notCounts],
      [17, "firstByteMs", notCounts],
      [18, "keyId", ["x".repeat(65)]],
    ];
    for (const [at, flaw, values] of table)
      t.same(
        values.map((value) => flawOf(recordIn(changedAt(at, value)))),
        values.map(() => flaw),
        `field ${at}`,
      );
    for (const [at, values] of [
      [4, [""]],
      [9, [15]],
      [15, [null]],
      [17, [null]],
      [18, [""]],
    ] as const)
      t.same(
        values.map((value) => flawOf(recordIn(changedAt(at, value)))),
        [null],
      );
    fc.assert(fc.property(execution, (record) => flawOf(record) === null));
  },
);

/** Whatever can stand in a frame, more than JSON has. */
const anything = fc.oneof(
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
function near<T extends ToDaemon | FromDaemon>(
  kinds: Readonly<Record<string, fc.Arbitrary<T>>>,
): fc.Arbitrary<unknown> {
  return fc
    .tuple(
      fc.oneof(...Object.values(kinds)),
      fc.nat(13),
      anything,
      fc.constantFrom("exchange", "remove", "insert"),
    )
    .map(([message, at, value, how]) => {
      const wire = [...toWire(message)];
      if (how === "exchange") wire[at % wire.length] = value;
      else if (how === "remove") wire.splice(at % wire.length, 1);
      else wire.splice(at % (wire.length + 1), 0, value);
      return wire;
    });
}

t.test(
  "whatever comes to the daemon is refused or taken for exactly what it says, and nothing throws",
  async (t) => {
    let taken = 0;
    fc.assert(
      fc.property(
        fc.oneof(
          { weight: 3, arbitrary: near<ToDaemon>(toDaemon) },
          { weight: 1, arbitrary: anything },
        ),
        (frame) => {
          const message = toDaemonFromWire(frame);
          if (message === null) return true;
          taken++;
          return message.kind === "admin" || isDeepStrictEqual(toWire(message), frame);
        },
      ),
      { numRuns: 10_000 },
    );
    t.ok(taken > 50, `${taken} of 10,000 were taken`);
  },
);

t.test(
  "whatever comes from a daemon is refused or a message with every field of its type, and nothing throws",
  async (t) => {
    let taken = 0;
    fc.assert(
      fc.property(
        fc.oneof(
          { weight: 3, arbitrary: near<FromDaemon>(fromDaemon) },
          { weight: 1, arbitrary: anything },
        ),
        (frame) => {
          const message = fromDaemonFromWire(frame);
          if (message === null) return true;
          taken++;
          if (message.kind === "failed" || message.kind === "answer") return true;
          return isDeepStrictEqual(fromDaemonFromWire(toWire(message)), message);
        },
      ),
      { numRuns: 5000 },
    );
    t.ok(taken > 100, `${taken} of 5000 were taken`);
  },
);

t.test(
  "a failure from a daemon that isn't one breaks the grammar: who reads it relies on its fields",
  async (t) => {
    const whole = invalid("period is required", "period");
    t.same(fromDaemonFromWire(["failed", 1, whole]), { kind: "failed", id: 1, failure: whole });
    const broken = [
      undefined,
      null,
      5,
      "text",
      [],
      {},
      { ...whole, status: "400" },
      { ...whole, status: 99 },
      { ...whole, message: null },
      { ...whole, type: 5 },
      { ...whole, code: 5 },
      { ...whole, param: {} },
      { ...whole, provider: 1 },
    ];
    t.same(
      broken.filter((value) => fromDaemonFromWire(["failed", 1, value]) !== null),
      [],
    );
  },
);

t.test("a wait from a daemon is at least a second, and its counts are counts", async (t) => {
  const refused = ["refused", 1, "user_path", "/team", 60, "requests", 10, 61, []];
  t.match(fromDaemonFromWire(refused), { kind: "refused", waitSeconds: 61 });
  const change = (at: number, value: unknown): unknown =>
    refused.map((item, i) => (i === at ? value : item));
  for (const [at, value] of [
    [2, "team"],
    [3, 5],
    [4, -60],
    [5, "cost"],
    [6, 1.5],
    [7, 0],
    [7, "61"],
    [8, null],
    [8, ["/team"]],
    [8, [5, 5]],
  ] as const)
    t.equal(fromDaemonFromWire(change(at, value)), null, `${at} ${value}`);
  for (const frame of [
    ["welcome", 1, "0.1.0", 0, true],
    ["welcome", 1, "0.1.0", -1, true, 0, 0, false],
    ["welcome", 1, "0.1.0", 0, true, -1, 0, false],
    ["welcome", 1, "0.1.0", 0, true, 0, -1, false],
    ["welcome", 1, "0.1.0", 0, true, 0, 0],
    ["welcome", 1, "0.1.0", 0, true, 0, false],
    ["admitted", 1, 0, 0, 0],
    ["admitted", 1, 0, 0, 0, []],
    ["admitted", 1, 0, 0, 0, [], ["/team"]],
    ["admitted", 1, -1, 0, 0, [], []],
    ["authorized", 1, "/team"],
    ["event", 0, "keys_exist", false],
    ["event", 0, "store_failing", true],
    ["event", 0, "store_failing"],
    ["event", 0, "closed", true],
    ["event", 0, "limited", 1],
    ["event", 0, "inert_rules", true],
    ["event", 0, "inert_rules", -1],
    ["event", 0, "inert_budgets", 0.5],
    ["settled", "1"],
    ["admit", 1, "/", "authenticated", ["a", "b"]],
  ])
    t.equal(fromDaemonFromWire(frame), null, JSON.stringify(frame));
});
