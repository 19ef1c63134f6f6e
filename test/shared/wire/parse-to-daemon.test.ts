import fc from "fast-check";
import t from "tap";
import { modelNamesMax } from "../../../shared/access/allowed-models.js";
import {
  candidatesMax,
  connectionsNamedMax,
  leasesPerHello,
  requestIdCharsMax,
  subjectBytesMax,
} from "../../../shared/bounds.js";
import { adminOps, isOperationName } from "../../../shared/wire/admin-op.js";
import {
  parseToDaemon,
  settledParts,
  type ToDaemon,
  writeToDaemon,
} from "../../../shared/wire/message-to-daemon.js";
import { speaks, wireVersions } from "../../../shared/wire/wire-versions.js";
import { exactly } from "../../support/patterns/exactly.js";
import { anything, executed, executedFlat, good, near, toDaemon } from "./message-samples.js";

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
    [5, "/team", 7, 8, ["openai", "gpt-4o"], 9, 10, false].map((item, i) =>
      i === at ? value : item,
    ),
  ];
  const notTarget = [
    null,
    "openai",
    {},
    ["openai"],
    ...notNames.map((value) => [value, "m"]),
    ...notModels.map((value) => ["p", value]),
  ];
  const notTargets = [
    "openai",
    null,
    {},
    [[]],
    ["openai", "a"],
    Array(candidatesMax + 1).fill(["p", "a"]),
    ...notTarget.flatMap((value) => [[value], [["p", "m"], value]]),
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
    ["admit", 6, notCounts],
    ["authorize", 1, notCounts],
    ["authorize", 2, notCredentials],
    ["release", 1, [0, ...notCounts]],
    ["draw", 1, [0, ...notCounts]],
    ["draw", 2, notCounts],
    ["cancel", 1, [0, ...notCounts]],
    ["reroute", 1, notCounts],
    ["reroute", 2, [0, ...notCounts]],
    ["reroute", 3, [[], ...notTargets]],
    ["reroute", 4, notCounts],
    ["settle", 1, [0, ...notCounts]],
    ...[3, 5, 6, 8, 9, 10, 11, 12].map((at) => ["settle", at, notCounts] as const),
    ["settle", 2, ["", "Request", null, 0, "toString", ["request"]]],
    ["settle", 4, notPaths],
    ["settle", 7, [[], ...notTarget]],
    ["settle", 13, notFlags],
    ["settle", 14, [null, {}, "[]", executedFlat]],
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
        [[5, "/team", 7, 8, [], 0, 0]],
        ...notFlags.map((value) => oneLease(7, value)),
        oneLease(7, true),
        ...[0, ...notCounts].map((value) => oneLease(0, value)),
        ...notPaths.map((value) => oneLease(1, value)),
        ...notTarget.map((value) => oneLease(4, value)),
        ...notCounts.flatMap((value) => [2, 3, 5, 6].map((at) => oneLease(at, value))),
      ],
    ],
    ["hello", 6, [0, 1, null, "false"]],
    ["read", 1, [0, ...notCounts]],
    [
      "read",
      2,
      [null, {}, "1", [1], [[1]], [[0, 1]], [[1, -1]], Array(connectionsNamedMax + 1).fill([1, 1])],
    ],
    [
      "hold",
      1,
      [
        null,
        {},
        [[]],
        oneLease(0, 0),
        Array(leasesPerHello + 1).fill((good.hold[1] as unknown[])[0]),
      ],
    ],
    ["refusal", 1, notCounts],
    ["refusal", 2, ["", "x".repeat(requestIdCharsMax + 1), 5, null, {}]],
    ["refusal", 3, notModels],
    ["admin", 1, notCounts],
    ["admin", 2, ["", null, "toString", ["status"], "a b", "1", `a${"x".repeat(64)}`]],
  ];
  for (const kind of Object.keys(good) as ToDaemon["kind"][]) {
    t.equal(parseToDaemon(good[kind])?.kind, kind);
    // The optional field, and one that isn't known yet.
    const last =
      kind === "settle" || kind === "admit" || kind === "draw" ? [undefined, null] : [null];
    t.same(parseToDaemon([...good[kind], ...last]), parseToDaemon(good[kind]), `${kind}: one more`);
    t.equal(parseToDaemon(good[kind].slice(0, -1)), null, `${kind}: one less`);
  }
  t.match(parseToDaemon(good.admit.with(4, [])), exactly({ targets: [] }));
  t.match(parseToDaemon([...good.admit, ["fast"]]), exactly({ read: 7, modelNames: ["fast"] }));
  for (const names of [
    "fast",
    {},
    [7],
    ["x".repeat(subjectBytesMax + 1)],
    Array(modelNamesMax + 1).fill("a"),
  ])
    t.equal(parseToDaemon([...good.admit, names]), null, JSON.stringify(names));
  const switched = [...good.admit, null, ["cheap", "cheaper"], true];
  t.match(parseToDaemon(switched), exactly({ uses: ["cheap", "cheaper"], fixed: true }));
  for (const uses of ["cheap", {}, [7], ["x".repeat(subjectBytesMax + 1)], Array(5).fill("a")]) {
    t.equal(parseToDaemon(switched.with(8, uses)), null, JSON.stringify(uses));
    t.equal(parseToDaemon([...good.reroute, uses]), null, `reroute: ${JSON.stringify(uses)}`);
  }
  for (const fixed of [false, 1, "true", []])
    t.equal(parseToDaemon(switched.with(9, fixed)), null, JSON.stringify(fixed));
  const metered = [900, null, true, [[3, 15], null]];
  const expected = {
    metered: {
      promptTokens: 900,
      outputMax: null,
      isStreamed: true,
      rates: [{ input: 3, output: 15 }, null],
    },
  };
  t.match(parseToDaemon([...switched, metered]), exactly(expected));
  t.match(parseToDaemon([...good.reroute, null, metered]), exactly(expected));
  for (const wrong of [7, [], [-1, null, true, []], [1, "2", true, []], [1, 2, true, [[3]]]]) {
    t.equal(parseToDaemon([...switched, wrong]), null, JSON.stringify(wrong));
    t.equal(parseToDaemon([...good.reroute, null, wrong]), null, JSON.stringify(wrong));
  }
  const [ofLease] = good.hold[1] as readonly (readonly unknown[])[];
  const holding = { promptTokens: 900, output: 192, rates: null, keyId: "key_1" };
  const reported = parseToDaemon(["hold", [[...ofLease!, [900, 192, null, "key_1"]]]]);
  t.same(reported?.kind === "hold" && reported.leases.map((each) => each.holding), [holding]);
  t.equal(parseToDaemon(["hold", [[...ofLease!, [900, -1, null, ""]]]]), null);
  t.match(parseToDaemon([...good.draw, 300]), exactly({ total: 640, promptTokens: 300 }));
  const waits = [...switched, null, [30_000, null, 12]];
  t.match(
    parseToDaemon(waits),
    exactly({ wait: { askedMs: 30_000, timeoutMs: null, waitedMs: 12 } }),
  );
  for (const wait of [5, [], [30_000, null], [-1, null, 0], [null, "5", 0], [null, null, null]])
    t.equal(parseToDaemon(waits.with(11, wait)), null, JSON.stringify(wait));
  for (const [priced, targets] of [
    [["p", "m", true], [{ provider: "p", model: "m", unpriced: true }]],
    [["p", "m", false], [{ provider: "p", model: "m" }]],
    [
      ["p", "m", true, ["web_search"]],
      [{ provider: "p", model: "m", unpriced: true, tools: ["web_search"] }],
    ],
    [["p", "m", false, ["a", "b"], "later"], [{ provider: "p", model: "m", tools: ["a", "b"] }]],
  ] as const)
    t.match(parseToDaemon(good.admit.with(4, [priced])), exactly({ targets }));
  for (const tools of ["a", [], [7], ["x".repeat(subjectBytesMax + 1)], Array(65).fill("a"), null])
    t.equal(
      parseToDaemon(good.admit.with(4, [["p", "m", true, tools]])),
      null,
      String(tools).slice(0, 20),
    );
  for (const unpriced of [7, null, "true", []])
    t.equal(parseToDaemon(good.admit.with(4, [["p", "m", unpriced]])), null, String(unpriced));
  const cached = ["settle", 1, "cached", 0, "/team", 0, 0, [], 0, 0, 9, 2, 0, true, executedFlat];
  t.match(parseToDaemon(cached), { part: "cached", record: executed });
  for (const [at, value] of [
    [3, 5],
    [7, good.settle[7]],
    [12, 1],
  ] as const)
    t.equal(
      parseToDaemon(cached.map((item, i) => (i === at ? value : item))),
      null,
      `what was cached has no admission, target or tokens: ${at}`,
    );
  for (const [kind, at, values] of table)
    t.same(
      values.filter((value) => parseToDaemon(change(kind, at, value)) !== null),
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
    t.equal(parseToDaemon(frame), null, String(JSON.stringify(frame)));
});

t.test("a frame towards the daemon may hold as much as its bounds say, and no more", async (t) => {
  const longest = "x".repeat(subjectBytesMax);
  const lease = (good.hello[5] as unknown[])[0];
  for (const [kind, at, most] of [
    ["admit", 4, Array(candidatesMax).fill(["p", "a"])],
    ["admit", 4, [[longest, longest]]],
    ["admit", 4, [["p", ""]]],
    ["reroute", 3, Array(candidatesMax).fill(["p", "a"])],
    ["hello", 5, Array(leasesPerHello).fill(lease)],
    ["hello", 5, []],
    ["hello", 4, "x".repeat(64)],
    ["hello", 3, "cli"],
    ["hold", 1, Array(leasesPerHello).fill(lease)],
    ["read", 1, 1],
    ["read", 2, []],
    ["read", 2, Array(connectionsNamedMax).fill([1, 1])],
    ["refusal", 2, "x".repeat(requestIdCharsMax)],
    ["refusal", 3, longest],
    ["refusal", 3, ""],
    ["release", 1, 1],
    ["cancel", 1, 1],
    ["reroute", 2, 1],
  ] as const) {
    const frame = good[kind].with(at, most);
    t.same(writeToDaemon(parseToDaemon(frame) as ToDaemon), frame, `${kind} ${at}`);
  }
  const names = Array(modelNamesMax).fill(longest);
  t.match(parseToDaemon([...good.admit, names]), { read: 7, modelNames: names });
});

t.test("a part of a request has a target, or a record, as its kind says", async (t) => {
  const target = good.settle[7];
  for (const part of settledParts) {
    const frame = (attempt: unknown, record: unknown, lease = 5, tokens = 0): unknown =>
      parseToDaemon(
        good.settle.with(2, part).with(3, lease).with(7, attempt).with(12, tokens).with(14, record),
      );
    const isCached = part === "cached" || part === "final";
    const needsTarget = part === "progress" || part === "attempt" || part === "untried";
    const mayRecord = part === "request" || part === "progress" || isCached;
    t.equal(frame(target, []) !== null, !isCached, `${part} with a target`);
    t.equal(frame([], []) !== null, !needsTarget && !isCached, `${part} without one`);
    t.equal(frame(target, executedFlat) !== null, mayRecord && !isCached, `${part} with a record`);
    t.equal(frame([], [], 0) !== null, !needsTarget, `${part} without a lease`);
    t.equal(frame([], [], 0, 1) !== null, !needsTarget && !isCached, `${part} with tokens`);
    t.equal(frame(target, [], 0) !== null, !isCached, `${part} of another lease`);
  }
});

/** Whether a value holds all of `known`, and nothing else but fields behind those of an array. */
function startsWith(value: unknown, known: unknown): boolean {
  // What a frame says as -0 may be read as 0; undefined is null in msgpack.
  if (!Array.isArray(known)) return (value ?? null) === (known ?? null) || Object.is(value, known);
  return Array.isArray(value) && known.every((item, i) => startsWith(value[i], item));
}

t.test("of a hello of another version its role and its proxy are read", async (t) => {
  const [, , , ...rest] = good.hello;
  for (const wireVersion of [0, wireVersions.oldest - 1, wireVersions.newest + 1, 10_000]) {
    t.same(parseToDaemon(["hello", 4, wireVersion, "proxy", "p-1"]), {
      kind: "unsupported hello",
      id: 4,
      wireVersion,
      role: "proxy",
      proxyId: "p-1",
    });
    t.match(parseToDaemon(["hello", 4, wireVersion, ...rest, "more"]), {
      kind: "unsupported hello",
    });
    for (const odd of [[], ["king", "../a"], [7, {}, []]])
      t.match(parseToDaemon(["hello", 4, wireVersion, ...odd]), { role: null, proxyId: null });
  }
  for (const wireVersion of [wireVersions.oldest, wireVersions.newest])
    t.match(parseToDaemon(["hello", 4, wireVersion, ...rest]), { kind: "hello", wireVersion });
});

t.test("a settle means the same whatever is added behind any of its fields", async (t) => {
  const settle = good.settle.with(7, ["openai", "gpt-4o", false, ["web_search"]]);
  const known = parseToDaemon(settle);
  t.match(known, { kind: "settle" });
  const longer = settle.map((item) =>
    Array.isArray(item) && item.length > 0 ? [...item, "later"] : item,
  );
  t.same(parseToDaemon([...longer, 5, null]), { ...known, targetStartedAgoMs: 5 });
  t.same(parseToDaemon([...longer, -5]), null);
});

const isKnown = (op: string): boolean => adminOps.some((known) => known === op);

t.test("an operation of a later release breaks no grammar", async (t) => {
  t.same(parseToDaemon(["admin", 7, "limits.forecast", { any: 1 }, "later"]), {
    kind: "unknown operation",
    id: 7,
    op: "limits.forecast",
  });
  t.equal(parseToDaemon(["admin", 7, "limits.forecast"]), null, "it has no body");
  for (const op of adminOps) t.ok(isOperationName(op), op);
});

t.test(
  "any frame towards the daemon is refused, or accepted with exactly its values, and nothing throws",
  async (t) => {
    let taken = 0;
    fc.assert(
      fc.property(
        fc.oneof(
          { weight: 3, arbitrary: near<ToDaemon>(toDaemon, writeToDaemon) },
          { weight: 1, arbitrary: anything },
        ),
        (frame) => {
          const message = parseToDaemon(frame);
          if (message === null) return true;
          taken++;
          if (message.kind === "unsupported hello")
            return !speaks(wireVersions, message.wireVersion);
          if (message.kind === "unknown operation") return !isKnown(message.op);
          return message.kind === "admin" || startsWith(frame, writeToDaemon(message));
        },
      ),
      { numRuns: 10_000 },
    );
    t.ok(taken > 50, `${taken} of 10,000 were taken`);
  },
);
