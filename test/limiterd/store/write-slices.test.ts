import t from "tap";
import type { Change } from "../../../limiterd/store/store.js";
import { tryWriteSlices, writeSlices } from "../../../limiterd/store/write-slices.js";
import { Writer } from "../../../limiterd/store/writer.js";
import { windowsPerSlice } from "../../../shared/bounds.js";
import { createMemoryStore } from "../../support/memory-store.js";

const changes = (count: number): Change[] =>
  Array.from({ length: count }, (_, key) => ({ table: "journal", key, value: [key] }));

/** A writer, and the sizes of what was committed to its store. */
function writing() {
  const sizes: number[] = [];
  const keys: unknown[] = [];
  const memory = createMemoryStore();
  const store = {
    ...memory,
    broken: false,
    commit(some: readonly Change[]): Promise<void> {
      if (store.broken) return Promise.reject(new Error("no space"));
      sizes.push(some.length);
      keys.push(...some.map(({ key }) => key));
      return Promise.resolve();
    },
  };
  const writer = new Writer(
    {
      store,
      counted: { size: 0, paused: false, take: () => [] },
      schedule: () => {},
      onStoreState: () => {},
    },
    { firstLsn: 1, journaled: [], retryMs: 1000, contributors: [] },
  );
  return { store, writer, sizes, keys };
}

const slicesOf = [
  [1, [1]],
  [windowsPerSlice, [windowsPerSlice]],
  [windowsPerSlice + 1, [windowsPerSlice, 1]],
  [2 * windowsPerSlice, [windowsPerSlice, windowsPerSlice]],
  [2 * windowsPerSlice + 3, [windowsPerSlice, windowsPerSlice, 3]],
] as const;

t.test("all changes are committed in their order, none twice, in slices", async (t) => {
  for (const [count, expected] of slicesOf) {
    const all = writing();
    await writeSlices(all.writer, changes(count));
    t.same(all.sizes, expected);
    t.same(
      all.keys,
      changes(count).map(({ key }) => key),
    );
    const tried = writing();
    t.equal(await tryWriteSlices(tried.writer, changes(count)), null);
    t.same(tried.sizes, expected);
    t.same(tried.keys, all.keys);
  }
  const none = writing();
  await writeSlices(none.writer, []);
  t.same(none.sizes, []);
  t.equal(await tryWriteSlices(none.writer, []), null);
});

t.test("whoever waits for slices learns that the store fails", async (t) => {
  for (const count of [0, 1, windowsPerSlice + 1]) {
    const { store, writer, sizes } = writing();
    store.broken = true;
    if (count === 0) t.match(await writer.tryWrite(changes(1)), { message: "no space" });
    t.match(await tryWriteSlices(writer, changes(count)), { message: "no space" });
    t.same(sizes, []);
  }
});
