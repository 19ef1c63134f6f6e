import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import t from "tap";
import { invalid } from "../../../shared/error-code.js";
import { lastMs } from "../../../shared/time.js";
import type { FromDaemon } from "../../../shared/wire/message-from-daemon.js";
import { parseFromDaemon, writeFromDaemon } from "../../../shared/wire/message-from-daemon.js";
import { anything, fromDaemon, near } from "./message-samples.js";

t.test(
  "any frame from a daemon is refused, or a message with every field of its type, and nothing throws",
  async (t) => {
    let taken = 0;
    fc.assert(
      fc.property(
        fc.oneof(
          { weight: 3, arbitrary: near<FromDaemon>(fromDaemon, writeFromDaemon) },
          { weight: 1, arbitrary: anything },
        ),
        (frame) => {
          const message = parseFromDaemon(frame);
          if (message === null) return true;
          taken++;
          if (message.kind === "failed" || message.kind === "answer") return true;
          if (message.kind === "unknown event") return true;
          return isDeepStrictEqual(parseFromDaemon(writeFromDaemon(message)), message);
        },
      ),
      { numRuns: 5000 },
    );
    t.ok(taken > 100, `${taken} of 5000 were taken`);
  },
);

t.test(
  "a malformed failure from a daemon breaks the grammar: its readers rely on its fields",
  async (t) => {
    const valid = invalid("period is required", "period");
    t.same(parseFromDaemon(["failed", 1, valid]), { kind: "failed", id: 1, failure: valid });
    const broken = [
      undefined,
      null,
      5,
      "text",
      [],
      {},
      { ...valid, status: "400" },
      { ...valid, status: 399 },
      { ...valid, status: 600 },
      { ...valid, message: null },
      { ...valid, type: 5 },
      { ...valid, code: 5 },
      { ...valid, param: {} },
      { ...valid, provider: 1 },
    ];
    t.same(
      broken.filter((value) => parseFromDaemon(["failed", 1, value]) !== null),
      [],
    );
    for (const status of [400, 599])
      t.match(parseFromDaemon(["failed", 1, { ...valid, status }]), { failure: { status } });
  },
);

t.test("each field of a frame from a daemon is checked, whatever the others hold", async (t) => {
  const counts = [-1, 0.5, "1", null];
  const texts = [1, null, ["/team"]];
  const keys = [null, "key", {}, ["/team"], [5, "key_7"], ["/team", 5]];
  const table: readonly (readonly [frame: readonly unknown[], ...wrong: (readonly unknown[])[]])[] =
    [
      [
        ["welcome", 1, "0.1.0", 5, true, 2, 3, true, 0],
        counts,
        texts,
        counts,
        [1],
        counts,
        counts,
        [1],
        counts,
      ],
      [["admitted", 1, 0, 7, 8, [], []], counts, counts, counts, counts, [null, {}], keys],
      [
        ["refused", 1, "model", "gpt-4o", 60, "tokens", 10, 61, ["/team", "key_7"]],
        counts,
        ["team", null],
        texts,
        counts,
        ["token", null],
        counts,
        [0, ...counts],
        keys,
      ],
      [
        ["denied", 1, ["key_7", 5]],
        counts,
        [
          null,
          "key_7",
          {},
          ["key_7"],
          [7, 5],
          ["key_7", -1],
          ["key_7", "5"],
          ["key_7", lastMs + 1],
        ],
      ],
      [["authorized", 1, "", ""], counts, texts, texts],
      [["answer", 1, {}], counts],
      [
        ["event", "limited", true],
        [5, null],
        [1, null],
      ],
      [["event", "inert_rules", 2], [], counts],
      [["event", "inert_budgets", 2], [], counts],
      [["event", "last_backup", lastMs], [], [lastMs + 1, ...counts]],
      [["event", "keys_exist", true], [], [false, 1]],
      [["event", "imported_keys_exist", false], [], [null, 1]],
      [["event", "hard_limits", false], [], [null, 1]],
      [["drawn", 3, 64, "the daily budget of /team"], [0, ...counts], counts, [7, {}]],
      [["event", "cluster_failing", null], [], [false, 5]],
    ];
  for (const [frame, ...wrong] of table) {
    t.match(parseFromDaemon(frame), { kind: frame[0] }, String(frame));
    for (const [i, values] of wrong.entries())
      for (const value of values)
        t.equal(parseFromDaemon(frame.with(i + 1, value)), null, `${frame}: ${value} at ${i + 1}`);
  }
});

t.test("a key that isn't accepted is named, and since when it has expired", async (t) => {
  for (const [raw, ended] of [
    [[], null],
    [["key_7", 1], { keyId: "key_7", expiredAtMs: 1 }],
    [["key_7", null], { keyId: "key_7", expiredAtMs: null }],
  ] as const)
    t.same(parseFromDaemon(["denied", 1, raw]), { kind: "denied", id: 1, ended });
});

t.test("a change of the denied JWTs is read whole, or not at all", async (t) => {
  const change = (...value: unknown[]): unknown => parseFromDaemon(["event", "jwts_denied", value]);
  const denied = [
    ["jti", "a", null, null],
    ["sub", "b", "i", 7],
  ];
  const allowed = [
    ["sub", "c", null],
    ["jti", "d", "i"],
  ];
  t.same(change(denied, allowed, false), {
    kind: "event",
    name: "jwts_denied",
    value: {
      denied: [
        { claim: "jti", value: "a", issuer: null, expiresAtMs: null },
        { claim: "sub", value: "b", issuer: "i", expiresAtMs: 7 },
      ],
      allowed: [
        { claim: "sub", value: "c", issuer: null },
        { claim: "jti", value: "d", issuer: "i" },
      ],
      complete: false,
    },
  });
  for (const wrong of [null, {}, "jti", 5, [null], [[]]]) {
    t.equal(change(wrong, allowed, true), null);
    t.equal(change(denied, wrong, true), null);
  }
  for (const wrong of [null, 1, "true"]) t.equal(change(denied, allowed, wrong), null);
  for (const [at, wrong] of [
    [0, "aud"],
    [1, 5],
    [2, 5],
    [3, lastMs + 1],
    [3, -1],
  ] as const)
    for (const i of [0, 1])
      t.equal(
        change(denied.with(i, denied[i]!.with(at, wrong as never)), [], true),
        null,
        `${wrong} at ${at}`,
      );
  for (const [at, wrong] of [
    [0, "aud"],
    [1, 5],
    [2, 5],
  ] as const)
    for (const i of [0, 1])
      t.equal(
        change([], allowed.with(i, allowed[i]!.with(at, wrong as never)), true),
        null,
        `${wrong} at ${at}`,
      );
});

t.test("a wait from a daemon is at least a second, and its counts are counts", async (t) => {
  const refused = ["refused", 1, "user_path", "/team", 60, "requests", 10, 61, []];
  t.match(parseFromDaemon(refused), { kind: "refused", waitSeconds: 61 });
  const change = (at: number, value: unknown): unknown =>
    refused.map((item, i) => (i === at ? value : item));
  for (const [at, value] of [
    [2, "team"],
    [3, 5],
    [4, -60],
    [5, "money"],
    [6, 1.5],
    [7, 0],
    [7, "61"],
    [8, null],
    [8, ["/team"]],
    [8, [5, 5]],
  ] as const)
    t.equal(parseFromDaemon(change(at, value)), null, `${at} ${value}`);
  for (const frame of [
    ["welcome", 1, "0.1.0", 0, true],
    ["welcome", 1, "0.1.0", 0, true, 0, 0],
    ["welcome", 1, "0.1.0", 0, true, 0, 0, false],
    ["welcome", 1, "0.1.0", 0, true, 0, false, 0],
    ["admitted", 1, 0, 0, 0],
    ["admitted", 1, 0, 0, 0, []],
    ["admitted", 1, 0, 0, 0, [], ["/team"]],
    ["admitted", 1, -1, 0, 0, [], []],
    ["authorized", 1, "/team"],
    ["authorized", 1, "/team", "key_7", "gpt-4o"],
    ["authorized", 1, "/team", "key_7", [7]],
    ["event"],
    ["event", 5, true],
    ["event", null, null],
    ["event", "store_failing", true],
    ["event", "store_failing"],
    ["settled", "1"],
    ["admit", 1, "/", "authenticated", [["a", "b"]], false],
  ])
    t.equal(parseFromDaemon(frame), null, JSON.stringify(frame));
});

t.test(
  "an exceeded budget has an amount, a wait and a period, and its fields are theirs",
  async (t) => {
    const exceeded = ["exceeded", 1, "user_path", "/team", 3600, 2, 1, 61, [], []];
    t.match(parseFromDaemon(exceeded), { kind: "exceeded", spentUsd: 2, amountUsd: 1, key: null });
    for (const [at, values] of [
      [2, ["team", "all", 5]],
      [3, [5, null]],
      [4, [-60, 0.5, "60"]],
      [5, [-1, "2", null, Number.NaN]],
      [6, [-1, "1", Number.NaN]],
      [7, [0, "61", 0.5]],
      [8, [null, {}, "[]"]],
      [9, [null, ["/team"], [5, 5], "key"]],
    ] as const)
      for (const value of values)
        t.equal(parseFromDaemon(exceeded.with(at, value as never)), null, `${at} ${String(value)}`);
  },
);

t.test(
  "what a later release adds is passed over: fields behind the known ones, events",
  async (t) => {
    t.same(parseFromDaemon(["event", "clock_stepped", { ms: 5 }]), { kind: "unknown event" });
    for (const frame of [
      ["welcome", 1, "0.1.0", 0, true, 0, 0, false, 0, true, true, [2, 9], true],
      [
        "admitted",
        3,
        0,
        7,
        8,
        [1, 0, 5, 0, 0, 0],
        ["/team", "key_7"],
        true,
        "the day request limit of /team",
        64,
        ["/team minute"],
        "the day token limit of /team",
      ],
      [
        "refused",
        1,
        "user_path",
        "/team",
        60,
        "requests",
        10,
        61,
        [],
        "gpt-4o o3",
        "mon 00:00-24:00 UTC",
        "cheap",
        "app",
        "requests",
        "/team/a",
      ],
      [
        ...["exceeded", 1, "user_path", "/team", 3600, 2, 1, 61, [], [], "gpt-4o o3", true],
        ...["cheap", "/team/a"],
      ],
      ["denied", 1, []],
      ["queued", 1, 4, 6000],
      ["cancelled", 1],
      ["authorized", 1, "/team", "key_7", ["gpt-4o"], "viewer"],
      ["settled", 1],
      ["drawn", 3, 64, "the daily budget of /team"],
      ["answer", 1, {}],
      ["failed", 1, invalid("period is required", "period")],
      ["event", "limited", true],
    ]) {
      const message = parseFromDaemon(frame);
      t.not(message, null);
      t.same(parseFromDaemon([...frame, { later: 1 }]), message, String(frame[0]));
    }
  },
);

t.test("headers of a success with a field that is no count are none", async (t) => {
  const frame = writeFromDaemon({
    kind: "admitted",
    id: 1,
    target: 0,
    admittedAtMs: 2,
    lsn: 3,
    headers: {
      requests: { limit: 4, remaining: 5, resetSeconds: 6 },
      tokens: { limit: 7, remaining: 8, resetSeconds: 9 },
    },
    key: null,
  }) as readonly unknown[];
  const at = frame.findIndex(Array.isArray);
  const flat = frame[at] as readonly unknown[];
  t.match(parseFromDaemon(frame), { headers: { requests: { limit: 4 }, tokens: { limit: 7 } } });
  for (let i = 0; i < 6; i++)
    for (const wrong of [-1, 0.5, "4", null])
      t.match(
        parseFromDaemon(frame.with(at, flat.with(i, wrong))),
        { kind: "admitted", headers: null },
        `${wrong} as the ${i}th`,
      );
});
