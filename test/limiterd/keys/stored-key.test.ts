import t from "tap";
import { outlineOf } from "../../../limiterd/keys/stored-key.js";
import { makeManagedKey } from "../../../shared/domain/make-managed-key.js";
import { createMemoryStore } from "../../support/memory-store.js";
import { startDaemon } from "../in-memory-daemon.js";

t.test("an entry of the store that isn't a key's stops the start", async (t) => {
  const { hash, redacted } = makeManagedKey();
  const of = (...old: unknown[]): unknown[] => [hash, redacted, ...old];
  const good = [
    hash,
    redacted,
    null,
    "/team",
    ["a"],
    1,
    null,
    null,
    5,
    [of(7, null), of(8, 2)],
    null,
  ];
  const stored = async (
    key: string | number,
    value: readonly unknown[],
  ): Promise<() => unknown> => {
    const store = createMemoryStore();
    await store.commit([{ table: "keys", key, value }]);
    return () => startDaemon([], { store });
  };
  t.doesNotThrow(await stored(1, good));
  for (const [at, value] of [
    [0, "x"],
    [1, "sk-sluice-whole"],
    [2, 5],
    [3, "team"],
    [4, "a"],
    [4, [5]],
    [5, -1],
    [6, "never"],
    [7, true],
    [8, "never"],
    [9, {}],
    [9, ["x"]],
    [9, [null]],
    [9, [["x", redacted, 7, null]]],
    [9, [[hash, "x", 7, null]]],
    [9, [of(null, null)]],
    [9, [of(7, "x")]],
    [10, undefined],
    [10, "x"],
    [10, [7]],
    [10, ["a*b"]],
    [10, {}],
  ] as const)
    t.throws(
      await stored(
        1,
        good.map((item, i) => (i === at ? value : item)),
      ),
      { name: "StoreUnreadableError" },
      `${at} ${JSON.stringify(value)}`,
    );
  t.doesNotThrow(await stored(1, [...good.slice(0, 10), ["gpt-4o"]]));
  const tombstone = [["a"], 1, 2];
  t.doesNotThrow(await stored(1, tombstone));
  for (const value of [
    ["a", 1, 2],
    [[5], 1, 2],
    [["a"], -1, 2],
    [["a"], 1, null],
  ])
    t.throws(await stored(1, value), { name: "StoreUnreadableError" }, JSON.stringify(value));
  t.throws(await stored("key_1", good), { name: "StoreUnreadableError" });
});

t.test("hosts tell the keys of a number apart by an outline", async (t) => {
  const { hash, redacted } = makeManagedKey();
  const key = [hash, redacted, null, null, [], 5, null, null, null, [], null];
  const put = (at: number, value: unknown): unknown[] => [
    ...key.slice(0, at),
    value,
    ...key.slice(at + 1),
  ];
  for (const [value, outline] of [
    [null, { hash: null, createdAtMs: undefined, hasEnded: true }],
    [[["a"], 5, 7], { hash: null, createdAtMs: 5, hasEnded: true }],
    [key, { hash, createdAtMs: 5, hasEnded: false }],
    [put(7, 6), { hash, createdAtMs: 5, hasEnded: true }],
    [put(10, ["a"]), { hash, createdAtMs: 5, hasEnded: false }],
    [put(0, 7), { hash: null, createdAtMs: 5, hasEnded: false }],
    [[hash, redacted, null, null], { hash, createdAtMs: undefined, hasEnded: true }],
    [[hash], { hash: null, createdAtMs: undefined, hasEnded: true }],
  ] as const)
    t.strictSame(outlineOf(value), outline, JSON.stringify(value));
});
