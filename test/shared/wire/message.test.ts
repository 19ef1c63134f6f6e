import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import t from "tap";
import { createFrameReader, encodeFrame } from "../../../shared/wire/codec.js";
import type { FromDaemon } from "../../../shared/wire/message-from-daemon.js";
import { parseFromDaemon, writeFromDaemon } from "../../../shared/wire/message-from-daemon.js";
import type { ToDaemon } from "../../../shared/wire/message-to-daemon.js";
import { parseToDaemon, writeToDaemon } from "../../../shared/wire/message-to-daemon.js";
import { executed, executedFlat, fromDaemon, toDaemon } from "./message-samples.js";

/** What the other end decodes. */
function overTheWire(wire: readonly unknown[]): unknown {
  let frame: unknown;
  createFrameReader(64 * 1024 * 1024).feed(encodeFrame(wire), (decoded) => (frame = decoded));
  return frame;
}

/** JSON's zero has no sign. */
const plain = (value: unknown): unknown => JSON.parse(JSON.stringify(value)) as unknown;

t.test("an operation without a body has none on the other side", async (t) => {
  const sent: ToDaemon = { kind: "admin", id: 1, op: "status", body: undefined };
  t.strictSame(writeToDaemon(sent), ["admin", 1, "status", null]);
});

t.test("every kind of message towards the daemon is decoded as it was encoded", async (t) => {
  for (const [kind, arbitrary] of Object.entries(toDaemon) as [string, fc.Arbitrary<ToDaemon>][]) {
    fc.assert(
      fc.property(arbitrary, (message) =>
        isDeepStrictEqual(
          plain(parseToDaemon(overTheWire(writeToDaemon(message)))),
          plain(message),
        ),
      ),
      { numRuns: 300 },
    );
    t.pass(kind);
  }
});

t.test("every kind of message from the daemon is decoded as it was encoded", async (t) => {
  for (const [kind, arbitrary] of Object.entries(fromDaemon) as [
    string,
    fc.Arbitrary<FromDaemon>,
  ][]) {
    fc.assert(
      fc.property(arbitrary, (message) =>
        isDeepStrictEqual(
          plain(parseFromDaemon(overTheWire(writeFromDaemon(message)))),
          plain(message),
        ),
      ),
      { numRuns: 300 },
    );
    t.pass(kind);
  }
});

t.test("a limit that isn't there is all zeros", async (t) => {
  const triple = { limit: 5, remaining: 4, resetSeconds: 3 };
  for (const [requests, tokens, flat] of [
    [triple, null, [5, 4, 3, 0, 0, 0]],
    [null, triple, [0, 0, 0, 5, 4, 3]],
    [null, null, [0, 0, 0, 0, 0, 0]],
  ] as const) {
    const admitted = { kind: "admitted", id: 1, target: 0, admittedAtMs: 2, lsn: 3 } as const;
    t.same(writeFromDaemon({ ...admitted, headers: { requests, tokens }, key: null })[5], flat);
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
        read: 0,
        kind: "admit",
        id: 3,
        userPath: "/team",
        credential: "authenticated",
        targets,
        submission: false,
      },
      [
        "admit",
        3,
        "/team",
        "authenticated",
        [
          ["openai", "gpt-4o"],
          ["local", "llama"],
        ],
        false,
        0,
      ],
    ],
    [
      {
        read: 0,
        kind: "admit",
        id: 3,
        userPath: "/team",
        credential: "authenticated",
        targets: unnamed,
        submission: true,
      },
      ["admit", 3, "/team", "authenticated", [["openai", ""]], true, 0],
    ],
    [
      { read: 0, kind: "reroute", id: 4, lease: 3, targets },
      [
        "reroute",
        4,
        3,
        [
          ["openai", "gpt-4o"],
          ["local", "llama"],
        ],
        0,
      ],
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
      ["settle", 1, "attempt", 5, "/team", 7, 8, ["openai", "gpt-4o"], 9, 10, 9, 2, 30, true, []],
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
      ["settle", 1, "request", 5, "/team", 7, 8, [], 0, 0, 9, 2, 0, false, []],
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
        ["openai", "gpt-4o"],
        9,
        10,
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
          [5, "/team", 7, 8, ["openai", "gpt-4o"], 9, 10, false],
          [5, "/team", 7, 8, [], 0, 0, false],
          [5, "/team", 7, 8, [], 0, 0, true],
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
    [{ kind: "event", name: "limited", value: true }, ["event", "limited", true]],
    [
      {
        kind: "event",
        name: "jwts_denied",
        value: {
          complete: true,
          denied: [{ claim: "jti", value: "a", issuer: null, expiresAtMs: null }],
          allowed: [{ claim: "sub", value: "b", issuer: "i" }],
        },
      },
      ["event", "jwts_denied", [[["jti", "a", null, null]], [["sub", "b", "i"]], true]],
    ],
    [
      {
        kind: "admit",
        id: 3,
        userPath: "/team",
        credential: "none",
        targets: [targets[0]!],
        submission: false,
        read: 0,
      },
      ["admit", 3, "/team", "none", [["openai", "gpt-4o"]], false, 0],
    ],
    [
      {
        kind: "admit",
        id: 3,
        userPath: "/team",
        credential: "none",
        targets,
        submission: false,
        read: 7,
        modelNames: ["fast"],
      },
      [
        "admit",
        3,
        "/team",
        "none",
        [
          ["openai", "gpt-4o"],
          ["local", "llama"],
        ],
        false,
        7,
        ["fast"],
      ],
    ],
    [
      { kind: "reroute", id: 4, lease: 3, targets: [targets[1]!], read: 7 },
      ["reroute", 4, 3, [["local", "llama"]], 7],
    ],
    [
      {
        kind: "settle",
        seq: 1,
        part: "attempt",
        ...lease,
        startedAgoMs: 9,
        endedAgoMs: 2,
        targetStartedAgoMs: 0,
        tokens: 30,
        estimated: true,
        record: null,
      },
      [
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
        0,
      ],
    ],
    [
      { kind: "hold", leases: [{ ...between, submission: false }] },
      ["hold", [[5, "/team", 7, 8, [], 0, 0, false]]],
    ],
    [{ kind: "denied", id: 3, ended: null }, ["denied", 3, []]],
    [
      { kind: "denied", id: 3, ended: { keyId: "key_7", expiredAtMs: null } },
      ["denied", 3, ["key_7", null]],
    ],
    [
      { kind: "denied", id: 3, ended: { keyId: "key_7", expiredAtMs: 9 } },
      ["denied", 3, ["key_7", 9]],
    ],
    [
      { kind: "authorized", id: 3, userPath: "/team", keyId: "key_7" },
      ["authorized", 3, "/team", "key_7"],
    ],
    [
      { kind: "authorized", id: 3, userPath: "/team", keyId: "key_7", models: [] },
      ["authorized", 3, "/team", "key_7", []],
    ],
  ];
  for (const [message, wire] of table)
    t.strictSame(
      message.kind in toDaemon
        ? writeToDaemon(message as ToDaemon)
        : writeFromDaemon(message as FromDaemon),
      wire,
      message.kind,
    );
});
