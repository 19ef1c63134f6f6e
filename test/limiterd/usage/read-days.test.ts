import t from "tap";
import { readChildDays, readDays } from "../../../limiterd/usage/read-days.js";
import { emptyRollup, rollupToStored } from "../../../limiterd/usage/rollup.js";
import { totalPrefix } from "../../../limiterd/usage/rollup-keys.js";
import { rollupsPerSlice } from "../../../shared/bounds.js";
import { dayMs, dayOf } from "../../../shared/utc-day.js";
import { createMemoryStore } from "../../support/memory-store.js";
import { startDaemon } from "../in-memory-daemon.js";

const from = Date.parse("2026-01-01T00:00:00Z");

/** A store with one request on each of so many days of these paths, and who reads it. */
async function bench(paths: readonly string[], days: number, missing: readonly number[] = []) {
  const store = createMemoryStore();
  const value = rollupToStored({ ...emptyRollup(), requests: 1 }, 1);
  await store.commit(
    paths.flatMap((path) =>
      Array.from({ length: days }, (_, i) => i)
        .filter((i) => !missing.includes(i))
        .map((i) => ({
          table: "rollups" as const,
          key: totalPrefix(path) + dayOf(from + i * dayMs),
          value,
        })),
    ),
  );
  const { usage } = startDaemon([], { store: store.crash() }).state;
  const yields: number[] = [];
  let read = 0;
  const reader = {
    store,
    usage,
    yieldToEventLoop: () => Promise.resolve(void yields.push(read)),
  };
  return { reader, yields, view: usage.rollups.open(), each: () => void read++, read: () => read };
}

t.test("the days of a span are read with both ends, and others have their turn", async (t) => {
  const days = 2 * rollupsPerSlice + 3;
  const { reader, view, yields, each, read } = await bench(["/a"], days + 2, [1]);
  const span = { fromMs: from, toMs: from + (days - 1) * dayMs + dayMs / 2 };
  await readDays(reader, view, { prefix: totalPrefix("/a"), span }, each);
  t.equal(read(), days - 1, "one has nothing");
  t.same(yields, [rollupsPerSlice - 1, 2 * rollupsPerSlice - 1]);
});

t.test(
  "the children of a path are read, and others have their turn between 25 of them",
  async (t) => {
    const paths = Array.from({ length: 60 }, (_, i) => `/a/u${String(i).padStart(2, "0")}`);
    const { reader, view, yields, each, read } = await bench([...paths, "/b", "/a"], 3);
    const span = { fromMs: from + dayMs, toMs: from + 2 * dayMs };
    await readChildDays(reader, view, { parent: "/a", span }, each);
    t.equal(read(), 120);
    t.same(
      yields.filter((at, i) => at !== yields[i - 1] || i === 0),
      [0, 50, 100].slice(yields[0] === 0 ? 0 : 1),
    );
  },
);
