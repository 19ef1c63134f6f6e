import t from "tap";
import { newKey } from "../../../shared/domain/key-secret.js";
import { createMemoryStore } from "../../support/memory-store.js";
import { startDaemon } from "../in-memory-daemon.js";

t.test("an entry of the store that isn't a key's stops the start", async (t) => {
  const { hash, redacted } = newKey();
  const good = [hash, redacted, null, "/team", ["a"], 1, null, null];
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
  ] as const)
    t.throws(
      await stored(
        1,
        good.map((item, i) => (i === at ? value : item)),
      ),
      { name: "StoreUnreadableError" },
      `${at} ${String(value)}`,
    );
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
